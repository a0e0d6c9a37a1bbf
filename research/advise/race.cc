#include "research/advise/race.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "research/advise/ranking.h"

namespace broadloom {
namespace {

constexpr double kFewestSteps = 25000.0;  // of a trial of the first rung
// Slices of a rung, with an evaluation at the end of each.
constexpr int kFewestSlices = 2, kMostSlices = 12;
constexpr double kEvaluationSpeed = 3.0;  // its steps a second over training's: it does not update
constexpr double kPatience = 2.0;         // times the slowest trial of the fastest candidate
constexpr double kFurther = 2.0;          // how far fresh seeds may go, over the race's cost
// Evaluations of a fresh seed until the slowest trial of the fastest candidate arrived, and in
// total.
constexpr double kStepsToThreshold = 12.0, kMostSteps = 120.0;
constexpr double kGrowth = 1.5;  // from one slice of the first rung to the next
constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();

// Ends of the slices of a rung, as shares; the last is 1. Each slice is `growth` times as long as
// the one before. In the first rung, the time that the task takes is still unknown.
std::vector<double> slice_ends(int slices, double growth) {
  std::vector<double> ends;
  double end = 0.0, length = 1.0;
  for (int slice = 0; slice < slices; ++slice, length *= growth) ends.push_back(end += length);
  for (double& e : ends) e /= end;
  return ends;
}

}  // namespace

std::vector<std::size_t> rung_sizes(std::size_t candidates) {
  std::vector<std::size_t> sizes{candidates};
  while (sizes.back() > kFinalists) {
    sizes.push_back(std::max(kFinalists, (sizes.back() + 1) / 2));
  }
  return sizes;
}

std::size_t entrants_with_room(const std::vector<std::int64_t>& blocks, double race_steps,
                               int seeds) {
  for (std::size_t n = blocks.size(); n > kFewestEntrants; --n) {
    double needed = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      needed += seeds * std::max(kFewestSteps, static_cast<double>(blocks[i]));
    }
    if (needed * static_cast<double>(rung_sizes(n).size()) <= race_steps) return n;
  }
  return std::min(blocks.size(), kFewestEntrants);
}

Race::Race(const std::vector<Entrant>& entrants, AdviceEvidence& evidence,
           AdviceBudget& total_budget, int jobs)
    : entrants_(entrants),
      evidence_(evidence),
      total_budget_(total_budget),
      pool_(jobs),
      next_seed_(evidence.seeds) {
  for (std::size_t c = 0; c < entrants_.size(); ++c) {
    alive_.push_back(c);
    for (int s = 0; s < evidence_.seeds; ++s) {
      const std::uint64_t seed = evidence_.seed + static_cast<std::uint64_t>(s);
      runners_.push_back(std::make_unique<Runner>(
          Runner{c, std::make_unique<Trial>(entrants_[c].config, seed, evidence_.eval_episodes)}));
    }
  }
}

// The budget's clock has measured the real time of concurrent trainings.
double Race::unit_cost(const std::vector<Runner*>& runners) const {
  if (!total_budget_.counts_steps()) return static_cast<double>(runners.size()) * slowness_;
  double steps = 0.0;  // of one unit of cost, over all of them
  for (const Runner* runner : runners) {
    const CandidateEvidence& candidate = evidence_.candidates[runner->candidate];
    steps += evidence_.counts_seconds ? candidate.steps_per_second : 1.0;
  }
  return steps;
}

bool Race::is_over(const Runner& runner) const {
  if (runner.trial->failed()) return true;
  // A threshold that is a share of the best return so far still moves, so no trial has reached it
  // yet.
  if (evidence_.goal == AdviceGoal::kReturn || std::isnan(evidence_.threshold)) return false;
  return steps_to_threshold(runner.trial->curve(), evidence_.threshold, kEver).has_value();
}

std::vector<Race::Runner*> Race::going() const {
  std::vector<Runner*> going;
  for (const auto& runner : runners_) {
    if (!is_over(*runner)) going.push_back(runner.get());
  }
  return going;
}

// Enough candidates have reached the threshold with all seeds; all others are behind them.
bool Race::is_decided() const {
  std::size_t complete = 0;
  for (const std::size_t c : alive_) {
    complete += std::all_of(runners_.begin(), runners_.end(),
                            [&](const auto& runner) {
                              return runner->candidate != c ||
                                     (is_over(*runner) && !runner->trial->failed());
                            })
                    ? 1
                    : 0;
  }
  return complete >= std::min(kFinalists, alive_.size());
}

// Among candidates whose trials all reached the threshold: the smallest cost at which the last
// trial did. Infinite if there is no such candidate.
double Race::slowest_of_fastest() const {
  double soonest = std::numeric_limits<double>::infinity();
  for (const std::size_t c : alive_) {
    double last = 0.0;
    for (const auto& runner : runners_) {
      if (runner->candidate != c) continue;
      const auto reached_at =
          steps_to_threshold(runner->trial->curve(), evidence_.threshold, kEver);
      const bool is_there = reached_at && is_over(*runner);
      last = is_there ? std::max(last, cost_of(evidence_, evidence_.candidates[c], *reached_at))
                      : std::numeric_limits<double>::infinity();
      if (!is_there) break;
    }
    soonest = std::min(soonest, last);
  }
  return soonest;
}

