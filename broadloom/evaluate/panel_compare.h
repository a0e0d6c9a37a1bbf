// Compares runs on one panel: all play the same episodes, so differences are taken per episode.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel_result.h"

namespace broadloom {

// One run in one row. Differences are this run minus the first one, over pairs of equal episodes;
// those of the first run are NaN.
struct PanelStanding {
  EvalResult score;
  Estimate return_difference;   // mean over pairs, Student's t interval
  Estimate success_difference;  // Newcombe's interval; NaN if success is not defined
  int rank = 1;  // 1: best by success rate, then mean return; equal runs share a rank
};

struct PanelComparison {
  struct Row {
    std::string stratum, perturbation;
    std::vector<PanelStanding> runs;  // in the order of the results
  };
  std::vector<Row> rows;  // in the order of panel_groups
};

// kMismatch unless both were played on the same panel by the same program and instruction set.
// Otherwise equal episodes may differ, and differences mean nothing.
Status check_co_computed(const PanelResult& first, const PanelResult& other);

// results: at least one. Errors: those of check_co_computed.
Result<PanelComparison> compare_panel_results(const std::vector<PanelResult>& results);

}  // namespace broadloom
