// Strata: named ranges of an environment's constants. Every episode draws its constants from one.
//
// In a config, [strata.narrow] half_length = [0.4, 0.6] is one range of one stratum. As text, its
// key is "strata.narrow.half_length" and its value "0.4..0.6". The key "strata.<name>.weight" is
// the stratum's relative frequency, 1 by default.
//
// A draw is a pure function of (seed, purpose, lane, episode). The lane is the environment's seed
// family. There are two ways of sampling:
//   sampled      Choose a stratum with probability weight / sum of weights. Draw each constant
//                uniformly from its range. All draws are independent.
//   stratified   Episode e of all F families is one round with F places, in random order. Each
//                stratum gets F weight / sum places, rounded up or down. Within a stratum with n
//                places, each range is cut into n bins of equal width. Each bin is used once, with
//                a uniform draw inside it (Latin hypercube; McKay, Beckman and Conover 1979). Each
//                single draw has the same distribution as if sampled. With one family, a round is
//                one place and nothing is balanced.
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

// A constant of an environment: its place in Params and its allowed range.
struct ParamField {
  std::string name;
  bool drawable = false;   // whether it is a double; only then use the members below
  std::size_t offset = 0;  // bytes
  Range range;
};

struct StratumRange {
  std::size_t offset = 0;  // of the constant in Params, in bytes
  double low = 0.0, high = 0.0;
};

struct Stratum {
  std::string name;
  double weight = 1.0;
  std::vector<StratumRange> ranges;  // in the order of Params
};

// Random streams and method of the draws.
struct StrataStream {
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::kTrainStrata;
  int families = 1;  // F >= 1, lanes 0..F-1
  StrataSampling sampling = StrataSampling::kSampled;
};

// Strata as arrays, which may lie in device memory.
struct StrataTable {
  int count = 0;                         // strata
  const double* edges = nullptr;         // [count + 1] cumulative shares of the weights, 0 to 1
  const int* first = nullptr;            // [count + 1] first range of each stratum
  const StratumRange* ranges = nullptr;  // ranges of all strata
};

class Strata {
 public:
  Strata() = default;  // none
  // strata: at least one, sorted by name. Weights are finite, not negative and not all 0.
  explicit Strata(std::vector<Stratum> strata);

  bool empty() const { return strata_.empty(); }
  const std::vector<Stratum>& all() const { return strata_; }
  // Points into this object.
  StrataTable table() const {
    return {static_cast<int>(strata_.size()), edges_.data(), first_.data(), ranges_.data()};
  }
  std::size_t range_count() const { return ranges_.size(); }  // ranges of all strata

  // Draws the constants of an episode into `params`; other fields stay. Returns the stratum's
  // index. Allocates nothing; O(strata + ranges of the drawn one). Requires !empty().
  int draw(const StrataStream& stream, std::uint32_t lane, std::int64_t episode,
           void* params) const;
  // Draws the constants from a given stratum, with the values that a sampled draw of it gives.
  void draw_within(int stratum, const StrataStream& stream, std::uint32_t lane,
                   std::int64_t episode, void* params) const;

 private:
  std::vector<Stratum> strata_;
  std::vector<double> edges_;  // see StrataTable, also below
  std::vector<int> first_;
  std::vector<StratumRange> ranges_;
};

// Whether the key starts with "strata.".
bool is_strata_key(std::string_view key);

// kInvalidConfig unless the key is "strata.<name>.<field>", with a name of letters, digits and _.
Status check_strata_key(std::string_view key);

// The two names in a key that passed check_strata_key().
struct StrataKey {
  std::string stratum, field;
};
StrataKey split_strata_key(std::string_view key);

// Parses strata from keys in any order. Sorts strata by name and ranges in the order of `fields`.
// env_id: for messages. kInvalidConfig for:
// - an unknown field (names the nearest one) or one that is not a float;
// - a range that cannot be parsed, has low > high, or exceeds the field's limits;
// - a stratum without a range, a negative weight, or a sum of weights of 0.
Result<Strata> make_strata(const Overrides& keys, const std::vector<ParamField>& fields,
                           const std::string& env_id);

// The canonical text of a range: [0.80, 1.2] and 0.80..1.2 become "0.8..1.2". A range of width 0
// becomes its number. Other text comes back unchanged.
std::string plain_strata_text(const std::string& text);

}  // namespace broadloom
