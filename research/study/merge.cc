#include "research/study/merge.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "broadloom/record/files.h"
#include "research/study/sqlite.h"
#include "research/study/store_schema.h"
#include "research/study/store_views.h"
#include "research/study/study_definition.h"
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

constexpr char kFindPending[] = R"sql(
CREATE TEMP TABLE fresh AS SELECT p.id FROM part.runs p JOIN main.runs m ON m.id = p.id
  WHERE p.status <> 'pending' AND m.status = 'pending';
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
WHERE p.status <> 'pending' AND m.status <> 'pending'
  AND (p.status <> m.status OR p.parameters_hash IS NOT m.parameters_hash)
ORDER BY m.id LIMIT 1
)sql";
constexpr char kDisagreeFinished[] = R"sql(
SELECT c.name, m.seed FROM part.runs p JOIN main.runs m ON m.id = p.id
JOIN main.cells c ON c.id = m.cell_id
WHERE p.status = 'finished' AND m.status = 'finished'
  AND p.parameters_hash IS NOT m.parameters_hash
ORDER BY m.id LIMIT 1
)sql";

// Whether the first store may have more seeds than the part.
enum class Seeds { kSame, kMayBeMore };

Status check_definition(Database& merged, Database& part, const std::string& first,
                        const std::string& path, Seeds seeds) {
  Result<Statement> ours = merged.prepare("SELECT definition FROM study");
  if (!ours.ok()) return ours.status();
  Result<Statement> theirs = part.prepare("SELECT definition FROM study");
  if (!theirs.ok()) return theirs.status();
  for (Statement* row : {&ours.value(), &theirs.value()}) BROADLOOM_TRY(row->next().status());
  const std::string our_text = plain_definition(ours.value().text(0));
  const std::string their_text = plain_definition(theirs.value().text(0));
  if (our_text == their_text ||
      (seeds == Seeds::kMayBeMore && only_adds_seeds(their_text, our_text)))
    return {};
  return {
      ErrorKind::kMismatch,
      fmt::format(
          "'{0}' is of another study than '{1}', and only parts of one study can be merged "
          "(`broadloom report {1} {0}` compares studies). They differ: {2}",
          path, first,
          definition_differences({"'" + path + "'", their_text}, {"'" + first + "'", our_text}))};
}

Status check_agreement(Database& merged, const std::string& path, const char* disagree) {
  Result<Statement> query = merged.prepare(disagree);
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

// first: name of the store that `merged` began with; "" if it is empty.
Status check_part(Database& merged, const std::string& path, const std::string& first,
                  Seeds seeds) {
  Result<Database> part = Database::open(path, Access::kRead);
  if (!part.ok()) return part.status();
  BROADLOOM_TRY(check_format(part.value(), path));
  return first.empty() ? Status() : check_definition(merged, part.value(), first, path, seeds);
}

Status add_store(Database& merged, const std::vector<std::string>& stores, std::size_t place) {
  const std::string& path = stores[place];
  BROADLOOM_TRY(check_part(merged, path, place > 0 ? stores.front() : "", Seeds::kSame));
  BROADLOOM_TRY(attach_part(merged, path));
  // One transaction reads a consistent state of the part, even while a runner works on it.
  BROADLOOM_TRY(merged.run("BEGIN"));
  if (place == 0) BROADLOOM_TRY(merged.run(kCopyPlan));
  BROADLOOM_TRY(check_runs(merged, path));
  BROADLOOM_TRY(check_agreement(merged, path, kDisagree));
  BROADLOOM_TRY(merged.run(kFindPending));
  BROADLOOM_TRY(merged.run(kCopyRuns));
  BROADLOOM_TRY(merged.commit());
  BROADLOOM_TRY(merged.run("DETACH part"));
  // After the detaching, a view's names can only mean this store.
  return place == 0 ? make_views(merged) : Status();
}

Status take_attached(Database& store, const std::string& path) {
  BROADLOOM_TRY(store.begin());
  Status status = check_runs(store, path);
  if (status.ok()) status = check_agreement(store, path, kDisagreeFinished);
  if (status.ok()) status = store.run(kFindBetter);
  if (status.ok()) status = store.run(kCopyRuns);
  if (status.ok()) status = store.commit();
  if (!status.ok()) store.rollback();
  return status;
}

Result<MergeSummary> fill(const std::vector<std::string>& stores, Database& database) {
  BROADLOOM_TRY(database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                         kStoreApplication, kStoreFormat)));
  BROADLOOM_TRY(database.run(kStoreSchema));
  for (std::size_t i = 0; i < stores.size(); ++i) {
    BROADLOOM_TRY(add_store(database, stores, i));
  }
  Result<Statement> count = database.prepare(
      "SELECT count(*), total(status = 'finished'), total(status = 'failed') FROM runs");
  if (!count.ok()) return count.status();
  BROADLOOM_TRY(count.value().next().status());
  return MergeSummary{count.value().integer(0), count.value().integer(1), count.value().integer(2)};
}

}  // namespace

Result<MergeSummary> merge_stores(const std::vector<std::string>& stores, const std::string& out) {
  if (stores.empty()) {
    return Status(ErrorKind::kInvalidConfig, "no stores to merge; name the parts' stores");
  }
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored)) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("'{}' exists already; name another file with --out", out));
  }
  BROADLOOM_TRY(check_room(out));  // before the work
  // In memory until it is complete, so that a kill leaves nothing.
  Result<Database> merged = Database::make_private(out);
  if (!merged.ok()) return merged.status();
  Result<MergeSummary> summary = fill(stores, merged.value());
  if (!summary.ok()) return summary.status();
  const Result<std::string> bytes = merged.value().bytes();
  if (!bytes.ok()) return bytes.status();
  BROADLOOM_TRY(write_file_atomically(out, bytes.value()));
  return summary;
}

Status take_runs(Database& store, const std::string& name, const std::string& path) {
  BROADLOOM_TRY(check_part(store, path, name, Seeds::kMayBeMore));
  BROADLOOM_TRY(attach_part(store, path));
  const Status status = take_attached(store, path);
  const Status detached = store.run("DETACH part");
  return status.ok() ? detached : status;
}

}  // namespace broadloom
