#include "broadloom/config/algorithm_names.h"

#include <algorithm>
#include <mutex>

namespace broadloom {
namespace {

struct Known {
  std::string_view name;
  bool learns_in_order = false;
};
constexpr Known kBuiltIn[] = {{"ppo"}, {"pqn"}, {"ppo_rnd"}, {"distill", true}};

struct Names {
  Names() {
    for (const auto& [name, in_order] : kBuiltIn) add(std::string(name), in_order);
  }
  bool add(const std::string& name, bool in_order) {
    if (std::find(all.begin(), all.end(), name) != all.end()) return false;
    all.push_back(name);
    if (in_order) learn_in_order.push_back(name);
    return true;
  }

  std::mutex mutex;
  std::vector<std::string> all, learn_in_order;
};

Names& known() {
  static Names names;
  return names;
}

}  // namespace

std::vector<std::string> algorithm_names() {
  const std::lock_guard lock(known().mutex);
  return known().all;
}

bool is_built_in_algorithm(std::string_view name) {
  return std::any_of(std::begin(kBuiltIn), std::end(kBuiltIn),
                     [&](const Known& known) { return known.name == name; });
}

bool learns_in_order(std::string_view name) {
  const std::lock_guard lock(known().mutex);
  const std::vector<std::string>& names = known().learn_in_order;
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool add_algorithm_name(const std::string& name, bool learns_in_order) {
  const std::lock_guard lock(known().mutex);
  return known().add(name, learns_in_order);
}

}  // namespace broadloom
