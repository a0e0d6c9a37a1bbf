// Environments by id: the library's own, and those that a program registers.
//
//   Result<EnvSpec> spec = env_spec("FrozenLake-v1", {{"map_name", "8x8"}});
//   Result<std::unique_ptr<VecEnv>> envs = make_vec_env("CartPole-v1", {}, {.num_envs = 16});
//
// Options are names and texts, as they stand behind `--env.` on the command line.
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

// Makes an environment known by its spec's id, so that everything finds it that finds the
// library's own. register_environment.h has the one-line forms. kInvalidConfig where the id is
// taken or cannot name a folder, a function is missing, or the spec is not one. Any thread may
// call it, but register before anything else is called: what looked an id up before did not find
// it.
Status register_environment(EnvEntry entry);

// The same, where the id may be that of an environment that this program registered before, as a
// notebook's cell does that runs twice. Lookups from now on find the new one; environments that
// were made stay as they are.
Status replace_environment(EnvEntry entry);

// Environments of a bridge (bridges/), as the library's own. One whose id is taken is left out.
void register_built_in(EnvEntry entry);

// Environments that a build without their simulator has not, and how to get them, which is what is
// said to who asks for one.
struct AbsentEnvironments {
  std::vector<std::string> ids;  // such as "Hopper-v5"
  std::string simulator;         // "MuJoCo"
  std::string how_to_get;        // "run `tools/setup.sh --mujoco` and build again"
};
// Adds to the list of them; a bridge that was left out of the build calls it.
void announce_absent(AbsentEnvironments absent);
// All that were announced.
std::vector<AbsentEnvironments> list_absent();

// What to call for an id that nobody registered and that begins with a namespace,
// "gymnasium/Hopper-v5": it is given the whole id and gives what is to be registered under it, or
// says why there is none.
using OpenEnvironment = std::function<Result<EnvEntry>(const std::string& id)>;

// Makes all environments of a namespace known, each when it is first asked for, so that ids of
// another library need not be registered one by one. kInvalidConfig where the namespace is taken or
// no name. Register before anything else is called, as above.
Status register_namespace(const std::string& name, OpenEnvironment open);

// Whether the environment comes with the library; false also for an unknown id.
bool is_built_in(const std::string& id);

// N environments of the given id. env_options: options of the environment, as list_env_options
// names them, those of stacks of frames (env/frame_stack.h) among them, and keys of strata
// (env/strata.h) and disturbances (env/disturbance.h). Errors name
// an unknown id or option with the nearest known one, and what a registered environment's factory
// gave where that is not what was asked for.
Result<std::unique_ptr<VecEnv>> make_vec_env(const std::string& id, const Overrides& env_options,
                                             const VecEnvOptions& options);

// Specs of all environments: the library's, then the program's in the order they were registered.
std::vector<EnvSpec> list_envs();

// The spec of one, with its options' effect on spaces, and the time limit where one is given (0:
// its own); errors as make_vec_env.
Result<EnvSpec> env_spec(const std::string& id, const Overrides& env_options,
                         int max_episode_steps = 0);

// The options of one, with defaults, ranges and docs. Those of stacks of frames are among them
// where it shows images under env_options. Errors: no such environment; env_options are not judged.
Result<std::vector<FieldInfo>> list_env_options(const std::string& id,
                                                const Overrides& env_options = {});

// The exact transition table of an environment that has one; time limits are no part of it, see
// EnvSpec::max_episode_steps. kInvalidConfig, with the ids that would do, where the environment has
// no table; other errors as make_vec_env.
Result<TabularModel> make_tabular_model(const std::string& id, const Overrides& env_options);

}  // namespace broadloom
