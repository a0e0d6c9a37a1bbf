// What this processor's arithmetic units can do at most, as a yardstick for the kernels.
#pragma once

namespace broadloom {

// Single-precision operations per second that `threads` >= 1 threads reach together under the
// active instruction set, a multiply-add counting as two: the best of several short bursts of
// multiply-adds that never leave the registers. On a machine that does other work, too, it is what
// was left over. Takes some 0.1 s and starts its own threads.
double measure_peak_flops(int threads);

}  // namespace broadloom
