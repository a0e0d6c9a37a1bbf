// Stores of studies: cells of their tables, their schema, and bytes of the file where SQLite keeps
// its own numbers. Then the commands' way: reported, gone on with, merged.
#include <fmt/core.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <vector>

#include "research/report/study_json.h"
#include "research/report/study_page.h"
#include "research/report/study_report.h"
#include "research/report/study_results.h"
#include "research/study/merge.h"
#include "research/study/runner.h"
#include "research/study/study_store.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace broadloom;
using fuzz::Dice;

constexpr char kStudy[] = R"(
seeds = 2
points = 4
evaluations = 2
[base]
env_id = "CartPole-v1"
total_timesteps = 512
num_envs = 4
num_steps = 16
hidden_sizes = [4]
eval_episodes = 2
max_episode_steps = 20
update_epochs = 1
[grid]
learning_rate = [2.5e-4, 1e-3]
)";

struct Table {
  std::string name;
  std::vector<std::string> columns;
};

// A value of SQL: numbers, texts with their quotes, blobs, nothing.
std::string sql_value(Dice& dice) {
  switch (dice.below(6)) {
    case 0:
      return "NULL";
    case 1:
    case 2: {
      const std::string number = fuzz::odd_number(dice);
      return number.find_first_of("x_") == std::string::npos && number[0] != '+' ? number : "1";
    }
    case 3:
      return "x'00ff7b'";
    case 4:
      return dice.once_in(2) ? "'{\"env_id\":\"CartPole-v1\",\"num_envs\":\"1000000\"}'"
                             : "'{\"a\":1}'";
    default: {
      std::string quoted = "'";
      for (const char c : fuzz::odd_text(dice)) {
        if (c != '\0') quoted += c;
        if (c == '\'') quoted += c;
      }
      return quoted + "'";
    }
  }
}

std::string row_of(const std::string& table, Dice& dice) {
  const bool has_rowid = table == "study" || table == "cells" || table == "runs";
  if (has_rowid) return fmt::format("rowid = {}", 1 + dice.below(4));
  return fmt::format("run_id = {}", 1 + dice.below(4));
}

std::string statement(const std::vector<Table>& tables, Dice& dice) {
  const Table& table = dice.pick(tables);
  const std::string column = dice.pick(table.columns), row = row_of(table.name, dice);
  switch (dice.below(16)) {
    case 0:
      return fmt::format("DELETE FROM {} WHERE {}", table.name, row);
    case 1:
      return fmt::format("DELETE FROM {}", table.name);
    case 2:
      return fmt::format("UPDATE {} SET {} = {}", table.name, column, sql_value(dice));
    case 3:
      return dice.once_in(2) ? fmt::format("PRAGMA user_version = {}", dice.below(3))
                             : "PRAGMA application_id = 7";
    case 4:
      return fmt::format("ALTER TABLE {} RENAME COLUMN {} TO other", table.name, column);
    case 5:
      return fmt::format(
          "DROP TABLE {0}; CREATE VIEW {0} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT "
          "x + 1 FROM n) SELECT x AS {1} FROM n",
          table.name, column);
    case 6:
      return fmt::format("CREATE TRIGGER t AFTER UPDATE ON {0} BEGIN DELETE FROM {0}; END",
                         dice.pick(tables).name);
    case 7:
      return fmt::format("UPDATE sqlite_master SET sql = {} WHERE name = '{}'", sql_value(dice),
                         table.name);
    case 8:
      return fmt::format("UPDATE sqlite_master SET rootpage = {} WHERE name = '{}'", dice.below(20),
                         table.name);
    case 9:
      return fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, column, sql_value(dice));
    default:
      return fmt::format("UPDATE {} SET {} = {} WHERE {}", table.name, column, sql_value(dice),
                         row);
  }
}

// As another program's hand would: no key is checked, and the schema may be written.
void change_rows(const std::string& path, const std::vector<Table>& tables, Dice& dice,
                 std::string& what) {
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) == SQLITE_OK) {
    sqlite3_exec(database,
                 "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA journal_mode = "
                 "MEMORY; PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON",
                 nullptr, nullptr, nullptr);
    for (std::size_t i = 1 + dice.below(3); i > 0; --i) {
      const std::string sql = statement(tables, dice);
      what += sql.substr(0, 200) + "; ";
      sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
    }
  }
  sqlite3_close(database);
}

// Numbers of the file's header and of its pages: kinds, counts, places of cells, their lengths.
void change_file(std::string& bytes, Dice& dice, std::string& what) {
  constexpr std::size_t kPage = 4096;
  if (dice.once_in(5)) {
    what += "bytes anywhere";
    fuzz::change_bytes(bytes, dice);
    return;
  }
  for (std::size_t i = 1 + dice.below(3); i > 0; --i) {
    const std::size_t page = dice.below(bytes.size() / kPage);
    const std::size_t begin = page == 0 ? dice.below(2) * 100 : page * kPage;
    std::size_t place = begin + dice.below(page == 0 && begin == 0 ? 100 : 16);
    if (dice.once_in(3)) place = page * kPage + dice.below(kPage);
    const char byte = static_cast<char>("\0\1\2\5\12\15\177\200\377"[dice.below(9)]);
    what += fmt::format("byte {} = {}; ", place, static_cast<int>(byte));
    bytes[place] = dice.once_in(3) ? static_cast<char>(dice.below(256)) : byte;
  }
}

