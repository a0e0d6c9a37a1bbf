#include "research/audit/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "research/audit/check_table.h"
#include "research/audit/evidence.h"

namespace broadloom {
namespace {

// A measured value that is printed with as many digits as its sentence asks for, or more if it
// would otherwise appear at its limit or on the wrong side of it.
struct Measured {
  double value, limit;
};

int side(double value, double limit) { return value < limit ? -1 : value > limit ? 1 : 0; }

double as_shown(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

std::string distinct_digits(const Measured& number, int digits, bool fixed) {
  const double limit = as_shown(fmt::format("{:g}", number.limit));  // as sentences show it
  constexpr int kMost = 17;                                          // of a double
  std::string text;
  for (int more = 0; more <= kMost; ++more) {
    text = fixed ? fmt::format("{:.{}f}", number.value, digits + more)
                 : fmt::format("{:.{}g}", number.value, digits + more);
    if (side(as_shown(text), limit) == side(number.value, number.limit)) break;
  }
  return text;
}

}  // namespace
}  // namespace broadloom

// {:.2f}, {:.3g} or {:g}: one digit and one letter.
template <>
struct fmt::formatter<broadloom::Measured> {
  int digits = 6;
  bool fixed = false;

  constexpr auto parse(format_parse_context& context) {
    auto position = context.begin();
    if (position != context.end() && *position == '.') {
      digits = *++position - '0';
      ++position;
    }
    if (position != context.end() && *position != '}') fixed = *position++ == 'f';
    return position;
  }
  auto format(const broadloom::Measured& number, format_context& context) const {
    return fmt::format_to(context.out(), "{}", broadloom::distinct_digits(number, digits, fixed));
  }
};

namespace broadloom {
namespace {

bool passes(double value, double limit, Bad bad) {
  return bad == Bad::kAbove ? value > limit : value < limit;
}

// Chooses the last limit that was passed, or else the first that exists.
void weigh(const AuditCheck& check, AuditFinding& finding) {
  finding.limit = AuditNumbers::kNone;
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

// The name of the number that is shared most.
std::string context_name(const Evidence& evidence) {
  const double place =
      largest_of(evidence.iterations, [](const AuditNumbers& n) { return n.shared_context_place; });
  const std::vector<std::string>& names = evidence.facts.context;
  if (!(place >= 0.0) || place >= static_cast<double>(names.size())) return "a number";
  return fmt::format("'{}'", names[static_cast<std::size_t>(place)]);
}

std::string filled_in(const char* text, const AuditFinding& finding, const Evidence& evidence) {
  const RunFacts& facts = evidence.facts;
  return fmt::format(
      fmt::runtime(text), fmt::arg("value", Measured{finding.value, finding.limit}),
      fmt::arg("percent", Measured{100.0 * finding.value, 100.0 * finding.limit}),
      fmt::arg("limit", finding.limit), fmt::arg("limit_percent", 100.0 * finding.limit),
      fmt::arg("N", facts.num_envs), fmt::arg("T", facts.num_steps), fmt::arg("F", facts.families),
      fmt::arg("schedule", facts.lr_schedule), fmt::arg("mode", facts.truncation_mode),
      fmt::arg("context", context_name(evidence)), fmt::arg("peak", facts.peak_iteration),
      fmt::arg("collision", after_colon(facts.collision)),
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
    const bool is_fine = finding.severity == Severity::kOk && check.fine != nullptr;
    finding.sentence = filled_in(is_fine ? check.fine : check.sentence, finding, evidence);
    finding.advice = filled_in(check.advice, finding, evidence);
  }
  return findings;
}

Severity worst(std::span<const AuditFinding> findings) {
  Severity severity = Severity::kOk;
  for (const AuditFinding& finding : findings) severity = std::max(severity, finding.severity);
  return severity;
}

}  // namespace broadloom
