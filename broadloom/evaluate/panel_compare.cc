#include "broadloom/evaluate/panel_compare.h"

#include <fmt/core.h>

#include <limits>

#include "broadloom/math/isa.h"
#include "broadloom/record/manifest.h"

namespace broadloom {
namespace {

Estimate success_difference(const std::vector<EvalEpisode>& a, const std::vector<EvalEpisode>& b) {
  std::int64_t both = 0, first = 0, second = 0, neither = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool x = a[i].end.success == 1, y = b[i].end.success == 1;
    (x ? (y ? both : first) : (y ? second : neither)) += 1;
  }
  return paired_rate_difference(both, first, second, neither);
}

Estimate return_difference(const std::vector<EvalEpisode>& a, const std::vector<EvalEpisode>& b) {
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences[i] = b[i].episode_return - a[i].episode_return;
  }
  return mean_of(differences);
}

bool is_better(const EvalResult& a, const EvalResult& b) {
  const double x = a.success_rate.value, y = b.success_rate.value;
  return x > y || (!(x < y) && a.mean_return > b.mean_return);
}

void rank(std::vector<PanelStanding>& runs) {
  for (PanelStanding& run : runs) {
    run.rank = 1;
    for (const PanelStanding& other : runs) run.rank += is_better(other.score, run.score) ? 1 : 0;
  }
}

PanelComparison::Row compare_group(const std::vector<PanelResult>& results,
                                   const PanelGroup& group) {
  PanelComparison::Row row{group.stratum, group.perturbation, {}};
  const std::vector<EvalEpisode> first = episodes_of(results.front(), group);
  for (const PanelResult& result : results) {
    const std::vector<EvalEpisode> own = episodes_of(result, group);
    PanelStanding standing;
    standing.score = score_of(result, group);
    const Estimate none =
        without_interval(std::numeric_limits<double>::quiet_NaN(), standing.score.episodes);
    const bool is_reference = &result == &results.front();
    standing.return_difference = is_reference ? none : return_difference(first, own);
    standing.success_difference =
        is_reference || !result.spec.names_success ? none : success_difference(first, own);
    row.runs.push_back(standing);
  }
  rank(row.runs);
  return row;
}

}  // namespace

Status check_co_computed(const PanelResult& first, const PanelResult& other) {
  const auto differs = [&](const char* what, const std::string& a, const std::string& b) {
    return Status(
        ErrorKind::kMismatch,
        fmt::format(
            "'{}' and '{}' cannot be compared: {} '{}' and '{}', expected the same; compare "
            "the runs themselves with `broadloom compare RUN RUN --panel FILE`, which "
            "plays all of them again",
            first.run_dir, other.run_dir, what, a, b));
  };
  const std::string a = panel_hash(first.panel), b = panel_hash(other.panel);
  if (a != b) return differs("their panels are", a, b);
  if (first.revision != other.revision) {
    return differs("their programs are of revisions", first.revision, other.revision);
  }
  if (first.binary_hash != other.binary_hash) {
    return differs("their programs have the hashes", first.binary_hash, other.binary_hash);
  }
  if (!same_engine(first.engine, other.engine)) {
    return differs("they were played in", first.engine, other.engine);
  }
  const bool same_bits = has_common_bits(first.isa) && has_common_bits(other.isa);
  if (first.isa != other.isa && !same_bits) {
    return differs("their instruction sets are", first.isa, other.isa);
  }
  return {};
}

Result<PanelComparison> compare_panel_results(const std::vector<PanelResult>& results) {
  for (const PanelResult& result : results) {
    BROADLOOM_TRY(check_co_computed(results.front(), result));
  }
  PanelComparison comparison;
  for (const PanelGroup& group : panel_groups(results.front().panel)) {
    comparison.rows.push_back(compare_group(results, group));
  }
  return comparison;
}

}  // namespace broadloom
