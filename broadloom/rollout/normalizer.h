// Running normalisation of observations and rewards: one set of statistics shared by all
// environments.
//
// Statistics are frozen while a block is collected and updated on. What a block contributes is
// summed per shard and merged in the order of the shards, so results do not depend on who computed
// what when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/core/exchange.h"
#include "broadloom/core/tensor_ref.h"

namespace broadloom {

// How statistics begin, and when the discounted sum of rewards of an episode ends.
enum class NormaliserRule {
  // With the first batch's own moments; a sum counts as it stands after the episode's last reward,
  // and the next episode begins at 0, after a time limit too. As OpenAI's baselines and
  // Stable-Baselines3 do; those, too, begin with a made-up sample.
  kExact,
  // As Gymnasium 1.x: with a made-up sample of mean 0, variance 1 and count 1e-4. A sum is begun
  // anew before a terminated episode's last reward, and goes on over a time limit.
  kGymnasium,
};

// Mean and variance of D numbers at once, merged batch by batch (Chan, Golub and LeVeque 1979).
// Before the first batch: mean 0 and variance 1.
class RunningMeanStd {
 public:
  RunningMeanStd(int size, NormaliserRule rule);

  // Merges a batch of `count` samples given as sums about the present mean: sum [D] of (x - mean),
  // squares [D] of (x - mean)^2.
  void merge(double count, const double* sum, const double* squares);

  int size() const { return static_cast<int>(mean_.size()); }
  double count() const { return count_; }
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& var() const { return var_; }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  std::vector<double> mean_, var_;
  double count_;
};

class ObsNormalizer {
 public:
  // Rows of `size` D numbers, clipped to +- clip; `shards` partial sums.
  ObsNormalizer(int size, double clip, int shards, NormaliserRule rule = NormaliserRule::kExact);

  // That it holds: the statistics, and each shard's sums.
  static std::size_t bytes(int size, int shards);
  // Of it, what add_sums() adds for a shard.
  static std::size_t shard_bytes(int size);

  // out = clip((raw - mean) / sqrt(var + 1e-8)), raw and out [rows, D]; they may be the same.
  void normalize(const float* raw, int rows, float* out) const;
  // Takes raw [rows, D] into the shard's sums. Different shards may do so at the same time.
  void accumulate(int shard, const float* raw, int rows);
  // Rows of a step and shard go in turn to so many chains of sums.
  static constexpr int kChains = 16;

  // The shard's sums as accumulate() leaves them, of `count` rows that somebody else has added up
  // about mean(): sum and squares [places()], place i of column i % D, of a shard's row r of a step
  // at place (r % kChains) * D.
  void set_sums(int shard, double count, const double* sum, const double* squares);
  // The shards' sums, of which rank r has those of shards [bounds[r], bounds[r + 1]).
  void add_sums(std::span<const int> shard_bounds, Exchange& exchange);
  // Merges what was accumulated since the last commit.
  void commit();

  // The same statistics with empty sums for another number of shards.
  ObsNormalizer with_shards(int shards) const;

  const RunningMeanStd& statistics() const { return statistics_; }
  // What normalize() does to a number of column i: (raw - mean()[i]) * scale()[i], within +-
  // clip(). [places()], of which the columns are the first D.
  std::span<const double> mean() const { return mean_; }
  std::span<const double> scale() const { return scale_; }
  float clip() const { return clip_; }
  std::size_t places() const { return mean_.size(); }
  // Valid between iterations: the sums are empty then, and after a restore. After the tensors were
  // written into, call state_restored().
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  void state_restored();

 private:
  // Arrays [period] repeat the D columns: see math/elementwise.h.
  struct Sums {
    double count = 0.0;
    std::vector<double> sum, squares;  // [period]
  };

  void refresh();
  void empty_sums();

  RunningMeanStd statistics_;
  float clip_;
  std::vector<double> mean_, scale_;  // [period]
  std::vector<Sums> shards_;
};

// Of what the policy and of what only the critic reads; null: as it is. Made of one where there is
// nothing for the critic alone.
struct ObsNormalizers {
  ObsNormalizers(ObsNormalizer* of_policy = nullptr, ObsNormalizer* of_critic = nullptr)
      : policy(of_policy), critic(of_critic) {}

  ObsNormalizer* policy;
  ObsNormalizer* critic;
};

// Scales rewards by the standard deviation of the discounted return that each environment has run
// up: acc = gamma * acc + r, after which an episode's end sets acc to 0. With kGymnasium it is
// acc = gamma * acc * (1 - terminated) + r.
class RewardNormalizer {
 public:
  RewardNormalizer(int num_envs, double gamma, double clip, int shards,
                   NormaliserRule rule = NormaliserRule::kExact);

  // What it holds of so many environments, in bytes.
  static std::size_t bytes(int num_envs) {
    return static_cast<std::size_t>(num_envs) * sizeof(double);
  }

  // Where episodes end: [T, N] each. Null: nothing cuts what an environment has run up.
  struct Ends {
    const std::uint8_t* terminated = nullptr;
    const std::uint8_t* truncated = nullptr;
  };
  // Takes the raw rewards [T, N] of environments [begin, end) of a block into the shard's sums and
  // the environments' returns. Different shards may do so at the same time. N: the first num_envs
  // environments; 0: all. fillers: [T, N], steps that are passed over; null: there are none.
  void accumulate(int shard, int begin, int end, const float* rewards, Ends ends, int num_steps,
                  int num_envs = 0, const std::uint8_t* fillers = nullptr);
  void commit();
  // One over the deviation, or with kGymnasium over sqrt(var + 1e-8); 1 where all sums were equal.
  double factor() const;
  // rewards [count] = clip(rewards * factor()).
  void scale(float* rewards, std::size_t count) const;

  const RunningMeanStd& statistics() const { return statistics_; }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);

 private:
  struct Sums {
    double count = 0.0, sum = 0.0, squares = 0.0;
  };

  RunningMeanStd statistics_;
  NormaliserRule rule_;
  double gamma_;
  float clip_;
  std::vector<double> returns_;  // [N]
  std::vector<Sums> shards_;
};

}  // namespace broadloom
