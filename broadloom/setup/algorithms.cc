#include "broadloom/setup/algorithms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "broadloom/config/algorithm_names.h"
#include "broadloom/config/config.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/learn/algorithm.h"
#include "broadloom/rollout/actor.h"
#include "broadloom/setup/algorithms/entries.h"

namespace broadloom {
namespace {

// Entries are never removed and never move, so pointers are used without the lock.
class Table {
 public:
  Table() {
    for (const auto& entry : kEntries) entries_.push_back(entry());
  }

  std::vector<const AlgorithmEntry*> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<const AlgorithmEntry*> out;
    for (const AlgorithmEntry& entry : entries_) out.push_back(&entry);
    return out;
  }

  void add(AlgorithmEntry entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }

 private:
  mutable std::mutex mutex_;
  std::deque<AlgorithmEntry> entries_;
};

Table& table() {
  static Table entries;
  return entries;
}

const AlgorithmEntry& find_entry(const Config& config) {
  const std::vector<const AlgorithmEntry*> all = table().all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const AlgorithmEntry* entry) {
    return entry->name == config.algorithm;
  });
  assert(found != all.end() && "validate() refuses a name that is not in the table");
  return found != all.end() ? **found : *all.front();
}

bool is_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

}  // namespace

Status register_algorithm(AlgorithmEntry entry) {
  const std::string name = entry.name;
  if (!is_name(name)) {
    return invalid(
        fmt::format("algorithm '{}': expected a name of lowercase letters, digits and "
                    "underscores",
                    name));
  }
  if (!entry.make || !entry.bytes || !entry.declare_numbers) {
    return invalid(fmt::format(
        "algorithm '{}': make, bytes or declare_numbers is missing; give all three", name));
  }
  if (entry.learns_action_values && !entry.make_actor) {
    return invalid(fmt::format(
        "algorithm '{}': learns_action_values is set, but make_actor is missing; give make_actor",
        name));
  }
  if (!add_algorithm_name(name, entry.learns_in_order)) {
    return invalid(fmt::format(
        "algorithm '{}' is registered already; register it once, or use another name", name));
  }
  table().add(std::move(entry));
  return {};
}

Status check_algorithm(const Config& config, const EnvSpec& spec) {
  const AlgorithmEntry& entry = find_entry(config);
  BROADLOOM_TRY(
      check_instruments(config.instruments, {.name = entry.name,
                                             .draws_from_policy = !entry.make_actor,
                                             .learns_action_values = entry.learns_action_values,
                                             .value_outputs = entry.value_outputs,
                                             .policies = config.sapg_policies}));
  if (config.is_recurrent() && !entry.learns_sequences) {
    return invalid(fmt::format(
        "recurrent: got {} with algorithm = {}, which learns from single steps; expected algorithm "
        "= ppo, or set recurrent = none",
        config.recurrent, entry.name));
  }
  return entry.check ? entry.check(config, spec) : Status();
}

void set_algorithm_defaults(const EnvSpec& spec, Config& config) {
  for (const AlgorithmEntry* entry : table().all()) {
    if (entry->name == config.algorithm && entry->set_defaults) entry->set_defaults(spec, config);
  }
}

bool draws_from_policy(const Config& config) { return !find_entry(config).make_actor; }

bool learns_action_values(const Config& config) { return find_entry(config).learns_action_values; }

int value_outputs(const Config& config) { return find_entry(config).value_outputs; }

bool learns_from_teacher(const Config& config) { return find_entry(config).has_teacher; }

std::string extra_steps_text(const Config& config) {
  const AlgorithmEntry& entry = find_entry(config);
  return entry.besides ? entry.besides(config) : std::string();
}

std::string keys_of_size(const Config& config) {
  const std::string& keys = find_entry(config).keys_of_size;
  return config.recurrent_units > 0 ? "recurrent_units or " + keys : keys;
}

CompanionSize companion_size(const Config& config, const EnvSpec& spec) {
  const AlgorithmEntry& entry = find_entry(config);
  return entry.companion ? entry.companion(config, spec) : CompanionSize();
}

const std::vector<AlgorithmStream>& algorithm_streams(const Config& config) {
  return find_entry(config).streams;
}

std::optional<FallingValue> falling_value(const Config& config) {
  if (auto falls = describe_fall(config, kScheduledValues[0])) return falls;
  const AlgorithmEntry& entry = find_entry(config);
  return entry.falls ? entry.falls(config) : std::nullopt;
}

bool depends_on_total(const Config& config) {
  const bool falls = config.schedule_timesteps == 0 && falling_value(config).has_value();
  return falls || !config.shape_schedule.empty();
}

std::unique_ptr<Actor> make_actor(const Config& config, const ActorCritic& network) {
  const AlgorithmEntry& entry = find_entry(config);
  if (entry.make_actor) return entry.make_actor(config, network);
  return std::make_unique<PolicySampler>(network);
}

std::unique_ptr<Algorithm> make_algorithm(const AlgorithmSetup& setup) {
  return find_entry(setup.config).make(setup);
}

std::size_t algorithm_bytes(const Config& config, const ActorCritic& network, const EnvSpec& spec,
                            int threads) {
  return find_entry(config).bytes(config, network, spec, threads);
}

void declare_algorithm_numbers(const InfoVisitor& declare) {
  std::set<std::string> seen;
  for (const AlgorithmEntry* entry : table().all()) {
    entry->declare_numbers([&](const NumberInfo& info) {
      if (seen.insert(info.name).second) declare(info);
    });
  }
}

}  // namespace broadloom
