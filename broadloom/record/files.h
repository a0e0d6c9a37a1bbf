// Files that are never half-written, and logs that can be cut back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"

namespace broadloom {

// The whole file's bytes. kNotFound or kIo.
Result<std::string> read_file(const std::string& path);

// Writes beside and renames: after a kill at any moment the path holds the old bytes or the new
// ones. The data has reached the disk when it returns. kIo says what failed and what to do.
Status write_file_atomically(const std::string& path, std::string_view bytes);

// Has a file's name, or its renaming, on the disk: that is the folder's doing. kIo.
Status sync_folder_of(const std::string& path);

// kCorrupt: a log has fewer bytes than a checkpoint says.
Status cut_short_error(const std::string& path, std::int64_t bytes, std::int64_t expected);

// A file that grows record by record, each in a single write. It has one writer: what others append
// to it would be cut.
class AppendLog {
 public:
  AppendLog() = default;
  ~AppendLog();
  AppendLog(AppendLog&& other) noexcept;
  AppendLog& operator=(AppendLog&& other) noexcept;

  // Opens or creates the file and cuts it to keep_bytes. kCorrupt where it is shorter than that.
  static Result<AppendLog> open(const std::string& path, std::int64_t keep_bytes);

  // On failure the file is cut back to the last whole record.
  Status append(std::string_view record);
  // Has what was appended on the disk when it returns.
  Status sync();
  std::int64_t bytes() const { return bytes_; }
  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }  // "" of one that is not open

 private:
  int fd_ = -1;
  std::int64_t bytes_ = 0;
  std::string path_;
};

// A file that several processes append to, one at a time: held from open() until the value is
// destroyed or the process ends. Whoever else opens it waits.
class SharedLog {
 public:
  SharedLog() = default;
  ~SharedLog();
  SharedLog(SharedLog&& other) noexcept;
  SharedLog& operator=(SharedLog&& other) noexcept;

  // Opens or creates the file, and ends its last line where that has no end. kIo or kNotFound.
  static Result<SharedLog> open(const std::string& path);

  // All of the record, on the disk when it returns, or nothing of it.
  Status append(std::string_view record);

 private:
  int fd_ = -1;
  std::string path_;
};

// "cannot <what> 'path': <reason of errno>", with advice for a full disk or missing rights.
Status io_error(const std::string& what, const std::string& path);

}  // namespace broadloom
