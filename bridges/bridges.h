// Adapters to simulators of others, each an option of the build.
#pragma once

#include <string>

namespace broadloom {

// Makes known what this build has of them: their environments as the library's own, and of the
// others the ids, so that who asks for one is told how to get it. Once a process; more often
// changes nothing. An id that the program has registered already stays the program's.
void register_bridges();

// A folder in which Python's packages lie, to look for simulators there before where the build
// found them; the last one added comes first. Before environments of theirs are made.
void add_package_folder(const std::string& folder);

}  // namespace broadloom