// Does not wait for candidates that need far longer than the slowest trial of another one: more
// seeds of the leaders are worth more.
bool Race::is_settled() const { return is_decided() || cost_ >= kPatience * slowest_of_fastest(); }

double Race::next_cost(const PhaseBudget& budget, std::int64_t spent_before,
                       double parts_left) const {
  const std::vector<Runner*> runners = going();
  const double left =
      total_budget_.counts_steps()
          ? static_cast<double>(budget.steps - (total_budget_.spent_steps() - spent_before))
          : budget.end_seconds - total_budget_.elapsed();
  return std::max(0.0, left) / parts_left / unit_cost(runners);
}

void Race::advance(const std::vector<Runner*>& runners, double cost) {
  const double begin = total_budget_.elapsed();
  double made = 0.0;  // cost of all of them
  std::mutex mutex;
  const std::string what = fmt::format("racing {} candidates", alive_.size());
  const auto should_stop = [&] {  // polled after each block
    total_budget_.tell(what);
    return total_budget_.is_over();
  };
  pool_.run(static_cast<int>(runners.size()), [&](int r) {
    Runner& runner = *runners[static_cast<std::size_t>(r)];
    const CandidateEvidence& candidate = evidence_.candidates[runner.candidate];
    const std::int64_t target = steps_for(evidence_, candidate, cost);
    const std::int64_t steps = runner.trial->go_on_to(target, should_stop);
    total_budget_.add_steps(steps);
    const std::lock_guard<std::mutex> one_at_a_time(mutex);
    made += cost_of(evidence_, candidate, steps);
  });
  if (made <= 0.0) return;
  const double seconds = total_budget_.elapsed() - begin;
  slowness_ = std::max(0.05, seconds / made);
  seconds_ += seconds;
  made_ += made;
}

// The most slices that leave more time for training than for evaluations.
int Race::slices_of(double rung_cost) const {
  const std::vector<Runner*> runners = going();
  double steps = 0.0;
  for (const Runner* runner : runners) {
    steps += static_cast<double>(
        steps_for(evidence_, evidence_.candidates[runner->candidate], rung_cost));
  }
  const double each = steps / static_cast<double>(std::max<std::size_t>(1, runners.size()));
  const double fitting = kEvaluationSpeed * each /
                         static_cast<double>(std::max<std::int64_t>(1, evidence_.eval_steps));
  return static_cast<int>(std::clamp(fitting, 1.0 * kFewestSlices, 1.0 * kMostSlices));
}

// The remaining budget is shared equally by the remaining rungs, and a rung's part by its slices.
void Race::run_rung(std::size_t rung, std::size_t rungs, const PhaseBudget& budget) {
  const std::int64_t spent_before = total_budget_.spent_steps();
  const double share = 1.0 / static_cast<double>(rungs - rung);
  PhaseBudget of_rung = budget;
  of_rung.steps = static_cast<std::int64_t>(static_cast<double>(budget.steps) * share);
  of_rung.end_seconds =
      total_budget_.elapsed() + (budget.end_seconds - total_budget_.elapsed()) * share;
  if (going().empty()) return;
  const int slices = slices_of(next_cost(of_rung, spent_before, 1.0));
  const std::vector<double> ends = slice_ends(slices, cost_ == 0.0 ? kGrowth : 1.0);
  for (std::size_t slice = 0; slice < ends.size() && !total_budget_.is_over() && !is_settled();
       ++slice) {
    const std::vector<Runner*> runners = going();
    if (runners.empty()) break;
    const double begin = slice > 0 ? ends[slice - 1] : 0.0;
    cost_ += next_cost(of_rung, spent_before, (1.0 - begin) / (ends[slice] - begin));
    grid_.push_back(cost_);
    advance(runners, cost_);
    publish();
  }
  end_rung(alive_);
}

void Race::end_rung(const std::vector<std::size_t>& candidates) {
  for (const std::size_t c : candidates) evidence_.candidates[c].rungs += 1;
  evidence_.rungs.push_back({cost_, static_cast<int>(candidates.size())});
}

void Race::run(const PhaseBudget& budget) {
  const std::vector<std::size_t> sizes = rung_sizes(alive_.size());
  const std::int64_t before = total_budget_.spent_steps();
  for (std::size_t rung = 0; rung < sizes.size() && !total_budget_.is_over(); ++rung) {
    PhaseBudget left = budget;
    left.steps = budget.steps - (total_budget_.spent_steps() - before);
    run_rung(rung, sizes.size(), left);
    if (total_budget_.is_over() || rung + 1 == sizes.size() || is_settled()) break;
    std::vector<std::size_t> order = ranked(evidence_, alive_, speed_threshold(evidence_));
    order.resize(std::min(order.size(), sizes[rung + 1]));
    keep(order);
  }
}

void Race::keep(const std::vector<std::size_t>& candidates) {
  alive_ = candidates;
  std::sort(alive_.begin(), alive_.end());
  std::erase_if(runners_, [&](const auto& runner) {
    return !std::binary_search(alive_.begin(), alive_.end(), runner->candidate);
  });
}

