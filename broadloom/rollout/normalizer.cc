#include "broadloom/rollout/normalizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/math/elementwise.h"

namespace broadloom {

RunningMeanStd::RunningMeanStd(int size, NormaliserRule rule)
    : RunningMeanStd(size, rule == NormaliserRule::kGymnasium ? 1e-4 : 0.0) {}

RunningMeanStd::RunningMeanStd(int size, double first_count)
    : mean_(static_cast<std::size_t>(size), 0.0),
      var_(static_cast<std::size_t>(size), 1.0),
      count_(first_count) {}

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
  out.push_back({prefix + ".count", Dtype::kF64, {1}, &count_, {kCountRange}});
}

void RunningMeanStd::average_images(const SignedPermutation& mirror) {
  const std::vector<double> mean = mean_, var = var_;
  for (std::size_t i = 0; i < mirror.size(); ++i) {
    const auto other = static_cast<std::size_t>(mirror.index[i]);
    const double image = static_cast<double>(mirror.sign[i]) * mean[other];
    const double half = 0.5 * (mean[i] - image);
    mean_[i] = 0.5 * (mean[i] + image);
    var_[i] = 0.5 * (var[i] + var[other]) + half * half;
  }
}

namespace {

std::size_t period(int size) { return ObsNormalizer::kChains * static_cast<std::size_t>(size); }

}  // namespace

std::size_t ObsNormalizer::bytes(int size, int shards) {
  const std::size_t arrays = 2 * (1 + static_cast<std::size_t>(shards));
  return (arrays * period(size) + 2 * static_cast<std::size_t>(size)) * sizeof(double);
}

std::size_t ObsNormalizer::shard_bytes(int size) { return (1 + 2 * period(size)) * sizeof(double); }

ObsNormalizer::ObsNormalizer(int size, double clip, int shards, NormaliserRule rule,
                             NormaliserEps eps)
    : statistics_(size, rule),
      clip_(clip > 0.0 ? static_cast<float>(clip) : std::numeric_limits<float>::infinity()),
      eps_(eps),
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
  ObsNormalizer other(statistics_.size(), clip_, shards, NormaliserRule::kExact,
                      eps_);  // its rule is in the count
  other.statistics_ = statistics_;
  other.left_out_ = left_out_;
  other.refresh();
  return other;
}

void ObsNormalizer::refresh() {
  const std::size_t size = statistics_.mean().size();
  for (std::size_t place = 0; place < mean_.size(); ++place) {
    mean_[place] = statistics_.mean()[place % size];
    scale_[place] = 1.0 / divisor(place % size);
  }
}

void ObsNormalizer::leave_out(const std::vector<ObservationGroup>& groups) {
  for (const ObservationGroup& group : groups) {
    if (group.dtype == Dtype::kF32) continue;
    left_out_.resize(static_cast<std::size_t>(statistics_.size()), 0);
    std::fill_n(left_out_.begin() + group.first, group.size, std::uint8_t{1});
  }
}

void ObsNormalizer::normalize(const float* raw, int rows, float* out) const {
  const std::size_t size = statistics_.mean().size();
  const std::size_t count = static_cast<std::size_t>(rows) * size;
  for (std::size_t i = 0; !left_out_.empty() && i < count; ++i) {
    if (leaves(i % size)) {
      out[i] = raw[i];
    } else {
      normalize_part(raw + i, i % size, 1, out + i);
    }
  }
  if (!left_out_.empty()) return;
  standardise(raw, count, mean_.size(), mean_.data(), scale_.data(), clip_, out);
}

void ObsNormalizer::normalize_part(const float* raw, std::size_t first, std::size_t count,
                                   float* out) const {
  for (std::size_t i = 0; i < count; ++i) {
    const double shifted = (static_cast<double>(raw[i]) - mean_[first + i]) * scale_[first + i];
    out[i] = std::clamp(static_cast<float>(shifted), -clip_, clip_);
  }
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

// All shards' sums are about the same mean, so they are added first and merged once.
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
  // Columns that stay as they are have moments of 0 about a mean of 0, so that no statistics of
  // pixels are kept.
  for (std::size_t d = 0; d < left_out_.size(); ++d) {
    if (leaves(d)) total.sum[d] = total.squares[d] = 0.0;
  }
  if (mirror_ != nullptr) add_images(total);
  statistics_.merge(total.count, total.sum.data(), total.squares.data());
  refresh();
  forget_sums();
}

