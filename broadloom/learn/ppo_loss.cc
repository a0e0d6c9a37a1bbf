#include "broadloom/learn/ppo_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "broadloom/core/portable_math.h"
#include "broadloom/math/targets.h"
#include "broadloom/nn/policy_distribution.h"

#ifndef HWY_TARGET_INCLUDE  // defined already in a unit of several kernel files
#define HWY_TARGET_INCLUDE "broadloom/learn/ppo_loss.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/functions-inl.h"
#include "broadloom/math/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Comparisons are written so that NaN reaches the losses, where it is detected.

// The policy loss of every sample, and d (share * loss) / d log pi. If both branches of the max are
// equal, the ratio is inside the interval, so the unclipped derivative holds.
template <class T>
void policy_loss_as(const PpoCoefficients& c, T share, TileBatch<T>& batch) {
  const hn::ScalableTag<T> d;
  const auto low = hn::Set(d, static_cast<T>(1.0 - c.clip_coef));
  const auto high = hn::Set(d, static_cast<T>(1.0 + c.clip_coef));
  for (int r = 0; r < batch.rows; r += static_cast<int>(hn::Lanes(d))) {
    const auto advantage = hn::LoadU(d, &batch.advantages[r]);
    const auto log_ratio =
        hn::Sub(hn::LoadU(d, &batch.log_probs[r]), hn::LoadU(d, &batch.old_log_probs[r]));
    const auto ratio = exp_of(d, log_ratio);
    const auto unclipped = hn::Neg(hn::Mul(advantage, ratio));
    const auto clipped = hn::Neg(hn::Mul(advantage, hn::Min(hn::Max(ratio, low), high)));
    const auto is_clipped = hn::Lt(unclipped, clipped);
    hn::StoreU(log_ratio, d, &batch.log_ratios[r]);
    hn::StoreU(ratio, d, &batch.ratios[r]);
    hn::StoreU(hn::IfThenElse(is_clipped, clipped, unclipped), d, &batch.policy_losses[r]);
    hn::StoreU(hn::IfThenZeroElse(is_clipped, hn::Mul(hn::Set(d, share), unclipped)), d,
               &batch.d_log_probs[r]);
  }
}

// The same against a proximal policy. If it is not clipped, both branches are equal but for
// rounding, so the unclipped one counts.
template <class T>
void proximal_loss_as(const PpoCoefficients& c, T share, TileBatch<T>& batch) {
  const hn::ScalableTag<T> d;
  const auto low = hn::Set(d, static_cast<T>(1.0 - c.clip_coef));
  const auto high = hn::Set(d, static_cast<T>(1.0 + c.clip_coef));
  for (int r = 0; r < batch.rows; r += static_cast<int>(hn::Lanes(d))) {
    const auto advantage = hn::LoadU(d, &batch.advantages[r]);
    const auto proximal = hn::LoadU(d, &batch.proximal_log_probs[r]);
    const auto ratio = exp_of(d, hn::Sub(hn::LoadU(d, &batch.log_probs[r]), proximal));
    const auto weight = exp_of(d, hn::Sub(proximal, hn::LoadU(d, &batch.old_log_probs[r])));
    const auto kept = hn::Min(hn::Max(ratio, low), high);
    const auto unclipped = hn::Neg(hn::Mul(advantage, hn::LoadU(d, &batch.ratios[r])));
    const auto clipped = hn::Neg(hn::Mul(advantage, hn::Mul(weight, kept)));
    const auto is_clipped = hn::And(hn::Ne(ratio, kept), hn::Lt(unclipped, clipped));
    hn::StoreU(ratio, d, &batch.proximal_ratios[r]);
    hn::StoreU(hn::IfThenElse(is_clipped, clipped, unclipped), d, &batch.policy_losses[r]);
    hn::StoreU(hn::IfThenZeroElse(is_clipped, hn::Mul(hn::Set(d, share), unclipped)), d,
               &batch.d_log_probs[r]);
  }
}

