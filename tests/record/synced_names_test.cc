// sanitizers: none (what is called of the system, which is the same without)
// Names of new files and folders reach the disk: by an fsync of their folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "broadloom/record/file_lock.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"

namespace {

std::vector<std::string>& synced_paths() {
  static std::vector<std::string> paths;
  return paths;
}

}  // namespace

// Replaces the C library's function and records its arguments.
extern "C" int fsync(int fd) {
  std::error_code error;
  const auto path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
  synced_paths().push_back(path);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class SyncedNames : public ::testing::Test {
 protected:
  SyncedNames()
      : dir_(fs::canonical(fs::temp_directory_path()) /
             ("broadloom_synced_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
    synced_paths().clear();
  }
  ~SyncedNames() override { fs::remove_all(dir_); }
  std::string at(const std::string& name) const { return (dir_ / name).string(); }
  static bool is_synced(const fs::path& path) {
    const std::vector<std::string>& all = synced_paths();
    return std::find(all.begin(), all.end(), path.string()) != all.end();
  }
  fs::path dir_;
};

TEST_F(SyncedNames, EachNewParentFolder) {
  ASSERT_TRUE(make_folders(at("a/b/c/")).ok());
  for (const fs::path& folder : {dir_, dir_ / "a", dir_ / "a/b"}) {
    EXPECT_TRUE(is_synced(folder)) << folder;
  }
  EXPECT_TRUE(fs::is_directory(at("a/b/c")));
  synced_paths().clear();
  ASSERT_TRUE(make_folders(at("a/b/c")).ok());
  EXPECT_TRUE(synced_paths().empty());
}

// A command that fails before it writes leaves no folders of its own behind.
TEST_F(SyncedNames, FoldersThatStayEmptyAreRemoved) {
  fs::create_directory(at("before"));
  {
    FoldersToFill folders;
    ASSERT_TRUE(folders.make(at("before/a/b/")).ok());
    EXPECT_TRUE(fs::is_directory(at("before/a/b")));
  }
  EXPECT_FALSE(fs::exists(at("before/a")));
  EXPECT_TRUE(fs::exists(at("before")));
  {
    FoldersToFill folders;
    ASSERT_TRUE(folders.make(at("before/a/b")).ok());
    ASSERT_TRUE(write_file_atomically(at("before/a/file"), "x").ok());
  }
  EXPECT_FALSE(fs::exists(at("before/a/b")));
  EXPECT_TRUE(fs::exists(at("before/a/file")));
}

TEST_F(SyncedNames, OneOfSeveralCallersMakesANewFolder) {
  fs::create_directory(at("runs"));
  std::atomic<int> makers = 0;
  {
    std::vector<FoldersToFill> folders(8);
    std::vector<std::thread> threads;
    for (FoldersToFill& own : folders) {
      threads.emplace_back([&] { makers += own.make_new(at("runs/one")).value() ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(makers, 1);
    EXPECT_TRUE(fs::is_directory(at("runs/one")));
  }
  EXPECT_FALSE(fs::exists(at("runs/one")));
  {
    FoldersToFill folders;
    EXPECT_TRUE(folders.make_new(at("more/one")).value());
  }
  EXPECT_FALSE(fs::exists(at("more")));
  ASSERT_TRUE(write_file_atomically(at("file"), "x").ok());
  EXPECT_EQ(FoldersToFill().make_new(at("file/one")).status().kind(), ErrorKind::kIo);
}

TEST_F(SyncedNames, ANewLedgerAndItsFolders) {
  const Result<std::int64_t> line = append_to_ledger(at("runs/all.jsonl"), "{\"format\":1}");
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_TRUE(is_synced(dir_));
  EXPECT_TRUE(is_synced(dir_ / "runs"));
  EXPECT_TRUE(is_synced(dir_ / "runs/all.jsonl"));
}

TEST_F(SyncedNames, NewLogsAndLocks) {
  const std::string log = at("log");
  for (const auto open :
       {+[](const std::string& path) { return AppendLog::open(path, 0).status(); },
        +[](const std::string& path) { return SharedLog::open(path).status(); },
        +[](const std::string& path) { return FileLock::try_acquire(path).status(); }}) {
    fs::remove(log);
    synced_paths().clear();
    ASSERT_TRUE(open(log).ok());
    EXPECT_TRUE(is_synced(dir_));
    synced_paths().clear();
    ASSERT_TRUE(open(log).ok());
    EXPECT_FALSE(is_synced(dir_));
  }
}

}  // namespace
}  // namespace broadloom
