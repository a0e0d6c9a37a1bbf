#include "broadloom/train/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "broadloom/core/number_text.h"

namespace broadloom {
namespace {

// The audit's findings about the budget, which it has limits for.
std::vector<AuditFinding> budget_findings(const Config& config) {
  Evidence evidence;
  add_budget_facts(config, evidence.facts);
  std::vector<AuditFinding> findings = judge(evidence);
  std::erase_if(findings, [](const AuditFinding& finding) {
    const std::string_view check = finding.check;
    return check != "steps_lost" && check != "few_updates";
  });
  return findings;
}

bool is_fine(const Config& config) { return worst(budget_findings(config)) == Severity::kOk; }

// The next multiple of the block with which all is well.
Config with_longer_run(Config config) {
  const std::int64_t block = config.batch_size();
  config.total_timesteps = (config.num_iterations() + 1) * block;
  while (!is_fine(config)) config.total_timesteps += block;
  return config;
}

// The most environments with which all is well, looked for among the most for each number of
// updates; 0: there are none.
int fewer_envs(Config config) {
  const std::int64_t steps = config.total_timesteps / config.num_steps;
  const int families = std::max(1, config.seed_families);
  for (std::int64_t updates = config.num_iterations() + 1; updates * families <= steps; ++updates) {
    config.num_envs = static_cast<int>(steps / updates / families) * families;
    if (is_fine(config) && validate(config).ok()) return config.num_envs;
  }
  return 0;
}

}  // namespace

void add_budget_facts(const Config& config, RunFacts& facts) {
  const auto asked = static_cast<double>(config.total_timesteps);
  const auto taken = static_cast<double>(config.num_iterations() * config.batch_size());
  facts.steps_lost = (asked - taken) / asked;
  facts.updates = static_cast<double>(config.num_iterations());
}

std::string budget_warning(const Config& config, const std::string& cell) {
  const std::vector<AuditFinding> findings = budget_findings(config);
  const Severity severity = worst(findings);
  const bool few = std::any_of(findings.begin(), findings.end(), [](const AuditFinding& finding) {
    return finding.check == std::string_view("few_updates") && finding.severity != Severity::kOk;
  });
  if (severity == Severity::kOk) return "";
  RunFacts facts;
  add_budget_facts(config, facts);
  const std::int64_t updates = config.num_iterations();
  const int envs = fewer_envs(config);
  const double lost = 100.0 * facts.steps_lost;
  return fmt::format(
      "{}: {}{} steps asked for, {} will be trained ({}{} update{}){}: choose total_timesteps = "
      "{}{}",
      severity == Severity::kNote ? "Note" : "Warning", cell.empty() ? "" : cell + ": ",
      with_commas(config.total_timesteps), with_commas(updates * config.batch_size()),
      few ? "only " : "", with_commas(updates), updates == 1 ? "" : "s",
      lost > 0.0 ? fmt::format(", {:.2g} % left out", lost) : "",
      with_longer_run(config).total_timesteps,
      envs > 0 ? fmt::format(", or num_envs = {}", envs) : "");
}

}  // namespace broadloom
