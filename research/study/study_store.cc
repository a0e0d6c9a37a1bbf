#include "research/study/study_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "broadloom/record/json_line.h"
#include "broadloom/record/manifest.h"
#include "research/study/merge.h"
#include "research/study/store_schema.h"
#include "research/study/store_views.h"
#include "research/study/study_definition.h"

namespace broadloom {
namespace {

std::string json_of(const Overrides& overrides) {
  JsonLine line;
  for (const auto& [key, text] : overrides) line.add(key, text);
  return line.str();
}

Overrides without_seed(const Config& config) {
  Overrides all = to_overrides(config);
  std::erase_if(all, [](const auto& entry) { return entry.first == "seed"; });
  return all;
}

Status insert_study(Database& database, const StudyPlan& plan, const StudyPart& part) {
  Result<Statement> insert = database.prepare(
      "INSERT INTO study (id, name, hash, definition, matched, points, evaluations, shard, shards,"
      " version, revision, created) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  const Manifest program = make_manifest({}, 0, 1, "");
  return insert.value()
      .bind_all(plan.name, plan.hash, plan.definition, match_name(plan.match), plan.points,
                plan.evaluations, part.index, part.count, program.version, program.revision,
                program.created)
      .run();
}

// Inserts the cells from this place on.
Status insert_cells(Database& database, const StudyPlan& plan, std::size_t first) {
  Result<Statement> insert =
      database.prepare("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  for (std::size_t c = first; c < plan.cells.size(); ++c) {
    const StudyCell& cell = plan.cells[c];
    BROADLOOM_TRY(insert.value()
                      .bind_all(static_cast<std::int64_t>(c) + 1, cell.name, json_of(cell.changes),
                                json_of(without_seed(cell.config)), cell.config.num_envs,
                                cell.config.num_steps, cell.batch_size(), cell.minibatch_count(),
                                cell.minibatch_size(), cell.config.update_epochs,
                                cell.config.num_iterations(), cell.environment_steps(),
                                gradient_steps(cell.config), cell.samples_per_gradient(), cell.note)
                      .run());
  }
  return {};
}

// Inserts the runs that are missing.
Status insert_runs(Database& database, const StudyPlan& plan) {
  Result<Statement> insert = database.prepare(
      "INSERT OR IGNORE INTO runs (id, cell_id, seed, config_hash, status)"
      " VALUES (?, ?, ?, ?, 'pending')");
  if (!insert.ok()) return insert.status();
  for (const StudyRun& run : plan.runs) {
    BROADLOOM_TRY(
        insert.value()
            .bind_all(run.id, run.cell + 1, static_cast<std::int64_t>(run.seed), run.config_hash)
            .run());
  }
  return {};
}

Status insert_curve(Database& database, const RunRecord& record) {
  Result<Statement> point = database.prepare("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?)");
  if (!point.ok()) return point.status();
  Result<Statement> value =
      database.prepare("INSERT INTO metrics (run_id, point, key, value) VALUES (?, ?, ?, ?)");
  if (!value.ok()) return value.status();
  for (const CurvePoint& p : record.curve) {
    BROADLOOM_TRY(point.value()
                      .bind_all(record.id, p.point, p.environment_steps, p.global_step, p.iteration,
                                p.seconds)
                      .run());
    for (const auto& [key, number] : p.values) {
      if (!std::isfinite(number)) continue;
      BROADLOOM_TRY(value.value().bind_all(record.id, p.point, key, number).run());
    }
  }
  return {};
}

Status insert_evaluations(Database& database, const RunRecord& record) {
  Result<Statement> insert =
      database.prepare("INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  for (const EvalResult& e : record.evaluations) {
    BROADLOOM_TRY(insert.value()
                      .bind_all(record.id, e.global_step, e.episodes, e.mean_return, e.ci_low,
                                e.ci_high, e.std_return, e.mean_length)
                      .run());
  }
  return {};
}

Status update_run(Database& database, const RunRecord& record) {
  Result<Statement> update = database.prepare(
      "UPDATE runs SET status = ?, error = ?, parameters_hash = ?, version = ?, revision = ?,"
      " isa = ?, hardware = ?, started = ?, finished = ?, seconds = ? WHERE id = ?");
  if (!update.ok()) return update.status();
  const Manifest program = make_manifest({}, 0, 1, "");
  Statement& s = update.value();
  s.bind(1, record.failed ? "failed" : "finished");
  if (record.failed) s.bind(2, record.error);
  if (!record.failed) s.bind(3, record.parameters_hash);
  return s.bind(4, program.version)
      .bind(5, program.revision)
      .bind(6, record.isa)
      .bind(7, fmt::format("{}, {} cores", program.cpu, program.cores))
      .bind(8, record.started)
      .bind(9, record.finished)
      .bind(10, record.seconds)
      .bind(11, record.id)
      .run();
}

Status clear_run(Database& database, std::int64_t id) {
  for (const char* sql :
       {"DELETE FROM metrics WHERE run_id = ?", "DELETE FROM points WHERE run_id = ?",
        "DELETE FROM evaluations WHERE run_id = ?"}) {
    Result<Statement> remove = database.prepare(sql);
    if (!remove.ok()) return remove.status();
    BROADLOOM_TRY(remove.value().bind(1, id).run());
  }
  return {};
}

// Applies all changes or none.
template <class Changes>
Status in_transaction(Database& database, const Changes& changes) {
  BROADLOOM_TRY(database.begin());
  Status status = changes();
  if (status.ok()) status = database.commit();
  if (!status.ok()) database.rollback();
  return status;
}

// Checks that the tables are the program's own. Views in their place might never end, and triggers
// might write elsewhere. The program queries no view of a store.
Status check_tables(Database& database, const std::string& path) {
  const auto altered = [&](const std::string& what) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("'{}' is damaged or was altered: {}; restore a copy of it, or run "
                              "the study again into another file",
                              path, what));
  };
  Result<Statement> query = database.prepare("SELECT type, sql FROM sqlite_master WHERE name = ?");
  if (!query.ok()) return query.status();
  for (const char* name : {"study", "cells", "runs", "points", "metrics", "evaluations"}) {
    Statement& row = query.value().bind(1, name);
    const Result<bool> found = row.next();
    if (!found.ok()) return found.status();
    const std::string sql = found.value() ? row.text(1) : "";
    const bool is_ours = sql.starts_with(fmt::format("CREATE TABLE {} (", name)) &&
                         std::string_view(kStoreSchema).find(sql + ";") != std::string_view::npos;
    if (!is_ours) return altered(fmt::format("its '{}' is not the table of a store", name));
    row.reset();
  }
  const Result<std::int64_t> triggers =
      database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'");
  if (!triggers.ok()) return triggers.status();
  return triggers.value() == 0 ? Status() : altered("it has triggers, and stores have none");
}

// The first finding of a check of the database; "": none.
Result<std::string> finding(Database& database, const char* check) {
  Result<Statement> query = database.prepare(check);
  if (!query.ok()) return query.status();
  const Result<bool> row = query.value().next();
  if (!row.ok()) return row.status();
  return row.value() ? query.value().text(0) : std::string();
}

// Rows that no runner writes: a query that finds one, and words with its number or
// name.
struct BadRow {
  const char* query;
  const char* words;
};
constexpr BadRow kBadRows[] = {
    {"SELECT name FROM cells WHERE num_envs < 1 OR num_steps < 1 OR batch_size < 1"
     " OR minibatch_count < 1 OR minibatch_size < 1 OR update_epochs < 1 OR iterations < 1"
     " OR environment_steps < 1 OR gradient_steps < 0 OR samples_per_gradient < 0",
     "cell {} has a size below 1"},
    {"SELECT id FROM runs WHERE length(config_hash) <> 32 OR config_hash GLOB '*[^0-9a-f]*'",
     "the config_hash of its run {} is no hash"},
    {"SELECT id FROM runs WHERE seconds < 0 OR seconds > 1e300",
     "the seconds of its run {} are out of range"},
    {"SELECT run_id FROM points WHERE point < 0 OR environment_steps < 0 OR global_step < 0"
     " OR iteration < 0 OR seconds < 0 OR seconds > 1e300",
     "a number of a point of its run {} is out of range"},
    {"SELECT run_id FROM metrics WHERE abs(value) > 1.7976931348623157e308",
     "a metric of its run {} is not finite"},
    {"SELECT run_id FROM evaluations WHERE global_step < 0 OR episodes < 0 OR std_return < 0"
     " OR mean_length < 0 OR abs(mean_return) > 1.7976931348623157e308",
     "a number of an evaluation of its run {} is out of range"},
};

// Words about the first row that is not as the store's definition plans it; "": none.
Result<std::string> unplanned_row(Database& database) {
  Result<Statement> study = database.prepare("SELECT definition FROM study");
  if (!study.ok()) return study.status();
  const Result<bool> begun = study.value().next();
  if (!begun.ok()) return begun.status();
  if (!begun.value()) return std::string("it describes 0 studies");
  const DefinedRuns plan = defined_runs(study.value().text(0));
  const auto cells = static_cast<std::int64_t>(plan.cells.size());
  Result<Statement> cell = database.prepare("SELECT id, name FROM cells ORDER BY id");
  if (!cell.ok()) return cell.status();
  for (std::int64_t c = 0;; ++c) {
    const Result<bool> more = cell.value().next();
    if (!more.ok()) return more.status();
    if (!more.value()) break;
    const bool is_planned = c < cells && cell.value().integer(0) == c + 1 &&
                            cell.value().text(1) == plan.cells[static_cast<std::size_t>(c)];
    if (!is_planned)
      return fmt::format("its cell '{}' is not that of its definition", cell.value().text(1));
  }
  Result<Statement> run = database.prepare("SELECT id, cell_id, seed FROM runs ORDER BY id");
  if (!run.ok()) return run.status();
  for (std::int64_t r = 0;; ++r) {
    const Result<bool> more = run.value().next();
    if (!more.ok()) return more.status();
    if (!more.value()) break;
    const std::int64_t id = run.value().integer(0);
    if (!plan.has(id, run.value().integer(1), run.value().integer(2)))
      return fmt::format("its run {} is not in its study's plan", id);
  }
  return std::string();
}

// Checks the values of all rows: those that no runner writes would give wrong reports.
Status check_rows(Database& database, const std::string& path) {
  Result<std::string> found = unplanned_row(database);
  if (!found.ok()) return found.status();
  std::string words = found.take();
  for (const BadRow& bad : kBadRows) {
    if (!words.empty()) break;
    Result<Statement> query = database.prepare(bad.query);
    if (!query.ok()) return query.status();
    const Result<bool> row = query.value().next();
    if (!row.ok()) return row.status();
    if (row.value()) words = fmt::format(fmt::runtime(bad.words), query.value().text(0));
  }
  if (words.empty()) return {};
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged: {}; restore a copy of it, or run the study again into "
                      "another file",
                      path, words)};
}

}  // namespace

