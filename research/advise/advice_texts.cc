#include "research/advise/advice_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "broadloom/core/number_text.h"

namespace broadloom {

std::string steps_text(double steps) {
  return with_commas(static_cast<std::int64_t>(std::llround(steps)));
}

std::string return_text(double value) {
  if (std::isnan(value)) return "-";
  if (std::fabs(value) >= 1000.0) return steps_text(value);
  const std::string text = fmt::format("{:.3g}", value);
  return text == "-0" ? "0" : text;
}

std::string cost_text(const AdviceEvidence& evidence, double cost, int digits) {
  if (!evidence.counts_seconds) return steps_text(cost) + " environment steps";
  return cost >= 100.0 ? fmt::format("{:.0f} s", cost) : fmt::format("{:.{}g} s", cost, digits);
}

std::string budget_text(const AdviceEvidence& evidence) {
  return evidence.budget_steps > 0 ? with_commas(evidence.spent_steps) + " environment steps"
                                   : fmt::format("{:.1f} s", evidence.spent_seconds);
}

std::string place_text(const SpeedSource& source) {
  return fmt::format("on {} with {} thread{}", source.cpu.empty() ? "this machine" : source.cpu,
                     source.threads, source.threads == 1 ? "" : "s");
}

// Resampling gives no interval if all pairs agree, so the text only says that they do.
std::string probability_text(const Estimate& p) {
  if (p.value == 1.0 || p.value == 0.0) {
    return fmt::format("{:.0f} (so in all of {} pairs of trainings)", p.value, p.count);
  }
  if (std::isnan(p.low)) return fmt::format("{:.2f}", p.value);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", p.value, p.low, p.high);
}

std::string defaults_text(const AdviceEvidence& evidence, const char* defaults) {
  return evidence.held.empty() ? defaults : std::string(defaults) + " beside what was set";
}

std::string runner_up_text(const AdviceEvidence& evidence, const RunnerUp& rival) {
  // The order uses means, on which a single late seed weighs heavily.
  const bool is_behind = evidence.rule == AdviceRule::kRace && rival.advised_is_better.value < 0.5;
  return fmt::format(
      "{}: the advised setting does better with probability {}{}.",
      candidate_text(evidence.candidates[rival.candidate].candidate),
      probability_text(rival.advised_is_better),
      is_behind ? ", so behind in most pairs of trainings, and ahead on average" : "");
}

std::vector<std::string> tried_texts(const AdviceEvidence& evidence) {
  std::vector<std::string> lines;
  const auto& all = evidence.candidates;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const auto has_why = [&](const CandidateEvidence& other) { return other.why == all[c].why; };
    if (std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(c), has_why)) continue;
    const auto alike = std::count_if(all.begin(), all.end(), has_why);
    const std::string what =
        alike == 1 ? candidate_text(all[c].candidate) : fmt::format("{} settings", alike);
    lines.push_back(fmt::format("{}: {}.", what, all[c].why));
  }
  if (!all.empty() && !evidence.held.empty()) {
    const bool is_one = evidence.held.size() == 1;
    lines.push_back(fmt::format("{} {} set, so these measurements had other values of {}.",
                                fmt::join(evidence.held, ", "), is_one ? "was" : "were",
                                is_one ? "it" : "them"));
  }
  return lines;
}

}  // namespace broadloom
