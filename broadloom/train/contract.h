// The rollout contract: what a run will do, in numbers, known before it starts. Another team needs
// these to say that it ran the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/env/curriculum.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/rank_plan.h"

namespace broadloom {

struct RolloutContract {
  std::string env_id;
  int num_steps = 0, num_envs = 0, observation_size = 0;  // T, N, D
  struct Observed {
    std::string dtype;
    std::vector<int> shape;
    float full_scale = 255.0f;  // what networks read uint8 divided by
    int frames = 1;             // of a stack
  };
  std::optional<Observed> observation;               // where they are not one row of float32
  std::optional<Observed> critic_observation;        // what only the critic reads, where it does
  std::int64_t batch_size = 0;                       // samples per update, N T
  std::int64_t minibatches = 0, minibatch_size = 0;  // of an epoch; size of the largest
  std::int64_t minibatch_size_asked = 0;             // 0: none was
  int update_epochs = 0;
  // Where a schedule changes the shape: all of its stretches, whose first one the numbers above are
  // of. Empty: all blocks are alike.
  struct Shape {
    std::int64_t first_step = 0, iterations = 0;
    int num_envs = 0, num_steps = 0;
    std::int64_t minibatches = 0, minibatch_size = 0;
  };
  std::vector<Shape> shapes;
  std::int64_t iterations = 0;
  std::int64_t gradient_steps = 0;  // of the run, where target_kl stops none
  std::uint64_t seed = 0;
  int most_envs = 0;                      // that are made; N, or the most of any shape
  int families = 0, envs_per_family = 0;  // of the first blocks, where shapes change
  int most_families = 0;                  // that draw at some time of the run
  int eval_episodes = 0;                  // each an environment and a family of its own
  struct Stratum {
    std::string name;
    double share = 0.0;  // of the episodes
    Overrides ranges;    // constant and "low..high"
  };
  std::vector<Stratum> strata;  // by name
  std::string strata_sampling;
  CurriculumOptions curriculum;          // over them; no levels: none
  Overrides disturbances;                // names and values, as given
  std::vector<RewardTerm> reward_terms;  // what the environment says of its task; empty: nothing
  std::vector<CommandRange> commands;
  std::string terrain;
  std::string engine;              // EnvSpec::engine; "": Broadloom
  VecEnvTraits simulator;          // what the environments can do
  int threads = 0;                 // of each rank
  RankPlan ranks;                  // that train together; of one, nothing is said
  MemoryPlan memory;               // of each
  std::size_t memory_allowed = 0;  // bytes; 0: not known
  std::string budget;              // budget_warning()
  std::string besides;             // extra_steps_text()
};

// kInvalidConfig and kNotFound as the environment gives them, and where it cannot do what the
// config asks for (check_fits) or be shared by the ranks. Makes one environment to see how large it
// is.
Result<RolloutContract> make_contract(const Config& config, int threads, int ranks = 1);

// A few lines, each with its newline. Families, strata and the like only where there are some.
std::string contract_text(const RolloutContract& contract);

}  // namespace broadloom
