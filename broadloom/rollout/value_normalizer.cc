#include "broadloom/rollout/value_normalizer.h"

#include <cmath>

#include "broadloom/math/chained_sum.h"

namespace broadloom {
namespace {

constexpr double kEps = 1e-5;
constexpr double kClip = 5.0;
constexpr double kFirstCount = 1.0;

// Merges number(i) of all transitions.
template <class Number>
void merge(const RolloutBlock& block, Number number, RunningMeanStd& statistics) {
  const double mean = statistics.mean()[0];
  const auto sum_of = [&](auto term) {
    return chained_sum(block.size(), [&](std::size_t i) {
      return block.is_filler(i) ? 0.0 : term(static_cast<double>(number(i)) - mean);
    });
  };
  const double sum = sum_of([](double x) { return x; });
  const double squares = sum_of([](double x) { return x * x; });
  statistics.merge(static_cast<double>(block.transitions()), &sum, &squares);
}

// The critic's values stay what they were in unit `before`.
void keep_values(ValueUnit before, ValueUnit after, const LinearSlice& head, float* params) {
  const double ratio = before.deviation / after.deviation;
  for (int i = 0; i < head.in; ++i) {
    float& weight = params[head.at(i, 0)];
    weight = static_cast<float>(weight * ratio);
  }
  float& bias = params[head.bias];
  bias = static_cast<float>((before.deviation * bias + before.mean - after.mean) / after.deviation);
}

}  // namespace

ValueNormalizer::ValueNormalizer(ValueNorm kind) : kind_(kind), statistics_(1, kFirstCount) {}

ValueUnit ValueNormalizer::unit() const {
  ValueUnit unit{statistics_.mean()[0], std::sqrt(statistics_.var()[0] + kEps)};
  if (kind_ == ValueNorm::kRunning) unit.clip = kClip;
  return unit;
}

void ValueNormalizer::denormalize(float* values, std::size_t count) const {
  const ValueUnit now = unit();
  for (std::size_t i = 0; i < count; ++i) values[i] = now.value(values[i]);
}

void ValueNormalizer::denormalize(RolloutBlock& block) const {
  denormalize(block.values.data(), block.values.size());
  denormalize(block.last_values.data(), block.last_values.size());
  for (int n = 0; n < block.N; ++n) {
    const int used = block.truncations[static_cast<std::size_t>(n)];
    if (used > 0) {
      denormalize(&block.final_values[block.final_index(n, 0)], static_cast<std::size_t>(used));
    }
  }
}

void ValueNormalizer::take(const RolloutBlock& block, const LinearSlice& head, float* params) {
  const ValueUnit before = unit();
  merge(
      block, [&](std::size_t i) { return block.values[i]; }, statistics_);
  learnt_.old_values = unit();
  merge(
      block, [&](std::size_t i) { return block.advantages[i] + block.values[i]; }, statistics_);
  learnt_.targets = unit();
  if (kind_ != ValueNorm::kPopart) return;
  learnt_.old_values = learnt_.targets;
  keep_values(before, learnt_.targets, head, params);
}

}  // namespace broadloom
