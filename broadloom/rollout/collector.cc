#include "broadloom/rollout/collector.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "broadloom/math/elementwise.h"

namespace broadloom {

namespace {

// Raw rows to where they are stored, through a normaliser where there is one.
void keep(const ObsNormalizer* normalizer, const Observations& raw, std::size_t from, int rows,
          Observations& out, std::size_t to) {
  if (normalizer == nullptr) return out.write(to, raw, from, static_cast<std::size_t>(rows));
  const std::size_t width = static_cast<std::size_t>(raw.type().size);
  normalizer->normalize(&raw.floats()[from * width], rows, out.rows(to).floats());
}

// Raw rows as a network reads them.
void see(const ObsNormalizer* normalizer, const Observations& raw, int rows, float* out) {
  if (normalizer == nullptr) return raw.read(0, static_cast<std::size_t>(rows), out);
  normalizer->normalize(raw.floats().data(), rows, out);
}

}  // namespace

Collector::Collector(VecEnv& envs, const ActorCritic& network, const Actor& actor,
                     ObsNormalizers normalizers, ThreadPool& pool, std::uint64_t seed,
                     const Bf16Pair* bf16_weights)
    : envs_(envs),
      network_(network),
      actor_(actor),
      normalizers_(normalizers),
      pool_(pool),
      seed_(seed),
      plan_(envs.num_envs(), kTileRows),
      scratch_(static_cast<std::size_t>(pool.threads())) {
  const EnvSpec& spec = envs.spec();
  const int together = shards_per_group(plan_, pool.threads());
  for (int s = 0; s < plan_.count(); s += together) {
    const int last = std::min(s + together, plan_.count());
    groups_.push_back({s, last, {plan_[s].begin, plan_[last - 1].end}, {}});
  }
  const std::size_t rows = static_cast<std::size_t>(groups_[0].rows.size());
  for (Scratch& scratch : scratch_) {
    scratch.work = network.make_workspace<float>(bf16_weights);
    const ObservationType type = observation_type(spec.observation);
    const ObservationType critic = observation_type(spec.critic_observation);
    scratch.raw = {Observations(type, rows), Observations(type, rows)};
    scratch.critic_raw = {Observations(critic, rows), Observations(critic, rows)};
    scratch.env_actions.resize(rows * spec.action_size());
    const std::size_t per_tile = static_cast<std::size_t>(spec.action_size()) * kTileRows;
    scratch.draws.resize(per_tile);
    scratch.actions.resize(per_tile);
    scratch.terms.resize(per_tile);
    scratch.log_probs.resize(kTileRows);
  }
}

// As many as fit a tile, since a step costs little more for more rows, but not at the price of a
// thread that has more shards to step than it needs to have.
int Collector::shards_per_group(const ShardPlan& plan, int threads) {
  const auto most_of_a_thread = [&](int together) {
    const int groups = (plan.count() + together - 1) / together;
    return std::min((groups + threads - 1) / threads * together, plan.count());
  };
  const int widest = std::clamp(kTileRows / plan[0].size(), 1, plan.count());
  int best = 1;
  for (int together = 2; together <= widest; ++together) {
    if (most_of_a_thread(together) <= most_of_a_thread(best)) best = together;
  }
  return best;
}

std::size_t Collector::scratch_bytes(int num_envs, int threads, const EnvSpec& spec) {
  const ShardPlan plan(num_envs, kTileRows);
  const int most_rows = shards_per_group(plan, threads) * plan[0].size();
  const std::size_t rows = static_cast<std::size_t>(std::min(most_rows, num_envs));
  const std::size_t observed = observation_type(spec.observation).row_bytes() +
                               observation_type(spec.critic_observation).row_bytes();
  const std::size_t action = static_cast<std::size_t>(spec.action_size());
  return rows * 2 * observed + sizeof(float) * (rows * action + kTileRows * (3 * action + 1));
}

Status Collector::collect(const float* params, std::int64_t first_step, RolloutBlock& block) {
  pool_.run(static_cast<int>(groups_.size()), [&](int group, int thread) {
    collect_group(groups_[group], scratch_[thread], params, first_step, block);
  });
  return failure();
}

bool Collector::Fault::is_before(const Fault& other) const {
  return std::tie(step, value, env) < std::tie(other.step, other.value, other.env);
}

// Of all groups' faults the one that comes first, so that it is the same however they are cut.
Status Collector::failure() const {
  Fault first;
  for (const Group& group : groups_) {
    if (group.fault.env < 0) continue;
    if (first.env < 0 || group.fault.is_before(first)) first = group.fault;
  }
  if (first.env < 0) return {};
  constexpr const char* kNames[] = {"observation", "critic observation", "reward"};
  return {ErrorKind::kNumeric,
          fmt::format("{} of environment {} is not finite at its step {}; expected finite numbers. "
                      "Check the environment's dynamics and options, and the policy's outputs.",
                      kNames[static_cast<int>(first.value)], first.env, first.step)};
}

void Collector::collect_group(Group& group, Scratch& scratch, const float* params,
                              std::int64_t first_step, RolloutBlock& block) {
  const Shard shard = group.rows;
  group.fault = {};
  std::fill(block.truncations.begin() + shard.begin, block.truncations.begin() + shard.end, 0);
  observe(shard, scratch);
  for (int t = 0; t < block.T; ++t) {
    const std::int64_t step = first_step + t;
    if (!take_observations(group, scratch, step)) return;
    act(shard, scratch, params, step, t, block);
    const std::size_t row = block.index(t, shard.begin);
    envs_.step(shard.begin, shard.end,
               {scratch.env_actions.data(), scratch.raw.now.rows(), &block.rewards[row],
                &block.terminated[row], &block.truncated[row], scratch.raw.final.rows(),
                block.ends.empty() ? nullptr : &block.ends[row], scratch.critic_raw.now.rows(),
                scratch.critic_raw.final.rows()});
    const std::size_t count = static_cast<std::size_t>(shard.size());
    if (!check(group, {&block.rewards[row], count}, 1, step, Value::kReward)) return;
    keep_final_observations(shard, scratch, t, block);
  }
  if (network_.sides_are_apart()) value_rows(shard, scratch, params, block);
}

void Collector::observe(Shard shard, Scratch& scratch) const {
  envs_.observe(shard.begin, shard.end, scratch.raw.now.rows());
  if (scratch.critic_raw.now.empty()) return;
  envs_.observe_critic(shard.begin, shard.end, scratch.critic_raw.now.rows());
}

// False where one is not finite.
bool Collector::take_observations(Group& group, Scratch& scratch, std::int64_t step) {
  const std::size_t rows = static_cast<std::size_t>(group.rows.size());
  const auto take = [&](const Observations& raw, Value value, ObsNormalizer* normalizer) {
    const int width = raw.type().size;
    const std::size_t count = rows * static_cast<std::size_t>(width);
    if (raw.type().dtype != Dtype::kF32 || count == 0) return true;  // every byte is a number
    if (!check(group, raw.floats().first(count), width, step, value)) return false;
    if (normalizer != nullptr) accumulate(group, raw, normalizer);
    return true;
  };
  return take(scratch.raw.now, Value::kObservation, normalizers_.policy) &&
         take(scratch.critic_raw.now, Value::kCriticObservation, normalizers_.critic);
}

void Collector::accumulate(const Group& group, const Observations& raw, ObsNormalizer* normalizer) {
  const float* rows = raw.floats().data();
  for (int s = group.first_shard; s < group.last_shard; ++s) {
    normalizer->accumulate(s, rows, plan_[s].size());
    rows += static_cast<std::size_t>(plan_[s].size()) * raw.type().size;
  }
}

// Observations into the block, actions drawn, their log-probabilities kept. Values of a critic that
// stands alone wait for value_rows().
void Collector::act(Shard shard, Scratch& scratch, const float* params, std::int64_t step, int t,
                    RolloutBlock& block) {
  const std::size_t first = block.index(t, shard.begin);
  keep(normalizers_.policy, scratch.raw.now, 0, shard.size(), block.observations, first);
  if (block.has_critic()) {
    keep(normalizers_.critic, scratch.critic_raw.now, 0, shard.size(), block.critic_observations,
         first);
  }
  const float* seen = block.observations.view(first, static_cast<std::size_t>(shard.size()),
                                              scratch.work.observations.data());
  const bool values_later = network_.sides_are_apart();
  network_.forward(params, seen, shard.size(), scratch.work,
                   values_later ? NetworkSide::kPolicy : NetworkSide::kBoth);
  draw_actions(shard, scratch, params, step);
  keep_actions(shard, scratch, t, block);
  std::copy_n(scratch.log_probs.data(), shard.size(), &block.log_probs[first]);
  if (!values_later) std::copy_n(scratch.work.values.data(), shard.size(), &block.values[first]);
}

// Nothing needs a value before the block is whole, and whole tiles take less time than a shard's
// few rows step by step.
void Collector::value_rows(Shard shard, Scratch& scratch, const float* params,
                           RolloutBlock& block) {
  const std::size_t rows = static_cast<std::size_t>(shard.size());
  const int most_steps = kTileRows / shard.size();
  const Observations& seen = block.seen_by_critic();
  const std::size_t width = static_cast<std::size_t>(seen.type().size);
  for (int t = 0; t < block.T; t += most_steps) {
    const std::size_t steps = static_cast<std::size_t>(std::min(most_steps, block.T - t));
    float* tile = scratch.work.critic_tile();
    for (std::size_t k = 0; k < steps; ++k) {
      seen.read(block.index(t + k, shard.begin), rows, tile + k * rows * width);
    }
    network_.forward(params, tile, static_cast<int>(steps * rows), scratch.work,
                     NetworkSide::kValue);
    for (std::size_t k = 0; k < steps; ++k) {
      std::copy_n(&scratch.work.values[k * rows], rows,
                  &block.values[block.index(t + k, shard.begin)]);
    }
  }
}

// Environment n at step s draws from Random(seed, kAction, n, s), whichever shard it is in.
void Collector::draw_actions(Shard shard, Scratch& scratch, const float* params,
                             std::int64_t step) {
  actor_.act({.params = params,
              .outputs = scratch.work.policy.data(),
              .streams = {seed_, Purpose::kAction, static_cast<std::uint32_t>(shard.begin),
                          static_cast<std::uint64_t>(step), shard.size()},
              .actions = scratch.actions.data(),
              .log_probs = scratch.log_probs.data(),
              .draws = scratch.draws.data(),
              .terms = scratch.terms.data()});
}

// Actions to the block as drawn, to the environments within their bounds.
void Collector::keep_actions(Shard shard, Scratch& scratch, int t, RolloutBlock& block) {
  const Space& space = envs_.spec().action;
  const std::size_t size = static_cast<std::size_t>(block.A);
  float* kept = &block.actions[block.index(t, shard.begin) * size];
  for (std::size_t a = 0; a < size; ++a) {
    const bool box = space.kind == SpaceKind::kBox;
    const float low = box ? space.low[a] : 0.0f;
    const float high = box ? space.high[a] : static_cast<float>(space.size - 1);
    const float* drawn = &scratch.actions[a * kTileRows];
    for (std::size_t k = 0; k < static_cast<std::size_t>(shard.size()); ++k) {
      kept[k * size + a] = drawn[k];
      scratch.env_actions[k * size + a] = std::clamp(drawn[k], low, high);
    }
  }
}

bool Collector::check(Group& group, std::span<const float> rows, int width, std::int64_t step,
                      Value value) {
  if (all_finite(rows.data(), rows.size())) return true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::isfinite(rows[i])) continue;
    group.fault = {group.rows.begin + static_cast<int>(i / width), step, value};
    return false;
  }
  return true;
}

