#include "broadloom/findings/report_trends.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>

#include "broadloom/core/portable_math.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/findings/report_scores.h"
#include "broadloom/stats/ranked_scores.h"

namespace broadloom {
namespace {

// A bootstrap of fewer runs gives intervals that are far too short: of trends along arms that are
// alike, one in five and more would be called.
constexpr std::size_t kFewestRuns = 4;

// One arm of a trend: log2 N and its scores.
struct ShapePlace {
  double doublings = 0.0;
  RankedScores scores;
};

// Least squares: the slope of y over x.
double slope_of(const std::vector<ShapePlace>& places, const std::vector<double>& y) {
  const auto n = static_cast<double>(places.size());
  double mean = 0.0, covariance = 0.0, variance = 0.0;
  for (const ShapePlace& place : places) mean += place.doublings / n;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = places[i].doublings - mean;
    covariance += x * y[i];
    variance += x * x;
  }
  return covariance / variance;
}

Estimate slope_estimate(const std::vector<ShapePlace>& places, const BootstrapOptions& options) {
  std::vector<std::uint32_t> chosen;
  std::vector<int> counts;
  std::vector<double> iqms(places.size());
  std::int64_t runs = 0;
  bool one_run = false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].scores.count({}, counts);
    iqms[i] = places[i].scores.iqm(counts);
    runs += places[i].scores.runs();
    one_run = one_run || places[i].scores.runs() < 2;
  }
  const double value = slope_of(places, iqms);
  if (one_run) return without_interval(value, runs);
  return percentile_intervals({value}, runs, options, [&](std::int64_t r, int, double* out) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const RankedScores& scores = places[i].scores;
      draw_runs(options, static_cast<std::uint32_t>(i), r, scores.runs(), 1, chosen);
      scores.count(chosen, counts);
      iqms[i] = scores.iqm(counts);
    }
    *out = slope_of(places, iqms);
  })[0];
}

// The numbers of a trend whose arms, score and task are set.
void measure(const StudyReport& report, ReportTrend& trend) {
  std::vector<ShapePlace> places;
  double most = 0.0;
  for (const int a : trend.arms) {
    const ReportCell& cell = *cell_on(report, report.arms[static_cast<std::size_t>(a)], trend.task);
    const std::vector<double> scores = cell_scores(cell, trend.score);
    places.push_back({portable::log2(static_cast<double>(cell.num_envs)),
                      RankedScores({static_cast<int>(scores.size()), 1, scores})});
    trend.enough_runs = trend.enough_runs && scores.size() >= kFewestRuns;
    const double iqm = cell.summary(trend.score)->iqm.value;
    if (places.size() == 1 || iqm > most) {
      trend.best = a;
      most = iqm;
    }
    const ReportCell& first =
        *cell_on(report, report.arms[static_cast<std::size_t>(trend.arms.front())], trend.task);
    trend.equal = both(trend.equal, equality(first, cell));
  }
  trend.slope = slope_estimate(places, {report.replicates, report.seed, 1});
  if (!trend.enough_runs) return;
  trend.direction = trend.slope.low > 0.0 ? 1 : trend.slope.high < 0.0 ? -1 : 0;
}

// Arms with a score on the task, by what they have in common.
std::vector<ReportTrend> gather(const StudyReport& report, ReportScore score, int task) {
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::vector<int>> groups;
  for (std::size_t a = 0; a < report.arms.size(); ++a) {
    const ReportArm& arm = report.arms[a];
    const ReportCell* cell = cell_on(report, arm, task);
    if (cell == nullptr || !cell->summary(score)) continue;
    groups[{arm.other, "batch_size", arm.batch_size}].push_back(static_cast<int>(a));
    groups[{arm.other, "num_steps", arm.num_steps}].push_back(static_cast<int>(a));
  }
  std::vector<ReportTrend> trends;
  for (auto& [key, arms] : groups) {
    if (arms.size() < 3) continue;
    std::stable_sort(arms.begin(), arms.end(), [&](int x, int y) {
      return report.arms[static_cast<std::size_t>(x)].num_envs <
             report.arms[static_cast<std::size_t>(y)].num_envs;
    });
    ReportTrend trend;
    std::tie(trend.other, trend.fixed, trend.value) = key;
    trend.arms = arms;
    trend.score = score;
    trend.task = task;
    trends.push_back(std::move(trend));
  }
  return trends;
}

}  // namespace

void find_trends(int threads, StudyReport& report) {
  for (const ReportScore score : kReportScores) {
    for (std::size_t task = 0; task < report.tasks.size(); ++task) {
      for (ReportTrend& trend : gather(report, score, static_cast<int>(task))) {
        report.trends.push_back(std::move(trend));
      }
    }
  }
  ThreadPool pool(std::max(1, threads));
  pool.run(static_cast<int>(report.trends.size()),
           [&](int t) { measure(report, report.trends[static_cast<std::size_t>(t)]); });
}

}  // namespace broadloom
