// The store of a study: one SQLite file. See docs/formats/study.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/record/file_lock.h"
#include "research/study/plan.h"
#include "research/study/run_record.h"
#include "research/study/sqlite.h"
#include "research/study/study_part.h"

namespace broadloom {

struct StoredRun {
  std::int64_t id = 0;
  int cell = 0;
  std::uint64_t seed = 0;
  std::string status;  // pending, finished or failed
  std::string error;
  double seconds = 0.0;            // of training
  double whole_seconds = 0.0;      // from start to end, including evaluations
  double training_return = 0.0;    // of the last episodes; NaN: none
  double evaluation_return = 0.0;  // of the final policy; NaN: none
};

class StudyStore {
 public:
  StudyStore() = default;

  // Makes the store and its folder, or continues one of the same plan and part. It is locked
  // against other runners until this value is destroyed. A plan with the store's seeds and more
  // after them extends the store, and so does one with more cells if a sampler chooses them.
  // Errors: kMismatch if the file is another program's database, or a store of another format,
  // study or part, or has runs to do and is of another revision of the program (unless
  // any_revision); kCorrupt if damaged; kIo if locked or not writable.
  static Result<StudyStore> open(const std::string& path, const StudyPlan& plan,
                                 const StudyPart& part, bool any_revision);

  // Opens an existing store for reading. The same errors, except those of revisions and locks.
  static Result<StudyStore> open_to_read(const std::string& path, const StudyPlan& plan);

  // All stored runs of the study, in the plan's order, including those of other parts. kCorrupt if
  // the store has runs that the plan lacks.
  Result<std::vector<StoredRun>> runs();

  // Stores a run's result, whole or not at all; returns once it is on the disk.
  Status write(const RunRecord& record);
  // Whether write() failed only because another program is reading at that moment.
  bool busy() const { return database_.busy(); }

  // Merges results of another store of the same study. A run that finished there replaces one that
  // failed here. kMismatch if it is of another study, or disagrees about a run that both finished.
  // kIo, among others, if another process holds its lock at that moment.
  Status take(const std::string& path);

  // Makes failed runs pending again. kMismatch if there are any and another revision of the program
  // began the store, unless any_revision.
  Status forget_failed(bool any_revision);

 private:
  Status check_same(const StudyPlan& plan, const StudyPart& part, bool any_revision);
  Status check_revision();
  Status create(const StudyPlan& plan, const StudyPart& part);
  Status extend(const StudyPlan& plan);
  Status write_sources();
  Status not_planned(std::int64_t run) const;

  std::string path_;
  std::vector<StudyRun> planned_;
  std::string definition_;     // the plan's
  bool has_sources_ = false;   // whether the store surely has the plan's
  bool is_read_only_ = false;  // seeds that the plan adds may be absent
  FileLock lock_;  // declared before the database: locked before it opens, unlocked after it closes
  Database database_;
};

// Locks a store against other commands that change it, and creates an empty file if it does not
// exist. kIo if it is locked, and the errors of FileLock.
Result<FileLock> lock_store(const std::string& path);

// kMismatch if the database is not a store of this program's format; kCorrupt if it is damaged.
Status check_format(Database& database, const std::string& path);

}  // namespace broadloom
