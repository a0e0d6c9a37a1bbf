// Files that are never half-written, and logs that can be truncated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/read_file.h"
#include "broadloom/core/status.h"

namespace broadloom {

// Writes a temporary file and renames it: after a kill at any moment, the path holds the old bytes
// or the new ones. If the file system can, the temporary file has no name, so a kill leaves nothing
// behind. The data is on the disk when it returns. kIo names the failure and what to do.
Status write_file_atomically(const std::string& path, std::string_view bytes);
// The same for bytes in several consecutive parts.
Status write_file_atomically(const std::string& path, std::span<const std::string_view> parts);

// Checks, before hours of work, that write_file_atomically() has room for so many bytes now. kIo,
// kNotFound.
Status check_room(const std::string& path, std::size_t bytes = 1 << 20);

// Makes a folder and its parents, with their names on the disk. kIo.
Status make_folders(const std::string& path);

// Folders that a command is about to fill. Its end removes new ones that are still empty, so that a
// command that fails leaves nothing behind.
class FoldersToFill {
 public:
  FoldersToFill() = default;
  ~FoldersToFill();
  FoldersToFill(const FoldersToFill&) = delete;
  FoldersToFill& operator=(const FoldersToFill&) = delete;

  // As make_folders().
  Status make(const std::string& path);
  // The same, but false if the innermost folder exists already. If several processes or threads
  // call it at once, one makes the folder.
  Result<bool> make_new(const std::string& path);

 private:
  std::vector<std::string> made_;  // the innermost first
};

// Syncs the folder of a path, so that a new or renamed file's name is on the disk. kIo.
Status sync_folder_of(const std::string& path);

// Whether to follow a symbolic link when a file is written in place. A path that the user names may
// be a link. A run's folder may come from somebody else, and a link in it would lead out of it.
enum class Links { kRefuse, kFollow };

// Opens or creates a regular file to write in place, and returns its descriptor. A new file's name
// is on the disk. flags: those of open(). kIo or kNotFound; kCorrupt for a refused link or a file
// with hard links.
Result<int> open_in_place(const std::string& path, int flags, Links links);

// kCorrupt: a log has fewer bytes than its checkpoint expects.
Status cut_short_error(const std::string& path, std::int64_t bytes, std::int64_t expected);

// A file of a run that grows record by record, each in a single write. It has one writer; records
// of another would be truncated.
class AppendLog {
 public:
  AppendLog() = default;
  ~AppendLog();
  AppendLog(AppendLog&& other) noexcept;
  AppendLog& operator=(AppendLog&& other) noexcept;

  // Opens or creates the file and truncates it to keep_bytes. kCorrupt if it is shorter, or a link.
  static Result<AppendLog> open(const std::string& path, std::int64_t keep_bytes);

  // On failure, the file is truncated to the last whole record.
  Status append(std::string_view record);
  // Brings everything appended to the disk.
  Status sync();
  std::int64_t bytes() const { return bytes_; }
  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }  // "" if not open

 private:
  int fd_ = -1;
  std::int64_t bytes_ = 0;
  std::string path_;
};

// A file that several processes append to, one at a time: locked from open() until the value is
// destroyed or the process ends. Other openers wait.
class SharedLog {
 public:
  SharedLog() = default;
  ~SharedLog();
  SharedLog(SharedLog&& other) noexcept;
  SharedLog& operator=(SharedLog&& other) noexcept;

  // Opens or creates the file, and ends its last line if it has no end. Errors: those of
  // open_in_place().
  static Result<SharedLog> open(const std::string& path, Links links = Links::kRefuse);

  // Appends the whole record, on the disk when it returns, or nothing.
  Status append(std::string_view record);

 private:
  int fd_ = -1;
  std::string path_;
};

}  // namespace broadloom
