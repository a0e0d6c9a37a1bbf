#include "broadloom/rollout/collector.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "broadloom/env/block_player.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/rollout/block_exchange.h"

namespace broadloom {

// Stores raw rows, normalised if there is a normaliser. previous_ends: end flags of the previous
// step for these rows.
void Collector::keep(const ObsNormalizer* normalizer, const Observations& raw, std::size_t raw_row,
                     int rows, Observations& out, std::size_t out_row,
                     const StepEnds& previous_ends) {
  if (normalizer == nullptr) {
    return out.write(out_row, raw, raw_row, static_cast<std::size_t>(rows), previous_ends);
  }
  const std::size_t width = static_cast<std::size_t>(raw.type().size);
  for (int r = 0; out.is_packed() && r < rows; ++r) {
    const float* row = &raw.floats()[(raw_row + static_cast<std::size_t>(r)) * width];
    out.pack(out_row + static_cast<std::size_t>(r), row,
             [&](std::size_t first, std::size_t count, float* numbers) {
               normalizer->normalize_part(row + first, first, count, numbers);
             });
  }
  if (out.is_packed()) return;
  normalizer->normalize(&raw.floats()[raw_row * width], rows, out.rows(out_row).floats());
}

Collector::Collector(VecEnv& envs, const ActorCritic& network, const Actor& actor,
                     ObsNormalizers normalizers, ThreadPool& pool, std::uint64_t seed, Ranks& ranks,
                     const Teacher* teacher)
    : envs_(envs),
      simulator_(envs.traits()),
      network_(network),
      actor_(actor),
      normalizers_(normalizers),
      pool_(pool),
      ranks_(ranks),
      exchange_(ranks),
      seed_(seed),
      teacher_(teacher),
      plan_(envs.num_envs(), kTileRows),
      cut_(plan_, ranks),
      whole_(simulator_.whole_batch ? envs.num_envs() : 0, network, envs.spec()),
      noise_(network, static_cast<std::size_t>(envs.num_envs())) {
  const std::size_t per_tile = static_cast<std::size_t>(envs.spec().action_size()) * kTileRows;
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_.push_back({network.make_workspace<float>(),
                        EnvRows(0, network, envs.spec()),
                        AlignedVector<float>(per_tile),
                        AlignedVector<float>(per_tile),
                        AlignedVector<float>(kTileRows),
                        AlignedVector<float>(per_tile),
                        {},
                        teacher ? teacher->make_scratch() : TeacherScratch()});
  }
  regroup(envs.num_envs());
}

void Collector::regroup(int num_envs) {
  plan_ = ShardPlan(num_envs, kTileRows);
  cut_ = RankCut(plan_, ranks_);
  noise_ = KeptNoise(network_, static_cast<std::size_t>(num_envs));
  groups_.clear();
  const int shards = cut_.last_shard() - cut_.first_shard();
  const int group_size = shards_per_group(plan_[0].size(), shards, pool_.threads());
  for (int s = cut_.first_shard(); s < cut_.last_shard(); s += group_size) {
    const int last = std::min(s + group_size, cut_.last_shard());
    groups_.push_back({s, last, {plan_[s].begin, plan_[last - 1].end}, {}});
  }
  if (simulator_.whole_batch || groups_.empty()) return;  // whole_ holds all rows
  const std::size_t rows = static_cast<std::size_t>(groups_[0].rows.size());
  for (Scratch& scratch : scratch_) scratch.envs = EnvRows(rows, network_, envs_.spec());
}

// A group has as many shards as fit into a tile, because more rows make a step little slower. It
// has fewer if larger groups would give the busiest thread more shards.
int Collector::shards_per_group(int shard_size, int shards, int threads) {
  const auto most_per_thread = [&](int group_size) {
    const int groups = (shards + group_size - 1) / group_size;
    return std::min((groups + threads - 1) / threads * group_size, shards);
  };
  const int widest = std::min(std::max(kTileRows / shard_size, 1), shards);
  int best = 1;
  for (int group_size = 2; group_size <= widest; ++group_size) {
    if (most_per_thread(group_size) <= most_per_thread(best)) best = group_size;
  }
  return best;
}