// The sums are about a mean that is its own image. Rows and images together count once.
void ObsNormalizer::add_images(Sums& total) const {
  const std::vector<double> sum(total.sum.begin(), total.sum.begin() + statistics_.size());
  const std::vector<double> squares(total.squares.begin(),
                                    total.squares.begin() + statistics_.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto other = static_cast<std::size_t>(mirror_->index[i]);
    total.sum[i] = 0.5 * (sum[i] + static_cast<double>(mirror_->sign[i]) * sum[other]);
    total.squares[i] = 0.5 * (squares[i] + squares[other]);
  }
}

void ObsNormalizer::set_mirror(const SignedPermutation* mirror) {
  mirror_ = mirror;
  state_restored();
}

void ObsNormalizer::state_restored() {
  if (mirror_ != nullptr) statistics_.average_images(*mirror_);
  refresh();
  forget_sums();
}

void ObsNormalizer::forget_sums() {
  for (Sums& sums : shards_) {
    sums.count = 0.0;
    std::fill(sums.sum.begin(), sums.sum.end(), 0.0);
    std::fill(sums.squares.begin(), sums.squares.end(), 0.0);
  }
}

void ObsNormalizer::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  statistics_.append_state(prefix, out);
}

RewardNormalizer::RewardNormalizer(int num_envs, double gamma, double clip, int shards,
                                   NormaliserRule rule)
    : statistics_(1, rule),
      rule_(rule),
      gamma_(gamma),
      clip_(static_cast<float>(clip)),
      returns_(static_cast<std::size_t>(num_envs), 0.0),
      shards_(static_cast<std::size_t>(shards)) {}

void RewardNormalizer::accumulate(int shard, int begin, int end, const float* rewards, Ends ends,
                                  int num_steps, int num_envs, const std::uint8_t* fillers) {
  const bool cuts_before = rule_ == NormaliserRule::kGymnasium;
  const auto is_set = [](const std::uint8_t* flags, std::size_t i) {
    return flags != nullptr && flags[i] != 0;
  };
  Sums sums;
  const std::size_t width = num_envs > 0 ? static_cast<std::size_t>(num_envs) : returns_.size();
  const double mean = statistics_.mean()[0];
  double left_out = 0.0;
  for (int t = 0; t < num_steps; ++t) {
    const std::size_t first = static_cast<std::size_t>(t) * width;
    for (int n = begin; n < end; ++n) {
      const std::size_t i = first + static_cast<std::size_t>(n);
      if (is_set(fillers, i)) {
        left_out += 1.0;
        continue;
      }
      const bool terminated = is_set(ends.terminated, i);
      const double carried = cuts_before && terminated ? 0.0 : gamma_ * returns_[n];
      returns_[n] = carried + rewards[i];
      const double x = returns_[n] - mean;
      sums.sum += x;
      sums.squares += x * x;
      const bool ended = terminated || is_set(ends.truncated, i);
      if (!cuts_before && ended) returns_[n] = 0.0;
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

// Without Gymnasium's 1e-8, which leaves rewards near 1e-5 small.
double RewardNormalizer::factor() const {
  const double var = statistics_.var()[0];
  if (rule_ == NormaliserRule::kGymnasium) return 1.0 / std::sqrt(var + 1e-8);
  return var > 0.0 ? 1.0 / std::sqrt(var) : 1.0;
}

void RewardNormalizer::scale(float* rewards, std::size_t count) const {
  const double scale = factor(), limit = clip_;
  for (std::size_t i = 0; i < count; ++i) {
    rewards[i] = static_cast<float>(std::clamp(rewards[i] * scale, -limit, limit));
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
