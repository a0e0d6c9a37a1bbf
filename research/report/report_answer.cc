#include "research/report/report_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <sstream>
#include <vector>

#include "broadloom/core/number_text.h"
#include "research/report/report_comparisons.h"
#include "research/report/report_lines.h"
#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"
#include "research/stats/pair_test.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostNames = 3, kMostWords = 30;
constexpr int kSmallPercent = 10;

// The first sentence that is short enough, or else the last one.
std::string shortest_needed(const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) {
    std::istringstream words(sentence);
    std::string word;
    std::size_t count = 0;
    while (words >> word) ++count;
    if (count <= kMostWords) return sentence;
  }
  return sentences.back();
}

// The keys that lines vary, in the order of effects, largest first.
std::vector<std::string> varied_keys(const StudyReport& report) {
  std::vector<std::string> all;
  for (const ReportLine& line : report.lines) {
    const bool shape = line.kind != LineKind::kSetting && line.kind != LineKind::kSettings;
    std::string words = shape ? "shape N x T" : key_words(line.kind, line.key);
    std::replace(words.begin(), words.end(), '_', ' ');
    if (std::find(all.begin(), all.end(), words) == all.end()) all.push_back(std::move(words));
  }
  return all;
}

// Template 1, if no two arms differ in one key alone: the leading arm.
std::string ranking_answer(const StudyReport& report) {
  if (report.rankings.empty()) return "No run has a return, so there is no result.";
  const ReportRanking& ranking = report.rankings.front();
  const ReportScore score = main_score(report);
  const std::string arm = report.arms[static_cast<std::size_t>(ranking.leader)].name;
  const std::string place =
      ranking.task >= 0
          ? task_words(report, {ranking.task})
          : count_words(static_cast<std::int64_t>(report.tasks.size()), "task") + ", normalised";
  const std::string value =
      estimate_words(ranked_score(report, ranking.leader, ranking.task, score)->iqm);
  if (ranking.arms.size() == 1) {
    return fmt::format("Only {} has a score, {} {} on {}, so there is nothing to compare it with.",
                       arm, score_words(score), value, place);
  }
  const auto lower = std::count_if(ranking.arms.begin(), ranking.arms.end(), [&](int other) {
    return standing_of(report, other, ranking.leader, ranking.task, score) == Standing::kLower;
  });
  const auto others = static_cast<std::int64_t>(ranking.arms.size()) - 1;
  const std::string found =
      others == 1 ? fmt::format("the other arm is {}", lower == 1 ? "lower" : "not found lower")
                  : fmt::format("{} of {} other arms {} lower", lower, with_commas(others),
                                lower == 1 ? "is" : "are");
  return fmt::format("{} leads with {} {} on {}: {}.", arm, score_words(score), value, place,
                     found);
}

// Template 2: no line differs.
std::string nothing_found(const StudyReport& report) {
  std::set<int> arms;
  const ReportLine* widest = &report.lines.front();
  for (const ReportLine& line : report.lines) {
    arms.insert(line.arms.begin(), line.arms.end());
    if (line.room > widest->room) widest = &line;
  }
  std::string room;
  if (widest->room > 0.0) {
    room = fmt::format("; the intervals allow up to {}", size_words(widest->room));
    if (report.tasks.size() > 1) room += " on " + task_words(report, {widest->task});
  }
  const char* found = testable_lines(report) > 0
                          ? "no difference in {} was found"
                          : "the runs are too few to call a difference in {}";
  const std::string start =
      fmt::format("On {}, {} between {} arms that differ in ", task_words(report),
                  fmt::format(fmt::runtime(found), score_words(widest->score)), arms.size());
  const std::vector<std::string> keys = varied_keys(report);
  return shortest_needed({start + list_words(keys, kMostNames) + room + ".",
                          start + fmt::format("{} settings", keys.size()) + room + "."});
}