std::size_t Collector::bytes(int num_envs, int threads, const ActorCritic& network,
                             const VecEnv& envs) {
  const ShardPlan plan(num_envs, kTileRows);
  const int most_rows = shards_per_group(plan[0].size(), plan.count(), threads) * plan[0].size();
  const bool shared = envs.traits().whole_batch;
  const std::size_t rows = static_cast<std::size_t>(shared ? 0 : std::min(most_rows, num_envs));
  const std::size_t action = static_cast<std::size_t>(envs.spec().action_size());
  const std::size_t row = EnvRows::row_bytes(network, envs.spec());
  const std::size_t scratch = rows * row + sizeof(float) * kTileRows * (3 * action + 1);
  return static_cast<std::size_t>(threads) * (network.make_workspace<float>().bytes() + scratch) +
         (shared ? static_cast<std::size_t>(num_envs) * row : 0) +
         static_cast<std::size_t>(num_envs) * KeptNoise::row_bytes(network);
}

namespace {

// Observations for the critic only, if the network reads them.
ObservationType critic_type(const ActorCritic& network, const EnvSpec& spec) {
  if (network.shape().critic_observation_size == 0) return {};
  return observation_type(spec.critic_observation);
}

}  // namespace

Collector::EnvRows::EnvRows(std::size_t k, const ActorCritic& network, const EnvSpec& spec)
    : policy{Observations(observation_type(spec.observation), k),
             Observations(observation_type(spec.observation), k)},
      critic{Observations(critic_type(network, spec), k),
             Observations(critic_type(network, spec), k)},
      actions(k * spec.action_size()),
      masks(spec, k) {}

std::size_t Collector::EnvRows::row_bytes(const ActorCritic& network, const EnvSpec& spec) {
  return 2 * observation_type(spec.observation).row_bytes() +
         2 * critic_type(network, spec).row_bytes() +
         sizeof(float) * static_cast<std::size_t>(spec.action_size()) +
         static_cast<std::size_t>(spec.action.mask_size());
}

Status Collector::collect(const float* params, std::int64_t first_step, RolloutBlock& block) {
  if (simulator_.whole_batch) return collect_lockstep(params, first_step, block);
  pool_.run(static_cast<int>(groups_.size()), [&](int group, int thread) {
    collect_group(groups_[group], scratch_[thread], params, first_step, block);
  });
  return share_rows(first_step, block);
}

// Exchanges collected rows with the other ranks, if all ranks collected without a fault.
Status Collector::share_rows(std::int64_t first_step, RolloutBlock& block) {
  const Fault* fault = first_fault(first_step);
  BROADLOOM_TRY(ranks_.agree(fault == nullptr ? Status() : fault->status(),
                             fault == nullptr ? 0 : fault->order(first_step)));
  add_arrays(block, BlockStage::kCollect, cut_.env_bounds(), exchange_);
  for (ObsNormalizer* normalizer : {normalizers_.policy, normalizers_.critic}) {
    if (normalizer != nullptr) normalizer->add_sums(cut_.shard_bounds(), exchange_);
  }
  exchange_.finish();
  return ranks_.status();
}

Status Collector::Fault::status() const {
  if (place == FaultPlace::kStep) return step_failed(step, error);
  if (!error.ok()) return error;
  return not_finite(place, fmt::format("environment {}", env), step, group);
}

// The first fault of all groups. It does not depend on how shards are grouped.
const Collector::Fault* Collector::first_fault(std::int64_t first_step) const {
  const Fault* first = nullptr;
  for (const Group& group : groups_) {
    if (group.fault.env < 0) continue;
    if (first == nullptr || group.fault.order(first_step) < first->order(first_step)) {
      first = &group.fault;
    }
  }
  return first;
}

void Collector::collect_group(Group& group, Scratch& scratch, const float* params,
                              std::int64_t first_step, RolloutBlock& block) {
  const Shard shard = group.rows;
  const GroupRows rows = rows_of(group, scratch);
  begin_block(group, block);
  Status seen = with_simulator_errors([&] { observe(shard, rows); });
  if (!seen.ok()) {
    group.fault = {shard.begin, first_step, FaultPlace::kStep, std::move(seen)};
    return;
  }
  for (int t = 0; t < block.T; ++t) {
    const std::int64_t step = first_step + t;
    if (!choose(group, rows, scratch, params, step, t, block)) return;
    Status stepped = step_envs(shard, rows, t, block);
    if (!stepped.ok()) {
      group.fault = {shard.begin, step, FaultPlace::kStep, std::move(stepped)};
      return;
    }
    if (!check_step(group, rows, step, t, block)) return;
  }
  if (values_wait()) value_rows(shard, scratch, params, block);
}

