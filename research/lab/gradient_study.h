// The gradient laboratory: what `broadloom gradients` does with a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/policy.h"
#include "research/lab/gradient_report.h"

namespace broadloom {

// What the time limit is to the returns that the true gradient is made of (episodes.h).
enum class AtLimit {
  kAsTrained,  // by truncation_mode: bootstrap goes on, the others end
  kEnd,
  kContinued,
};

struct GradientStudyOptions {
  // exact brings variance and bias with it: what it is set beside.
  bool agreement = true, correlation = true, variance = true, bias = true, exact = false;
  int batch = 0;                   // B; 0: that of the shapes, or 1,024
  std::vector<BlockShape> shapes;  // each of N * T = B; empty: every factorisation of B
  std::vector<double> lambdas;     // empty: 0, the run's own, 1
  std::vector<double> gammas;      // of the bias study; empty: the run's own, which all others use
  int blocks = 0;                  // R of each shape; 0: 1,000 for variance, 200 for correlation
  std::vector<int> lags;           // of the correlation study; empty: 1 to 200, a dozen of them
  std::vector<int> bias_steps;     // T of the bias study; empty: those of the shapes
  double bias_precision = 0.1;
  std::int64_t bias_budget = 2000000;
  bool synchronised = false;
  AtLimit at_limit = AtLimit::kAsTrained;
  int beyond_limit = 0;  // follows from it, from the discounts and from the run's truncation_mode
  bool norm_adv = false, value_term = false, entropy_term = false;
  std::uint64_t seed = 1;
  int threads = 1;
  int start_envs = 4096;  // environments whose states stationary blocks begin in, 64 of each
  // May be empty; asked now and then, and where it says so the study ends with kInvalidConfig.
  std::function<bool()> should_stop = {};
};

// Called now and then from the calling thread: what is being done, and how far, in [0, 1].
using GradientProgress = std::function<void(const std::string& what, double share)>;

// N x T for every divisor T of batch, long blocks first: 1 x B, ..., B x 1.
std::vector<BlockShape> factorisations(int batch);

// Studies the newest checkpoint of a run folder, or a checkpoint file. The policy works in float32,
// whatever precision it was trained in. Results do not depend on threads. Errors: kNotFound, kIo,
// kCorrupt, kMismatch of the checkpoint; kInvalidConfig of options (shapes that do not give B, too
// few blocks for an interval, an exact study of an environment without a table).
Result<GradientStudyReport> study_gradients(const std::string& run_or_checkpoint,
                                            const GradientStudyOptions& options,
                                            const GradientProgress& progress);

// The same of a policy that is there, as of a trainer that waits.
Result<GradientStudyReport> study_gradients(const Policy& policy,
                                            const GradientStudyOptions& options,
                                            const GradientProgress& progress);

}  // namespace broadloom
