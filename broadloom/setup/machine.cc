#include "broadloom/setup/machine.h"

#include <fmt/core.h>

#include <string>

#include "broadloom/config/keys.h"
#include "broadloom/setup/algorithms.h"

namespace broadloom {
namespace {

// The keys to reduce if memory is short.
std::string keys_to_reduce(const Config& config, const MemoryPlan& plan) {
  const std::size_t sample_bytes = plan.block + plan.permutation + plan.passing;
  return plan.network + plan.update > sample_bytes ? keys_of_size(config) : "num_envs or num_steps";
}

// The parts that grow with num_envs and num_steps. unit: MB or GB; bytes: its size.
std::string sample_parts(const MemoryPlan& plan, const char* unit, double bytes) {
  std::string parts =
      fmt::format("{:.1f} {} of it the rollout block of num_envs * num_steps transitions",
                  static_cast<double>(plan.block + plan.permutation) / bytes, unit);
  if (plan.passing > 0) {
    parts += fmt::format(", {:.1f} {} copies to and from the device",
                         static_cast<double>(plan.passing) / bytes, unit);
  }
  return parts;
}

}  // namespace

Status check_memory(const Config& config, const MemoryPlan& plan, int processes,
                    const std::vector<MemoryLimit>& limits) {
  for (const MemoryLimit& limit : limits) {
    const bool adds_up = limit.is_shared && processes > 1;
    if (plan.total() * static_cast<std::size_t>(adds_up ? processes : 1) <= limit.bytes) continue;
    const bool is_large = plan.total() >= 1'000'000'000;
    const char* const unit = is_large ? "GB" : "MB";
    const double bytes = is_large ? 1e9 : 1e6;
    const std::string times =
        adds_up ? fmt::format(" in each of {} ranks on one machine", processes) : "";
    return {ErrorKind::kInvalidConfig,
            fmt::format("this run takes {:.1f} {}{} ({}), but {}; make {} smaller{}",
                        static_cast<double>(plan.total()) / bytes, unit, times,
                        sample_parts(plan, unit, bytes), limit.text(), keys_to_reduce(config, plan),
                        adds_up ? ", or have fewer ranks with more threads each" : "")};
  }
  if (config.memory_limit == 0 || plan.total() * 1e-6 <= config.memory_limit) return {};
  return {
      ErrorKind::kInvalidConfig,
      fmt::format("memory_limit: got {} MB, but this run takes {:.1f} MB ({}); make {} smaller, "
                  "or raise memory_limit",
                  config.memory_limit, plan.total() * 1e-6, sample_parts(plan, "MB", 1e6),
                  keys_to_reduce(config, plan))};
}

bool is_machine_key(std::string_view key) { return role_of(key) == Role::kMachine && key != "isa"; }

Status set_machine(Config& config, const Overrides& keys) {
  for (const auto& [key, text] : keys) {
    if (!is_machine_key(key)) {
      return invalid(
          fmt::format("{}: got '{}' for a resumed run; expected no value, or a machine key such "
                      "as device",
                      key, text));
    }
    BROADLOOM_TRY(set_config(config, key, text));
  }
  return {};
}

}  // namespace broadloom
