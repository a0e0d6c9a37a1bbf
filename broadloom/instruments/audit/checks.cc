#include "broadloom/instruments/audit/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "broadloom/instruments/audit/check_table.h"

namespace broadloom {
namespace {

constexpr double kNone = AuditNumbers::kNone;

bool passes(double value, double limit, Bad bad) {
  return bad == Bad::kAbove ? value > limit : value < limit;
}

// The last limit that was passed, otherwise the first that there is.
void weigh(const AuditCheck& check, AuditFinding& finding) {
  finding.limit = kNone;
  for (const auto& [limit, severity] : {std::pair{check.limits.note, Severity::kNote},
                                        std::pair{check.limits.warning, Severity::kWarning},
                                        std::pair{check.limits.error, Severity::kError}}) {
    if (std::isnan(finding.limit)) finding.limit = limit;
    if (!passes(finding.value, limit, check.bad)) continue;
    finding.limit = limit;
    finding.severity = severity;
  }
}

std::string after_colon(const std::string& text) { return text.empty() ? "" : ": " + text; }

std::string filled_in(const char* text, const AuditFinding& finding, const RunFacts& facts) {
  return fmt::format(
      fmt::runtime(text), fmt::arg("value", finding.value),
      fmt::arg("percent", 100.0 * finding.value), fmt::arg("limit", finding.limit),
      fmt::arg("limit_percent", 100.0 * finding.limit), fmt::arg("N", facts.num_envs),
      fmt::arg("T", facts.num_steps), fmt::arg("F", facts.families),
      fmt::arg("schedule", facts.lr_schedule), fmt::arg("mode", facts.truncation_mode),
      fmt::arg("peak", facts.peak_iteration), fmt::arg("collision", after_colon(facts.collision)),
      fmt::arg("failure", after_colon(facts.failure)));
}

}  // namespace

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

std::vector<AuditFinding> judge(const Evidence& evidence) {
  std::vector<AuditFinding> findings;
  for (const AuditCheck& check : audit_checks()) {
    AuditFinding& finding = findings.emplace_back();
    finding.check = check.name;
    finding.value = check.measure(evidence);
    weigh(check, finding);
    finding.measured = !std::isnan(finding.value);
    if (!finding.measured) continue;
    finding.sentence = filled_in(check.sentence, finding, evidence.facts);
    finding.advice = filled_in(check.advice, finding, evidence.facts);
  }
  return findings;
}

Severity worst(std::span<const AuditFinding> findings) {
  Severity severity = Severity::kOk;
  for (const AuditFinding& finding : findings) severity = std::max(severity, finding.severity);
  return severity;
}

}  // namespace broadloom