class StoreFuzzer final : public fuzz::Fuzzer {
 public:
  const char* name() const override { return "store"; }

  Status prepare(const std::string& folder) override {
    const Result<StudySpec> spec = parse_study(kStudy, folder + "/study.toml");
    if (!spec.ok()) return spec.status();
    Result<StudyPlan> plan = plan_study(spec.value());
    if (!plan.ok()) return plan.status();
    plan_ = plan.take();
    for (const StudyPart& part : {StudyPart{}, StudyPart{1, 2}, StudyPart{2, 2}}) {
      StudyOptions options;
      options.store = fmt::format("{}/{}-{}.sqlite", folder, part.index, part.count);
      options.part = part;
      BROADLOOM_TRY(run_study(plan_, options, {}).status());
      begins_.push_back(fuzz::get_file(options.store));
    }
    other_ = folder + "/2-2.sqlite";
    return read_tables(folder + "/1-1.sqlite");
  }

  Status play(Dice& dice, const std::string& folder, std::string& what,
              std::string& wrong) override {
    const std::string path = folder + "/fuzz.sqlite";
    std::string bytes = dice.pick(begins_);
    const std::size_t kind = dice.below(8);
    if (kind < 3) change_file(bytes, dice, what);
    fuzz::put_file(path, bytes);
    if (kind > 3) change_rows(path, tables_, dice, what);
    const Status status = readers(path, wrong);
    for (const char* beside : {"-journal", "-wal", "-shm"}) std::filesystem::remove(path + beside);
    return status;
  }

 private:
  Status read_tables(const std::string& path) {
    sqlite3* database = nullptr;
    if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) std::abort();
    for (const char* name : {"study", "cells", "runs", "points", "metrics", "evaluations"}) {
      Table table{name, {}};
      const auto add = [](void* place, int, char** texts, char**) {
        static_cast<Table*>(place)->columns.emplace_back(texts[1]);
        return 0;
      };
      sqlite3_exec(database, fmt::format("PRAGMA table_info({})", name).c_str(), add, &table,
                   nullptr);
      tables_.push_back(table);
    }
    sqlite3_close(database);
    return {};
  }

  // The readers of `report`, `study` and `study merge`. The first error.
  Status readers(const std::string& path, std::string& wrong) const {
    Status first;
    const auto note = [&](const Status& status) {
      if (first.ok()) first = status;
      if (wrong.empty()) wrong = fuzz::wrong_error(status);
    };
    note(report(path, wrong));
    const std::string merged = path + ".merged";
    std::filesystem::remove(merged);
    const Status merging = merge_stores({path, other_}, merged).status();
    if (wrong.empty()) wrong = fuzz::wrong_error(merging);
    for (const StudyPart& part : {StudyPart{}, StudyPart{1, 2}}) {
      const Status status = go_on(path, part, wrong);
      if (status.kind() != ErrorKind::kMismatch) note(status);
    }
    return first;
  }

  static Status report(const std::string& path, std::string& wrong) {
    const Result<StudyResults> results = read_study_results(path);
    if (!results.ok()) return results.status();
    StudyReportOptions options;
    options.replicates = options.band_replicates = 50;
    const Result<StudyReport> report = make_study_report({path}, options);
    if (!report.ok()) return report.status();
    const Result<std::string> page = study_page(study_report_json(report.value(), {}));
    if (!page.ok()) wrong = "a report without a page: " + page.status().message();
    return {};
  }

  // As far as the next run would begin.
  Status go_on(const std::string& path, const StudyPart& part, std::string& wrong) const {
    const Result<StudyStore> seen = StudyStore::open_to_read(path, plan_);
    Result<StudyStore> store = StudyStore::open(path, plan_, part, true);
    if (!store.ok()) return store.status();
    const Result<std::vector<StoredRun>> runs = store.value().runs();
    if (!runs.ok()) return runs.status();
    for (const StoredRun& run : runs.value()) {
      if (run.cell < 0 || run.cell >= static_cast<int>(plan_.cells.size())) {
        wrong = fmt::format("run {} has cell {}", run.id, run.cell);
      }
    }
    BROADLOOM_TRY(store.value().forget_failed(true));
    return store.value().take(other_);
  }

  StudyPlan plan_;
  std::vector<Table> tables_;
  std::vector<std::string> begins_;
  std::string other_;
};

}  // namespace

int main(int argc, char** argv) {
  StoreFuzzer fuzzer;
  return fuzz::run_fuzzer(fuzzer, argc, argv);
}
