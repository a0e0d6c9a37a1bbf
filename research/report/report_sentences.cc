#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/core/number_text.h"
#include "research/report/report_comparisons.h"
#include "research/report/report_scores.h"
#include "research/report/report_summary.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostTasks = 3;

const ReportArm& arm_of(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

// What two arms are meant to differ in.
const char* meant_words(const ReportArm& a, const ReportArm& b) {
  if (a.num_envs == b.num_envs && a.num_steps == b.num_steps) return "these settings";
  if (a.other != b.other) return "shape or settings";
  if (a.num_steps == b.num_steps) return "N";
  return a.num_envs == b.num_envs ? "T" : "the shape";
}

using Count = std::int64_t ReportCell::*;

// "3,904 against 7,808" of the first task on which two arms differ, named where there are several.
std::string versus(const StudyReport& report, const ReportComparison& c, int first, int second,
                   Count count) {
  const std::vector<int> tasks = common_tasks(report, c.a, c.b);
  for (const int task : tasks) {
    const std::int64_t a = cell_on(report, arm_of(report, first), task)->*count;
    const std::int64_t b = cell_on(report, arm_of(report, second), task)->*count;
    if (a == b) continue;
    return fmt::format("{} against {}{}", with_commas(a), with_commas(b),
                       tasks.size() > 1 ? " on " + task_words(report, {task}) : "");
  }
  return "";
}

bool counted(const StudyReport& report, const ReportArm& arm) {
  return std::all_of(arm.cells.begin(), arm.cells.end(), [&](int cell) {
    return report.cells[static_cast<std::size_t>(cell)].counted;
  });
}

constexpr char kNotCounted[] = "gradient steps (target_kl stops epochs)";

// Keys that an algorithm or an encoder brings along, of the tasks on which two arms differ in them.
void add_brought_along(const StudyReport& report, const ReportComparison& c,
                       std::vector<std::string>& words) {
  for (const int task : common_tasks(report, c.a, c.b)) {
    const ReportCell* a = cell_on(report, arm_of(report, c.a), task);
    for (std::string& key : brought_along({a, cell_on(report, arm_of(report, c.b), task)})) {
      if (std::find(words.begin(), words.end(), key) == words.end())
        words.push_back(std::move(key));
    }
  }
}

// What else differs; "" where nothing does.
std::string confounds(const StudyReport& report, const ReportComparison& c, int first, int second) {
  std::vector<std::string> words;
  const auto add = [&](bool equal, const char* what, Count count) {
    if (equal) return;
    words.push_back(fmt::format("{} ({})", what, versus(report, c, first, second, count)));
  };
  add(c.equal.environment_steps, "environment steps", &ReportCell::environment_steps);
  if (!counted(report, arm_of(report, first)) || !counted(report, arm_of(report, second))) {
    words.emplace_back(kNotCounted);
  } else {
    add(c.equal.gradient_steps, "gradient steps", &ReportCell::gradient_steps);
  }
  add(c.equal.minibatch_size, "minibatch size", &ReportCell::minibatch_size);
  add_brought_along(report, c, words);
  if (words.empty()) return "";
  return fmt::format(". These {} in {} too, so it says nothing of {} alone",
                     words.front() == kNotCounted ? "may differ" : "differ",
                     list_words(words, words.size()),
                     meant_words(arm_of(report, first), arm_of(report, second)));
}

Estimate flipped(const Estimate& p) { return {1.0 - p.value, 1.0 - p.high, 1.0 - p.low, p.count}; }

// The tasks that call `result` by themselves, with how sure they are of it.
std::vector<std::string> callers(const StudyReport& report, const ReportComparison& c, int result) {
  std::vector<std::string> words;
  for (const TaskComparison& t : c.by_task) {
    if (t.result != result) continue;
    const Estimate p = result < 0 ? flipped(t.probability) : t.probability;
    words.push_back(fmt::format("{} ({})", task_words(report, {t.task}), probability_words(p)));
  }
  return words;
}

// "on average over 3 tasks", or the task.
std::string average_words(const StudyReport& report, const ReportComparison& c) {
  const std::vector<int> tasks = common_tasks(report, c.a, c.b);
  if (tasks.size() == 1) return task_words(report, tasks);
  const bool agree = c.result != 0 && callers(report, c, c.result).size() == tasks.size();
  return fmt::format("on average over {}{}", task_words(report, tasks),
                     agree ? " and on each of them" : "");
}

// What tasks by themselves call, unless they all call what their mean does.
std::string by_task_words(const StudyReport& report, const ReportComparison& c, int first,
                          int second) {
  const int ahead = first == c.a ? 1 : -1;
  const std::vector<std::string> better = callers(report, c, ahead);
  const std::vector<std::string> worse = callers(report, c, -ahead);
  if (c.result == ahead && better.size() == c.by_task.size()) return "";
  std::vector<std::string> words;
  const auto add = [&](int arm, const std::vector<std::string>& tasks) {
    if (tasks.empty()) return;
    words.push_back(fmt::format("{} beats {} on {}", arm_words(report, arm),
                                arm_words(report, arm == first ? second : first),
                                list_words(tasks, kMostTasks)));
  };
  add(first, better);
  add(second, worse);
  return words.empty() ? "" : fmt::format(". Task by task, {}", fmt::join(words, ", but "));
}

}  // namespace

std::string comparison_sentence(const StudyReport& report, const ReportComparison& c) {
  const bool flip = c.probability.value < 0.5;
  const int first = flip ? c.b : c.a, second = flip ? c.a : c.b;
  const Estimate p = flip ? flipped(c.probability) : c.probability;
  const std::string one = arm_words(report, first), other = arm_words(report, second);
  std::string text;
  if (c.result != 0) {
    text = fmt::format("{} beats {} with probability {}", one, other, probability_words(p));
  } else if (!std::isfinite(p.low)) {
    text = fmt::format("{} was better than {} in {:.0f} % of pairs of runs (no interval)", one,
                       other, 100.0 * p.value);
  } else if (p.low > 0.5) {
    text = fmt::format("{} is ahead of {}, but the runs are too few to call it: probability {}",
                       one, other, probability_words(p));
  } else {
    text = fmt::format("No difference was found between {} and {}: probability {}", one, other,
                       probability_words(p));
  }
  if (c.equal.gradient_steps) text += " at equal gradient steps";
  return fmt::format("{} ({}, {}){}{}.", text, score_words(c.score), average_words(report, c),
                     confounds(report, c, first, second), by_task_words(report, c, first, second));
}

}  // namespace broadloom
