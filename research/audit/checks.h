// Compares an audit's measurements with limits and describes them in plain sentences.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "broadloom/instruments/audit/numbers.h"

namespace broadloom {

enum class Severity { kOk, kNote, kWarning, kError };

// "ok", "note", "warning", "error".
const char* severity_name(Severity severity);

// Facts about a run besides the numbers of its iterations. NaN: not examined, or nothing to
// examine.
struct RunFacts {
  static constexpr double kNone = AuditNumbers::kNone;

  int num_envs = 1, num_steps = 1, families = 1;
  std::string lr_schedule = "constant", truncation_mode = "bootstrap";
  bool bootstraps = true;         // at truncations
  double episode_length = kNone;  // mean length of the last episodes, in steps
  bool one_step = false;          // by its time limit, an episode has one step

  double same_starts = kNone;          // share of families that begin as another one does
  double evaluation_starts = kNone;    // share of evaluation episodes that begin as a family does
  double panel_starts = kNone;         // the same for the episodes of a held-out panel
  double panel_worlds = kNone;         // share of a panel's rows in worlds that training also has
  double evaluation_overlaps = kNone;  // number of streams that training and evaluation share
  double collisions = kNone;           // number of streams that two purposes share
  std::string collision;               // the first of either kind, in words

  std::vector<std::string> context;  // names of EnvSpec::context
  double normaliser_origin = kNone;  // |count of its samples - steps of the run| / steps

  double steps_lost = kNone;           // share of total_timesteps after the last whole block
  double updates = kNone;              // number of blocks in total_timesteps
  double learning_rate_off = kNone;    // largest |logged - planned| / learning_rate
  double learning_rate_left = kNone;   // current rate / first rate, with a linear schedule
  double learning_rate_bound = kNone;  // share of log lines at a bound of the adaptive schedule
  double logged_kl = kNone;            // 95th percentile of approx_kl over the log's lines
  double logged_kl_peak = kNone;       // largest approx_kl
  std::int64_t peak_iteration = 0;     // its iteration
  double logs_lost = kNone;            // bytes of the logs at the checkpoint that are missing now
  double failed = 0.0;                 // 1: continuing the run failed; NaN: it was not continued
  std::string failure;                 // the error message
};

// The measured iterations in order, and the facts.
struct Evidence {
  std::span<const AuditNumbers> iterations;
  RunFacts facts;
};

struct AuditFinding {
  const char* check = "";  // such as "synchronised_resets"
  Severity severity = Severity::kOk;
  bool measured = false;  // false: value is NaN, and there are no sentences
  double value = 0.0;
  double limit = 0.0;    // the limit that was passed; with kOk the nearest one
  std::string sentence;  // measurement and limit
  std::string advice;    // what it means and what to do
};

// Runs every check in order, including those that find or measure nothing.
std::vector<AuditFinding> judge(const Evidence& evidence);

// The highest severity.
Severity worst(std::span<const AuditFinding> findings);

}  // namespace broadloom
