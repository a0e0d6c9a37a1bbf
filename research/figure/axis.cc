#include "research/figure/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "broadloom/core/number_text.h"
#include "broadloom/core/portable_math.h"

namespace broadloom {
namespace {

constexpr double kLog2Of10 = 3.32192809488736234787;

// {10^exponent <= value, exponent}; value > 0.
std::pair<double, int> power_of_ten_below(double value) {
  int exponent = 0;
  double power = 1.0;
  while (power > value) {
    power /= 10.0;
    --exponent;
  }
  while (power * 10.0 <= value) {
    power *= 10.0;
    ++exponent;
  }
  return {power, exponent};
}

std::string log_text(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4 && std::fmod(value, 1e3) == 0.0) return fmt::format("{:g}k", value / 1e3);
  if (value >= 1e3) return with_commas(static_cast<std::int64_t>(std::llround(value)));
  return fmt::format("{:g}", value);
}

// 5e-4, where plain decimals would be longer.
std::string exponent_text(double value) {
  const auto [power, exponent] = power_of_ten_below(value * (1 + 1e-9));
  return fmt::format("{:g}e{}", std::round(value / power), exponent);
}

// Every n-th of the values, such that at most `count` are left.
std::vector<double> thinned(const std::vector<double>& values, int count) {
  const std::size_t most = static_cast<std::size_t>(std::max(count, 2));
  const std::size_t step = (values.size() + most - 1) / most;
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); i += std::max<std::size_t>(step, 1)) {
    kept.push_back(values[i]);
  }
  return kept;
}

// Powers of the base between the ends, which are logarithms to it, times each of the factors.
std::vector<double> powers_between(double base, double low, double high,
                                   const std::vector<double>& factors) {
  std::vector<double> values;
  for (int i = static_cast<int>(std::floor(low)) - 1; i <= static_cast<int>(std::ceil(high)); ++i) {
    const double power = i >= 0 ? portable::power(base, i) : 1.0 / portable::power(base, -i);
    for (const double factor : factors) {
      const double place = i + portable::log2(factor) / (base == 2.0 ? 1.0 : kLog2Of10);
      if (place >= low - 1e-9 && place <= high + 1e-9) values.push_back(power * factor);
    }
  }
  return values;
}

}  // namespace

void AxisRange::add(double value) {
  if (!std::isfinite(value)) return;
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

TickStep tick_step(double span, int count) {
  const double raw = std::max(span, 1e-12) / std::max(count, 1);
  const auto [power, exponent] = power_of_ten_below(raw);
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) {
      return {factor * power, std::max(0, -exponent), std::max(0, exponent)};
    }
  }
  return {10.0 * power, std::max(0, -exponent - 1), std::max(0, exponent + 1)};
}

std::vector<std::string> tick_texts(const std::vector<double>& values, const TickStep& step) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const double unit = largest >= 1e6 ? 1e6 : largest >= 1e4 ? 1e3 : 1.0;
  const char* letter = largest >= 1e6 ? "M" : largest >= 1e4 ? "k" : "";
  // Steps are 1, 2 or 5 times a power of ten: as many decimals fewer as the unit has zeros.
  const int zeros = unit >= 1e6 ? 6 : unit >= 1e3 ? 3 : 0;
  const int decimals = std::max(0, zeros + step.decimals - step.zeros);
  std::vector<std::string> texts;
  for (const double value : values) {
    const bool zero = std::abs(value) < step.step * 1e-6;
    const bool whole = unit == 1.0 && decimals == 0;
    texts.push_back(zero    ? "0"
                    : whole ? with_commas(std::llround(value))
                            : fmt::format("{:.{}f}{}", value / unit, decimals, letter));
  }
  return texts;
}

Axis::Axis(const FigureAxis& axis, AxisRange range, int count, bool round_ends)
    : scale_(axis.scale) {
  if (scale_ == FigureScale::kCategories) {
    low_ = -0.5;
    high_ = static_cast<double>(axis.categories.size()) - 0.5;
    for (std::size_t i = 0; i < axis.categories.size(); ++i) {
      values_.push_back(static_cast<double>(i));
    }
    texts_ = axis.categories;
    return;
  }
  for (const double value : axis.include) range.add(value);
  low_ = place(range.low);
  high_ = place(range.high);
  // What is a single value, but for rounding, stands in the middle.
  const double least = std::max(1e-9 * std::max(std::abs(low_), std::abs(high_)), 1e-12);
  if (!(high_ - low_ > least)) {
    const double room = scale_ == FigureScale::kLinear ? std::max(std::abs(low_) * 0.1, 1e-9) : 0.5;
    low_ -= room;
    high_ += room;
  }
  if (scale_ == FigureScale::kLinear) {
    set_linear_ticks(count, round_ends);
  } else {
    set_log_ticks(count);
  }
}

double Axis::place(double value) const {
  if (scale_ == FigureScale::kLog2) return portable::log2(value);
  if (scale_ == FigureScale::kLog10) return portable::log2(value) / kLog2Of10;
  return value;
}

void Axis::set_linear_ticks(int count, bool round_ends) {
  const TickStep step = tick_step(high_ - low_, count);
  double first = std::ceil(low_ / step.step - 1e-9), last = std::floor(high_ / step.step + 1e-9);
  if (round_ends) {
    first = std::floor(low_ / step.step + 1e-9);
    last = std::ceil(high_ / step.step - 1e-9);
    low_ = first * step.step;
    high_ = last * step.step;
  } else if (high_ / step.step - std::floor(high_ / step.step) > 0.98) {
    // A run that stops just short of a round number, as whole blocks do, still shows it.
    last = std::ceil(high_ / step.step);
    high_ = last * step.step;
  }
  const int ticks = static_cast<int>(last - first) + 1;
  for (int i = 0; i < ticks; ++i) values_.push_back((first + i) * step.step);
  texts_ = tick_texts(values_, step);
}

void Axis::set_log_ticks(int count) {
  const double base = scale_ == FigureScale::kLog2 ? 2.0 : 10.0;
  values_ = powers_between(base, low_, high_, {1.0});
  if (base == 10.0 && values_.size() < 3 && count >= 4) {
    values_ = powers_between(base, low_, high_, {1.0, 2.0, 5.0});
  }
  if (values_.size() > static_cast<std::size_t>(std::max(count, 2))) {
    values_ = thinned(values_, count);
  }
  const bool small = !values_.empty() && values_.front() < 1e-3;
  for (const double value : values_) {
    texts_.push_back(small ? exponent_text(value) : log_text(value));
  }
}

void Axis::set_pixels(double from, double to, double inset) {
  from_ = from;
  to_ = to;
  inset_ = scale_ == FigureScale::kCategories ? 0.0 : from < to ? inset : -inset;
}

double Axis::at(double value) const {
  const double share = (place(value) - low_) / (high_ - low_);
  return from_ + inset_ + share * (to_ - from_ - 2.0 * inset_);
}

double Axis::slot() const {
  return std::abs(to_ - from_) / static_cast<double>(std::max<std::size_t>(values_.size(), 1));
}

std::vector<AxisTick> Axis::ticks() const {
  std::vector<AxisTick> out;
  for (std::size_t i = 0; i < values_.size(); ++i) out.push_back({at(values_[i]), texts_[i]});
  return out;
}

std::vector<std::string> Axis::texts() const { return texts_; }

}  // namespace broadloom
