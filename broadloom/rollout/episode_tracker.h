// Returns, lengths and outcomes of finished episodes, read off the rollout block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class EpisodeTracker {
 public:
  static constexpr int kWindow =
      100;  // the fewest episodes that means are over, once there are so many

  // strata: that episodes may be in.
  explicit EpisodeTracker(int num_envs, std::size_t strata = 0);

  // The present episode of an environment began before the run did, as stagger_starts has it: what
  // the run sees of it is no whole episode, and is not counted.
  void leave_out_present(int env);

  // What it holds of so many environments, in bytes.
  static std::size_t bytes(int num_envs) {
    return static_cast<std::size_t>(num_envs) * (sizeof(double) + sizeof(std::int64_t));
  }

  // The present episodes are lost, and others begin in their place.
  void begin_anew();

  // Walks the block's raw rewards and end flags, [T, N] each, in the order of time, then
  // environment. ends: [T, N] too, read where the flags say so; null: not known. N: the first
  // num_envs environments, the others' episodes being left as they are; 0: all. fillers:
  // [T, N], steps that belong to no episode; null: there are none.
  void observe(const float* rewards, const std::uint8_t* terminated, const std::uint8_t* truncated,
               int num_steps, const EpisodeEnd* ends = nullptr, int num_envs = 0,
               const std::uint8_t* fillers = nullptr);

  // Over all episodes that the last block ended, or the last 100 of the run where it ended fewer:
  // with many environments, the last 100 to end are those of the last few environments. Not a
  // number before the first has ended.
  double mean_return() const;
  double mean_length() const;
  // How many these are.
  std::int64_t averaged() const;
  // Share of them that ended by themselves, not by a time limit; not a number before the first.
  double termination_rate() const;
  // Share of them that succeeded, of those where that is known; not a number where it is of none.
  double success_rate() const { return success_rate(kAnyStratum); }
  // The same of those in one stratum.
  double success_rate(int stratum) const;
  std::int64_t episodes() const { return episodes_; }  // of the whole run
  // Ended in the last block observed.
  std::int64_t block_episodes() const { return static_cast<std::int64_t>(block_.episodes); }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  // The last block's sums. Only reports depend on them. All zeros: there was no block.
  void append_block_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  static constexpr int kAnyStratum = -1;
  // Of an episode; -1 where it is not known.
  struct Ended {
    std::int32_t terminated = -1, success = -1, stratum = -1;
  };

  // Sums over the episodes that the last block ended.
  struct BlockSums {
    double episodes = 0.0, returns = 0.0, lengths = 0.0, terminated = 0.0;
  };
  // Counts over the block's episodes whose success is known.
  struct BlockSuccess {
    double known = 0.0, succeeded = 0.0;
  };

  void end_episode(std::size_t env, Ended outcome);
  void add_to_block(double episode_return, double length, const Ended& outcome);
  bool reports_block() const { return block_.episodes > kWindow; }
  double block_success(int stratum) const;
  std::size_t window() const;  // episodes that there are
  double window_mean(const std::vector<double>& window) const;

  std::vector<double> running_return_;        // [N]
  std::vector<std::int64_t> running_length_;  // [N], below 0 where it is left out
  std::vector<double> returns_, lengths_;     // [kWindow] ring
  std::vector<Ended> outcomes_;               // [kWindow] ring
  std::int64_t episodes_ = 0;
  BlockSums block_;
  std::vector<BlockSuccess> block_success_;  // [strata + 1], first of those in no stratum
};

}  // namespace broadloom
