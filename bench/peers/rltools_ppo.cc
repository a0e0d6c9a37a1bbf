// Times RLtools' PPO on its pendulum. Written against the headers in the rltools package.
// rltools_ppo.py compiles it once per case, because RLtools fixes every shape at compile time.
//
//   rltools_ppo CASE SECONDS
//
// prints one line of JSON. The clock covers whole steps of RLtools' training loop (rollout, value
// pass, advantages, all epochs) and nothing else: allocation, initialisation and the first steps,
// in which the observation statistics are collected, lie before it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#define RL_TOOLS_BACKEND_ENABLE_OPENBLAS
// The order matters: the BLAS backend's network operations come before anything that uses them.
// Without them the matrix products are plain loops, several times slower.
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
// clang-format on

#if !defined(HIDDEN) || !defined(NUM_ENVS) || !defined(NUM_STEPS) || !defined(MINIBATCH) || \
    !defined(EPOCHS)
#error "compile with -DHIDDEN= -DNUM_ENVS= -DNUM_STEPS= -DMINIBATCH= -DEPOCHS="
#endif
#ifndef HIDDEN_ACTIVATION
#define HIDDEN_ACTIVATION TANH
#endif
#ifndef NORMALIZE_CONTINUOUSLY
#define NORMALIZE_CONTINUOUSLY false
#endif

namespace rlt = rl_tools;
using Device = rlt::devices::DEVICE_FACTORY<>;
using Index = Device::index_t;
using Real = float;
using Numbers = rlt::numeric_types::Policy<Real>;
using Random = Device::SPEC::RANDOM::ENGINE<>;
using Pendulum =
    rlt::rl::environments::Pendulum<rlt::rl::environments::pendulum::Specification<Real, Index>>;
using Activation = rlt::nn::activation_functions::ActivationFunction;

struct Settings
    : rlt::rl::algorithms::ppo::loop::core::DefaultParameters<Numbers, Index, Pendulum> {
  static constexpr Index ACTOR_HIDDEN_DIM = HIDDEN;
  static constexpr Index CRITIC_HIDDEN_DIM = HIDDEN;
  static constexpr auto ACTOR_ACTIVATION_FUNCTION = Activation::HIDDEN_ACTIVATION;
  static constexpr auto CRITIC_ACTIVATION_FUNCTION = Activation::HIDDEN_ACTIVATION;
  static constexpr Index EPISODE_STEP_LIMIT = Pendulum::EPISODE_STEP_LIMIT;
  static constexpr Index N_ENVIRONMENTS = NUM_ENVS;
  static constexpr Index ON_POLICY_RUNNER_STEPS_PER_ENV = NUM_STEPS;
  static constexpr Index DATASET_SIZE = Index{NUM_ENVS} * NUM_STEPS;
  static constexpr Index BATCH_SIZE = MINIBATCH;
  static constexpr Index STEP_LIMIT = 1u << 30;
  static constexpr bool NORMALIZE_OBSERVATIONS = true;
  static constexpr bool NORMALIZE_OBSERVATIONS_CONTINUOUSLY = NORMALIZE_CONTINUOUSLY;
  struct PPO_PARAMETERS : rlt::rl::algorithms::ppo::DefaultParameters<Numbers, Index, MINIBATCH> {
    static constexpr Index N_EPOCHS = EPOCHS;
  };
};

using Loop = rlt::rl::algorithms::ppo::loop::core::Config<
    Numbers, Index, Random, Pendulum, Settings,
    rlt::rl::algorithms::ppo::loop::core::ConfigApproximatorsSequential>;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CASE SECONDS\n", argv[0]);
    return 2;
  }
  const double seconds = std::atof(argv[2]);
  std::cout.setstate(std::ios_base::failbit);  // RLtools prints its statistics there

  Device device;
  static Loop::State<Loop> state;  // holds every environment: too large for the stack
  rlt::init(device);
  rlt::malloc(device, state);
  rlt::init(device, state, 1);

  using Clock = std::chrono::steady_clock;
  constexpr double kStepsPerUpdate = double{NUM_ENVS} * NUM_STEPS;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  for (auto start = Clock::now(); state.step < 2 || since(start) < seconds / 4;) {
    rlt::step(device, state);
  }
  const auto start = Clock::now();
  long updates = 0;
  double elapsed = 0;
  while (elapsed < seconds) {
    rlt::step(device, state);
    ++updates;
    elapsed = since(start);
  }
  std::printf("{\"peer\": \"rltools\", \"case\": \"%s\", \"steps_per_second\": %.1f}\n", argv[1],
              static_cast<double>(updates) * kStepsPerUpdate / elapsed);
  return 0;
}
