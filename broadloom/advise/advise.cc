#include "broadloom/advise/advise.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "broadloom/advise/advice_config.h"
#include "broadloom/config/memory_plan.h"
#include "broadloom/trials/laboratory.h"
#include "broadloom/trials/machine.h"
#include "broadloom/trials/portfolio.h"
#include "broadloom/trials/race.h"
#include "broadloom/trials/ranking.h"
#include "broadloom/trials/reprobe.h"
#include "broadloom/trials/trial.h"

namespace broadloom {
namespace {

// Where the budget goes.
constexpr double kMachineShare = 0.1, kLaboratoryShare = 0.15, kFinalShare = 0.2;
constexpr double kLaboratorySpeed = 2.0;  // its steps a second to training's: nothing is updated
constexpr std::ptrdiff_t kFirst =
    4;  // entrants that are timed before it is known how many take part
constexpr double kFirstShare = 0.3;  // of the time for timing
constexpr double kMidst = 0.5;       // of the leader's steps, where its gradients are measured
constexpr double kProbeShare = 0.2, kProbeLaboratoryShare = 0.4;  // of the rule of the laboratory
constexpr std::int64_t kProbeSteps = 20000;
// Once the race is settled: how many of the best are given how many seeds, in turns.
struct Wave {
  std::size_t candidates;
  int seeds;
};
constexpr Wave kSettled[] = {{12, 8}, {6, 16}, {3, 32}};
constexpr Wave kUnsettled[] = {{kFinalists, 10}};
constexpr Wave kChanged[] = {{4, 8}, {2, 32}};  // of those that change their shape half-way
constexpr double kReprobeShare = 0.3;           // where that is asked for
constexpr double kReprobeMachineShare = 0.02, kReprobeRaceShare = 0.4;
constexpr int kMostSeeds = 10;        // of the race
constexpr double kMemoryShare = 0.8;  // of what the run may plan to hold
constexpr int kEvalEpisodes = 10, kFewestEvalEpisodes = 3;
constexpr double kEvalShare = 0.002;  // of the budget, that one evaluation may take

// One advice, from its evidence's beginning to its end.
class Adviser {
 public:
  Adviser(const Config& base, const AdviceOptions& options, const AdviceHooks& hooks)
      : base_(base),
        options_(options),
        purse_(options.seconds, options.steps, hooks.should_stop, hooks.on_progress) {}

  Result<AdviceResult> run(const Overrides& given) {
    Result<Portfolio> portfolio = make_portfolio(base_, given);
    if (!portfolio.ok()) return portfolio.status();
    base_.lr_schedule = "constant";  // the caller's own was looked at there
    entrants_ = std::move(portfolio.value().entrants);
    evidence_.held = std::move(portfolio.value().held);
    describe();
    BROADLOOM_TRY(look_at_task());
    if (options_.rule == AdviceRule::kRace) {
      BROADLOOM_TRY(leave_out_by_memory());
      if (!purse_.counts_steps()) BROADLOOM_TRY(leave_out_by_first());
      BROADLOOM_TRY(find_speeds());
      if (!purse_.is_over()) {
        leave_out_by_time();
        race();
      }
    } else {
      BROADLOOM_TRY(probe());
    }
    evidence_.interrupted = purse_.was_stopped();
    evidence_.spent_seconds = purse_.elapsed();
    evidence_.spent_steps = purse_.spent_steps();
    AdviceResult result{evidence_, advice_of(evidence_), base_};
    if (result.advice.verdict != AdviceVerdict::kNothing) {
      result.advised = advised_config(base_, given, evidence_, result.advice);
    }
    return result;
  }

 private:
  void describe() {
    evidence_.env_id = base_.env_id;
    evidence_.goal = options_.goal;
    evidence_.rule = options_.rule;
    evidence_.budget_seconds = options_.steps > 0 ? 0.0 : options_.seconds;
    evidence_.budget_steps = options_.steps;
    evidence_.counts_seconds = options_.steps == 0 || !options_.speeds.empty();
    evidence_.threads = options_.threads;
    evidence_.seed = base_.seed;
    evidence_.seeds = options_.seeds;
  }

