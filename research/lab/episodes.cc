#include "research/lab/episodes.h"

#include <fmt/core.h>

#include <algorithm>

namespace broadloom {
namespace {

constexpr std::int64_t kRowsOfRound = 400000;
constexpr std::int64_t kFewestRounds = 4;  // if the budget allows it
constexpr int kMostBeyond = 10000;

bool ends(const RolloutBlock& block, std::size_t i) {
  return block.terminated[i] != 0 || block.truncated[i] != 0;
}

}  // namespace

int steps_to_a_hundredth(double gamma) {
  double discount = 1.0;
  for (int steps = 1; steps <= kMostBeyond; ++steps) {
    discount *= gamma;
    if (discount <= 0.01) return steps;
  }
  return 0;
}

void returns_to_end(const RolloutBlock& block, int n, double gamma, std::vector<double>& out) {
  out.assign(static_cast<std::size_t>(block.T), 0.0);
  double next = 0.0;
  bool known = false;
  for (int t = block.T - 1; t >= 0; --t) {
    const std::size_t i = block.index(t, n);
    const bool end = ends(block, i);
    known = known || end;
    next = block.rewards[i] + (end ? 0.0 : gamma * next);
    if (known) out[static_cast<std::size_t>(t)] = next;
  }
}

std::vector<int> steps_within(const FrozenBlock& block, int n, const TimeLimit& limit) {
  std::vector<int> steps;
  int age = block.ages[static_cast<std::size_t>(n)];
  for (int t = 0; t < block.T; ++t, ++age) {
    if (age < limit.steps) steps.push_back(t);
    if (ends(block, block.index(t, n))) age = -1;
  }
  return steps;
}

Status check_continued(const FrozenBlock& block, const TimeLimit& limit) {
  for (int n = 0; n < block.N; ++n) {
    int age = block.ages[static_cast<std::size_t>(n)];
    for (int t = 0; t < block.T; ++t, ++age) {
      const std::size_t i = block.index(t, n);
      if (block.truncated[i] != 0 && age + 1 < limit.longest()) {
        return invalid(fmt::format(
            "the environment truncated an episode after {} steps, though it was made with a limit "
            "of {}: it seems to keep a limit of its own, so that the policy cannot be followed "
            "past it; give --time_limit end",
            age + 1, limit.longest()));
      }
      if (ends(block, i)) age = -1;
    }
  }
  return {};
}

CompleteEpisodes::CompleteEpisodes(const Policy& policy, const TimeLimit& limit,
                                   std::int64_t budget, std::uint64_t seed, ThreadPool& pool)
    : limit_(limit), source_(policy, nullptr, seed, pool, limit.longest()) {
  const std::int64_t rows = std::min(kRowsOfRound, budget / kFewestRounds);
  const std::int64_t steps = limit.steps + limit.longest();
  envs_ = static_cast<int>(std::max<std::int64_t>(1, rows / steps / kGroups));
  rounds_ = std::max<std::int64_t>(1, budget / shape().batch());
}

std::vector<int> CompleteEpisodes::steps_of(const FrozenBlock& block, int n) const {
  std::vector<int> steps = steps_within(block, n, limit_);
  int begun = 0;  // start of the episode after the last end
  for (int t = 0; t < limit_.steps; ++t) {
    if (ends(block, block.index(t, n))) begun = t + 1;
  }
  if (begun >= limit_.steps) {  // the next episode begins too late
    std::erase_if(steps, [&](int t) { return t >= begun; });
    return steps;
  }
  int end = begun;
  while (end + 1 < block.T && !ends(block, block.index(end, n))) ++end;
  std::erase_if(steps, [&](int t) { return t > end; });
  return steps;
}

Result<std::unique_ptr<FrozenBlock>> CompleteEpisodes::collect(std::int64_t round) {
  Result<std::unique_ptr<FrozenBlock>> block =
      source_.collect(shape(), 1, static_cast<std::uint64_t>(round));
  if (block.ok()) BROADLOOM_TRY(check_continued(*block.value(), limit_));
  return block;
}

}  // namespace broadloom
