// Several runs on the same panel: the same episodes, so that differences are taken episode by
// episode.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel_result.h"

namespace broadloom {

// One run in one row. Differences are this run minus the first one, over pairs of equal episodes.
struct PanelStanding {
  EvalResult score;
  Estimate return_difference;   // mean of the pairs' differences, Student's t interval
  Estimate success_difference;  // Newcombe's interval; not numbers where success is not known
  int rank = 1;  // 1: best by success rate, then by mean return; equal ones share a rank
};

struct PanelComparison {
  struct Row {
    std::string stratum, perturbation;
    std::vector<PanelStanding> runs;  // as the results were given
  };
  std::vector<Row> rows;  // as panel_groups has them
};

// kMismatch unless both were played on the same panel by the same program on the same instruction
// set: otherwise the same episode need not be the same, and no difference means anything.
Status check_co_computed(const PanelResult& first, const PanelResult& other);

// results: at least one. Errors: check_co_computed.
Result<PanelComparison> compare_panel_results(const std::vector<PanelResult>& results);

}  // namespace broadloom
