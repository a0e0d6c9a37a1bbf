#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "research/advise/gather.h"
#include "research/advise/laboratory.h"
#include "research/advise/lineup.h"
#include "research/advise/race.h"
#include "research/advise/ranking.h"
#include "research/advise/reprobe.h"
#include "research/advise/trial.h"
#include "research/advise/trial_machine.h"

namespace broadloom {
namespace {

// Shares of the budget.
constexpr double kLaboratoryShare = 0.15, kFinalShare = 0.2;
constexpr double kMidst = 0.5;  // of the leader's steps, where its gradients are measured
// After the race is settled: how many of the best get how many seeds, wave after wave.
struct Wave {
  std::size_t candidates;
  int seeds;
};
constexpr Wave kSettled[] = {{12, 8}, {6, 16}, {3, 32}};
constexpr Wave kUnsettled[] = {{kFinalists, 10}};
constexpr Wave kChanged[] = {{4, 8}, {2, 32}};  // of settings that change their shape half-way
constexpr double kReprobeShare = 0.3;           // if asked for
constexpr double kReprobeMachineShare = 0.02, kReprobeRaceShare = 0.4;

// The best of them, at most `count`.
std::vector<std::size_t> finalists(const AdviceEvidence& evidence, std::size_t count) {
  std::vector<std::size_t> all(evidence.candidates.size());
  std::iota(all.begin(), all.end(), 0);
  // Only those that stayed longest: nobody was compared at the others' horizon.
  int most = 0;
  for (const CandidateEvidence& c : evidence.candidates) most = std::max(most, c.rungs);
  std::erase_if(all, [&](std::size_t c) { return evidence.candidates[c].rungs < most; });
  all = ranked(evidence, all, speed_threshold(evidence));
  all.resize(std::min(all.size(), count));
  return all;
}

class RaceRule {
 public:
  RaceRule(const Inquiry& inquiry, std::vector<Entrant> entrants)
      : inquiry_(inquiry),
        options_(inquiry.options),
        total_budget_(inquiry.total_budget),
        evidence_(inquiry.evidence),
        lineup_(std::move(entrants), inquiry.options, inquiry.total_budget) {}

  Status run() {
    BROADLOOM_TRY(choose_lineup());
    evidence_.left_out = lineup_.left_out();
    if (total_budget_.is_over()) return {};
    leave_out_by_time();
    race();
    // The new seeds may have changed the leader.
    const std::vector<std::size_t> best = finalists(evidence_, 1);
    if (best.empty() || !has_learnt(evidence_, best.front())) return {};
    if (options_.reprobe) reprobe(best.front());
    visit_laboratory(best.front());
    return {};
  }

 private:
  double reprobe_share() const { return options_.reprobe ? kReprobeShare : 0.0; }

  double race_share() const { return 1.0 - kLaboratoryShare - kFinalShare - reprobe_share(); }

  double race_seconds() const { return (race_share() - kMachineShare) * total_budget_.seconds(); }

  Status choose_lineup() {
    BROADLOOM_TRY(lineup_.leave_out_by_memory(inquiry_.base));
    BROADLOOM_TRY(total_budget_.counts_steps() ? lineup_.check_steps(race_share())
                                               : lineup_.leave_out_by_first(race_seconds()));
    return lineup_.find_speeds();
  }

  void leave_out_by_time() {
    const double steps = total_budget_.counts_steps()
                             ? race_share() * static_cast<double>(total_budget_.steps())
                             : race_seconds() * lineup_.mean_speed();
    lineup_.leave_out_by_steps(steps);
    evidence_.left_out = lineup_.left_out();
  }

  void race() {
    evidence_.candidates = lineup_.candidates(evidence_.counts_seconds);
    Race race(lineup_.entrants(), evidence_, total_budget_, inquiry_.jobs);
    // At least half of the rest, if earlier phases took too long.
    const double left = 1.0 - total_budget_.elapsed() / total_budget_.seconds();
    const double end = std::max(race_share(), 1.0 - 0.5 * left);
    race.run(total_budget_.phase(end, race_share()));
    add_seeds(race, evidence_, kSettled, kLaboratoryShare + reprobe_share());
  }

