#include "broadloom/env/tasks/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "broadloom/env/disturbance.h"
#include "broadloom/env/env_wrappers.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/staggered_starts.h"
#include "broadloom/env/tasks/asked_frames.h"
#include "broadloom/env/tasks/check_entry.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/env/tasks/plugin_entry.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "broadloom/env/tasks/unknown_environment.h"

namespace broadloom {

// One line per environment.
// clang-format off
constexpr EnvEntry (*kEntries[])() = {
    entry_of<struct CartPole>,
    entry_of<struct Acrobot>,
    entry_of<struct MountainCar>,
    entry_of<struct MountainCarContinuous>,
    entry_of<struct Pendulum>,
    entry_of<struct FrozenLake>,
    entry_of<struct FrozenLake8x8>,
    entry_of<struct CliffWalking>,
    entry_of<struct Taxi>,
    entry_of<struct Dials>,
    entry_of<struct Golf>,
    entry_of<struct TicTacToe>,
    entry_of<struct Turntable>,
    entry_of<struct TMaze>,
    entry_of<struct Breakout>,
    entry_of<struct BreakoutMinimal>,
    entry_of<struct Asterix>,
    entry_of<struct AsterixMinimal>,
    entry_of<struct Freeway>,
    entry_of<struct FreewayMinimal>,
    entry_of<struct Seaquest>,
    entry_of<struct SeaquestMinimal>,
    entry_of<struct SpaceInvaders>,
    entry_of<struct SpaceInvadersMinimal>,
};
// clang-format on

namespace {

// Entries are never removed or moved, so pointers to them need no lock.
class Registry {
 public:
  Registry() {
    for (const auto& entry : kEntries) {
      entries_.push_back(entry());
      entries_.back().built_in = true;
      known_.push_back(&entries_.back());
    }
    openers_.emplace("plugin", open_plugin);
  }

  std::vector<const EnvEntry*> all() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }

  // False if the id is taken.
  bool add(EnvEntry entry) {
    const std::lock_guard lock(mutex_);
    if (place_of(entry.spec.id) != known_.end()) return false;
    entries_.push_back(std::move(entry));
    known_.push_back(&entries_.back());
    return true;
  }

  // False if the id belongs to the library.
  bool replace(EnvEntry entry) {
    const std::lock_guard lock(mutex_);
    const auto place = place_of(entry.spec.id);
    if (place != known_.end() && (*place)->built_in) return false;
    entries_.push_back(std::move(entry));
    if (place == known_.end()) {
      known_.push_back(&entries_.back());
    } else {
      *place = &entries_.back();
    }
    return true;
  }

  void describe(const EnvEntry& entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
    described_[entry.spec.id] = &entries_.back();
  }
  // Null if nothing describes it.
  const EnvEntry* description_of(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = described_.find(id);
    return found == described_.end() ? nullptr : found->second;
  }

  // False if the namespace is taken.
  bool add(const std::string& name, OpenEnvironment open) {
    const std::lock_guard lock(mutex_);
    return openers_.emplace(name, std::move(open)).second;
  }

  void add(AbsentEnvironments absent) {
    const std::lock_guard lock(mutex_);
    absent_.push_back(std::move(absent));
  }
  std::vector<AbsentEnvironments> absent() const {
    const std::lock_guard lock(mutex_);
    return absent_;
  }

  // The same for one that is registered, with its own options.
  void describe(const EnvSpec& spec, const Overrides& own) {
    const std::lock_guard lock(mutex_);
    with_options_[{spec.id, own}] = spec;
  }
  std::optional<EnvSpec> description_of(const std::string& id, const Overrides& own) const {
    const std::lock_guard lock(mutex_);
    const auto found = with_options_.find({id, own});
    return found == with_options_.end() ? std::nullopt : std::optional(found->second);
  }

  // Empty if the id has no namespace, or an unknown one.
  OpenEnvironment opener_of(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const std::size_t mark = id.find_first_of("/:");
    const auto found = openers_.find(mark == std::string::npos ? "" : id.substr(0, mark));
    return found == openers_.end() ? OpenEnvironment() : found->second;
  }

