#include "broadloom/env/strata.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

// Streams of a whole round lie on lanes above those of families, which are below 2^31.
constexpr std::uint32_t kRoundLane = 0x80000000u;

std::uint32_t column_lane(int stratum, std::size_t range) {
  return kRoundLane | (static_cast<std::uint32_t>(stratum) << 12) |
         (static_cast<std::uint32_t>(range) + 1);
}

double within(const StratumRange& range, double share) {
  return std::min(range.low + (range.high - range.low) * share, range.high);
}

// One round of a stratified draw: F places, moved by a common shift within [0, 1).
struct Round {
  std::uint32_t places;
  double shift;

  double share(std::uint32_t place) const {
    return std::min((place + shift) / places, 0x1.fffffffffffffp-1);
  }
  // The first place whose share is at least `edge`; `places` if there is none.
  std::uint32_t first_from(double edge) const {
    const double guess = std::clamp(std::ceil(edge * places - shift), 0.0, double(places));
    std::uint32_t place = static_cast<std::uint32_t>(guess);
    while (place > 0 && share(place - 1) >= edge) --place;
    while (place < places && share(place) < edge) ++place;
    return place;
  }
};

}  // namespace

Strata::Strata(std::vector<Stratum> strata) : strata_(std::move(strata)), edges_{0.0} {
  double sum = 0.0;
  for (const Stratum& stratum : strata_) edges_.push_back(sum += stratum.weight);
  for (double& edge : edges_) edge /= sum;
}

int Strata::stratum_at(double share) const {
  std::size_t s = 0;
  while (s + 1 < strata_.size() && share >= edges_[s + 1]) ++s;
  return static_cast<int>(s);
}

int Strata::draw(const StrataStream& stream, std::uint32_t lane, std::int64_t episode,
                 void* params) const {
  const std::uint64_t index = static_cast<std::uint64_t>(episode);
  Random own(stream.seed, stream.purpose, lane, index);
  if (stream.sampling == StrataSampling::kSampled) {
    const int s = stratum_at(own.uniform());
    draw_constants(s, own, params);
    return s;
  }
  Random common(stream.seed, stream.purpose, kRoundLane, index);
  const Round round{static_cast<std::uint32_t>(stream.families), common.uniform()};
  const std::uint32_t place = permuted(lane, round.places, common);
  const int s = stratum_at(round.share(place));
  const std::uint32_t first = round.first_from(edges_[s]);
  const std::uint32_t count = round.first_from(edges_[s + 1]) - first;
  for (std::size_t r = 0; r < strata_[s].ranges.size(); ++r) {
    Random column(stream.seed, stream.purpose, column_lane(s, r), index);
    const std::uint32_t bin = permuted(place - first, count, column);
    const StratumRange& range = strata_[s].ranges[r];
    set_param(params, range.offset, within(range, (bin + own.uniform()) / count));
  }
  return s;
}

void Strata::draw_within(int stratum, const StrataStream& stream, std::uint32_t lane,
                         std::int64_t episode, void* params) const {
  Random own(stream.seed, stream.purpose, lane, static_cast<std::uint64_t>(episode));
  own.uniform();  // what a sampled draw finds its stratum with
  draw_constants(stratum, own, params);
}

void Strata::draw_constants(int stratum, Random& own, void* params) const {
  for (const StratumRange& range : strata_[stratum].ranges) {
    set_param(params, range.offset, within(range, own.uniform()));
  }
}

void set_param(void* params, std::size_t offset, double value) {
  std::memcpy(static_cast<char*>(params) + offset, &value, sizeof(value));
}

// A Feistel network (Luby and Rackoff 1988) over the least even number of bits that holds n,
// walked until it is back below n (Black and Rogaway 2002).
std::uint32_t permuted(std::uint32_t i, std::uint32_t n, Random& random) {
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

}  // namespace broadloom
