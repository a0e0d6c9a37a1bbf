#include "broadloom/env/plugins/plugin_spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <utility>

#include "broadloom/env/plugins/plugin_call.h"
#include "broadloom/env/plugins/plugin_mutex.h"

namespace broadloom {
namespace {

constexpr int kMostReasons = 126;
constexpr std::int64_t kMostNumbers = 1 << 24;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

std::string or_empty(const char* text) { return text == nullptr ? "" : text; }

// Whether no member is set, except the groups.
bool has_no_array(const broadloom_space& space) {
  const bool has_shape = std::any_of(space.shape, space.shape + 4, [](int n) { return n != 0; });
  const bool has_bounds =
      space.low != 0.0f || space.high != 0.0f || space.lows != nullptr || space.highs != nullptr;
  return !has_shape && !has_bounds && space.kind == 0 && space.dtype == 0 && space.rank == 0 &&
         space.frames == 0 && space.frame_padding == 0 && space.leading_choices == 0;
}

bool has_groups(const broadloom_space& space) {
  return space.groups != nullptr || space.num_groups != 0;
}

// Converts a broadloom_space to a Space, with errors that name it.
class SpaceReader {
 public:
  SpaceReader(const std::string& id, const char* name, bool is_observation)
      : id_(id), name_(name), is_observation_(is_observation) {}

  Result<Space> read(const broadloom_space& space) const {
    if (has_groups(space)) return read_groups(space);
    if (space.frames < 0) {
      return refuse(fmt::format("has {} frames, expected at least 0", space.frames));
    }
    if (space.frame_padding != BROADLOOM_PAD_FIRST && space.frame_padding != BROADLOOM_PAD_ZERO) {
      return refuse(fmt::format("has the unknown frame_padding {}", space.frame_padding));
    }
    if (space.leading_choices != 0 && space.kind != BROADLOOM_HYBRID) {
      return refuse(fmt::format("has {} leading choices, which only hybrid spaces have",
                                space.leading_choices));
    }
    if (space.rank < 1 || space.rank > 4) {
      return refuse(fmt::format("has a rank of {}, expected 1 to 4", space.rank));
    }
    std::int64_t size = 1;
    Space out;
    for (int axis = 0; axis < space.rank; ++axis) {
      if (space.shape[axis] < 1) {
        return refuse(
            fmt::format("is {} long along axis {}, expected at least 1", space.shape[axis], axis));
      }
      size *= space.shape[axis];
      out.shape.push_back(space.shape[axis]);
      if (size > kMostNumbers) return refuse(fmt::format("has more than {} numbers", kMostNumbers));
    }
    if (space.kind == BROADLOOM_DISCRETE) {
      if (space.rank != 1) return refuse("is Discrete with more than one axis, expected {n}");
      return Space::discrete(static_cast<int>(size));
    }
    if (space.kind == BROADLOOM_MULTI_DISCRETE) {
      out.kind = SpaceKind::kMultiDiscrete;
    } else if (space.kind == BROADLOOM_HYBRID) {
      BROADLOOM_TRY(check_hybrid(space, size));
      out.kind = SpaceKind::kHybrid;
      out.leading_choices = space.leading_choices;
    } else if (space.kind != BROADLOOM_BOX) {
      return refuse(fmt::format("has the unknown kind {}", space.kind));
    }
    if (space.dtype != BROADLOOM_FLOAT32 && space.dtype != BROADLOOM_UINT8) {
      return refuse(fmt::format("has the unknown dtype {}", space.dtype));
    }
    out.size = static_cast<int>(size);
    out.dtype = space.dtype == BROADLOOM_UINT8 ? Dtype::kU8 : Dtype::kF32;
    if (out.shape.size() == 1) out.shape.clear();  // vectors have no shape in the library
    add_bounds(space, out);
    out.frames = space.frames > 1 ? space.frames : 1;
    out.frame_padding =
        space.frame_padding == BROADLOOM_PAD_ZERO ? FramePadding::kZero : FramePadding::kFirst;
    // Infinite bounds are possible by lows and highs.
    if (out.kind == SpaceKind::kMultiDiscrete) {
      out.low.assign(out.high.size(), 0.0f);
    } else if (!is_observation_ && space.low == 0.0f && space.high == 0.0f &&
               space.lows == nullptr) {
      return refuse("has no bounds, expected the bounds to clip actions to");
    }
    return out;
  }