 private:
  std::vector<const EnvEntry*>::iterator place_of(const std::string& id) {
    return std::find_if(known_.begin(), known_.end(),
                        [&](const EnvEntry* entry) { return entry->spec.id == id; });
  }

  mutable std::mutex mutex_;
  std::deque<EnvEntry> entries_;                      // with replaced ones
  std::vector<const EnvEntry*> known_;                // in the order of their first registration
  std::map<std::string, const EnvEntry*> described_;  // by id; only the spec is known
  std::map<std::pair<std::string, Overrides>, EnvSpec> with_options_;
  std::map<std::string, OpenEnvironment> openers_;
  std::vector<AbsentEnvironments> absent_;
};

Registry& registry() {
  static Registry entries;
  return entries;
}

const EnvEntry* find_or_null(const std::string& id) {
  for (const EnvEntry* entry : registry().all()) {
    if (entry->spec.id == id) return entry;
  }
  return nullptr;
}

// Opening may take long and look up other ids, so no lock is held. If two threads open the same id,
// the first to finish is kept.
Result<const EnvEntry*> open(const OpenEnvironment& opener, const std::string& id) {
  Result<EnvEntry> entry = opener(id);
  if (!entry.ok()) return entry.status();
  if (entry.value().spec.id != id) {
    return invalid(fmt::format("'{}' was opened as '{}'; the opener must keep the requested id", id,
                               entry.value().spec.id));
  }
  BROADLOOM_TRY(check_entry(entry.value()));
  registry().add(entry.take());
  return find_or_null(id);
}

bool same_space(const Space& a, const Space& b) {
  return same_shape(a, b) && a.low == b.low && a.high == b.high && a.start == b.start &&
         a.frame_padding == b.frame_padding && a.masked == b.masked;
}

bool same_spaces(const EnvSpec& a, const EnvSpec& b) {
  return same_space(a.observation, b.observation) && same_space(a.action, b.action) &&
         same_space(a.critic_observation, b.critic_observation) && a.strata == b.strata &&
         a.end_reasons == b.end_reasons && a.max_episode_steps == b.max_episode_steps;
}

// The members in which two specs of the same shapes differ, and on which records or runs depend.
std::vector<std::string> differences(const EnvSpec& a, const EnvSpec& b) {
  const auto list = [](const auto& entries, const auto& text) {
    std::string all;
    for (const auto& entry : entries) all += text(entry) + '\n';
    return all;
  };
  const auto terms = [&](const EnvSpec& spec) {
    return list(spec.reward_terms,
                [](const RewardTerm& one) { return fmt::format("{} {}", one.name, one.weight); });
  };
  const auto measures = [&](const EnvSpec& spec) {
    return list(spec.measures,
                [](const Measure& one) { return fmt::format("{} {}", one.name, one.unit); });
  };
  const auto context = [&](const EnvSpec& spec) {
    return list(spec.context, [](const ContextRange& one) {
      return fmt::format("{} {} {}", one.name, one.low, one.high);
    });
  };
  const std::pair<const char*, bool> same[] = {
      {"observation", same_space(a.observation, b.observation)},
      {"critic_observation", same_space(a.critic_observation, b.critic_observation)},
      {"action", same_space(a.action, b.action)},
      {"end_reasons", a.end_reasons == b.end_reasons},
      {"strata", a.strata == b.strata},
      {"names_success", a.names_success == b.names_success},
      {"reward_terms", terms(a) == terms(b)},
      {"counts_reward_terms", a.counts_reward_terms == b.counts_reward_terms},
      {"measures", measures(a) == measures(b)},
      {"context", context(a) == context(b)}};
  std::vector<std::string> names;
  for (const auto& [name, is_same] : same) {
    if (!is_same) names.emplace_back(name);
  }
  return names;
}

Status check_absent(const std::string& id) {
  for (const AbsentEnvironments& absent : registry().absent()) {
    if (std::find(absent.ids.begin(), absent.ids.end(), id) == absent.ids.end()) continue;
    return {ErrorKind::kNotFound,
            fmt::format("{} needs {}, which this program was built without; {}", id,
                        absent.simulator, absent.how_to_get)};
  }
  return {};
}

Result<const EnvEntry*> find(const std::string& id) {
  if (const EnvEntry* entry = find_or_null(id)) return entry;
  if (const OpenEnvironment opener = registry().opener_of(id)) return open(opener, id);
  BROADLOOM_TRY(check_absent(id));
  if (registry().description_of(id) != nullptr) return not_registered(id);
  std::vector<std::string> ids;
  for (const EnvEntry* entry : registry().all()) ids.push_back(entry->spec.id);
  for (const AbsentEnvironments& absent : registry().absent()) {
    ids.insert(ids.end(), absent.ids.begin(), absent.ids.end());
  }
  return unknown_environment(id, ids);
}

// Also finds environments of which only the spec is known.
Result<const EnvEntry*> find_spec(const std::string& id) {
  Result<const EnvEntry*> found = find(id);
  const EnvEntry* const described = found.ok() ? nullptr : registry().description_of(id);
  return described != nullptr ? Result<const EnvEntry*>(described) : found;
}

Status check_options(const VecEnvOptions& options) {
  if (options.num_envs < 1) {
    return invalid(fmt::format("num_envs: got {}, expected at least 1", options.num_envs));
  }
  if (options.max_episode_steps < 0) {
    return invalid(
        fmt::format("max_episode_steps: got {}, expected at least 0 (0: the environment's own)",
                    options.max_episode_steps));
  }
  if (options.seed_families < 0 || options.num_envs % options.families() != 0) {
    return invalid(
        fmt::format("seed_families: got {}, expected a divisor of num_envs = {}, or 0 for as many "
                    "families as environments",
                    options.seed_families, options.num_envs));
  }
  return {};
}

std::string spec_text(const EnvSpec& spec) {
  const std::string critic = spec.has_critic_observation()
                                 ? ", critic observation " + shape_text(spec.critic_observation)
                                 : "";
  return fmt::format("observation {}{}, action {}, max_episode_steps {}",
                     shape_text(spec.observation), critic, shape_text(spec.action),
                     spec.max_episode_steps);
}

Status check_bounds(const EnvSpec& spec, const std::string& factory) {
  for (const Space* space : {&spec.observation, &spec.critic_observation, &spec.action}) {
    const auto size = static_cast<std::size_t>(space->size);
    const bool bounded = space->low.size() == size && space->high.size() == size;
    if (space->kind == SpaceKind::kDiscrete || bounded) continue;
    return invalid(
        fmt::format("{} returned environments with a space of {} numbers, {} lower and {} upper "
                    "bounds; give one of each per number",
                    factory, size, space->low.size(), space->high.size()));
  }
  return {};
}

bool names_option(const EnvEntry& entry, std::string_view name) {
  const std::vector<FieldInfo> fields = entry.options();
  return std::any_of(fields.begin(), fields.end(),
                     [&](const FieldInfo& field) { return field.name == name; });
}

// Options of an environment, split into its own and those of wrappers.
struct EnvOptions {
  Overrides own;
  EnvWrappers wrappers;
};

bool shows_images(const EnvSpec& spec) {
  return shows_frames(spec) && spec.observation.dtype == Dtype::kU8 &&
         spec.observation.extents().size() > 1;
}

// Reports unknown options of the library's environments, and of those with images. Their own
// message would not list the wrappers' options. Other environments answer themselves: some take
// options that they do not list.
Status check_names(const EnvEntry& entry, const Overrides& own) {
  if (!entry.built_in && !shows_images(entry.spec)) return {};
  const std::vector<FieldInfo> wrappers = wrapper_options(entry.spec);
  for (const auto& [name, value] : own) {
    if (is_disturbance_key(name) || is_strata_key(name) || names_option(entry, name)) continue;
    std::vector<std::string> names;
    for (const FieldInfo& field : entry.options()) names.push_back(field.name);
    for (const FieldInfo& field : wrappers) names.push_back(field.name);
    return unknown_key_error("option of " + entry.spec.id, name, names);
  }
  return {};
}

// An environment with its own options of these names gets them.
Result<EnvOptions> split_options(const EnvEntry& entry, const Overrides& env_options) {
  EnvOptions out;
  for (const auto& option : env_options) {
    Result<bool> is_wrappers = false;
    if (!names_option(entry, option.first)) {
      is_wrappers = set_wrapper_option(out.wrappers, option.first, option.second);
      if (!is_wrappers.ok()) return is_wrappers.status();
    }
    if (!is_wrappers.value()) out.own.push_back(option);
  }
  BROADLOOM_TRY(check_names(entry, out.own));
  return out;
}

Overrides in_order(Overrides own) {
  std::sort(own.begin(), own.end());
  return own;
}

// The spec of an entry. If a file that it needs is not here, the description if there is one.
Result<EnvSpec> spec_of(const EnvEntry& entry, const Overrides& own) {
  Result<EnvSpec> spec = entry.make_spec(own);
  if (spec.ok() || spec.status().kind() != ErrorKind::kNotFound) return spec;
  const std::optional<EnvSpec> described = registry().description_of(entry.spec.id, in_order(own));
  return described ? Result<EnvSpec>(*described) : spec;
}

// The spec before wrapping. kInvalidConfig if a wrapper does not fit it.
Result<EnvSpec> checked_spec(const EnvEntry& entry, const EnvOptions& options) {
  Result<EnvSpec> spec = spec_of(entry, options.own);
  if (!spec.ok()) return spec;
  if (!entry.built_in) BROADLOOM_TRY(check_spec(spec.value()));
  EnvSpec wrapped = spec.value();
  BROADLOOM_TRY(describe_wrappers(options.wrappers, wrapped));
  return spec;
}

// Checks that environments from a program's own factory match their spec and the options. Otherwise
// writes could go out of bounds, or settings could be ignored silently.
Status check_made(const VecEnv* envs, EnvSpec expected, const VecEnvOptions& options) {
  const std::string factory = fmt::format("the factory registered for '{}'", expected.id);
  if (envs == nullptr) {
    return invalid(factory +
                   " returned null; let it return environments, or a Status with the reason");
  }
  if (envs->num_envs() != options.num_envs) {
    return invalid(fmt::format("{} returned {} environments, expected VecEnvOptions::num_envs = {}",
                               factory, envs->num_envs(), options.num_envs));
  }
  if (envs->spec().id != expected.id) {
    return invalid(fmt::format("{} returned environments whose spec().id is '{}'; use one id",
                               factory, envs->spec().id));
  }
  expected.set_time_limit(options.max_episode_steps);
  const std::string wanted = spec_text(expected), got = spec_text(envs->spec());
  BROADLOOM_TRY(check_bounds(envs->spec(), factory));
  if (got != wanted) {
    return invalid(
        fmt::format("{} returned environments with {}, expected {}, as registered and requested by "
                    "VecEnvOptions",
                    factory, got, wanted));
  }
  BROADLOOM_TRY(check_promises(*envs));
  const std::vector<std::string> others = differences(envs->spec(), expected);
  if (others.empty()) return {};
  return invalid(
      fmt::format("{} returned environments whose spec() differs from the registered one in {}; "
                  "make both the same",
                  factory, fmt::join(others, ", ")));
}

// An entry of the program. Ids of plug-ins name files, which open_plugin() loads.
Status check_own_entry(const EnvEntry& entry) {
  BROADLOOM_TRY(check_entry(entry));
  if (!entry.spec.id.starts_with(kPluginPrefix)) return {};
  return invalid(fmt::format(
      "an environment cannot be registered as '{}', since ids that begin with '{}' name files of "
      "plug-ins; use another id",
      entry.spec.id, kPluginPrefix));
}

// Checks that environments start at their ages. A program's own factory may ignore them.
Status check_ages(const VecEnv& envs, const VecEnvOptions& options) {
  const EnvSpec& spec = envs.spec();
  BROADLOOM_TRY(check_has_ages(spec));
  const std::vector<std::int64_t> ages = staggered_ages(options, spec.max_episode_steps);
  for (int i = 0; i < options.num_envs; ++i) {
    const std::int64_t wanted = ages[static_cast<std::size_t>(i)];
    if (envs.episode_step(i) == wanted) continue;
    return invalid(fmt::format(
        "stagger_by = age: environment {} of {} begins at step {} of its episode, expected {}; let "
        "its factory use staggered_ages(), or set stagger_by = actions",
        i, spec.id, envs.episode_step(i), wanted));
  }
  return {};
}

}  // namespace

