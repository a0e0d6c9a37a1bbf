#include "research/study/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "broadloom/record/file_lock.h"
#include "broadloom/record/files.h"
#include "research/study/sqlite.h"
#include "research/study/store_schema.h"
#include "research/study/store_views.h"
#include "research/study/study_definition.h"
#include "research/study/study_part.h"
#include "research/study/study_store.h"

namespace broadloom {
namespace {

// Copies the plan from the first store; all stores have the same one.
constexpr char kCopyPlan[] = R"sql(
INSERT INTO study SELECT id, name, hash, definition, matched, points, evaluations, 1, 1,
  version, revision, created FROM part.study;
INSERT INTO cells SELECT * FROM part.cells;
INSERT INTO runs (id, cell_id, seed, config_hash, status)
  SELECT id, cell_id, seed, config_hash, 'pending' FROM part.runs;
)sql";

// A run that failed in one store, of memory for example, may have finished in another.
constexpr char kFindBetter[] = R"sql(
CREATE TEMP TABLE fresh AS SELECT p.id FROM part.runs p JOIN main.runs m ON m.id = p.id
  WHERE (p.status <> 'pending' AND m.status = 'pending')
  OR (p.status = 'finished' AND m.status = 'failed');
DELETE FROM metrics WHERE run_id IN (SELECT id FROM fresh);
DELETE FROM points WHERE run_id IN (SELECT id FROM fresh);
DELETE FROM evaluations WHERE run_id IN (SELECT id FROM fresh);
)sql";

// Points come first because metrics refer to them. Runs come last because they tell what is new.
constexpr char kCopyRuns[] = R"sql(
INSERT INTO points SELECT * FROM part.points WHERE run_id IN (SELECT id FROM fresh);
INSERT INTO metrics SELECT * FROM part.metrics WHERE run_id IN (SELECT id FROM fresh);
INSERT INTO evaluations SELECT * FROM part.evaluations WHERE run_id IN (SELECT id FROM fresh);
INSERT OR REPLACE INTO runs SELECT * FROM part.runs WHERE id IN (SELECT id FROM fresh);
DROP TABLE temp.fresh;
)sql";

// Finds a run of the part that differs from the study's run of that number.
constexpr char kStrange[] = R"sql(
SELECT p.id FROM part.runs p LEFT JOIN main.runs m ON m.id = p.id
WHERE m.id IS NULL OR m.cell_id <> p.cell_id OR m.seed <> p.seed OR m.config_hash <> p.config_hash
ORDER BY p.id LIMIT 1
)sql";

constexpr char kDisagree[] = R"sql(
SELECT c.name, m.seed FROM part.runs p JOIN main.runs m ON m.id = p.id
JOIN main.cells c ON c.id = m.cell_id
WHERE p.status = 'finished' AND m.status = 'finished'
  AND p.parameters_hash IS NOT m.parameters_hash
ORDER BY m.id LIMIT 1
)sql";

Result<Database> open_store(const std::string& path) {
  Result<Database> store = Database::open(path, Access::kRead);
  if (!store.ok()) return store;
  BROADLOOM_TRY(check_format(store.value(), path));
  return store;
}

// schema: "main" or that of an attached store.
Result<std::string> definition_in(Database& database, const char* schema = "main") {
  Result<Statement> row = database.prepare(fmt::format("SELECT definition FROM {}.study", schema));
  if (!row.ok()) return row.status();
  BROADLOOM_TRY(row.value().next().status());
  return std::string(row.value().text(0));
}

// The first store may have more seeds than the part.
Status check_definition(Database& merged, Database& part, const std::string& first,
                        const std::string& path) {
  const Result<std::string> ours = definition_in(merged);
  if (!ours.ok()) return ours.status();
  const Result<std::string> theirs = definition_in(part);
  if (!theirs.ok()) return theirs.status();
  std::string our_text = plain_definition(ours.value());
  std::string their_text = plain_definition(theirs.value());
  drop_lone_sources(their_text, our_text);
  if (our_text == their_text || only_adds_seeds(their_text, our_text)) return {};
  return {
      ErrorKind::kMismatch,
      fmt::format(
          "'{0}' is of another study than '{1}', and only parts of one study can be merged "
          "(`broadloom report {1} {0}` compares studies). They differ: {2}",
          path, first,
          definition_differences({"'" + path + "'", their_text}, {"'" + first + "'", our_text}))};
}