// Only the caller's thread calls the environments, unless they play the whole block by themselves.
Status Collector::collect_lockstep(const float* params, std::int64_t first_step,
                                   RolloutBlock& block) {
  const Shard all{0, envs_.num_envs()};
  const GroupRows whole{whole_, 0};
  Status seen = with_simulator_errors([&] { observe(all, whole); });
  if (!seen.ok()) return Fault{0, first_step, FaultPlace::kStep, std::move(seen)}.status();
  if (BlockPlayer* const player = block_player(envs_)) {
    int last = 0;  // the step that was under way when it failed
    Status played = player->play(block.T, [&](int t, StepRows& rows) {
      last = t;
      if (t > 0) whole_.masks.read(envs_, all.begin, all.end, 0);
      if (!take_turn(params, first_step, t, block)) return false;
      if (t < block.T) rows = step_rows(all, whole, t, block);
      return true;
    });
    if (const Fault* fault = first_fault(first_step)) return fault->status();
    if (played.ok()) return played;
    last = std::min(last, block.T - 1);
    return Fault{0, first_step + last, FaultPlace::kStep, std::move(played)}.status();
  }
  for (int t = 0; t <= block.T; ++t) {
    if (!take_turn(params, first_step, t, block)) return first_fault(first_step)->status();
    if (t == block.T) break;
    Status stepped = step_envs(all, whole, t, block);
    if (!stepped.ok())
      return Fault{0, first_step + t, FaultPlace::kStep, std::move(stepped)}.status();
  }
  return {};
}

// One parallel section checks the results of step t - 1 and chooses the actions of step t, so there
// is one wait per step. False at a fault.
bool Collector::take_turn(const float* params, std::int64_t first_step, int t,
                          RolloutBlock& block) {
  const std::int64_t step = first_step + t;
  pool_.run(static_cast<int>(groups_.size()), [&](int g, int thread) {
    Group& group = groups_[g];
    const GroupRows rows = rows_of(group, scratch_[thread]);
    if (t == 0) begin_block(group, block);
    if (t > 0 && !check_step(group, rows, step - 1, t - 1, block)) return;
    if (t < block.T) {
      (void)choose(group, rows, scratch_[thread], params, step, t, block);
    } else if (values_wait()) {
      value_rows(group.rows, scratch_[thread], params, block);
    }
  });
  return first_fault(first_step) == nullptr;
}

void Collector::begin_block(Group& group, RolloutBlock& block) {
  group.fault = {};
  std::fill(block.truncations.begin() + group.rows.begin,
            block.truncations.begin() + group.rows.end, 0);
}

Collector::GroupRows Collector::rows_of(const Group& group, Scratch& scratch) {
  if (!simulator_.whole_batch) return {scratch.envs, 0};
  return {whole_, static_cast<std::size_t>(group.rows.begin)};
}

void Collector::observe(Shard shard, const GroupRows& rows) const {
  observe_simulator(envs_, shard.begin, shard.end, rows.envs.policy.now.rows(rows.first),
                    rows.envs.critic.now.rows(rows.first));
  rows.envs.masks.read(envs_, shard.begin, shard.end, rows.first);
}

// Chooses the actions of step t. False if an observation is not finite, or has no valid action.
bool Collector::choose(Group& group, const GroupRows& rows, Scratch& scratch, const float* params,
                       std::int64_t step, int t, RolloutBlock& block) {
  mark_fillers(group.rows, t, block);
  begin_sequence(group.rows, t, block);
  if (!take_observations(group, rows, step, t, block)) return false;
  if (!keep_masks(group, rows, step, t, block)) return false;
  act(group.rows, rows, scratch, params, step, t, block);
  return teacher_ == nullptr || keep_labels(group, rows, scratch, step, t, block);
}

void Collector::mark_fillers(Shard shard, int t, RolloutBlock& block) const {
  if (block.fillers.empty()) return;
  for (int n = shard.begin; n < shard.end; ++n) {
    block.fillers[block.index(t, n)] = envs_.next_is_filler(n) ? 1 : 0;
  }
}