Status register_environment(EnvEntry entry) {
  BROADLOOM_TRY(check_own_entry(entry));
  entry.built_in = false;
  const std::string id = entry.spec.id;
  if (registry().add(std::move(entry))) return {};
  return invalid(fmt::format("environment '{}' is already registered; register each id once", id));
}

Status replace_environment(EnvEntry entry) {
  BROADLOOM_TRY(check_own_entry(entry));
  entry.built_in = false;
  const std::string id = entry.spec.id;
  if (registry().replace(std::move(entry))) return {};
  return invalid(
      fmt::format("environment '{}' belongs to the library; register yours under another id", id));
}

void register_built_in(EnvEntry entry) {
  entry.built_in = true;
  registry().add(std::move(entry));
}

Status describe_environment(const EnvSpec& spec, const Overrides& env_options) {
  if (const EnvEntry* const entry = find_or_null(spec.id)) {
    BROADLOOM_TRY(check_spec(spec));
    const Result<EnvOptions> options = split_options(*entry, env_options);
    if (options.ok()) registry().describe(spec, in_order(options.value().own));
    return {};
  }
  const EnvEntry* const before = registry().description_of(spec.id);
  if (before != nullptr && same_spaces(before->spec, spec)) return {};
  EnvEntry entry = simulator_entry(
      spec, [id = spec.id](const VecEnvOptions&) -> Result<std::unique_ptr<VecEnv>> {
        return not_registered(id);
      });
  // Options of the environment are not known here, so that all are taken for good ones.
  entry.make_spec = [spec](const Overrides&) -> Result<EnvSpec> { return spec; };
  BROADLOOM_TRY(check_entry(entry));
  registry().describe(entry);
  return {};
}