Status check_format(Database& database, const std::string& path) {
  const Result<std::int64_t> application = database.integer("PRAGMA application_id");
  if (!application.ok()) return application.status();
  const Result<std::int64_t> tables = database.integer("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  // As a kill before the first commit leaves it.
  if (application.value() == 0 && tables.value() == 0) {
    return {ErrorKind::kMismatch,
            fmt::format("'{}' is empty: it has no runs; run the study into it (--out), or leave it "
                        "out",
                        path)};
  }
  if (application.value() != kStoreApplication) {
    return {ErrorKind::kMismatch,
            fmt::format("'{}' is not the store of a study but another program's database; name "
                        "another file",
                        path)};
  }
  const Result<std::int64_t> format = database.integer("PRAGMA user_version");
  if (!format.ok()) return format.status();
  if (format.value() != kStoreFormat) {
    return {ErrorKind::kMismatch,
            fmt::format("'{}' is a store of format {}, but this program ({}) reads format {}; use "
                        "the program that made it, or name another file",
                        path, format.value(), version_text(), kStoreFormat)};
  }
  BROADLOOM_TRY(check_tables(database, path));
  const Result<std::string> pages = finding(database, "PRAGMA quick_check(1)");
  if (!pages.ok()) return pages.status();
  const Result<std::string> references = finding(database, "PRAGMA foreign_key_check");
  if (!references.ok()) return references.status();
  std::string found = pages.value();
  if (found == "ok" && references.value().empty()) return check_rows(database, path);
  if (found == "ok") found = fmt::format("{} refer to missing rows", references.value());
  std::replace(found.begin(), found.end(), '\n', ' ');
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged ({}); restore a copy of it, or run the study again into "
                      "another file",
                      path, found)};
}

