#include "research/report/report_scores.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "broadloom/core/number_text.h"

namespace broadloom {
namespace {

bool alike(std::int64_t a, std::int64_t b) { return 100 * std::abs(a - b) <= std::max(a, b); }

using SeedScores = std::map<std::uint64_t, std::vector<double>>;  // [tasks] by seed

bool is_tuned(const ReportCell& cell, ReportScore score) {
  return cell.tuned && cell.tuned->by_evaluation == (score == ReportScore::kEvaluation);
}

bool is_tuned(const StudyReport& report, const ReportArm& arm, const std::vector<int>& tasks,
              ReportScore score) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](int task) { return is_tuned(*cell_on(report, arm, task), score); });
}

// A cell that is not tuned has one candidate.
Candidates candidates_of(const ReportCell& cell, ReportScore score, const SeedScores& seeds,
                         std::size_t place) {
  Candidates out{1, static_cast<int>(seeds.size()), {}};
  if (!is_tuned(cell, score)) {
    for (const auto& [seed, values] : seeds) out.scores.push_back(values[place]);
    return out;
  }
  const TunedChoice& choice = *cell.tuned;
  out.count = choice.candidates.count;
  for (int c = 0; c < out.count; ++c) {
    for (const auto& [seed, values] : seeds) {
      const auto found = std::lower_bound(choice.seeds.begin(), choice.seeds.end(), seed);
      out.scores.push_back(
          choice.candidates.score(c, static_cast<int>(found - choice.seeds.begin())));
    }
  }
  return out;
}

std::optional<Scores> tuned_scores(const StudyReport& report, const ReportArm& arm,
                                   const std::vector<int>& tasks, ReportScore score,
                                   const SeedScores& seeds) {
  std::vector<Candidates> by_task;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    by_task.push_back(candidates_of(*cell_on(report, arm, tasks[i]), score, seeds, i));
  }
  Result<Scores> scores = make_tuned(std::move(by_task));
  if (!scores.ok()) return std::nullopt;
  return scores.take();
}

// A ratio of at least 1: "4 % more", "17 times".
std::string times_words(double ratio) {
  if (ratio < 1.95) return fmt::format("{:.0f} % more", std::max(1.0, 100.0 * (ratio - 1.0)));
  const std::string text = fmt::format("{:.{}f}", ratio, ratio < 9.95 ? 1 : 0);
  return (text.ends_with(".0") ? text.substr(0, text.size() - 2) : text) + " times";
}

}  // namespace

const ReportCell* cell_on(const StudyReport& report, const ReportArm& arm, int task) {
  for (const int c : arm.cells) {
    const ReportCell& cell = report.cells[static_cast<std::size_t>(c)];
    if (cell.task == task) return &cell;
  }
  return nullptr;
}

int first_with_runs_of(const StudyReport& report, int arm) {
  const int same = report.arms[static_cast<std::size_t>(arm)].same_runs;
  return same >= 0 ? same : arm;
}

std::vector<double> cell_scores(const ReportCell& cell, ReportScore score) {
  std::vector<double> scores;
  for (const ReportRun& run : cell.runs) {
    if (std::isfinite(run.score(score))) scores.push_back(run.score(score));
  }
  return scores;
}

std::optional<Scores> arm_scores(const StudyReport& report, const ReportArm& arm,
                                 const std::vector<int>& tasks, ReportScore score) {
  SeedScores by_seed;
  for (const int task : tasks) {
    const ReportCell* cell = cell_on(report, arm, task);
    if (cell == nullptr) return std::nullopt;
    for (const ReportRun& run : cell->runs) {
      if (std::isfinite(run.score(score))) by_seed[run.seed].push_back(run.score(score));
    }
  }
  std::erase_if(by_seed, [&](const auto& entry) { return entry.second.size() != tasks.size(); });
  if (by_seed.size() >= 2 && is_tuned(report, arm, tasks, score)) {
    return tuned_scores(report, arm, tasks, score, by_seed);
  }
  Scores scores{0, static_cast<int>(tasks.size()), {}};
  for (const auto& [seed, values] : by_seed) {
    ++scores.runs;
    scores.values.insert(scores.values.end(), values.begin(), values.end());
  }
  if (scores.runs == 0) return std::nullopt;
  return scores;
}

