// What the agreement of blocks is measured by: the true gradient, and other critics than the run's.
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

// Share of the variance of returns that a critic explains, on samples that it was not fitted to;
// not numbers where there is no such critic or the budget was one round.
struct CriticReport {
  double own = std::numeric_limits<double>::quiet_NaN();
  double refitted = own;
  double exact = own;
  std::int64_t samples = 0;  // that the true gradient was made of; 0: it was solved
};

struct Truth {
  ReferenceGradient reference;
  std::unique_ptr<CriticFit> fit;                       // what a critic below is made of. Or null
  std::vector<std::pair<std::string, Critic>> critics;  // beside the run's own, by name
  CriticReport report;
};

struct TruthSettings {
  TimeLimit limit;
  double gamma = 0.99;
  std::int64_t budget = 2000000;  // transitions, of the true gradient and of the fit each
  std::uint64_t seed = 1;
  // May be empty; told what is being done, and what share of it is.
  std::function<void(const std::string&, double)> tell = {};
};

// The gradient, and the exact critic, from `exact` where the task could be solved (stationary, and
// past the limit as `limit` is), else the gradient from complete episodes. A critic is refitted on
// others of those where the network's sides are apart. What is named must outlive the truth.
Result<Truth> find_truth(const Policy& policy, const ExactGradients* exact,
                         const TruthSettings& settings, ThreadPool& pool);

}  // namespace broadloom
