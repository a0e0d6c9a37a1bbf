#include "research/stats/scores.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace broadloom {

Result<Scores> make_scores(const std::vector<std::vector<double>>& by_task) {
  Scores scores;
  scores.tasks = static_cast<int>(by_task.size());
  scores.runs = by_task.empty() ? 0 : static_cast<int>(by_task[0].size());
  for (int task = 0; task < scores.tasks; ++task) {
    const std::size_t count = by_task[static_cast<std::size_t>(task)].size();
    if (count == static_cast<std::size_t>(scores.runs)) continue;
    return Status(ErrorKind::kMismatch,
                  fmt::format("task {} has {} runs and task 0 has {}; expected as many of every "
                              "task: finish the missing runs, or leave out the same seeds of all",
                              task, count, scores.runs));
  }
  for (int run = 0; run < scores.runs; ++run) {
    for (const std::vector<double>& task : by_task) {
      scores.values.push_back(task[static_cast<std::size_t>(run)]);
    }
  }
  BROADLOOM_TRY(check_scores(scores));
  return scores;
}

Result<Scores> make_tuned(std::vector<Candidates> by_task) {
  Scores scores;
  scores.tasks = static_cast<int>(by_task.size());
  scores.runs = by_task.empty() ? 0 : by_task[0].seeds;
  for (const Candidates& task : by_task) {
    const auto expected =
        static_cast<std::size_t>(std::max(0, task.count)) * static_cast<std::size_t>(task.seeds);
    const bool fits = task.scores.size() == expected && task.choosing().size() == expected;
    if (task.seeds == scores.runs && task.seeds >= 2 && fits) continue;
    return Status(ErrorKind::kMismatch,
                  fmt::format("a tuned arm has {} candidates with {} seeds and {} scores; expected "
                              "at least 2 seeds, as many for each task, and a score of each",
                              task.count, task.seeds, task.scores.size()));
  }
  scores.tuned = std::move(by_task);
  std::vector<std::vector<int>> chosen;
  for (const Candidates& task : scores.tuned) chosen.push_back(cross_fitted(task));
  for (int run = 0; run < scores.runs; ++run) {
    for (std::size_t task = 0; task < scores.tuned.size(); ++task) {
      scores.values.push_back(
          scores.tuned[task].score(chosen[task][static_cast<std::size_t>(run)], run));
    }
  }
  BROADLOOM_TRY(check_scores(scores));
  return scores;
}

Status check_scores(const Scores& scores) {
  if (scores.runs < 1 || scores.tasks < 1) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("scores of {} runs of {} tasks; expected at least 1 of each",
                              scores.runs, scores.tasks));
  }
  const std::size_t expected =
      static_cast<std::size_t>(scores.runs) * static_cast<std::size_t>(scores.tasks);
  if (scores.values.size() != expected) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} scores for {} runs of {} tasks; expected {}",
                              scores.values.size(), scores.runs, scores.tasks, expected));
  }
  for (int run = 0; run < scores.runs; ++run) {
    for (int task = 0; task < scores.tasks; ++task) {
      if (std::isfinite(scores.at(run, task))) continue;
      return Status(ErrorKind::kNumeric,
                    fmt::format("the score of run {} on task {} is {}; expected a finite number: "
                                "repeat the run, or leave it out on every task",
                                run, task, scores.at(run, task)));
    }
  }
  for (const Candidates& task : scores.tuned) {
    const auto finite = [](double score) { return std::isfinite(score); };
    if (!std::all_of(task.scores.begin(), task.scores.end(), finite) ||
        !std::all_of(task.basis.begin(), task.basis.end(), finite)) {
      return Status(ErrorKind::kNumeric,
                    "a candidate of a tuned arm has a score that is not finite; leave the "
                    "candidate out, or the seed for all candidates");
    }
  }
  return {};
}

Result<double> normalised_score(const EnvSpec& spec, double score) {
  if (!spec.has_score_range || spec.reference_score == spec.random_score) {
    return Status(ErrorKind::kInvalidConfig,
                  spec.id +
                      ": no random and reference score are known, or not for these options or "
                      "this time limit of the environment; use the returns as they are");
  }
  return (score - spec.random_score) / (spec.reference_score - spec.random_score);
}

Result<Scores> normalised(const Scores& scores, const std::vector<EnvSpec>& specs) {
  BROADLOOM_TRY(check_scores(scores));
  if (specs.size() != static_cast<std::size_t>(scores.tasks)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} environments for scores of {} tasks; expected one a task",
                              specs.size(), scores.tasks));
  }
  Scores out = scores;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const Result<double> score = normalised_score(specs[i % specs.size()], scores.values[i]);
    if (!score.ok()) return score.status();
    out.values[i] = score.value();
  }
  for (std::size_t task = 0; task < out.tuned.size(); ++task) {
    for (double& value : out.tuned[task].scores) {
      const Result<double> score = normalised_score(specs[task], value);
      if (!score.ok()) return score.status();
      value = score.value();
    }
  }
  return out;
}

}  // namespace broadloom