Equality equality(const ReportCell& a, const ReportCell& b) {
  return {alike(a.environment_steps, b.environment_steps),
          a.counted && b.counted && alike(a.gradient_steps, b.gradient_steps),
          alike(a.minibatch_size, b.minibatch_size), alike(a.batch_size, b.batch_size),
          a.num_envs == b.num_envs && a.num_steps == b.num_steps};
}

Equality equality(const StudyReport& report, const ReportArm& a, const ReportArm& b,
                  const std::vector<int>& tasks) {
  Equality all;
  for (const int task : tasks) {
    const ReportCell* first_cell = cell_on(report, a, task);
    const ReportCell* second_cell = cell_on(report, b, task);
    if (first_cell != nullptr && second_cell != nullptr)
      all = equal_in_both(all, equality(*first_cell, *second_cell));
  }
  return all;
}

std::vector<std::string> confounds(const std::vector<const ReportCell*>& cells,
                                   const Equality& equal) {
  std::vector<std::string> found;
  const auto add = [&](bool same, const char* name, std::int64_t ReportCell::*count) {
    if (same) return;
    const auto [low, high] =
        std::minmax_element(cells.begin(), cells.end(),
                            [&](const auto* a, const auto* b) { return a->*count < b->*count; });
    found.push_back(fmt::format(
        "{} ({} to {}, {})", name, with_commas((*low)->*count), with_commas((*high)->*count),
        times_words(static_cast<double>((*high)->*count) / static_cast<double>((*low)->*count))));
  };
  if (!std::all_of(cells.begin(), cells.end(), [](const auto* cell) { return cell->counted; })) {
    found.emplace_back("gradient steps (target_kl stops epochs)");
  } else {
    add(equal.gradient_steps, "gradient steps", &ReportCell::gradient_steps);
  }
  add(equal.minibatch_size, "minibatch size", &ReportCell::minibatch_size);
  add(equal.environment_steps, "environment steps", &ReportCell::environment_steps);
  for (std::size_t i = 0; i < cells.front()->brought.size(); ++i) {
    const auto& own = cells.front()->brought[i];
    const bool same = std::all_of(cells.begin(), cells.end(),
                                  [&](const auto* cell) { return cell->brought[i] == own; });
    if (!same) found.push_back(own.first);
  }
  return found;
}

Equality equal_in_both(const Equality& a, const Equality& b) {
  return {a.environment_steps && b.environment_steps, a.gradient_steps && b.gradient_steps,
          a.minibatch_size && b.minibatch_size, a.batch_size && b.batch_size, a.shape && b.shape};
}

ReportScore main_score(const StudyReport& report) {
  ScoreKinds kinds;
  for (const ReportCell& cell : report.cells) {
    if (cell.runs.empty()) continue;
    kinds.add(!cell_scores(cell, ReportScore::kTraining).empty(),
              !cell_scores(cell, ReportScore::kEvaluation).empty());
  }
  return kinds.by_evaluation() ? ReportScore::kEvaluation : ReportScore::kTraining;
}

bool leaves_out_episodes(const StudyReport& report, const ReportCell& cell) {
  const auto limit = report.tasks[static_cast<std::size_t>(cell.task)].max_episode_steps;
  return cell.least_life < 10 * limit;
}

bool leaves_out_episodes(const StudyReport& report) {
  return std::any_of(report.cells.begin(), report.cells.end(), [&](const ReportCell& cell) {
    return !cell.runs.empty() && leaves_out_episodes(report, cell);
  });
}

}  // namespace broadloom
