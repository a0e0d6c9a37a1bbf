// Rules for loading code that ids and options name.
//
// An id may name code: "plugin:<file>:<task>" is a shared library, "gymnasium/<name>" a Python
// package. An option may, too, such as Procgen's `library`. Checkpoints, ledgers and panels store
// such settings, and someone else may have written them. So code is loaded only if the person who
// started this process named it. docs/trust.md has the rule. Permission lasts for the whole
// process. These functions are thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Folders to search for libraries, with ':' between them. Libraries there need no other permission,
// but those in subfolders do.
inline constexpr char kPluginPathVariable[] = "BROADLOOM_PLUGIN_PATH";
std::vector<std::string> plugin_folders();

// Allows a library, a folder of libraries, or a namespace of ids such as "gymnasium". kNotFound if
// `what` is none of these.
Status allow_code(const std::string& what);

// Allows the code in settings that a person gave to this process: env_id, and files named by `env.`
// keys, as option values only.
void allow_settings(const Overrides& given);

// kInvalidConfig if the code is not allowed; the message names the flag that allows it.
Status check_library_allowed(const std::string& path, const std::string& named);
Status check_option_allowed(const std::string& option, const std::string& path);
Status check_namespace_allowed(const std::string& name);

// Whether ids of this namespace are opened by the Python package, as "gymnax/CartPole-v1".
bool is_opened_by_python(std::string_view name);

// The flag " --allow_plugin <what>" for a command that reads this id from a file; "" if none is
// needed.
std::string allow_flag(const std::string& env_id);

}  // namespace broadloom
