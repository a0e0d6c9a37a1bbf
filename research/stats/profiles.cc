#include "research/stats/profiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace broadloom {
namespace {

struct Scratch {
  std::vector<std::uint32_t> chosen;  // [tasks, runs]; empty: each run once
  std::vector<int> at_level;          // [thresholds + 1]
};

// Number of thresholds below the score. The score is above threshold j if its level exceeds j.
std::size_t level_of(double score, const std::vector<double>& thresholds) {
  return static_cast<std::size_t>(std::lower_bound(thresholds.begin(), thresholds.end(), score) -
                                  thresholds.begin());
}

// The profile of one replicate, from the levels of its scores.
class Profiler {
 public:
  Profiler(const Scores& scores, const std::vector<double>& thresholds, ProfileKind kind)
      : runs_(scores.runs), tasks_(scores.tasks), thresholds_(thresholds), kind_(kind) {
    for (int task = 0; task < tasks_; ++task) {
      for (int run = 0; run < runs_; ++run) {
        by_task_.push_back(scores.at(run, task));
        levels_.push_back(level_of(by_task_.back(), thresholds));
      }
    }
  }

  int counted() const { return kind_ == ProfileKind::kRunScores ? runs_ * tasks_ : tasks_; }

  // out: the shares, [thresholds].
  void write(Scratch& scratch, double* out) const {
    scratch.at_level.assign(thresholds_.size() + 1, 0);
    for (int task = 0; task < tasks_; ++task) {
      if (kind_ == ProfileKind::kRunScores) {
        count_runs(task, scratch);
      } else {
        ++scratch.at_level[level_of(mean(task, scratch), thresholds_)];
      }
    }
    int above = 0;
    for (std::size_t j = thresholds_.size(); j-- > 0;) {
      above += scratch.at_level[j + 1];
      out[j] = static_cast<double>(above) / counted();
    }
  }

 private:
  std::size_t index(int task, int i, const Scratch& scratch) const {
    const std::size_t first = static_cast<std::size_t>(task) * static_cast<std::size_t>(runs_);
    const std::size_t place = first + static_cast<std::size_t>(i);
    return scratch.chosen.empty() ? place : first + scratch.chosen[place];
  }
  void count_runs(int task, Scratch& scratch) const {
    for (int i = 0; i < runs_; ++i) ++scratch.at_level[levels_[index(task, i, scratch)]];
  }
  double mean(int task, const Scratch& scratch) const {
    double sum = 0.0;
    for (int i = 0; i < runs_; ++i) sum += by_task_[index(task, i, scratch)];
    return sum / runs_;
  }

  int runs_, tasks_;
  const std::vector<double>& thresholds_;
  ProfileKind kind_;
  std::vector<double> by_task_;      // [tasks, runs]
  std::vector<std::size_t> levels_;  // [tasks, runs]
};

Status check_thresholds(const std::vector<double>& thresholds) {
  bool good = !thresholds.empty() && std::is_sorted(thresholds.begin(), thresholds.end());
  for (const double threshold : thresholds) good = good && std::isfinite(threshold);
  if (good) return {};
  return Status(ErrorKind::kInvalidConfig,
                "the thresholds of a performance profile are missing, not ascending or not finite; "
                "expected such as 0, 0.1, ..., 1");
}

}  // namespace

Result<PerformanceProfile> performance_profile(const Scores& scores,
                                               const std::vector<double>& thresholds,
                                               ProfileKind kind, const BootstrapOptions& options) {
  BROADLOOM_TRY(check_scores(scores));
  BROADLOOM_TRY(check_thresholds(thresholds));
  BROADLOOM_TRY(check_bootstrap(options));
  const Profiler profiler(scores, thresholds, kind);
  std::vector<Scratch> scratch(static_cast<std::size_t>(options.threads));
  std::vector<double> values(thresholds.size());
  profiler.write(scratch[0], values.data());
  PerformanceProfile profile{thresholds, {}};
  if (scores.runs < 2) {
    for (const double value : values) {
      profile.shares.push_back(without_interval(value, profiler.counted()));
    }
    return profile;
  }
  profile.shares = percentile_intervals(
      values, profiler.counted(), options, [&](std::int64_t replicate, int thread, double* out) {
        Scratch& mine = scratch[static_cast<std::size_t>(thread)];
        draw_runs(options, 0, replicate, scores.runs, scores.tasks, mine.chosen);
        profiler.write(mine, out);
      });
  return profile;
}

}  // namespace broadloom
