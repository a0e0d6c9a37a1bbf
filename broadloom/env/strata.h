// Strata: named ranges of an environment's constants, from which every episode draws its own.
//
// In a config, [strata.narrow] half_length = [0.4, 0.6] is one range of one stratum; as text, key
// "strata.narrow.half_length" and value "0.4..0.6". The key "strata.<name>.weight" is how often the
// stratum is taken beside the others, 1 unless it is given.
//
// A draw is a pure function of (seed, purpose, lane, episode), the lane being the environment's
// seed family:
//   sampled      a stratum with probability weight / sum of weights, then each constant uniform on
//                its range, all independent.
//   stratified   the e-th episodes of all F families are one round. Of its F places, in an order
//                drawn for the round, each stratum has F weight / sum, rounded up or down. Within
//                a stratum with n places of the round, each range is cut into n bins of equal
//                width, and each bin is taken once, uniform within (a Latin hypercube, McKay,
//                Beckman and Conover 1979). Each draw by itself is distributed as if sampled. With
//                one family a round is one place, and there is nothing to balance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/purpose.h"
#include "broadloom/core/status.h"

namespace broadloom {

enum class StrataSampling { kSampled, kStratified };

// A constant of an environment: where in Params it lies and what it may be.
struct ParamField {
  std::string name;
  bool drawable = false;   // a double; the rest holds for those only
  std::size_t offset = 0;  // bytes
  Range range;
};

struct StratumRange {
  std::size_t offset = 0;  // of the constant in Params, bytes
  double low = 0.0, high = 0.0;
};

struct Stratum {
  std::string name;
  double weight = 1.0;
  std::vector<StratumRange> ranges;  // in the order of Params
};

// Where draws come from.
struct StrataStream {
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::kTrainStrata;
  int families = 1;  // F >= 1, lanes 0..F-1
  StrataSampling sampling = StrataSampling::kSampled;
};

// Strata as arrays, which may be on a device.
struct StrataTable {
  int count = 0;                         // strata
  const double* edges = nullptr;         // [count + 1] summed shares of weights, from 0 to 1
  const int* first = nullptr;            // [count + 1] where each stratum's ranges begin
  const StratumRange* ranges = nullptr;  // of all strata
};

class Strata {
 public:
  Strata() = default;  // none
  // strata: at least one, by name; weights finite, not negative, and not all 0.
  explicit Strata(std::vector<Stratum> strata);

  bool empty() const { return strata_.empty(); }
  const std::vector<Stratum>& all() const { return strata_; }
  // Good as long as this is.
  StrataTable table() const {
    return {static_cast<int>(strata_.size()), edges_.data(), first_.data(), ranges_.data()};
  }
  std::size_t range_count() const { return ranges_.size(); }  // of all strata

  // Draws the constants of an episode into params, whose other fields stay; gives the stratum's
  // index. Allocates nothing; O(strata + ranges of the one drawn). Not for an empty Strata.
  int draw(const StrataStream& stream, std::uint32_t lane, std::int64_t episode,
           void* params) const;
  // The same where the stratum is known: its constants, as a sampled draw that falls on it has
  // them.
  void draw_within(int stratum, const StrataStream& stream, std::uint32_t lane,
                   std::int64_t episode, void* params) const;

 private:
  std::vector<Stratum> strata_;
  std::vector<double> edges_;  // as StrataTable has them
  std::vector<int> first_;
  std::vector<StratumRange> ranges_;
};

// Whether the key is one of a stratum's: "strata.<name>.<field>".
bool is_strata_key(std::string_view key);

// kInvalidConfig unless the key is "strata.<name>.<field>" with a name of letters, digits and _.
Status check_strata_key(std::string_view key);

// The two names in a key that check_strata_key has passed.
struct StrataKey {
  std::string stratum, field;
};
StrataKey split_strata_key(std::string_view key);

// The strata that the keys describe, whatever their order: strata by name, ranges in the order of
// `fields`. env_id: for messages. kInvalidConfig: a field that there is not (the nearest is named)
// or that is no number, a range that is none, upside down or outside what the field may be, a
// stratum without a range, a weight below 0, all weights 0.
Result<Strata> make_strata(const Overrides& keys, const std::vector<ParamField>& fields,
                           const std::string& env_id);

// The one text of what such a key is set to, whoever wrote it: [0.80, 1.2] of a file and 0.80..1.2
// are "0.8..1.2", and a range of no width is its number. What is no range stays as it is.
std::string plain_strata_text(const std::string& text);

}  // namespace broadloom
