// A number that a table of options may leave out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"

namespace broadloom {

struct OptionalNumber {
  static constexpr const char* kTypeName = "float or none";  // in help and reference

  std::optional<double> value;

  bool operator==(const OptionalNumber&) const = default;
};

// "475"; empty where there is none. parse_text() also takes the word none.
std::string to_text(const OptionalNumber& number);
Status parse_text(std::string_view text, OptionalNumber& out);

}  // namespace broadloom
