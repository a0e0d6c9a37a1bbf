// Files that are never half-written, and logs that can be cut back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broadloom/core/read_file.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Writes beside and renames: after a kill at any moment the path holds the old bytes or the new
// ones. Until then the new ones have no name where the file system can do that, so that a kill
// leaves nothing. The data has reached the disk when it returns. kIo says what failed and what to
// do.
Status write_file_atomically(const std::string& path, std::string_view bytes);
// The same of bytes that lie in parts, one after the other.
Status write_file_atomically(const std::string& path, std::span<const std::string_view> parts);

// Whether write_file_atomically() would find room for so many bytes now. To be asked before hours
// of work. kIo, kNotFound.
Status check_room(const std::string& path, std::size_t bytes = 1 << 20);

// Makes a folder and those on the way to it, each with its name on the disk. kIo.
Status make_folders(const std::string& path);

// Has a file's name, or its renaming, on the disk: that is the folder's doing. kIo.
Status sync_folder_of(const std::string& path);

// Whether to follow a symbolic link where a file is to be written in place. A path that a person
// named may be one. A run's folder may be anybody's, and a link in it would lead out of it.
enum class Links { kRefuse, kFollow };

// Opens or makes a regular file to be written in place, and gives its descriptor; the name of a new
// one is on the disk. flags: those of open(). kIo or kNotFound; kCorrupt for a link that is
// refused, and likewise for a file with names elsewhere (hard links).
Result<int> open_in_place(const std::string& path, int flags, Links links);

// kCorrupt: a log has fewer bytes than a checkpoint says.
Status cut_short_error(const std::string& path, std::int64_t bytes, std::int64_t expected);

// A file of a run that grows record by record, each in a single write. It has one writer: what
// others append to it would be cut.
class AppendLog {
 public:
  AppendLog() = default;
  ~AppendLog();
  AppendLog(AppendLog&& other) noexcept;
  AppendLog& operator=(AppendLog&& other) noexcept;

  // Opens or creates the file and cuts it to keep_bytes. kCorrupt where it is shorter than that, or
  // a link.
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

  // Opens or creates the file, and ends its last line where that has no end. Errors: those of
  // open_in_place().
  static Result<SharedLog> open(const std::string& path, Links links = Links::kRefuse);

  // All of the record, on the disk when it returns, or nothing of it.
  Status append(std::string_view record);

 private:
  int fd_ = -1;
  std::string path_;
};

}  // namespace broadloom
