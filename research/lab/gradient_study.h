// The gradient laboratory: `broadloom gradients` of a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/policy.h"
#include "research/lab/gradient_report.h"

namespace broadloom {

// Effect of the time limit on the returns behind the true gradient (episodes.h).
enum class AtLimit {
  kAsTrained,  // by truncation_mode: bootstrap continues, the others end
  kEnd,
  kContinued,
};

// The loss whose gradient is measured.
enum class MeasuredLoss {
  kOwn,     // policy; of action values, td
  kPolicy,  // PPO's, at ratio 1
  kValue,   // of PPO's critic
  kTd,      // of action values
};

struct GradientStudyOptions {
  MeasuredLoss loss = MeasuredLoss::kOwn;
  // exact implies variance and bias, with which it is compared.
  bool agreement = true, correlation = true, variance = true, bias = true, exact = false;
  // B; 0: that of the shapes, or 1,024, or of a run with sequence_length a multiple of that.
  int batch = 0;
  // Each with N * T = B, and T a multiple of the run's sequence_length; empty: all of B.
  std::vector<BlockShape> shapes;
  std::vector<double> lambdas;  // empty: 0, the run's own, 1
  std::vector<double> gammas;   // of the bias study; empty: the run's own, as in all others
  int blocks = 0;               // R per shape; 0: 1,000 for variance, 200 for correlation
  std::vector<int> lags;        // of the correlation study; empty: a dozen from 1 to 200
  std::vector<int> bias_steps;  // T of the bias study; empty: those of the shapes
  double bias_precision = 0.1;
  std::int64_t bias_budget = 2000000;
  bool synchronised = false;
  AtLimit at_limit = AtLimit::kAsTrained;
  int beyond_limit = 0;  // derived from at_limit, the discounts and the run's truncation_mode
  bool norm_adv = false, value_term = false, entropy_term = false;
  std::uint64_t seed = 1;
  int threads = 1;
  int start_envs = 4096;  // environments whose states stationary blocks begin in, 64 states each
  // May be empty. Polled now and then; if it returns true, the report has the shapes so far, and
  // says so. Without any, the study ends with kInvalidConfig.
  std::function<bool()> should_stop = {};
};

// The work of which --start_envs determines the time.
inline constexpr char kBurnIn[] = "burning in";

// Called now and then from the calling thread, with the present work and the share of all work that
// is done, in [0, 1]. The share is rough, and too small where a budget need not be spent.
using GradientProgress = std::function<void(const std::string& what, double share)>;

// N x T for every divisor T of batch, long blocks first: 1 x B, ..., B x 1.
std::vector<BlockShape> factorisations(int batch);

// Studies the newest checkpoint of a run folder, or a checkpoint file. The policy runs in float32,
// whatever precision it was trained in. Results do not depend on threads.
//
// Errors: kNotFound, kIo, kCorrupt, kMismatch for the checkpoint. kInvalidConfig for options:
// shapes that do not give B, too few blocks for an interval, or an exact study of an environment
// without a table.
Result<GradientStudyReport> study_gradients(const std::string& run_or_checkpoint,
                                            const GradientStudyOptions& options,
                                            const GradientProgress& progress);

// The same for a policy in memory, such as that of a paused trainer.
Result<GradientStudyReport> study_gradients(const Policy& policy,
                                            const GradientStudyOptions& options,
                                            const GradientProgress& progress);

}  // namespace broadloom
