// The default folder of a run.
#pragma once

#include <string>

namespace broadloom::cli {

// An environment's id, or a name with one in it, as a file name: "MinAtar/Breakout-v1" becomes
// "MinAtar_Breakout-v1", and "plugin:libmine.so:Task-v0" becomes "plugin_libmine.so_Task-v0".
std::string file_name(std::string id);

// runs/<file_name(name)>__<unix time>, with -2, -3, ... if that exists already.
std::string default_run_dir(const std::string& name);

}  // namespace broadloom::cli