  Status refuse(const std::string& reason) const {
    return invalid(
        fmt::format("{}: its {} space {}; correct describe() of the plug-in", id_, name_, reason));
  }

 private:
  Status check_hybrid(const broadloom_space& space, std::int64_t size) const {
    if (is_observation_) return refuse("is hybrid, expected a Box or Discrete");
    if (space.rank != 1 || space.leading_choices < 1 || space.leading_choices >= size) {
      return refuse(
          fmt::format("has {} leading choices in {} axes of {} numbers, expected one axis "
                      "with at least one choice, and a number after them",
                      space.leading_choices, space.rank, size));
    }
    if (space.lows == nullptr || space.highs == nullptr) {
      return refuse("is hybrid without lows or highs, expected the bounds of each number");
    }
    return {};
  }
  Result<Space> read_groups(const broadloom_space& space) const {
    constexpr int kMostGroups = 64;
    if (space.num_groups < 1 || space.num_groups > kMostGroups) {
      return refuse(fmt::format("has {} groups, expected 1 to {}", space.num_groups, kMostGroups));
    }
    if (space.groups == nullptr) return refuse("has num_groups without groups");
    if (!is_observation_) return refuse("has groups, which only observations have");
    if (!has_no_array(space)) {
      return refuse("has groups and an array; expected only groups and num_groups, the rest 0");
    }
    std::vector<std::pair<std::string, Space>> parts;
    std::int64_t size = 0;
    for (int g = 0; g < space.num_groups; ++g) {
      const broadloom_group& group = space.groups[g];
      broadloom_space one{};
      one.kind = group.kind;
      one.dtype = group.dtype;
      one.rank = group.rank;
      std::copy_n(group.shape, 4, one.shape);
      one.low = group.low;
      one.high = group.high;
      if (group.kind == BROADLOOM_MULTI_DISCRETE) return refuse("has a MultiDiscrete group");
      Result<Space> part = read(one);
      if (!part.ok()) return part.status();
      size += part.value().size;
      if (size > kMostNumbers) return refuse(fmt::format("has more than {} numbers", kMostNumbers));
      parts.emplace_back(or_empty(group.name), part.take());
    }
    return Space::grouped(parts);
  }
  static void add_bounds(const broadloom_space& space, Space& out) {
    const bool none = space.low == 0.0f && space.high == 0.0f;
    const bool bytes = out.dtype == Dtype::kU8;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float low = !none ? space.low : bytes ? 0.0f : -kInfinity;
    const float high = !none ? space.high : bytes ? 255.0f : kInfinity;
    const std::size_t size = static_cast<std::size_t>(out.size);
    out.low.assign(size, low);
    out.high.assign(size, high);
    if (space.lows != nullptr) out.low.assign(space.lows, space.lows + size);
    if (space.highs != nullptr) out.high.assign(space.highs, space.highs + size);
  }
  const std::string& id_;
  const char* name_;
  bool is_observation_;
};

Status add_spaces(const broadloom_spec& described, EnvSpec& spec) {
  Result<Space> observation = SpaceReader(spec.id, "observation", true).read(described.observation);
  if (!observation.ok()) return observation.status();
  Result<Space> action = SpaceReader(spec.id, "action", false).read(described.action);
  if (!action.ok()) return action.status();
  spec.observation = observation.take();
  spec.action = action.take();
  const broadloom_space& own = described.critic_observation;
  if (has_no_array(own) && !has_groups(own)) return {};
  const SpaceReader reader(spec.id, "critic observation", true);
  if (has_groups(own)) return reader.refuse("has groups, which only the policy's observation has");
  Result<Space> critic = reader.read(own);
  if (!critic.ok()) return critic.status();
  spec.critic_observation = critic.take();
  return {};
}

Status add_reasons(const broadloom_spec& described, EnvSpec& spec) {
  const bool is_there = described.end_reasons != nullptr;
  const int most = is_there ? kMostReasons : 0;
  if (described.num_end_reasons < 0 || described.num_end_reasons > most) {
    return invalid(
        fmt::format("{}: describe() of the plug-in names {} end reasons{}, expected 0 to {}",
                    spec.id, described.num_end_reasons, is_there ? "" : " and gives NULL", most));
  }
  if (!is_there) return {};
  spec.end_reasons.clear();
  for (int r = 0; r < described.num_end_reasons; ++r) {
    spec.end_reasons.push_back(or_empty(described.end_reasons[r]));
  }
  spec.end_reasons.emplace_back("time_limit");
  return {};
}

constexpr int kMostNamed = 64;

// Adds the entries of one list of the spec. Names are checked later, with those of all
// environments.
template <class Entry, class Make>
Status add_named(const char* list, const Entry* entries, int count, const std::string& id,
                 const Make& make) {
  const int most = entries == nullptr ? 0 : kMostNamed;
  if (count < 0 || count > most) {
    return invalid(fmt::format("{}: describe() of the plug-in gives {} {}{}, expected 0 to {}", id,
                               count, list, entries == nullptr ? " in NULL" : "", most));
  }
  std::for_each(entries, entries + count, make);
  return {};
}

Status add_numbers(const broadloom_spec& described, bool are_counted, EnvSpec& spec) {
  BROADLOOM_TRY(add_named("reward_terms", described.reward_terms, described.num_reward_terms,
                          spec.id, [&](const broadloom_reward_term& term) {
                            spec.reward_terms.push_back({or_empty(term.name), term.weight});
                          }));
  BROADLOOM_TRY(
      add_named("measures", described.measures, described.num_measures, spec.id,
                [&](const broadloom_measure& measure) {
                  spec.measures.push_back({or_empty(measure.name), or_empty(measure.unit)});
                }));
  BROADLOOM_TRY(add_named("numbers of context", described.context, described.num_context, spec.id,
                          [&](const broadloom_context& one) {
                            spec.context.push_back({or_empty(one.name), one.low, one.high});
                          }));
  spec.counts_reward_terms = are_counted && !spec.reward_terms.empty();
  spec.world_seeds = {described.first_world, described.num_worlds};
  return {};
}

// Checks that the functions required by the spec are there.
Status check_functions(const PluginSpec& described, const broadloom_plugin& plugin) {
  const bool saves = described.state_size > 0;
  const bool on_device = described.has(BROADLOOM_STEPS_ON_DEVICE);
  const char* missing =
      described.spec.has_critic_observation() && plugin.observe_critic == nullptr ? "observe_critic"
      : saves && plugin.get_state == nullptr                                      ? "get_state"
      : saves && plugin.set_state == nullptr                                      ? "set_state"
      : !described.spec.measures.empty() && plugin.take_step_sums == nullptr      ? "take_step_sums"
      : !described.spec.context.empty() && plugin.context == nullptr              ? "context"
      : described.spec.action.masked && plugin.valid_actions == nullptr           ? "valid_actions"
      : on_device && plugin.device == nullptr                                     ? "device"
      : on_device && plugin.observe_final == nullptr                              ? "observe_final"
                                                                                  : nullptr;
  if (missing == nullptr) return {};
  return invalid(fmt::format("{}: describe() of the plug-in requires {}(), which is NULL",
                             described.spec.id, missing));
}

Result<PluginSpec> read_spec(const broadloom_spec& described, PluginSpec out,
                             const broadloom_plugin& plugin) {
  EnvSpec& spec = out.spec;
  BROADLOOM_TRY(add_spaces(described, spec));
  BROADLOOM_TRY(add_reasons(described, spec));
  BROADLOOM_TRY(add_numbers(described, plugin.take_step_sums != nullptr, spec));
  if (described.max_episode_steps < 0 || described.state_size < 0 ||
      described.state_size > kMostBytes) {
    return invalid(fmt::format(
        "{}: describe() of the plug-in gives max_episode_steps {} and state_size {}, expected at "
        "least 0, and at most {} bytes of state",
        spec.id, described.max_episode_steps, described.state_size, kMostBytes));
  }
  constexpr std::uint32_t kKnown = BROADLOOM_WHOLE_BATCH | BROADLOOM_NOT_DETERMINISTIC |
                                   BROADLOOM_RESETS_ITSELF | BROADLOOM_COMMON_BITS |
                                   BROADLOOM_ACTION_MASKS | BROADLOOM_STEPS_ON_DEVICE;
  constexpr std::uint32_t kOfDevice = BROADLOOM_WHOLE_BATCH | BROADLOOM_RESETS_ITSELF;
  const bool fits_device =
      (described.flags & kOfDevice) == kOfDevice && described.critic_observation.rank == 0;
  if ((described.flags & BROADLOOM_STEPS_ON_DEVICE) != 0 && !fits_device) {
    return invalid(
        fmt::format("{}: describe() of the plug-in sets BROADLOOM_STEPS_ON_DEVICE, which needs "
                    "BROADLOOM_WHOLE_BATCH and BROADLOOM_RESETS_ITSELF, and no critic_observation; "
                    "correct the flags, or leave this one out",
                    spec.id));
  }
  if ((described.flags & ~kKnown) != 0) {
    return invalid(
        fmt::format("{}: describe() of the plug-in sets the flags {:#x}, expected only those of "
                    "broadloom_flags, {:#x}",
                    spec.id, described.flags, kKnown));
  }
  spec.max_episode_steps = described.max_episode_steps;
  spec.names_success = described.names_success != 0;
  if (described.has_score_range != 0)
    spec.set_score_range(described.random_score, described.reference_score);
  spec.has_reward_threshold = described.has_reward_threshold != 0;
  spec.reward_threshold = described.reward_threshold;
  if (described.upstream != nullptr) spec.upstream = described.upstream;
  out.state_size = static_cast<std::size_t>(described.state_size);
  out.flags = described.flags;
  spec.action.masked = out.has(BROADLOOM_ACTION_MASKS);
  BROADLOOM_TRY(check_functions(out, plugin));
  return out;
}

}  // namespace

Status plugin_status(int result, const char* error, const std::string& id, const char* function) {
  if (result == BROADLOOM_OK) return {};
  const char* const known = result == BROADLOOM_REFUSED  ? " (BROADLOOM_REFUSED)"
                            : result == BROADLOOM_FAILED ? " (BROADLOOM_FAILED)"
                                                         : "";
  const std::string words =
      error[0] == '\0' ? fmt::format("returned {}{} without a message", result, known) : error;
  return {result == BROADLOOM_REFUSED ? ErrorKind::kInvalidConfig : ErrorKind::kIo,
          fmt::format("{}() of {}: {}", function, id, words)};
}

Result<PluginSpec> describe_plugin_task(const std::string& id, const PluginLibrary& library,
                                        const broadloom_task& task, const PluginValues& options) {
  const broadloom_plugin& plugin = *library.plugin;
  PluginSpec out;
  out.spec.id = id;
  out.spec.summary = or_empty(task.summary);
  out.spec.upstream = fmt::format("{} {}, a plug-in", plugin.name, plugin.version);
  out.spec.plugin = {plugin.name, plugin.version, library.hash};
  std::array<char, BROADLOOM_ERROR_SIZE> error{};
  broadloom_spec described{};
  const std::lock_guard lock(plugin_mutex());
  int result = BROADLOOM_OK;
  const CrashWatch watch;
  BROADLOOM_TRY(call_plugin(id, "describe", 0, 0, [&] {
    result = plugin.describe(&task, options.data(), &described, error.data());
  }));
  error.back() = '\0';
  BROADLOOM_TRY(plugin_status(result, error.data(), id, "describe"));
  // A count above an array's length reads beyond it. The plug-in is to blame for that crash, too.
  const PluginCall reading(id.c_str(), "describe");
  return read_spec(described, std::move(out), plugin);
}

}  // namespace broadloom
