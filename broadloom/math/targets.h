// Which instruction sets the kernels are compiled for. Include before any Highway header.
#pragma once

// SSSE3 would only double SSE4's work; scalable vectors cannot be held in arrays, as the kernels
// do.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
