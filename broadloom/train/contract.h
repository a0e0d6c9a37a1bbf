// The rollout contract: the numbers of a run that are known before it starts. Another team needs
// them to repeat the run.
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
#include "broadloom/record/manifest.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/rank_plan.h"

namespace broadloom {

struct RolloutContract {
  std::string env_id;
  int num_steps = 0, num_envs = 0, observation_size = 0;  // T, N, D
  struct Observed {
    std::string dtype;
    std::vector<int> shape;
    float full_scale = 255.0f;  // divisor of uint8 observations
    int frames = 1;             // frames in a stack
  };
  std::optional<Observed> observation;         // unless one row of float32
  std::optional<Observed> critic_observation;  // the critic's own, if any
  // One group of a dictionary of observations.
  struct Group {
    std::string name;
    Observed observed;                  // dtype "int64": one of shape[0] choices
    std::string layers;                 // as in group_encoders: "minatar/64"
    bool policy = true, critic = true;  // who reads it
  };
  std::vector<Group> groups;
  std::int64_t batch_size = 0;                       // samples per update, N T
  std::int64_t minibatches = 0, minibatch_size = 0;  // per epoch; largest size
  std::int64_t minibatch_size_asked = 0;             // the config's key; 0: not set
  int update_epochs = 0;
  // With a shape schedule: all stretches; the numbers above are of the first. Empty: one shape.
  struct Shape {
    std::int64_t first_step = 0, iterations = 0;
    int num_envs = 0, num_steps = 0;
    std::int64_t minibatches = 0, minibatch_size = 0;
  };
  std::vector<Shape> shapes;
  std::int64_t iterations = 0;
  std::int64_t gradient_steps = 0;  // of the run if target_kl stops no epoch
  std::uint64_t seed = 0;
  int most_envs = 0;                      // environments made: N, or the largest N
  int families = 0, envs_per_family = 0;  // of the first shape
  int most_families = 0;                  // largest number over the run
  int eval_episodes = 0;                  // each has its own environment and family
  struct Stratum {
    std::string name;
    double share = 0.0;  // of the episodes
    Overrides ranges;    // constant and "low..high"
  };
  std::vector<Stratum> strata;  // by name
  std::string strata_sampling;
  CurriculumOptions curriculum;          // no levels: none
  Overrides disturbances;                // names and values, as given
  std::vector<RewardTerm> reward_terms;  // of the task; empty: not declared
  std::vector<CommandRange> commands;
  std::string terrain;
  std::string upstream;                          // EnvSpec::upstream; "": the library's
  std::string engine;                            // EnvSpec::engine; "": Broadloom
  std::vector<Manifest::Change> engine_changes;  // of the run
  VecEnvTraits simulator;                        // limits of the environments
  bool can_begin_anew = true;                    // VecEnv::can_begin_anew()
  int threads = 0;                               // of each rank
  RankPlan ranks;                                // processes that train together
  MemoryPlan memory;                             // of each rank
  std::size_t memory_allowed = 0;                // bytes; 0: unknown
  std::string budget;                            // budget_warning()
  std::string besides;                           // extra_steps_text()
};

// Makes one environment to measure its size. kInvalidConfig and kNotFound of the environment;
// kInvalidConfig if config and environment do not fit (check_fits) or ranks cannot share it.
Result<RolloutContract> make_contract(const Config& config, int threads, int ranks = 1);

// EnvSpec::upstream for records: "" if is_named_by_source() is false.
std::string recorded_upstream(const EnvSpec& spec);

// A few lines, each with a newline. Omits families, strata and similar lines if there are none.
std::string contract_text(const RolloutContract& contract);

}  // namespace broadloom
