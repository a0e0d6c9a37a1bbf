// Config values that change over a run.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/schedule.h"

namespace broadloom {

// A config value that may fall to 0 over the run.
struct ScheduledValue {
  double Config::*value;
  std::string Config::*schedule;
  const char* key;    // of the schedule
  const char* words;  // for the value
};
// All of them. The learning rate comes first because every algorithm has one.
inline constexpr ScheduledValue kScheduledValues[] = {
    {&Config::learning_rate, &Config::lr_schedule, "lr_schedule", "learning rate"},
    {&Config::clip_coef, &Config::clip_schedule, "clip_schedule", "clip range"},
    {&Config::ent_coef, &Config::ent_schedule, "ent_schedule", "entropy bonus"},
};

// kind: "linear", to 0 over the run; anything else is constant here.
inline Schedule schedule_of(const std::string& kind, double start) {
  return {start, kind == "linear" ? 0.0 : start};
}

// Also constant if lr_schedule = adaptive: then the update changes the rate.
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
