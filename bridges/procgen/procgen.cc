// Procgen's sixteen games as a plug-in: plugin:libbroadloom_procgen.so:coinrun. See
// docs/plugins.md.
//
// Each environment is a separate handle of libenv, made with a seed that follows from its key. So
// it depends on no other environment. Procgen resets within a step, so the last observation of an
// episode is lost. Truncation at Procgen's limit is detected by counting steps.
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "bridges/procgen/games.h"
#include "bridges/procgen/libenv.h"
#include "broadloom/env/plugins/broadloom_plugin.h"

namespace procgen {
namespace {

enum OptionIndex {
  kNumLevels,
  kStartLevel,
  kDistributionMode,
  kSequential,
  kCenterAgent,
  kBackgrounds,
  kGeneratedAssets,
  kMonochrome,
  kRestrictThemes,
  kVelocity,
  kLibrary,
  kNumOptions
};

constexpr std::array<broadloom_option, kNumOptions> kOptions = {{
    {"num_levels", BROADLOOM_INT, "200", 0, 2147483647, nullptr,
     "Number of levels to draw episodes from, beginning at start_level; 0: all 2^31."},
    {"start_level", BROADLOOM_INT, "0", 0, 2147483647, nullptr,
     "The first level, if num_levels is not 0."},
    {"distribution_mode", BROADLOOM_TEXT, "easy", 0, 0, "easy|hard|extreme|memory",
     "Kind of levels; not every game has extreme and memory."},
    {"use_sequential_levels", BROADLOOM_BOOL, "false", 0, 0, nullptr,
     "Whether the episode continues with the next level after a completed one."},
    {"center_agent", BROADLOOM_BOOL, "true", 0, 0, nullptr, "Whether the view follows the agent."},
    {"use_backgrounds", BROADLOOM_BOOL, "true", 0, 0, nullptr, "Whether to draw backgrounds."},
    {"use_generated_assets", BROADLOOM_BOOL, "false", 0, 0, nullptr,
     "Whether to use random blocks instead of drawings."},
    {"use_monochrome_assets", BROADLOOM_BOOL, "false", 0, 0, nullptr,
     "Whether to use rectangles of one colour."},
    {"restrict_themes", BROADLOOM_BOOL, "false", 0, 0, nullptr,
     "Whether objects with several pictures use only one of them."},
    {"paint_vel_info", BROADLOOM_BOOL, "false", 0, 0, nullptr,
     "Whether the picture shows the agent's speed."},
    {"library", BROADLOOM_LIBRARY, "", 0, 0, nullptr,
     "Procgen's libenv.so, or the package's folder; empty: PROCGEN_PATH and Python's folders."},
}};

constexpr int kActions = 15;
constexpr std::size_t kPixels = 64 * 64 * 3;
constexpr int kMostState = 1 << 16;  // the largest seen is 40 KB

// A saved state: this header, then Procgen's own bytes.
struct StateHeader {
  std::int32_t size;
  std::int32_t age;
};

struct Environment {
  void* handle = nullptr;
  std::array<std::uint8_t, kPixels> pixels{};
  std::int32_t action = 0;
  float reward = 0.0f;
  std::uint8_t first = 0;
  std::array<std::int32_t, 8> info{};  // one number of each
  std::array<void*, 1> observations{};
  std::array<void*, 1> actions{};
  std::array<void*, 8> infos{};
  Buffers buffers{};
  std::int32_t age = 0;  // steps of the episode
};

struct Simulator {
  const Found* found;
  const Game* game;
  std::int32_t limit;
  std::array<std::int32_t, kNumOptions> values{};  // of numeric options
  int success_info = -1;                           // index of prev_level_complete in the infos
  std::vector<Environment> envs;
};

Environment& env_at(Simulator& all, std::int32_t index) {
  return all.envs[static_cast<std::size_t>(index)];
}

// Options by name for libenv_make(). An unknown option would end the process.
class OptionList {
 public:
  void add(const char* name, std::int32_t value) {
    integers_[count_] = value;
    add(name, kInt32, 1, &integers_[count_]);
  }
  void add_flag(const char* name, bool value) {
    flags_[count_] = value ? 1 : 0;
    add(name, kUint8, 1, &flags_[count_]);
  }
  void add(const char* name, const char* text) {
    add(name, kUint8, static_cast<int>(std::strlen(text)), const_cast<char*>(text));
  }
  Options get() { return {options_.data(), count_}; }

 private:
  void add(const char* name, int dtype, int count, void* data) {
    Option& option = options_[static_cast<std::size_t>(count_++)];
    std::snprintf(option.name, sizeof(option.name), "%s", name);
    option.dtype = dtype;
    option.count = count;
    option.data = data;
  }

