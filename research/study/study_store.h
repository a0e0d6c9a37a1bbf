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
  double whole_seconds = 0.0;      // from start to end, evaluations among them
  double training_return = 0.0;    // of the last episodes; NaN: none
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
  static Result<StudyStore> open(const std::string& path, const StudyPlan& plan,
                                 const StudyPart& part, bool any_revision);

  // A store that is there, to be read: the same errors, but for revisions and other runners.
  static Result<StudyStore> look(const std::string& path, const StudyPlan& plan);

  // All runs of the study, in order, those of other parts among them: the plan's, as far as they
  // are there. kCorrupt where the store has others.
  Result<std::vector<StoredRun>> runs();

  // Puts a run's result in, whole or not at all; it has reached the disk when this returns.
  Status write(const RunRecord& record);
  // Whether write() failed only because another program is reading just now.
  bool busy() const { return database_.busy(); }

  // Puts in what another store of the same study has and this one lacks; a run that finished there
  // stands in for one that failed here. kMismatch where that is of another study, or disagrees
  // about a run that both finished. A store that another process works on may be locked for a
  // moment: kIo.
  Status take(const std::string& path);

  // Failed runs become pending again. kMismatch where there are any and another revision of the
  // program began the store, unless any_revision.
  Status forget_failed(bool any_revision);

 private:
  Status check_same(const StudyPlan& plan, const StudyPart& part, bool any_revision);
  Status check_revision();
  Status create(const StudyPlan& plan, const StudyPart& part);
  Status add_seeds(const StudyPlan& plan);
  Status not_planned(std::int64_t run) const;

  std::string path_;
  std::vector<StudyRun> planned_;
  bool is_looked_at_ = false;  // by look(): seeds that the plan adds are not there yet
  FileLock lock_;  // before the database: acquired before it is opened, and destroyed after it
  Database database_;
};

// kMismatch where the database is no store of this program's format; kCorrupt where it is damaged.
Status check_format(Database& database, const std::string& path);

}  // namespace broadloom
