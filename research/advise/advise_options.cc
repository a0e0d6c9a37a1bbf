#include "research/advise/advise_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "broadloom/config/keys.h"
#include "broadloom/env/tasks/registry.h"

namespace broadloom {
namespace {

constexpr int kMostSeeds = 10;  // of the race

bool decides_speed(const std::string& key) {
  if (key == "learning_rate" || key == "memory_limit") return false;
  const Role role = role_of(key);
  return role == Role::kTask || role == Role::kNetwork || role == Role::kLearning ||
         role == Role::kMeasure || role == Role::kMachine;
}

bool contains(const Overrides& config, const std::string& key) {
  return std::any_of(config.begin(), config.end(),
                     [&](const auto& entry) { return entry.first == key; });
}

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
  if (options.steps == 0 && !options.known.speeds.empty()) {
    return invalid(
        "speeds are given with a budget of seconds, which measures them; give a budget of --steps");
  }
  if (options.threshold && !std::isfinite(*options.threshold)) {
    return invalid("threshold is not finite; expected a mean return");
  }
  return {};
}

// A file that is older than a key has that key's default. An option of the environment that is not
// set has its default.
Status check_known_speeds(const KnownSpeeds& known, const Config& base) {
  if (known.speeds.empty()) return {};
  static const Overrides kDefaults = to_overrides(Config{});
  std::map<std::string, std::string> theirs(kDefaults.begin(), kDefaults.end());
  Overrides ours = to_overrides(base);  // in order, the environment first
  const Result<std::vector<FieldInfo>> options = list_env_options(base.env_id, base.env_options);
  if (!options.ok()) return options.status();
  for (const FieldInfo& option : options.value()) {
    const std::string key = "env." + option.name;
    theirs[key] = option.default_text;
    if (!contains(ours, key)) ours.emplace_back(key, option.default_text);
  }
  for (const auto& [key, text] : known.config) {
    theirs[key] = text;
    if (!contains(ours, key)) ours.emplace_back(key, "");
  }
  for (const auto& [key, text] : ours) {
    const std::string& other = theirs[key];
    if (other == text || !decides_speed(key)) continue;
    return {ErrorKind::kMismatch,
            fmt::format("'{}' has speeds with {} = {}, but here it is {}; give the advice.json of "
                        "an advice with the same task and settings",
                        known.file, key, other.empty() ? "nothing" : other,
                        text.empty() ? "nothing" : text)};
  }
  return {};
}

}  // namespace broadloom