void Race::publish() {
  for (const std::size_t c : alive_) {
    std::vector<TrialCurve>& trials = evidence_.candidates[c].trials;
    trials.clear();
    for (const auto& runner : runners_) {
      const TrialCurve& curve = runner->trial->curve();
      const bool has_begun = !curve.points.empty() || !curve.error.empty();
      if (runner->candidate == c && has_begun) trials.push_back(curve);
    }
  }
}

// A fresh seed goes at most as far as the others. Seeds that reached the threshold went less far.
std::int64_t Race::seeds_with_room(const std::vector<std::size_t>& candidates,
                                   const PhaseBudget& budget, double horizon) const {
  const double threshold = speed_threshold(evidence_);
  double needed = 0.0;  // of one more seed of each
  for (const std::size_t c : candidates) {
    const double cost = evidence_.goal == AdviceGoal::kSpeed && !std::isnan(evidence_.threshold)
                            ? score_of(evidence_, c, threshold, horizon).mean_cost
                            : horizon;
    needed += total_budget_.counts_steps()
                  ? static_cast<double>(steps_for(evidence_, evidence_.candidates[c], cost))
                  : cost * (made_ > 0.0 ? seconds_ / made_ : slowness_);
  }
  const double left = total_budget_.counts_steps() ? static_cast<double>(budget.steps)
                                                   : budget.end_seconds - total_budget_.elapsed();
  return needed > 0.0 ? static_cast<std::int64_t>(std::floor(left / needed)) : 0;
}

void Race::begin_anew() {
  const double soonest = slowest_of_fastest();
  if (!(soonest > 0.0) || std::isinf(soonest)) return;
  cost_ *= kFurther;
  const double step = std::max(soonest / kStepsToThreshold, cost_ / kMostSteps);
  grid_.clear();
  const auto count = static_cast<int>(std::lround(cost_ / step));
  for (int i = 1; i <= count; ++i) grid_.push_back(step * i);
  next_seed_ = 0;
  replaces_ = true;
  runners_.clear();  // frees their memory
}

void Race::add_seeds(const std::vector<std::size_t>& candidates, const PhaseBudget& budget,
                     int most_seeds) {
  const auto room = static_cast<int>(
      std::min<std::int64_t>(most_seeds - next_seed_, seeds_with_room(candidates, budget, cost_)));
  if (room < 1) return;
  std::vector<Runner> fresh;  // seed by seed
  for (int s = next_seed_; s < next_seed_ + room; ++s) {
    const std::uint64_t seed = evidence_.seed + static_cast<std::uint64_t>(s);
    for (const std::size_t c : candidates) {
      fresh.push_back(
          {c, std::make_unique<Trial>(entrants_[c].config, seed, evidence_.eval_episodes)});
    }
  }
  std::vector<char> is_whole(fresh.size(), 0);
  const std::string what = fmt::format("{} more seeds of {}", room, candidates.size());
  pool_.run(static_cast<int>(fresh.size()), [&](int f) {
    Runner& runner = fresh[static_cast<std::size_t>(f)];
    const auto is_late = [&] {
      total_budget_.tell(what);
      return total_budget_.is_over() ||
             (!total_budget_.counts_steps() && total_budget_.elapsed() > budget.end_seconds);
    };
    run_again(runner, is_late);
    is_whole[static_cast<std::size_t>(f)] = is_late() ? 0 : 1;
    runner.trial->release();
  });
  next_seed_ += room;
  keep_whole(candidates, fresh, is_whole);
}

// A seed counts only if it was completed for all candidates.
void Race::keep_whole(const std::vector<std::size_t>& candidates, const std::vector<Runner>& fresh,
                      const std::vector<char>& is_whole) {
  std::vector<std::size_t> whole;  // first index of each complete seed
  for (std::size_t first = 0; first < fresh.size(); first += candidates.size()) {
    const auto begin = is_whole.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(candidates.size());
    if (std::find(begin, end, 0) == end) whole.push_back(first);
  }
  if (replaces_ && std::ssize(whole) < evidence_.seeds) return;
  dropped_seeds_ += static_cast<int>(fresh.size() / candidates.size() - whole.size());
  for (const std::size_t c : candidates) {
    if (replaces_) evidence_.candidates[c].trials.clear();
  }
  replaces_ = false;
  for (const std::size_t first : whole) {
    for (std::size_t i = first; i < first + candidates.size(); ++i) {
      evidence_.candidates[fresh[i].candidate].trials.push_back(fresh[i].trial->curve());
    }
  }
  end_rung(candidates);
}

// Evaluates at the same costs as the other trials, as far as those went.
void Race::run_again(Runner& runner, const std::function<bool()>& should_stop) {
  const CandidateEvidence& candidate = evidence_.candidates[runner.candidate];
  for (const double cost : grid_) {
    if (is_over(runner) || should_stop()) return;
    const std::int64_t target = steps_for(evidence_, candidate, cost);
    total_budget_.add_steps(runner.trial->go_on_to(target, should_stop));
  }
}

}  // namespace broadloom
