#include "research/report/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "broadloom/core/number_text.h"

namespace broadloom {
namespace {

constexpr char kNoNumber[] = "no number";
constexpr std::size_t kMostTasks = 3;  // most tasks that are named

// Uses commas for thousands, and never "-0".
std::string fixed(double x, int decimals) {
  if (!std::isfinite(x)) return kNoNumber;
  if (decimals == 0 && std::abs(x) < 1e15) return with_commas(std::llround(x));
  const std::string text = fmt::format("{:.{}f}", x, decimals);
  return text.find_first_not_of("-0.") == std::string::npos ? fmt::format("{:.{}f}", 0.0, decimals)
                                                            : text;
}

// The decimals that show `digits` digits of the scale.
int decimals_for(double scale, int digits) {
  if (!(scale > 0.0)) return 2;
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(scale))), 0, 6);
}

// Adds the names of variants that all of these arms share. Returns the keys whose value follows
// from the names.
std::set<std::string> add_variants(const StudyReport& report, const std::vector<int>& arms,
                                   std::vector<std::string>& held) {
  std::set<std::string> named_keys;
  const ReportArm& first = report.arms[static_cast<std::size_t>(arms.front())];
  for (const ArmPart& part : first.parts) {
    const auto has_part = [&](const ReportArm& arm) {
      return std::any_of(arm.parts.begin(), arm.parts.end(),
                         [&](const ArmPart& other) { return other.words == part.words; });
    };
    const bool by_all = std::all_of(arms.begin(), arms.end(), [&](int arm) {
      return has_part(report.arms[static_cast<std::size_t>(arm)]);
    });
    if (!part.is_name || !by_all) continue;
    held.push_back(part.words);
    for (const auto& setting : first.settings) {
      const bool follows =
          std::all_of(report.arms.begin(), report.arms.end(), [&](const ReportArm& arm) {
            return !has_part(arm) || std::find(arm.settings.begin(), arm.settings.end(), setting) !=
                                         arm.settings.end();
          });
      if (follows) named_keys.insert(setting.first);
    }
  }
  return named_keys;
}

}  // namespace

std::string estimate_words(const Estimate& e) {
  if (!std::isfinite(e.value)) return kNoNumber;
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) {
    return fixed(e.value, decimals_for(std::abs(e.value), 4));
  }
  // An interval without width gets three digits: 500, not 500.0.
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

std::string count_words(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

std::string task_words(const StudyReport& report, const std::vector<int>& tasks) {
  std::vector<std::string> names;
  names.reserve(tasks.size());
  for (const int task : tasks) names.push_back(report.tasks[static_cast<std::size_t>(task)].name);
  return names.size() > kMostTasks ? count_words(static_cast<std::int64_t>(names.size()), "task")
                                   : list_words(names, kMostTasks);
}

std::string task_words(const StudyReport& report) {
  std::vector<int> all(report.tasks.size());
  std::iota(all.begin(), all.end(), 0);
  return task_words(report, all);
}

std::string key_words(LineKind kind, const std::string& key) {
  if (kind == LineKind::kSettings) return "settings";
  return key == "num_envs" ? "N" : key == "num_steps" ? "T" : key;
}

std::string value_words(const ReportLine& line, std::size_t place) {
  std::int64_t whole = 0;
  std::string value = line.values[place].empty() ? "none" : line.values[place];
  if (parse_text(value, whole).ok()) value = with_commas(whole);
  if (line.kind == LineKind::kSettings) return value;
  return key_words(line.kind, line.key) + (line.kind == LineKind::kSetting ? "=" : " = ") + value;
}

std::string part_words(const std::vector<ArmPart>& parts, const std::set<std::string>& keys) {
  std::vector<std::string> words;
  for (const ArmPart& part : parts) {
    const bool is_meant =
        keys.empty() || std::any_of(part.keys.begin(), part.keys.end(),
                                    [&](const std::string& key) { return keys.count(key) > 0; });
    if (is_meant) words.push_back(part.words);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string held_words(const StudyReport& report, const std::vector<int>& arms) {
  const auto arm = [&](int a) -> const ReportArm& {
    return report.arms[static_cast<std::size_t>(a)];
  };
  const ReportArm& first = arm(arms.front());
  const auto shared = [&](std::int64_t ReportArm::*count) {
    return std::all_of(arms.begin(), arms.end(),
                       [&](int a) { return arm(a).*count == first.*count; });
  };
  const bool shapes_vary =
      std::any_of(report.arms.begin(), report.arms.end(), [&](const ReportArm& other) {
        return other.num_envs != first.num_envs || other.num_steps != first.num_steps;
      });
  const bool same_width = shared(&ReportArm::num_envs), same_length = shared(&ReportArm::num_steps);
  std::vector<std::string> held;
  if (shapes_vary && same_width) held.push_back("N = " + with_commas(first.num_envs));
  if (shapes_vary && same_length) held.push_back("T = " + with_commas(first.num_steps));
  if (shapes_vary && held.empty() && shared(&ReportArm::batch_size)) {
    held.push_back("B = " + with_commas(first.batch_size));
  }
  const std::set<std::string> named_keys = add_variants(report, arms, held);
  for (const auto& setting : first.settings) {
    if (named_keys.count(setting.first) > 0) continue;
    const bool by_all = std::all_of(arms.begin(), arms.end(), [&](int a) {
      const Overrides& settings = arm(a).settings;
      return std::find(settings.begin(), settings.end(), setting) != settings.end();
    });
    if (!by_all) continue;
    held.push_back(setting.first + "=" + (setting.second.empty() ? "none" : setting.second));
  }
  return fmt::format("{}", fmt::join(held, ", "));
}

}  // namespace broadloom