// The value loss of every sample, and d (weight * loss) / d V.
template <class T>
void value_loss_as(T weight, const ValueRows<T>& batch) {
  const hn::ScalableTag<T> d;
  const auto half = hn::Set(d, T(0.5));
  const auto clip = hn::Set(d, batch.clip);
  const auto alone = hn::Gt(hn::Set(d, batch.clip_alone ? T(1) : T(0)), hn::Zero(d));
  for (int r = 0; r < batch.rows; r += static_cast<int>(hn::Lanes(d))) {
    const auto old_value = hn::LoadU(d, batch.old_values + r);
    const auto target = hn::LoadU(d, batch.targets + r);
    const auto value = hn::LoadU(d, batch.values + r);
    const auto error = hn::Sub(value, target);
    const auto change = hn::Sub(value, old_value);
    const auto kept_change = hn::Min(hn::Max(change, hn::Neg(clip)), clip);
    const auto clipped_error = hn::Sub(hn::Add(old_value, kept_change), target);
    const auto counts_clipped =
        hn::Or(alone, hn::Lt(hn::Mul(error, error), hn::Mul(clipped_error, clipped_error)));
    const auto is_clipped = hn::And(counts_clipped, hn::Gt(hn::Abs(change), clip));
    const auto counted = hn::IfThenElse(is_clipped, clipped_error, error);
    hn::StoreU(hn::Mul(half, hn::Mul(counted, counted)), d, batch.losses + r);
    hn::StoreU(hn::IfThenZeroElse(is_clipped, hn::Mul(hn::Set(d, weight), error)), d,
               batch.d_values + r);
  }
}

template <class D, class T>
HWY_INLINE hn::Vec<D> load_as_double(D d, const T* source) {
  if constexpr (std::is_same_v<T, double>) {
    return hn::LoadU(d, source);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), source));
  }
}

// Sums are in double precision, because the square of a large ratio may overflow a float. Calls
// f(valid, r, part) for every vector of doubles. `valid` masks the columns that are samples; `part`
// is the part of the virtual lanes to which they belong.
template <class F>
HWY_INLINE void visit_samples(int rows, F&& f) {
  const Lanes<double> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kCount = static_cast<int>(kParts<double>);
  for (int first = 0; first < rows; first += kLanes * kCount) {
#pragma GCC unroll 8
    for (int part = 0; part < kCount; ++part) {
      const int r = first + part * kLanes;
      f(hn::FirstN(d, static_cast<std::size_t>(std::clamp(rows - r, 0, kLanes))), r, part);
    }
  }
}

// Sums of the policy's losses, and of log-ratios of rows that it collected.
template <class T>
void add_policy_losses_as(const TileBatch<T>& batch, PpoSums& sums) {
  const Lanes<double> d;
  const auto one = hn::Set(d, 1.0);
  LaneSums<double> loss, entropy, log_ratios, kl;
  visit_samples(batch.rows, [&](auto valid, int r, int part) HWY_ATTR {
    const auto add = [&](LaneSums<double>& sum, auto value) HWY_ATTR {
      sum.part[part] = hn::Add(sum.part[part], hn::IfThenElseZero(valid, value));
    };
    add(loss, load_as_double(d, &batch.policy_losses[r]));
    add(entropy, load_as_double(d, &batch.entropies[r]));
  });
  visit_samples(batch.own_rows(), [&](auto valid, int r, int part) HWY_ATTR {
    const auto add = [&](LaneSums<double>& sum, auto value) HWY_ATTR {
      sum.part[part] = hn::Add(sum.part[part], hn::IfThenElseZero(valid, value));
    };
    const auto log_ratio = load_as_double(d, &batch.log_ratios[r]);
    add(log_ratios, log_ratio);
    add(kl, hn::Sub(hn::Sub(load_as_double(d, &batch.ratios[r]), one), log_ratio));
  });
  sums.policy_loss += loss.total();
  sums.entropy += entropy.total();
  sums.old_approx_kl -= log_ratios.total();
  sums.approx_kl += kl.total();
}