Result<FileLock> lock_store(const std::string& path) {
  Result<std::optional<FileLock>> lock = FileLock::try_acquire(path, Links::kFollow);
  if (!lock.ok()) return lock.status();
  if (lock.value()) return std::move(*lock.value());
  return Status(ErrorKind::kIo,
                fmt::format("another command is working on '{}'; wait for it or stop it, or name "
                            "another store with --out",
                            path));
}

Result<StudyStore> StudyStore::open(const std::string& path, const StudyPlan& plan,
                                    const StudyPart& part, bool any_revision) {
  BROADLOOM_TRY(make_folders(std::filesystem::path(path).parent_path().string()));
  StudyStore store;
  store.path_ = path;
  store.planned_ = plan.runs;
  store.definition_ = plan.definition;
  Result<FileLock> lock = lock_store(path);
  if (!lock.ok()) return lock.status();
  store.lock_ = lock.take();
  Result<Database> database = Database::open(path);
  if (!database.ok()) return database.status();
  store.database_ = database.take();
  // A kill before the first commit leaves an empty file, or a journal that SQLite has just undone.
  const Result<std::int64_t> tables = store.database_.integer("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  if (tables.value() == 0) {
    BROADLOOM_TRY(store.create(plan, part));
  } else {
    BROADLOOM_TRY(check_format(store.database_, path));
    BROADLOOM_TRY(store.check_same(plan, part, any_revision));
    BROADLOOM_TRY(store.extend(plan));
  }
  return store;
}

