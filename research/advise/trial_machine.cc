#include "research/advise/trial_machine.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>

#include "research/advise/trial.h"

namespace broadloom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 3;  // the fastest shows the machine's speed

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Index of the first entrant that is as fast as this one: itself, or one before it.
std::size_t like(const std::vector<Entrant>& entrants, std::size_t index) {
  std::size_t first = 0;
  while (!same_speed(entrants[first].candidate, entrants[index].candidate)) ++first;
  return first;
}

}  // namespace

Status TimedTraining::begin(const Config& config, int threads) {
  Config endless = config;
  endless.total_timesteps = kTrialSteps;
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(endless, threads);
  if (!trainer.ok()) return trainer.status();
  trainer_ = trainer.take();
  return iterate();
}

Status TimedTraining::time(double seconds, int blocks) {
  if (!goes_on_) return {};
  const std::int64_t first = trainer_->clock().global_step;
  const Clock::time_point start = Clock::now();
  do {
    BROADLOOM_TRY(iterate());
  } while (goes_on_ && (--blocks > 0 || since(start) < seconds));
  if (!goes_on_) return {};
  const auto steps = static_cast<double>(trainer_->clock().global_step - first);
  fastest_ = std::fmax(fastest_, steps / since(start));
  return {};
}

Status TimedTraining::iterate() {
  const Status status = trainer_->iterate();
  goes_on_ = status.ok();
  return status.kind() == ErrorKind::kNumeric ? Status() : status;
}

// Works in rounds, so that other load on the machine does not slow down a single entrant.
Result<std::vector<double>> measure_speeds(const std::vector<Entrant>& entrants, int threads,
                                           double seconds, AdviceBudget& total_budget) {
  std::vector<std::size_t> kinds;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (like(entrants, i) == i) kinds.push_back(i);
  }
  const double each = seconds / static_cast<double>(kinds.size()) / kRounds;
  std::vector<TimedTraining> trainings(entrants.size());
  const Clock::time_point begin = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t i : kinds) {
      if (total_budget.is_over() || (round > 0 && since(begin) > seconds)) break;
      const Candidate& candidate = entrants[i].candidate;
      total_budget.tell(fmt::format("timing {} x {}", candidate.num_envs, candidate.num_steps));
      if (round == 0) BROADLOOM_TRY(trainings[i].begin(entrants[i].config, threads));
      BROADLOOM_TRY(trainings[i].time(each));
    }
  }
  std::vector<double> speeds(entrants.size());
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    speeds[i] = trainings[like(entrants, i)].fastest();
  }
  return speeds;
}

std::vector<double> look_up_speeds(const std::vector<Entrant>& entrants, const KnownSpeeds& known) {
  std::vector<double> speeds(entrants.size(), kNotKnown);
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    for (const KnownSpeeds::Speed& speed : known.speeds) {
      if (same_speed(speed.candidate, entrants[i].candidate)) speeds[i] = speed.steps_per_second;
    }
  }
  return speeds;
}

}  // namespace broadloom
