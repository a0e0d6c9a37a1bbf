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
  // Names of files that are written whole, and of the log of training.
  static constexpr const char *kManifest = "manifest.json", *kPanel = "panel.toml",
                              *kBest = "best.safetensors", *kTeacher = "teacher.safetensors",
                              *kLedgerLine = "ledger_line.json", *kMetrics = "metrics.jsonl";

  RunFolder() = default;  // no folder
  // Makes the folder atomically: `fill` fills a hidden sibling, which is then renamed. An existing
  // folder must be empty.
  static Status create(const std::string& dir, const std::function<Status(const RunFolder&)>& fill);
  // kIo if create() would refuse the folder now: it or a parent is a file, it is not empty, or it
  // is inside a run.
  static Status check_free(const std::string& dir);
  // Whether the path is in the checkpoint folder of a run.
  static bool is_among_checkpoints(const std::string& path);
  // Opens an existing run. kNotFound.
  static Result<RunFolder> open(const std::string& dir);

  const std::string& dir() const { return dir_; }
  std::string manifest_path() const { return path_of(kManifest); }
  std::string metrics_path() const { return path_of(kMetrics); }
  std::string eval_path() const { return dir_ + "/eval.jsonl"; }
  // Written by `broadloom eval`, which may run during training.
  std::string command_eval_path() const { return dir_ + "/eval_command.jsonl"; }
  std::string hashes_path() const { return dir_ + "/hashes.bin"; }
  std::string ledger_line_path() const { return path_of(kLedgerLine); }
  std::string panel_path() const { return path_of(kPanel); }
  // A copy of the checkpoint of the run's teacher.
  std::string teacher_path() const { return path_of(kTeacher); }
  std::string lock_path() const { return dir_ + "/lock"; }
  // Whether it is the name of an event file. A checkpoint names the file to truncate.
  static bool is_events_name(std::string_view name);
  // The newest event file, which a resume continues; "" if there is none.
  std::string events_path() const;
  // A name that sorts after all existing ones.
  std::string new_events_path() const;
  std::string checkpoint_path(std::int64_t iteration) const;
  // A copy of the checkpoint whose evaluation in training was the best so far.
  std::string best_path() const { return path_of(kBest); }

  // Locks the run for training. kIo if another process trains it; the message names it. kCorrupt if
  // a link would lead writes into another folder.
  Result<FileLock> lock() const;

  // The newest checkpoint, by the names of checkpoint_path(); kNotFound if there is none.
  Result<std::string> latest_checkpoint() const;
  // The newest checkpoint older than that at the path; "" if there is none.
  std::string checkpoint_before(const std::string& path) const;
  // Removes all but the newest `keep` checkpoints.
  void prune(int keep) const;
  // Removes half-written files of killed processes. Files of live processes on this machine stay.
  void clear_half_written() const;

 private:
  explicit RunFolder(std::string dir) : dir_(std::move(dir)) {}
  std::string path_of(const char* name) const { return dir_ + "/" + name; }

  std::string dir_;
};

struct FoundCheckpoint {
  RunFolder folder;  // dir() is empty for a single checkpoint file
  std::string path;
  bool is_alone() const { return folder.dir().empty(); }
};

// The newest checkpoint of a run, or the path itself if it is a file. kNotFound if the path does
// not exist.
Result<FoundCheckpoint> find_checkpoint(const std::string& run_or_checkpoint);

// The copy that a run keeps of the checkpoint of its best evaluation; kNotFound where it has none.
Result<std::string> find_best_checkpoint(const std::string& run_dir);

}  // namespace broadloom
