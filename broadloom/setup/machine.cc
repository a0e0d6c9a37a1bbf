#include "broadloom/setup/machine.h"

#include <fmt/core.h>

#include <string>

#include "broadloom/config/keys.h"
#include "broadloom/setup/algorithms.h"

namespace broadloom {
namespace {

// What to make smaller where there is too little memory.
std::string what_is_large(const Config& config, const MemoryPlan& plan) {
  const std::size_t of_samples = plan.block + plan.permutation + plan.passing;
  return plan.network + plan.update > of_samples ? keys_of_size(config) : "num_envs or num_steps";
}

// The parts that num_envs and num_steps make large. unit: MB or GB, of so many bytes.
std::string parts_of_samples(const MemoryPlan& plan, const char* unit, double bytes) {
  std::string parts =
      fmt::format("{:.1f} {} of it the rollout block of num_envs * num_steps transitions",
                  static_cast<double>(plan.block + plan.permutation) / bytes, unit);
  if (plan.passing > 0) {
    parts += fmt::format(", {:.1f} {} what passes to the device and back",
                         static_cast<double>(plan.passing) / bytes, unit);
  }
  return parts;
}

}  // namespace

Status check_memory(const Config& config, const MemoryPlan& plan, int processes) {
  const std::size_t memory = physical_memory();
  const std::size_t all = plan.total() * static_cast<std::size_t>(processes);
  if (memory != 0 && all > memory) {
    const std::string times =
        processes == 1 ? "" : fmt::format(" in each of {} ranks on one machine", processes);
    return {ErrorKind::kInvalidConfig,
            fmt::format("this run takes {:.1f} GB{} ({}), but this machine has {:.1f} GB; make {} "
                        "smaller{}",
                        plan.total() * 1e-9, times, parts_of_samples(plan, "GB", 1e9),
                        memory * 1e-9, what_is_large(config, plan),
                        processes == 1 ? "" : ", or have fewer ranks with more threads each")};
  }
  if (config.memory_limit == 0 || plan.total() * 1e-6 <= config.memory_limit) return {};
  return {
      ErrorKind::kInvalidConfig,
      fmt::format("memory_limit: got {} MB, but this run takes {:.1f} MB ({}); make {} smaller, "
                  "or raise memory_limit",
                  config.memory_limit, plan.total() * 1e-6, parts_of_samples(plan, "MB", 1e6),
                  what_is_large(config, plan))};
}

bool is_machines_own(std::string_view key) {
  return role_of(key) == Role::kMachine && key != "isa";
}

Status set_machine(Config& config, const Overrides& keys) {
  for (const auto& [key, text] : keys) {
    if (!is_machines_own(key)) {
      return invalid(
          fmt::format("{}: got '{}' for a run that goes on; expected its own, or a key "
                      "of the machine such as device",
                      key, text));
    }
    BROADLOOM_TRY(set_config(config, key, text));
  }
  return {};
}

}  // namespace broadloom
