// Excludes a second writer of a file or folder. Reading stays possible.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/record/files.h"

namespace broadloom {

// Held from try_acquire() until the value is destroyed or the process ends in any way. Forked
// processes do not keep it. The operating system holds the lock, so there is nothing to clean up
// after a crash. It covers an unused byte of the file and does not interfere with SQLite's locks.
class FileLock {
 public:
  FileLock() = default;  // holds nothing
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  // nullopt if the lock is held elsewhere, in this or another process. Creates an empty file if it
  // does not exist. Errors: those of open_in_place(), and kIo on a file system without locks.
  static Result<std::optional<FileLock>> try_acquire(const std::string& path,
                                                     Links links = Links::kRefuse);

  // Replaces the file's content. The file is never empty in between.
  Status write(const std::string& text);

 private:
  void release();

  int fd_ = -1;
  pid_t holder_ = 0;  // the process that acquired it
  std::string path_;
};

}  // namespace broadloom
