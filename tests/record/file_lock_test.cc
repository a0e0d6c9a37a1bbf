// Holders of a lock, refused processes, and the state after the holder is killed.
#include "broadloom/record/file_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "broadloom/record/files.h"
#include "broadloom/record/is_locked.h"
#include "broadloom/record/run_folder.h"
#include "tests/record/refused_call.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class Locks : public ::testing::Test {
 protected:
  Locks() : dir_(fs::temp_directory_path() / ("broadloom_locks_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
  }
  ~Locks() override { fs::remove_all(dir_); }
  std::string at(const std::string& name) const { return (dir_ / name).string(); }
  fs::path dir_;
};

bool is_free(const std::string& path) {
  const Result<std::optional<FileLock>> lock = FileLock::try_acquire(path);
  EXPECT_TRUE(lock.ok()) << lock.status().message();
  return lock.value().has_value();
}

TEST_F(Locks, OneHolderAtATime) {
  Result<std::optional<FileLock>> held = FileLock::try_acquire(at("f"));
  ASSERT_TRUE(held.ok()) << held.status().message();
  ASSERT_TRUE(held.value().has_value());
  EXPECT_FALSE(is_free(at("f")));
  EXPECT_TRUE(is_free(at("other")));
  // Reading and closing the file does not release the lock.
  EXPECT_EQ(read_file(at("f")).take(), "");
  EXPECT_FALSE(is_free(at("f")));
  FileLock moved = std::move(*held.value());
  held.value().reset();
  EXPECT_FALSE(is_free(at("f")));
  moved = FileLock();
  EXPECT_TRUE(is_free(at("f")));
}

TEST_F(Locks, LookingTakesNoLock) {
  EXPECT_FALSE(is_locked(at("none")).value());
  EXPECT_FALSE(fs::exists(at("none")));
  std::optional<FileLock> held = FileLock::try_acquire(at("f")).take();
  EXPECT_TRUE(is_locked(at("f")).value());
  held.reset();
  EXPECT_FALSE(is_locked(at("f")).value());
  EXPECT_TRUE(is_free(at("f")));
}

TEST_F(Locks, AKilledHolderLeavesNoLock) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<std::optional<FileLock>> held = FileLock::try_acquire(at("f"));
    const char got = held.ok() && held.value().has_value() ? '1' : '0';
    if (::write(ready[1], &got, 1) == 1) ::pause();
    ::_exit(1);
  }
  char got = '0';
  ASSERT_EQ(::read(ready[0], &got, 1), 1);
  EXPECT_EQ(got, '1');
  EXPECT_FALSE(is_free(at("f")));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_free(at("f")));
  for (const int end : ready) ::close(end);
}

// A child process that shares the open file until it ends or drops its copy.
class ForkedChild {
 public:
  explicit ForkedChild(std::optional<FileLock>& held) {
    EXPECT_EQ(::pipe(to_child_), 0);
    EXPECT_EQ(::pipe(from_child_), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::close(to_child_[1]);
    for (char word = 0; ::read(to_child_[0], &word, 1) == 1;) {
      held.reset();
      if (::write(from_child_[1], &word, 1) != 1) break;
    }
    ::_exit(0);
  }
  void destroy_its_copy() const {
    char word = 'd';
    EXPECT_EQ(::write(to_child_[1], &word, 1), 1);
    EXPECT_EQ(::read(from_child_[0], &word, 1), 1);
  }
  ~ForkedChild() {
    ::close(to_child_[1]);
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    for (const int end : {to_child_[0], from_child_[0], from_child_[1]}) ::close(end);
  }

 private:
  int to_child_[2], from_child_[2];
  pid_t pid_ = 0;
};

TEST_F(Locks, AForkedChildKeepsNoLockAlive) {
  std::optional<FileLock> held = FileLock::try_acquire(at("f")).take();
  ASSERT_TRUE(held.has_value());
  const ForkedChild child(held);
  EXPECT_FALSE(is_free(at("f")));
  held.reset();
  EXPECT_TRUE(is_free(at("f")));
}

TEST_F(Locks, ALockThatAnotherTakesThePlaceOfIsFreeAtOnce) {
  std::optional<FileLock> held = FileLock::try_acquire(at("f")).take();
  std::optional<FileLock> other = FileLock::try_acquire(at("g")).take();
  ASSERT_TRUE(held.has_value() && other.has_value());
  const ForkedChild child(held);
  *held = std::move(*other);
  EXPECT_TRUE(is_free(at("f")));
  EXPECT_FALSE(is_free(at("g")));
}

TEST_F(Locks, AForkedChildEndsNoLockOfItsParents) {
  std::optional<FileLock> held = FileLock::try_acquire(at("f")).take();
  ASSERT_TRUE(held.has_value());
  const ForkedChild child(held);
  child.destroy_its_copy();
  EXPECT_FALSE(is_free(at("f")));
}

TEST_F(Locks, ARunFolderNamesWhoHoldsIt) {
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), fill).ok());
  const RunFolder folder = RunFolder::open(at("run")).take();
  ASSERT_TRUE(write_file_atomically(folder.lock_path(), "process 1 on a machine long gone").ok());
  const Result<FileLock> held = folder.lock();
  ASSERT_TRUE(held.ok()) << held.status().message();
  const Status second = folder.lock().status();
  EXPECT_EQ(second.kind(), ErrorKind::kIo);
  EXPECT_NE(second.message().find("is being trained by process " + std::to_string(::getpid())),
            std::string::npos)
      << second.message();
  EXPECT_EQ(second.message().find("long gone"), std::string::npos) << second.message();
}

TEST_F(Locks, ErrorsOfOpenSayWhatToDo) {
  const Status missing = FileLock::try_acquire(at("no/such/folder")).status();
  EXPECT_EQ(missing.kind(), ErrorKind::kNotFound);
  EXPECT_EQ(FileLock::try_acquire(dir_.string()).status().kind(), ErrorKind::kIo);
}

// The error must differ from a held lock, and no lock may be returned.
TEST_F(Locks, AFileSystemWithoutLocksIsRefused) {
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    EXPECT_EXIT(
        {
          refuse_call(SYS_fcntl, error);
          const Status status = FileLock::try_acquire(at("f")).status();
          const bool names_locks =
              status.message().find("may not support locks") != std::string::npos;
          ::_exit(status.kind() == ErrorKind::kIo && names_locks ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "")
        << error;
  }
  EXPECT_TRUE(is_free(at("f")));
}

}  // namespace
}  // namespace broadloom
