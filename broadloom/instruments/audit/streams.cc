#include "broadloom/instruments/audit/streams.h"

#include <algorithm>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

StreamUse use(const char* name, bool evaluation, std::uint64_t seed, Purpose purpose,
              std::int64_t lanes) {
  return {name, evaluation, seed, static_cast<std::uint32_t>(purpose), lanes};
}

}  // namespace

std::vector<StreamCollision> find_collisions(std::span<const StreamUse> uses) {
  std::vector<StreamCollision> collisions;
  for (std::size_t a = 0; a < uses.size(); ++a) {
    for (std::size_t b = a + 1; b < uses.size(); ++b) {
      const std::int64_t lanes = std::min(uses[a].lanes, uses[b].lanes);
      if (uses[a].seed != uses[b].seed || uses[a].purpose != uses[b].purpose || lanes <= 0) {
        continue;
      }
      // Two evaluations of the same name may be one evaluation, repeated.
      if (uses[a].evaluation && uses[b].evaluation && uses[a].name == uses[b].name) continue;
      collisions.push_back({&uses[a], &uses[b], lanes});
    }
  }
  return collisions;
}

std::vector<StreamUse> training_streams(std::uint64_t seed, int num_envs, int families) {
  return {use("init", false, seed, Purpose::kInit, kFewLanes),
          use("shuffle", false, seed, Purpose::kShuffle, kFewLanes),
          use("train_reset", false, seed, Purpose::kTrainReset, families),
          use("train_step", false, seed, Purpose::kTrainStep, families),
          use("action", false, seed, Purpose::kAction, num_envs),
          use("stagger", false, seed, Purpose::kStagger, families),
          use("train_strata", false, seed, Purpose::kTrainStrata, families),
          use("train_curriculum", false, seed, Purpose::kCurriculum, families),
          use("train_disturb", false, seed, Purpose::kTrainDisturb, families),
          use("anew", false, seed, Purpose::kAnew, 1)};
}

std::vector<StreamUse> evaluation_streams(std::uint64_t seed, int episodes) {
  return {use("eval_reset", true, seed, Purpose::kEvalReset, episodes),
          use("eval_step", true, seed, Purpose::kEvalStep, episodes),
          use("eval_strata", true, seed, Purpose::kEvalStrata, episodes),
          use("eval_disturb", true, seed, Purpose::kEvalDisturb, episodes),
          use("eval_action", true, seed, Purpose::kEvalAction, episodes)};
}

int equal_first_draws(std::span<const StreamUse> uses) {
  constexpr std::int64_t kLanes = 64;
  std::vector<std::uint64_t> draws;
  for (const StreamUse& use : uses) {
    for (std::int64_t lane = 0; lane < std::min(use.lanes, kLanes); ++lane) {
      Random random(use.seed, static_cast<Purpose>(use.purpose), static_cast<std::uint32_t>(lane),
                    0);
      draws.push_back(random.bits64());
    }
  }
  std::sort(draws.begin(), draws.end());
  int equal = 0;
  for (std::size_t i = 1; i < draws.size(); ++i) equal += draws[i] == draws[i - 1] ? 1 : 0;
  return equal;
}

}  // namespace broadloom