Result<StudyStore> StudyStore::open_to_read(const std::string& path, const StudyPlan& plan) {
  StudyStore store;
  store.path_ = path;
  store.planned_ = plan.runs;
  store.definition_ = plan.definition;
  store.is_read_only_ = true;
  Result<Database> database = Database::open(path, Access::kRead);
  if (!database.ok()) return database.status();
  store.database_ = database.take();
  BROADLOOM_TRY(check_format(store.database_, path));
  BROADLOOM_TRY(store.check_same(plan, {}, true));
  return store;
}

Status StudyStore::create(const StudyPlan& plan, const StudyPart& part) {
  return in_transaction(database_, [&]() -> Status {
    BROADLOOM_TRY(database_.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                            kStoreApplication, kStoreFormat)));
    BROADLOOM_TRY(database_.run(kStoreSchema));
    BROADLOOM_TRY(insert_study(database_, plan, part));
    BROADLOOM_TRY(insert_cells(database_, plan, 0));
    BROADLOOM_TRY(make_views(database_));
    return insert_runs(database_, plan);
  });
}

Status StudyStore::extend(const StudyPlan& plan) {
  const Result<std::int64_t> runs = database_.integer("SELECT count(*) FROM runs");
  if (!runs.ok()) return runs.status();
  if (runs.value() == static_cast<std::int64_t>(plan.runs.size())) return {};
  const Result<std::int64_t> cells = database_.integer("SELECT count(*) FROM cells");
  if (!cells.ok()) return cells.status();
  return in_transaction(database_, [&]() -> Status {
    Result<Statement> update = database_.prepare("UPDATE study SET hash = ?, definition = ?");
    if (!update.ok()) return update.status();
    BROADLOOM_TRY(update.value().bind_all(plan.hash, plan.definition).run());
    BROADLOOM_TRY(insert_cells(database_, plan, static_cast<std::size_t>(cells.value())));
    if (cells.value() < static_cast<std::int64_t>(plan.cells.size())) {
      BROADLOOM_TRY(drop_views(database_));  // their columns follow from the cells
      BROADLOOM_TRY(make_views(database_));
    }
    return insert_runs(database_, plan);
  });
}

// A store of an older version names no sources. It gets the plan's with the first run of them: what
// its other runs were trained on is not known.
Status StudyStore::write_sources() {
  Result<Statement> query = database_.prepare("SELECT definition FROM study");
  if (!query.ok()) return query.status();
  BROADLOOM_TRY(query.value().next().status());
  const std::string known(query.value().text(0));
  const std::string all = with_sources(known, definition_);
  if (all == known) return {};
  Result<Statement> update = database_.prepare("UPDATE study SET definition = ?");
  if (!update.ok()) return update.status();
  return update.value().bind_all(all).run();
}

Status StudyStore::check_same(const StudyPlan& plan, const StudyPart& part, bool any_revision) {
  Result<Statement> query = database_.prepare(
      "SELECT definition, shard, shards, version, revision,"
      " (SELECT count(*) FROM runs WHERE status = 'pending') FROM study");
  if (!query.ok()) return query.status();
  Statement& row = query.value();
  const Result<bool> found = row.next();
  if (!found.ok()) return found.status();
  const std::string theirs = fmt::format("{} ({})", row.text(3), row.text(4));
  std::string definition = plain_definition(row.text(0)), planned = plan.definition;
  drop_lone_sources(definition, planned);
  const bool grows = only_adds_seeds(definition, planned) || only_adds_cells(definition, planned);
  if (definition != planned && !grows) {
    return {ErrorKind::kMismatch,
            fmt::format("'{}' is the store of another study: {}. Name another file with --out, or "
                        "undo the change{}",
                        path_,
                        definition_differences({"the store", definition}, {"this study", planned}),
                        theirs == version_text() ? "" : "; it was made by version " + theirs)};
  }
  if (row.integer(1) != part.index || row.integer(2) != part.count) {
    return {ErrorKind::kMismatch,
            fmt::format("'{}' is the store of {}, but {} was asked for; give each its own store "
                        "with --out",
                        path_, part_name(row.integer(1), row.integer(2)),
                        part_name(part.index, part.count))};
  }
  if (any_revision || (row.integer(5) == 0 && !grows)) return {};
  return check_revision();
}