Status check_agreement(Database& merged, const std::string& path) {
  Result<Statement> query = merged.prepare(kDisagree);
  if (!query.ok()) return query.status();
  const Result<bool> row = query.value().next();
  if (!row.ok()) return row.status();
  if (!row.value()) return {};
  return {ErrorKind::kMismatch,
          fmt::format("'{}' and an earlier store have different results of cell {}, seed {}: leave "
                      "one of them out",
                      path, query.value().text(0), query.value().integer(1))};
}

Status check_runs(Database& merged, const std::string& path) {
  Result<Statement> query = merged.prepare(kStrange);
  if (!query.ok()) return query.status();
  const Result<bool> row = query.value().next();
  if (!row.ok()) return row.status();
  if (!row.value()) return {};
  return {ErrorKind::kCorrupt,
          fmt::format("run {1} of '{0}' and that of an earlier store have different settings, so "
                      "one of the two stores was altered; restore copies of them, or leave one out",
                      path, query.value().integer(0))};
}

Status attach_part(Database& merged, const std::string& path) {
  Result<Statement> attach = merged.prepare("ATTACH ? AS part");
  if (!attach.ok()) return attach.status();
  return attach.value().bind(1, sqlite_name(path)).run();
}

// Takes up the sources that only the part names, as later parts may name others.
Status take_sources(Database& merged) {
  const Result<std::string> ours = definition_in(merged);
  if (!ours.ok()) return ours.status();
  const Result<std::string> theirs = definition_in(merged, "part");
  if (!theirs.ok()) return theirs.status();
  const std::string all = with_sources(ours.value(), theirs.value());
  if (all == ours.value()) return {};
  Result<Statement> update = merged.prepare("UPDATE main.study SET definition = ?");
  if (!update.ok()) return update.status();
  return update.value().bind_all(all).run();
}

// first: name of the store that `merged` has its definition of; "" if it is empty.
Status check_part(Database& merged, const std::string& path, const std::string& first) {
  Result<Database> part = open_store(path);
  if (!part.ok()) return part.status();
  return first.empty() ? Status() : check_definition(merged, part.value(), first, path);
}

// One transaction reads a consistent state of the part, even while a runner works on it.
Status take_attached(Database& store, const std::string& path, const char* before) {
  BROADLOOM_TRY(store.run("BEGIN"));
  Status status = store.run(before);
  if (status.ok()) status = take_sources(store);
  if (status.ok()) status = check_runs(store, path);
  if (status.ok()) status = check_agreement(store, path);
  if (status.ok()) status = store.run(kFindBetter);
  if (status.ok()) status = store.run(kCopyRuns);
  if (status.ok()) status = store.commit();
  if (!status.ok()) store.rollback();
  return status;
}

// before: SQL that the transaction runs first.
Status take_part(Database& store, const std::string& path, const std::string& first,
                 const char* before = "") {
  BROADLOOM_TRY(check_part(store, path, first));
  BROADLOOM_TRY(attach_part(store, path));
  const Status status = take_attached(store, path, before);
  const Status detached = store.run("DETACH part");
  return status.ok() ? detached : status;
}

// Stores may differ in their number of seeds; the plan of most seeds has the others' runs.
Status begin_with_most_seeds(std::vector<std::string>& stores) {
  std::int64_t most = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    Result<Database> store = open_store(stores[i]);
    if (!store.ok()) return store.status();
    const Result<std::int64_t> seeds =
        store.value().integer("SELECT count(DISTINCT seed) FROM runs");
    if (!seeds.ok()) return seeds.status();
    if (seeds.value() <= most) continue;
    most = seeds.value();
    first = i;
  }
  std::swap(stores[0], stores[first]);
  return {};
}

