#include "research/report/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "broadloom/core/number_text.h"
#include "research/report/best_words.h"
#include "research/report/call_words.h"
#include "research/report/line_words.h"
#include "research/report/report_lines.h"
#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostNames = 3;
constexpr char kShape[] = "shape N x T";

// What all lines over a shape have in common.
std::string shape_words(const StudyReport& report) {
  std::set<LineKind> kinds;
  std::set<std::int64_t> batches;
  for (const ReportLine& line : report.lines) {
    if (!is_of_shape(line)) continue;
    kinds.insert(line.kind);
    if (line.kind == LineKind::kWidthOfBatch) batches.insert(line.fixed);
  }
  if (kinds == std::set{LineKind::kWidth}) return "number of environments N";
  if (kinds == std::set{LineKind::kLength}) return "rollout length T";
  if (kinds == std::set{LineKind::kWidthOfBatch} && batches.size() == 1) {
    return fmt::format("{} of a batch of {}", kShape, with_commas(*batches.begin()));
  }
  return kShape;
}

std::string spaced(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string thing_words(const StudyReport& report, const ReportLine& line) {
  if (is_of_shape(line)) return shape_words(report);
  if (line.kind == LineKind::kSettings) return "settings";
  return line.key == "match" ? "what is held equal" : spaced(line.key);
}

// What varies, what does most first.
std::vector<std::string> things(const StudyReport& report) {
  std::vector<std::string> all;
  for (const ReportLine& line : report.lines) {
    std::string words = thing_words(report, line);
    if (std::find(all.begin(), all.end(), words) == all.end()) all.push_back(std::move(words));
  }
  if (all.size() < 2) return all;
  // Beside others a few words must do.
  for (std::string& words : all) {
    if (words.starts_with(kShape)) words = kShape;
  }
  return all;
}

std::string tasks_of(const StudyReport& report) {
  std::vector<std::string> names;
  for (const ReportTask& task : report.tasks) names.push_back(task.name);
  return names.size() > kMostNames ? count_words(static_cast<std::int64_t>(names.size()), "task")
                                   : list_words(names, kMostNames);
}

int finished_runs(const StudyReport& report) {
  int finished = 0;
  for (const ReportStudy& study : report.studies) finished += study.runs.finished;
  return finished;
}

std::string without_lines(const StudyReport& report) {
  const std::vector<std::string> best = best_sentences(report);
  return best.empty() ? "No run has a return: nothing can be said." : best.front();
}

// Where nothing differs along several lines: how much each of them leaves room for, at most, if
// any has runs enough.
std::string nothing_found(const StudyReport& report, const std::vector<LineOnTasks>& lines) {
  if (lines.size() == 1) return line_sentence(report, lines.front(), true);
  const ReportLine* widest = &report.lines.front();
  for (const ReportLine& line : report.lines) {
    if (room_of(line) > room_of(*widest)) widest = &line;
  }
  // What runs are too few to show was not looked for.
  const char* found = able_lines(report) > 0
                          ? "No difference of the {} was found"
                          : "The runs are too few to call a difference of the {}";
  std::string text =
      fmt::format("{} on {} between {} that are equal in all but {}",
                  fmt::format(fmt::runtime(found), score_words(widest->score)), tasks_of(report),
                  count_words(static_cast<std::int64_t>(report.arms.size()), "arm"),
                  list_words(things(report), kMostNames));
  if (room_of(*widest) > 0.0) {
    text += fmt::format("; the intervals leave room for differences of up to {}{}",
                        size_words(room_of(*widest)),
                        report.tasks.size() > 1 ? " on " + task_words(report, {widest->task}) : "");
  }
  return text + ".";
}

std::string begun_small(std::string sentence) {
  if (sentence[0] >= 'A' && sentence[0] <= 'Z') {
    sentence[0] = static_cast<char>(sentence[0] - 'A' + 'a');
  }
  return sentence;
}

// Where no set of arms differs by itself: what all of them say together, if one side is called
// better more often than by chance.
std::string calls_answer(const StudyReport& report) {
  const std::vector<LineCalls> all = count_calls(report);
  const LineCalls* best = nullptr;
  for (const LineCalls& calls : all) {
    if (best == nullptr || chance_of(calls) < chance_of(*best)) best = &calls;
  }
  const double many = static_cast<double>(all.size());
  if (best == nullptr || chance_of(*best) * many > 1.0 - kConfidence) return "";
  const std::string sentence = begun_small(calls_sentence(*best));
  return fmt::format(
      "On {} no set of arms that differ in one thing alone shows more than chance "
      "would, but together they do: {}",
      tasks_of(report), sentence);
}

}  // namespace

std::string heading_of(const StudyReport& report) {
  std::vector<std::string> varied = things(report);
  if (varied.empty()) varied.emplace_back(report.arms.size() > 1 ? "settings" : "one setting");
  std::string text = fmt::format("{} on {}", list_words(varied, kMostNames), tasks_of(report));
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string answer_of(const StudyReport& report) {
  if (finished_runs(report) == 0) return "No run has finished yet: nothing can be said.";
  const std::vector<LineOnTasks> lines = lines_on_tasks(report);
  if (lines.empty()) return without_lines(report);
  if (!report.lines.front().differ) return nothing_found(report, lines);
  std::string sentence = line_sentence(report, lines.front(), true);
  const std::vector<std::string> varied = things(report);
  const std::int64_t sets = able_lines(report);
  // What is more than chance among so many comes first, where there is any.
  const bool chance = sets > 1 && !is_more_than_chance(report.lines.front(), sets);
  if (varied.size() < 2 && !chance) return sentence;
  sentence = begun_small(std::move(sentence));
  if (chance) {
    std::string together = calls_answer(report);
    if (!together.empty()) return together;
    return fmt::format(
        "Of {} sets of arms that differ in one thing alone, the one that differs "
        "most does so no more than by chance: {}",
        with_commas(sets), sentence);
  }
  return fmt::format("Of the {} things that vary, the {} does most: {}", varied.size(),
                     varied.front(), sentence);
}

}  // namespace broadloom
