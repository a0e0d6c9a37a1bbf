#include "research/report/learning_curve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "broadloom/core/estimate.h"
#include "research/figure/figure.h"
#include "research/stats/sample_efficiency.h"

namespace broadloom {
namespace {

constexpr int kPoints = 300;

double value_at(const Curve& curve, double step) {
  const auto after = std::lower_bound(curve.steps.begin(), curve.steps.end(), step);
  if (after == curve.steps.begin()) return curve.returns.front();
  if (after == curve.steps.end()) return curve.returns.back();
  const std::size_t i = static_cast<std::size_t>(after - curve.steps.begin());
  const double share = (step - curve.steps[i - 1]) / (curve.steps[i] - curve.steps[i - 1]);
  return curve.returns[i - 1] + share * (curve.returns[i] - curve.returns[i - 1]);
}

// Mean and, for two runs or more, its 95 % interval, at steps that all runs have.
std::vector<FigurePoint> band_of(const std::vector<Curve>& curves,
                                 const std::vector<double>& steps) {
  std::vector<FigurePoint> band;
  const double count = static_cast<double>(curves.size());
  for (const double step : steps) {
    double mean = 0.0, squares = 0.0;
    for (const Curve& curve : curves) mean += value_at(curve, step) / count;
    for (const Curve& curve : curves) {
      const double off = value_at(curve, step) - mean;
      squares += off * off;
    }
    const double half = curves.size() > 1 ? student_t(static_cast<int>(curves.size()) - 1) *
                                                std::sqrt(squares / (count - 1) / count)
                                          : 0.0;
    band.push_back({step, {mean, mean - half, mean + half}});
  }
  return band;
}

}  // namespace

Result<std::string> learning_curve_svg(const std::string& title, const std::vector<Curve>& curves) {
  if (curves.empty())
    return Status(ErrorKind::kInvalidConfig, "got no runs; expected at least one");
  const Result<std::vector<double>> steps =
      common_steps({static_cast<int>(curves.size()), 1, curves}, kPoints);
  if (!steps.ok()) return steps.status();
  FigurePanel panel;
  panel.intervals = FigureIntervals::kBand;
  panel.x.title = "environment steps";
  panel.x.include = {0.0};
  panel.y.title = "return, mean of 100 episodes";
  panel.series.push_back({"", 0, band_of(curves, steps.value())});
  Figure figure;
  figure.title = title;
  figure.note =
      curves.size() == 1 ? "1 run" : fmt::format("{} runs, mean and 95 % interval", curves.size());
  figure.width = 720.0;
  figure.panel_height = 340.0;
  figure.panels.push_back(std::move(panel));
  return figure_svg(figure);
}

}  // namespace broadloom
