// Which code ids and options may name.
//
// An id may name code: "plugin:<file>:<task>" a shared library, "gymnasium/<name>" a package of
// Python. So may an option, such as Procgen's `library`. Checkpoints, ledgers and panels hold such
// settings, and their writer need not be who reads them. Code is therefore loaded only where the
// person at this process has named it; docs/trust.md has the rule. What is allowed once stays so
// for the process. Any thread may call these functions.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Where libraries are looked for that are not there as they were named, and which libraries need no
// other leave: folders, with ':' between them. Files in their own folders do not count.
inline constexpr char kPluginPathVariable[] = "BROADLOOM_PLUGIN_PATH";
std::vector<std::string> plugin_folders();

// what: a library, a folder of libraries, or a namespace of ids such as "gymnasium". kNotFound
// where it is none of these.
Status allow_code(const std::string& what);

// Settings that a person gave to this process: allows what env_id names, and as values of options
// the files that `env.` keys name.
void allow_settings(const Overrides& given);

// Ok, or kInvalidConfig with the flag that allows it.
Status check_library_allowed(const std::string& path, const std::string& named);
Status check_option_allowed(const std::string& option, const std::string& path);
Status check_namespace_allowed(const std::string& name);

// " --allow_plugin <what>", for a command that reads this id from a file; "" where none is needed.
std::string allow_flag(const std::string& env_id);

}  // namespace broadloom