// Sums of the policy ratios. Counts, smallest and largest do not depend on the order.
template <class T>
void add_ratios_as(const PpoCoefficients& c, const TileBatch<T>& batch, PpoSums& sums) {
  const Lanes<double> d;
  const auto one = hn::Set(d, 1.0);
  const auto clip = hn::Set(d, c.clip_coef);
  const T* const against_clip =
      batch.has_proximal ? batch.proximal_ratios.data() : batch.ratios.data();
  LaneSums<double> ratios, squares;
  auto clipped = hn::Zero(d), worst = hn::Zero(d);
  auto low = hn::Set(d, sums.min_ratio), high = hn::Set(d, sums.max_ratio);
  auto undefined = hn::MaskFromVec(hn::Zero(d));
  visit_samples(batch.own_rows(), [&](auto valid, int r, int part) HWY_ATTR {
    const auto ratio =  // never negative
        hn::IfThenElseZero(valid, load_as_double(d, &batch.ratios[r]));
    const auto error = hn::Abs(hn::IfThenElseZero(valid, hn::Sub(ratio, one)));
    ratios.part[part] = hn::Add(ratios.part[part], ratio);
    squares.part[part] = mul_add(ratio, ratio, squares.part[part]);
    const auto moved = hn::Abs(hn::Sub(load_as_double(d, against_clip + r), one));
    clipped = hn::Add(clipped, hn::IfThenElseZero(hn::And(valid, hn::Gt(moved, clip)), one));
    low = hn::IfThenElse(valid, hn::Min(low, ratio), low);
    high = hn::Max(high, ratio);
    worst = hn::IfThenElse(hn::Gt(error, worst), error, worst);
    undefined = hn::Or(undefined, hn::IsNaN(error));
  });
  sums.clipped += hn::GetLane(hn::SumOfLanes(d, clipped));
  sums.ratios += ratios.total();
  sums.squared_ratios += squares.total();
  sums.min_ratio = hn::GetLane(hn::MinOfLanes(d, low));
  sums.max_ratio = hn::GetLane(hn::MaxOfLanes(d, high));
  const bool all_defined = hn::AllFalse(d, undefined);
  sums.keep_ratio_error(all_defined ? hn::GetLane(hn::MaxOfLanes(d, worst))
                                    : std::numeric_limits<double>::quiet_NaN());
}

template <class T>
void add_policy_sums_as(const PpoCoefficients& c, const TileBatch<T>& batch, PpoSums& sums) {
  add_policy_losses_as(batch, sums);
  add_ratios_as(c, batch, sums);
}

template <class T>
double sum_of_losses_as(const T* losses, int rows) {
  const Lanes<double> d;
  LaneSums<double> loss;
  visit_samples(rows, [&](auto valid, int r, int part) HWY_ATTR {
    const auto value = hn::IfThenElseZero(valid, load_as_double(d, losses + r));
    loss.part[part] = hn::Add(loss.part[part], value);
  });
  return loss.total();
}

void PolicyLossF32(const PpoCoefficients& c, float share, TileBatch<float>& batch) {
  policy_loss_as(c, share, batch);
}
void ProximalLossF32(const PpoCoefficients& c, float share, TileBatch<float>& batch) {
  proximal_loss_as(c, share, batch);
}
void ProximalLossF64(const PpoCoefficients& c, double share, TileBatch<double>& batch) {
  proximal_loss_as(c, share, batch);
}
void PolicyLossF64(const PpoCoefficients& c, double share, TileBatch<double>& batch) {
  policy_loss_as(c, share, batch);
}
void ValueLossF32(float weight, const ValueRows<float>& batch) { value_loss_as(weight, batch); }
void ValueLossF64(double weight, const ValueRows<double>& batch) { value_loss_as(weight, batch); }
void AddPolicySumsF32(const PpoCoefficients& c, const TileBatch<float>& batch, PpoSums& sums) {
  add_policy_sums_as(c, batch, sums);
}
void AddPolicySumsF64(const PpoCoefficients& c, const TileBatch<double>& batch, PpoSums& sums) {
  add_policy_sums_as(c, batch, sums);
}
double SumOfLossesF32(const float* losses, int rows) { return sum_of_losses_as(losses, rows); }
double SumOfLossesF64(const double* losses, int rows) { return sum_of_losses_as(losses, rows); }

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(PolicyLossF32);
HWY_EXPORT(PolicyLossF64);
HWY_EXPORT(ProximalLossF32);
HWY_EXPORT(ProximalLossF64);
HWY_EXPORT(ValueLossF32);
HWY_EXPORT(ValueLossF64);
HWY_EXPORT(AddPolicySumsF32);
HWY_EXPORT(AddPolicySumsF64);
HWY_EXPORT(SumOfLossesF32);
HWY_EXPORT(SumOfLossesF64);

