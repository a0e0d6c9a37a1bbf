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

// Point k of n lies at total_timesteps * k / n environment steps, rounded down. It holds the report
// of the last iteration that ended at or before it, without interpolation, and the instruments'
// numbers of the last iteration that measured. Points before the end of the first iteration are
// left out. Points after the last whole block repeat the last report. Evaluations are placed alike.
class CurveRecorder final : public Recorder {
 public:
  // points >= 1, evaluations >= 0; total_timesteps comes from the config.
  CurveRecorder(const Config& config, int points, int evaluations);

  Status record(Trainer& trainer) override;

  double seconds() const;  // of training so far, without evaluations
  std::vector<CurvePoint> take_curve() { return std::move(curve_); }
  std::vector<EvalResult> take_evaluations() { return std::move(evaluations_); }

 private:
  using Clock = std::chrono::steady_clock;

  // Calls `visit` for each grid point that this report covers and moves `next` past it. Returns
  // whether there was one.
  template <class Visit>
  bool pass(const Trainer& trainer, int count, int& next, const Visit& visit) const;
  void add_point(const Trainer& trainer, int point);
  Status evaluate(Trainer& trainer);

  std::int64_t total_ = 0;
  int points_ = 0, evaluation_count_ = 0;
  int next_point_ = 1, next_evaluation_ = 1;
  std::vector<std::pair<std::string, double>> measured_;  // last numbers of the instruments
  std::vector<CurvePoint> curve_;
  std::vector<EvalResult> evaluations_;
  Clock::time_point start_ = Clock::now();
  Clock::duration evaluating_{};
};

}  // namespace broadloom
