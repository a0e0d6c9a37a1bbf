// The folder of a run: manifest.json, metrics.jsonl, eval.jsonl, a TensorBoard event file and
// checkpoints. Each log has one writer. See docs/formats/run_folder.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "broadloom/core/status.h"
#include "broadloom/record/file_lock.h"

namespace broadloom {

class RunFolder {
 public:
  RunFolder() = default;  // no folder
  // Makes the folder so that it appears whole: it is filled as a hidden sibling by `fill`, then
  // renamed. An existing folder must be empty.
  static Status create(const std::string& dir, const std::function<Status(const RunFolder&)>& fill);
  // kIo where create() would refuse the folder as it is now: a file is there or on the way to it,
  // it is not empty, or it lies inside a run.
  static Status check_free(const std::string& dir);
  // Whether a file of that path lies in the folder of a run's checkpoints, or would.
  static bool is_among_checkpoints(const std::string& path);
  // An existing run. kNotFound where there is none.
  static Result<RunFolder> open(const std::string& dir);

  const std::string& dir() const { return dir_; }
  std::string manifest_path() const { return dir_ + "/manifest.json"; }
  std::string metrics_path() const { return dir_ + "/metrics.jsonl"; }
  std::string eval_path() const { return dir_ + "/eval.jsonl"; }
  // Of `broadloom eval`, which may be at work beside a training.
  std::string command_eval_path() const { return dir_ + "/eval_command.jsonl"; }
  std::string hashes_path() const { return dir_ + "/hashes.bin"; }
  std::string ledger_line_path() const { return dir_ + "/ledger_line.json"; }
  std::string panel_path() const { return dir_ + "/panel.toml"; }
  std::string lock_path() const { return dir_ + "/lock"; }
  // Whether an event file has such a name: a checkpoint says which one is cut back.
  static bool is_events_name(std::string_view name);
  // The newest event file, which keeps its name when a run is resumed; "" where there is none.
  std::string events_path() const;
  // A name that sorts after those of all there are.
  std::string new_events_path() const;
  std::string checkpoint_path(std::int64_t iteration) const;

  // To be held by whoever trains the run. kIo where somebody else does, and says who; kCorrupt
  // where a link would have that one write into another folder.
  Result<FileLock> lock() const;

  // The newest checkpoint, by the names that checkpoint_path() gives; kNotFound where there is
  // none.
  Result<std::string> latest_checkpoint() const;
  // The newest one that is older than the checkpoint at that path; "" where there is none.
  std::string checkpoint_before(const std::string& path) const;
  // Removes all but the newest `keep` checkpoints.
  void prune(int keep) const;
  // Removes the files that killed processes left half-written; those of processes that live on this
  // machine stay.
  void clear_half_written() const;

 private:
  explicit RunFolder(std::string dir) : dir_(std::move(dir)) {}

  std::string dir_;
};

struct FoundCheckpoint {
  RunFolder folder;  // dir() is empty for a checkpoint file alone
  std::string path;
  bool is_alone() const { return folder.dir().empty(); }
};

// The newest checkpoint of a run, or the file itself where the path is one. kNotFound where nothing
// is there.
Result<FoundCheckpoint> find_checkpoint(const std::string& run_or_checkpoint);

}  // namespace broadloom
