#include "research/report/report_lines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>

#include "broadloom/core/thread_pool.h"
#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"
#include "research/stats/rank_test.h"
#include "research/stats/run_statistics.h"

namespace broadloom {
namespace {

// More permutations would not change a decision; each line needs them once.
constexpr int kMostPermutations = 5000;
// For chances that are multiplied by the number of lines: permutations per line, and most lines
// that get them.
constexpr int kPermutationsALine = 100, kMostSharpened = 10;
constexpr double kMostChance = 1.0 - kConfidence;
constexpr double kOneSide = 0.5 * kMostChance;

const ReportArm& arm_at(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

std::string value_of(const ReportArm& arm, const std::string& key) {
  for (const auto& [name, text] : arm.settings) {
    if (name == key) return text;
  }
  return "";
}

// The arm's settings without `excluded`, as one text.
std::string rest_of(const ReportArm& arm, const std::set<std::string>& excluded) {
  std::string text;
  for (const auto& [key, value] : arm.settings) {
    if (excluded.count(key) == 0) text += key + "=" + value + "\n";
  }
  return text;
}

std::set<std::string> varying_keys(const StudyReport& report) {
  std::set<std::string> keys;
  for (const ReportArm& arm : report.arms) {
    for (const auto& [key, text] : arm.settings) keys.insert(key);
  }
  return keys;
}

using Group = std::tuple<std::int64_t, std::int64_t, std::string>;

// Whether two arms of one shape differ in `key` and in nothing else.
bool varies_alone(const StudyReport& report, const std::string& key) {
  std::map<Group, std::set<std::string>> values;
  for (const ReportArm& arm : report.arms) {
    values[{arm.num_envs, arm.num_steps, rest_of(arm, {key})}].insert(value_of(arm, key));
  }
  return std::any_of(values.begin(), values.end(),
                     [](const auto& group) { return group.second.size() > 1; });
}

// Sorts numbers ascending; other values keep the order of the arms.
void put_in_order(const StudyReport& report, ReportLine& line) {
  const auto number = [&](int arm) -> std::optional<double> {
    const ReportArm& candidate = arm_at(report, arm);
    if (line.key == "num_envs") return static_cast<double>(candidate.num_envs);
    if (line.key == "num_steps") return static_cast<double>(candidate.num_steps);
    double value = 0.0;
    if (line.key.empty() || !parse_text(value_of(candidate, line.key), value).ok())
      return std::nullopt;
    return value;
  };
  line.ordered = std::all_of(line.arms.begin(), line.arms.end(),
                             [&](int arm) { return number(arm).has_value(); });
  if (!line.ordered) return;
  std::stable_sort(line.arms.begin(), line.arms.end(),
                   [&](int x, int y) { return *number(x) < *number(y); });
}

// together: keys that vary only together.
std::string value_on(const ReportLine& line, const ReportArm& arm,
                     const std::set<std::string>& together) {
  switch (line.kind) {
    case LineKind::kWidthOfBatch:
    case LineKind::kWidth:
      return to_text(arm.num_envs);
    case LineKind::kLength:
      return to_text(arm.num_steps);
    case LineKind::kSetting:
      return value_of(arm, line.key);
    case LineKind::kSettings: {
      const std::string words = part_words(arm.parts, together);
      return words.empty() ? "base" : words;
    }
  }
  return "";
}

// Groups the arms of a report by what they have in common, for each thing that varies.
class LineGatherer {
 public:
  explicit LineGatherer(const StudyReport& report) : report_(report), score_(main_score(report)) {
    for (const std::string& key : varying_keys(report)) {
      (varies_alone(report, key) ? free_ : together_).insert(key);
    }
  }

  std::vector<ReportLine> lines_on(int task) const {
    std::vector<ReportLine> lines;
    gather(LineKind::kWidthOfBatch, "num_envs", task, &ReportArm::batch_size, lines);
    gather(LineKind::kWidth, "num_envs", task, &ReportArm::num_steps, lines);
    gather(LineKind::kLength, "num_steps", task, &ReportArm::num_envs, lines);
    for (const std::string& key : free_) gather(LineKind::kSetting, key, task, nullptr, lines);
    if (!together_.empty()) gather(LineKind::kSettings, "", task, nullptr, lines);
    return lines;
  }

 private:
  // fixed: the part of the shape that is equal; nullptr: all of it.
  void gather(LineKind kind, const std::string& key, int task, std::int64_t ReportArm::*fixed,
              std::vector<ReportLine>& lines) const {
    std::set<std::string> varied;
    if (kind == LineKind::kSetting) varied = {key};
    if (kind == LineKind::kSettings) varied = together_;
    std::map<Group, std::vector<int>> groups;
    for (int a = 0; a < static_cast<int>(report_.arms.size()); ++a) {
      const ReportArm& arm = arm_at(report_, a);
      if (!ranked_score(report_, a, task, score_)) continue;
      const Group group = fixed != nullptr
                              ? Group{arm.*fixed, 0, rest_of(arm, varied)}
                              : Group{arm.num_envs, arm.num_steps, rest_of(arm, varied)};
      groups[group].push_back(a);
    }
    for (const auto& [group, arms] : groups) {
      ReportLine line;
      line.kind = kind;
      line.key = key;
      line.task = task;
      line.score = score_;
      line.fixed = fixed != nullptr ? std::get<0>(group) : 0;
      line.arms = without_repeats(arms);
      put_in_order(report_, line);
      if (has_values(line)) lines.push_back(std::move(line));
    }
  }

  // Without arms that repeat the runs of another arm.
  std::vector<int> without_repeats(const std::vector<int>& arms) const {
    std::vector<int> kept;
    std::set<int> seen;
    for (const int arm : arms) {
      if (seen.insert(first_with_runs_of(report_, arm)).second) kept.push_back(arm);
    }
    return kept;
  }

  // Whether the line has two or more arms with distinct values, and some runs of its own.
  bool has_values(ReportLine& line) const {
    std::set<std::string> distinct;
    bool own = false;
    for (const int arm : line.arms) {
      line.values.push_back(value_on(line, arm_at(report_, arm), together_));
      distinct.insert(line.values.back());
      own = own || arm_at(report_, arm).same_runs < 0;
    }
    return own && line.arms.size() > 1 && distinct.size() == line.arms.size();
  }

  const StudyReport& report_;
  ReportScore score_;
  std::set<std::string> free_, together_;
};

// The unit of a task's returns: from random actions to the reference, or else from the worst to the
// best run.
double scale_of(const StudyReport& report, int task, ReportScore score) {
  const ReportTask& own = report.tasks[static_cast<std::size_t>(task)];
  if (own.why_not.empty() && own.reference_score != own.random_score) {
    return std::abs(own.reference_score - own.random_score);
  }
  double low = 0.0, high = 0.0;
  bool any = false;
  for (const ReportCell& cell : report.cells) {
    if (cell.task != task) continue;
    for (const double x : cell_scores(cell, score)) {
      low = any ? std::min(low, x) : x;
      high = any ? std::max(high, x) : x;
      any = true;
    }
  }
  return high > low ? high - low : 1.0;
}

// IQM of x minus IQM of y, with an interval.
Estimate difference(const Scores& x, const Scores& y, const BootstrapOptions& options) {
  const double value = interquartile_mean(x.values) - interquartile_mean(y.values);
  const auto count = static_cast<std::int64_t>(x.runs) + y.runs;
  if (x.runs < 2 || y.runs < 2) return without_interval(value, count);
  const std::vector<double> first = iqm_draws(x, options, 0), second = iqm_draws(y, options, 1);
  return percentile_intervals({value}, count, options, [&](std::int64_t r, int, double* out) {
    *out = first[static_cast<std::size_t>(r)] - second[static_cast<std::size_t>(r)];
  })[0];
}

// The largest difference to a lower arm that the intervals support.
double supported_difference(const ReportLine& line, double scale) {
  double most = 0.0;
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    if (line.standings[i] != Standing::kLower) continue;
    // An arm may be lower because its runs lose often, even if the difference may be 0.
    most = std::max(most, std::max(line.ahead[i]->low / scale, 1e-9));
  }
  return most;
}

const ReportCell& cell_of(const StudyReport& report, const ReportLine& line, int arm) {
  return *cell_on(report, arm_at(report, arm), line.task);
}

// The largest difference that the intervals allow between arms without a called difference; 0
// without intervals.
double room_of(const ReportLine& line) {
  double most = 0.0;
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    const bool open = line.standings[i] == Standing::kAlike ||
                      (!line.differ && line.standings[i] == Standing::kLower);
    if (!open || !line.ahead[i] || !std::isfinite(line.ahead[i]->low)) continue;
    most = std::max({most, std::abs(line.ahead[i]->low), std::abs(line.ahead[i]->high)});
  }
  return most;
}

std::vector<std::vector<double>> scores_on(const StudyReport& report, const ReportLine& line) {
  std::vector<std::vector<double>> scores;
  for (const int arm : line.arms) {
    scores.push_back(cell_scores(cell_of(report, line, arm), line.score));
  }
  return scores;
}

int permutations(const StudyReport& report) {
  return std::min(report.replicates, kMostPermutations);
}

void measure(const StudyReport& report, ReportLine& line) {
  const BootstrapOptions options{report.replicates, report.seed, 1};
  const std::vector<std::vector<double>> scores = scores_on(report, line);
  for (const int arm : line.arms) {
    line.equal = equal_in_both(
        line.equal, equality(cell_of(report, line, line.arms.front()), cell_of(report, line, arm)));
  }
  line.leader = leader_of(report, line.arms, line.task, line.score);
  const auto leads = static_cast<std::size_t>(
      std::find(line.arms.begin(), line.arms.end(), line.leader) - line.arms.begin());
  const auto of_arm = [&](int arm) {
    return *arm_scores(report, arm_at(report, arm), {line.task}, line.score);
  };
  const Scores leading = of_arm(line.leader);
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    line.standings.push_back(standing_of(report, line.arms[i], line.leader, line.task, line.score));
    line.ahead.push_back(i == leads
                             ? std::nullopt
                             : std::optional(difference(leading, of_arm(line.arms[i]), options)));
  }
  line.chance = rank_test(scores, {permutations(report), report.seed, 1});
  const bool lower = std::count(line.standings.begin(), line.standings.end(), Standing::kLower) > 0;
  line.differ = lower && line.chance <= kMostChance;
  line.effect =
      line.differ ? supported_difference(line, scale_of(report, line.task, line.score)) : 0.0;
  line.room = room_of(line);
  std::vector<const ReportCell*> cells;
  for (const int arm : line.arms) cells.push_back(&cell_of(report, line, arm));
  line.confounds = confounds(cells, line.equal);
}

