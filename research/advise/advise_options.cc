#include "research/advise/advise_options.h"

#include <fmt/core.h>

#include <cmath>

namespace broadloom {
namespace {

constexpr int kMostSeeds = 10;  // of the race

}  // namespace

Status check_options(const AdviceOptions& options) {
  if (options.seeds < 1 || options.seeds > kMostSeeds) {
    return invalid(fmt::format("seeds is {}; expected 1 to {}", options.seeds, kMostSeeds));
  }
  if (options.threads < 1) {
    return invalid(fmt::format("threads is {}; expected at least 1", options.threads));
  }
  if (options.steps < 0 || (options.steps == 0 && !(options.seconds >= 1.0))) {
    return invalid(
        fmt::format("the budget is {} seconds; expected at least 1, or --steps", options.seconds));
  }
  if (options.reprobe && options.rule == AdviceRule::kGradient) {
    return invalid(
        "reprobe is given with rule gradient, which trains nothing half-way; expected race");
  }
  if (options.steps == 0 && !options.speeds.empty()) {
    return invalid(
        "speeds are given with a budget of seconds, which measures them; give a budget of --steps");
  }
  if (options.threshold && !std::isfinite(*options.threshold)) {
    return invalid("threshold is not finite; expected a mean return");
  }
  return {};
}

}  // namespace broadloom
