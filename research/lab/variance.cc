#include "research/lab/variance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

constexpr int kCheckedBlocks = 8;

int bin_of(int lag) {
  int bin = 0;
  for (int high = 1; high < lag; high *= 2) ++bin;
  return bin;
}

double fraction(double x, double y) {
  return y > 0.0 ? x / y : std::numeric_limits<double>::quiet_NaN();
}

// scale / e. The interval has no upper end if e's interval reaches zero.
Estimate inverse(const Estimate& e, double scale) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  return {fraction(scale, e.value), fraction(scale, e.high),
          e.low > 0.0 ? scale / e.low : kUnbounded, e.count};
}

}  // namespace

std::vector<LagBin> lag_bins(int num_steps) {
  std::vector<LagBin> bins;
  for (int low = 1, high = 1; low < num_steps; low = high + 1, high *= 2) {
    bins.push_back({low, std::min(high, num_steps - 1)});
  }
  return bins;
}

// The quantities of a set of blocks.
struct VarianceStudy::Parts {
  double total, individual, within, across, sample_variance, squared_norm;
  std::vector<double> within_by_lag;
};

void VarianceStudy::Sums::add(const Sums& other, double sign) {
  blocks += sign * other.blocks;
  squared_norm += sign * other.squared_norm;
  individual += sign * other.individual;
  for (std::size_t k = 0; k < within_by_lag.size(); ++k) {
    within_by_lag[k] += sign * other.within_by_lag[k];
  }
  for (std::size_t p = 0; p < gradient.size(); ++p) gradient[p] += sign * other.gradient[p];
}

VarianceStudy::VarianceStudy(BlockShape shape, std::vector<double> lambdas,
                             std::size_t parameter_count, int blocks, int groups)
    : shape_(shape),
      lambdas_(std::move(lambdas)),
      bins_(lag_bins(shape.num_steps)),
      blocks_(blocks),
      groups_(groups),
      gram_agrees_(lambdas_.size(), true) {
  Sums zero;
  zero.within_by_lag.resize(bins_.size());
  zero.gradient.resize(parameter_count);
  sums_.assign(lambdas_.size(), std::vector<Sums>(static_cast<std::size_t>(groups), zero));
}

bool VarianceStudy::to_check(int block) const {
  return block % std::max(1, blocks_ / kCheckedBlocks) == 0;
}

std::vector<BlockMoments> VarianceStudy::measure(const BlockRows& rows, bool check,
                                                 Scratch& scratch) const {
  const double size = rows.rows();
  std::vector<BlockMoments> moments(lambdas_.size());
  for (std::size_t f = 0; f < rows.factors.size(); ++f) {
    scratch.squares.resize(static_cast<std::size_t>(rows.rows()));
    squared_norms(rows.factors[f], scratch.squares.data());
    for (std::size_t l = 0; l < lambdas_.size(); ++l) {
      if (rows.factors_of(static_cast<int>(l)) != f) continue;
      const std::vector<float>& w = rows.weights[l];
      BlockMoments& m = moments[l];
      m.within_by_lag.assign(bins_.size(), 0.0);
      m.checked = check;
      m.gradient.assign(rows.parameter_count, 0.0f);
      add_weighted_sum(rows.factors[f], w.data(), m.gradient.data());
      for (float& g : m.gradient) g = static_cast<float>(g / size);
      m.squared_norm = sum_squares(m.gradient.data(), m.gradient.size());
      for (int r = 0; r < rows.rows(); ++r) {
        m.individual += static_cast<double>(w[r]) * w[r] * scratch.squares[r];
      }
      m.individual /= size * size;
    }
    add_within(rows, f, scratch, moments);
  }
  return moments;
}

