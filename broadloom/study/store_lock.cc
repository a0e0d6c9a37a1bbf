#include "broadloom/study/store_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace broadloom {
namespace {

// SQLite locks bytes from 2^30 on, a few hundred; this one is far beyond the end of any store.
constexpr off_t kByte = off_t{1} << 52;

}  // namespace

StoreLock::~StoreLock() {
  if (fd_ >= 0) ::close(fd_);
}

StoreLock::StoreLock(StoreLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Result<StoreLock> StoreLock::acquire(const std::string& path) {
  StoreLock lock;
  lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  const auto failure = [&](const char* what) {
    return Status(ErrorKind::kIo,
                  fmt::format("cannot {} the store '{}': {}; choose a place that you may write to "
                              "with --out",
                              what, path, std::strerror(errno)));
  };
  if (lock.fd_ < 0) return failure("open");
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  whole.l_start = kByte;
  whole.l_len = 1;
  // A lock of the open file, not of the process: it stays when SQLite closes its own.
  if (::fcntl(lock.fd_, F_OFD_SETLK, &whole) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES) return failure("lock");
  return Status(ErrorKind::kIo,
                fmt::format("another runner is working on '{}'; wait for it or stop it, or give "
                            "this one a store of its own with --out",
                            path));
}

}  // namespace broadloom
