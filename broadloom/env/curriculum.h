// A curriculum: which stratum an environment draws its episodes from, by how well it has done.
//
// The strata that it names are its levels, the easiest first. Every environment has a level of its
// own and begins on the lowest. Its episodes there are counted; after every `episodes` of them,
// with the share s of successes among these,
//   s >= up      it goes one level up; from the top level to one drawn uniformly from all,
//   s < down     one level down, and stays where there is none below,
//   otherwise    it stays,
// and counts anew. With episodes = 1 that is the rule of the terrain curriculum of Rudin et al.
// 2021
// ("Learning to walk in minutes using massively parallel deep reinforcement learning"), whose
// robots move one level by how their last episode went, and from past the top to a random level.
//
// All of it is a function of what is stored and of the environment's own ends, so that neither
// threads nor a restore change anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/purpose.h"
#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"

namespace broadloom {

class Random;
struct EnvSpec;
enum class StrataSampling;

struct CurriculumOptions {
  std::vector<std::string> levels;  // names of strata, the easiest first; empty: no curriculum
  double up = 0.8, down = 0.4;      // shares of successes, 0 <= down <= up <= 1
  int episodes = 1;                 // >= 1, that one decision is over
};

// kInvalidConfig, with what to do, where the strata of `spec` are not those that the levels name,
// where success is not known, or where the strata are balanced over families by `sampling`.
Status check_curriculum(const CurriculumOptions& options, const EnvSpec& spec,
                        StrataSampling sampling);

// When an environment changes its level.
struct LevelRule {
  std::int32_t levels = 0;
  double up = 1.0, down = 0.0;
  int episodes = 1;
};

// Where it stands: its level, episodes counted there, successes among them.
struct LevelStanding {
  std::int32_t level = 0, episodes = 0, successes = 0;
};

// The levels of N environments. Calls for different environments may run at the same time.
class Curriculum {
 public:
  Curriculum() = default;  // none
  // options: as check_curriculum has passed them. strata: of the spec.
  Curriculum(const CurriculumOptions& options, const std::vector<std::string>& strata,
             int num_envs);

  bool empty() const { return strata_.empty(); }
  int level(int env) const { return standings_[env].level; }  // 0: the lowest
  int stratum(int env) const { return strata_[level(env)]; }  // index into spec.strata
  const LevelRule& rule() const { return rule_; }
  const std::vector<std::int32_t>& strata() const { return strata_; }  // [levels]

  // Takes an ended episode of the environment in; `random` is asked only past the top level. O(1).
  void episode_ended(int env, bool success, Random random);

  // "<prefix>.curriculum", [N, 3]: LevelStanding.
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  std::vector<std::int32_t> strata_;  // [levels]
  LevelRule rule_;
  std::vector<LevelStanding> standings_;  // [N]
};

}  // namespace broadloom
