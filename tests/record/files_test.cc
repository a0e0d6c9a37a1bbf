// sanitizers: address, threads
#include "broadloom/record/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "broadloom/record/events.h"
#include "broadloom/record/json_line.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"
#include "tests/record/refused_call.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  Files() : dir_(fs::temp_directory_path() / ("broadloom_files_" + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
  }
  ~Files() override { fs::remove_all(dir_); }
  std::string at(const std::string& name) const { return (dir_ / name).string(); }
  fs::path dir_;
};

// A stand-in for a full disk: no file of this process may grow past `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class InCurrentFolder {
 public:
  explicit InCurrentFolder(const std::string& dir) { fs::current_path(dir); }
  ~InCurrentFolder() { fs::current_path(before_); }

 private:
  fs::path before_ = fs::current_path();
};

TEST_F(Files, AtomicWriteReplacesWholeAndLeavesNothingBeside) {
  ASSERT_TRUE(write_file_atomically(at("f"), "old").ok());
  ASSERT_TRUE(write_file_atomically(at("f"), "new and longer").ok());
  EXPECT_EQ(read_file(at("f")).take(), "new and longer");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(Files, AFullDiskKeepsTheOldFileAndSaysWhatToDo) {
  ASSERT_TRUE(write_file_atomically(at("f"), "old").ok());
  {
    const FileSizeLimit full(1000);
    const Status status = write_file_atomically(at("f"), std::string(5000, 'x'));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.kind(), ErrorKind::kIo);
    EXPECT_NE(status.message().find("free some space"), std::string::npos) << status.message();
  }
  EXPECT_EQ(read_file(at("f")).take(), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(Files, ALogOnAFullDiskEndsWithItsLastWholeRecord) {
  AppendLog log = AppendLog::open(at("log"), 0).take();
  ASSERT_TRUE(log.append("first\n").ok());
  {
    const FileSizeLimit full(20);
    EXPECT_FALSE(log.append(std::string(100, 'y') + "\n").ok());
  }
  EXPECT_EQ(read_file(at("log")).take(), "first\n");
  ASSERT_TRUE(log.append("second\n").ok());
  EXPECT_EQ(read_file(at("log")).take(), "first\nsecond\n");
}

TEST_F(Files, ALogIsCutBackToWhatTheCheckpointKnew) {
  {
    AppendLog log = AppendLog::open(at("log"), 0).take();
    ASSERT_TRUE(log.append("one\n").ok());
    ASSERT_TRUE(log.append("two\n").ok());
    EXPECT_EQ(log.bytes(), 8);
  }
  AppendLog again = AppendLog::open(at("log"), 4).take();
  ASSERT_TRUE(again.append("2\n").ok());
  EXPECT_EQ(read_file(at("log")).take(), "one\n2\n");
  const Result<AppendLog> shorter = AppendLog::open(at("log"), 100);
  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(read_file(at("log")).take(), "one\n2\n");
}

TEST_F(Files, LinesOfManyWritersOfASharedLogStayWhole) {
  constexpr int kWriters = 4, kLines = 50;
  const std::string line(9000, 'x');
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      for (int i = 0; i < kLines; ++i) {
        Result<SharedLog> log = SharedLog::open(at("log"));
        ASSERT_TRUE(log.ok()) << log.status().message();
        ASSERT_TRUE(log.value().append(line.substr(0, 4000)).ok());
        ASSERT_TRUE(log.value().append(line.substr(4000) + "\n").ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::string expected;
  for (int i = 0; i < kWriters * kLines; ++i) expected += line + "\n";
  EXPECT_EQ(read_file(at("log")).take(), expected);
}

TEST_F(Files, ALineLeftWithoutItsEndInASharedLogStaysALineOfItsOwn) {
  ASSERT_TRUE(write_file_atomically(at("log"), "whole\nhal").ok());
  ASSERT_TRUE(SharedLog::open(at("log")).take().append("next\n").ok());
  EXPECT_EQ(read_file(at("log")).value(), "whole\nhal\nnext\n");
}

TEST_F(Files, ASharedLogOnAFullDiskEndsWithItsLastWholeRecord) {
  SharedLog log = SharedLog::open(at("log")).take();
  ASSERT_TRUE(log.append("first\n").ok());
  {
    const FileSizeLimit full(20);
    EXPECT_FALSE(log.append(std::string(100, 'y') + "\n").ok());
  }
  EXPECT_EQ(read_file(at("log")).take(), "first\n");
}

TEST_F(Files, ARunFolderAppearsWholeOrNotAtAll) {
  const std::string run = at("runs/one");
  const Status failed =
      RunFolder::create(run, [](const RunFolder&) { return Status(ErrorKind::kIo, "planted"); });
  EXPECT_EQ(failed.message(), "planted");
  EXPECT_FALSE(fs::exists(run));
  EXPECT_TRUE(fs::is_empty(at("runs")));
  EXPECT_EQ(RunFolder::open(run).status().kind(), ErrorKind::kNotFound);
  const auto fill = [](const RunFolder& folder) {
    EXPECT_FALSE(fs::exists(folder.manifest_path()));
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(run, fill).ok());
  ASSERT_TRUE(RunFolder::open(run).ok());
  const Status again = RunFolder::create(run, fill);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.message().find("--resume"), std::string::npos);
}

// The name is synced to the disk, and a failure is reported.
TEST_F(Files, ANewRunFoldersNameIsOnTheDisk) {
  EXPECT_EXIT(
      {
        refuse_call(SYS_fsync, EIO);
        const Status status =
            RunFolder::create(at("run"), [](const RunFolder&) { return Status(); });
        const bool names_the_parent = status.message().find(dir_.string()) != std::string::npos;
        const bool is_free = !std::filesystem::exists(at("run"));  // for another try
        ::_exit(status.kind() == ErrorKind::kIo && names_the_parent && is_free ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// A folder with write but no read permission, such as a shared scratch folder.
TEST_F(Files, AFolderThatCannotBeOpenedIsLeftUnsynced) {
  EXPECT_EXIT(
      {
        refuse_call(SYS_openat, EACCES);
        ::_exit(sync_folder_of(at("x")).ok() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// Two processes may both find the folder free.
TEST_F(Files, ARunFolderThatSomebodyElseMadeMeanwhileIsRefusedWithAdvice) {
  const std::string run = at("run");
  const Status late = RunFolder::create(run, [&](const RunFolder&) {
    fs::create_directories(run);
    return write_file_atomically(run + "/manifest.json", "{}");
  });
  EXPECT_EQ(late.kind(), ErrorKind::kIo);
  EXPECT_NE(late.message().find("choose another with --out"), std::string::npos) << late.message();
  EXPECT_EQ(RunFolder::check_free(run).message(), late.message());
}

TEST_F(Files, ARunFolderLiesInNoOtherRunAndInNoFile) {
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), fill).ok());
  for (const char* name : {"run/x", "run/x/", "run/x/y/z", "run/checkpoints/x", "other/../run/x"}) {
    const Status inside = RunFolder::check_free(at(name));
    EXPECT_EQ(inside.kind(), ErrorKind::kIo) << name;
    EXPECT_NE(inside.message().find("inside the run '" + at("run") + "'"), std::string::npos)
        << inside.message();
    EXPECT_EQ(RunFolder::create(at(name), fill).message(), inside.message());
  }
  EXPECT_TRUE(RunFolder::check_free(at("run2/x")).ok());
  {
    const InCurrentFolder in_run(at("run"));
    for (const char* name : {"x", "x/", "./x/y", "checkpoints/x"}) {
      EXPECT_EQ(RunFolder::check_free(name).kind(), ErrorKind::kIo) << name;
    }
    EXPECT_TRUE(RunFolder::check_free("../run2").ok());
  }
  // A manifest without checkpoints is not a run.
  fs::create_directories(at("project"));
  ASSERT_TRUE(write_file_atomically(at("project/manifest.json"), "{}").ok());
  EXPECT_TRUE(RunFolder::check_free(at("project/runs/x")).ok());
  for (const char* text : {"", "text"}) {
    ASSERT_TRUE(write_file_atomically(at("file"), text).ok());
    for (const char* name : {"file", "file/", "file/x"}) {
      const Status taken = RunFolder::check_free(at(name));
      EXPECT_EQ(taken.kind(), ErrorKind::kIo) << name;
      EXPECT_NE(taken.message().find("'" + at("file") + "' is a file"), std::string::npos)
          << taken.message();
    }
  }
}

TEST_F(Files, EventFilesFollowEachOtherByName) {
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), fill).ok());
  const RunFolder folder = RunFolder::open(at("run")).take();
  EXPECT_EQ(folder.events_path(), "");
  for (int i = 0; i < 3; ++i) {  // within a second, by one process
    const std::string path = folder.new_events_path();
    EXPECT_GT(path, folder.events_path());
    ASSERT_TRUE(write_file_atomically(path, "x").ok());
    EXPECT_EQ(folder.events_path(), path);
  }
}

TEST_F(Files, TheNewestCheckpointIsFoundAndOldOnesPruned) {
  const auto nothing = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), nothing).ok());
  const RunFolder folder = RunFolder::open(at("run")).take();
  EXPECT_EQ(folder.latest_checkpoint().status().kind(), ErrorKind::kNotFound);
  for (const std::int64_t iteration : {9, 10, 1000}) {
    ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(iteration), "x").ok());
  }
  ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(2000) + ".tmp-123", "killed").ok());
  EXPECT_EQ(folder.latest_checkpoint().value(), folder.checkpoint_path(1000));
  folder.prune(2);
  EXPECT_FALSE(fs::exists(folder.checkpoint_path(9)));
  EXPECT_TRUE(fs::exists(folder.checkpoint_path(10)));
}