// Works tile by tile. For the columns of each tile, it reads only rows of the same environments. If
// the block is to be checked, it reads all rows above.
void VarianceStudy::add_within(const BlockRows& rows, std::size_t factors, Scratch& scratch,
                               std::vector<BlockMoments>& moments) const {
  const int n = rows.rows(), steps = rows.shape.num_steps;
  const bool check = moments.front().checked;
  const double scale = 1.0 / (static_cast<double>(n) * n);
  scratch.tile.resize(static_cast<std::size_t>(kTileRows) * kTileRows);
  if (steps == 1 && !check) return;
  for (int left = 0; left < n; left += kTileRows) {
    const int columns = std::min(kTileRows, n - left);
    scratch.gram.set_columns(rows.factors[factors], left, columns);
    const int first = check ? 0 : left / steps * steps / kTileRows * kTileRows;
    for (int top = first; top <= left; top += kTileRows) {
      const int height = std::min(kTileRows, n - top);
      scratch.gram.tile(top, height, scratch.tile.data());
      for (std::size_t l = 0; l < lambdas_.size(); ++l) {
        if (rows.factors_of(static_cast<int>(l)) != factors) continue;
        const float* w = rows.weights[l].data();
        BlockMoments& m = moments[l];
        for (int i = top; i < top + height; ++i) {
          const float* line = &scratch.tile[static_cast<std::size_t>(i - top) * columns] - left;
          const int end = std::min((i / steps + 1) * steps, left + columns);  // i's environment
          for (int j = std::max(i + 1, left); j < end;) {
            // Lags of one bin are adjacent.
            const int bin = bin_of(j - i);
            const int stop = std::min(end, i + bins_[bin].high + 1);
            double sum = 0.0;
            for (; j < stop; ++j) sum += static_cast<double>(w[j] * line[j]);
            m.within_by_lag[bin] += 2.0 * scale * w[i] * sum;
          }
          if (!check) continue;
          double sum = 0.0, across = 0.0;
          for (int j = std::max(i, left); j < left + columns; ++j) {
            const double entry = (j == i ? 1.0 : 2.0) * w[j] * line[j];
            sum += entry;
            if (j / steps != i / steps) across += entry;
          }
          m.gram_sum += scale * w[i] * sum;
          m.gram_across += scale * w[i] * across;
        }
      }
    }
  }
}

void VarianceStudy::fold(const std::vector<BlockMoments>& moments) {
  const int group = static_cast<int>(static_cast<std::int64_t>(folded_) * groups_ / blocks_);
  ++folded_;
  for (std::size_t l = 0; l < moments.size(); ++l) {
    const BlockMoments& m = moments[l];
    Sums& sums = sums_[l][static_cast<std::size_t>(group)];
    sums.blocks += 1.0;
    sums.squared_norm += m.squared_norm;
    sums.individual += m.individual;
    for (std::size_t k = 0; k < bins_.size(); ++k) sums.within_by_lag[k] += m.within_by_lag[k];
    for (std::size_t p = 0; p < m.gradient.size(); ++p) sums.gradient[p] += m.gradient[p];
    if (!m.checked) continue;
    double left = m.squared_norm - m.individual;
    for (const double sum : m.within_by_lag) left -= sum;
    // Entries are correct to about 1e-6 of their size, with errors of either sign.
    const double rounding = 0.01 * m.individual + 0.001 * m.squared_norm;
    if (!(std::abs(m.gram_sum - m.squared_norm) <= rounding) ||
        !(std::abs(m.gram_across - left) <= rounding)) {
      gram_agrees_[l] = false;
    }
  }
}

VarianceStudy::Parts VarianceStudy::parts(const Sums& all) const {
  double of_sum = 0.0;
  for (const double x : all.gradient) of_sum += x * x;
  const double R = all.blocks, B = shape_.batch();
  Parts p;
  p.squared_norm = (of_sum - all.squared_norm) / (R * (R - 1.0));
  p.total = all.squared_norm / R - p.squared_norm;
  p.individual = all.individual / R - p.squared_norm / B;
  double pairs_within = 0.0, sum_within = 0.0;
  p.within = 0.0;
  for (std::size_t k = 0; k < bins_.size(); ++k) {
    double pairs = 0.0;  // ordered pairs of these lags, over B^2
    for (int lag = bins_[k].low; lag <= bins_[k].high; ++lag) {
      pairs += 2.0 * shape_.num_envs * (shape_.num_steps - lag) / (B * B);
    }
    p.within_by_lag.push_back(all.within_by_lag[k] / R - pairs * p.squared_norm);
    p.within += p.within_by_lag.back();
    pairs_within += pairs;
    sum_within += all.within_by_lag[k] / R;
  }
  const double pairs_across = 1.0 - 1.0 / B - pairs_within;
  p.across = (all.squared_norm - all.individual) / R - sum_within - pairs_across * p.squared_norm;
  if (shape_.num_envs == 1) p.across = 0.0;
  p.sample_variance = B * p.individual;
  return p;
}

