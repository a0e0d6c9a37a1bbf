// Environments by id: the library's own, and those that a program registers.
//
//   Result<EnvSpec> spec = env_spec("FrozenLake-v1", {{"map_name", "8x8"}});
//   Result<std::unique_ptr<VecEnv>> envs = make_vec_env("CartPole-v1", {}, {.num_envs = 16});
//
// Options are names and texts, as after `--env.` on the command line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/tabular.h"
#include "broadloom/env/tasks/env_entry.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Registers an environment under its spec's id, like the library's own. register_environment.h has
// one-line forms. kInvalidConfig if the id is taken or cannot name a folder, a function is missing,
// or the spec is invalid. Thread-safe, but register before any other call: earlier lookups did not
// find the id.
Status register_environment(EnvEntry entry);

// Like register_environment(), but replaces an environment that this program registered before, for
// example when a notebook cell runs twice. Later lookups find the new one. Existing environments
// stay unchanged.
Status replace_environment(EnvEntry entry);

// Registers an environment of a bridge (bridges/) as the library's own. Ignores an id that is
// taken.
void register_built_in(EnvEntry entry);

// Environments that this build lacks, since it was built without their simulator. Errors for these
// ids say how to get it.
struct AbsentEnvironments {
  std::vector<std::string> ids;  // such as "Hopper-v5"
  std::string simulator;         // "MuJoCo"
  std::string how_to_get;        // "run `tools/setup.sh --mujoco` and build again"
};
// Adds to the list. A bridge that is not part of the build calls it.
void announce_absent(AbsentEnvironments absent);
// Lists all announced environments.
std::vector<AbsentEnvironments> list_absent();

// Makes an entry for an unregistered id with a namespace, such as "gymnasium/Hopper-v5". It gets
// the whole id and returns the entry to register under it, or an error.
using OpenEnvironment = std::function<Result<EnvEntry>(const std::string& id)>;

// Registers a namespace. Its environments are opened on first use, so ids of another library need
// not be registered one by one. kInvalidConfig if the name is taken or invalid. Register before any
// other call, as above.
Status register_namespace(const std::string& name, OpenEnvironment open);

// Whether the environment comes with the library. False for unknown ids.
bool is_built_in(const std::string& id);

// Makes N environments.
// - env_options: options of the environment (see list_env_options()), of scaled actions
//   (env/action_scale.h), hidden numbers (env/hidden_numbers.h), frame stacks (env/frame_stack.h),
//   strata (env/strata.h) and disturbances (env/disturbance.h).
// Errors: an unknown id or option, with the nearest known one; a registered environment's factory
// that returns something else than requested.
Result<std::unique_ptr<VecEnv>> make_vec_env(const std::string& id, const Overrides& env_options,
                                             const VecEnvOptions& options);

// Specs of all environments: the library's, then the program's in order of registration.
std::vector<EnvSpec> list_envs();

// The spec of an environment under options. max_episode_steps: the time limit; 0: its own. Errors
// of make_vec_env().
Result<EnvSpec> env_spec(const std::string& id, const Overrides& env_options,
                         int max_episode_steps = 0);

// kInvalidConfig if disturb.obs_noise_of names numbers that env.hide_obs hides from everybody. For
// new configs: records of such runs stay readable.
Status check_noise_is_seen(const std::string& id, const Overrides& env_options);

// The options of an environment, with defaults, ranges and docs. They include those of frame stacks
// if it observes a Box under env_options. Fails only for an unknown id; env_options are not
// checked.
Result<std::vector<FieldInfo>> list_env_options(const std::string& id,
                                                const Overrides& env_options = {});

// The exact transition table of a tabular environment, without its time limit
// (EnvSpec::max_episode_steps). kInvalidConfig, with the tabular ids, if it has none; other errors
// of make_vec_env().
Result<TabularModel> make_tabular_model(const std::string& id, const Overrides& env_options);

}  // namespace broadloom
