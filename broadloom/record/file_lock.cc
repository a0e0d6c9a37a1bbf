#include "broadloom/record/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "broadloom/record/files.h"
#include "broadloom/record/is_locked.h"

namespace broadloom {
namespace {

// Beyond the end of any file, and beyond the bytes from 2^30 that SQLite locks.
constexpr off_t kByte = off_t{1} << 52;

struct flock byte_of(short type) {
  struct flock byte = {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = kByte;
  byte.l_len = 1;
  return byte;
}

// Locks the open file, not the process. The lock stays when SQLite closes its own descriptor, and
// it also excludes other openers in this process. type: F_WRLCK or F_UNLCK.
int set_byte(int fd, short type) {
  struct flock byte = byte_of(type);
  int result = 0;
  do {
    result = ::fcntl(fd, F_OFD_SETLK, &byte);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

FileLock::~FileLock() { release(); }

FileLock::FileLock(FileLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), holder_(other.holder_), path_(std::move(other.path_)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  fd_ = std::exchange(other.fd_, -1);
  holder_ = other.holder_;
  path_ = std::move(other.path_);
  return *this;
}

// A forked process shares the open file and would keep the lock, so closing is not enough. The
// forked process has only a copy of this value and must not unlock.
void FileLock::release() {
  if (fd_ < 0) return;
  if (holder_ == ::getpid()) set_byte(fd_, F_UNLCK);
  ::close(std::exchange(fd_, -1));
}

Result<std::optional<FileLock>> FileLock::try_acquire(const std::string& path, Links links) {
  FileLock lock;
  lock.path_ = path;
  const Result<int> fd = open_in_place(path, O_RDWR, links);
  if (!fd.ok()) return fd.status();
  lock.fd_ = fd.value();
  lock.holder_ = ::getpid();
  if (set_byte(lock.fd_, F_WRLCK) == 0) return std::optional<FileLock>(std::move(lock));
  if (errno == EAGAIN || errno == EACCES) return std::optional<FileLock>();
  return Status(ErrorKind::kIo,
                fmt::format("cannot lock '{}' against a second writer: {}; its file system may not "
                            "support locks (some shared ones do not): choose a folder on another "
                            "file system with --out",
                            path, std::strerror(errno)));
}

Result<bool> is_locked(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (fd < 0) return io_error("open", path);
  struct flock byte = byte_of(F_WRLCK);
  const int result = ::fcntl(fd, F_OFD_GETLK, &byte);
  const Status status = result == 0 ? Status() : io_error("look at the lock of", path);
  ::close(fd);
  if (!status.ok()) return status;
  return byte.l_type != F_UNLCK;
}

Status FileLock::write(const std::string& text) {
  const auto size = static_cast<off_t>(text.size());
  const bool written =
      ::pwrite(fd_, text.data(), text.size(), 0) == size && ::ftruncate(fd_, size) == 0;
  return written ? Status() : io_error("write", path_);
}

}  // namespace broadloom
