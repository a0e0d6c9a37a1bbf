#include "research/report/report_troubles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "research/report/report_curves.h"
#include "research/report/report_scores.h"

namespace broadloom {
namespace {

constexpr char kKlKey[] = "approx_kl";
constexpr double kNearRandom = 0.05;  // share of the way from random to reference
constexpr double kLargeLoss = 0.5;    // share of the gain
constexpr std::size_t kFewestPoints = 5;
constexpr double kStillFrom = 2.0 / 3.0;  // share of the run

const ReportCurve* curve_of_key(const ReportCell& cell, const std::string& key) {
  const auto found = std::find_if(cell.curves.begin(), cell.curves.end(),
                                  [&](const ReportCurve& curve) { return curve.key == key; });
  return found == cell.curves.end() ? nullptr : &*found;
}

std::optional<ReportTrouble> at_random(const StudyReport& report, const ReportCell& cell, int c) {
  const ReportTask& task = report.tasks[static_cast<std::size_t>(cell.task)];
  const std::optional<RunStatistics>& summary = cell.summary(main_score(report));
  if (!summary || !task.why_not.empty() || cell.counts.finished < 2) return std::nullopt;
  const double level = task.random_score + kNearRandom * (task.reference_score - task.random_score);
  if (!(summary->iqm.high <= level)) return std::nullopt;
  return ReportTrouble{TroubleKind::kAtRandom, c, 0.0, {}, summary->iqm};
}

// Evaluations if there are enough, else training returns. Not training returns that leave out
// episodes, which they do at first but not at the end.
const ReportCurve* learning_curve(const StudyReport& report, const ReportCell& cell) {
  const ReportCurve* evaluated = curve_of_key(cell, kEvaluationKey);
  if (evaluated != nullptr && evaluated->iqm.size() >= kFewestPoints) return evaluated;
  const ReportCurve* trained = curve_of_key(cell, kReturnKey);
  if (trained == nullptr || trained->iqm.size() < kFewestPoints) return nullptr;
  return leaves_out_episodes(report, cell) ? nullptr : trained;
}

std::optional<ReportTrouble> collapsed(const StudyReport& report, const ReportCell& cell, int c) {
  const ReportCurve* curve = learning_curve(report, cell);
  if (curve == nullptr || cell.counts.finished < 2) return std::nullopt;
  const auto peak =
      std::max_element(curve->iqm.begin(), curve->iqm.end(),
                       [](const Estimate& a, const Estimate& b) { return a.value < b.value; });
  const Estimate& end = curve->iqm.back();
  const ReportTask& task = report.tasks[static_cast<std::size_t>(cell.task)];
  const double start =
      task.why_not.empty()
          ? task.random_score
          : std::min_element(curve->iqm.begin(), peak + 1,
                             [](const Estimate& a, const Estimate& b) { return a.value < b.value; })
                ->value;
  const bool lost = peak->value - end.value >= kLargeLoss * (peak->value - start);
  if (!(peak->value > start) || !lost || !(end.high < peak->low)) return std::nullopt;
  const double step = curve->positions[static_cast<std::size_t>(peak - curve->iqm.begin())];
  return ReportTrouble{TroubleKind::kCollapsed, c, step, *peak, end};
}

std::optional<ReportTrouble> still(const ReportCell& cell, int c) {
  const ReportCurve* curve = curve_of_key(cell, kKlKey);
  if (curve == nullptr || curve->iqm.size() < kFewestPoints) return std::nullopt;
  std::size_t first = curve->iqm.size();
  while (first > 0 && std::abs(curve->iqm[first - 1].value) < kStillKl) --first;
  if (first == curve->iqm.size()) return std::nullopt;
  const double step = first == 0 ? 0.0 : curve->positions[first];
  if (step > kStillFrom * static_cast<double>(cell.environment_steps)) return std::nullopt;
  return ReportTrouble{TroubleKind::kStill, c, step, {}, curve->iqm.back()};
}

}  // namespace

std::vector<ReportTrouble> find_troubles(const StudyReport& report) {
  std::vector<ReportTrouble> found;
  for (int c = 0; c < static_cast<int>(report.cells.size()); ++c) {
    const ReportCell& cell = report.cells[static_cast<std::size_t>(c)];
    const RunCounts& runs = cell.counts;
    std::optional<ReportTrouble> broken;
    if (runs.failed > 0 && 2 * runs.failed >= runs.failed + runs.finished) {
      broken = ReportTrouble{TroubleKind::kFailed, c, 0.0, {}, {}};
    }
    if (!broken) broken = collapsed(report, cell, c);
    if (!broken) broken = at_random(report, cell, c);
    if (broken) found.push_back(*broken);
    const std::optional<ReportTrouble> stands = still(cell, c);
    if (stands) found.push_back(*stands);
  }
  return found;
}

}  // namespace broadloom
