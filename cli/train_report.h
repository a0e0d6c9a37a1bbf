// The last words of `broadloom train` about a run.
#pragma once

#include <optional>
#include <string>

#include "broadloom/core/ranks.h"
#include "broadloom/core/status.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/train/run.h"
#include "cli/zoo_entries.h"

namespace broadloom::cli {

// The parameters of a run of the zoo's settings, beside those that the zoo keeps.
struct ZooOutcome {
  ZooEntry entry;
  std::string found;  // parameters_hash of the run's record
  bool has_own_bits;  // of an instruction set without fused multiply-add
  bool is_same() const { return found == entry.parameters_hash; }
};

Result<ZooOutcome> zoo_outcome(const std::string& task, const std::string& run_dir);

struct TrainReport {
  const RunSummary& summary;
  const Ranks& ranks;
  double steps_per_second;  // 0: nothing was left to train
  std::string record = {};  // place in the ledger; "": none
  std::optional<PanelResult> panel = {};
  std::optional<ZooOutcome> zoo = {};  // of a run with exactly the zoo's settings
};

// allow: flags with which commands may load the run's environment.
void print_report(const TrainReport& report, const std::string& allow);
// recorded: whether the ledger could be written.
void print_report_json(const TrainReport& report, const Status& recorded);

}  // namespace broadloom::cli
