#include "research/report/report_two_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr int kFewestTwoWayRuns = 5;
constexpr double kMiss = 0.05;  // of an interval, or of all differences together

const ReportArm& report_arm(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

std::string setting_of(const ReportArm& arm, const std::string& key) {
  for (const auto& [name, text] : arm.settings) {
    if (name == key) return text;
  }
  return "";
}

// Everything in which lines along one key may differ besides that key and `other`.
std::string place_of_line(const StudyReport& report, const ReportLine& line,
                          const std::string& other) {
  std::string text = fmt::format("{} {} {} ", line.task, static_cast<int>(line.kind), line.key);
  const ReportArm& arm = report_arm(report, line.arms.front());
  if (other != "num_steps") text += fmt::format("{} ", line.fixed);
  if (line.kind == LineKind::kSetting) text += fmt::format("{}x{} ", arm.num_envs, arm.num_steps);
  for (const auto& [key, value] : arm.settings) {
    if (key != line.key && key != other) text += key + "=" + value + " ";
  }
  return text + fmt::format("{}", fmt::join(line.values, " "));
}

// The keys besides the line's own whose effect on it may be asked for.
std::vector<std::string> other_keys(const StudyReport& report, const ReportLine& line) {
  std::vector<std::string> keys;
  if (line.kind == LineKind::kWidth) keys.emplace_back("num_steps");
  for (const auto& [key, value] : report_arm(report, line.arms.front()).settings) {
    if (key != line.key) keys.push_back(key);
  }
  return keys;
}

// The indices of the least and the greatest value; false if values are no numbers and not two.
bool ends_of(const std::vector<std::string>& values, std::size_t& least, std::size_t& greatest) {
  std::vector<double> numbers;
  for (const std::string& value : values) {
    double number = 0.0;
    if (!parse_text(value, number).ok()) break;
    numbers.push_back(number);
  }
  least = 0;
  greatest = 1;
  if (numbers.size() != values.size()) return values.size() == 2;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  least = static_cast<std::size_t>(low - numbers.begin());
  greatest = static_cast<std::size_t>(high - numbers.begin());
  return *low < *high;
}

// Lines that differ in the level of `other` alone.
struct Grid {
  std::vector<const ReportLine*> lines;
  std::vector<std::string> levels;
};

std::map<std::pair<std::string, std::string>, Grid> grids_of(const StudyReport& report) {
  std::map<std::pair<std::string, std::string>, Grid> grids;
  for (const ReportLine& line : report.lines) {
    if (line.kind == LineKind::kSettings) continue;
    for (const std::string& other : other_keys(report, line)) {
      Grid& grid = grids[{place_of_line(report, line, other), other}];
      grid.lines.push_back(&line);
      grid.levels.push_back(other == "num_steps" && line.kind == LineKind::kWidth
                                ? to_text(line.fixed)
                                : setting_of(report_arm(report, line.arms.front()), other));
    }
  }
  return grids;
}

bool has_enough_runs(const StudyReport& report, const ReportTwoWay& question) {
  return std::all_of(question.arms.begin(), question.arms.end(), [&](int arm) {
    const auto scores =
        arm_scores(report, report_arm(report, arm), {question.task}, question.score);
    return scores && scores->runs >= kFewestTwoWayRuns;
  });
}

// The arms, each as the first one with its runs.
std::set<int> distinct_runs(const StudyReport& report, const std::vector<int>& arms) {
  std::set<int> distinct;
  for (const int arm : arms) distinct.insert(first_with_runs_of(report, arm));
  return distinct;
}

// Questions without their numbers; each four sets of runs once. Two arms with the same runs are not
// two samples.
std::vector<ReportTwoWay> questions_of(const StudyReport& report) {
  std::vector<ReportTwoWay> questions;
  std::set<std::pair<int, std::set<int>>> seen;
  for (const auto& [place, grid] : grids_of(report)) {
    if (grid.lines.size() < 2) continue;
    const ReportLine& line = *grid.lines.front();
    std::size_t value_low = 0, value_high = 0, level_low = 0, level_high = 0;
    if (!ends_of(line.values, value_low, value_high)) continue;
    if (!ends_of(grid.levels, level_low, level_high)) continue;
    ReportTwoWay question;
    question.task = line.task;
    question.kind = line.kind;
    question.key = line.key;
    question.other = place.second;
    question.score = line.score;
    question.values = {line.values[value_low], line.values[value_high]};
    question.levels = {grid.levels[level_low], grid.levels[level_high]};
    for (const std::size_t level : {level_low, level_high}) {
      for (const std::size_t value : {value_low, value_high}) {
        question.arms.push_back(grid.lines[level]->arms[value]);
      }
    }
    question.held = held_words(report, question.arms);
    const std::set<int> arms = distinct_runs(report, question.arms);
    if (arms.size() < 4 || !has_enough_runs(report, question)) continue;
    if (seen.emplace(line.task, arms).second) questions.push_back(std::move(question));
  }
  return questions;
}

// value with the percentile interval of the draws that misses it with probability `miss`.
Estimate interval_of(double value, std::int64_t count, std::vector<double> draws, double miss) {
  const double low = quantile(draws, 0.5 * miss), high = quantile(draws, 1.0 - 0.5 * miss);
  return {value, low, high, count};
}

void answer_question(const StudyReport& report, double questions, ReportTwoWay& question) {
  const BootstrapOptions options{report.replicates, report.seed, 1};
  std::array<double, 4> iqm{};
  std::array<std::vector<double>, 4> draws;
  std::int64_t count = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const ReportArm& arm = report_arm(report, question.arms[i]);
    const Scores scores = *arm_scores(report, arm, {question.task}, question.score);
    iqm[i] = interquartile_mean(scores.values);
    draws[i] = iqm_draws(scores, options, i);
    count += scores.runs;
  }
  std::array<std::vector<double>, 2> effects;
  std::vector<double> differences;
  for (std::size_t r = 0; r < draws[0].size(); ++r) {
    effects[0].push_back(draws[1][r] - draws[0][r]);
    effects[1].push_back(draws[3][r] - draws[2][r]);
    differences.push_back(effects[1].back() - effects[0].back());
  }
  const double low = iqm[1] - iqm[0], high = iqm[3] - iqm[2];
  question.effects = {interval_of(low, count / 2, std::move(effects[0]), kMiss),
                      interval_of(high, count / 2, std::move(effects[1]), kMiss)};
  question.difference = interval_of(high - low, count, std::move(differences), kMiss / questions);
  question.depends = question.difference.low > 0.0 || question.difference.high < 0.0;
}