namespace {

void policy_loss(const PpoCoefficients& c, float share, TileBatch<float>& batch) {
  HWY_DYNAMIC_DISPATCH(PolicyLossF32)(c, share, batch);
  if (batch.has_proximal) HWY_DYNAMIC_DISPATCH(ProximalLossF32)(c, share, batch);
}
void policy_loss(const PpoCoefficients& c, double share, TileBatch<double>& batch) {
  HWY_DYNAMIC_DISPATCH(PolicyLossF64)(c, share, batch);
  if (batch.has_proximal) HWY_DYNAMIC_DISPATCH(ProximalLossF64)(c, share, batch);
}
void value_loss(float weight, const ValueRows<float>& batch) {
  HWY_DYNAMIC_DISPATCH(ValueLossF32)(weight, batch);
}
void value_loss(double weight, const ValueRows<double>& batch) {
  HWY_DYNAMIC_DISPATCH(ValueLossF64)(weight, batch);
}

void add_policy_sums(const PpoCoefficients& c, const TileBatch<float>& batch, PpoSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddPolicySumsF32)(c, batch, sums);
}
void add_policy_sums(const PpoCoefficients& c, const TileBatch<double>& batch, PpoSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddPolicySumsF64)(c, batch, sums);
}
double sum_of_losses(const float* losses, int rows) {
  return HWY_DYNAMIC_DISPATCH(SumOfLossesF32)(losses, rows);
}
double sum_of_losses(const double* losses, int rows) {
  return HWY_DYNAMIC_DISPATCH(SumOfLossesF64)(losses, rows);
}

// The sum over rows of KL(old || new) of diagonal Gaussians.
template <class Real>
double gaussian_kl(const TileBatch<Real>& batch, const Real* old_means, const Real* means,
                   const Real* log_std) {
  double total = 0.0;
  for (std::size_t a = 0; a < batch.old_log_std.size(); ++a) {
    const GaussianKl kl(batch.old_log_std[a], log_std[a]);
    for (int r = 0; r < batch.own_rows(); ++r) {
      const std::size_t i = a * kTileRows + static_cast<std::size_t>(r);
      total += kl.row(old_means[i], means[i]);
    }
  }
  return total;
}

// The logarithm of the sum of exponentials of `count` logits, one per row of the tile.
template <class Real>
double log_sum(const Real* logits, int count) {
  double largest = logits[0], sum = 0.0;
  for (int i = 1; i < count; ++i) largest = std::max<double>(largest, logits[i * kTileRows]);
  for (int i = 0; i < count; ++i) sum += portable::exp(logits[i * kTileRows] - largest);
  return largest + portable::log(sum);
}

// The sum over rows and heads of sum_i p_i (log p_i - log q_i), of a policy's choices.
template <class Real>
double choices_kl(const NetworkShape& shape, const TileBatch<Real>& batch, const Real* logits) {
  double total = 0.0;
  for (int r = 0; r < batch.own_rows(); ++r) {
    const Real *before = &batch.old_means[r], *after = logits + r;
    for (const int choices : shape.heads()) {
      const double shift = log_sum(before, choices), new_shift = log_sum(after, choices);
      for (int i = 0; i < choices; ++i) {
        const double log_p = before[i * kTileRows] - shift;
        total += portable::exp(log_p) * (log_p - (after[i * kTileRows] - new_shift));
      }
      before += choices * kTileRows;
      after += choices * kTileRows;
    }
  }
  return total;
}

// The sum over rows of KL(old || new).
template <class Real>
double analytic_kl(const NetworkShape& shape, const TileBatch<Real>& batch,
                   const TileWorkspace<Real>& work) {
  const std::size_t first = static_cast<std::size_t>(shape.logits()) * kTileRows;
  double total = shape.has_choices() ? choices_kl(shape, batch, work.policy.data()) : 0.0;
  if (!shape.has_pairs()) {
    return total +
           gaussian_kl(batch, &batch.old_means[first], &work.policy[first], work.log_std.data());
  }
  double kl[kTileRows];
  const int rows = batch.own_rows();
  PolicyDistribution(shape).pairs_kl(batch.old_means.data(), work.policy.data(), rows, kl);
  for (int r = 0; r < rows; ++r) total += kl[r];
  return total;
}

// Adds the derivative of weight * max(0, |mean| - kMeanBound)^2 to d_means [outputs, kTileRows].
template <class Real>
void add_bounds_gradient(Real weight, const Real* means, int outputs, int rows, Real* d_means) {
  for (int a = 0; a < outputs; ++a) {
    for (int r = 0; r < rows; ++r) {
      const std::size_t i = static_cast<std::size_t>(a) * kTileRows + r;
      d_means[i] += bounds_slope(weight, means[i]);
    }
  }
}

