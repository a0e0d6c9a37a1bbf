// Keeps a second writer out of a file or a folder, and lets everybody read.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/files.h"

namespace broadloom {

// Held from try_acquire() until the value is destroyed, whatever the process has forked off
// meanwhile, or until the process ends, however it ends: it is the system's, and leaves nothing
// behind that would have to be cleared. It lies on a byte of the file that nobody uses, SQLite
// neither, whose own locks are not touched.
class FileLock {
 public:
  FileLock() = default;  // holds nothing
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  // Nothing where somebody else holds it, in this process or another one. Makes the file, empty,
  // where there is none. Errors: those of open_in_place(), and kIo on a file system that has no
  // locks.
  static Result<std::optional<FileLock>> try_acquire(const std::string& path,
                                                     Links links = Links::kRefuse);

  // Makes `text` all that the file holds; it is never empty on the way.
  Status write(const std::string& text);

 private:
  void release();

  int fd_ = -1;
  pid_t holder_ = 0;  // the process that acquired it
  std::string path_;
};

}  // namespace broadloom
