// Numbers of tensor cores: rounded to TF32, which has float32's exponents and 10 bits of mantissa,
// and distributed over a warp's threads.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

// Host only. If false, numbers are not rounded, so that a test can compare kernels with float32
// more closely.
inline bool rounds_to_tf32 = true;

// Rounds to nearest, ties away from zero. NaN and infinity stay.
BROADLOOM_HD inline float to_tf32(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#else
  constexpr std::uint32_t kDropped = 0x1fff, kHalf = 0x1000, kExponent = 0x7f800000;
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
#ifndef __CUDA_ARCH__
  if (!rounds_to_tf32) return x;
#endif
  if ((bits & kExponent) != kExponent) bits = (bits + kHalf) & ~kDropped;
  memcpy(&x, &bits, sizeof(x));
  return x;
#endif
}

// A thread of a warp: `group` 0 to 7, and `within` it 0 to 3. It holds these numbers:
//   a [16, 8]     rows group and group + 8, columns within and within + 4
//   b [8, 8]      rows within and within + 4, column group
//   product       rows group and group + 8, columns 2 within and 2 within + 1
struct TensorLane {
  int warp, group, within;
  BROADLOOM_HD explicit TensorLane(int thread)
      : warp(thread / kWarp), group(thread % kWarp / 4), within(thread % 4) {}
};
struct TensorA {
  float values[4];  // (group, within), (group + 8, within), and the same of within + 4
};
struct TensorB {
  float values[2];  // (within, group), (within + 4, group)
};

BROADLOOM_HD inline TensorB rounded(float a, float b) { return {{to_tf32(a), to_tf32(b)}}; }

}  // namespace broadloom::cuda
