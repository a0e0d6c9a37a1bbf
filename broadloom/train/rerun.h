// A run repeated from its line of a ledger alone, and compared with it field by field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/train/run.h"

namespace broadloom {

// How a field of the record is held against the rerun's.
enum class FieldRule {
  kExact,  // must agree, to the bit
  // Of a simulator that is not deterministic: means agree where their 95 % intervals overlap.
  kStatistic,
  kNoted,  // program and machine: told, since they may explain what does not agree
  kRatio   // speed and memory, and what varies with such a simulator: rerun over recorded
};

struct FieldComparison {
  std::string name;  // "result.parameters_hash"
  FieldRule rule = FieldRule::kExact;
  std::string recorded, rerun;  // JSON values; "null": not there
  bool agrees = false;          // of the texts
  double ratio = 0.0;           // of numbers; not a number where one is missing
};

struct RerunReport {
  RunSummary run;
  std::vector<FieldComparison> fields;
  bool by_statistics = false;  // the recorded run's simulator varies: no rerun gives its bits
  // Whether all fields that must agree do.
  bool agrees() const;
  // Names of what was noted and differs, as far as results can depend on it: bits that are common
  // to all processors (machine.bits) are not the machine's doing.
  std::vector<std::string> possible_reasons() const;
};

// What a run from the record alone is made of.
struct RerunPlan {
  Config config;    // isa: see isa_to_go_on
  int threads = 1;  // of the record
  std::optional<Panel> panel;
  std::optional<InitialPolicy> init;  // where the run began with another's policy
};

// kCorrupt and kMismatch where the line is not as it was written (record/ledger.h),
// kInvalidConfig where it names settings that this program does not have, kMismatch where its panel
// is not the one that its hash is of. A run that began with another's policy needs that: init names
// the run or checkpoint that has it, "" the file that the record does. kNotFound where it is not
// there, kMismatch where it is another.
Result<RerunPlan> plan_rerun(std::string_view line, const std::string& init = "");

// Trains into the new folder run_dir, with the record's evaluations and panel; threads changes
// speed only. Stopped by the hooks, the report has no fields.
Result<RerunReport> rerun(std::string_view line, const RerunPlan& plan, const std::string& run_dir,
                          int threads, const RunHooks& hooks);

// Two checked lines, field by field. Where the recorded run's simulator is not deterministic, or
// began new episodes on a resume, numbers of its result are not expected to be the same: means of
// its evaluation and its panel are compared by their intervals.
std::vector<FieldComparison> compare_ledger_lines(std::string_view recorded,
                                                  std::string_view rerun);

}  // namespace broadloom
