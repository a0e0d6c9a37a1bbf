// Where a run goes when nobody says.
#pragma once

#include <string>

namespace broadloom::cli {

// runs/<name>__<unix time>, with -2, -3, ... where that is there already.
std::string default_run_dir(const std::string& name);

}  // namespace broadloom::cli