  Status look_at_task() {
    purse_.tell("looking at the task");
    const double begin = purse_.elapsed();
    Result<UntrainedPolicy> untrained = play_untrained(base_, kEvalEpisodes, options_.threads);
    if (!untrained.ok()) return untrained.status();
    const UntrainedPolicy& policy = untrained.value();
    evidence_.untrained = policy.mean_return;
    evidence_.max_episode_steps = policy.spec.max_episode_steps;
    evidence_.deterministic = policy.simulator.deterministic;
    jobs_ = policy.simulator.whole_batch ? 1 : options_.threads;
    evidence_.eval_episodes = episodes_for(purse_.elapsed() - begin);
    const double length = policy.spec.max_episode_steps > 0
                              ? static_cast<double>(policy.spec.max_episode_steps)
                              : policy.mean_length;
    evidence_.eval_steps = static_cast<std::int64_t>(length * evidence_.eval_episodes);
    if (options_.threshold) {
      evidence_.threshold = *options_.threshold;
      evidence_.threshold_source = "given";
    } else if (policy.spec.has_reward_threshold) {
      evidence_.threshold = policy.spec.reward_threshold;
      evidence_.threshold_source = "task";
    } else {
      evidence_.threshold_source = "best seen";
    }
    return {};
  }

  // Fewer where a simulator is slow; with a budget of steps the clock decides nothing.
  int episodes_for(double seconds_of_all) const {
    if (purse_.counts_steps()) return kEvalEpisodes;
    const double allowed = kEvalShare * purse_.seconds() * options_.threads;
    const double fitting = kEvalEpisodes * allowed / std::max(1e-9, seconds_of_all);
    return static_cast<int>(
        std::clamp(fitting, static_cast<double>(kFewestEvalEpisodes), 1.0 * kEvalEpisodes));
  }

  // Timing all of them may take longer than there is: how fast the first are says how many there is
  // room for.
  Status leave_out_by_first() {
    const std::vector<Entrant> first(
        entrants_.begin(),
        entrants_.begin() + std::min<std::ptrdiff_t>(kFirst, std::ssize(entrants_)));
    const Result<std::vector<double>> speeds = measure_speeds(
        first, options_.threads, kFirstShare * kMachineShare * purse_.seconds(), purse_);
    if (!speeds.ok()) return speeds.status();
    double fastest = 0.0;
    for (const double speed : speeds.value()) fastest = std::fmax(fastest, speed);
    if (fastest <= 0.0) return {};
    leave_out_from(entrants_with_room(entrants_.size(), race_seconds() * fastest, options_.seeds));
    return {};
  }

  double race_share() const {
    return 1.0 - kLaboratoryShare - kFinalShare - (options_.reprobe ? kReprobeShare : 0.0);
  }

  double race_seconds() const { return (race_share() - kMachineShare) * purse_.seconds(); }

  // Of every entrant; those that cannot be timed since their losses are not finite are left out.
  Status find_speeds() {
    std::vector<double> speeds(entrants_.size(), 1.0);
    if (!options_.speeds.empty()) {
      Result<std::vector<double>> known = look_up_speeds(entrants_, options_.speeds);
      if (!known.ok()) return known.status();
      speeds = known.take();
    } else if (!purse_.counts_steps()) {
      Result<std::vector<double>> measured =
          measure_speeds(entrants_, options_.threads, kMachineShare * purse_.seconds(), purse_);
      if (!measured.ok()) return measured.status();
      speeds = measured.take();
    }
    std::vector<Entrant> timed;
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (!(speeds[i] > 0.0)) continue;
      timed.push_back(entrants_[i]);
      speeds_.push_back(speeds[i]);
    }
    evidence_.left_out += static_cast<int>(entrants_.size() - timed.size());
    entrants_ = std::move(timed);
    return {};
  }

