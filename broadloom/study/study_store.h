// The store of a study: one SQLite file. See docs/formats/study.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/file_lock.h"
#include "broadloom/study/plan.h"
#include "broadloom/study/run_record.h"
#include "broadloom/study/sqlite.h"

namespace broadloom {

// Part `index` of `count`: every count-th run. Each part has a store of its own.
struct StudyPart {
  int index = 1;
  int count = 1;
  bool holds(std::int64_t run_id) const { return (run_id - 1) % count == index - 1; }
};

// "2/4". kInvalidConfig unless 1 <= i <= n.
Result<StudyPart> parse_part(const std::string& text);

struct StoredRun {
  std::int64_t id = 0;
  int cell = 0;
  std::uint64_t seed = 0;
  std::string status;  // pending, finished or failed
  std::string error;
  double seconds = 0.0;
  double training_return = 0.0;    // of the last 100 episodes; NaN: none
  double evaluation_return = 0.0;  // of the final policy; NaN: none
};

class StudyStore {
 public:
  StudyStore() = default;

  // Makes the store and its folder, or goes on with one that has the same plan and part; no other
  // process can open it for running until this value is destroyed. Errors: kMismatch where the file
  // is something else (another program's database, a store of another format, of another study or
  // part; of another revision of the program with runs still to do, unless any_revision), kCorrupt
  // where it is damaged, kIo where it is locked or cannot be written. A plan that has the store's
  // seeds and more after them makes the store larger: it becomes that plan's.
  static Result<StudyStore> open(const std::string& path, const StudyPlan& plan, StudyPart part,
                                 bool any_revision);

  // All runs of the study, in order, those of other parts among them.
  Result<std::vector<StoredRun>> runs();

  // Puts a run's result in, whole or not at all; it has reached the disk when this returns.
  Status write(const RunRecord& record);
  // Whether write() failed only because another program is reading just now.
  bool busy() const { return database_.busy(); }

  // Failed runs become pending again.
  Status forget_failed();

 private:
  Status check_same(const StudyPlan& plan, StudyPart part, bool any_revision);
  Status create(const StudyPlan& plan, StudyPart part);
  Status add_seeds(const StudyPlan& plan);

  std::string path_;
  FileLock lock_;  // before the database: acquired before it is opened, and destroyed after it
  Database database_;
};

// kMismatch where the database is no store of this program's format; kCorrupt where it is damaged.
Status check_format(Database& database, const std::string& path);

}  // namespace broadloom