// "N = 64", "gamma=0.9"
std::string level_words(const std::string& key, const std::string& value) {
  const bool is_shape = key == "num_envs" || key == "num_steps";
  const LineKind kind = is_shape ? LineKind::kWidth : LineKind::kSetting;
  return key_words(kind, key) + (is_shape ? " = " : "=") + (value.empty() ? "none" : value);
}

// "Whether the return ..., by 12 [3, 20] at gamma=0.9 and by ..."
std::string sentence_of(const StudyReport& report, const ReportTwoWay& question) {
  const std::string key = key_words(question.kind, question.key);
  const std::string other = key_words(LineKind::kWidth, question.other);
  std::vector<std::string> where;
  if (report.tasks.size() > 1) where.push_back("On " + task_words(report, {question.task}));
  if (!question.held.empty()) where.push_back((where.empty() ? "At " : "at ") + question.held);
  const std::string start = where.empty() ? "The" : fmt::format("{}, the", fmt::join(where, " "));
  const std::string found =
      question.depends
          ? fmt::format("{} effect of {} depends on {}", start, key, other)
          : fmt::format("{} effect of {} is not found to depend on {}", start, key, other);
  return fmt::format(
      "{}: from {} to {}, the {} changes by {} at {} and by {} at {}.", found,
      level_words(question.key, question.values[0]), level_words(question.key, question.values[1]),
      score_words(question.score), estimate_words(question.effects[0]),
      level_words(question.other, question.levels[0]), estimate_words(question.effects[1]),
      level_words(question.other, question.levels[1]));
}

}  // namespace

std::vector<ReportTwoWay> ask_two_way(const StudyReport& report) {
  std::vector<ReportTwoWay> questions = questions_of(report);
  for (ReportTwoWay& question : questions) {
    answer_question(report, static_cast<double>(questions.size()), question);
    question.words = sentence_of(report, question);
  }
  std::stable_sort(questions.begin(), questions.end(),
                   [](const ReportTwoWay& a, const ReportTwoWay& b) {
                     return std::make_tuple(!a.depends, -std::abs(a.difference.value)) <
                            std::make_tuple(!b.depends, -std::abs(b.difference.value));
                   });
  return questions;
}

}  // namespace broadloom