// If a line would be the answer, but for a tuned choice: another value that is as good would change
// the call. "" if there is none.
std::string hanging_answer(const StudyReport& report) {
  const auto testable = static_cast<double>(testable_lines(report));
  for (const ReportLine& line : report.lines) {
    if (line.differ || line.chance * testable > 1.0 - kConfidence) continue;
    const bool hangs = std::any_of(line.arms.begin(), line.arms.end(), [&](int arm) {
      const auto found = outcome(report, line.leader, arm, line.task, line.score);
      return found && found->hangs_on_choice;
    });
    if (!hangs) continue;
    const std::string held = held_words(report, line.arms);
    return fmt::format(
        "On {}{}, arms with other {} differ beyond chance, but another {} that is as good would "
        "change the call.",
        task_words(report, {line.task}), held.empty() ? "" : " at " + held,
        key_words(line.kind, line.key), fmt::join(report.tuned, " or "));
  }
  return "";
}

// Templates 3 and 4, if no line by itself exceeds chance among so many: one side is called better
// more often than by chance over all lines together, or none is.
std::string chance_answer(const StudyReport& report) {
  const auto best =
      std::min_element(report.calls.begin(), report.calls.end(),
                       [](const LineCalls& a, const LineCalls& b) { return a.chance < b.chance; });
  const std::string tasks = task_words(report);
  if (best->chance * static_cast<double>(report.calls.size()) > 1.0 - kConfidence) {
    return fmt::format(
        "On {}, none of {} sets of arms that differ in one key alone shows more than chance would.",
        tasks, testable_lines(report));
  }
  const bool later = best->later_better > best->earlier_better;
  const auto [later_side, earlier_side] = sides_of(*best);
  return fmt::format(
      "On {}, {} is better in {} of {} neighbouring pairs and worse in {}, though no set of arms "
      "by itself shows more than chance.",
      tasks, later ? later_side : earlier_side, std::max(best->later_better, best->earlier_better),
      best->pairs, std::min(best->later_better, best->earlier_better));
}

std::size_t place_of(const ReportLine& line, int arm) {
  return static_cast<std::size_t>(std::find(line.arms.begin(), line.arms.end(), arm) -
                                  line.arms.begin());
}

Estimate iqm_at(const StudyReport& report, const ReportLine& line, std::size_t place) {
  return ranked_score(report, line.arms[place], line.task, line.score)->iqm;
}

// The arm with the lowest IQM among those called lower.
std::size_t lowest_place(const StudyReport& report, const ReportLine& line) {
  std::size_t found = line.arms.size();
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    if (line.standings[i] != Standing::kLower) continue;
    if (found == line.arms.size() ||
        iqm_at(report, line, i).value <= iqm_at(report, line, found).value) {
      found = i;
    }
  }
  return found;
}

// The same line on each task that has it: with the same arms or, if tasks have no arm in common,
// with the same values and the same other settings.
std::vector<const ReportLine*> same_line(const StudyReport& report, const ReportLine& first) {
  const bool common = std::any_of(report.arms.begin(), report.arms.end(),
                                  [](const ReportArm& arm) { return arm.cells.size() > 1; });
  const auto settings = [&](const ReportLine& line) -> const Overrides& {
    return report.arms[static_cast<std::size_t>(line.arms.front())].settings;
  };
  const auto same = [&](const ReportLine& line) {
    if (line.kind != first.kind || line.key != first.key || line.fixed != first.fixed) return false;
    if (common) return line.arms == first.arms;
    return line.values == first.values && settings(line) == settings(first);
  };
  std::vector<const ReportLine*> lines;
  for (int task = 0; task < static_cast<int>(report.tasks.size()); ++task) {
    const auto found =
        std::find_if(report.lines.begin(), report.lines.end(),
                     [&](const ReportLine& line) { return line.task == task && same(line); });
    if (task == first.task) {
      lines.push_back(&first);
    } else if (found != report.lines.end()) {
      lines.push_back(&*found);
    }
  }
  return lines;
}

// "; gradient steps and minibatch size differ too", with the names of up to `most`. Small
// differences are told to be small: ", by 4 % at most".
std::string confound_words(const std::vector<std::string>& confounds, std::size_t most) {
  if (confounds.empty()) return "";
  std::vector<std::string> names;
  int percent = 0;
  bool small = true;
  for (const std::string& text : confounds) {
    names.push_back(text.substr(0, text.find(" (")));
    const std::size_t grade = text.rfind(", ");
    small = small && text.ends_with(" % more)");
    if (small) percent = std::max(percent, std::atoi(text.c_str() + grade + 2));
  }
  small = small && percent <= kSmallPercent;
  const bool stopped = confounds.front().find("target_kl") != std::string::npos;
  const std::string settings =
      most > 0 ? list_words(names, most) : fmt::format("{} other settings", names.size());
  return fmt::format("; {} {} too{}", settings, stopped ? "may differ" : "differ",
                     small ? fmt::format(", by {} % at most", percent) : "");
}

