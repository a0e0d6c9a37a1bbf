#include "broadloom/rollout/normalizer.h"

#include <algorithm>
#include <cmath>

#include "broadloom/math/elementwise.h"

namespace broadloom {

RunningMeanStd::RunningMeanStd(int size)
    : mean_(static_cast<std::size_t>(size), 0.0), var_(static_cast<std::size_t>(size), 1.0) {}

void RunningMeanStd::merge(double count, const double* sum, const double* squares) {
  if (count <= 0.0) return;
  const double total = count_ + count;
  for (std::size_t d = 0; d < mean_.size(); ++d) {
    const double delta = sum[d] / count;  // batch mean minus running mean
    const double batch_m2 = std::max(0.0, squares[d] - sum[d] * delta);
    const double m2 = var_[d] * count_ + batch_m2 + delta * delta * count_ * count / total;
    mean_[d] += delta * count / total;
    var_[d] = m2 / total;
  }
  count_ = total;
}

void RunningMeanStd::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const std::int64_t size = static_cast<std::int64_t>(mean_.size());
  constexpr ValueRange kVariance{0.0, kFiniteRange.high};
  out.push_back({prefix + ".mean", Dtype::kF64, {size}, mean_.data(), {kFiniteRange}});
  out.push_back({prefix + ".var", Dtype::kF64, {size}, var_.data(), {kVariance}});
  out.push_back({prefix + ".count", Dtype::kF64, {1}, &count_, {{kFreshCount, kMostCounted}}});
}

namespace {

std::size_t period(int size) { return ObsNormalizer::kChains * static_cast<std::size_t>(size); }

}  // namespace

std::size_t ObsNormalizer::bytes(int size, int shards) {
  const std::size_t arrays = 2 * (1 + static_cast<std::size_t>(shards));
  return (arrays * period(size) + 2 * static_cast<std::size_t>(size)) * sizeof(double);
}

std::size_t ObsNormalizer::shard_bytes(int size) { return (1 + 2 * period(size)) * sizeof(double); }

ObsNormalizer::ObsNormalizer(int size, double clip, int shards)
    : statistics_(size),
      clip_(static_cast<float>(clip)),
      mean_(period(size)),
      scale_(mean_.size()),
      shards_(static_cast<std::size_t>(shards)) {
  for (Sums& sums : shards_) {
    sums.sum.resize(mean_.size());
    sums.squares.resize(mean_.size());
  }
  refresh();
}

ObsNormalizer ObsNormalizer::with_shards(int shards) const {
  ObsNormalizer other(statistics_.size(), clip_, shards);
  other.statistics_ = statistics_;
  other.refresh();
  return other;
}

void ObsNormalizer::refresh() {
  const std::size_t size = statistics_.mean().size();
  for (std::size_t place = 0; place < mean_.size(); ++place) {
    mean_[place] = statistics_.mean()[place % size];
    scale_[place] = 1.0 / std::sqrt(statistics_.var()[place % size] + 1e-8);
  }
}

void ObsNormalizer::normalize(const float* raw, int rows, float* out) const {
  const std::size_t count = static_cast<std::size_t>(rows) * statistics_.mean().size();
  standardise(raw, count, mean_.size(), mean_.data(), scale_.data(), clip_, out);
}

void ObsNormalizer::accumulate(int shard, const float* raw, int rows) {
  Sums& sums = shards_[shard];
  const std::size_t count = static_cast<std::size_t>(rows) * statistics_.mean().size();
  sums.count += rows;
  add_moments(raw, count, mean_.size(), mean_.data(), sums.sum.data(), sums.squares.data());
}

void ObsNormalizer::set_sums(int shard, double count, const double* sum, const double* squares) {
  Sums& sums = shards_[shard];
  sums.count = count;
  std::copy_n(sum, places(), sums.sum.begin());
  std::copy_n(squares, places(), sums.squares.begin());
}

