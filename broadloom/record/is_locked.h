// Looks whether a FileLock is held, without taking it.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// Whether this or another process holds the lock of the file. False if there is no such file. kIo
// on a file system without locks.
Result<bool> is_locked(const std::string& path);

}  // namespace broadloom
