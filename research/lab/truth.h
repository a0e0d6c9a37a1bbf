// The standards for the agreement of blocks: the true gradient, and critics other than the run's.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "research/lab/critic_fit.h"
#include "research/lab/critics.h"
#include "research/lab/exact.h"
#include "research/lab/reference_gradient.h"

namespace broadloom {

// Share of the returns' variance that a critic explains, on samples that it was not fitted to. NaN
// if there is no such critic, or if the budget was one round.
struct CriticReport {
  double own = std::numeric_limits<double>::quiet_NaN();
  double refitted = own;
  double exact = own;
  std::int64_t samples = 0;  // samples of the true gradient; 0: solved exactly
};

struct Truth {
  ReferenceGradient reference;
  std::unique_ptr<CriticFit> fit;                       // owns the refitted critic below; or null
  std::vector<std::pair<std::string, Critic>> critics;  // other critics than the run's own, by name
  CriticReport report;
};

struct TruthSettings {
  TimeLimit limit;
  double gamma = 0.99;
  std::int64_t budget = 2000000;  // transitions for the true gradient, and again for the fit
  std::uint64_t seed = 1;
  Score score = Score::kLogProb;  // of the loss whose gradient it is
  // May be empty. Called with the present work and its share done; an error ends the work.
  std::function<Status(const std::string&, double)> tell = {};
};

// Takes gradient and exact critic from `exact` if the task could be solved (stationary, and past
// the limit as in `limit`). Otherwise it estimates the gradient from complete episodes. If the
// network's sides are apart, it refits a critic on other such episodes, for the policy's gradient
// alone and without memory. The arguments must outlive
// the result.
Result<Truth> find_truth(const Policy& policy, const ExactGradients* exact,
                         const TruthSettings& settings, ThreadPool& pool);

}  // namespace broadloom