// With n permutations the smallest chance is 1 / (n + 1). Multiplied by many lines it is large,
// even for a clear difference. So the lines of the largest effects at that limit get more
// permutations, except lines of two arms, whose chance is exact.
void sharpen_chances(StudyReport& report) {
  const double smallest = 1.0 / (permutations(report) + 1.0);
  const auto lines = static_cast<double>(report.lines.size());
  if (smallest * lines <= kMostChance) return;
  const int more = kPermutationsALine * static_cast<int>(std::min(lines, 1e6));
  int sharpened = 0;
  for (ReportLine& line : report.lines) {
    if (!line.differ || line.chance > smallest || line.arms.size() == 2) continue;
    line.chance = rank_test(scores_on(report, line), {more, report.seed, 1});
    if (++sharpened == kMostSharpened) return;
  }
}

// Twice the upper tail of a binomial distribution, at most 1, with a probability of 2.5 % for each
// pair: how likely chance alone calls one side better so often, if pairs were independent.
double chance_of(const LineCalls& calls) {
  const int most = std::max(calls.later_better, calls.earlier_better);
  if (most == 0) return 1.0;
  // Sums the probabilities of fewer than `most` calls.
  double exactly = 1.0, fewer = 0.0;
  for (int i = 0; i < calls.pairs; ++i) exactly *= 1.0 - kOneSide;
  for (int k = 0; k < most; ++k) {
    fewer += exactly;
    exactly *= static_cast<double>(calls.pairs - k) / (k + 1) * kOneSide / (1.0 - kOneSide);
  }
  return std::min(1.0, 2.0 * std::max(0.0, 1.0 - fewer));
}

}  // namespace

