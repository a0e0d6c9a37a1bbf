// sanitizers: address
// Files and folders that somebody else made: nothing outside a run is written or removed, and
// nothing waits for ever.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "broadloom/core/read_file.h"
#include "broadloom/record/file_lock.h"
#include "broadloom/record/files.h"
#include "broadloom/record/run_folder.h"
#include "tests/record/refused_call.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

const char* const kDead = ".tmp-2147483646";  // of a process that there is not

class StrangeFiles : public ::testing::Test {
 protected:
  StrangeFiles()
      : dir_(fs::temp_directory_path() / ("broadloom_strange_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
    EXPECT_TRUE(write_file_atomically(at("victim"), "of somebody\n").ok());
  }
  ~StrangeFiles() override {
    EXPECT_EQ(read_file(at("victim")).take(), "of somebody\n");
    fs::remove_all(dir_);
  }
  std::string at(const std::string& name) const { return (dir_ / name).string(); }
  RunFolder run(const std::string& name) const {
    const auto fill = [](const RunFolder& folder) {
      return write_file_atomically(folder.manifest_path(), "{}");
    };
    EXPECT_TRUE(RunFolder::create(at(name), fill).ok());
    return RunFolder::open(at(name)).take();
  }
  fs::path dir_;
};

void expect_words(const Status& status, ErrorKind kind, const std::string& words) {
  EXPECT_EQ(status.kind(), kind) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

// Otherwise printed text would go into the file.
TEST_F(StrangeFiles, NoneIsOpenedInThePlaceOfAClosedStream) {
  const auto is_free = [](int fd) { return ::fcntl(fd, F_GETFD) == -1 && errno == EBADF; };
  const auto opens_past_streams = [&] {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const AppendLog log = AppendLog::open(at("log"), 0).take();
    const SharedLog shared = SharedLog::open(at("shared")).take();
    const std::optional<FileLock> lock = FileLock::try_acquire(at("lock")).take();
    const bool opened = log.is_open() && lock.has_value();
    return opened && is_free(0) && is_free(1) && is_free(2);
  };
  EXPECT_EXIT(::_exit(opens_past_streams() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST_F(StrangeFiles, PipesDevicesAndEndlessFilesAreNotRead) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0644), 0);
  expect_words(read_file(at("pipe")).status(), ErrorKind::kIo, "pipe' is a pipe, expected a file");
  expect_words(read_file("/dev/zero").status(), ErrorKind::kIo, "'/dev/zero' is a device");
  expect_words(read_file(dir_.string()).status(), ErrorKind::kIo, "is a folder");
  ASSERT_EQ(::truncate(at("pipe").c_str(), 0), -1);
  ASSERT_TRUE(write_file_atomically(at("large"), "x").ok());
  ASSERT_EQ(::truncate(at("large").c_str(), kLargestFile + 1), 0);
  expect_words(read_file(at("large")).status(), ErrorKind::kIo, "expected at most 17179869184");
  expect_words(read_file(at("victim"), 3).status(), ErrorKind::kIo, "it has 12 bytes or more");
  expect_words(AppendLog::open(at("pipe"), 0).status(), ErrorKind::kIo, "pipe'");
}

TEST_F(StrangeFiles, LinksAreNotWrittenThrough) {
  fs::create_symlink(at("victim"), at("link"));
  fs::create_symlink(at("nothing"), at("dangling"));
  fs::create_hard_link(at("victim"), at("hard"));
  for (const char* name : {"link", "dangling", "hard"}) {
    const std::string path = at(name);
    for (const Status& status : {AppendLog::open(path, 0).status(), SharedLog::open(path).status(),
                                 FileLock::try_acquire(path).status()}) {
      expect_words(status, ErrorKind::kCorrupt, "expected a file of its own");
    }
    EXPECT_FALSE(fs::exists(at("nothing")));
  }
  // A path that the user names may be a link.
  EXPECT_TRUE(SharedLog::open(at("link"), Links::kFollow).take().append("").ok());
  EXPECT_TRUE(FileLock::try_acquire(at("link"), Links::kFollow).ok());
  ASSERT_TRUE(write_file_atomically(at("link"), "of its own").ok());
  EXPECT_EQ(read_file(at("link")).take(), "of its own");
}

// The temporary file of an atomic write.
TEST_F(StrangeFiles, ALinkThatWaitsBesideAFileIsNotFollowed) {
  const std::string beside = at("f.tmp-") + std::to_string(::getpid());
  fs::create_symlink(at("victim"), beside);
  ASSERT_TRUE(write_file_atomically(at("f"), "new").ok());
  EXPECT_EQ(read_file(at("f")).take(), "new");
  EXPECT_FALSE(fs::exists(beside));
  const auto without_tmpfile = [&] {
    refuse_call(SYS_linkat, EPERM);  // as where a file without a name can get none
    fs::create_symlink(at("victim"), at("g.tmp-") + std::to_string(::getpid()));
    return write_file_atomically(at("g"), "new").ok() && read_file(at("g")).take() == "new" &&
           read_file(at("victim")).take() == "of somebody\n";
  };
  EXPECT_EXIT(::_exit(without_tmpfile() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST_F(StrangeFiles, AKilledWriterLeavesNothing) {
  const int fd = ::open(dir_.c_str(), O_TMPFILE | O_WRONLY, 0644);
  if (fd < 0) GTEST_SKIP() << "this file system knows no file without a name";
  ::close(fd);
  const auto die = [&] {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_DFL);
    ::_exit(write_file_atomically(at("f"), std::string(5000, 'x')).ok() ? 0 : 1);
  };
  EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(StrangeFiles, RoomIsLookedForAndNothingLeft) {
  EXPECT_TRUE(check_room(at("f")).ok());
  expect_words(check_room(at("no/folder/f")), ErrorKind::kNotFound, "cannot create");
  const auto is_refused = [&] {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    return check_room(at("f")).message().find("free some space") != std::string::npos;
  };
  EXPECT_EXIT(::_exit(is_refused() ? 0 : 1), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(StrangeFiles, CheckpointsOfAnotherRunAreNotPruned) {
  const RunFolder other = run("other"), folder = run("run");
  fs::remove_all(at("run/checkpoints"));
  fs::create_symlink(at("other/checkpoints"), at("run/checkpoints"));
  expect_words(folder.lock().status(), ErrorKind::kCorrupt, "checkpoints' is a symbolic link");
}

TEST_F(StrangeFiles, FilesOfSomebodyAreNotTakenForHalfWrittenOnes) {
  const RunFolder folder = run("run");
  for (const char* name : {"run/checkpoints/thesis.doc", "run/notes.txt", "run/policy.npz"}) {
    ASSERT_TRUE(write_file_atomically(at(name) + kDead, "of somebody\n").ok());
  }
  fs::create_symlink(at("victim"), folder.manifest_path() + kDead);
  folder.clear_half_written();
  for (const char* name : {"run/checkpoints/thesis.doc", "run/notes.txt", "run/policy.npz"}) {
    EXPECT_TRUE(fs::exists(at(name) + kDead)) << name;
  }
}

TEST_F(StrangeFiles, AFolderOfSomebodyIsNotTakenForABegunRun) {
  const auto make = [&](const std::string& name, const std::string& lock) {
    fs::create_directories(at(name) + "/checkpoints");
    for (const char* file : {"/manifest.json", "/checkpoints/iteration_0000000000.safetensors"}) {
      EXPECT_TRUE(write_file_atomically(at(name) + file, "x").ok());
    }
    if (!lock.empty()) EXPECT_TRUE(write_file_atomically(at(name) + "/lock", lock).ok());
  };
  const std::string strange[] = {".unlocked", ".locked_by_other", ".with_file", ".held"};
  make(strange[0] + kDead, "");
  make(strange[1] + kDead, "process 7 on host");
  make(strange[2] + kDead, "process 2147483646 on host");
  ASSERT_TRUE(write_file_atomically(at(strange[2] + kDead + "/thesis.doc"), "x").ok());
  make(strange[3] + kDead, "process 2147483646 on host");
  const Result<std::optional<FileLock>> held =
      FileLock::try_acquire(at(strange[3] + kDead + "/lock"));  // by another machine's process
  ASSERT_TRUE(held.ok() && held.value().has_value());
  make(std::string(".killed") + kDead, "process 2147483646 on host");
  ASSERT_TRUE(
      write_file_atomically(at(std::string(".killed") + kDead + "/teacher.safetensors"), "x").ok());
  fs::create_directories(at(std::string(".killed_at_once") + kDead) + "/checkpoints");
  run("run");
  for (const std::string& name : strange) {
    EXPECT_TRUE(fs::exists(at(name + kDead + "/manifest.json"))) << name;
  }
  EXPECT_FALSE(fs::exists(at(std::string(".killed") + kDead)));
  EXPECT_FALSE(fs::exists(at(std::string(".killed_at_once") + kDead)));
}

TEST_F(StrangeFiles, AFolderThatWaitsForARunIsNotFilled) {
  const std::string hidden = at(".run.tmp-") + std::to_string(::getpid());
  fs::create_directories(hidden);
  fs::create_symlink(at("victim"), hidden + "/lock");
  const auto fill = [](const RunFolder& folder) { return folder.lock().status(); };
  EXPECT_EQ(RunFolder::create(at("run"), fill).kind(), ErrorKind::kIo);
}

TEST_F(StrangeFiles, EventFilesHaveNamesOfTheirOwn) {
  EXPECT_TRUE(RunFolder::is_events_name("events.out.tfevents.1.host.7.0"));
  for (const char* name : {"manifest.json", "", "..", "events.out.tfevents.x/../lock"}) {
    EXPECT_FALSE(RunFolder::is_events_name(name)) << name;
  }
}

}  // namespace
}  // namespace broadloom
