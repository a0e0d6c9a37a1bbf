#include "cli/gradients_windows.h"

#include <fmt/core.h>

#include <cmath>

#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "cli/console.h"
#include "cli/policy_isa.h"
#include "cli/progress.h"
#include "research/report/gradients_json.h"

namespace broadloom::cli {
namespace {

std::string interval_cell(const Estimate& e) {
  if (!std::isfinite(e.value)) return "-";
  return fmt::format("{:.3g} [{:.3g}, {:.3g}]", e.value, e.low, e.high);
}

void print_windows(const Policy& policy, const WindowsCommand& command,
                   const std::vector<WindowResult>& results) {
  constexpr const char* kRow = "{:<7} {:>7}  {:<24} {:<24} {:<24} {}\n";
  tell("{} at step {}, recurrent = {}: gradients through windows, in {} blocks\n\n", policy.spec.id,
       with_commas(policy.origin.global_step), policy.config.recurrent,
       with_commas(command.settings.blocks));
  tell(kRow, "side", "window", "bias / norm", "cosine of means", "agreement", "variance");
  for (const WindowResult& r : results) {
    tell(kRow, r.side, r.length, interval_cell(r.relative_bias), interval_cell(r.cosine),
         interval_cell(r.agreement), interval_cell(r.variance));
  }
}

Json interval_json(const Estimate& e) {
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}};
}

Json windows_json(const Policy& policy, const WindowsCommand& command,
                  const std::vector<WindowResult>& results) {
  Json json = {{"format", 1},
               {"command", command.arguments},
               {"env_id", policy.spec.id},
               {"recurrent", policy.config.recurrent},
               {"policy", network_json(policy.config)},
               {"global_step", policy.origin.global_step},
               {"blocks", command.settings.blocks}};
  json["windows"] = Json::array();
  for (const WindowResult& r : results) {
    json["windows"].push_back({{"side", r.side},
                               {"steps", r.length},
                               {"relative_bias", interval_json(r.relative_bias)},
                               {"cosine", interval_json(r.cosine)},
                               {"agreement", interval_json(r.agreement)},
                               {"variance", interval_json(r.variance)}});
  }
  return json;
}

}  // namespace

Result<int> measure_windows(const WindowsCommand& command) {
  BROADLOOM_TRY(use_isa_of_policy(command.source));
  const Result<FoundCheckpoint> found = find_policy(command.source);
  if (!found.ok()) return found.status();
  const Result<std::unique_ptr<LoadedPolicy>> loaded = LoadedPolicy::load(found.value());
  if (!loaded.ok()) return loaded.status();
  if (!loaded.value()->note().empty()) tell(stderr, "Note: {}\n", loaded.value()->note());
  const Policy policy = loaded.value()->view();
  WindowSettings settings = command.settings;
  ShareLine line(command.quiet);
  settings.on_block = [&line](double share) -> Status {
    line.show_rest("windows", share);
    return {};
  };
  const Result<std::vector<WindowResult>> results = study_windows(policy, settings);
  if (!results.ok()) return results.status();
  line.clear();
  if (!command.quiet) {
    print_windows(policy, command, results.value());
    std::fflush(stdout);
  }
  const std::string path = command.folder + "/windows.json";
  BROADLOOM_TRY(
      write_file_atomically(path, windows_json(policy, command, results.value()).dump(1) + "\n"));
  if (!command.quiet) tell("\nWritten: {}\n", path);
  return 0;
}

}  // namespace broadloom::cli
