// A curriculum chooses the stratum of an environment's episodes by its success so far.
//
// The curriculum lists strata as levels, the easiest first. Each environment has its own level and
// starts on the lowest. It counts its episodes on that level. After every `episodes` of them, s is
// their share of successes:
//   s >= up      one level up; from the top level to a level drawn uniformly from all,
//   s < down     one level down, or stay on the lowest,
//   otherwise    stay.
// The count then starts again. With episodes = 1 this is the terrain curriculum of Rudin et al.
// 2021 ("Learning to walk in minutes using massively parallel deep reinforcement learning").
//
// Levels depend only on stored state and on the environment's own episodes. Threads and restores do
// not change them.
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
  int episodes = 1;                 // >= 1, per decision
};

// Returns kInvalidConfig if a level names no stratum of `spec`, if the environment does not report
// success, or if `sampling` is stratified.
Status check_curriculum(const CurriculumOptions& options, const EnvSpec& spec,
                        StrataSampling sampling);

// Parameters that decide when an environment changes its level.
struct LevelRule {
  std::int32_t levels = 0;
  double up = 1.0, down = 0.0;
  int episodes = 1;
};

// State of one environment: its level, the episodes counted there, and the successes among them.
struct LevelStanding {
  std::int32_t level = 0, episodes = 0, successes = 0;
};

// The levels of N environments. Calls for different environments may run at the same time.
class Curriculum {
 public:
  Curriculum() = default;  // none
  // options: must have passed check_curriculum(). strata: names, spec.strata.
  Curriculum(const CurriculumOptions& options, const std::vector<std::string>& strata,
             int num_envs);

  bool empty() const { return strata_.empty(); }
  int level(int env) const { return standings_[env].level; }  // 0: the lowest
  int stratum(int env) const { return strata_[level(env)]; }  // index into spec.strata
  const LevelRule& rule() const { return rule_; }
  const std::vector<std::int32_t>& strata() const { return strata_; }  // [levels]

  // Counts an ended episode. Uses `random` only to leave the top level. O(1).
  void episode_ended(int env, bool success, Random random);

  // "<prefix>.curriculum", [N, 3]: LevelStanding.
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  std::vector<std::int32_t> strata_;  // [levels]
  LevelRule rule_;
  std::vector<LevelStanding> standings_;  // [N]
};

}  // namespace broadloom
