// Action draws of one stream, for host and device: the same numbers as random_rows.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/math/element_functions.h"

namespace broadloom {

// One number of random_uniforms().
BROADLOOM_HD inline float draw_uniform(Random& random) {
  return static_cast<float>(random.bits32() >> 8) * 0x1.0p-24f;
}

// One stream's random_normals(): out[i * stride] for i below count.
BROADLOOM_HD inline void draw_normals(Random& random, int count, float* out, int stride) {
  for (int i = 0; i < count; i += 2) {
    const std::uint32_t first = random.bits32(), second = random.bits32();
    const float bits = static_cast<float>(static_cast<std::int32_t>(first >> 1));
    const float u = element::smaller(element::mul_add(bits, 0x1.0p-31f, 0x1.0p-32f), 1.0f);
    const float radius = std::sqrt(-2.0f * element::log(u));
    const auto angle = element::sin_cos_of_turns(static_cast<float>(second >> 8) * 0x1.0p-24f);
    out[i * stride] = radius * angle.cosine;
    if (i + 1 < count) out[(i + 1) * stride] = radius * angle.sine;
  }
}

}  // namespace broadloom
