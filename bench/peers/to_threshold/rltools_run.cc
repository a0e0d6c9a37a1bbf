// RLtools' PPO on its pendulum with its zoo's settings, evaluated by RLtools. Written against the
// headers in the rltools package; rltools_run.py compiles it.
//
//   rltools_run SEED BUDGET EVERY
//
// trains BUDGET environment steps and prints, each EVERY iterations, "steps seconds mean_return
// evaluation_seconds". With EVERY 0 nothing is evaluated, and one line "steps seconds" comes at the
// end. The clock covers whole steps of RLtools' training loop and nothing else: evaluations,
// allocation and initialisation lie outside.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#define RL_TOOLS_BACKEND_ENABLE_OPENBLAS
// The order matters, see ../rltools_ppo.cc.
// clang-format off
#include <rl_tools/operations/cpu_mux.h>
#include <rl_tools/nn/optimizers/adam/instance/operations_generic.h>
#include <rl_tools/nn/operations_cpu_mux.h>
#include <rl_tools/nn/layers/standardize/operations_generic.h>
#include <rl_tools/nn_models/mlp_unconditional_stddev/operations_generic.h>
#include <rl_tools/nn_models/sequential/operations_generic.h>
#include <rl_tools/rl/environments/pendulum/operations_cpu.h>

#include <rl_tools/rl/algorithms/ppo/loop/core/config.h>
#include <rl_tools/rl/algorithms/ppo/loop/core/operations_generic.h>
#include <rl_tools/rl/utils/evaluation/operations_generic.h>
// clang-format on

namespace rlt = rl_tools;
using Device = rlt::devices::DEVICE_FACTORY<>;
using Index = Device::index_t;
using Real = float;
using Numbers = rlt::numeric_types::Policy<Real>;
using Random = Device::SPEC::RANDOM::ENGINE<>;
using Pendulum =
    rlt::rl::environments::Pendulum<rlt::rl::environments::pendulum::Specification<Real, Index>>;
using Activation = rlt::nn::activation_functions::ActivationFunction;

#if !defined(NUM_ENVS) || !defined(NUM_STEPS) || !defined(MINIBATCH) || !defined(ENTROPY) || \
    !defined(EPISODES)
#error "compile with -DNUM_ENVS= -DNUM_STEPS= -DMINIBATCH= -DENTROPY= -DEPISODES="
#endif

// The settings of src/rl/zoo/pendulum-v1/ppo.h. settings.py has their history, with commits.
struct Settings
    : rlt::rl::algorithms::ppo::loop::core::DefaultParameters<Numbers, Index, Pendulum> {
  static constexpr Index N_ENVIRONMENTS = NUM_ENVS;
  static constexpr Index ON_POLICY_RUNNER_STEPS_PER_ENV = NUM_STEPS;
  static constexpr Index DATASET_SIZE = N_ENVIRONMENTS * ON_POLICY_RUNNER_STEPS_PER_ENV;
  static constexpr Index BATCH_SIZE = MINIBATCH;
  static constexpr Index ACTOR_HIDDEN_DIM = 32;
  static constexpr Index CRITIC_HIDDEN_DIM = 32;
  static constexpr auto ACTOR_ACTIVATION_FUNCTION = Activation::FAST_TANH;
  static constexpr auto CRITIC_ACTIVATION_FUNCTION = Activation::FAST_TANH;
  static constexpr Index STEP_LIMIT = 1u << 30;  // the caller stops
  static constexpr Index EPISODE_STEP_LIMIT = Pendulum::EPISODE_STEP_LIMIT;
  static constexpr bool NORMALIZE_OBSERVATIONS = true;
  struct OPTIMIZER_PARAMETERS : rlt::nn::optimizers::adam::DEFAULT_PARAMETERS_TENSORFLOW<Numbers> {
    static constexpr Real ALPHA = 0.001;
  };
  struct PPO_PARAMETERS : rlt::rl::algorithms::ppo::DefaultParameters<Numbers, Index, BATCH_SIZE> {
    static constexpr Real ACTION_ENTROPY_COEFFICIENT = ENTROPY;
    static constexpr Index N_EPOCHS = 1;
    static constexpr Real GAMMA = 0.9;
    static constexpr Real INITIAL_ACTION_STD = 2.0;
  };
};

using Loop = rlt::rl::algorithms::ppo::loop::core::Config<
    Numbers, Index, Random, Pendulum, Settings,
    rlt::rl::algorithms::ppo::loop::core::ConfigApproximatorsSequential>;
using Evaluation = rlt::rl::utils::evaluation::Specification<Numbers, Index, Pendulum, EPISODES,
                                                             Settings::EPISODE_STEP_LIMIT>;
using Clock = std::chrono::steady_clock;

static Loop::State<Loop> state;  // holds every environment: too large for the stack

static double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Mean return of the same episodes each time, with the mean of the policy's normal distribution as
// action.
static double mean_return(Device& device, Random& random, Index seed) {
  rlt::init(device, random, seed);
  Pendulum env;
  rlt::rl::environments::DummyUI ui;
  rlt::rl::utils::evaluation::Result<Evaluation> result;
  rlt::Mode<rlt::mode::Evaluation<>> mode;
  rlt::evaluate(device, env, ui, state.ppo.actor, result, random, mode);
  return result.returns_mean;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s SEED BUDGET EVERY\n", argv[0]);
    return 2;
  }
  const Index seed = std::strtoull(argv[1], nullptr, 10);
  const long budget = std::atol(argv[2]);
  const long every = std::atol(argv[3]);
  std::cout.setstate(std::ios_base::failbit);  // RLtools prints its statistics there

  Device device;
  rlt::init(device);
  rlt::malloc(device, state);
  rlt::init(device, state, seed);
  Random random;
  rlt::malloc(device, random);

  constexpr long kBlock = Settings::DATASET_SIZE;
  double seconds = 0;
  long iteration = 0;
  while (iteration * kBlock < budget) {
    auto start = Clock::now();
    rlt::step(device, state);
    seconds += since(start);
    ++iteration;
    const bool last = iteration * kBlock >= budget;
    if (every == 0 || (!last && iteration % every != 0)) continue;
    start = Clock::now();
    const double found = mean_return(device, random, 1000000 + seed);
    std::printf("%ld %.9f %.6f %.9f\n", iteration * kBlock, seconds, found, since(start));
    std::fflush(stdout);
  }
  if (every == 0) std::printf("%ld %.9f\n", iteration * kBlock, seconds);
  return 0;
}
