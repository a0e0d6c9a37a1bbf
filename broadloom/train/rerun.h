// Repeats a run from its ledger line and compares the two field by field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/status.h"
#include "broadloom/train/run.h"

namespace broadloom {

// How a field of the record is compared with the rerun's.
enum class FieldRule {
  kExact,  // must agree, to the bit
  // For a nondeterministic simulator: means agree if their 95 % intervals overlap.
  kStatistic,
  kNoted,  // program and machine: reported, because they may explain differences
  kRatio   // speed, memory and varying numbers: rerun / recorded
};

struct FieldComparison {
  std::string name;  // "result.parameters_hash"
  FieldRule rule = FieldRule::kExact;
  std::string recorded, rerun;  // JSON values; "null": missing
  bool agrees = false;          // whether the texts are equal
  double ratio = 0.0;           // of numbers; NaN if one is missing
};

struct RerunReport {
  RunSummary run;
  std::vector<FieldComparison> fields;
  bool by_statistics = false;  // the recorded run's simulator is nondeterministic
  // Whether all kExact and kStatistic fields agree.
  bool agrees() const;
  // Names of differing kNoted fields that may explain results. Leaves out the machine if both runs
  // have bits common to all processors (machine.bits).
  std::vector<std::string> possible_reasons() const;
};

// Everything needed to repeat a recorded run.
struct RerunPlan {
  Config config;    // isa: see isa_to_go_on
  int threads = 1;  // of the record
  std::optional<Panel> panel;
  std::optional<InitialPolicy> init;   // if the run began with another run's policy
  std::optional<TeacherFile> teacher;  // if it learnt from one
};

// kCorrupt and kMismatch if the line was altered (record/ledger.h), kInvalidConfig for settings
// that this program does not have, kMismatch if the panel does not fit its hash. init: the run or
// checkpoint with the initial policy; "": the record's file. kNotFound if that policy is missing,
// kMismatch if it is another one. teacher: likewise; "": the copy in the run's folder, or else the
// record's file. run_dir: that folder; "": the record's.
Result<RerunPlan> plan_rerun(std::string_view line, const std::string& init = "",
                             const std::string& teacher = "", const std::string& run_dir = "");

// Trains into the new folder run_dir, with the record's evaluations and panel. threads changes only
// speed. If the hooks stop it, the report has no fields.
Result<RerunReport> rerun(std::string_view line, const RerunPlan& plan, const std::string& run_dir,
                          int threads, const RunHooks& hooks);

// Compares two checked lines field by field. If the recorded run's simulator is nondeterministic,
// or a resume began new episodes, results may differ, and means of evaluation and panel are
// compared by their intervals.
std::vector<FieldComparison> compare_ledger_lines(std::string_view recorded,
                                                  std::string_view rerun);

}  // namespace broadloom
