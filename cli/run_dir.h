// The default folder of a run.
#pragma once

#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/files.h"

namespace broadloom::cli {

// An environment's id, or a name with one in it, as a file name: "MinAtar/Breakout-v1" becomes
// "MinAtar_Breakout-v1", and "plugin:libmine.so:Task-v0" becomes "plugin_libmine.so_Task-v0".
std::string file_name(std::string id);

// A path that is relative to the folder `base`; "": the current one.
std::string whole_path(const std::string& base, const std::string& path);

// The same, but `path` itself while the process is in `base`: messages and records then name it as
// its user did.
std::string path_from(const std::string& base, const std::string& path);

// Makes an empty folder runs/<file_name(name)>__<unix time>, with -2, -3, ... if that exists
// already. base: the folder that has runs/; "": the current one. kIo.
Result<std::string> default_run_dir(const std::string& name, FoldersToFill& folders,
                                    const std::string& base = "");

}  // namespace broadloom::cli