// Noise of the estimate of |mu|^2, from the groups' means. Their covariance is that of blocks over
// the number of blocks in a group.
double VarianceStudy::norm_noise(const std::vector<Sums>& groups) const {
  const std::size_t G = groups.size();
  std::vector<double> products(G * G);
  for (std::size_t g = 0; g < G; ++g) {
    for (std::size_t h = 0; h <= g; ++h) {
      double product = 0.0;
      for (std::size_t p = 0; p < groups[g].gradient.size(); ++p) {
        product += groups[g].gradient[p] * groups[h].gradient[p];
      }
      product /= groups[g].blocks * groups[h].blocks;
      products[g * G + h] = products[h * G + g] = product;
    }
  }
  return G < 2 ? 0.0 : noise_error(products, static_cast<int>(G));
}

VarianceResult VarianceStudy::result(int lambda) const {
  const std::vector<Sums>& groups = sums_[static_cast<std::size_t>(lambda)];
  Sums all = groups[0];
  for (std::size_t g = 1; g < groups.size(); ++g) all.add(groups[g], 1.0);
  std::vector<Parts> cached{parts(all)};  // of all blocks, then without each group
  for (const Sums& group : groups) {
    Sums others = all;
    others.add(group, -1.0);
    cached.push_back(parts(others));
  }
  const auto estimate = [&](auto&& quantity) {
    return jackknife(groups_, folded_, [&](int left_out) {
      return quantity(cached[static_cast<std::size_t>(left_out) + 1]);
    });
  };
  const double B = shape_.batch();
  VarianceResult r;
  r.shape = shape_;
  r.lambda = lambdas_[static_cast<std::size_t>(lambda)];
  r.blocks = folded_;
  r.bins = bins_;
  r.total = estimate([](const Parts& p) { return p.total; });
  r.individual = estimate([](const Parts& p) { return p.individual; });
  r.within = estimate([](const Parts& p) { return p.within; });
  r.across = estimate([](const Parts& p) { return p.across; });
  r.parts_sum = estimate([](const Parts& p) { return p.individual + p.within + p.across; });
  for (std::size_t k = 0; k < bins_.size(); ++k) {
    r.within_by_lag.push_back(estimate([k](const Parts& p) { return p.within_by_lag[k]; }));
  }
  r.sample_variance = estimate([](const Parts& p) { return p.sample_variance; });
  const double noise = norm_noise(groups);
  r.squared_norm =
      at_least(estimate([](const Parts& p) { return p.squared_norm; }), noise, groups_);
  r.variance_inflation =
      estimate([B](const Parts& p) { return fraction(B * p.total, p.sample_variance); });
  r.effective_sample_size =
      estimate([](const Parts& p) { return fraction(p.sample_variance, p.total); });
  r.signal_to_noise =
      at_least(estimate([](const Parts& p) { return fraction(p.squared_norm, p.total); }),
               fraction(noise, r.total.value), groups_);
  r.noise_scale = inverse(
      at_least(estimate([](const Parts& p) { return fraction(p.squared_norm, p.sample_variance); }),
               fraction(noise, r.sample_variance.value), groups_),
      1.0);
  r.critical_batch = inverse(r.signal_to_noise, B);
  r.parts_agree = gram_agrees_[static_cast<std::size_t>(lambda)];
  return r;
}

std::vector<VarianceResult> VarianceStudy::results() const {
  std::vector<VarianceResult> results;
  for (std::size_t l = 0; l < lambdas_.size(); ++l) results.push_back(result(static_cast<int>(l)));
  return results;
}

}  // namespace broadloom