bool needs_description(const EnvSpec& own) { return !is_built_in(own.id) || !own.engine.empty(); }

Result<EnvSpec> own_spec(const std::string& id, const Overrides& env_options) {
  const Result<const EnvEntry*> entry = find_spec(id);
  if (!entry.ok()) return entry.status();
  const Result<EnvOptions> options = split_options(*entry.value(), env_options);
  if (!options.ok()) return options.status();
  return spec_of(*entry.value(), options.value().own);
}

void announce_absent(AbsentEnvironments absent) { registry().add(std::move(absent)); }

std::vector<AbsentEnvironments> list_absent() { return registry().absent(); }

Status register_namespace(const std::string& name, OpenEnvironment open) {
  if (!open || name.empty() || name.find('/') != std::string::npos) {
    return invalid(fmt::format(
        "namespace '{}': expected the part of an id before '/', and a function that opens ids",
        name));
  }
  if (registry().add(name, std::move(open))) return {};
  return invalid(fmt::format("namespace '{}' is already registered", name));
}

bool is_built_in(const std::string& id) {
  const EnvEntry* entry = find_or_null(id);
  return entry != nullptr && entry->built_in;
}

Result<std::unique_ptr<VecEnv>> make_vec_env(const std::string& id, const Overrides& env_options,
                                             const VecEnvOptions& options) {
  BROADLOOM_TRY(check_options(options));
  Result<const EnvEntry*> found = find(id);
  if (!found.ok()) return found.status();
  const EnvEntry& entry = *found.value();
  const Result<EnvOptions> split_result = split_options(entry, env_options);
  if (!split_result.ok()) return split_result.status();
  const EnvOptions& all = split_result.value();
  const Result<EnvSpec> spec = checked_spec(entry, all);
  if (!spec.ok()) return spec.status();
  Result<std::unique_ptr<VecEnv>> envs = std::unique_ptr<VecEnv>();
  BROADLOOM_TRY(call_simulator(id, "make", [&] {
    envs = entry.make(all.own, options);
    return envs.status();
  }));
  if (!entry.built_in) BROADLOOM_TRY(check_made(envs.value().get(), spec.value(), options));
  if (options.staggers_now() && options.stagger_by == StaggerBy::kAge) {
    BROADLOOM_TRY(check_ages(*envs.value(), options));
  }
  return wrap(envs.take(), all.wrappers);
}

