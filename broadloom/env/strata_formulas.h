// Draws of strata (strata.h) as functions of plain numbers, for host and device.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "broadloom/core/host_device.h"
#include "broadloom/core/random.h"
#include "broadloom/env/strata.h"

namespace broadloom {

// Writes `value` to the constant at `offset` bytes in `params`.
BROADLOOM_HD inline void set_param(void* params, std::size_t offset, double value) {
  memcpy(static_cast<char*>(params) + offset, &value, sizeof(value));
}

// Image of i under a random permutation of 0..n-1. Takes four draws from `random`. O(1). It is a
// Feistel network (Luby and Rackoff 1988) over the smallest even number of bits that holds n - 1.
// It repeats until the result is below n (Black and Rogaway 2002).
BROADLOOM_HD inline std::uint32_t permuted(std::uint32_t i, std::uint32_t n, Random& random) {
  std::array<std::uint32_t, 4> keys;
  for (std::uint32_t& key : keys) key = random.bits32();
  const int half = (std::bit_width(n - 1) + 1) / 2;
  const std::uint32_t mask = (std::uint32_t{1} << half) - 1;
  do {
    std::uint32_t left = i >> half, right = i & mask;
    for (const std::uint32_t key : keys) {
      std::uint32_t mixed = (right ^ key) * 0x9e3779b1u;
      mixed = (mixed ^ (mixed >> 15)) * 0x85ebca6bu;
      const std::uint32_t next = left ^ ((mixed ^ (mixed >> 13)) & mask);
      left = right;
      right = next;
    }
    i = (left << half) | right;
  } while (i >= n);
  return i;
}

namespace strata_detail {

// Lanes of a round's common streams. Lanes of seed families are below 2^31.
inline constexpr std::uint32_t kRoundLane = 0x80000000u;

BROADLOOM_HD inline std::uint32_t column_lane(int stratum, int range) {
  return kRoundLane | (static_cast<std::uint32_t>(stratum) << 12) |
         (static_cast<std::uint32_t>(range) + 1);
}

BROADLOOM_HD inline double interpolate(const StratumRange& range, double share) {
  return std::min(range.low + (range.high - range.low) * share, range.high);
}

// One round of a stratified draw: F places, shifted by a common offset in [0, 1).
struct Round {
  std::uint32_t places;
  double shift;

  BROADLOOM_HD double share(std::uint32_t place) const {
    return std::min((place + shift) / places, 0x1.fffffffffffffp-1);
  }
  // The first place whose share is at least `edge`; `places` if there is none.
  BROADLOOM_HD std::uint32_t first_from(double edge) const {
    const double guess = std::clamp(std::ceil(edge * places - shift), 0.0, double(places));
    std::uint32_t place = static_cast<std::uint32_t>(guess);
    while (place > 0 && share(place - 1) >= edge) --place;
    while (place < places && share(place) < edge) ++place;
    return place;
  }
};

BROADLOOM_HD inline int stratum_at(const StrataTable& strata, double share) {
  int s = 0;
  while (s + 1 < strata.count && share >= strata.edges[s + 1]) ++s;
  return s;
}

BROADLOOM_HD inline void draw_constants(const StrataTable& strata, int stratum, Random& own,
                                        void* params) {
  for (int r = strata.first[stratum]; r < strata.first[stratum + 1]; ++r) {
    set_param(params, strata.ranges[r].offset, interpolate(strata.ranges[r], own.uniform()));
  }
}

// A stratified draw for one family. `own` is the family's own stream.
BROADLOOM_HD inline int draw_in_round(const StrataTable& strata, const StrataStream& stream,
                                      std::uint32_t lane, std::uint64_t index, Random& own,
                                      void* params) {
  Random common(stream.seed, stream.purpose, kRoundLane, index);
  const Round round{static_cast<std::uint32_t>(stream.families), common.uniform()};
  const std::uint32_t place = permuted(lane, round.places, common);
  const int s = stratum_at(strata, round.share(place));
  const std::uint32_t begin = round.first_from(strata.edges[s]);
  const std::uint32_t count = round.first_from(strata.edges[s + 1]) - begin;
  for (int r = strata.first[s]; r < strata.first[s + 1]; ++r) {
    Random column(stream.seed, stream.purpose, column_lane(s, r - strata.first[s]), index);
    const std::uint32_t bin = permuted(place - begin, count, column);
    const StratumRange& range = strata.ranges[r];
    set_param(params, range.offset, interpolate(range, (bin + own.uniform()) / count));
  }
  return s;
}

}  // namespace strata_detail

// Implements Strata::draw().
BROADLOOM_HD inline int draw_episode(const StrataTable& strata, const StrataStream& stream,
                                     std::uint32_t lane, std::int64_t episode, void* params) {
  const std::uint64_t index = static_cast<std::uint64_t>(episode);
  Random own(stream.seed, stream.purpose, lane, index);
  if (stream.sampling != StrataSampling::kSampled) {
    return strata_detail::draw_in_round(strata, stream, lane, index, own, params);
  }
  const int s = strata_detail::stratum_at(strata, own.uniform());
  strata_detail::draw_constants(strata, s, own, params);
  return s;
}

// Implements Strata::draw_within().
BROADLOOM_HD inline void draw_episode_within(const StrataTable& strata, int stratum,
                                             const StrataStream& stream, std::uint32_t lane,
                                             std::int64_t episode, void* params) {
  Random own(stream.seed, stream.purpose, lane, static_cast<std::uint64_t>(episode));
  own.uniform();  // skip the number that chooses a stratum
  strata_detail::draw_constants(strata, stratum, own, params);
}

}  // namespace broadloom
