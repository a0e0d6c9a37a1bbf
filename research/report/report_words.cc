#include "research/report/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "broadloom/core/number_text.h"

namespace broadloom {
namespace {

constexpr char kNoNumber[] = "no number";

// Thousands get commas, and no "-0" is left.
std::string fixed(double x, int decimals) {
  if (!std::isfinite(x)) return kNoNumber;
  if (decimals == 0 && std::abs(x) < 1e15) return with_commas(std::llround(x));
  const std::string text = fmt::format("{:.{}f}", x, decimals);
  return text.find_first_not_of("-0.") == std::string::npos ? fmt::format("{:.{}f}", 0.0, decimals)
                                                            : text;
}

// So that the scale has two digits.
int decimals_for(double scale, int digits) {
  if (!(scale > 0.0)) return 2;
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(scale))), 0, 6);
}

}  // namespace

std::string estimate_words(const Estimate& e) {
  if (!std::isfinite(e.value)) return kNoNumber;
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) {
    return fixed(e.value, decimals_for(std::abs(e.value), 4));
  }
  // Of an interval without width three digits: 500, not 500.0.
  const int decimals =
      e.high > e.low ? decimals_for(e.high - e.low, 2) : decimals_for(std::abs(e.value), 3);
  return fmt::format("{} [{}, {}]", fixed(e.value, decimals), fixed(e.low, decimals),
                     fixed(e.high, decimals));
}

std::string size_words(double size) {
  if (!(size > 0.0)) return fixed(size, 0);
  const int digits = static_cast<int>(std::floor(std::log10(size)));
  if (digits < 2) return fixed(size, decimals_for(size, 2));
  std::int64_t unit = 1;
  for (int i = 1; i < digits; ++i) unit *= 10;
  return with_commas(std::llround(size / static_cast<double>(unit)) * unit);
}

std::string probability_words(const Estimate& e) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) return fixed(e.value, 2);
  return fmt::format("{} [{}, {}]", fixed(e.value, 2), fixed(e.low, 2), fixed(e.high, 2));
}

const char* score_words(ReportScore score) {
  return score == ReportScore::kTraining ? "training return" : "evaluation return";
}

std::string arm_words(const StudyReport& report, int arm) {
  const ReportArm& a = report.arms[static_cast<std::size_t>(arm)];
  const bool one_shape =
      std::all_of(report.arms.begin(), report.arms.end(), [&](const ReportArm& other) {
        return other.num_envs == a.num_envs && other.num_steps == a.num_steps;
      });
  if (one_shape) return a.other.empty() ? a.name : a.other;
  const std::string shape =
      fmt::format("N = {}, T = {}", with_commas(a.num_envs), with_commas(a.num_steps));
  return a.other.empty() ? shape : fmt::format("{} ({})", shape, a.other);
}

std::string list_words(const std::vector<std::string>& items, std::size_t most) {
  if (items.empty()) return "none";
  std::vector<std::string> shown = items;
  if (items.size() > most) {
    shown.resize(most > 0 ? most - 1 : 0);
    shown.push_back(fmt::format("{} others", items.size() - shown.size()));
  }
  const bool has_commas = std::any_of(shown.begin(), shown.end(), [](const std::string& item) {
    return item.find(',') != std::string::npos;
  });
  std::string last = shown.back();
  shown.pop_back();
  if (shown.empty()) return last;
  return fmt::format("{} and {}", fmt::join(shown, has_commas ? "; " : ", "), last);
}

std::string count_words(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", with_commas(count), what, count == 1 ? "" : "s");
}

std::string task_words(const StudyReport& report, const std::vector<int>& tasks) {
  if (tasks.size() == 1) return report.tasks[static_cast<std::size_t>(tasks[0])].name;
  return count_words(static_cast<std::int64_t>(tasks.size()), "task");
}

}  // namespace broadloom
