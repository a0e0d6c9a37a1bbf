#include "broadloom/algo/ppo_loss.h"

#include <algorithm>
#include <cmath>

#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

// d policy loss / d log pi of one sample, and its share of the sums. Where both branches of the max
// are equal the ratio is inside the interval, so the unclipped derivative holds.
template <class Real>
Real policy_loss_row(const PpoCoefficients& c, Real log_prob, Real old_log_prob, Real advantage,
                     LossSums& sums) {
  const Real low = static_cast<Real>(1.0 - c.clip_coef);
  const Real high = static_cast<Real>(1.0 + c.clip_coef);
  const Real log_ratio = log_prob - old_log_prob;
  const Real ratio = std::exp(log_ratio);
  const Real unclipped = -advantage * ratio;
  const Real clipped = -advantage * std::clamp(ratio, low, high);
  const double error = std::abs(static_cast<double>(ratio) - 1.0);
  sums.policy_loss += std::max(unclipped, clipped);
  sums.old_approx_kl += -static_cast<double>(log_ratio);
  sums.approx_kl += (static_cast<double>(ratio) - 1.0) - static_cast<double>(log_ratio);
  sums.clipped += error > c.clip_coef ? 1.0 : 0.0;
  // Written so that a ratio that is not a number counts as an error too.
  if (!(error <= sums.max_ratio_error)) sums.max_ratio_error = error;
  return unclipped >= clipped ? unclipped : Real(0);
}

// d value loss / d V of one sample.
template <class Real>
Real value_loss_row(const PpoCoefficients& c, Real value, Real old_value, Real target,
                    LossSums& sums) {
  const Real clip = static_cast<Real>(c.clip_coef);
  const Real error = value - target;
  if (!c.clip_vloss) {
    sums.value_loss += 0.5 * static_cast<double>(error * error);
    return error;
  }
  const Real change = value - old_value;
  const Real clipped_error = old_value + std::clamp(change, -clip, clip) - target;
  const bool keep = error * error >= clipped_error * clipped_error || std::abs(change) <= clip;
  sums.value_loss +=
      0.5 * static_cast<double>(keep ? error * error : clipped_error * clipped_error);
  return keep ? error : Real(0);
}

}  // namespace

template <class Real>
TileBatch<Real>::TileBatch(int observation_size, int action_size, int outputs)
    : observations(static_cast<std::size_t>(kTileRows) * observation_size),
      actions(static_cast<std::size_t>(kTileRows) * action_size),
      old_log_probs(kTileRows),
      old_values(kTileRows),
      advantages(kTileRows),
      value_targets(kTileRows),
      terms(static_cast<std::size_t>(outputs)) {}

void LossSums::add(const LossSums& other) {
  policy_loss += other.policy_loss;
  value_loss += other.value_loss;
  entropy += other.entropy;
  old_approx_kl += other.old_approx_kl;
  approx_kl += other.approx_kl;
  clipped += other.clipped;
  if (!(other.max_ratio_error <= max_ratio_error)) max_ratio_error = other.max_ratio_error;
}

template <class Real>
void ppo_tile_gradient(const ActorCritic& network, const PpoCoefficients& c, int samples,
                       const Real* params, const Real* transposed, TileBatch<Real>& batch,
                       TileWorkspace<Real>& work, Real* grads, LossSums& sums) {
  const NetworkShape& shape = network.shape();
  const bool discrete = shape.action_kind == SpaceKind::kDiscrete;
  const int outputs = shape.action_outputs;
  const int action_size = discrete ? 1 : outputs;
  const Real share = Real(1) / static_cast<Real>(samples);
  const Real entropy_weight = static_cast<Real>(-c.ent_coef) * share;
  const Real value_weight = static_cast<Real>(c.vf_coef) * share;
  network.forward(params, batch.observations.data(), batch.rows, work);
  const Real* policy = network.policy_output(work);
  const Real* values = network.value_output(work);
  Real* d_policy = network.policy_delta(work);
  Real* d_values = network.value_delta(work);
  for (int r = 0; r < batch.rows; ++r) {
    const Real* output = policy + static_cast<std::size_t>(r) * outputs;
    Real* d_output = d_policy + static_cast<std::size_t>(r) * outputs;
    const Real* action = &batch.actions[static_cast<std::size_t>(r) * action_size];
    Real* terms = batch.terms.data();
    const Real* log_std = params + network.log_std_offset();
    const PolicyTerms<Real> now =
        discrete ? categorical_terms(output, outputs, static_cast<int>(action[0]), terms)
                 : gaussian_terms(output, log_std, outputs, action, terms);
    const Real d_log_prob =
        share * policy_loss_row(c, now.log_prob, batch.old_log_probs[r], batch.advantages[r], sums);
    sums.entropy += now.entropy;
    if (discrete) {
      categorical_backward(terms, outputs, static_cast<int>(action[0]), now.entropy, d_log_prob,
                           entropy_weight, d_output);
    } else {
      gaussian_backward(terms, log_std, outputs, d_log_prob, entropy_weight, d_output,
                        grads + network.log_std_offset());
    }
    d_values[r] = value_weight *
                  value_loss_row(c, values[r], batch.old_values[r], batch.value_targets[r], sums);
  }
  network.backward(transposed, batch.observations.data(), batch.rows, work, grads);
}

template struct TileBatch<float>;
template struct TileBatch<double>;
template void ppo_tile_gradient(const ActorCritic&, const PpoCoefficients&, int, const float*,
                                const float*, TileBatch<float>&, TileWorkspace<float>&, float*,
                                LossSums&);
template void ppo_tile_gradient(const ActorCritic&, const PpoCoefficients&, int, const double*,
                                const double*, TileBatch<double>&, TileWorkspace<double>&, double*,
                                LossSums&);

}  // namespace broadloom
