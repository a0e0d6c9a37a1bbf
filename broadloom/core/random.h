// Random numbers as a function of (seed, purpose, lane, index), without state. The same four give
// the same numbers on any processor, in any order, from any thread.
//
//   Random random(seed, Purpose::kUser, lane, index);  // lane: environment; index: step
//   const double x = random.uniform(-1.0, 1.0);
//   const std::uint32_t side = random.below(6);         // 0 to 5
//
// An environment gets one Random for each reset and each step. Draw from it, and keep none. A
// Random is 44 bytes on the stack and allocates nothing. Each 128 bits cost ten rounds of Philox.
//
// Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"), from
// Random123. The key is the run's 64-bit seed. The counter holds the rest, so no two purposes,
// environments or steps share a stream:
//   c0 draw block | c1 index low | c2 lane | c3 purpose (8 bits), index high.
#pragma once

// Philox needs none of the intrinsics headers that Random123 would include. They are half of this
// file's compile time.
#ifndef R123_USE_SSE
#define R123_USE_SSE 0
#endif
#ifndef R123_USE_AES_NI
#define R123_USE_AES_NI 0
#endif
#ifndef R123_USE_IA32INTRIN_H
#define R123_USE_IA32INTRIN_H 0
#endif
#ifndef R123_USE_X86INTRIN_H
#define R123_USE_X86INTRIN_H 0
#endif
#include <Random123/philox.h>

#include <cmath>
#include <cstdint>

#include "broadloom/core/branch_free.h"
#include "broadloom/core/host_device.h"
#include "broadloom/core/portable_math.h"
#include "broadloom/core/purpose.h"

namespace broadloom {

// Uniform integer on [0, n), n >= 1, from 32 random bits by the multiply-shift map. The bias is
// below n / 2^32.
BROADLOOM_HD inline std::uint32_t below(std::uint32_t bits, std::uint32_t n) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits) * n) >> 32);
}

// A stream of numbers, from its beginning.
class Random {
 public:
  // lane: which environment (or tensor); index: which episode or step, below 2^56.
  BROADLOOM_HD Random(std::uint64_t seed, Purpose purpose, std::uint32_t lane, std::uint64_t index)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        counter_{{0, static_cast<std::uint32_t>(index), lane,
                  (static_cast<std::uint32_t>(purpose) << 24) |
                      (static_cast<std::uint32_t>(index >> 32) & 0xffffffu)}} {}

  // 32 random bits.
  BROADLOOM_HD std::uint32_t bits32() {
    if (used_ == 4) {
      block_ = r123::Philox4x32()(counter_, key_);
      counter_[0] += 1;
      used_ = 0;
    }
    return block_[used_++];
  }
  // 64 random bits.
  BROADLOOM_HD std::uint64_t bits64() {
    const std::uint64_t low = bits32();
    return low | (static_cast<std::uint64_t>(bits32()) << 32);
  }
  // Uniform on [0, 1), 53 bits.
  BROADLOOM_HD double uniform() { return static_cast<double>(bits64() >> 11) * 0x1.0p-53; }
  BROADLOOM_HD double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform integer on [0, n), n >= 1.
  BROADLOOM_HD std::uint32_t below(std::uint32_t n) { return broadloom::below(bits32(), n); }
  // Standard normal by Box and Muller (1958). The second value of the pair is dropped, so that the
  // stream has no hidden state.
  BROADLOOM_HD double normal() {
    const double u = 1.0 - uniform();
    const double v = uniform();
    return std::sqrt(-2.0 * portable::log(u)) * sin_cos(6.283185307179586476925 * v).cosine;
  }

 private:
  r123::Philox4x32::key_type key_;
  r123::Philox4x32::ctr_type counter_;
  r123::Philox4x32::ctr_type block_{};
  int used_ = 4;
};

}  // namespace broadloom
