#include "research/advise/lineup.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "broadloom/setup/memory_plan.h"
#include "research/advise/race.h"
#include "research/advise/trial_machine.h"

namespace broadloom {
namespace {

// Entrants that are timed before the number of participants is known, and their share of the
// timing.
constexpr std::ptrdiff_t kFirst = 4;
constexpr double kFirstShare = 0.3;
constexpr double kMemoryShare = 0.8;  // of the memory allowed for the run

}  // namespace

Lineup::Lineup(std::vector<Entrant> entrants, const AdviceOptions& options,
               AdviceBudget& total_budget)
    : entrants_(std::move(entrants)), options_(options), total_budget_(total_budget) {}

double Lineup::mean_speed() const {
  return speeds_.empty() ? 0.0
                         : std::accumulate(speeds_.begin(), speeds_.end(), 0.0) /
                               static_cast<double>(speeds_.size());
}

std::vector<CandidateEvidence> Lineup::candidates(bool counts_seconds) const {
  std::vector<CandidateEvidence> all;
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    all.push_back({entrants_[i].candidate,
                   entrants_[i].is_default,
                   counts_seconds ? speeds_[i] : kNotKnown,
                   kNotKnown,
                   0,
                   {},
                   std::string(entrants_[i].why)});
  }
  return all;
}

// All are in memory at once, both for timing and in the race.
Status Lineup::leave_out_by_memory(const Config& base) {
  std::size_t room = entrants_.size();
  const auto allowed = kMemoryShare * static_cast<double>(memory_allowed(base));
  double planned = 0.0;
  for (std::size_t i = 0; i < room && allowed > 0.0; ++i) {
    const Result<MemoryPlan> plan = plan_memory(entrants_[i].config, 1);
    if (!plan.ok()) return plan.status();
    planned += static_cast<double>(plan.value().total()) * options_.seeds;
    if (planned > allowed) room = i;
  }
  if (room < std::min<std::size_t>(2, entrants_.size())) {
    return invalid(fmt::format(
        "two candidates of {} seeds each do not fit into {:.1f} GB; give fewer --seeds, smaller "
        "networks or a larger memory_limit",
        options_.seeds, allowed * 1e-9));
  }
  leave_out_from(room);
  return {};
}

Status Lineup::leave_out_by_first(double race_seconds) {
  const std::vector<Entrant> first(
      entrants_.begin(),
      entrants_.begin() + std::min<std::ptrdiff_t>(kFirst, std::ssize(entrants_)));
  const Result<std::vector<double>> speeds =
      measure_speeds(first, options_.threads, kFirstShare * kMachineShare * total_budget_.seconds(),
                     total_budget_);
  if (!speeds.ok()) return speeds.status();
  double fastest = 0.0;
  for (const double speed : speeds.value()) fastest = std::fmax(fastest, speed);
  if (fastest > 0.0) leave_out_by_steps(race_seconds * fastest);
  return {};
}

Status Lineup::find_speeds() {
  std::vector<double> speeds(entrants_.size(), 1.0);
  if (!options_.known.speeds.empty()) {
    speeds = look_up_speeds(entrants_, options_.known);
  } else if (!total_budget_.counts_steps()) {
    Result<std::vector<double>> measured = measure_speeds(
        entrants_, options_.threads, kMachineShare * total_budget_.seconds(), total_budget_);
    if (!measured.ok()) return measured.status();
    speeds = measured.take();
  }
  std::vector<Entrant> timed;
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    if (!(speeds[i] > 0.0)) continue;
    timed.push_back(entrants_[i]);
    speeds_.push_back(speeds[i]);
  }
  if (timed.empty() && !options_.known.speeds.empty()) {
    const Candidate& first = entrants_.front().candidate;
    return invalid(
        fmt::format("'{}' has the speed of no candidate here, such as {} x {} with minibatches of "
                    "{} and {} epochs; give an advice.json with the same settings held",
                    options_.known.file, first.num_envs, first.num_steps, first.minibatch_size,
                    first.update_epochs));
  }
  left_out_ += static_cast<int>(entrants_.size() - timed.size());
  entrants_ = std::move(timed);
  return {};
}

std::vector<std::int64_t> Lineup::blocks() const {
  std::vector<std::int64_t> blocks;
  for (const Entrant& entrant : entrants_) blocks.push_back(entrant.candidate.batch_size());
  return blocks;
}

void Lineup::leave_out_by_steps(double race_steps) {
  leave_out_from(entrants_with_room(blocks(), race_steps, options_.seeds));
}

Status Lineup::check_steps(double share) const {
  const std::vector<std::int64_t> all = blocks();
  const std::size_t fewest = std::min(all.size(), kFewestEntrants);
  const std::int64_t needed =
      options_.seeds * std::accumulate(all.begin(),
                                       all.begin() + static_cast<std::ptrdiff_t>(fewest),
                                       std::int64_t{0});
  const auto least =  // the share is not exact
      static_cast<std::int64_t>(std::ceil(static_cast<double>(needed) / share - 1e-6));
  if (total_budget_.steps() >= least) return {};
  return invalid(fmt::format(
      "steps: got {}, expected at least {}: one block of each training of {} setting{} with {} "
      "seed{}; give more steps or fewer seeds",
      total_budget_.steps(), least, fewest, fewest == 1 ? "" : "s", options_.seeds,
      options_.seeds == 1 ? "" : "s"));
}

void Lineup::leave_out_from(std::size_t room) {
  left_out_ += static_cast<int>(entrants_.size() - room);
  entrants_.resize(room);
  speeds_.resize(std::min(speeds_.size(), room));
}

}  // namespace broadloom
