#include "broadloom/export/first_choices.h"

#include <algorithm>

#include "broadloom/record/json.h"

namespace broadloom {
namespace {

// starts: of all numbers. A leaf names those of its own (python/broadloom/_nested.py).
void read_starts(const Json& node, std::vector<std::int64_t>& starts) {
  for (const Json& part : node["tuple"].elements()) read_starts(part, starts);
  for (const Json& pair : node["dict"].elements()) {
    if (pair.elements().size() == 2) read_starts(pair.elements()[1], starts);
  }
  if (!node["at"].is_unsigned()) return;
  const Json& start = node["start"];
  const Json::Array all = start.is_array() ? start.elements() : Json::Array{start};
  const auto first = node["at"].integer<std::size_t>();
  for (std::size_t i = 0; i < all.size() && first < starts.size() - i; ++i) {
    if (all[i].is_integer()) starts[first + i] = all[i].integer<std::int64_t>();
  }
}

}  // namespace

std::vector<std::int64_t> first_choices(const Space& action) {
  std::vector<std::int64_t> starts(action.choices().size(), action.start);
  read_starts(Json::parse(action.structure), starts);
  const bool count_from_0 =
      std::all_of(starts.begin(), starts.end(), [](std::int64_t first) { return first == 0; });
  return count_from_0 ? std::vector<std::int64_t>{} : starts;
}

}  // namespace broadloom
