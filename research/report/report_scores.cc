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

// The scores of a tuned cell's candidates at a seed of its choice; empty unless all have one.
std::vector<double> candidate_scores(const TunedChoice& choice, int seed, ReportScore score) {
  const Candidates& all = choice.candidates;
  const bool chose = choice.by_evaluation == (score == ReportScore::kEvaluation);
  std::vector<double> scores;
  for (int c = 0; c < all.count; ++c) {
    scores.push_back((chose ? all.scores : choice.others)[all.place(c, seed)]);
    if (!std::isfinite(scores.back())) return {};
  }
  return scores;
}

// The scores of a cell's runs, or in a tuned cell of the seeds at which all candidates have one.
void add_scores(const ReportCell& cell, ReportScore score, SeedScores& by_seed) {
  for (const ReportRun& run : cell.runs) {
    if (!std::isfinite(run.score(score))) continue;
    if (cell.tuned) {
      const int place = cell.tuned->place(run.seed);
      if (place < 0 || candidate_scores(*cell.tuned, place, score).empty()) continue;
    }
    by_seed[run.seed].push_back(run.score(score));
  }
}

// A cell that is not tuned has one candidate.
Candidates candidates_of(const ReportCell& cell, ReportScore score, const SeedScores& seeds,
                         std::size_t place) {
  const auto count = static_cast<int>(seeds.size());
  Candidates out{1, count, {}};
  if (!cell.tuned) {
    for (const auto& [seed, values] : seeds) out.scores.push_back(values[place]);
    return out;
  }
  const TunedChoice& choice = *cell.tuned;
  out.count = choice.candidates.count;
  out.scores.resize(static_cast<std::size_t>(out.count) * seeds.size());
  out.basis.resize(out.scores.size());
  int s = 0;
  for (const auto& [seed, values] : seeds) {
    const int own = choice.place(seed);
    const std::vector<double> scores = candidate_scores(choice, own, score);
    for (int c = 0; c < out.count; ++c) {
      out.scores[out.place(c, s)] = scores[static_cast<std::size_t>(c)];
      out.basis[out.place(c, s)] = choice.candidates.score(c, own);
    }
    ++s;
  }
  return out;
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

std::optional<Scores> joint_scores(const std::vector<const ReportCell*>& cells, ReportScore score) {
  SeedScores by_seed;
  for (const ReportCell* cell : cells) add_scores(*cell, score, by_seed);
  std::erase_if(by_seed, [&](const auto& entry) { return entry.second.size() != cells.size(); });
  if (by_seed.empty()) return std::nullopt;
  const bool tuned =
      std::any_of(cells.begin(), cells.end(), [](const auto* cell) { return cell->tuned; });
  if (tuned && by_seed.size() >= 2) {
    std::vector<Candidates> by_task;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      by_task.push_back(candidates_of(*cells[i], score, by_seed, i));
    }
    Result<Scores> scores = make_tuned(std::move(by_task));
    if (!scores.ok()) return std::nullopt;
    return scores.take();
  }
  Scores scores{static_cast<int>(by_seed.size()), static_cast<int>(cells.size()), {}};
  for (const auto& [seed, values] : by_seed) {
    scores.values.insert(scores.values.end(), values.begin(), values.end());
  }
  return scores;
}

std::optional<Scores> arm_scores(const StudyReport& report, const ReportArm& arm,
                                 const std::vector<int>& tasks, ReportScore score) {
  std::vector<const ReportCell*> cells;
  for (const int task : tasks) {
    cells.push_back(cell_on(report, arm, task));
    if (cells.back() == nullptr) return std::nullopt;
  }
  return joint_scores(cells, score);
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
  return cell.least_life < 10 * limit && !cell.full_episodes;
}

bool leaves_out_episodes(const StudyReport& report) {
  return std::any_of(report.cells.begin(), report.cells.end(), [&](const ReportCell& cell) {
    return !cell.runs.empty() && leaves_out_episodes(report, cell);
  });
}

}  // namespace broadloom
