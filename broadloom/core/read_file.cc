#include "broadloom/core/read_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "broadloom/core/errno_advice.h"

namespace broadloom {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Status regular(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return {};
  return {ErrorKind::kIo, fmt::format("'{}' is {}, expected a file; name a regular file", path,
                                      kind_of(info.st_mode))};
}

Status error_of(int error, const std::string& what, const std::string& name) {
  return {
      error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
      fmt::format("cannot {} {}: {}{}", what, name, std::strerror(error), advice_on_errno(error))};
}

Status too_large(const std::string& name, std::int64_t bytes, std::int64_t largest) {
  return {ErrorKind::kIo, fmt::format("cannot read {}: it has {} bytes or more, expected at most "
                                      "{}; name the file that was meant",
                                      name, bytes, largest)};
}

// name: of the file, in messages.
Result<std::string> read_all(int fd, const std::string& name, std::int64_t largest) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return error_of(errno, "inspect", name);
  if (info.st_size > largest) return too_large(name, info.st_size, largest);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(info.st_size));
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error_of(errno, "read", name);
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
    const auto read = static_cast<std::int64_t>(bytes.size());
    if (read > largest) return too_large(name, read, largest);  // it grew, or its size was not said
  }
}

}  // namespace

Status io_error(const std::string& what, const std::string& path) {
  const int error = errno;
  return error_of(error, what, fmt::format("'{}'", path));
}

int past_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

Status check_regular(int fd, const std::string& path) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? regular(info, path) : io_error("inspect", path);
}

Status check_regular(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? regular(info, path) : io_error("open", path);
}

Result<std::string> read_file(const std::string& path, std::int64_t largest,
                              const std::string& what) {
  const std::string name =
      what.empty() ? fmt::format("'{}'", path) : fmt::format("the {} '{}'", what, path);
  // Nobody may ever write into a pipe: opening it does not wait for that.
  const int fd = past_standard_streams(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd < 0) return error_of(errno, "open", name);
  Result<std::string> bytes = check_regular(fd, path);
  try {
    if (bytes.ok()) bytes = read_all(fd, name, largest);
  } catch (const std::bad_alloc&) {
    bytes = Status(ErrorKind::kIo, fmt::format("cannot read {}: no memory is left for its bytes; "
                                               "end other programs, or raise the limit",
                                               name));
  }
  ::close(fd);
  return bytes;
}

}  // namespace broadloom