// Adds the derivative of weight * (mean - image)^2 to d_means [outputs, kTileRows].
template <class Real>
void add_mirror_gradient(Real weight, const Real* means, const TileBatch<Real>& batch,
                         Real* d_means) {
  for (std::size_t first = 0; first < batch.mirrored_means.size(); first += kTileRows) {
    for (std::size_t i = first; i < first + static_cast<std::size_t>(batch.rows); ++i) {
      d_means[i] += Real(2) * weight * (means[i] - batch.mirrored_means[i]);
    }
  }
}

// Samples' shares of the means that a loss is made of.
template <class Real>
struct Shares {
  Real losses, entropy, mirror;
};

template <class Real>
PolicyRows<Real> policy_rows(TileBatch<Real>& batch, TileWorkspace<Real>& work) {
  return {.outputs = work.policy.data(),
          .log_std = work.log_std.data(),
          .actions = batch.actions.data(),
          .rows = batch.rows,
          .terms = batch.terms.data(),
          .normalisers = batch.normalisers.data(),
          .head_entropies = batch.head_entropies.data()};
}

// Adds the derivative of the entropy bonus for coefficients that differ between policies.
template <class Real>
void add_entropy_gradient(const PolicyDistribution& policy, const PpoCoefficients& c, int policies,
                          Real share, const PolicyRows<Real>& rows, TileBatch<Real>& batch,
                          Real* d_outputs) {
  const std::array<Real, kTileRows> no_weights{};
  policy.backward(rows, no_weights.data(), Real(1), batch.entropy_delta.data(),
                  static_cast<Real*>(nullptr));
  for (std::size_t first = 0; first < batch.entropy_delta.size(); first += kTileRows) {
    for (int r = 0; r < batch.rows; ++r) {
      const auto row = static_cast<std::size_t>(r);
      const double weight = -c.entropy_coef(batch.policies[row], policies);
      d_outputs[first + row] +=
          static_cast<Real>(weight) * share * batch.entropy_delta[first + row];
    }
  }
}

// Computes the derivatives of the policy's outputs and of the deviations' parameters.
template <class Real>
void policy_side(const ActorCritic& network, const PpoCoefficients& c, const Shares<Real>& shares,
                 const Real* params, TileBatch<Real>& batch, TileWorkspace<Real>& work, Real* grads,
                 PpoSums& sums) {
  const NetworkShape& shape = network.shape();
  const PolicyDistribution policy(shape);
  const PolicyRows<Real> rows = policy_rows(batch, work);
  policy.log_probs(rows, batch.log_probs.data());
  policy.entropies(rows, batch.entropies.data());
  policy_loss(c, shares.losses, batch);
  std::fill(work.log_std_delta.begin(), work.log_std_delta.end(), Real(0));
  const bool differ = shape.policies > 1 && c.follower_entropy > 0.0;
  const Real common = differ ? Real(0) : static_cast<Real>(-c.ent_coef) * shares.entropy;
  policy.backward(rows, batch.d_log_probs.data(), common, work.policy_delta.data(),
                  work.log_std_delta.data());
  if (differ) {
    add_entropy_gradient(policy, c, shape.policies, shares.entropy, rows, batch,
                         work.policy_delta.data());
  }
  if (shape.has_log_std()) network.add_log_std_gradient(params, work.log_std_delta.data(), grads);
  if (c.bounds_coef > 0.0) {
    const std::size_t means = static_cast<std::size_t>(shape.logits()) * kTileRows;
    add_bounds_gradient(static_cast<Real>(c.bounds_coef) * shares.losses, rows.outputs + means,
                        shape.box_size(), batch.rows, work.policy_delta.data() + means);
  }
  if (shares.mirror > Real(0)) {
    add_mirror_gradient(shares.mirror / static_cast<Real>(shape.action_size()), rows.outputs, batch,
                        work.policy_delta.data());
  }
  if (c.analytic_kl) sums.analytic_kl += analytic_kl(shape, batch, work);
  sums.relabelled += batch.relabelled;
  add_policy_sums(c, batch, sums);
}

