// Where a run goes when nobody says.
#pragma once

#include <string>

namespace broadloom::cli {

// The id of an environment, or what has one in it, as the name of a file: "MinAtar/Breakout-v1" is
// "MinAtar_Breakout-v1", and "plugin:libmine.so:Task-v0" "plugin_libmine.so_Task-v0".
std::string file_name(std::string id);

// runs/<file_name(name)>__<unix time>, with -2, -3, ... where that is there already.
std::string default_run_dir(const std::string& name);

}  // namespace broadloom::cli