// False if an observation is not finite.
bool Collector::take_observations(Group& group, const GroupRows& rows, std::int64_t step, int t,
                                  const RolloutBlock& block) {
  const std::size_t count = static_cast<std::size_t>(group.rows.size());
  const std::uint8_t* fillers =
      block.fillers.empty() ? nullptr : &block.fillers[block.index(t, group.rows.begin)];
  const auto take = [&](const Observations& raw, FaultPlace place, ObsNormalizer* normalizer) {
    const std::size_t width = static_cast<std::size_t>(raw.type().size);
    if (raw.type().dtype != Dtype::kF32 || width == 0) return true;  // every byte is a number
    const auto seen = std::span(raw.floats()).subspan(rows.first * width, count * width);
    if (!check(group, seen, raw.type().size, step, place)) return false;
    if (!raw.type().byte_runs.empty() && !check_bytes(group, seen, step)) return false;
    if (normalizer != nullptr)
      accumulate(group, seen.data(), raw.type().size, fillers, *normalizer);
    return true;
  };
  return take(rows.envs.policy.now, FaultPlace::kObservation, normalizers_.policy) &&
         take(rows.envs.critic.now, FaultPlace::kCriticObservation, normalizers_.critic);
}

// Stores the flags of valid actions, if there are any. A filler row's action is ignored.
bool Collector::keep_masks(Group& group, const GroupRows& rows, std::int64_t step, int t,
                           RolloutBlock& block) {
  if (block.M == 0) return true;
  for (int k = 0; k < group.rows.size(); ++k) {
    const std::size_t place = block.index(t, group.rows.begin + k);
    const std::size_t row = rows.first + static_cast<std::size_t>(k);
    std::copy_n(rows.envs.masks.row(row), block.M,
                &block.valid_actions[place * static_cast<std::size_t>(block.M)]);
    if (block.is_filler(place) || rows.envs.masks.can_act(row)) continue;
    group.fault = {group.rows.begin + k, step, FaultPlace::kNoValidAction, {}};
    return false;
  }
  return true;
}

StepRows Collector::step_rows(Shard shard, const GroupRows& rows, int t,
                              RolloutBlock& block) const {
  const std::size_t row = block.index(t, shard.begin);
  EnvRows& envs = rows.envs;
  return {rows.actions(block.A),
          envs.policy.now.rows(rows.first),
          &block.rewards[row],
          &block.terminated[row],
          &block.truncated[row],
          envs.policy.final.rows(rows.first),
          block.ends.empty() ? nullptr : &block.ends[row],
          envs.critic.now.rows(rows.first),
          envs.critic.final.rows(rows.first)};
}

Status Collector::step_envs(Shard shard, const GroupRows& rows, int t, RolloutBlock& block) {
  return with_simulator_errors([&]() -> Status {
    BROADLOOM_TRY(step_simulator(envs_, shard.begin, shard.end, step_rows(shard, rows, t, block)));
    rows.envs.masks.read(envs_, shard.begin, shard.end, rows.first);
    return {};
  });
}

// Checks rewards and keeps final observations of step t. False at a fault.
bool Collector::check_step(Group& group, const GroupRows& rows, std::int64_t step, int t,
                           RolloutBlock& block) {
  const float* rewards = &block.rewards[block.index(t, group.rows.begin)];
  const std::size_t count = static_cast<std::size_t>(group.rows.size());
  if (!check(group, {rewards, count}, 1, step, FaultPlace::kReward)) return false;
  forget_ended(group.rows, t, block);
  return keep_final_observations(group, rows, step, t, block);
}

// fillers: flags of rows to leave out; null: none.
void Collector::accumulate(const Group& group, const float* raw, int width,
                           const std::uint8_t* fillers, ObsNormalizer& normalizer) {
  for (int s = group.first_shard; s < group.last_shard; ++s) {
    const std::size_t rows = static_cast<std::size_t>(plan_[s].size());
    if (fillers == nullptr) {
      normalizer.accumulate(s, raw, plan_[s].size());
    } else {
      for (std::size_t k = 0; k < rows; ++k) {
        if (fillers[k] == 0) normalizer.accumulate(s, raw + k * width, 1);
      }
      fillers += rows;
    }
    raw += rows * width;
  }
}