  // The race has found good candidates. Finding the best one takes more seeds, of fewer and fewer.
  void add_seeds(Race& race, const AdviceEvidence& evidence, std::span<const Wave> settled,
                 double reserved) {
    const bool is_settled = race.is_settled();
    if (is_settled) race.begin_anew();
    const std::span<const Wave> waves = is_settled ? settled : std::span<const Wave>(kUnsettled);
    for (std::size_t w = 0; w < waves.size() && !total_budget_.is_over(); ++w) {
      race.add_seeds(finalists(evidence, waves[w].candidates),
                     total_budget_.rest(1.0 / static_cast<double>(waves.size() - w), reserved),
                     waves[w].seeds);
    }
    if (race.dropped_seeds() == 0) return;
    const bool is_one = race.dropped_seeds() == 1;
    evidence_.notes.push_back(fmt::format(
        "What {} would have shown: the time ended before all settings had completed {}.",
        is_one ? "one more seed" : fmt::format("{} more seeds", race.dropped_seeds()),
        is_one ? "it" : "them"));
  }

  // Tries the leader beside itself with blocks of other shapes from half-way on.
  void reprobe(std::size_t leader) {
    const std::int64_t after = half_way(evidence_.candidates[leader], speed_threshold(evidence_));
    if (after == 0) {
      evidence_.no_changes = "it is over within two blocks";
      return;
    }
    const std::vector<Entrant> all =
        changed_entrants(lineup_.entrants()[leader], after, evidence_.held);
    const Result<std::vector<double>> speeds = speeds_after(all);
    if (!speeds.ok()) {
      evidence_.no_changes = speeds.status().message();
      return;
    }
    AdviceEvidence again = evidence_;
    again.candidates.clear();
    again.rungs.clear();
    std::vector<Entrant> entrants;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double speed = speeds.value()[i];
      if (evidence_.counts_seconds && !(speed > 0.0)) continue;  // not measured, or not known
      entrants.push_back(all[i]);
      again.candidates.push_back(
          {all[i].candidate, false, evidence_.candidates[leader].steps_per_second, speed, 0, {}});
    }
    if (entrants.size() < 2 || entrants.front().candidate.changes()) {
      evidence_.no_changes =
          "the budget was over, no speed of another shape is known, or what was set leaves none";
      return;
    }
    race_changes(entrants, again);
    evidence_.changes = std::move(again.candidates);
  }

  void race_changes(const std::vector<Entrant>& entrants, AdviceEvidence& evidence) {
    Race race(entrants, evidence, total_budget_, inquiry_.jobs);
    race.run(total_budget_.rest(kReprobeRaceShare, kLaboratoryShare));
    add_seeds(race, evidence, kChanged, kLaboratoryShare);
  }

  // Speeds after the change.
  Result<std::vector<double>> speeds_after(const std::vector<Entrant>& entrants) {
    std::vector<Entrant> plain;
    plain.reserve(entrants.size());
    for (const Entrant& entrant : entrants) plain.push_back(second_stretch(entrant));
    if (!options_.known.speeds.empty()) return look_up_speeds(plain, options_.known);
    if (total_budget_.counts_steps()) return std::vector<double>(plain.size(), kNotKnown);
    return measure_speeds(plain, options_.threads, kReprobeMachineShare * total_budget_.seconds(),
                          total_budget_);
  }

  // Measures gradients in mid-training, since none may be left at the end. A training of the leader
  // runs half as far as its trials took to the threshold, or ran.
  void visit_laboratory(std::size_t leader) {
    const CandidateEvidence& candidate = evidence_.candidates[leader];
    double steps = 0.0;
    for (const TrialCurve& trial : candidate.trials) {
      if (trial.points.empty()) continue;
      const std::int64_t made = trial.points.back().global_step;
      const auto reached_at = steps_to_threshold(trial, speed_threshold(evidence_), made);
      steps += static_cast<double>(reached_at.value_or(made)) /
               static_cast<double>(candidate.trials.size());
    }
    Trial trial(lineup_.entrants()[leader].config, inquiry_.base.seed, evidence_.eval_episodes);
    total_budget_.tell("on the way to the laboratory");
    total_budget_.add_steps(trial.go_on_to(static_cast<std::int64_t>(kMidst * steps),
                                           [this] { return total_budget_.is_over(); }));
    if (trial.trainer() == nullptr || total_budget_.is_over()) {
      evidence_.gradient.why_not = "nothing was left of the budget";
      return;
    }
    evidence_.gradient = measure_gradients(
        *trial.trainer(),
        laboratory_steps(total_budget_, kLaboratoryShare, candidate.steps_per_second),
        options_.threads, total_budget_);
  }

  const Inquiry& inquiry_;
  const AdviceOptions& options_;
  AdviceBudget& total_budget_;
  AdviceEvidence& evidence_;
  Lineup lineup_;
};

}  // namespace

Status measure_by_race(const Inquiry& inquiry, std::vector<Entrant> entrants) {
  return RaceRule(inquiry, std::move(entrants)).run();
}

}  // namespace broadloom
