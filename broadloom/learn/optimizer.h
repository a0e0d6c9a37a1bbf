// The parameters of an optimiser's step, which math/adam.h takes.
#pragma once

#include <cstdint>

#include "broadloom/math/adam.h"

namespace broadloom {

enum class Optimizer {
  kAdam,   // Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1
  kRadam,  // Liu et al. 2020 (arXiv 1908.03265), algorithm 2, with eps as in torch.optim.RAdam
};

// Decays of the moments, below 1.
struct AdamBetas {
  double first = 0.9, second = 0.999;
};

// Step number `steps`, counted from 1. grad_scale is 1.
AdamStep optimizer_step(Optimizer optimizer, double learning_rate, double eps, std::int64_t steps,
                        const AdamBetas& betas = {});

}  // namespace broadloom
