#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/core/number_text.h"
#include "broadloom/study/report_comparisons.h"
#include "broadloom/study/report_summary.h"
#include "broadloom/study/report_words.h"

namespace broadloom {
namespace {

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

std::string versus(std::int64_t a, std::int64_t b) {
  return fmt::format("{} against {}", with_commas(a), with_commas(b));
}

// What else differs; "" where nothing does.
std::string confounds(const StudyReport& report, const ReportComparison& c, int first, int second) {
  const ReportArm& a = arm_of(report, first);
  const ReportArm& b = arm_of(report, second);
  std::vector<std::string> words;
  if (!c.equal.environment_steps) {
    const auto steps = [&](const ReportArm& arm) {
      return report.cells[static_cast<std::size_t>(arm.cells[0])].environment_steps;
    };
    words.push_back(fmt::format("environment steps ({})", versus(steps(a), steps(b))));
  }
  if (!c.equal.gradient_steps) {
    words.push_back(fmt::format("gradient steps ({})", versus(a.gradient_steps, b.gradient_steps)));
  }
  if (!c.equal.minibatch_size) {
    words.push_back(fmt::format("minibatch size ({})", versus(a.minibatch_size, b.minibatch_size)));
  }
  if (words.empty()) return "";
  return fmt::format(". These differ in {} too, so it says nothing of {} alone",
                     list_words(words, words.size()), meant_words(a, b));
}

Estimate flipped(const Estimate& p) { return {1.0 - p.value, 1.0 - p.high, 1.0 - p.low, p.count}; }

// The smallest and the largest of a trend's arms.
template <class Number>
std::string range_words(const StudyReport& report, const std::vector<int>& arms, Number number) {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = 0;
  for (const int arm : arms) {
    low = std::min(low, arm_of(report, arm).*number);
    high = std::max(high, arm_of(report, arm).*number);
  }
  return fmt::format("{} to {}", with_commas(low), with_commas(high));
}

std::string trend_confounds(const StudyReport& report, const ReportTrend& trend) {
  std::vector<std::string> words;
  if (!trend.equal.gradient_steps) {
    words.push_back(fmt::format("gradient steps ({})",
                                range_words(report, trend.arms, &ReportArm::gradient_steps)));
  }
  if (!trend.equal.minibatch_size) {
    words.push_back(fmt::format("minibatch size ({})",
                                range_words(report, trend.arms, &ReportArm::minibatch_size)));
  }
  if (!trend.equal.environment_steps) words.emplace_back("environment steps");
  if (words.empty()) return "";
  return fmt::format(". Along it {} change too, so it says nothing of N alone",
                     list_words(words, words.size()));
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
    text = fmt::format("{} was better than {} in {:.0f} % of pairs of runs, which has no interval",
                       one, other, 100.0 * p.value);
  } else if (p.low > 0.5) {
    text = fmt::format("{} is ahead of {}, but the runs are too few to call it: probability {}",
                       one, other, probability_words(p));
  } else {
    text = fmt::format("No difference was found between {} and {}: probability {}", one, other,
                       probability_words(p));
  }
  if (c.equal.gradient_steps) text += " at equal gradient steps";
  return fmt::format("{} ({}, {}){}.", text, score_words(c.score),
                     task_words(report, common_tasks(report, c.a, c.b)),
                     confounds(report, c, first, second));
}

std::string trend_sentence(const StudyReport& report, const ReportTrend& trend) {
  const std::string where = trend.fixed == "batch_size"
                                ? fmt::format("a batch of {}", with_commas(trend.value))
                                : fmt::format("T = {}", with_commas(trend.value));
  std::string text =
      fmt::format("At {}{}, ", where, trend.other.empty() ? "" : fmt::format(" ({})", trend.other));
  const std::string along = range_words(report, trend.arms, &ReportArm::num_envs);
  const Estimate slope = trend.direction < 0 ? Estimate{-trend.slope.value, -trend.slope.high,
                                                        -trend.slope.low, trend.slope.count}
                                             : trend.slope;
  if (trend.direction != 0) {
    text += fmt::format("the {} {} by {} for each doubling of N from {}", score_words(trend.score),
                        trend.direction > 0 ? "rises" : "falls", estimate_words(slope), along);
  } else {
    text += fmt::format("no trend of the {} with N from {} was found: {} for each doubling",
                        score_words(trend.score), along, estimate_words(slope));
  }
  const int expected = trend.direction > 0 ? trend.arms.back() : trend.arms.front();
  if (trend.direction == 0 || trend.best != expected) {
    text +=
        fmt::format("; the largest is at N = {}", with_commas(arm_of(report, trend.best).num_envs));
  }
  return fmt::format("{} ({}){}.", text, task_words(report, {trend.task}),
                     trend_confounds(report, trend));
}

}  // namespace broadloom
