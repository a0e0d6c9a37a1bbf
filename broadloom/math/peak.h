// Peak arithmetic rate of this processor, as a yardstick for the kernels.
#pragma once

namespace broadloom {

// Single-precision operations per second of `threads` >= 1 threads together, under the active
// instruction set. A multiply-add counts as two.
//
// The result is the best of several short bursts of multiply-adds that never leave the registers.
// On a busy machine, it measures the capacity that was left over. Takes some 0.1 s and starts its
// own threads.
double measure_peak_flops(int threads);

}  // namespace broadloom