// The confounds of the first task that has any.
std::vector<std::string> confounds_of(const std::vector<const ReportLine*>& lines) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [](const ReportLine* line) { return !line->confounds.empty(); });
  return found == lines.end() ? std::vector<std::string>() : (*found)->confounds;
}

// Template 5: the two values of the first line that are farthest apart, and the result of the same
// comparison on every task that has the line.
std::string difference_answer(const StudyReport& report) {
  const ReportLine& first = report.lines.front();
  const std::vector<const ReportLine*> lines = same_line(report, first);
  const std::size_t high = place_of(first, first.leader), low = lowest_place(report, first);
  std::vector<int> agree, oppose, alike, few;
  for (const ReportLine* line : lines) {
    const std::optional<ArmOutcome> pair =
        outcome(report, line->arms[high], line->arms[low], line->task, line->score);
    const bool differ = line->differ && pair && pair->result != 0;
    std::vector<int>& tasks = !pair || !pair->enough_runs ? few
                              : !differ                   ? alike
                              : pair->result > 0          ? agree
                                                          : oppose;
    tasks.push_back(line->task);
  }
  // A place can be named only if all tasks have arms of the same shapes.
  const bool one_place = std::all_of(
      lines.begin(), lines.end(), [&](const ReportLine* line) { return line->arms == first.arms; });
  std::string others;
  if (!oppose.empty()) others += fmt::format("; on {} it is lower", task_words(report, oppose));
  if (!alike.empty())
    others += fmt::format("; no difference found on {}", task_words(report, alike));
  if (!few.empty()) others += fmt::format("; too few runs on {}", task_words(report, few));
  const auto sentence = [&](bool held, bool numbers, const std::string& confounds) {
    const auto value = [&](std::size_t place) {
      std::string words = value_words(first, place);
      if (!numbers || agree.size() > 1) return words;
      return fmt::format("{} ({})", words, estimate_words(iqm_at(report, first, place)));
    };
    std::string where = held && one_place ? held_words(report, first.arms) : "";
    if (!where.empty()) where = " at " + where;
    return fmt::format("On {}{}, the {} is higher with {} than with {}{}{}.",
                       task_words(report, agree), where, score_words(first.score), value(high),
                       value(low), others, confounds);
  };
  const std::vector<std::string> differ_too = confounds_of(lines);
  const std::string all = confound_words(differ_too, kMostNames);
  const std::string number = confound_words(differ_too, 0);
  return shortest_needed({sentence(true, true, all), sentence(false, true, all),
                          sentence(false, true, number), sentence(false, false, number)});
}

// Pairs of arms that may be compared over several tasks; arms that repeat runs are none.
double pooled_pairs(const StudyReport& report) {
  double pairs = 0.0;
  const auto arms = static_cast<int>(report.arms.size());
  for (int a = 0; a < arms; ++a) {
    for (int b = a + 1; b < arms; ++b) {
      const bool repeats = first_with_runs_of(report, a) != a || first_with_runs_of(report, b) != b;
      if (!repeats && common_tasks(report, a, b).size() > 1) pairs += 1.0;
    }
  }
  return pairs;
}