// Stores observations, actions and log-probabilities. A separate or recurrent critic's values wait
// for value_rows().
void Collector::act(Shard shard, const GroupRows& rows, Scratch& scratch, const float* params,
                    std::int64_t step, int t, RolloutBlock& block) {
  const std::size_t first = block.index(t, shard.begin);
  const StepEnds previous_ends = block.ends_before(t, shard.begin);
  keep(normalizers_.policy, rows.envs.policy.now, rows.first, shard.size(), block.observations,
       first, previous_ends);
  if (block.has_critic()) {
    keep(normalizers_.critic, rows.envs.critic.now, rows.first, shard.size(),
         block.critic_observations, first, previous_ends);
  }
  const float* seen = block.observations.view(first, static_cast<std::size_t>(shard.size()),
                                              scratch.work.observations.data());
  const bool values_later = values_wait();
  NetworkInput<float> input(seen);
  input.valid = block.valid_row(first);
  input.policies = policies_of(shard, 1, scratch, block);
  read_states(block.next_states.data() + shard.begin * network_.state_size(), shard.size(),
              scratch.work);
  network_.forward(params, input, shard.size(), scratch.work,
                   values_later ? NetworkSide::kPolicy : NetworkSide::kBoth);
  keep_policy_states(shard, scratch.work, block);
  draw_actions(shard, scratch, step, t);
  keep_actions(shard, rows, scratch, t, block);
  std::copy_n(scratch.log_probs.data(), shard.size(), &block.log_probs[first]);
  if (!values_later) {
    keep_values(scratch.work, 0, static_cast<std::size_t>(shard.size()), first, block);
  }
}

// Environment n at step s draws from Random(seed, kAction, n, s), whichever shard it is in.
void Collector::draw_actions(Shard shard, Scratch& scratch, std::int64_t step, int t) {
  const RandomRows streams{seed_, Purpose::kAction, static_cast<std::uint32_t>(shard.begin),
                           static_cast<std::uint64_t>(step), shard.size()};
  const DrawnNoise noise = noise_.at(t, streams, static_cast<std::size_t>(shard.begin),
                                     network_.noise_rows(scratch.work, shard.size()));
  actor_.act({.log_std = scratch.work.log_std.data(),
              .outputs = scratch.work.policy.data(),
              .streams = streams,
              .actions = scratch.actions.data(),
              .log_probs = scratch.log_probs.data(),
              .draws = scratch.draws.data(),
              .terms = scratch.terms.data(),
              .noise = &noise});
}

// The block gets the actions as drawn. The environments get them within their bounds.
void Collector::keep_actions(Shard shard, const GroupRows& rows, Scratch& scratch, int t,
                             RolloutBlock& block) {
  const Space& space = envs_.spec().action;
  const std::size_t size = static_cast<std::size_t>(block.A);
  float* const played = rows.actions(block.A);
  const PolicyDistribution policy(network_.shape());
  float* kept = &block.actions[block.index(t, shard.begin) * size];
  for (std::size_t a = 0; a < size; ++a) {
    const float* drawn = &scratch.actions[a * kTileRows];
    for (std::size_t k = 0; k < static_cast<std::size_t>(shard.size()); ++k) {
      kept[k * size + a] = drawn[k];
      played[k * size + a] = policy.played(a, drawn[k], space);
    }
  }
  if (!block.with_means) return;
  const std::size_t outputs = static_cast<std::size_t>(block.mean_size());
  float* const means = &block.means[block.index(t, shard.begin) * outputs];
  for (std::size_t k = 0; k < static_cast<std::size_t>(shard.size()); ++k) {
    for (std::size_t o = 0; o < outputs; ++o) {
      means[k * outputs + o] = scratch.work.policy[o * kTileRows + k];
    }
  }
}