// Names of copies and exports may sort before or after checkpoints.
TEST_F(Files, OtherFilesAreNoCheckpoints) {
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), fill).ok());
  const RunFolder folder = RunFolder::open(at("run")).take();
  const std::vector<std::string> others{"best.safetensors",
                                        "keep_me.safetensors",
                                        "iteration_5.safetensors",
                                        "iteration_00000000005.safetensors",
                                        "iteration_000000000x.safetensors",
                                        "iteration_0000000005_copy.safetensors",
                                        "iteration_0000000005.npz"};
  for (const std::string& name : others) {
    ASSERT_TRUE(write_file_atomically(at("run/checkpoints/" + name), "x").ok());
  }
  EXPECT_EQ(folder.latest_checkpoint().status().kind(), ErrorKind::kNotFound);
  for (const std::int64_t iteration : {1, 2, 3}) {
    ASSERT_TRUE(write_file_atomically(folder.checkpoint_path(iteration), "x").ok());
  }
  EXPECT_EQ(folder.latest_checkpoint().value(),
            at("run/checkpoints/iteration_0000000003.safetensors"));
  EXPECT_EQ(folder.checkpoint_before(folder.checkpoint_path(1)), "");
  folder.prune(1);
  EXPECT_FALSE(fs::exists(folder.checkpoint_path(2)));
  EXPECT_TRUE(fs::exists(folder.checkpoint_path(3)));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(at("run/checkpoints/" + name)));
}

