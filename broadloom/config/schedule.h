// Values of a config that change over a run.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/schedule.h"

namespace broadloom {

// kind: "linear", to 0 over the run; anything else is constant here.
inline Schedule schedule_of(const std::string& kind, double start) {
  return {start, kind == "linear" ? 0.0 : start};
}

// Constant, too, where lr_schedule = adaptive: the update moves it then.
inline Schedule learning_rate_schedule(const Config& config) {
  return schedule_of(config.lr_schedule, config.learning_rate);
}
inline Schedule clip_schedule(const Config& config) {
  return schedule_of(config.clip_schedule, config.clip_coef);
}
inline Schedule entropy_schedule(const Config& config) {
  return schedule_of(config.ent_schedule, config.ent_coef);
}

}  // namespace broadloom