  static constexpr std::size_t kMost = 20;
  std::array<Option, kMost> options_{};
  std::array<std::int32_t, kMost> integers_{};
  std::array<std::uint8_t, kMost> flags_{};
  int count_ = 0;
};

void* make_handle(const Simulator& all, std::int32_t seed) {
  OptionList options;
  options.add("env_name", all.game->name);
  options.add("num_levels", all.values[kNumLevels]);
  options.add("start_level", all.values[kStartLevel]);
  options.add("num_actions", kActions);
  options.add_flag("use_sequential_levels", all.values[kSequential] != 0);
  options.add("debug_mode", 0);
  options.add("rand_seed", seed);
  options.add("num_threads", 0);  // the calling thread steps
  options.add_flag("render_human", false);
  options.add("resource_root", all.found->assets);
  options.add_flag("center_agent", all.values[kCenterAgent] != 0);
  options.add_flag("use_generated_assets", all.values[kGeneratedAssets] != 0);
  options.add_flag("use_monochrome_assets", all.values[kMonochrome] != 0);
  options.add_flag("restrict_themes", all.values[kRestrictThemes] != 0);
  options.add_flag("use_backgrounds", all.values[kBackgrounds] != 0);
  options.add_flag("paint_vel_info", all.values[kVelocity] != 0);
  options.add("distribution_mode", all.values[kDistributionMode]);
  return all.found->functions.make(1, options.get());
}

// Index of the info that reports success of the ended episode.
int find_success_info(const Libenv& libenv, void* handle) {
  const int count = libenv.tensor_types(handle, kInfo, nullptr);
  if (count < 0 || count > 8) return -1;
  std::array<TensorType, 8> types{};
  libenv.tensor_types(handle, kInfo, types.data());
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(types[static_cast<std::size_t>(i)].name, "prev_level_complete") == 0) return i;
  }
  return -1;
}

void connect(const Libenv& libenv, Environment& env) {
  env.observations[0] = env.pixels.data();
  env.actions[0] = &env.action;
  for (std::size_t i = 0; i < env.infos.size(); ++i) env.infos[i] = &env.info[i];
  env.buffers = {env.observations.data(), &env.reward, &env.first, env.infos.data(),
                 env.actions.data()};
  libenv.set_buffers(env.handle, &env.buffers);
  libenv.observe(env.handle);
}

int reset(void* simulator, std::int32_t index, std::uint64_t key, char* error) {
  static std::mutex making;
  auto& all = *static_cast<Simulator*>(simulator);
  const Libenv& libenv = all.found->functions;
  Environment& env = env_at(all, index);
  const std::lock_guard lock(making);
  if (env.handle != nullptr) libenv.close(env.handle);
  env.handle = make_handle(all, static_cast<std::int32_t>(key >> 33));
  if (env.handle == nullptr) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE, "libenv_make() returned no environment");
    return BROADLOOM_FAILED;
  }
  if (all.success_info < 0) all.success_info = find_success_info(libenv, env.handle);
  connect(libenv, env);
  env.age = 0;
  return BROADLOOM_OK;
}

int step(void* simulator, std::int32_t begin, std::int32_t end, const broadloom_step* step, char*) {
  auto& all = *static_cast<Simulator*>(simulator);
  const Libenv& libenv = all.found->functions;
  for (std::int32_t k = 0; k < end - begin; ++k) {
    Environment& env = env_at(all, begin + k);
    env.action = step->choices[k];
    libenv.act(env.handle);
    libenv.observe(env.handle);
    env.age += 1;
    step->rewards[k] = env.reward;
    if (env.first == 0) continue;
    const std::uint8_t won =
        all.success_info < 0
            ? 0
            : *static_cast<std::uint8_t*>(env.infos[static_cast<std::size_t>(all.success_info)]);
    step->successes[k] = won != 0 ? 1 : 0;
    step->truncated[k] = env.age >= all.limit && won == 0 ? 1 : 0;
    step->terminated[k] = step->truncated[k] == 0 ? 1 : 0;
    env.age = 0;
  }
  return BROADLOOM_OK;
}

void observe(void* simulator, std::int32_t begin, std::int32_t end, void* rows) {
  auto& all = *static_cast<Simulator*>(simulator);
  for (std::int32_t k = 0; k < end - begin; ++k) {
    std::memcpy(static_cast<std::uint8_t*>(rows) + static_cast<std::size_t>(k) * kPixels,
                env_at(all, begin + k).pixels.data(), kPixels);
  }
}

int get_state(void* simulator, std::int32_t index, void* bytes, char* error) {
  auto& all = *static_cast<Simulator*>(simulator);
  const Environment& env = env_at(all, index);
  constexpr int kRoom = 1 << 20;  // Procgen ends the process if its state does not fit
  std::vector<char> state(kRoom);
  const int size = all.found->functions.get_state(env.handle, 0, state.data(), kRoom);
  if (size < 0 || size > kMostState - static_cast<int>(sizeof(StateHeader))) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE, "a state of %d bytes, expected at most %d", size,
                  kMostState);
    return BROADLOOM_FAILED;
  }
  const StateHeader header{size, env.age};
  std::memcpy(bytes, &header, sizeof(header));
  std::memcpy(static_cast<char*>(bytes) + sizeof(header), state.data(),
              static_cast<std::size_t>(size));
  return BROADLOOM_OK;
}

