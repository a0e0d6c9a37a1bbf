// The audit's checks: what was measured against its limits, in plain sentences.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "broadloom/instruments/audit/numbers.h"

namespace broadloom {

enum class Severity { kOk, kNote, kWarning, kError };

// "ok", "note", "warning", "error".
const char* severity_name(Severity severity);

// What is known of a run beside the numbers of iterations. Numbers are "not a number" where nobody
// looked, or there is nothing to look at.
struct RunFacts {
  static constexpr double kNone = AuditNumbers::kNone;

  int num_envs = 1, num_steps = 1, families = 1;
  std::string lr_schedule = "constant", truncation_mode = "bootstrap";
  bool bootstraps = true;         // at truncations
  double episode_length = kNone;  // mean of the last episodes, in steps

  double same_starts = kNone;          // share of the families that begin where another one does
  double evaluation_starts = kNone;    // share of evaluations that begin where a family does
  double panel_starts = kNone;         // likewise of a held-out panel's episodes
  double panel_worlds = kNone;         // share of a panel's rows in worlds that training has, too
  double evaluation_overlaps = kNone;  // streams that training and evaluation share
  double collisions = kNone;           // streams that two purposes share
  std::string collision;               // which, of either kind; the first

  std::vector<std::string> context;  // names of EnvSpec::context
  double normaliser_origin = kNone;  // by how much its count is not the run's steps, over these

  double steps_lost = kNone;           // share of total_timesteps that no whole block fits into
  double updates = kNone;              // blocks that total_timesteps is enough for
  double learning_rate_off = kNone;    // largest |logged - planned| / learning_rate
  double learning_rate_left = kNone;   // of a linear schedule, share of the first at the checkpoint
  double learning_rate_bound = kNone;  // share of lines at a bound of the adaptive schedule
  double logged_kl = kNone;            // 95th percentile of approx_kl over the log's lines
  double logged_kl_peak = kNone;       // largest of them
  std::int64_t peak_iteration = 0;     // where it was
  double logs_lost = kNone;            // bytes that the logs had at the checkpoint
  double failed = 0.0;                 // 1: going on with the run stopped
  std::string failure;                 // why
};

// Measured iterations in order, and the run.
struct Evidence {
  std::span<const AuditNumbers> iterations;
  RunFacts facts;
};

struct AuditFinding {
  const char* check = "";  // such as "synchronised_resets"
  Severity severity = Severity::kOk;
  bool measured = false;  // false: value is not a number, and there is nothing to say
  double value = 0.0;
  double limit = 0.0;    // the one that was passed; of kOk the nearest one
  std::string sentence;  // what was measured and the limit
  std::string advice;    // what it means and what to do
};

// Every check, in order: also those that found nothing, and those that had nothing to measure.
std::vector<AuditFinding> judge(const Evidence& evidence);

// The worst of them.
Severity worst(std::span<const AuditFinding> findings);

}  // namespace broadloom
