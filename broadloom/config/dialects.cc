#include "broadloom/config/dialects.h"

#include <algorithm>

#include "broadloom/config/config.h"
#include "dialect_files.h"

namespace broadloom {
namespace {

struct Dialect {
  const char* name;
  std::string_view text;
};

constexpr std::string_view kNoDialect = "none";
const Dialect kDialects[] = {
    {"cleanrl", assets::kCleanrl},  {"sb3", assets::kSb3},   {"rsl_rl", assets::kRslRl},
    {"rl_games", assets::kRlGames}, {"skrl", assets::kSkrl}, {"brax", assets::kBrax},
};

}  // namespace

std::vector<std::string> dialect_names() {
  std::vector<std::string> names{std::string(kNoDialect)};
  for (const Dialect& dialect : kDialects) names.emplace_back(dialect.name);
  return names;
}

Result<Overrides> dialect_keys(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kDialects), std::end(kDialects),
                                         [&](const Dialect& d) { return d.name == name; });
  if (found == std::end(kDialects)) return Overrides();
  return parse_toml_overrides(found->text, found->name);
}

}  // namespace broadloom
