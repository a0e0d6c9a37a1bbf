// Logs, evaluates and saves in a run folder after each iteration.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "broadloom/record/files.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

// One of the evaluations that training makes.
struct LoggedEvaluation {
  std::int64_t global_step = 0;  // 0: there is none
  double mean_return = -std::numeric_limits<double>::infinity();
};

struct LoggedEvaluations {
  LoggedEvaluation last;
  LoggedEvaluation best;  // of the highest mean return; of equal ones, the first
};

// The evaluations in the folder's eval.jsonl, or in its first `bytes`. kIo.
Result<LoggedEvaluations> logged_evaluations(
    const RunFolder& folder, std::int64_t bytes = std::numeric_limits<std::int64_t>::max());

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
  // Plays the last evaluation of a finished run that lacks it.
  Status make_up_evaluation(Trainer& trainer);
  // Saves unless this iteration is saved already.
  Status save(Trainer& trainer);
  // Saves the last finished iteration after training. ended: how. After a failure does nothing if
  // the trainer has not the state, or if this iteration was not recorded.
  Status save_last(Trainer& trainer, const Status& ended);
  std::int64_t saved_step() const { return saved_step_; }  // of the newest checkpoint

  const LoggedEvaluation& best() const { return best_; }
  // Line of eval.jsonl of the last recorded iteration; "" if that was not evaluated.
  const std::string& evaluation() const { return evaluation_; }
  double seconds() const;  // since open
  double steps_per_second(const Trainer& trainer) const;

 private:
  RunRecorder(const RunFolder& folder, std::int64_t first_step)
      : folder_(folder),
        first_step_(first_step),
        saved_step_(first_step),
        start_(std::chrono::steady_clock::now()) {}

  Status log(const Trainer& trainer);
  // Says whether it is the best so far.
  Result<bool> evaluate(Trainer& trainer);

  RunFolder folder_;
  AppendLog metrics_, eval_, events_;
  HashLog hashes_;
  std::int64_t first_step_ = 0;
  std::int64_t saved_step_ = 0;
  std::int64_t saved_iteration_ = -1;
  std::int64_t recorded_iteration_ = 0;  // the last one that the logs have; 0: none
  LoggedEvaluation best_;
  std::string evaluation_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace broadloom