int set_state(void* simulator, std::int32_t index, const void* bytes, char* error) {
  auto& all = *static_cast<Simulator*>(simulator);
  const Libenv& libenv = all.found->functions;
  Environment& env = env_at(all, index);
  StateHeader header{};
  std::memcpy(&header, bytes, sizeof(header));
  if (header.size <= 0 || header.size > kMostState - static_cast<int>(sizeof(header))) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE, "a state of %d bytes is not a state of Procgen",
                  header.size);
    return BROADLOOM_REFUSED;
  }
  std::vector<char> state(static_cast<const char*>(bytes) + sizeof(header),
                          static_cast<const char*>(bytes) + sizeof(header) + header.size);
  libenv.set_state(env.handle, 0, state.data(), header.size);
  libenv.observe(env.handle);
  env.age = header.age;
  return BROADLOOM_OK;
}

const Game& game_of(const broadloom_task* task) { return *static_cast<const Game*>(task->user); }

std::int32_t limit_of(const Game& game, int mode) {
  return mode == kMemory ? game.memory_limit : game.limit;
}

// Checks options for which Procgen would end the process.
int check(const Game& game, const broadloom_value* options, char* error) {
  const int mode = mode_of(options[kDistributionMode].text);
  const bool has_mode = mode == kEasy || mode == kHard || (mode == kExtreme && game.has_extreme) ||
                        (mode == kMemory && game.memory_limit > 0);
  if (!has_mode) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE, "distribution_mode is %s, which %s does not have",
                  options[kDistributionMode].text, game.name);
    return BROADLOOM_REFUSED;
  }
  if (options[kStartLevel].integer + options[kNumLevels].integer > 2147483647) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE,
                  "start_level + num_levels is %" PRId64 ", expected at most 2147483647",
                  options[kStartLevel].integer + options[kNumLevels].integer);
    return BROADLOOM_REFUSED;
  }
  return BROADLOOM_OK;
}

int describe(const broadloom_task* task, const broadloom_value* options, broadloom_spec* spec,
             char* error) {
  const Game& game = game_of(task);
  const int checked = check(game, options, error);
  if (checked != BROADLOOM_OK) return checked;
  const int mode = mode_of(options[kDistributionMode].text);
  spec->observation.dtype = BROADLOOM_UINT8;
  spec->observation.rank = 3;
  spec->observation.shape[0] = spec->observation.shape[1] = 64;
  spec->observation.shape[2] = 3;
  spec->action.kind = BROADLOOM_DISCRETE;
  spec->action.rank = 1;
  spec->action.shape[0] = kActions;
  spec->max_episode_steps = limit_of(game, mode);
  spec->names_success = 1;
  if (mode == kEasy) {
    spec->has_score_range = 1;
    spec->random_score = game.low;
    spec->reference_score = game.high;
  }
  spec->upstream = "Procgen 0.10.7, libenv.so";
  spec->state_size = kMostState;
  spec->flags = BROADLOOM_RESETS_ITSELF;
  if (options[kNumLevels].integer > 0) {  // with all levels, few repeat
    spec->first_world = static_cast<std::uint64_t>(options[kStartLevel].integer);
    spec->num_worlds = static_cast<std::uint64_t>(options[kNumLevels].integer);
  }
  return BROADLOOM_OK;
}

int make(const broadloom_task* task, const broadloom_value* options, std::int32_t num_envs,
         void** simulator, char* error) {
  const Found* found = load(options[kLibrary].text, error);
  if (found == nullptr) return BROADLOOM_REFUSED;
  const Game& game = game_of(task);
  const int mode = mode_of(options[kDistributionMode].text);
  auto* all = new Simulator{found, &game, limit_of(game, mode), {}, -1, {}};
  for (std::size_t o = 0; o < kNumOptions; ++o) {
    all->values[o] = static_cast<std::int32_t>(options[o].integer);
  }
  all->values[kDistributionMode] = mode;
  all->envs = std::vector<Environment>(static_cast<std::size_t>(num_envs));
  *simulator = all;
  return BROADLOOM_OK;
}

void close(void* simulator) {
  auto* all = static_cast<Simulator*>(simulator);
  for (const Environment& env : all->envs) {
    if (env.handle != nullptr) all->found->functions.close(env.handle);
  }
  delete all;
}

std::vector<broadloom_task> tasks() {
  std::vector<broadloom_task> out;
  for (const Game& game : kGames) {
    out.push_back({game.name, "A game of Procgen: levels that a program draws, 64 x 64 pixels.",
                   kOptions.data(), kNumOptions, &game});
  }
  return out;
}

}  // namespace
}  // namespace procgen

extern "C" const broadloom_plugin* broadloom_get_plugin() {
  static const std::vector<broadloom_task> tasks = procgen::tasks();
  static const broadloom_plugin plugin = {BROADLOOM_PLUGIN_ABI,
                                          "broadloom_procgen",
                                          "1.0",
                                          tasks.data(),
                                          static_cast<std::int32_t>(tasks.size()),
                                          procgen::describe,
                                          procgen::make,
                                          procgen::close,
                                          procgen::reset,
                                          procgen::step,
                                          procgen::observe,
                                          nullptr,
                                          nullptr,
                                          procgen::get_state,
                                          procgen::set_state,
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          nullptr};
  return &plugin;
}
