#include "broadloom/train/run_numbers.h"

#include <algorithm>
#include <span>

#include "broadloom/env/episode_strata.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/step_counter.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

std::size_t rates(const EnvSpec& spec) { return spec.names_success ? spec.strata.size() : 0; }

}  // namespace

std::vector<NamedNumber> stratum_numbers(const EnvSpec& spec,
                                         const std::vector<std::string>& levels) {
  std::vector<NamedNumber> numbers;
  for (std::size_t s = 0; s < rates(spec); ++s) {
    numbers.push_back({kStratumSuccess, {spec.strata[s]}});
  }
  if (levels.empty()) return numbers;
  numbers.push_back({kMeanLevel, {}});
  for (const std::string& level : levels) numbers.push_back({kLevelShare, {level}});
  return numbers;
}

void refresh_stratum_numbers(const EpisodeTracker& episodes, const VecEnv& envs, int num_envs,
                             std::vector<NamedNumber>& numbers) {
  std::size_t next = 0;
  for (; next < rates(envs.spec()); ++next) {
    numbers[next].value = episodes.success_rate(static_cast<int>(next));
  }
  const auto* const strata = capability<EpisodeStrata>(envs);
  if (next == numbers.size() || strata == nullptr) return;
  double& mean = numbers[next++].value;
  NamedNumber* const shares = numbers.data() + next;
  const std::size_t levels = numbers.size() - next;
  mean = 0.0;
  for (std::size_t l = 0; l < levels; ++l) shares[l].value = 0.0;
  for (int i = 0; i < num_envs; ++i) {
    const std::size_t level = static_cast<std::size_t>(strata->level(i));
    mean += static_cast<double>(level);
    if (level < levels) shares[level].value += 1.0;
  }
  mean /= num_envs;
  for (std::size_t l = 0; l < levels; ++l) shares[l].value /= num_envs;
}

std::vector<NamedNumber> counted_numbers(const EnvSpec& spec) {
  std::vector<NamedNumber> numbers;
  if (spec.counts_reward_terms) {
    for (const RewardTerm& term : spec.reward_terms) numbers.push_back({kRewardTerm, {term.name}});
  }
  for (const Measure& measure : spec.measures) numbers.push_back({kMeasure, {measure.name}});
  return numbers;
}

StepSums::StepSums(const VecEnv& envs)
    : envs_(static_cast<std::size_t>(envs.num_envs())),
      counted_(envs.spec().counted()),
      sums_(envs_ * counted_) {}

void StepSums::take(VecEnv& envs, int begin, int end) {
  auto* const counter = capability<StepCounter>(envs);
  if (counted_ == 0 || counter == nullptr) return;
  name_exceptions(envs.spec().id, "take_step_sums", [&] {
    for (int i = begin; i < end; ++i) {
      counter->take_step_sums(
          i, std::span(sums_).subspan(static_cast<std::size_t>(i) * counted_, counted_));
    }
  });
}

// Adds in the order of environments, on any number of ranks. Environments at rest add zeros.
void StepSums::take_block(VecEnv& envs, const RankCut& cut, Exchange& exchange,
                          std::int64_t transitions, std::vector<NamedNumber>& numbers) {
  if (counted_ == 0) return;
  std::fill(sums_.begin(), sums_.end(), 0.0);
  take(envs, cut.envs().begin, cut.envs().end);
  exchange.add_lines(sums_.data(), 1, envs_, counted_ * sizeof(double), cut.env_bounds());
  exchange.finish();
  for (std::size_t k = 0; k < counted_; ++k) {
    double sum = 0.0;
    for (std::size_t i = k; i < sums_.size(); i += counted_) sum += sums_[i];
    numbers[k].value = sum / static_cast<double>(transitions);
  }
}

std::vector<NumberInfo> declared_numbers() {
  std::vector<NumberInfo> all = {kIterationInfo, kGlobalStepInfo};
  IterationReport report;
  declare_algorithm_numbers([&](const NumberInfo& info) { report.update.push_back({info, 0.0}); });
  visit_numbers(report, [&](const NumberInfo& info, auto) { all.push_back(info); });
  all.insert(all.end(), {kNumEnvsInfo, kNumStepsInfo, kFillerRowsInfo});
  all.insert(all.end(), {kStratumSuccess, kMeanLevel, kLevelShare, kRewardTerm, kMeasure});
  all.insert(all.end(), {kWallTimeInfo, kStepsPerSecondInfo});
  declare_instrument_numbers([&](const NumberInfo& info) { all.push_back(info); });
  return all;
}

}  // namespace broadloom