  // The least trusted of those that do not fit. All are in memory at once, when they are timed and
  // when they race.
  Status leave_out_by_memory() {
    std::size_t room = entrants_.size();
    const auto allowed = kMemoryShare * static_cast<double>(memory_allowed(base_));
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

  void leave_out_by_time() {
    const double steps = purse_.counts_steps() ? race_share() * static_cast<double>(purse_.steps())
                                               : race_seconds() * mean_speed();
    leave_out_from(entrants_with_room(entrants_.size(), steps, options_.seeds));
    speeds_.resize(entrants_.size());
  }

  void leave_out_from(std::size_t room) {
    evidence_.left_out += static_cast<int>(entrants_.size() - room);
    entrants_.resize(room);
  }

  double mean_speed() const {
    return speeds_.empty() ? 0.0
                           : std::accumulate(speeds_.begin(), speeds_.end(), 0.0) /
                                 static_cast<double>(speeds_.size());
  }

  void enter() {
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      evidence_.candidates.push_back({entrants_[i].candidate,
                                      entrants_[i].is_default,
                                      evidence_.counts_seconds ? speeds_[i] : kNotKnown,
                                      kNotKnown,
                                      0,
                                      {}});
    }
  }

  // Ends when so much of the whole is spent; steps: of this phase alone.
  PhaseBudget until(double share_of_seconds, double share_of_steps) const {
    return {share_of_seconds * purse_.seconds(),
            static_cast<std::int64_t>(share_of_steps * static_cast<double>(purse_.steps()))};
  }

  // A share of what is left before the part of the budget that is reserved.
  PhaseBudget rest(double share) const {
    const double begin = purse_.elapsed();
    const double end = (1.0 - reserved_) * purse_.seconds();
    const double steps = (1.0 - reserved_) * static_cast<double>(purse_.steps()) -
                         static_cast<double>(purse_.spent_steps());
    return {begin + share * std::max(0.0, end - begin),
            static_cast<std::int64_t>(share * std::max(0.0, steps))};
  }

  // The race has found out who is good; who is best takes more seeds, of fewer and fewer.
  void add_seeds(Race& race, const AdviceEvidence& evidence, std::span<const Wave> settled) {
    const bool is_settled = race.is_settled();
    if (is_settled) race.begin_anew();
    const std::span<const Wave> waves = is_settled ? settled : std::span<const Wave>(kUnsettled);
    for (std::size_t w = 0; w < waves.size() && !purse_.is_over(); ++w) {
      race.add_seeds(finalists(evidence, waves[w].candidates),
                     rest(1.0 / static_cast<double>(waves.size() - w)), waves[w].seeds);
    }
  }

  // The best of them, so many at most.
  static std::vector<std::size_t> finalists(const AdviceEvidence& evidence, std::size_t count) {
    std::vector<std::size_t> all(evidence.candidates.size());
    std::iota(all.begin(), all.end(), 0);
    // Those that were in it longest; before them nobody was compared at their horizon.
    int most = 0;
    for (const CandidateEvidence& c : evidence.candidates) most = std::max(most, c.rungs);
    std::erase_if(all, [&](std::size_t c) { return evidence.candidates[c].rungs < most; });
    all = ranked(evidence, all, speed_threshold(evidence));
    all.resize(std::min(all.size(), count));
    return all;
  }

  void race() {
    enter();
    reserved_ = kLaboratoryShare + (options_.reprobe ? kReprobeShare : 0.0);
    {
      Race race(entrants_, evidence_, purse_, jobs_);
      // At least half of what is left, where what came before took longer than it should.
      const double left = 1.0 - purse_.elapsed() / purse_.seconds();
      const double end = std::max(race_share(), 1.0 - 0.5 * left);
      race.run(until(end, race_share()));
      add_seeds(race, evidence_, kSettled);
    }
    reserved_ = kLaboratoryShare;
    // Who is first with the new seeds may be another one than before.
    const std::vector<std::size_t> best = finalists(evidence_, 1);
    if (best.empty() || !has_learnt(evidence_, best.front())) return;
    if (options_.reprobe) reprobe(best.front());
    visit_laboratory(best.front());
  }

