// Running normalisation of observations and rewards. All environments share one set of statistics.
//
// Statistics are frozen while a block is collected and learned from. A block's sums are kept per
// shard and merged in the order of the shards, so results do not depend on thread timing.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "broadloom/core/exchange.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// How statistics begin, and when the discounted sum of rewards is set to 0.
enum class NormaliserRule {
  // Statistics begin with the first batch's moments. A sum includes the episode's last reward, and
  // the next episode begins at 0, also after a truncation. OpenAI Baselines and Stable-Baselines3
  // set sums to 0 the same way, but begin with an artificial sample.
  kExact,
  // As Gymnasium 1.x: begins with an artificial sample of mean 0, variance 1 and count 1e-4. A sum
  // is set to 0 before a terminated episode's last reward, and continues after a truncation.
  kGymnasium,
};

// Mean and variance of D numbers at once, merged batch by batch (Chan, Golub and LeVeque 1979).
// Before the first batch: mean 0 and variance 1.
class RunningMeanStd {
 public:
  RunningMeanStd(int size, NormaliserRule rule);
  // Begins with `first_count` samples of mean 0 and variance 1.
  RunningMeanStd(int size, double first_count);

  // Merges a batch of `count` samples, given as sums about the current mean: sum [D] of (x - mean),
  // squares [D] of (x - mean)^2.
  void merge(double count, const double* sum, const double* squares);

  int size() const { return static_cast<int>(mean_.size()); }
  double count() const { return count_; }
  const std::vector<double>& mean() const { return mean_; }
  const std::vector<double>& var() const { return var_; }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  // Averages each number's moments with those of its mirror image.
  void average_images(const SignedPermutation& mirror);

 private:
  std::vector<double> mean_, var_;
  double count_;
};

// The small number that keeps a constant column from dividing by 0.
struct NormaliserEps {
  double value = 1e-8;
  bool is_of_deviation = false;  // adds to the deviation (RSL-RL, skrl), not to the variance

  double divisor(double var) const {
    return is_of_deviation ? std::sqrt(var) + value : std::sqrt(var + value);
  }
};

class ObsNormalizer {
 public:
  // Rows of `size` D numbers, clipped to +- clip (0: not clipped); `shards` partial sums.
  ObsNormalizer(int size, double clip, int shards, NormaliserRule rule = NormaliserRule::kExact,
                NormaliserEps eps = {});

  // Leaves these columns as they are: the groups of bytes of a dictionary (env/spec.h).
  void leave_out(const std::vector<ObservationGroup>& groups);

  // Memory of the statistics and all shards' sums, bytes.
  static std::size_t bytes(int size, int shards);
  // Bytes that add_sums() exchanges per shard.
  static std::size_t shard_bytes(int size);

  // out = clip((raw - mean) / divisor(var)), raw and out [rows, D] may be the same array.
  void normalize(const float* raw, int rows, float* out) const;
  // The same for `count` columns of one row, from column `first` on, which no group leaves out.
  void normalize_part(const float* raw, std::size_t first, std::size_t count, float* out) const;
  // Adds raw [rows, D] to the shard's sums. Different shards may run at the same time.
  void accumulate(int shard, const float* raw, int rows);
  // The rows of a step and shard are added to this many chains of sums in turn.
  static constexpr int kChains = 16;

  // Sets the shard's sums as accumulate() would leave them, from `count` rows summed about mean()
  // elsewhere (the GPU). sum and squares are [places()]: place i belongs to column i % D, and row r
  // of a step goes to the chain that begins at (r % kChains) * D.
  void set_sums(int shard, double count, const double* sum, const double* squares);
  // Adds the shards' sums to the exchange. Rank r owns shards [bounds[r], bounds[r + 1]).
  void add_sums(std::span<const int> shard_bounds, Exchange& exchange);
  // Merges the sums since the last commit into the statistics.
  void commit();
  // Drops the sums since the last commit, which a failed block leaves.
  void forget_sums();

  // From now on the statistics are those of all rows and their mirror images, so that the image of
  // a normalised row is the normalised image. mirror: outlives this object.
  void set_mirror(const SignedPermutation* mirror);

  // A copy with the same statistics and empty sums for another number of shards.
  ObsNormalizer with_shards(int shards) const;

  const RunningMeanStd& statistics() const { return statistics_; }
  // Whether normalize() leaves a column as it is.
  bool leaves(std::size_t column) const { return !left_out_.empty() && left_out_[column] != 0; }
  double divisor(std::size_t column) const { return eps_.divisor(statistics_.var()[column]); }
  // normalize() maps column i to (raw - mean()[i]) * scale()[i], clipped to +- clip(). Both are
  // [places()]; the first D entries are the columns.
  std::span<const double> mean() const { return mean_; }
  std::span<const double> scale() const { return scale_; }
  float clip() const { return clip_; }
  std::size_t places() const { return mean_.size(); }
  // Complete between iterations, when the sums are empty. After writing to the tensors, call
  // state_restored().
  void append_state(const std::string& prefix, std::vector<TensorRef>& out);
  void state_restored();

 private:
  // Arrays [period] repeat the D columns; see math/elementwise.h.
  struct Sums {
    double count = 0.0;
    std::vector<double> sum, squares;  // [period]
  };

  void refresh();
  void add_images(Sums& total) const;

  RunningMeanStd statistics_;
  float clip_;
  NormaliserEps eps_;
  std::vector<std::uint8_t> left_out_;  // [D] 1: the column stays as it is; empty: none does
  std::vector<double> mean_, scale_;    // [period]
  std::vector<Sums> shards_;
  const SignedPermutation* mirror_ = nullptr;
};

// Normalisers of the policy's observations and of the critic's own; null: not normalised.
struct ObsNormalizers {
  ObsNormalizers(ObsNormalizer* policy_normalizer = nullptr,
                 ObsNormalizer* critic_normalizer = nullptr)
      : policy(policy_normalizer), critic(critic_normalizer) {}

  ObsNormalizer* policy;
  ObsNormalizer* critic;
};

// Divides rewards by the standard deviation of each environment's discounted sum of rewards: acc =
// gamma * acc + r, and an episode's end then sets acc to 0. With kGymnasium: acc = gamma * acc * (1
// - terminated) + r.
class RewardNormalizer {
 public:
  RewardNormalizer(int num_envs, double gamma, double clip, int shards,
                   NormaliserRule rule = NormaliserRule::kExact);

  // Memory for num_envs environments, bytes.
  static std::size_t bytes(int num_envs) {
    return static_cast<std::size_t>(num_envs) * sizeof(double);
  }

  // Flags of episode ends, [T, N] each. Null: nothing sets a sum to 0.
  struct Ends {
    const std::uint8_t* terminated = nullptr;
    const std::uint8_t* truncated = nullptr;
  };
  // Adds the raw rewards [T, N] of environments [begin, end) to the shard's sums and the
  // environments' returns. Different shards may run at the same time. N is num_envs, or all
  // environments if it is 0. fillers: [T, N], steps to leave out; null: none.
  void accumulate(int shard, int begin, int end, const float* rewards, Ends ends, int num_steps,
                  int num_envs = 0, const std::uint8_t* fillers = nullptr);
  void commit();
  // 1 / standard deviation, or 1 / sqrt(var + 1e-8) with kGymnasium; 1 if all sums were equal.
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