Result<MergeSummary> fill(const std::vector<std::string>& stores, Database& database) {
  BROADLOOM_TRY(database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                         kStoreApplication, kStoreFormat)));
  BROADLOOM_TRY(database.run(kStoreSchema));
  const std::string& first = stores.front();
  BROADLOOM_TRY(take_part(database, first, "", kCopyPlan));
  // After the detaching, a view's names can only mean this store.
  BROADLOOM_TRY(make_views(database));
  std::string named = first;  // the store that named the sources, in messages
  for (std::size_t i = 1; i < stores.size(); ++i) {
    const Result<std::string> before = definition_in(database);
    if (!before.ok()) return before.status();
    BROADLOOM_TRY(take_part(database, stores[i], named));
    const Result<std::string> after = definition_in(database);
    if (!after.ok()) return after.status();
    if (after.value() != before.value()) named = stores[i];
  }
  Result<Statement> count = database.prepare(
      "SELECT count(*), total(status = 'finished'), total(status = 'failed') FROM runs");
  if (!count.ok()) return count.status();
  BROADLOOM_TRY(count.value().next().status());
  return MergeSummary{count.value().integer(0), count.value().integer(1), count.value().integer(2)};
}

// A store to merge into, which another command may not change meanwhile. Its destructor removes a
// file that is still empty.
class OutStore {
 public:
  OutStore() = default;
  OutStore(const OutStore&) = delete;
  OutStore& operator=(const OutStore&) = delete;
  ~OutStore() {
    std::error_code ignored;
    if (!path_.empty() && is_empty()) std::filesystem::remove(path_, ignored);
  }

  Status lock(const std::string& path) {
    Result<FileLock> lock = lock_store(path);
    if (!lock.ok()) return lock.status();
    lock_ = lock.take();
    path_ = path;
    return {};
  }
  bool is_empty() const {
    std::error_code ignored;
    return std::filesystem::file_size(path_, ignored) == 0;
  }
  bool is(const std::string& path) const {
    std::error_code ignored;
    return std::filesystem::equivalent(path, path_, ignored);
  }

 private:
  std::string path_;
  FileLock lock_;
};

// The store of a part would no longer be one.
Status check_whole(const std::string& path) {
  Result<Database> store = open_store(path);
  if (!store.ok()) return store.status();
  Result<Statement> part = store.value().prepare("SELECT shard, shards FROM study");
  if (!part.ok()) return part.status();
  BROADLOOM_TRY(part.value().next().status());
  if (part.value().integer(1) == 1) return {};
  return {ErrorKind::kMismatch,
          fmt::format("'{}' is the store of {}, expected one of the whole study; name another file "
                      "with --out",
                      path, part_name(part.value().integer(0), part.value().integer(1)))};
}

}  // namespace

Result<MergeSummary> merge_stores(const std::vector<std::string>& stores, const std::string& out) {
  if (stores.empty()) {
    return Status(ErrorKind::kInvalidConfig, "no stores to merge; name the parts' stores");
  }
  BROADLOOM_TRY(check_room(out));  // before the work
  OutStore target;
  BROADLOOM_TRY(target.lock(out));
  std::vector<std::string> all;
  if (!target.is_empty()) {
    BROADLOOM_TRY(check_whole(out));
    all.push_back(out);
  }
  // A pattern of names may match the store that an earlier merge made.
  std::copy_if(stores.begin(), stores.end(), std::back_inserter(all),
               [&](const std::string& path) { return !target.is(path); });
  if (all.empty()) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("'{}' is the only store to merge; name the parts' stores", out));
  }
  BROADLOOM_TRY(begin_with_most_seeds(all));
  // In memory until it is complete, so that the file changes as a whole or not at all.
  Result<Database> merged = Database::make_private(out);
  if (!merged.ok()) return merged.status();
  Result<MergeSummary> summary = fill(all, merged.value());
  if (!summary.ok()) return summary.status();
  Result<Database> file = Database::open(out);
  if (!file.ok()) return file.status();
  BROADLOOM_TRY(file.value().replace_by(merged.value()));
  return summary;
}

Status take_runs(Database& store, const std::string& name, const std::string& path) {
  return take_part(store, path, name);
}

}  // namespace broadloom
