#include "broadloom/train/episode_report.h"

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
  if (next == numbers.size()) return;
  double& mean = numbers[next++].value;
  NamedNumber* const shares = numbers.data() + next;
  const std::size_t levels = numbers.size() - next;
  mean = 0.0;
  for (std::size_t l = 0; l < levels; ++l) shares[l].value = 0.0;
  for (int i = 0; i < num_envs; ++i) {
    const std::size_t level = static_cast<std::size_t>(envs.level(i));
    mean += static_cast<double>(level);
    if (level < levels) shares[level].value += 1.0;
  }
  mean /= num_envs;
  for (std::size_t l = 0; l < levels; ++l) shares[l].value /= num_envs;
}

}  // namespace broadloom
