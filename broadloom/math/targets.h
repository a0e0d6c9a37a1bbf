// Instruction sets that the kernels are compiled for. Include before any Highway header.
#pragma once

// Sanitizers read the same source for every vector width. One width and "exact" are enough for
// them, and compile quickly.
#ifdef BROADLOOM_FEWER_TARGETS
#define BROADLOOM_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL | HWY_SSE4)
#else
#define BROADLOOM_DISABLED_TARGETS 0
#endif
// SSSE3 would only double SSE4's work. Arrays cannot hold scalable vectors, and the kernels need
// such arrays.
#define HWY_DISABLED_TARGETS                                                                  \
  (BROADLOOM_DISABLED_TARGETS | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   HWY_RVV)
