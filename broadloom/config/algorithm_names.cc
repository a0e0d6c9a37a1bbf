#include "broadloom/config/algorithm_names.h"

#include <algorithm>
#include <mutex>

namespace broadloom {
namespace {

struct Names {
  std::mutex mutex;
  std::vector<std::string> names = {"ppo", "pqn", "ppo_rnd"};
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

bool add_algorithm_name(const std::string& name) {
  const std::lock_guard lock(known().mutex);
  auto& names = known().names;
  if (std::find(names.begin(), names.end(), name) != names.end()) return false;
  names.push_back(name);
  return true;
}

}  // namespace broadloom