TEST_F(Files, APlaceAmongARunsCheckpointsIsKnown) {
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), fill).ok());
  fs::create_directories(at("kept/checkpoints"));
  for (const char* name :
       {"run/checkpoints/x", "run/y/../checkpoints/x", "kept/../run/checkpoints/x"}) {
    EXPECT_TRUE(RunFolder::is_among_checkpoints(at(name))) << name;
  }
  for (const char* name :
       {"run/x", "run/checkpoints/x/y", "kept/checkpoints/x", "none/checkpoints/x"}) {
    EXPECT_FALSE(RunFolder::is_among_checkpoints(at(name))) << name;
  }
  const InCurrentFolder inside(at("run/checkpoints"));
  EXPECT_TRUE(RunFolder::is_among_checkpoints("x"));
  EXPECT_FALSE(RunFolder::is_among_checkpoints("../x"));
}

TEST_F(Files, HalfWrittenFilesOfKilledProcessesAreCleared) {
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("odd.tmp-1/run"), fill).ok());
  const RunFolder folder = RunFolder::open(at("odd.tmp-1/run")).take();
  const std::string dead = ".tmp-2147483646";
  const std::string own = ".tmp-" + std::to_string(::getpid());
  const std::string live = ".tmp-" + std::to_string(::getppid());
  for (const std::string& path : {folder.ledger_line_path(), folder.checkpoint_path(7)}) {
    for (const std::string& ending : {dead, own, live}) {
      ASSERT_TRUE(write_file_atomically(path + ending, "killed").ok());
    }
    folder.clear_half_written();
    EXPECT_FALSE(fs::exists(path + dead));
    EXPECT_FALSE(fs::exists(path + own));
    EXPECT_TRUE(fs::exists(path + live));
  }
  EXPECT_TRUE(fs::exists(folder.manifest_path()));
  for (const char* name :
       {"/notes.tmp-old", "/events.out.tfevents.1.host.tmp-7.y.12.0", "/x.tmp-"}) {
    ASSERT_TRUE(write_file_atomically(folder.dir() + name, "of the user").ok());
  }
  fs::create_directories(folder.dir() + "/backup.tmp-2147483646");
  folder.clear_half_written();
  for (const char* name : {"/notes.tmp-old", "/events.out.tfevents.1.host.tmp-7.y.12.0", "/x.tmp-",
                           "/backup.tmp-2147483646"}) {
    EXPECT_TRUE(fs::exists(folder.dir() + name)) << name;
  }
}

