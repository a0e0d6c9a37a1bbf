// How long the stages of the core loop take.
#pragma once

#include <chrono>

namespace broadloom {

// Wall-clock seconds in each stage of Trainer::iterate(), summed over the iterations of this
// process. No part of a checkpoint: nothing that is trained depends on it.
struct StageSeconds {
  double collect = 0.0;
  double bootstrap = 0.0;
  double advantages = 0.0;
  double update = 0.0;
  double instruments = 0.0;
  double record = 0.0;
};

struct StageField {
  const char* name;
  double StageSeconds::*seconds;
};

// In the order of the loop.
inline constexpr StageField kStages[] = {
    {"collect", &StageSeconds::collect},         {"bootstrap", &StageSeconds::bootstrap},
    {"advantages", &StageSeconds::advantages},   {"update", &StageSeconds::update},
    {"instruments", &StageSeconds::instruments}, {"record", &StageSeconds::record},
};

// Adds its own lifetime to `seconds`.
class StageTimer {
 public:
  explicit StageTimer(double& seconds) : seconds_(seconds), begin_(Clock::now()) {}
  ~StageTimer() { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point begin_;
};

}  // namespace broadloom
