#include "broadloom/record/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace broadloom {
namespace {

const char* advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "; free some space and give the command again; a run goes on with `broadloom train "
             "--resume RUN`";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; you may not do that there: choose another place, or ask its owner";
    default:
      return "";
  }
}

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

}  // namespace

Status io_error(const std::string& what, const std::string& path) {
  const int error = errno;
  return {error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
          fmt::format("cannot {} '{}': {}{}", what, path, std::strerror(error), advice(error))};
}

Result<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error("open", path);
  std::string bytes;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      Status status = io_error("read", path);
      ::close(fd);
      return status;
    }
    if (got == 0) break;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return bytes;
}

Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Who may only write into a folder cannot have it synced.
  if (fd < 0) return errno == EACCES ? Status() : io_error("open", folder);
  // Some file systems know no fsync of a folder and say EINVAL; there is nothing more to do then.
  const bool synced = ::fsync(fd) == 0 || errno == EINVAL;
  Status status = synced ? Status() : io_error("write", folder);
  ::close(fd);
  return status;
}

Status write_file_atomically(const std::string& path, std::string_view bytes) {
  const std::string beside = fmt::format("{}.tmp-{}", path, ::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return io_error("create", beside);
  const bool written = write_all(fd, bytes) && ::fsync(fd) == 0;
  Status failure = written ? Status() : io_error("write", beside);
  ::close(fd);
  if (!written) {
    ::unlink(beside.c_str());
    return failure;
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) {
    Status status = io_error("rename into", path);
    ::unlink(beside.c_str());
    return status;
  }
  return sync_folder_of(path);
}

Status cut_short_error(const std::string& path, std::int64_t bytes, std::int64_t expected) {
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' has {} bytes but its checkpoint was saved when it had {}; the file was "
                      "cut short or replaced; put a copy of it back, or train the run anew",
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
  log.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log.fd_ < 0) return io_error("open", path);
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

Result<SharedLog> SharedLog::open(const std::string& path) {
  SharedLog log;
  log.path_ = path;
  log.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log.fd_ < 0) return io_error("open", path);
  while (::flock(log.fd_, LOCK_EX) != 0) {
    if (errno != EINTR) return io_error("lock", path);
  }
  // A line that a lost machine left without its end stays a line of its own.
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