TEST_F(Files, PruningLooksAtNamesNotAtTheFoldersPath) {
  const auto fill = [](const RunFolder& folder) {
    for (const std::int64_t iteration : {1, 2, 3}) {
      const Status status = write_file_atomically(folder.checkpoint_path(iteration), "x");
      if (!status.ok()) return status;
    }
    folder.prune(2);
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("odd.tmp-1/run"), fill).ok());
  const RunFolder folder = RunFolder::open(at("odd.tmp-1/run")).take();
  folder.prune(2);
  EXPECT_TRUE(fs::exists(folder.checkpoint_path(2)));
  EXPECT_TRUE(fs::exists(folder.checkpoint_path(3)));
  EXPECT_FALSE(fs::exists(folder.checkpoint_path(1)));
}

TEST_F(Files, FoldersOfLiveProcessesAreLeftAndThoseOfDeadOnesCleared) {
  const std::string live = at(".run.tmp-" + std::to_string(::getppid()));
  const std::string dead = at(".run.tmp-2147483646");
  fs::create_directories(live);
  fs::create_directories(dead);
  const auto fill = [](const RunFolder& folder) {
    return write_file_atomically(folder.manifest_path(), "{}");
  };
  ASSERT_TRUE(RunFolder::create(at("run"), fill).ok());
  EXPECT_TRUE(fs::exists(live));
  EXPECT_FALSE(fs::exists(dead));
}

TEST_F(Files, AManifestComesBackWhole) {
  Manifest wanted = make_manifest({{"env_id", "CartPole-v1"}, {"seed", "7"}}, 7, 3, "avx2");
  wanted.cpu = "odd \xff text";  // not UTF-8: replaced, never thrown
  ASSERT_TRUE(write_file_atomically(at("m"), manifest_json(wanted)).ok());
  const Result<Manifest> got = read_manifest(at("m"));
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got.value().config, wanted.config);
  EXPECT_EQ(got.value().seed, 7u);
  EXPECT_EQ(got.value().threads, 3);
  EXPECT_EQ(got.value().isa, "avx2");
  EXPECT_EQ(got.value().cores, wanted.cores);
  EXPECT_EQ(got.value().memory_bytes, wanted.memory_bytes);
  EXPECT_EQ(got.value().revision, wanted.revision);
  ASSERT_TRUE(write_file_atomically(at("m"), "{\"config\": 3}").ok());
  EXPECT_EQ(read_manifest(at("m")).status().kind(), ErrorKind::kCorrupt);
}

TEST(Events, KnownBytes) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  const std::string record = encode_file_version(1.0);
  const std::string payload(
      "\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0d"
      "brain.Event:2",
      24);
  ASSERT_EQ(record.size(), 8u + 4 + 24 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(8, 4), std::string("\xa3\x7f\x4b\x22", 4));
  EXPECT_EQ(record.substr(12, 24), payload);
  EXPECT_EQ(record.substr(36, 4), std::string("\x86\xbf\x57\x7a", 4));
}

TEST(JsonLine, EscapesAndRoundTrips) {
  const std::string line = JsonLine()
                               .add("third", 1.0 / 3.0)
                               .add("none", std::numeric_limits<double>::quiet_NaN())
                               .add("big", std::uint64_t{18446744073709551615u})
                               .add("yes", true)
                               .add("text", "a\"b\\c\n")
                               .str();
  EXPECT_EQ(line,
            "{\"third\": 0.3333333333333333, \"none\": null, \"big\": 18446744073709551615, "
            "\"yes\": true, "
            "\"text\": \"a\\\"b\\\\c\\u000a\"}");
}

}  // namespace
}  // namespace broadloom