  // The leader beside itself with blocks of other shapes from half-way on.
  void reprobe(std::size_t leader) {
    const std::int64_t after = half_way(evidence_.candidates[leader], speed_threshold(evidence_));
    if (after == 0) {
      evidence_.no_changes = "it is over within two blocks";
      return;
    }
    const std::vector<Entrant> all = changed_entrants(entrants_[leader], after, evidence_.held);
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
      if (evidence_.counts_seconds && !(speed > 0.0)) continue;  // the budget ended before
      entrants.push_back(all[i]);
      again.candidates.push_back(
          {all[i].candidate, false, evidence_.candidates[leader].steps_per_second, speed, 0, {}});
    }
    if (entrants.size() < 2 || entrants.front().candidate.changes()) {
      evidence_.no_changes = "the budget was over, or what was set leaves no other shape";
      return;
    }
    {
      Race race(entrants, again, purse_, jobs_);
      race.run(rest(kReprobeRaceShare));
      add_seeds(race, again, kChanged);
    }
    evidence_.changes = std::move(again.candidates);
  }

  // Of what comes after the change.
  Result<std::vector<double>> speeds_after(const std::vector<Entrant>& entrants) {
    std::vector<Entrant> plain;
    plain.reserve(entrants.size());
    for (const Entrant& entrant : entrants) plain.push_back(second_stretch(entrant));
    if (!options_.speeds.empty()) return look_up_speeds(plain, options_.speeds);
    if (purse_.counts_steps()) return std::vector<double>(plain.size(), kNotKnown);
    return measure_speeds(plain, options_.threads, kReprobeMachineShare * purse_.seconds(), purse_);
  }

  // In the midst of what it learns, since at its end there may be no gradient left: a training of
  // the leader's goes half as far as its trials went, or took to the threshold.
  void visit_laboratory(std::size_t leader) {
    const CandidateEvidence& candidate = evidence_.candidates[leader];
    double steps = 0.0;
    for (const TrialCurve& trial : candidate.trials) {
      if (trial.points.empty()) continue;
      const std::int64_t made = trial.points.back().global_step;
      const auto at = steps_to_threshold(trial, speed_threshold(evidence_), made);
      steps +=
          static_cast<double>(at.value_or(made)) / static_cast<double>(candidate.trials.size());
    }
    Trial trial(entrants_[leader].config, base_.seed, evidence_.eval_episodes);
    purse_.tell("on the way to the laboratory");
    purse_.add_steps(trial.go_on_to(static_cast<std::int64_t>(kMidst * steps),
                                    [this] { return purse_.is_over(); }));
    if (trial.trainer() == nullptr || purse_.is_over()) {
      evidence_.gradient.why_not = "nothing was left of the budget";
      return;
    }
    evidence_.gradient = measure_gradients(
        *trial.trainer(), laboratory_steps(kLaboratoryShare, leader), options_.threads, purse_);
  }

  std::int64_t laboratory_steps(double share, std::size_t candidate) const {
    if (purse_.counts_steps()) {
      return static_cast<std::int64_t>(share * static_cast<double>(purse_.steps()));
    }
    const double seconds = std::min(share * purse_.seconds(), purse_.seconds() - purse_.elapsed());
    return static_cast<std::int64_t>(kLaboratorySpeed * seconds *
                                     evidence_.candidates[candidate].steps_per_second);
  }