void Collector::keep_final_observations(Shard shard, Scratch& scratch, int t, RolloutBlock& block) {
  for (int k = 0; k < shard.size(); ++k) {
    const int n = shard.begin + k;
    if (block.truncated[block.index(t, n)] == 0) continue;
    const std::size_t place = block.final_index(n, block.truncations[n]++);
    const std::size_t row = static_cast<std::size_t>(k);
    keep(normalizers_.policy, scratch.raw.final, row, 1, block.final_observations, place);
    if (!block.has_critic()) continue;
    keep(normalizers_.critic, scratch.critic_raw.final, row, 1, block.final_critic_observations,
         place);
  }
}

void Collector::bootstrap_values(const float* params, RolloutBlock& block) {
  pool_.run(static_cast<int>(groups_.size()), [&](int group, int thread) {
    bootstrap_rows(groups_[group].rows, scratch_[thread], params, block);
  });
}

void Collector::bootstrap_rows(Shard shard, Scratch& scratch, const float* params,
                               RolloutBlock& block) {
  const float* values = scratch.work.values.data();
  observe(shard, scratch);
  float* tile = scratch.work.critic_tile();
  if (block.has_critic()) {
    see(normalizers_.critic, scratch.critic_raw.now, shard.size(), tile);
  } else {
    see(normalizers_.policy, scratch.raw.now, shard.size(), tile);
  }
  network_.forward(params, tile, shard.size(), scratch.work, NetworkSide::kValue);
  std::copy_n(values, shard.size(), &block.last_values[shard.begin]);
  value_final_observations(shard, scratch, params, block);
}

// Truncated episodes are few and spread over environments: they are brought together into tiles.
void Collector::value_final_observations(Shard shard, Scratch& scratch, const float* params,
                                         RolloutBlock& block) {
  std::array<std::size_t, kTileRows> places;
  int rows = 0;
  const Observations& finals = block.final_seen_by_critic();
  float* tile = scratch.work.critic_tile();
  const auto flush = [&] {
    if (rows == 0) return;
    network_.forward(params, tile, rows, scratch.work, NetworkSide::kValue);
    for (int r = 0; r < rows; ++r) block.final_values[places[r]] = scratch.work.values[r];
    rows = 0;
  };
  for (int n = shard.begin; n < shard.end; ++n) {
    for (int s = 0; s < block.truncations[n]; ++s) {
      places[rows] = block.final_index(n, s);
      finals.read(places[rows], 1, tile + static_cast<std::size_t>(rows) * finals.type().size);
      if (++rows == kTileRows) flush();
    }
  }
  flush();
}

}  // namespace broadloom
