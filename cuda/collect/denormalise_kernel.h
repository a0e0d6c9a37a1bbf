// Values from outputs of a critic that learns in units of statistics (rollout/value_normalizer.h).
#pragma once

#include "broadloom/rollout/value_formulas.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// values [count]. shape: shape_for_rows(count).
struct DenormaliseKernel {
  ValueUnit unit;
  int count;
  float* values;

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int i = block.index() * block.threads() + block.thread();
    if (i < count) values[i] = unit.value(values[i]);
  }
};

}  // namespace broadloom::cuda