  // The rule of the laboratory: a short training at the defaults, its gradients, a choice, and what
  // is left of the budget for trials of that choice beside the defaults.
  Status probe() {
    entrants_.resize(1);
    BROADLOOM_TRY(find_speeds());
    if (entrants_.empty()) return invalid("the task's defaults do not train: a loss is not finite");
    enter();
    const Entrant start = entrants_.front();
    Trial trial(start.config, base_.seed, evidence_.eval_episodes);
    purse_.tell("probing the defaults");
    const auto probe_end = kProbeShare * purse_.seconds();
    std::int64_t steps = kProbeSteps;
    if (purse_.counts_steps()) steps = std::min(steps, until(0.0, kProbeShare).steps);
    purse_.add_steps(trial.go_on_to(std::max<std::int64_t>(1, steps), [&] {
      return purse_.is_over() || (!purse_.counts_steps() && purse_.elapsed() > probe_end);
    }));
    if (trial.trainer() != nullptr) {
      evidence_.gradient = measure_gradients(
          *trial.trainer(), laboratory_steps(kProbeLaboratoryShare, 0), options_.threads, purse_);
    } else {
      evidence_.gradient.why_not = "the probe did not train: " + trial.curve().error;
    }
    return try_choice(start);
  }

  Status try_choice(const Entrant& start) {
    const double affordable = purse_.counts_steps() ? static_cast<double>(purse_.steps())
                                                    : purse_.seconds() * speeds_.front();
    const GradientChoice choice =
        choose_by_gradient(evidence_.gradient, start.candidate, evidence_.held, affordable);
    evidence_.rule_words = choice.words;
    entrants_ = {start};
    speeds_.clear();
    if (!(choice.candidate == start.candidate)) {
      entrants_.push_back({choice.candidate, false, config_of(base_, choice.candidate)});
    }
    BROADLOOM_TRY(find_speeds());
    evidence_.candidates.clear();
    enter();
    if (entrants_.empty()) return {};  // stopped
    evidence_.chosen = entrants_.size() - 1;
    if (!(entrants_.back().candidate == choice.candidate)) {
      evidence_.notes.push_back("What the laboratory chose, " + candidate_text(choice.candidate) +
                                ", does not train: a loss was not finite.");
    }
    Race race(entrants_, evidence_, purse_, jobs_);
    race.run(until(1.0, 1.0 - kProbeShare - kProbeLaboratoryShare));
    return {};
  }

  Config base_;
  const AdviceOptions& options_;
  Purse purse_;
  AdviceEvidence evidence_;
  std::vector<Entrant> entrants_;
  std::vector<double> speeds_;  // of the entrants
  int jobs_ = 1;
  double reserved_ = kLaboratoryShare;  // of the budget, for what comes after
};

}  // namespace

Status check_options(const AdviceOptions& options) {
  if (options.seeds < 1 || options.seeds > kMostSeeds) {
    return invalid(fmt::format("seeds is {}; expected 1 to {}", options.seeds, kMostSeeds));
  }
  if (options.threads < 1) {
    return invalid(fmt::format("threads is {}; expected at least 1", options.threads));
  }
  if (options.steps < 0 || (options.steps == 0 && !(options.seconds >= 1.0))) {
    return invalid(
        fmt::format("the budget is {} seconds; expected at least 1, or --steps", options.seconds));
  }
  if (options.reprobe && options.rule == AdviceRule::kGradient) {
    return invalid(
        "reprobe is given with rule gradient, which trains nothing half-way; expected race");
  }
  if (options.steps == 0 && !options.speeds.empty()) {
    return invalid(
        "speeds are given with a budget of seconds, which measures them; give a budget of --steps");
  }
  if (options.threshold && !std::isfinite(*options.threshold)) {
    return invalid("threshold is not finite; expected a mean return");
  }
  return {};
}

Result<AdviceResult> give_advice(const Config& base, const Overrides& given,
                                 const AdviceOptions& options, const AdviceHooks& hooks) {
  BROADLOOM_TRY(check_options(options));
  BROADLOOM_TRY(check_config(base));
  return Adviser(base, options, hooks).run(given);
}

}  // namespace broadloom
