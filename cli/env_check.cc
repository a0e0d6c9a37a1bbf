#include "cli/env_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/record/json.h"
#include "cli/console.h"
#include "cli/progress.h"

namespace broadloom::cli {
namespace {

void print_check(const EnvCheck& check, const ConformanceReport& report) {
  for (const ConformanceReport::Check& one : report.checks) {
    const char* mark = !one.left_out.empty()  ? "not checked"
                       : one.findings.empty() ? "holds"
                                              : "WRONG";
    tell("  {:<12} {}{}\n", mark, one.name, one.left_out.empty() ? "" : ": " + one.left_out);
    if (!one.unchecked.empty()) tell("  {:<12}   not checked: {}\n", "", one.unchecked);
    for (const std::string& finding : one.findings) tell("  {:<12}   {}\n", "", finding);
  }
  const std::size_t wrong = report.findings().size();
  if (wrong == 0) {
    tell("{} passes all checks.\n", check.id);
  } else {
    tell("{} breaks the rules of VecEnv in {} place{}.\n", check.id, wrong, wrong == 1 ? "" : "s");
  }
}

void print_json_report(const EnvCheck& check, const ConformanceReport& report) {
  Json checks = Json::array();
  for (const ConformanceReport::Check& one : report.checks) {
    Json json = {{"name", one.name},
                 {"findings", one.findings},
                 {"left_out", nullptr},
                 {"unchecked", nullptr}};
    if (!one.left_out.empty()) json["left_out"] = one.left_out;
    if (!one.unchecked.empty()) json["unchecked"] = one.unchecked;
    checks.push_back(std::move(json));
  }
  print_json({{"env_id", check.id}, {"agrees", report.findings().empty()}, {"checks", checks}});
}

}  // namespace

int check_env(const EnvCheck& check, const Overrides& env_options) {
  // Some options are only checked when the environment is made, such as those of a model file. A
  // bad one is the caller's fault, not the environment's.
  const Status made = make_vec_env(check.id, env_options, {}).status();
  if (!made.ok()) return report_error(made, check.json);
  const Result<EnvSpec> spec = env_spec(check.id, env_options);
  if (!spec.ok()) return report_error(spec.status(), check.json);
  ConformanceOptions options = check.options;
  options.has_chance = !check.no_chance;
  // An environment refuses a limit above its own, and one check needs one step more.
  const int own_limit = spec.value().max_episode_steps;
  if (own_limit > 2) options.time_limit = std::min(options.time_limit, own_limit - 1);
  constexpr int kLongestOwn = 10'000;  // takes seconds for fast environments
  if (own_limit <= kLongestOwn) options.own_limit = own_limit;
  ShareLine line(false);
  options.on_check = [&](const char* name, double share) { line.show(name, share); };
  for (const auto& option : env_options) {
    options.noisy_observations |=
        option.first == "disturb.obs_noise" || option.first == "disturb.obs_noise_of";
  }
  const ConformanceReport report = check_vec_env(
      [&](const VecEnvOptions& asked) { return make_vec_env(check.id, env_options, asked); },
      options);
  line.clear();
  if (check.json) {
    print_json_report(check, report);
  } else {
    print_check(check, report);
  }
  return report.findings().empty() ? 0 : static_cast<int>(ErrorKind::kMismatch);
}

}  // namespace broadloom::cli
