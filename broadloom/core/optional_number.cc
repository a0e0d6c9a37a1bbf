#include "broadloom/core/optional_number.h"

#include "broadloom/core/config_table.h"

namespace broadloom {

std::string to_text(const OptionalNumber& number) {
  return number.value ? to_text(*number.value) : "";
}

Status parse_text(std::string_view text, OptionalNumber& out) {
  if (text.empty() || text == "none") {
    out.value.reset();
    return {};
  }
  double number = 0.0;
  BROADLOOM_TRY(parse_text(text, number));
  out.value = number;
  return {};
}

}  // namespace broadloom
