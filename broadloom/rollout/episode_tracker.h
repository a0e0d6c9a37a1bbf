// Returns, lengths and outcomes of finished episodes, read from rollout blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class EpisodeTracker {
 public:
  // Means are over at least this many episodes, once so many have ended.
  static constexpr int kWindow = 100;

  // strata: number of strata.
  explicit EpisodeTracker(int num_envs, std::size_t strata = 0);

  // Leaves out an environment's current episode, which began before the run (stagger_starts): the
  // run does not see all of it.
  void leave_out_current(int env);

  // Memory for num_envs environments, bytes.
  static std::size_t bytes(int num_envs) {
    return static_cast<std::size_t>(num_envs) * (sizeof(double) + sizeof(std::int64_t));
  }

  // Drops the current episodes and begins new ones.
  void begin_anew();

  // Reads a block's raw rewards and end flags, [T, N] each, in the order of time, then environment.
  // ends: [T, N], read where a flag is set; null: unknown. N is num_envs, or all environments if it
  // is 0; other episodes do not change. fillers: [T, N], steps that belong to no episode; null:
  // none. first_counted: the first environment whose episodes count; SAPG's leader has the last
  // ones.
  void observe(const float* rewards, const std::uint8_t* terminated, const std::uint8_t* truncated,
               int num_steps, const EpisodeEnd* ends = nullptr, int num_envs = 0,
               const std::uint8_t* fillers = nullptr, int first_counted = 0);

  // Mean over all episodes that the last block ended, or over the run's last 100 if the block ended
  // fewer. (With many environments, the last 100 alone would come from the last few environments.)
  // NaN before the first episode has ended.
  double mean_return() const;
  double mean_length() const;
  // Number of episodes in these means.
  std::int64_t episodes_averaged() const;
  // Share of them that terminated, not truncated; NaN before the first.
  double termination_rate() const;
  // Share of them that succeeded, among those whose success is known; NaN if it is known of none.
  double success_rate() const { return success_rate(kAnyStratum); }
  // The same for one stratum.
  double success_rate(int stratum) const;
  std::int64_t episodes() const { return episodes_; }  // of the whole run
  // Episodes that ended in the last block.
  std::int64_t block_episodes() const { return static_cast<std::int64_t>(block_.episodes); }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  // The last block's sums, on which only reports depend. All zeros before the first block.
  void append_block_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  static constexpr int kAnyStratum = -1;
  // An episode's outcome; -1: unknown.
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

  void end_episode(std::size_t env, Ended outcome, bool counts);
  void add_to_block(double episode_return, double length, const Ended& outcome);
  bool reports_block() const { return block_.episodes > kWindow; }
  double block_success(int stratum) const;
  std::size_t window() const;  // episodes in the ring
  double window_mean(const std::vector<double>& window) const;

  std::vector<double> running_return_;        // [N]
  std::vector<std::int64_t> running_length_;  // [N], below 0 if left out
  std::vector<double> returns_, lengths_;     // [kWindow] ring
  std::vector<Ended> outcomes_;               // [kWindow] ring
  std::int64_t episodes_ = 0;
  BlockSums block_;
  std::vector<BlockSuccess> block_success_;  // [strata + 1], first: episodes without a stratum
};

}  // namespace broadloom