// Keeps the teacher's outputs. False if one is not finite.
bool Collector::keep_labels(Group& group, const GroupRows& rows, Scratch& scratch,
                            std::int64_t step, int t, RolloutBlock& block) const {
  const std::size_t count = static_cast<std::size_t>(group.rows.size());
  const Raw& seen = teacher_->reads_critic() ? rows.envs.critic : rows.envs.policy;
  const std::size_t first = block.index(t, group.rows.begin);
  float* const labels = &block.labels[first * static_cast<std::size_t>(block.mean_size())];
  teacher_->label(seen.now, rows.first, group.rows.size(), block.valid_row(first), scratch.teacher,
                  labels);
  const int row = first_not_finite({labels, count * static_cast<std::size_t>(block.mean_size())},
                                   block.mean_size());
  if (row < 0) return true;
  const int env = group.rows.begin + row;
  group.fault = {env,
                 step,
                 FaultPlace::kPolicyOutput,
                 {ErrorKind::kNumeric,
                  fmt::format("an output of the teacher is not finite, for environment {} at its "
                              "step {}; name another teacher",
                              env, step)}};
  return false;
}

bool Collector::check(Group& group, std::span<const float> rows, int width, std::int64_t step,
                      FaultPlace place) {
  const int row = first_not_finite(rows, width);
  if (row < 0) return true;
  group.fault = {group.rows.begin + row, step, place, {}};
  if (place == FaultPlace::kObservation) {
    group.fault.group = group_of_fault(envs_.spec().observation,
                                       rows.subspan(static_cast<std::size_t>(row) * width, width));
  }
  return false;
}

// Whether groups of bytes hold bytes.
bool Collector::check_bytes(Group& group, std::span<const float> rows, std::int64_t step) const {
  const EnvSpec& spec = envs_.spec();
  const std::size_t width = static_cast<std::size_t>(spec.observation.size);
  for (std::size_t first = 0; first < rows.size(); first += width) {
    for (const ObservationGroup& part : spec.observation.groups) {
      if (part.dtype == Dtype::kF32) continue;
      const auto numbers = rows.subspan(first + static_cast<std::size_t>(part.first),
                                        static_cast<std::size_t>(part.size));
      const auto wrong = std::find_if(numbers.begin(), numbers.end(), [](float x) {
        return !(x >= 0.0f && x <= 255.0f) || x != static_cast<float>(static_cast<int>(x));
      });
      if (wrong == numbers.end()) continue;
      const int env = group.rows.begin + static_cast<int>(first / width);
      group.fault = {env,
                     step,
                     FaultPlace::kObservation,
                     {ErrorKind::kNumeric,
                      fmt::format("observation '{}' of environment {} is {:g} at its step {}; "
                                  "expected whole numbers from 0 to 255, as its group has bytes. "
                                  "Correct observe(), or declare the group as float32.",
                                  part.name, env, *wrong, step)}};
      return false;
    }
  }
  return true;
}

// A simulator without final observations still uses slots, which get no value. False at more
// truncations than slots, or if a final observation is not finite.
bool Collector::keep_final_observations(Group& group, const GroupRows& rows, std::int64_t step,
                                        int t, RolloutBlock& block) {
  const Shard shard = group.rows;
  const auto take = [&](const ObsNormalizer* normalizer, const Observations& raw, std::size_t k,
                        Observations& out, std::size_t place) {
    const std::size_t row = rows.first + k, width = static_cast<std::size_t>(raw.type().size);
    if (raw.type().dtype == Dtype::kF32 &&
        !all_finite(std::span(raw.floats()).subspan(row * width, width).data(), width)) {
      group.fault = {shard.begin + static_cast<int>(k), step, FaultPlace::kFinalObservation, {}};
      if (&out == &block.final_observations) {
        group.fault.group = group_of_fault(envs_.spec().observation,
                                           std::span(raw.floats()).subspan(row * width, width));
      }
      return false;
    }
    keep(normalizer, raw, row, 1, out, place);
    return true;
  };
  for (int k = 0; k < shard.size(); ++k) {
    const int n = shard.begin + k;
    if (block.truncated[block.index(t, n)] == 0) continue;
    if (block.truncations[n] >= block.S) {
      group.fault = {n, step, FaultPlace::kTruncation,
                     too_many_truncations(envs_.spec(), n, step, block.S)};
      return false;
    }
    const std::size_t place = block.final_index(n, block.truncations[n]++);
    if (!simulator_.has_final_observations) continue;
    const auto row = static_cast<std::size_t>(k);
    if (!take(normalizers_.policy, rows.envs.policy.final, row, block.final_observations, place)) {
      return false;
    }
    if (block.has_critic() && !take(normalizers_.critic, rows.envs.critic.final, row,
                                    block.final_critic_observations, place)) {
      return false;
    }
  }
  return true;
}

}  // namespace broadloom
