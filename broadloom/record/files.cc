#include "broadloom/record/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

using Parts = std::span<const std::string_view>;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// The folders of the path that do not exist, the innermost first.
std::vector<fs::path> missing_folders(const std::string& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error);) {
    if (folder.has_filename()) missing.push_back(folder);
    folder = folder.parent_path();
  }
  return missing;
}

Status outside_error(const std::string& path, const char* what) {
  return {
      ErrorKind::kCorrupt,
      fmt::format("'{}' is {}, expected a file of its own: writing would change another file; put "
                  "a copy of the file in its place, or remove it",
                  path, what)};
}

// A new file without a name until its bytes are complete.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : temporary_(fmt::format("{}.tmp-{}", path, ::getpid())) {}
  ~NewFile() {
    if (fd_ >= 0) ::close(fd_);
    if (is_named_) ::unlink(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Writes the bytes to the disk.
  Status write(Parts parts) {
    const std::size_t slash = temporary_.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "." : temporary_.substr(0, slash + 1);
    fd_ = past_standard_streams(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644));
    return fd_ >= 0 ? put(parts) : write_named(parts);
  }
  // Names the file temporary_path(). False if the system cannot name it.
  bool name() {
    if (is_named_) return true;
    const std::string open_file = fmt::format("/proc/self/fd/{}", fd_);
    const auto link = [&] {
      return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW);
    };
    int result = link();
    if (result != 0 && errno == EEXIST && ::unlink(temporary_.c_str()) == 0) result = link();
    is_named_ = result == 0;
    return is_named_;
  }
  // As write(), with a name from the beginning. Needed for file systems without unnamed files and
  // systems without /proc.
  Status write_named(Parts parts) {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    // An existing file is left over from a dead process, or is a planted link.
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = ::open(temporary_.c_str(), kNew, 0644);
    if (fd < 0 && errno == EEXIST && ::unlink(temporary_.c_str()) == 0) {
      fd = ::open(temporary_.c_str(), kNew, 0644);
    }
    is_named_ = fd >= 0;
    fd_ = past_standard_streams(fd);
    return fd_ >= 0 ? put(parts) : io_error("create", temporary_);
  }
  // Called after the file was renamed.
  void keep() { is_named_ = false; }
  const std::string& temporary_path() const { return temporary_; }

 private:
  Status put(Parts parts) {
    for (const std::string_view part : parts) {
      if (!write_all(fd_, part)) return io_error("write", temporary_);
    }
    return ::fsync(fd_) == 0 ? Status() : io_error("write", temporary_);
  }

  std::string temporary_;
  int fd_ = -1;
  bool is_named_ = false;
};

}  // namespace

Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Without read permission, a folder cannot be synced.
  if (fd < 0) return errno == EACCES ? Status() : io_error("open", folder);
  // Some file systems cannot sync a folder and return EINVAL.
  const bool synced = ::fsync(fd) == 0 || errno == EINVAL;
  Status status = synced ? Status() : io_error("write", folder);
  ::close(fd);
  return status;
}

Status write_file_atomically(const std::string& path, std::string_view bytes) {
  return write_file_atomically(path, Parts(&bytes, 1));
}

Status write_file_atomically(const std::string& path, Parts parts) {
  NewFile file(path);
  BROADLOOM_TRY(file.write(parts));
  if (!file.name()) BROADLOOM_TRY(file.write_named(parts));
  if (::rename(file.temporary_path().c_str(), path.c_str()) != 0)
    return io_error("rename into", path);
  file.keep();
  return sync_folder_of(path);
}

Status check_room(const std::string& path, std::size_t bytes) {
  const std::string zeros(bytes, '\0');
  const std::string_view part = zeros;
  return NewFile(path).write(Parts(&part, 1));
}

FoldersToFill::~FoldersToFill() {
  std::error_code error;
  for (const std::string& folder : made_) fs::remove(folder, error);  // fails unless it is empty
}

Status FoldersToFill::make(const std::string& path) {
  for (const fs::path& folder : missing_folders(path)) made_.push_back(folder.string());
  return make_folders(path);
}

Result<bool> FoldersToFill::make_new(const std::string& path) {
  BROADLOOM_TRY(make(fs::path(path).parent_path().string()));
  if (::mkdir(path.c_str(), 0777) == 0) {
    made_.insert(made_.begin(), path);
    return true;
  }
  if (errno == EEXIST) return false;
  return Status(ErrorKind::kIo, fmt::format("cannot make the folder '{}': {}; give another --out",
                                            path, std::strerror(errno)));
}