std::vector<EnvSpec> list_envs() {
  std::vector<EnvSpec> specs;
  for (const EnvEntry* entry : registry().all()) specs.push_back(entry->spec);
  return specs;
}

Result<EnvSpec> env_spec(const std::string& id, const Overrides& env_options,
                         int max_episode_steps) {
  Result<const EnvEntry*> entry = find_spec(id);
  if (!entry.ok()) return entry.status();
  const Result<EnvOptions> split_result = split_options(*entry.value(), env_options);
  if (!split_result.ok()) return split_result.status();
  Result<EnvSpec> spec = checked_spec(*entry.value(), split_result.value());
  if (!spec.ok()) return spec;
  BROADLOOM_TRY(describe_wrappers(split_result.value().wrappers, spec.value()));
  spec.value().set_time_limit(max_episode_steps);
  return spec;
}

Status check_noise_is_seen(const std::string& id, const Overrides& env_options) {
  const Result<const EnvEntry*> entry = find_spec(id);
  if (!entry.ok()) return entry.status();
  const Result<EnvOptions> options = split_options(*entry.value(), env_options);
  if (!options.ok()) return options.status();
  if (!options.value().wrappers.hidden.any()) return {};
  const Result<EnvSpec> spec = spec_of(*entry.value(), options.value().own);
  if (!spec.ok()) return spec.status();
  Overrides keys;
  std::copy_if(env_options.begin(), env_options.end(), std::back_inserter(keys),
               [](const auto& option) { return is_disturbance_key(option.first); });
  const Result<Disturbance> disturbance = make_disturbance(keys);
  if (!disturbance.ok()) return disturbance.status();
  return check_noise_is_seen(options.value().wrappers.hidden, disturbance.value(), spec.value());
}

