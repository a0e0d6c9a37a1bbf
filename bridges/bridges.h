// Adapters to simulators of others, each an option of the build.
#pragma once

#include "broadloom/core/status.h"

namespace broadloom {

// Makes known what this build has of them: their environments as the library's own, and of the
// others the ids, so that who asks for one is told how to get it. Once a process; more often
// changes nothing. An id that the program has registered already stays the program's.
void register_bridges();

}  // namespace broadloom
