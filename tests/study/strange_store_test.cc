// Damaged or malicious stores and launches.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "research/report/study_results.h"
#include "research/study/launch_record.h"
#include "research/study/launcher.h"
#include "research/study/merge.h"
#include "tests/study/scene.h"

namespace broadloom {
namespace {

class StrangeStores : public StudyTest {
 protected:
  // A store of the whole study with nothing trained.
  void make(const std::string& name, StudyPart part = {}) const {
    ASSERT_TRUE(StudyStore::open(path(name), plan_, part, false).ok());
  }
  Status opened(const std::string& name) const {
    Result<StudyStore> store = StudyStore::open(path(name), plan_, {}, false);
    return store.ok() ? store.value().runs().status() : store.status();
  }
  Status looked_at(const std::string& name) const {
    Result<StudyStore> store = StudyStore::open_to_read(path(name), plan_);
    return store.ok() ? store.value().runs().status() : store.status();
  }

  StudyPlan plan_ = small_plan();
};

// As a kill before the first commit leaves it.
TEST_F(StrangeStores, EmptyOnesAreNotMergedButBegunAgain) {
  std::ofstream(path("empty"));
  const Status merged = merge_stores({path("empty")}, path("all")).status();
  EXPECT_EQ(merged.kind(), ErrorKind::kMismatch);
  EXPECT_NE(merged.message().find("'" + path("empty") + "' is empty: it has no runs"),
            std::string::npos)
      << merged.message();
  make("empty");
  EXPECT_TRUE(opened("empty").ok());
}

// Such numbers must not become array indices.
TEST_F(StrangeStores, RunsOutsideThePlanAreDamage) {
  const char* const changes[] = {"UPDATE runs SET cell_id = 900000 WHERE id = 2",
                                 "UPDATE runs SET cell_id = 3, seed = 9 WHERE id = 2",
                                 "UPDATE runs SET id = 900000 WHERE id = 2",
                                 "UPDATE runs SET id = -1 WHERE id = 6",
                                 "UPDATE runs SET seed = 77 WHERE id = 2",
                                 "INSERT INTO runs (id, cell_id, seed, config_hash, status)"
                                 " VALUES (7, 1, 3, 'x', 'finished')"};
  for (const char* sql : changes) {
    std::filesystem::remove(path("a"));
    make("a");
    ASSERT_TRUE(opened("a").ok()) << opened("a").message();
    change("a", std::string("PRAGMA foreign_keys = OFF; ") + sql);
    for (const Status& status : {opened("a"), looked_at("a")}) {
      EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << sql << ": " << status.message();
      EXPECT_NE(status.message().find("'" + path("a") + "' is damaged"), std::string::npos)
          << status.message();
    }
  }
}

// The header gives a version that only a later SQLite may write.
TEST_F(StrangeStores, AreDamagedWhereTheirHeaderForbidsWriting) {
  make("a");
  std::fstream file(path("a"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(18);
  file.put('\3');
  file.close();
  make("b");
  Result<StudyStore> store = StudyStore::open(path("a"), plan_, {}, false);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const Status status = store.value().take(path("b"));
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << status.message();
  EXPECT_NE(status.message().find("the store is damaged"), std::string::npos) << status.message();
}

// A view in place of a table might never end.
TEST_F(StrangeStores, OtherTablesAreRefused) {
  const char* const changes[] = {
      "ALTER TABLE cells RENAME TO hidden;"
      "CREATE VIEW cells AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n)"
      " SELECT i AS id FROM n",
      "DROP TABLE evaluations", "ALTER TABLE points ADD COLUMN more INTEGER",
      "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM metrics; END"};
  for (const char* sql : changes) {
    std::filesystem::remove(path("a"));
    make("a");
    change("a", std::string("PRAGMA foreign_keys = OFF; DROP VIEW scores; DROP VIEW settings;"
                            "DROP VIEW learning_curves; DROP VIEW learning_curves_by_time; ") +
                    sql);
    const Status report = read_study_results(path("a")).status();
    for (const Status& status : {opened("a"), looked_at("a"), report}) {
      EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << sql << ": " << status.message();
      EXPECT_NE(status.message().find("was altered"), std::string::npos) << status.message();
    }
  }
}

TEST_F(StrangeStores, ViewsOfAStoreAreNotRead) {
  make("a");
  change("a",
         "DROP VIEW scores; CREATE VIEW scores AS WITH RECURSIVE n(i) AS"
         " (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS run_id, i AS training_return,"
         " i AS evaluation_return FROM n");
  EXPECT_TRUE(opened("a").ok()) << opened("a").message();
}

TEST_F(StrangeStores, ADamagedPartIsNamed) {
  for (const char* sql : {"UPDATE runs SET cell_id = 900000 WHERE id = 2",
                          "UPDATE runs SET cell_id = 3, seed = 9 WHERE id = 2",
                          "INSERT INTO points VALUES (900000, 1, 1, 1, 1, 1.0)",
                          "INSERT INTO metrics VALUES (1, 'x', 5, 1.0)"}) {
    for (const char* name : {"first", "second", "whole", "merged"}) {
      std::filesystem::remove(path(name));
    }
    make("first", {1, 2});
    make("second", {2, 2});
    change("second", std::string("PRAGMA foreign_keys = OFF; ") + sql);
    const Status merged = merge_stores({path("first"), path("second")}, path("merged")).status();
    make("whole");
    const Status taken =
        StudyStore::open(path("whole"), plan_, {}, false).value().take(path("second"));
    for (const Status& status : {merged, taken}) {
      EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << sql << ": " << status.message();
      EXPECT_NE(status.message().find("'" + path("second") + "' is damaged"), std::string::npos)
          << status.message();
    }
    EXPECT_FALSE(std::filesystem::exists(path("merged")));
  }
}

// Rows that no runner writes are refused by all that read a store, which name that store.
TEST_F(StrangeStores, AlteredRowsAreDamage) {
  for (const char* sql :
       {"UPDATE runs SET seed = 99 WHERE id = 1", "UPDATE runs SET config_hash = 'x' WHERE id = 1",
        "UPDATE runs SET seconds = -1 WHERE id = 1", "UPDATE cells SET name = 'zz' WHERE id = 1",
        "UPDATE cells SET num_steps = 0 WHERE id = 1",
        "INSERT INTO points VALUES (1, 1, -5, 1, 1, 1.0)",
        "INSERT INTO points VALUES (1, 1, 5, 1, 1, 9e999)",
        "INSERT INTO points VALUES (1, 1, 5, 1, 1, 1.0);"
        "INSERT INTO metrics VALUES (1, 'x', 1, 9e999)",
        "INSERT INTO evaluations VALUES (1, 1, -1, 0.0, 0.0, 0.0, 0.0, 0.0)"}) {
    for (const char* name : {"a", "other", "merged"}) std::filesystem::remove(path(name));
    make("a", {1, 2});
    make("other", {2, 2});
    change("a", sql);
    const Status report = read_study_results(path("a")).status();
    const Status first = merge_stores({path("a"), path("other")}, path("merged")).status();
    const Status second = merge_stores({path("other"), path("a")}, path("merged")).status();
    Result<StudyStore> again = StudyStore::open(path("a"), plan_, {1, 2}, false);
    for (const Status& status : {report, first, second, again.status()}) {
      EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << sql << ": " << status.message();
      EXPECT_NE(status.message().find("'" + path("a") + "' is damaged"), std::string::npos)
          << status.message();
    }
  }
}

// Nothing shows which of two stores was altered.
TEST_F(StrangeStores, OtherSettingsOfARunBlameNoStore) {
  make("a", {1, 2});
  make("b", {2, 2});
  change("a", "UPDATE runs SET config_hash = replace(config_hash, substr(config_hash, 1, 1), 'f')");
  change("a", "UPDATE runs SET config_hash = replace(config_hash, substr(config_hash, 2, 1), 'e')");
  const Status status = merge_stores({path("a"), path("b")}, path("merged")).status();
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << status.message();
  EXPECT_NE(status.message().find("one of the two stores was altered"), std::string::npos)
      << status.message();
}

TEST_F(StrangeStores, AnImpossibleNumberOfPointsIsDamage) {
  make("a");
  change("a", "UPDATE study SET points = 2000000000");
  const Status status = read_study_results(path("a")).status();
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << status.message();
}

// SQLite gives some names another meaning than that of a file.
TEST_F(StrangeStores, EveryNameMeansAFile) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(path("."));
  for (const char* name : {":memory:", "file:x?mode=memory", "file:plain"}) {
    ASSERT_TRUE(StudyStore::open(name, plan_, {}, false).ok());
    EXPECT_GT(std::filesystem::file_size(name), 0U) << name;
    EXPECT_TRUE(StudyStore::open_to_read(name, plan_).ok());
    EXPECT_TRUE(merge_stores({name}, std::string(name) + "2").ok());
    EXPECT_TRUE(StudyStore::open_to_read(std::string(name) + "2", plan_).ok());
  }
  std::filesystem::current_path(before);
}

TEST_F(StrangeStores, AMergeThatFailsLeavesNothing) {
  make("a");
  std::ofstream(path("b")) << std::string(5000, 'x');
  EXPECT_FALSE(merge_stores({path("a"), path("b")}, path("merged")).ok());
  const auto entries = std::distance(std::filesystem::directory_iterator(path(".")),
                                     std::filesystem::directory_iterator());
  EXPECT_EQ(entries, 2);
}

TEST_F(StrangeStores, ALaunchOfUnknownRunsIsDamaged) {
  for (const char* parts : {R"(["999999999"])", R"(["1-9223372036854775807"])", R"(["0"])",
                            R"(["1-6", "1-6"])", R"(["1-6", "3"])", R"([7])"}) {
    const std::string folder = launches_folder(path("a.sqlite")) + "/launch-1";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/launch.json")
        << R"({"launcher": "slurm", "name": "x", "array": "7", "created": "", "is_over": false,)"
        << R"("parts": )" << parts << "}";
    const Status status = read_launches(path("a.sqlite"), 6).status();
    EXPECT_EQ(status.kind(), ErrorKind::kCorrupt) << parts << ": " << status.message();
    LaunchOptions options;
    options.study.store = path("a.sqlite");
    EXPECT_EQ(make_launcher("local").value()->run(plan_, options, {}).status().kind(),
              ErrorKind::kCorrupt);
  }
}

TEST_F(StrangeStores, FoldersWithLargeNumbersAreIgnored) {
  const std::string folder = launches_folder(path("a.sqlite"));
  std::filesystem::create_directories(folder + "/launch-2147483647");
  const Result<std::string> made = make_launch_folder(path("a.sqlite"));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made.value(), folder + "/launch-1");
}

}  // namespace
}  // namespace broadloom