std::vector<ReportLine> gather_lines(const StudyReport& report) {
  const LineGatherer gatherer(report);
  std::vector<ReportLine> all;
  for (int task = 0; task < static_cast<int>(report.tasks.size()); ++task) {
    for (ReportLine& line : gatherer.lines_on(task)) all.push_back(std::move(line));
  }
  return all;
}

std::vector<std::pair<int, int>> pairs_on_lines(const StudyReport& report,
                                                const std::vector<ReportLine>& lines) {
  std::set<std::pair<int, int>> pairs;
  const auto runs_of = [&](int arm) { return first_with_runs_of(report, arm); };
  for (const ReportLine& line : lines) {
    const auto add = [&](int first_arm, int second_arm) {
      if (first_arm != second_arm)
        pairs.emplace(std::min(first_arm, second_arm), std::max(first_arm, second_arm));
    };
    const int first = runs_of(sorted_by_score(report, line.arms, line.task, line.score).front());
    for (std::size_t i = 0; i < line.arms.size(); ++i) {
      add(first, runs_of(line.arms[i]));
      if (i > 0) add(runs_of(line.arms[i - 1]), runs_of(line.arms[i]));
    }
  }
  return {pairs.begin(), pairs.end()};
}

bool enough_runs(const ReportLine& line) {
  return std::any_of(line.standings.begin(), line.standings.end(), [](Standing standing) {
    return standing == Standing::kAlike || standing == Standing::kLower;
  });
}