// Computes the derivatives of the values.
template <class Real>
void value_side(const PpoCoefficients& c, int values, Real share, TileBatch<Real>& batch,
                TileWorkspace<Real>& work, PpoSums& sums) {
  for (int v = 0; v < values; ++v) {
    const std::size_t first = static_cast<std::size_t>(v) * kTileRows;
    value_loss(
        static_cast<Real>(c.vf_coef) * share,
        ValueRows<Real>{batch.rows, static_cast<Real>(c.value_clip(v)), c.clips_value_alone,
                        &work.values[first], &batch.old_values[first], &batch.value_targets[first],
                        &batch.value_losses[first], &work.values_delta[first]});
    (v == 0 ? sums.value_loss : sums.int_value_loss) +=
        sum_of_losses(&batch.value_losses[first], batch.rows);
  }
}

}  // namespace

template <class Real>
void ppo_tile_gradient(const ActorCritic& network, const PpoCoefficients& c, int samples,
                       const Real* params, const Real* transposed, TileBatch<Real>& batch,
                       TileWorkspace<Real>& work, Real* grads, PpoSums& sums, NetworkSide side,
                       const TileWeights& weights) {
  const auto share_of = [&](double weight) {
    return static_cast<Real>(weight) / static_cast<Real>(samples);
  };
  const Shares<Real> shares{share_of(weights.losses), share_of(weights.entropy),
                            share_of(weights.mirror)};
  network.forward(params, batch.input(), batch.rows, work, side);
  if (side != NetworkSide::kValue) {
    policy_side(network, c, shares, params, batch, work, grads, sums);
  }
  if (side != NetworkSide::kPolicy) {
    value_side(c, network.shape().value_outputs, shares.losses, batch, work, sums);
  }
  network.backward(params, transposed, batch.input(), batch.rows, work, grads, side);
}

template <class Real>
void ppo_mirrored_gradient(const ActorCritic& network, const PpoCoefficients& c,
                           const Mirror& mirror, int samples, const Real* params,
                           const Real* transposed, TileBatch<Real>& batch,
                           TileWorkspace<Real>& work, Real* grads, PpoSums& sums,
                           NetworkSide side) {
  const double of_image = c.mirror_samples ? 0.5 : 0.0;
  ppo_tile_gradient(network, c, samples, params, transposed, batch, work, grads, sums, side,
                    {.losses = 1.0 - of_image});
  if (!c.mirror_samples && side == NetworkSide::kValue) return;  // the critic has no mirror loss
  const TileWeights weights{.losses = of_image, .entropy = 0.0, .mirror = c.mirror_coef};
  const bool keeps_means = c.mirror_coef > 0.0 && side != NetworkSide::kValue;
  batch.reflect(mirror, keeps_means ? work.policy.data() : nullptr);
  PpoSums of_images;
  ppo_tile_gradient(network, c, samples, params, transposed, batch, work, grads, of_images, side,
                    weights);
}

void set_log_probs(const ActorCritic& network, TileBatch<float>& batch,
                   TileWorkspace<float>& work) {
  PolicyDistribution(network.shape()).log_probs(policy_rows(batch, work), batch.log_probs.data());
}

void set_proximal(const ActorCritic& network, const float* params, TileBatch<float>& batch,
                  TileWorkspace<float>& work) {
  network.forward(params, batch.input(), batch.rows, work, NetworkSide::kPolicy);
  PolicyDistribution(network.shape())
      .log_probs(policy_rows(batch, work), batch.proximal_log_probs.data());
  batch.has_proximal = true;
}

template void ppo_tile_gradient(const ActorCritic&, const PpoCoefficients&, int, const float*,
                                const float*, TileBatch<float>&, TileWorkspace<float>&, float*,
                                PpoSums&, NetworkSide, const TileWeights&);
template void ppo_tile_gradient(const ActorCritic&, const PpoCoefficients&, int, const double*,
                                const double*, TileBatch<double>&, TileWorkspace<double>&, double*,
                                PpoSums&, NetworkSide, const TileWeights&);
template void ppo_mirrored_gradient(const ActorCritic&, const PpoCoefficients&, const Mirror&, int,
                                    const float*, const float*, TileBatch<float>&,
                                    TileWorkspace<float>&, float*, PpoSums&, NetworkSide);
template void ppo_mirrored_gradient(const ActorCritic&, const PpoCoefficients&, const Mirror&, int,
                                    const double*, const double*, TileBatch<double>&,
                                    TileWorkspace<double>&, double*, PpoSums&, NetworkSide);

}  // namespace broadloom
#endif  // HWY_ONCE
