// Hashes of numbers by their bits, which two processors must agree on.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "broadloom/core/estimate.h"
#include "broadloom/core/hash.h"

namespace broadloom::golden {

// One line of hashes.txt: a name and its hash.
struct Line {
  std::string what;
  std::uint64_t hash = 0;
  bool operator==(const Line&) const = default;
};
using Lines = std::vector<Line>;

// Takes in numbers, one after another, and hashes their bits.
class Numbers {
 public:
  void add(std::string_view text) { bytes_.append(text); }
  // Numbers that are none are all the same: sign and payload of a NaN are the processor's choice.
  void add(double x) {
    const double plain = std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
    add_bits(std::bit_cast<std::uint64_t>(plain));
  }
  template <class T>
  requires std::is_integral_v<T>
  void add(T x) { add_bits(static_cast<std::uint64_t>(static_cast<std::int64_t>(x))); }
  void add(const Estimate& e) {
    add(e.value);
    add(e.low);
    add(e.high);
    add(e.count);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(value);
  }
  template <class T>
  void add_bytes(std::span<const T> values) {
    add({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  std::uint64_t hash() const { return hash64(bytes_); }

 private:
  void add_bits(std::uint64_t bits) {
    bytes_.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }

  std::string bytes_;
};

}  // namespace broadloom::golden
