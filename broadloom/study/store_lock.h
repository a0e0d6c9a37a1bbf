// Keeps a second runner out of a store, and lets everybody read it.
#pragma once

#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// Held from acquire() until the value is destroyed or the process ends, however it ends. It lies on
// a byte of the file that SQLite never uses, so SQLite's own locks are not touched. It must be
// acquired before SQLite opens the file and outlive that connection.
class StoreLock {
 public:
  StoreLock() = default;
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;

  // Makes the file, empty, where there is none. kIo where another process holds the lock, or where
  // the file cannot be opened or locked.
  static Result<StoreLock> acquire(const std::string& path);

 private:
  int fd_ = -1;
};

}  // namespace broadloom