std::int64_t testable_lines(const StudyReport& report) {
  return std::count_if(report.lines.begin(), report.lines.end(), enough_runs);
}

bool is_more_than_chance(const ReportLine& line, std::int64_t lines) {
  return line.differ && line.chance * static_cast<double>(lines) <= kMostChance;
}

void measure_lines(int threads, StudyReport& report) {
  ThreadPool pool(std::max(1, threads));
  pool.run(static_cast<int>(report.lines.size()),
           [&](int i) { measure(report, report.lines[static_cast<std::size_t>(i)]); });
  std::stable_sort(report.lines.begin(), report.lines.end(),
                   [](const ReportLine& a, const ReportLine& b) { return a.effect > b.effect; });
  sharpen_chances(report);
  const std::int64_t testable = testable_lines(report);
  std::stable_partition(report.lines.begin(), report.lines.end(), [&](const ReportLine& line) {
    return is_more_than_chance(line, testable);
  });
}

std::vector<LineCalls> count_calls(const StudyReport& report) {
  std::vector<LineCalls> all;
  // Lines may share arms with the same runs, whose comparison counts once.
  std::set<std::tuple<LineKind, std::string, int, std::set<int>>> counted;
  for (const ReportLine& line : report.lines) {
    auto calls = std::find_if(all.begin(), all.end(), [&](const LineCalls& c) {
      return c.kind == line.kind && c.key == line.key;
    });
    if (calls == all.end()) {
      all.push_back({line.kind, line.key, line.ordered, line.values[0], line.values[1]});
      calls = all.end() - 1;
    }
    ++calls->lines;
    calls->ordered = calls->ordered && line.ordered;
    if (line.values != std::vector<std::string>{calls->first, calls->second}) calls->first.clear();
    for (std::size_t i = 1; i < line.arms.size(); ++i) {
      const std::optional<ArmOutcome> found =
          outcome(report, line.arms[i], line.arms[i - 1], line.task, line.score);
      if (!found || !found->enough_runs) continue;
      const std::set<int> runs = {first_with_runs_of(report, line.arms[i]),
                                  first_with_runs_of(report, line.arms[i - 1])};
      if (!counted.emplace(line.kind, line.key, line.task, runs).second) continue;
      ++calls->pairs;
      calls->later_better += found->result > 0 ? 1 : 0;
      calls->earlier_better += found->result < 0 ? 1 : 0;
    }
  }
  for (LineCalls& calls : all) calls.chance = chance_of(calls);
  return all;
}

}  // namespace broadloom
