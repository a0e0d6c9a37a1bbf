#include "research/lab/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace broadloom {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t p = 0; p < x.size(); ++p) sum += x[p] * y[p];
  return sum;
}

double product(const std::vector<float>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t p = 0; p < x.size(); ++p) sum += static_cast<double>(x[p]) * y[p];
  return sum;
}

double mean_of_weights(const std::vector<float>& weights) {
  double sum = 0.0;
  for (const float w : weights) sum += w;
  return sum / static_cast<double>(weights.size());
}

// |E r|^2 of independent r_h from their products [H, H], leaving out group `left_out` (-1: none).
double squared_norm(const std::vector<double>& products, int count, int left_out) {
  if (count == 1) return products[0];
  double sum = 0.0;
  for (int h = 0; h < count; ++h) {
    for (int k = 0; k < h; ++k) {
      if (h != left_out && k != left_out) sum += 2.0 * products[h * count + k];
    }
  }
  const double used = left_out >= 0 ? count - 1 : count;
  return sum / (used * (used - 1.0));
}

}  // namespace

AgreementStudy::AgreementStudy(BlockShape shape, std::vector<AgreementCase> cases,
                               const ReferenceGradient& reference, int blocks, int groups)
    : shape_(shape),
      cases_(std::move(cases)),
      reference_(reference),
      blocks_(blocks),
      groups_(groups) {
  const std::size_t H = reference.groups.size();
  reference_products_.resize(H * H);
  for (std::size_t h = 0; h < H; ++h) {
    for (std::size_t k = 0; k < H; ++k) {
      reference_products_[h * H + k] = product(reference.groups[h], reference.groups[k]);
    }
  }
  const Sums zero{0.0, 0.0, std::vector<double>(H)};
  sums_.assign(cases_.size(), std::vector<Sums>(static_cast<std::size_t>(groups_), zero));
}

// Normalised advantages are (A - mean) times a scale, which a unit vector does not depend on. So
// two sums, of A g and of g, give both cases.
AgreementStudy::Products AgreementStudy::measure(const BlockRows& rows, Scratch& scratch) const {
  const std::size_t P = rows.parameter_count;
  scratch.weights.assign(static_cast<std::size_t>(rows.rows()), 1.0f);
  scratch.sums.assign(P, 0.0f);
  add_weighted_sum(rows.factors[0], scratch.weights.data(), scratch.sums.data());
  Products out(cases_.size());
  std::size_t pairs = 0;  // of lambda and critic, so far
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    pairs += cases_[c].norm_adv ? 0 : 1;
    const std::vector<float>& weights = rows.weights[pairs - 1];
    if (!cases_[c].norm_adv) {
      scratch.gradient.assign(P, 0.0f);
      add_weighted_sum(rows.factors[0], weights.data(), scratch.gradient.data());
    } else {
      const float mean = static_cast<float>(mean_of_weights(weights));
      for (std::size_t p = 0; p < P; ++p) scratch.gradient[p] -= mean * scratch.sums[p];
    }
    double squares = 0.0;
    for (const float g : scratch.gradient) squares += static_cast<double>(g) * g;
    const double scale = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;  // zero has no direction
    for (const std::vector<double>& group : reference_.groups) {
      out[c].push_back(scale * product(scratch.gradient, group));
    }
  }
  return out;
}

void AgreementStudy::fold(const Products& products) {
  const int group = static_cast<int>(std::int64_t{folded_} * groups_ / blocks_);
  for (std::size_t c = 0; c < products.size(); ++c) {
    Sums& sums = sums_[c][static_cast<std::size_t>(group)];
    double along = 0.0;
    for (std::size_t h = 0; h < products[c].size(); ++h) {
      sums.products[h] += products[c][h];
      along += products[c][h];
    }
    sums.blocks += 1.0;
    sums.away += along < 0.0 ? 1.0 : 0.0;
  }
  ++folded_;
}

// Blocks and reference are independent sources of noise; each has its own jackknife.
Estimate AgreementStudy::agreement(const std::vector<Sums>& groups) const {
  const int H = static_cast<int>(reference_.groups.size());
  const auto value = [&](int block_group, int reference_group) {
    const double squared = squared_norm(reference_products_, H, reference_group);
    double sum = 0.0, blocks = 0.0;
    for (int g = 0; g < groups_; ++g) {
      if (g == block_group) continue;
      blocks += groups[g].blocks;
      for (int h = 0; h < H; ++h) {
        if (h != reference_group) sum += groups[g].products[h];
      }
    }
    const double used = reference_group >= 0 ? H - 1 : H;
    return squared > 0.0 ? sum / (blocks * used * std::sqrt(squared)) : kNone;
  };
  Estimate out = jackknife(groups_, blocks_, [&](int g) { return value(g, -1); });
  if (H == 1) return out;
  const Estimate noise = jackknife(H, H, [&](int h) { return value(-1, h); });
  const double width = out.high - out.low, noise_width = noise.high - noise.low;
  const double half = 0.5 * std::sqrt(width * width + noise_width * noise_width);
  out.low = out.value - half;
  out.high = out.value + half;
  return out;
}

AgreementResult AgreementStudy::result(std::size_t index) const {
  const AgreementCase& c = cases_[index];
  const std::vector<Sums>& groups = sums_[index];
  AgreementResult r{shape_, c.lambda, c.critic, c.norm_adv, blocks_, {}, {}};
  r.agreement = agreement(groups);
  double away = 0.0;
  for (const Sums& sums : groups) away += sums.away;
  r.away = success_rate(static_cast<std::int64_t>(away), blocks_);
  // A gradient that is not significantly different from zero has no direction.
  const int H = static_cast<int>(reference_.groups.size());
  if (H > 1) {
    Estimate squared =
        jackknife(H, H, [&](int h) { return squared_norm(reference_products_, H, h); });
    squared = at_least(squared, noise_error(reference_products_, H), H);
    if (!(squared.low > 0.0)) r.agreement = r.away = without_interval(kNone, 0);
  }
  for (double* x : {&r.agreement.value, &r.agreement.low, &r.agreement.high}) {
    if (std::isfinite(*x)) *x = std::clamp(*x, -1.0, 1.0);  // noise may exceed 1
  }
  return r;
}

std::vector<AgreementResult> AgreementStudy::results() const {
  std::vector<AgreementResult> out;
  for (std::size_t c = 0; c < cases_.size(); ++c) out.push_back(result(c));
  return out;
}

}  // namespace broadloom
