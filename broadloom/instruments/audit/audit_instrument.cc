#include "broadloom/instruments/audit/audit_instrument.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "broadloom/core/hash.h"
#include "broadloom/core/portable_math.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/instruments/audit/learning_signal.h"
#include "broadloom/instruments/audit/statistics.h"
#include "broadloom/instruments/probe_states.h"

namespace broadloom {
namespace {

// The statistics have seen no block yet, so they are the ones that every normaliser begins with.
bool is_fresh(const ObsNormalizer& normalizer) { return normalizer.statistics().count() < 1.0; }

}  // namespace

AuditInstrument::AuditInstrument(const InstrumentSetup& setup)
    : discrete_observations_(setup.observation_kind == SpaceKind::kDiscrete),
      categorical_(!setup.network.shape().has_box()),
      clips_actions_(!categorical_ &&
                     setup.network.shape().action_distribution == ActionDistribution::kGaussian),
      action_(setup.action),
      gamma_(setup.gamma),
      gae_lambda_(setup.gae_lambda),
      gae_weights_(setup.gae_weights),
      truncation_mode_(setup.truncation_mode),
      clip_obs_(setup.clip_obs > 0.0 ? setup.clip_obs : std::numeric_limits<double>::infinity()),
      clip_reward_(setup.clip_reward),
      rows_(probe_rows(setup)),
      probe_(setup.probe),
      critic_probe_(setup.critic_probe),
      ages_(static_cast<std::size_t>(setup.num_envs)),
      columns_(ages_.size()),
      families_(setup.families > 0 ? setup.families : setup.num_envs),
      draws_(setup.draws_vary ? static_cast<std::size_t>(families_) : 0),
      drawn_(setup.draws_vary ? std::max(ages_.size(), static_cast<std::size_t>(setup.most_envs))
                              : 0),
      drawn_now_(drawn_.size()),
      given_(static_cast<std::size_t>(setup.context_size) * ages_.size()),
      shown_(static_cast<std::size_t>(setup.context_size)),
      moments_(2 * static_cast<std::size_t>(setup.observation_size)),
      policy_(setup),
      network_rows_(setup.network, setup.threads),
      units_(setup.network, rows_) {
  if (!categorical_ || setup.network.shape().action_values) return;  // their outputs are no policy
  for (const int choices : setup.network.shape().heads()) {
    most_entropy_ += portable::log(static_cast<double>(choices));
  }
}

std::size_t AuditInstrument::bytes(const InstrumentSetup& setup) {
  const std::size_t envs = static_cast<std::size_t>(setup.num_envs);
  const std::size_t drawn = std::max(envs, static_cast<std::size_t>(setup.most_envs));
  const std::size_t draws =
      setup.draws_vary ? 2 * drawn * sizeof(std::uint64_t) + setup.families * sizeof(Fingerprint)
                       : 0;
  const std::size_t context = static_cast<std::size_t>(setup.context_size) * (envs + 1);
  return sizeof(AuditInstrument) + context * sizeof(double) +
         envs * (sizeof(std::int64_t) + sizeof(Fingerprint)) + draws +
         2 * static_cast<std::size_t>(setup.observation_size) * sizeof(double) +
         PolicyInstrument::bytes(setup) + NetworkRows::bytes(setup.network, setup.threads) +
         UnitProbe::bytes(setup.network, probe_rows(setup));
}

// 0 stands for draws not seen yet: a hash is 0 only with probability 2^-64.
void AuditInstrument::every_block(const InstrumentView& view) {
  if (drawn_.empty() || view.envs == nullptr) return;
  std::copy(drawn_now_.begin(), drawn_now_.end(), drawn_.begin());
  const auto* const given = capability<AuditContext>(*view.envs);
  for (int n = 0; n < view.block.N; ++n) {
    drawn_now_[n] =
        hash64(given == nullptr ? std::span<const std::byte>() : given->drawn_constants(n));
  }
}

void AuditInstrument::before_update(const InstrumentView& view) {
  numbers_ = {};
  look_at_environments(view);
  look_at_normalisers(view);
  if (clips_actions_) numbers_.actions_outside = actions_outside(view.block, action_);
  look_at_learning_signal(view.block);
}

void AuditInstrument::look_at_environments(const InstrumentView& view) {
  const RolloutBlock& block = view.block;
  if (view.envs != nullptr) {
    for (int n = 0; n < block.N; ++n) ages_[n] = view.envs->episode_step(n);
    numbers_.phase_concentration = phase_concentration(ages_, view.env_step);
    look_at_context(*view.envs, block.N);
  }
  if (!draws_.empty()) {
    const Draws draws = compare_draws(block, drawn_, drawn_now_, draws_);
    numbers_.distinct_draws = draws.distinct;
    numbers_.kept_draws = draws.kept;
  }
  if (block.N < 2) return;
  column_fingerprints(block, families_, columns_);
  const Copies copies = count_copies(columns_);
  (discrete_observations_ ? numbers_.repeated_columns : numbers_.duplicate_columns) = copies.across;
  if (families_ < block.N && !discrete_observations_) numbers_.family_columns = copies.same_family;
  numbers_.effective_envs = effective_share(block, gamma_, truncation_mode_);
}

void AuditInstrument::look_at_context(const VecEnv& envs, int num_envs) {
  const auto count = static_cast<std::size_t>(num_envs);
  const auto* const given = capability<AuditContext>(envs);
  for (int n = 0; n < num_envs && !shown_.empty() && given != nullptr; ++n) {
    given->context(n, shown_);
    for (std::size_t i = 0; i < shown_.size(); ++i)
      given_[i * count + static_cast<std::size_t>(n)] = shown_[i];
  }
  const SharedContext shared = shared_context(envs.spec(), given_);
  numbers_.shared_context = shared.share;
  if (!std::isnan(shared.share)) numbers_.shared_context_place = shared.place;
}

void AuditInstrument::look_at_normalisers(const InstrumentView& view) {
  const RolloutBlock& block = view.block;
  if (clip_reward_ > 0.0) {
    numbers_.reward_clipped = rewards_clipped(block, clip_reward_);
    numbers_.target_deviation = target_deviation(block);
  }
  if (view.obs_normalizer == nullptr) return;
  obs_count_ = view.obs_normalizer->statistics().count();
  if (discrete_observations_ || is_fresh(*view.obs_normalizer)) return;
  const ObservationScale scale = observation_scale(block, clip_obs_, moments_);
  numbers_.obs_mean = scale.mean;
  numbers_.obs_variance = scale.variance;
  numbers_.obs_clipped = scale.clipped;
}

void AuditInstrument::look_at_learning_signal(const RolloutBlock& block) {
  const AdvantageScale scale = advantage_scale(block);
  numbers_.advantage_deviation = scale.deviation;
  numbers_.advantage_dominance = scale.dominance;
  numbers_.target_error = target_error(block, gamma_, gae_lambda_, truncation_mode_, gae_weights_);
  const EpisodeEnds ends = count_ends(block);
  numbers_.ends = static_cast<double>(ends.ends);
  numbers_.truncations = static_cast<double>(ends.truncations);
}

void AuditInstrument::after_update(const InstrumentView& view) {
  if (view.obs_normalizer != nullptr) {
    numbers_.obs_gain = (view.obs_normalizer->statistics().count() - obs_count_) /
                        static_cast<double>(view.block.size());
  }
  numbers_.first_ratio_error = update_.ratio_error();
  numbers_.last_kl = update_.last_kl();
  numbers_.last_clipfrac = update_.last_clipfrac();
  numbers_.least_ess = update_.least_ess();
  if (most_entropy_ > 0.0) {
    numbers_.relative_entropy = update_.entropy() / most_entropy_;
  }
  policy_.after_update(view);
  numbers_.kl = policy_.numbers().kl;
  numbers_.kl_k1 = policy_.numbers().kl_k1;
  numbers_.kl_k3 = policy_.numbers().kl_k3;
  look_at_units(view);
}

// Reports the worst layer. A unit that is constant over all states carries no information, whether
// it is a dead ReLU or a saturated tanh. A shared encoder counts as the policy's.
void AuditInstrument::look_at_units(const InstrumentView& view) {
  NetworkRows::over_tiles(
      static_cast<std::size_t>(rows_), view.pool,
      [&](int tile, std::size_t first, int count, int thread) {
        units_.take(
            tile, count,
            network_rows_.forward(thread, view.params.data(), view.obs_normalizer,
                                  probe_from(probe_, critic_probe_, first, view.network.shape()),
                                  count, NetworkSide::kBoth, view.critic_normalizer));
      });
  units_.finish();
  numbers_.idle_units = numbers_.idle_critic_units = AuditNumbers::kNone;
  for (const UnitProbe::Body& body : units_.bodies()) {
    const bool critic = std::string_view(body.name).starts_with("critic");
    double& worst = critic ? numbers_.idle_critic_units : numbers_.idle_units;
    if (std::isnan(worst)) worst = 0.0;  // a side's layers may be on both sides of a cell
    for (std::size_t l = 0; l < body.layers.size(); ++l) {
      const IdleUnits idle = units_.idle(body, l);
      worst = std::max(worst, idle.percent(idle.constant));
    }
  }
}

void AuditInstrument::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  if (drawn_.empty()) return;
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(drawn_.size())};
  out.push_back({prefix + ".audit.draws", Dtype::kU64, shape, drawn_now_.data(), {kAnyRange}});
}

}  // namespace broadloom