Status make_folders(const std::string& path) {
  const std::vector<fs::path> missing = missing_folders(path);
  std::error_code error;
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (::mkdir(folder->c_str(), 0777) != 0 && errno != EEXIST) {
      return {ErrorKind::kIo, fmt::format("cannot make the folder '{}': {}; give another --out",
                                          path, std::strerror(errno))};
    }
    BROADLOOM_TRY(sync_folder_of(folder->string()));
  }
  if (path.empty() || fs::is_directory(path, error)) return {};
  return {ErrorKind::kIo, fmt::format("cannot make the folder '{}': {}; give another --out", path,
                                      std::strerror(ENOTDIR))};
}

Result<int> open_in_place(const std::string& path, int flags, Links links) {
  const int how = flags | O_CLOEXEC | O_NONBLOCK | (links == Links::kRefuse ? O_NOFOLLOW : 0);
  int fd = ::open(path.c_str(), how);
  const bool is_new = fd < 0 && errno == ENOENT;
  if (is_new) fd = ::open(path.c_str(), how | O_CREAT, 0644);
  fd = past_standard_streams(fd);
  if (fd < 0)
    return errno == ELOOP ? outside_error(path, "a symbolic link") : io_error("open", path);
  Status status = check_regular(fd, path);
  struct stat info {};
  if (status.ok() && ::fstat(fd, &info) != 0) status = io_error("inspect", path);
  if (status.ok() && links == Links::kRefuse && info.st_nlink > 1) {
    status = outside_error(path, "a file with another name (a hard link)");
  }
  if (status.ok() && is_new) status = sync_folder_of(path);
  if (status.ok()) return fd;
  ::close(fd);
  return status;
}

Status cut_short_error(const std::string& path, std::int64_t bytes, std::int64_t expected) {
  return {
      ErrorKind::kCorrupt,
      fmt::format("'{}' has {} bytes, but had {} when its checkpoint was saved; the file was cut "
                  "short or replaced; restore a copy of it, or train the run again",
                  path, bytes, expected)};
}

AppendLog::~AppendLog() {
  if (fd_ >= 0) ::close(fd_);
}

AppendLog::AppendLog(AppendLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_), path_(std::move(other.path_)) {}

AppendLog& AppendLog::operator=(AppendLog&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  std::swap(path_, other.path_);
  return *this;
}

Result<AppendLog> AppendLog::open(const std::string& path, std::int64_t keep_bytes) {
  AppendLog log;
  log.path_ = path;
  const Result<int> fd = open_in_place(path, O_WRONLY | O_APPEND, Links::kRefuse);
  if (!fd.ok()) return fd.status();
  log.fd_ = fd.value();
  struct stat info {};
  if (::fstat(log.fd_, &info) != 0) return io_error("inspect", path);
  if (info.st_size < keep_bytes) {
    return cut_short_error(path, info.st_size, keep_bytes);
  }
  if (::ftruncate(log.fd_, keep_bytes) != 0) return io_error("cut back", path);
  log.bytes_ = keep_bytes;
  return log;
}

Status AppendLog::append(std::string_view record) {
  if (!write_all(fd_, record)) {
    Status status = io_error("write", path_);
    if (::ftruncate(fd_, bytes_) != 0) return io_error("cut back", path_);
    return status;
  }
  bytes_ += static_cast<std::int64_t>(record.size());
  return {};
}

Status AppendLog::sync() {
  if (::fsync(fd_) != 0) return io_error("write", path_);
  return {};
}

SharedLog::~SharedLog() {
  if (fd_ >= 0) ::close(fd_);
}

SharedLog::SharedLog(SharedLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

SharedLog& SharedLog::operator=(SharedLog&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Result<SharedLog> SharedLog::open(const std::string& path, Links links) {
  SharedLog log;
  log.path_ = path;
  const Result<int> fd = open_in_place(path, O_RDWR | O_APPEND, links);
  if (!fd.ok()) return fd.status();
  log.fd_ = fd.value();
  while (::flock(log.fd_, LOCK_EX) != 0) {
    if (errno != EINTR) return io_error("lock", path);
  }
  // A line without end, left by a crash, is ended so that it stays a line of its own.
  struct stat info {};
  char last = '\n';
  if (::fstat(log.fd_, &info) != 0) return io_error("inspect", path);
  if (info.st_size > 0 && ::pread(log.fd_, &last, 1, info.st_size - 1) == 1 && last != '\n') {
    BROADLOOM_TRY(log.append("\n"));
  }
  return log;
}

Status SharedLog::append(std::string_view record) {
  struct stat before {};
  if (::fstat(fd_, &before) != 0) return io_error("inspect", path_);
  if (write_all(fd_, record) && ::fsync(fd_) == 0) return {};
  Status status = io_error("write", path_);
  if (::ftruncate(fd_, before.st_size) != 0) return io_error("cut back", path_);
  return status;
}

}  // namespace broadloom
