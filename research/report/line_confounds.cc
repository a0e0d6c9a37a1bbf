#include "research/report/line_confounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "broadloom/config/keys.h"
#include "broadloom/core/number_text.h"
#include "research/report/line_words.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

using CellCount = std::int64_t ReportCell::*;

const ReportCell& cell_of_line(const StudyReport& report, const ReportLine& line, int arm) {
  return *cell_on(report, report.arms[static_cast<std::size_t>(arm)], line.task);
}

// The smallest and the largest of a line's cells.
std::string range_words(const StudyReport& report, const ReportLine& line, CellCount count) {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
  for (const int arm : line.arms) {
    low = std::min(low, cell_of_line(report, line, arm).*count);
    high = std::max(high, cell_of_line(report, line, arm).*count);
  }
  return fmt::format("{} to {}", with_commas(low), with_commas(high));
}

// Whether the line varies that number on purpose.
bool means_to(const ReportLine& line) {
  if (line.kind != LineKind::kSetting) return false;
  const Role role = role_of(line.key);
  return role == Role::kMinibatches || role == Role::kBudget || line.key == "match";
}

std::string confounds_on(const StudyReport& report, const ReportLine& line) {
  std::vector<std::string> words;
  const bool counted = std::all_of(line.arms.begin(), line.arms.end(), [&](int arm) {
    return cell_of_line(report, line, arm).counted;
  });
  if (!counted) {
    words.emplace_back("gradient steps (target_kl stops epochs)");
  } else if (!line.equal.gradient_steps) {
    words.push_back(
        fmt::format("gradient steps ({})", range_words(report, line, &ReportCell::gradient_steps)));
  }
  if (!line.equal.minibatch_size) {
    words.push_back(
        fmt::format("minibatch size ({})", range_words(report, line, &ReportCell::minibatch_size)));
  }
  if (!line.equal.environment_steps) {
    words.push_back(fmt::format("environment steps ({})",
                                range_words(report, line, &ReportCell::environment_steps)));
  }
  std::vector<const ReportCell*> cells;
  for (const int arm : line.arms) cells.push_back(&cell_of_line(report, line, arm));
  for (std::string& key : brought_along(cells)) words.push_back(std::move(key));
  if (words.empty()) return "";
  std::string text =
      fmt::format("{} {} too", list_words(words, words.size()), counted ? "change" : "may change");
  if (!means_to(line)) text += fmt::format(", so it says nothing of {} alone", varied_words(line));
  return text;
}

}  // namespace

std::string line_confounds(const StudyReport& report, const std::vector<const ReportLine*>& line) {
  for (const ReportLine* one : line) {
    const std::string words = confounds_on(report, *one);
    if (words.empty()) continue;
    const std::string where =
        line.size() > 1 ? " on " + task_words(report, {one->task}) : std::string();
    return fmt::format(". Along it{} {}", where, words);
  }
  return "";
}

}  // namespace broadloom
