// Config values that change over a run.
#pragma once

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/core/schedule.h"

namespace broadloom {

// A config value that may change linearly over the run.
struct ScheduledValue {
  double Config::*value;
  double Config::*end;  // null: to 0
  std::string Config::*schedule;
  const char* key;    // of the schedule
  const char* words;  // for the value
};
// All of them. The learning rate comes first because every algorithm has one.
inline constexpr ScheduledValue kScheduledValues[] = {
    {&Config::learning_rate, &Config::learning_rate_end, &Config::lr_schedule, "lr_schedule",
     "learning rate"},
    {&Config::clip_coef, nullptr, &Config::clip_schedule, "clip_schedule", "clip range"},
    {&Config::ent_coef, nullptr, &Config::ent_schedule, "ent_schedule", "entropy bonus"},
};

// "linear" goes to its end over the run; any other schedule is constant here.
inline Schedule schedule_of(const Config& config, const ScheduledValue& one) {
  const double start = config.*one.value;
  if (config.*one.schedule != "linear") return {start, start};
  return {start, one.end == nullptr ? 0.0 : config.*one.end};
}

// Also constant if lr_schedule = adaptive: then the update changes the rate.
inline Schedule learning_rate_schedule(const Config& config) {
  return schedule_of(config, kScheduledValues[0]);
}
inline Schedule clip_schedule(const Config& config) {
  return schedule_of(config, kScheduledValues[1]);
}
inline Schedule entropy_schedule(const Config& config) {
  return schedule_of(config, kScheduledValues[2]);
}

}  // namespace broadloom
