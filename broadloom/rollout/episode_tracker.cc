#include "broadloom/rollout/episode_tracker.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace broadloom {
namespace {

// Stays below 0 after any number of steps.
constexpr std::int64_t kLeftOut = std::numeric_limits<std::int64_t>::min() / 2;

double share(double part, double whole) {
  return whole > 0.0 ? part / whole : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

EpisodeTracker::EpisodeTracker(int num_envs, std::size_t strata)
    : running_return_(static_cast<std::size_t>(num_envs)),
      running_length_(static_cast<std::size_t>(num_envs)),
      returns_(kWindow),
      lengths_(kWindow),
      outcomes_(kWindow),
      block_success_(strata + 1) {}

void EpisodeTracker::leave_out_current(int env) {
  running_length_[static_cast<std::size_t>(env)] = kLeftOut;
}

void EpisodeTracker::begin_anew() {
  std::fill(running_return_.begin(), running_return_.end(), 0.0);
  std::fill(running_length_.begin(), running_length_.end(), 0);
}

void EpisodeTracker::observe(const float* rewards, const std::uint8_t* terminated,
                             const std::uint8_t* truncated, int num_steps, const EpisodeEnd* ends,
                             int num_stepped, const std::uint8_t* fillers, int first_counted) {
  const std::size_t num_envs =
      num_stepped > 0 ? static_cast<std::size_t>(num_stepped) : running_return_.size();
  block_ = {};
  std::fill(block_success_.begin(), block_success_.end(), BlockSuccess{});
  for (int t = 0; t < num_steps; ++t) {
    const std::size_t first = static_cast<std::size_t>(t) * num_envs;
    std::uint8_t any = 0;
    for (std::size_t n = 0; n < num_envs; ++n) {
      running_return_[n] += rewards[first + n];
      running_length_[n] += 1;
      any |= terminated[first + n] | truncated[first + n];
    }
    for (std::size_t n = 0; fillers != nullptr && n < num_envs; ++n) {
      running_length_[n] -= fillers[first + n];  // their reward is 0
    }
    if (any == 0) continue;
    for (std::size_t n = 0; n < num_envs; ++n) {
      if ((terminated[first + n] | truncated[first + n]) == 0) continue;
      const EpisodeEnd end = ends != nullptr ? ends[first + n] : EpisodeEnd{};
      end_episode(n, {terminated[first + n] != 0 ? 1 : 0, end.success, end.stratum},
                  n >= static_cast<std::size_t>(first_counted));
    }
  }
}

void EpisodeTracker::end_episode(std::size_t n, Ended outcome, bool counts) {
  const double episode_return = std::exchange(running_return_[n], 0.0);
  const std::int64_t length = std::exchange(running_length_[n], 0);
  if (length < 0 || !counts) return;
  const std::size_t place = static_cast<std::size_t>(episodes_ % kWindow);
  returns_[place] = episode_return;
  lengths_[place] = static_cast<double>(length);
  outcomes_[place] = outcome;
  ++episodes_;
  add_to_block(episode_return, static_cast<double>(length), outcome);
}

void EpisodeTracker::add_to_block(double episode_return, double length, const Ended& outcome) {
  block_.episodes += 1.0;
  block_.returns += episode_return;
  block_.lengths += length;
  block_.terminated += outcome.terminated;
  if (outcome.success < 0) return;
  std::size_t place = static_cast<std::size_t>(outcome.stratum) + 1;
  if (place >= block_success_.size()) place = 0;  // counted among all episodes only
  block_success_[place].known += 1.0;
  block_success_[place].succeeded += outcome.success;
}

double EpisodeTracker::mean_return() const {
  return reports_block() ? block_.returns / block_.episodes : window_mean(returns_);
}

double EpisodeTracker::mean_length() const {
  return reports_block() ? block_.lengths / block_.episodes : window_mean(lengths_);
}

std::int64_t EpisodeTracker::episodes_averaged() const {
  return std::max(block_episodes(), static_cast<std::int64_t>(window()));
}

double EpisodeTracker::window_mean(const std::vector<double>& window) const {
  const std::size_t count = this->window();
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += window[i];
  return share(sum, static_cast<double>(count));
}

double EpisodeTracker::termination_rate() const {
  if (reports_block()) return block_.terminated / block_.episodes;
  int known = 0, terminated = 0;
  for (std::size_t i = 0; i < window(); ++i) {
    if (outcomes_[i].terminated < 0) continue;
    ++known;
    terminated += outcomes_[i].terminated;
  }
  return share(terminated, known);
}

double EpisodeTracker::block_success(int stratum) const {
  BlockSuccess sum;
  for (std::size_t place = 0; place < block_success_.size(); ++place) {
    if (stratum != kAnyStratum && static_cast<int>(place) != stratum + 1) continue;
    sum.known += block_success_[place].known;
    sum.succeeded += block_success_[place].succeeded;
  }
  return share(sum.succeeded, sum.known);
}

double EpisodeTracker::success_rate(int stratum) const {
  if (reports_block()) return block_success(stratum);
  int known = 0, succeeded = 0;
  for (std::size_t i = 0; i < window(); ++i) {
    const Ended& outcome = outcomes_[i];
    if (outcome.success < 0 || (stratum != kAnyStratum && outcome.stratum != stratum)) continue;
    ++known;
    succeeded += outcome.success;
  }
  return share(succeeded, known);
}

std::size_t EpisodeTracker::window() const {
  return static_cast<std::size_t>(std::min<std::int64_t>(episodes_, kWindow));
}

void EpisodeTracker::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const std::int64_t num_envs = static_cast<std::int64_t>(running_return_.size());
  constexpr double kMostStrata = std::numeric_limits<std::int16_t>::max();  // EpisodeEnd::stratum
  static_assert(sizeof(Ended) == 3 * sizeof(std::int32_t));
  const auto outcome = [](std::size_t column, double high) {
    return in_column(column, 3, Dtype::kI32, -1.0, high);
  };
  const ValueRange length{static_cast<double>(kLeftOut), kMostCounted};
  out.push_back({prefix + ".running_return",
                 Dtype::kF64,
                 {num_envs},
                 running_return_.data(),
                 {kFiniteRange}});
  out.push_back(
      {prefix + ".running_length", Dtype::kI64, {num_envs}, running_length_.data(), {length}});
  out.push_back({prefix + ".returns", Dtype::kF64, {kWindow}, returns_.data(), {kFiniteRange}});
  out.push_back({prefix + ".lengths", Dtype::kF64, {kWindow}, lengths_.data(), {kCountRange}});
  out.push_back({prefix + ".outcomes",
                 Dtype::kI32,
                 {kWindow, 3},
                 outcomes_.data(),
                 {outcome(0, 1.0), outcome(1, 1.0), outcome(2, kMostStrata)}});
  out.push_back({prefix + ".episodes", Dtype::kI64, {1}, &episodes_, {kCountRange}});
}

void EpisodeTracker::append_block_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const std::int64_t places = static_cast<std::int64_t>(block_success_.size());
  const auto column = [](std::size_t place, double low, double high) {
    return in_column(place, 4, Dtype::kF64, low, high);
  };
  out.push_back({prefix + ".block",
                 Dtype::kF64,
                 {4},
                 &block_,
                 {column(0, 0.0, kMostCounted), column(1, kFiniteRange.low, kFiniteRange.high),
                  column(2, 0.0, kMostCounted), column(3, -kMostCounted, kMostCounted)}});
  out.push_back(
      {prefix + ".block_success", Dtype::kF64, {places, 2}, block_success_.data(), {kCountRange}});
}

}  // namespace broadloom