void ObsNormalizer::add_sums(std::span<const int> shard_bounds, Exchange& exchange) {
  for (std::size_t rank = 0; rank + 1 < shard_bounds.size(); ++rank) {
    for (int s = shard_bounds[rank]; s < shard_bounds[rank + 1]; ++s) {
      Sums& sums = shards_[s];
      const int owner = static_cast<int>(rank);
      exchange.add(&sums.count, sizeof(double), owner);
      exchange.add(sums.sum.data(), sums.sum.size() * sizeof(double), owner);
      exchange.add(sums.squares.data(), sums.squares.size() * sizeof(double), owner);
    }
  }
}

// Every shard's sums are about the mean before the commit, so they are added up first and merged
// once.
void ObsNormalizer::commit() {
  const std::size_t size = statistics_.mean().size();
  Sums& total = shards_.front();
  for (std::size_t s = 1; s < shards_.size(); ++s) {
    total.count += shards_[s].count;
    for (std::size_t place = 0; place < mean_.size(); ++place) {
      total.sum[place] += shards_[s].sum[place];
      total.squares[place] += shards_[s].squares[place];
    }
  }
  for (std::size_t place = size; place < mean_.size(); ++place) {
    total.sum[place % size] += total.sum[place];
    total.squares[place % size] += total.squares[place];
  }
  statistics_.merge(total.count, total.sum.data(), total.squares.data());
  refresh();
  empty_sums();
}

// A block that failed has left some.
void ObsNormalizer::state_restored() {
  refresh();
  empty_sums();
}

void ObsNormalizer::empty_sums() {
  for (Sums& sums : shards_) {
    sums.count = 0.0;
    std::fill(sums.sum.begin(), sums.sum.end(), 0.0);
    std::fill(sums.squares.begin(), sums.squares.end(), 0.0);
  }
}

void ObsNormalizer::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  statistics_.append_state(prefix, out);
}

RewardNormalizer::RewardNormalizer(int num_envs, double gamma, double clip, int shards)
    : statistics_(1),
      gamma_(gamma),
      clip_(static_cast<float>(clip)),
      returns_(static_cast<std::size_t>(num_envs), 0.0),
      shards_(static_cast<std::size_t>(shards)) {}

void RewardNormalizer::accumulate(int shard, int begin, int end, const float* rewards,
                                  const std::uint8_t* terminated, int num_steps, int num_envs,
                                  const std::uint8_t* fillers) {
  Sums sums;
  const std::size_t width = num_envs > 0 ? static_cast<std::size_t>(num_envs) : returns_.size();
  const double mean = statistics_.mean()[0];
  double left_out = 0.0;
  for (int t = 0; t < num_steps; ++t) {
    const std::size_t first = static_cast<std::size_t>(t) * width;
    for (int n = begin; n < end; ++n) {
      if (fillers != nullptr && fillers[first + n] != 0) {
        left_out += 1.0;
        continue;
      }
      const bool ended = terminated != nullptr && terminated[first + n] != 0;
      const double carried = ended ? 0.0 : gamma_ * returns_[n];
      returns_[n] = carried + rewards[first + n];
      const double x = returns_[n] - mean;
      sums.sum += x;
      sums.squares += x * x;
    }
  }
  sums.count = static_cast<double>(num_steps) * (end - begin) - left_out;
  shards_[shard] = sums;
}

void RewardNormalizer::commit() {
  Sums total;
  for (Sums& sums : shards_) {
    total.count += sums.count;
    total.sum += sums.sum;
    total.squares += sums.squares;
    sums = {};  // the next block may have fewer shards
  }
  statistics_.merge(total.count, &total.sum, &total.squares);
}

void RewardNormalizer::scale(float* rewards, std::size_t count) const {
  const double factor = 1.0 / std::sqrt(statistics_.var()[0] + 1e-8);
  for (std::size_t i = 0; i < count; ++i) {
    rewards[i] = std::clamp(static_cast<float>(rewards[i] * factor), -clip_, clip_);
  }
}

void RewardNormalizer::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  statistics_.append_state(prefix, out);
  out.push_back({prefix + ".returns",
                 Dtype::kF64,
                 {static_cast<std::int64_t>(returns_.size())},
                 returns_.data(),
                 {kFiniteRange}});
}

}  // namespace broadloom