Result<EnvSpec> env_spec_of(const EnvSpec& own, const Overrides& env_options,
                            int max_episode_steps) {
  const Result<const EnvEntry*> entry = find_spec(own.id);
  if (!entry.ok()) return entry.status();
  const Result<EnvOptions> split_result = split_options(*entry.value(), env_options);
  if (!split_result.ok()) return split_result.status();
  EnvSpec spec = own;
  BROADLOOM_TRY(describe_wrappers(split_result.value().wrappers, spec));
  spec.set_time_limit(max_episode_steps);
  return spec;
}

Result<std::vector<FieldInfo>> list_env_options(const std::string& id,
                                                const Overrides& env_options) {
  Result<const EnvEntry*> entry = find_spec(id);
  if (!entry.ok()) return entry.status();
  std::vector<FieldInfo> options = entry.value()->options();
  EnvSpec spec = entry.value()->spec;
  if (const Result<EnvOptions> split_result = split_options(*entry.value(), env_options);
      split_result.ok()) {
    Result<EnvSpec> made = spec_of(*entry.value(), split_result.value().own);
    if (made.ok()) spec = made.take();
  }
  for (FieldInfo& field : wrapper_options(spec)) {
    if (!names_option(*entry.value(), field.name)) options.push_back(std::move(field));
  }
  return options;
}

std::vector<int> group_frames(const std::string& id, const Overrides& env_options,
                              const EnvSpec& spec) {
  std::vector<int> counts(spec.observation.groups.size(), 1);
  const Result<const EnvEntry*> entry = find_spec(id);
  if (!entry.ok() || counts.empty()) return counts;
  const Result<EnvOptions> options = split_options(*entry.value(), env_options);
  if (!options.ok()) return counts;
  Result<std::vector<int>> asked = stack_counts(options.value().wrappers.frames, spec);
  return asked.ok() ? asked.take() : counts;
}

Result<TabularModel> make_tabular_model(const std::string& id, const Overrides& env_options) {
  Result<const EnvEntry*> found = find(id);
  if (!found.ok()) return found.status();
  if (found.value()->table) return found.value()->table(env_options);
  std::string tabular;
  for (const EnvEntry* entry : registry().all()) {
    if (!entry->table) continue;
    tabular += (tabular.empty() ? "" : ", ") + entry->spec.id;
  }
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("{} is not tabular; expected one of {}", id, tabular));
}

}  // namespace broadloom
