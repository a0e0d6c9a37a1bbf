// Which step an optimiser takes, as math/adam.h carries it out.
#pragma once

#include <cstdint>

#include "broadloom/math/adam.h"

namespace broadloom {

enum class Optimizer {
  kAdam,   // Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1
  kRadam,  // Liu et al. 2020 (arXiv 1908.03265), algorithm 2, with torch.optim.RAdam's placing of
           // eps
};

// The steps-th step, 1 being the first. grad_scale is left at 1.
AdamStep optimizer_step(Optimizer optimizer, double learning_rate, double eps, std::int64_t steps);

}  // namespace broadloom
