#include "broadloom/learn/ppo_tile.h"

#include <algorithm>

#include "broadloom/nn/policy_distribution.h"

namespace broadloom {

template <class Real>
TileBatch<Real>::TileBatch(int observation_size, int action_size, int outputs,
                           int critic_observation_size, int values, bool masked)
    : observations(static_cast<std::size_t>(kTileRows) * observation_size),
      valid(masked ? static_cast<std::size_t>(kTileRows) * outputs : 0),
      critic_observations(static_cast<std::size_t>(kTileRows) * critic_observation_size),
      actions(static_cast<std::size_t>(kTileRows) * action_size),
      normalisers(actions.size()),
      head_entropies(actions.size()),
      terms(static_cast<std::size_t>(kTileRows) * outputs) {
  for (AlignedVector<Real>* column :
       {&old_log_probs, &advantages, &log_probs, &entropies, &log_ratios, &ratios, &d_log_probs,
        &policy_losses, &proximal_log_probs, &proximal_ratios}) {
    column->resize(kTileRows);
  }
  for (AlignedVector<Real>* columns : {&old_values, &value_targets, &value_losses}) {
    columns->resize(static_cast<std::size_t>(kTileRows) * values);
  }
}

template <class Real>
TileBatch<Real>::TileBatch(const NetworkShape& shape)
    : TileBatch(shape.observation_size, shape.action_size(), shape.action_outputs,
                shape.critic_observation_size, shape.value_outputs, shape.masked) {
  terms.resize(static_cast<std::size_t>(kTileRows) * PolicyDistribution::term_rows(shape));
  if (shape.policies > 1) {
    policies.resize(kTileRows);
    entropy_delta.resize(static_cast<std::size_t>(kTileRows) * shape.action_outputs);
  }
  if (!shape.has_box()) return;
  old_means.resize(static_cast<std::size_t>(kTileRows) * shape.action_outputs);
  if (!shape.has_pairs()) mirrored_means.resize(old_means.size());
  if (shape.has_log_std()) old_log_std.resize(static_cast<std::size_t>(shape.box_size()));
}

template <class Real>
void TileBatch<Real>::reflect(const Mirror& mirror, const Real* means) {
  const auto reflect_rows = [&](const SignedPermutation& map, auto& numbers) {
    for (int r = 0; r < rows; ++r) {
      map.reflect(numbers.data() + static_cast<std::size_t>(r) * map.size());
    }
  };
  reflect_rows(mirror.observation, observations);
  if (!critic_observations.empty()) reflect_rows(mirror.critic_observation, critic_observations);
  if (!valid.empty()) reflect_rows(mirror.action, valid);
  if (old_means.empty()) {  // choices
    for (int r = 0; r < rows; ++r) {
      const auto choice = static_cast<std::size_t>(actions[static_cast<std::size_t>(r)]);
      actions[static_cast<std::size_t>(r)] = static_cast<Real>(mirror.action.index[choice]);
    }
    return;
  }
  if (means != nullptr) std::copy_n(means, mirrored_means.size(), mirrored_means.begin());
  for (int r = 0; r < rows; ++r) {
    mirror.action.reflect(actions.data() + r, kTileRows);
    if (means != nullptr) mirror.action.reflect(mirrored_means.data() + r, kTileRows);
  }
}

template struct TileBatch<float>;
template struct TileBatch<double>;

}  // namespace broadloom
