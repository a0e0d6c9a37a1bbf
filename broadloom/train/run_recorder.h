// Logs, evaluates and saves after each iteration, into a run folder.
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
  RunRecorder() = default;  // records nothing until it is one that open() gave
  // Opens the folder's logs, cut back to `logs` and, for the hashes, to the trainer's iteration,
  // which is where this process begins. An event file that was deleted or cut short since does not
  // matter to the run: another one is begun, and on_note, which may be empty, is told.
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