Status StudyStore::check_revision() {
  Result<Statement> query = database_.prepare("SELECT version, revision FROM study");
  if (!query.ok()) return query.status();
  const Result<bool> found = query.value().next();
  if (!found.ok()) return found.status();
  const std::string theirs = fmt::format("{} ({})", query.value().text(0), query.value().text(1));
  if (theirs == version_text()) return {};
  return {ErrorKind::kMismatch,
          fmt::format("'{}' was begun by version {}, and this is {}: runs of two versions may "
                      "differ for that reason alone. Use the first version, name another file with "
                      "--out, or mix them with --any_revision (each run records its version)",
                      path_, theirs, version_text())};
}

// Reads only tables, since a store's views may be anything.
constexpr char kRuns[] = R"sql(
SELECT r.id, r.cell_id, r.seed, r.status, r.error, r.seconds,
  (SELECT value FROM metrics m WHERE m.run_id = r.id AND m.key = 'episodic_return'
   AND r.status = 'finished' ORDER BY point DESC LIMIT 1),
  (SELECT mean_return FROM evaluations e WHERE e.run_id = r.id AND r.status = 'finished'
   ORDER BY global_step DESC LIMIT 1),
  strftime('%s', r.finished) - strftime('%s', r.started) FROM runs r ORDER BY r.id)sql";

// Callers use the runs' numbers as indices into the plan.
Result<std::vector<StoredRun>> StudyStore::runs() {
  Result<Statement> query = database_.prepare(kRuns);
  if (!query.ok()) return query.status();
  Statement& row = query.value();
  std::vector<StoredRun> runs;
  while (true) {
    const Result<bool> more = row.next();
    if (!more.ok()) return more.status();
    if (!more.value()) break;
    const std::size_t place = runs.size();
    const bool is_planned = place < planned_.size() && row.integer(0) == planned_[place].id &&
                            row.integer(1) == planned_[place].cell + 1 &&
                            static_cast<std::uint64_t>(row.integer(2)) == planned_[place].seed;
    if (!is_planned) return not_planned(row.integer(0));
    runs.push_back({row.integer(0), planned_[place].cell, planned_[place].seed, row.text(3),
                    row.text(4), row.real(5), std::fmax(row.real(5), row.real(8)), row.real(6),
                    row.real(7)});
  }
  if (is_read_only_ || runs.size() == planned_.size()) return runs;
  return not_planned(static_cast<std::int64_t>(runs.size()) + 1);
}

Status StudyStore::not_planned(std::int64_t run) const {
  return {
      ErrorKind::kCorrupt,
      fmt::format("'{}' is damaged: its run {} is not in its study's plan; restore a copy of it, "
                  "or run the study again into another file",
                  path_, run)};
}

Status StudyStore::write(const RunRecord& record) {
  BROADLOOM_TRY(in_transaction(database_, [&]() -> Status {
    if (!has_sources_) BROADLOOM_TRY(write_sources());
    BROADLOOM_TRY(clear_run(database_, record.id));
    BROADLOOM_TRY(insert_curve(database_, record));
    BROADLOOM_TRY(insert_evaluations(database_, record));
    return update_run(database_, record);
  }));
  has_sources_ = true;
  return {};
}

Status StudyStore::take(const std::string& path) { return take_runs(database_, path_, path); }

Status StudyStore::forget_failed(bool any_revision) {
  const Result<std::int64_t> failed =
      database_.integer("SELECT count(*) FROM runs WHERE status = 'failed'");
  if (!failed.ok()) return failed.status();
  if (failed.value() == 0) return {};
  if (!any_revision) BROADLOOM_TRY(check_revision());
  return in_transaction(database_, [&] {
    return database_.run(
        "DELETE FROM metrics WHERE run_id IN (SELECT id FROM runs WHERE status = 'failed');"
        "DELETE FROM points WHERE run_id IN (SELECT id FROM runs WHERE status = 'failed');"
        "DELETE FROM evaluations WHERE run_id IN (SELECT id FROM runs WHERE status = 'failed');"
        "UPDATE runs SET status = 'pending', error = NULL, version = NULL, revision = NULL,"
        " isa = NULL, hardware = NULL, started = NULL, finished = NULL, seconds = NULL"
        " WHERE status = 'failed'");
  });
}

}  // namespace broadloom
