// Output rows of one call with marks around and in them, for conformance.h. The marks show writes
// to other rows, and rows that a call leaves out.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/env/unwritten.h"
#include "broadloom/env/vec_env.h"

namespace broadloom::conformance {

inline constexpr int kEnvs = 5;
inline constexpr std::uint8_t kUnwrittenByte = 165;

template <class Number>
class GuardedRows {
 public:
  // `mark`: the value of numbers that nobody wrote. As many marks as numbers stand on both sides.
  GuardedRows(std::size_t width, Number mark, std::size_t rows = kEnvs)
      : width_(width),
        guards_(width == 0 ? 0 : rows * width + kMoreGuards),
        mark_(mark),
        numbers_(rows * width + 2 * guards_, mark) {}

  // Null if rows have no numbers.
  Number* row(int k = 0) {
    const std::size_t place = guards_ + static_cast<std::size_t>(k) * width_;
    return width_ == 0 ? nullptr : numbers_.data() + place;
  }
  const Number* row(int k = 0) const { return const_cast<GuardedRows*>(this)->row(k); }
  std::size_t width() const { return width_; }
  void clear() { std::fill(numbers_.begin(), numbers_.end(), mark_); }

  // Whether all numbers outside the first `count` rows still are marks.
  bool guards_hold(int count) const {
    return width_ == 0 || (all_marks(numbers_.data(), row()) &&
                           all_marks(row(count), numbers_.data() + numbers_.size()));
  }
  bool has_mark(int k) const {
    return std::any_of(row(k), row(k) + width_, [&](const Number& x) { return is_mark(x); });
  }
  bool is_untouched(int k) const { return all_marks(row(k), row(k) + width_); }

 private:
  static constexpr std::size_t kMoreGuards = 16;
  // NaN differs from itself, so this compares bits.
  bool is_mark(const Number& x) const {
    using Bits = std::array<std::byte, sizeof(Number)>;
    return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(mark_);
  }
  // In numbers that are all alike, each is like the one after it.
  bool all_marks(const Number* first, const Number* last) const {
    if (first == last) return true;
    const auto others = static_cast<std::size_t>(last - first - 1) * sizeof(Number);
    return is_mark(*first) && std::memcmp(first, first + 1, others) == 0;
  }

  std::size_t width_, guards_;
  Number mark_;
  std::vector<Number> numbers_;
};

// Guarded observations in the environment's dtype.
class GuardedObservations {
 public:
  explicit GuardedObservations(const Space& space, std::size_t rows = kEnvs)
      : floats_(space.dtype == Dtype::kU8 ? 0 : width_of(space), unwritten_number(), rows),
        bytes_(space.dtype == Dtype::kU8 ? width_of(space) : 0, kUnwrittenByte, rows) {}

  ObservationRows rows() {
    if (bytes_.width() > 0) return bytes_.row();
    return floats_.width() > 0 ? ObservationRows(floats_.row()) : nullptr;
  }
  void clear() {
    floats_.clear();
    bytes_.clear();
  }
  bool guards_hold(int count) const {
    return floats_.guards_hold(count) && bytes_.guards_hold(count);
  }
  // Whether row k lacks a number. Any byte is a number, so only rows without any show.
  bool lacks(int k) const {
    return (floats_.width() > 0 && floats_.has_mark(k)) ||
           (bytes_.width() > 0 && bytes_.is_untouched(k));
  }
  // Copies the first `count` rows, except untouched ones.
  void copy_to(ObservationRows target, int count) const {
    const std::size_t width = floats_.width() + bytes_.width();
    for (int k = 0; width > 0 && k < count; ++k) {
      const ObservationRows row = target.offset_by(static_cast<std::size_t>(k) * width);
      if (bytes_.width() > 0 && !bytes_.is_untouched(k)) {
        std::copy_n(bytes_.row(k), width, row.bytes());
      }
      if (floats_.width() > 0 && !floats_.is_untouched(k)) {
        std::copy_n(floats_.row(k), width, row.floats());
      }
    }
  }

 private:
  static std::size_t width_of(const Space& space) { return static_cast<std::size_t>(space.size); }

  GuardedRows<float> floats_;
  GuardedRows<std::uint8_t> bytes_;
};

inline std::string wrote_outside(const char* function, const std::string& id) {
  return fmt::format("{}() of {} wrote outside its rows; row k belongs to environment begin + k",
                     function, id);
}

// Guarded rows of a step.
class StepOutputs {
 public:
  explicit StepOutputs(const EnvSpec& spec, std::size_t rows = kEnvs)
      : id_(spec.id),
        observations_(spec.observation, rows),
        last_(spec.observation, rows),
        critic_(spec.critic_observation, rows),
        critic_last_(spec.critic_observation, rows),
        rewards_(1, unwritten_number(), rows),
        terminated_(1, kUnwrittenByte, rows),
        truncated_(1, kUnwrittenByte, rows),
        ends_(1, EpisodeEnd{}, rows) {}

  // Marks all rows, and returns them.
  StepRows begin(const float* actions) {
    for (GuardedObservations* each : {&observations_, &last_, &critic_, &critic_last_}) {
      each->clear();
    }
    rewards_.clear();
    terminated_.clear();
    truncated_.clear();
    ends_.clear();
    return {actions,           observations_.rows(), rewards_.row(),
            terminated_.row(), truncated_.row(),     last_.rows(),
            ends_.row(),       critic_.rows(),       critic_last_.rows()};
  }

  // kMismatch if a step of environments [begin, end) wrote elsewhere, or left something out.
  Status check(int begin, int end) const {
    const int count = end - begin;
    const bool hold = observations_.guards_hold(count) && last_.guards_hold(count) &&
                      critic_.guards_hold(count) && critic_last_.guards_hold(count) &&
                      rewards_.guards_hold(count) && terminated_.guards_hold(count) &&
                      truncated_.guards_hold(count) && ends_.guards_hold(count);
    if (!hold) return {ErrorKind::kMismatch, wrote_outside("step", id_)};
    for (int k = 0; k < count; ++k) {
      const char* const left_out = observations_.lacks(k)    ? "the observation"
                                   : critic_.lacks(k)        ? "the critic observation"
                                   : rewards_.has_mark(k)    ? "the reward"
                                   : terminated_.has_mark(k) ? "terminated"
                                   : truncated_.has_mark(k)  ? "truncated"
                                                             : nullptr;
      if (left_out == nullptr) continue;
      return {ErrorKind::kMismatch, fmt::format("a step of {} did not write {} of environment {}",
                                                id_, left_out, begin + k)};
    }
    return {};
  }

  void copy_to(const StepRows& rows, int count) const {
    observations_.copy_to(rows.observations, count);
    last_.copy_to(rows.final_observations, count);
    critic_.copy_to(rows.critic_observations, count);
    critic_last_.copy_to(rows.final_critic_observations, count);
    std::copy_n(rewards_.row(), count, rows.rewards);
    std::copy_n(terminated_.row(), count, rows.terminated);
    std::copy_n(truncated_.row(), count, rows.truncated);
    std::copy_n(ends_.row(), count, rows.ends);
  }

 private:
  std::string id_;
  GuardedObservations observations_, last_, critic_, critic_last_;
  GuardedRows<float> rewards_;
  GuardedRows<std::uint8_t> terminated_, truncated_;
  GuardedRows<EpisodeEnd> ends_;
};

}  // namespace broadloom::conformance
