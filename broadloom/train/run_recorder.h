// Logs, evaluates and saves in a run folder after each iteration.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "broadloom/record/files.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

class RunRecorder final : public Recorder {
 public:
  RunRecorder() = default;  // unusable until assigned from open()
  // Opens the folder's logs, truncated to `logs` and, for hashes, to the trainer's iteration. If
  // the event file was deleted or cut short, begins another one and calls on_note, which may be
  // empty.
  static Result<RunRecorder> open(const RunFolder& folder, const Trainer& trainer,
                                  const LogBytes& logs,
                                  const std::function<void(const std::string&)>& on_note);

  Status record(Trainer& trainer) override;
  // Saves unless this iteration is saved already.
  Status save(Trainer& trainer);

  double seconds() const;  // since open
  double steps_per_second(const Trainer& trainer) const;

 private:
  RunRecorder(const RunFolder& folder, std::int64_t first_step)
      : folder_(folder), first_step_(first_step), start_(std::chrono::steady_clock::now()) {}

  Status log(const Trainer& trainer);
  Status evaluate(Trainer& trainer);

  RunFolder folder_;
  AppendLog metrics_, eval_, events_;
  HashLog hashes_;
  std::int64_t first_step_ = 0;
  std::int64_t saved_iteration_ = -1;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace broadloom
