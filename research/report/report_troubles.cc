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
constexpr double kLargeLoss = 0.5;  // share of the gain
constexpr std::size_t kFewestPoints = 5;
constexpr double kStillFrom = 2.0 / 3.0;  // share of the run

const ReportCurve* curve_of_key(const ReportCell& cell, const std::string& key) {
  const auto found = std::find_if(cell.curves.begin(), cell.curves.end(),
                                  [&](const ReportCurve& curve) { return curve.key == key; });
  return found == cell.curves.end() ? nullptr : &*found;
}

std::optional<ReportTrouble> at_random(const StudyReport& report, const ReportCell& cell, int c) {
  const ReportTask& task = report.tasks[static_cast<std::size_t>(cell.task)];
  const ReportScore score = main_score(report);
  if (score == ReportScore::kTraining && leaves_out_episodes(report, cell)) return std::nullopt;
  const std::optional<RunStatistics>& summary = cell.summary(score);
  if (!summary || !task.why_not.empty() || cell.samples.finished < 2) return std::nullopt;
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
  if (curve == nullptr || cell.samples.finished < 2) return std::nullopt;
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

// approx_kl is a mean over the S steps of an update, each of which sees only the steps before it.
// On a straight path the KL grows as the square of the steps, so the whole update's is this many
// times as large. S is at least 2.
double whole_update(const ReportCell& cell) {
  const double planned =
      static_cast<double>(cell.gradient_steps) / static_cast<double>(cell.iterations);
  // target_kl may stop epochs, and the factor is largest for two steps.
  const double steps = cell.counted ? planned : 2.0;
  return 6.0 * steps * steps / ((steps - 1.0) * (2.0 * steps - 1.0));
}

// The earliest step after which the policy stands still. Square roots of KLs add up as lengths do,
// so the square of their sum bounds the KL of all updates together. Noise of single updates is not
// averaged out: the upper end of each interval counts.
std::optional<ReportTrouble> still(const ReportCell& cell, int c) {
  const ReportCurve* curve = curve_of_key(cell, kKlKey);
  if (curve == nullptr || curve->iqm.size() < kFewestPoints) return std::nullopt;
  if (hides_updates(cell)) return std::nullopt;
  const double factor = whole_update(cell);
  const auto all_steps = static_cast<double>(cell.environment_steps);
  const double updates_a_step = static_cast<double>(cell.iterations) / all_steps;
  const auto length = [&](std::size_t point) {
    const Estimate& kl = curve->iqm[point];
    return std::sqrt(factor * std::abs(std::isfinite(kl.high) ? kl.high : kl.value));
  };
  double moved = 0.0, from = all_steps;
  for (std::size_t next = curve->iqm.size(); next-- > 0;) {
    const double begin = next > 0 ? curve->positions[next - 1] : 0.0;
    // The longest update at either end stands for all in between, also up to the run's end.
    const double longest = std::max(length(next), length(next > 0 ? next - 1 : next));
    moved += longest * updates_a_step * (from - begin);
    if (!(moved * moved < kStillKl)) break;
    from = begin;
  }
  if (from > kStillFrom * all_steps) return std::nullopt;
  return ReportTrouble{TroubleKind::kStill, c, from, {}, curve->iqm.back()};
}

}  // namespace

bool hides_updates(const ReportCell& cell) {
  return curve_of_key(cell, kKlKey) != nullptr && cell.gradient_steps < 2 * cell.iterations;
}

std::vector<ReportTrouble> find_troubles(const StudyReport& report) {
  std::vector<ReportTrouble> found;
  for (int c = 0; c < static_cast<int>(report.cells.size()); ++c) {
    const ReportCell& cell = report.cells[static_cast<std::size_t>(c)];
    const RunCounts& runs = cell.samples;
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