// Template 6, if no task by itself shows more than chance: the pair of arms that differs most
// surely over its tasks together, by more than chance among all such pairs. "" if there is none.
std::string pooled_answer(const StudyReport& report) {
  const ReportScore score = main_score(report);
  const ReportComparison* surest = nullptr;
  double least = (1.0 - kConfidence) / std::max(1.0, pooled_pairs(report));
  for (const ReportComparison& c : report.comparisons) {
    if (c.score != score || c.result == 0 || c.by_task.size() < 2) continue;
    const std::vector<int> tasks = common_tasks(report, c.a, c.b);
    const auto scores = [&](int arm) {
      return *arm_scores(report, report.arms[static_cast<std::size_t>(arm)], tasks, score);
    };
    const double chance = pair_test(scores(c.a), scores(c.b), {report.replicates, report.seed, 1});
    if (chance > least || (chance == least && surest != nullptr)) continue;
    least = chance;
    surest = &c;
  }
  if (surest == nullptr) return "";
  const int high = surest->result > 0 ? surest->a : surest->b;
  const int low = surest->result > 0 ? surest->b : surest->a;
  const std::vector<int> tasks = common_tasks(report, high, low);
  const Estimate often = outcome(report, high, low, -1, score)->probability;
  const auto sentence = [&](bool number, const std::string& confounds) {
    return fmt::format(
        "On {} together, though not beyond chance on one alone, the {} is higher with {} than with "
        "{}{}{}.",
        task_words(report, tasks), score_words(score),
        report.arms[static_cast<std::size_t>(high)].name,
        report.arms[static_cast<std::size_t>(low)].name,
        number ? fmt::format(" (probability {})", probability_words(often)) : "", confounds);
  };
  const std::string all = confound_words(surest->confounds, kMostNames);
  return shortest_needed({sentence(true, all), sentence(false, all),
                          sentence(false, confound_words(surest->confounds, 0))});
}

// A study whose settings a sampler chose, or null.
const ReportStudy* sampled_study(const StudyReport& report) {
  const auto found = std::find_if(report.studies.begin(), report.studies.end(),
                                  [](const ReportStudy& study) { return !study.sampler.empty(); });
  return found == report.studies.end() ? nullptr : &*found;
}

// Template 7, if a sampler chose settings: effects of keys cannot be told, nor the best quoted.
std::string sampled_answer(const StudyReport& report) {
  return fmt::format(
      "No grid: a sampler chose among the {} on {}, so this shows no effect of a key; train the "
      "best with new seeds.",
      count_words(static_cast<std::int64_t>(report.arms.size()), "setting"), task_words(report));
}

}  // namespace

std::string heading_of(const StudyReport& report) {
  if (sampled_study(report) != nullptr) {
    return fmt::format("Settings that a sampler chose on {}", task_words(report));
  }
  std::vector<std::string> keys = varied_keys(report);
  if (keys.empty()) keys.emplace_back(report.arms.size() > 1 ? "settings" : "one setting");
  std::string text = fmt::format("{} on {}", list_words(keys, kMostNames), task_words(report));
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string answer_of(const StudyReport& report) {
  const bool finished =
      std::any_of(report.studies.begin(), report.studies.end(),
                  [](const ReportStudy& study) { return study.runs.finished > 0; });
  if (!finished) return "No run has finished yet, so there is no result.";
  const bool scored = std::any_of(report.cells.begin(), report.cells.end(),
                                  [](const ReportCell& cell) { return cell.samples.finished > 0; });
  if (!scored) {
    return fmt::format(
        "No arm has two seeds that finished with every value of {}, so there is no "
        "result yet.",
        fmt::join(report.tuned, ", "));
  }
  if (sampled_study(report) != nullptr) return sampled_answer(report);
  if (report.lines.empty()) return ranking_answer(report);
  const ReportLine& first = report.lines.front();
  const std::int64_t testable = testable_lines(report);
  if (first.differ && (testable <= 1 || is_more_than_chance(first, testable))) {
    return difference_answer(report);
  }
  std::string pooled = pooled_answer(report);
  if (!pooled.empty()) return pooled;
  std::string hanging = hanging_answer(report);
  if (!hanging.empty()) return hanging;
  return first.differ ? chance_answer(report) : nothing_found(report);
}

std::pair<std::string, std::string> sides_of(const LineCalls& calls) {
  const std::string key = key_words(calls.kind, calls.key);
  if (calls.kind == LineKind::kWidthOfBatch) return {"more N, less T", "less N, more T"};
  if (calls.ordered) return {"larger " + key, "smaller " + key};
  if (calls.first.empty()) return {"a later " + key, "an earlier " + key};
  if (calls.kind == LineKind::kSettings) return {calls.second, calls.first};
  return {key + "=" + calls.second, key + "=" + calls.first};
}

}  // namespace broadloom
