#include "broadloom/config/algorithm_names.h"

#include <algorithm>
#include <array>
#include <mutex>

namespace broadloom {
namespace {

constexpr std::array<std::string_view, 4> kBuiltIn = {"ppo", "pqn", "ppo_rnd", "distill"};

struct Names {
  std::mutex mutex;
  std::vector<std::string> names{kBuiltIn.begin(), kBuiltIn.end()};
};

Names& known() {
  static Names names;
  return names;
}

}  // namespace

std::vector<std::string> algorithm_names() {
  const std::lock_guard lock(known().mutex);
  return known().names;
}

bool is_built_in_algorithm(std::string_view name) {
  return std::find(kBuiltIn.begin(), kBuiltIn.end(), name) != kBuiltIn.end();
}

bool add_algorithm_name(const std::string& name) {
  const std::lock_guard lock(known().mutex);
  auto& names = known().names;
  if (std::find(names.begin(), names.end(), name) != names.end()) return false;
  names.push_back(name);
  return true;
}

}  // namespace broadloom
