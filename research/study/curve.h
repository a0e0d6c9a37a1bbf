// Collects a run's learning curve and evaluations on a grid of environment steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/train/trainer.h"
#include "research/study/run_record.h"

namespace broadloom {

// Point k of n stands at total_timesteps * k / n environment steps, rounded down, and holds what
// was reported by the last iteration that ended at or before it: nothing is interpolated, and
// nothing is known before it was measured. Points before the end of the first iteration are left
// out; after the last whole block, the last report stays. Instruments' numbers are those of the
// last iteration that measured. Evaluations are placed in the same way.
class CurveRecorder final : public Recorder {
 public:
  // points >= 1, evaluations >= 0; total_timesteps is that of the config.
  CurveRecorder(const Config& config, int points, int evaluations);

  Status record(Trainer& trainer) override;

  double seconds() const;  // of training so far, evaluations left out
  std::vector<CurvePoint> take_curve() { return std::move(curve_); }
  std::vector<EvalResult> take_evaluations() { return std::move(evaluations_); }

 private:
  using Clock = std::chrono::steady_clock;

  // Walks `next` past all grid points that are this report's; whether there were any.
  template <class Visit>
  bool pass(const Trainer& trainer, int count, int& next, const Visit& visit) const;
  void add_point(const Trainer& trainer, int point);
  Status evaluate(Trainer& trainer);

  std::int64_t total_ = 0;
  int points_ = 0, evaluation_count_ = 0;
  int next_point_ = 1, next_evaluation_ = 1;
  std::vector<std::pair<std::string, double>> measured_;  // by instruments, last
  std::vector<CurvePoint> curve_;
  std::vector<EvalResult> evaluations_;
  Clock::time_point start_ = Clock::now();
  Clock::duration evaluating_{};
};

}  // namespace broadloom
