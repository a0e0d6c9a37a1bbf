#include "research/lab/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "broadloom/core/random.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

// A centred gradient below this share of the block's typical length has no direction.
constexpr double kNoDirection = 1e-6;

// Blocks whose means are compared with each other; the pairs grow with the square.
constexpr int kMostMeans = 400;

std::size_t cosine_bin(double cosine) {
  const int bin = static_cast<int>((cosine + 1.0) * 0.5 * kCosineBins);
  return static_cast<std::size_t>(std::clamp(bin, 0, kCosineBins - 1));
}

void count_cosine(double cosine, CorrelationStudy::Tally& tally,
                  std::vector<std::int64_t>& histogram) {
  tally.count += 1.0;
  tally.sum += cosine;
  tally.abs += std::abs(cosine);
  tally.square += cosine * cosine;
  histogram[cosine_bin(cosine)] += 1;
}

// Terms for the centring of one block's gradients under one lambda.
struct Centring {
  const float* weights;
  std::vector<float> along_mean;  // [B] <g_i, m>
  std::vector<double> squares;    // [B] |g_i|^2
  double mean_square = 0.0;       // |m|^2
  double shortest = 0.0;          // least |g_i - m|^2 of a sample with a direction

  double centred_square(int i) const { return squares[i] - 2.0 * along_mean[i] + mean_square; }
};

Centring centre(const GradientFactors<float>& factors, const std::vector<float>& weights,
                const std::vector<float>& score_squares, std::vector<float>& mean) {
  const int n = factors.rows;
  Centring c;
  c.weights = weights.data();
  add_weighted_sum(factors, weights.data(), mean.data());
  for (float& g : mean) g /= static_cast<float>(n);
  c.mean_square = sum_squares(mean.data(), mean.size());
  c.along_mean.resize(static_cast<std::size_t>(n));
  project(factors, mean.data(), c.along_mean.data());
  c.squares.resize(static_cast<std::size_t>(n));
  double typical = 0.0;
  for (int i = 0; i < n; ++i) {
    c.along_mean[i] *= weights[i];
    c.squares[i] = static_cast<double>(weights[i]) * weights[i] * score_squares[i];
    typical += c.squares[i] / n;
  }
  c.shortest = kNoDirection * typical;
  return c;
}

void count_pair(const Centring& c, int i, int j, double score_product,
                CorrelationStudy::Tally& tally, std::vector<std::int64_t>& histogram) {
  const double product = static_cast<double>(c.weights[i]) * c.weights[j] * score_product;
  tally.pairs += 1.0;
  tally.product += product;
  if (c.squares[i] > c.shortest && c.squares[j] > c.shortest) {
    tally.directed += 1.0;
    tally.uncentred += std::clamp(product / std::sqrt(c.squares[i] * c.squares[j]), -1.0, 1.0);
  }
  const double ci = c.centred_square(i), cj = c.centred_square(j);
  if (!(ci > c.shortest) || !(cj > c.shortest)) return;
  const double centred = product - c.along_mean[i] - c.along_mean[j] + c.mean_square;
  count_cosine(std::clamp(centred / std::sqrt(ci * cj), -1.0, 1.0), tally, histogram);
}

double quotient(double x, double y) {
  return y > 0.0 ? x / y : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void CorrelationStudy::Tally::add(const Tally& other, double sign) {
  count += sign * other.count;
  sum += sign * other.sum;
  abs += sign * other.abs;
  square += sign * other.square;
  pairs += sign * other.pairs;
  product += sign * other.product;
  directed += sign * other.directed;
  uncentred += sign * other.uncentred;
}

void CorrelationStudy::Sums::add(const Sums& other, double sign) {
  blocks += sign * other.blocks;
  sample_square += sign * other.sample_square;
  gradient_square += sign * other.gradient_square;
  for (std::size_t k = 0; k < kinds.size(); ++k) kinds[k].add(other.kinds[k], sign);
  with_mean.add(other.with_mean, sign);
  for (std::size_t p = 0; p < gradient.size(); ++p) gradient[p] += sign * other.gradient[p];
}

CorrelationStudy::CorrelationStudy(BlockShape shape, std::vector<double> lambdas,
                                   const std::vector<int>& lags, std::size_t parameter_count,
                                   int blocks, int groups, std::uint64_t seed, int matrix_size)
    : shape_(shape),
      lambdas_(std::move(lambdas)),
      blocks_(blocks),
      groups_(groups),
      seed_(seed),
      matrix_size_(std::min({matrix_size, blocks, kMostMeans / 2})) {
  for (const int lag : lags) {
    if (lag < shape.num_steps) lags_.push_back(lag);
  }
  const std::size_t kinds = lags_.size() + 1;
  PerLambda empty;
  Sums zero;
  zero.kinds.resize(kinds);
  zero.gradient.resize(parameter_count);
  empty.groups.assign(static_cast<std::size_t>(groups), zero);
  empty.histograms.assign(kinds, std::vector<std::int64_t>(kCosineBins));
  empty.with_mean_histogram.resize(kCosineBins);
  lambdas_sums_.assign(lambdas_.size(), empty);
}

std::vector<CorrelationStudy::Moments> CorrelationStudy::measure(const BlockRows& rows,
                                                                 int block) const {
  const int n = rows.rows();
  const std::size_t kinds = lags_.size() + 1;
  std::vector<Moments> moments(lambdas_.size());
  for (std::size_t f = 0; f < rows.factors.size(); ++f) {
    const GradientFactors<float>& factors = rows.factors[f];
    std::vector<float> squares(static_cast<std::size_t>(n));
    squared_norms(factors, squares.data());
    std::vector<std::pair<std::size_t, Centring>> centrings;  // for the lambdas with these factors
    for (std::size_t l = 0; l < lambdas_.size(); ++l) {
      if (rows.factors_of(static_cast<int>(l)) != f) continue;
      Moments& m = moments[l];
      m.gradient.assign(rows.parameter_count, 0.0f);
      m.kinds.resize(kinds);
      m.histograms.assign(kinds, std::vector<std::int64_t>(kCosineBins));
      m.with_mean_histogram.resize(kCosineBins);
      centrings.emplace_back(l, centre(factors, rows.weights[l], squares, m.gradient));
      const Centring& c = centrings.back().second;
      for (int i = 0; i < n; ++i) {
        m.sample_square += c.squares[i] / n;
        // Compares with the mean of the other samples: a mean that includes the sample resembles
        // it.
        const double along = c.along_mean[i] - c.squares[i] / n;
        const double others = c.mean_square - 2.0 * c.along_mean[i] / n + c.squares[i] / n / n;
        if (!(c.squares[i] > c.shortest) || !(others > 0.0)) continue;
        const double cosine = along / std::sqrt(c.squares[i] * others);
        count_cosine(std::clamp(cosine, -1.0, 1.0), m.with_mean, m.with_mean_histogram);
      }
    }
    const auto count = [&](int i, int j, std::size_t kind) {
      const double product = inner_product(factors, i, j);
      for (const auto& [l, c] : centrings) {
        count_pair(c, i, j, product, moments[l].kinds[kind], moments[l].histograms[kind]);
      }
    };
    for (std::size_t k = 0; k < lags_.size(); ++k) {
      for (int i = 0; i + lags_[k] < n; ++i) {
        if (rows.trajectory[i] == rows.trajectory[i + lags_[k]]) count(i, i + lags_[k], k);
      }
    }
    if (rows.trajectory.front() == rows.trajectory.back()) continue;  // only one trajectory
    Random random(seed_, Purpose::kLaboratory, 1, static_cast<std::uint64_t>(block));
    for (int p = 0; p < n; ++p) {
      const int i = static_cast<int>(random.below(static_cast<std::uint32_t>(n)));
      const int j = static_cast<int>(random.below(static_cast<std::uint32_t>(n)));
      if (rows.trajectory[i] != rows.trajectory[j]) count(i, j, lags_.size());
    }
  }
  return moments;
}

void CorrelationStudy::fold(std::vector<Moments> moments) {
  const std::size_t group =
      static_cast<std::size_t>(static_cast<std::int64_t>(folded_) * groups_ / blocks_);
  ++folded_;
  for (std::size_t l = 0; l < moments.size(); ++l) {
    Moments& m = moments[l];
    PerLambda& lambda_sums = lambdas_sums_[l];
    Sums one;
    one.blocks = 1.0;
    one.sample_square = m.sample_square;
    one.gradient_square = sum_squares(m.gradient.data(), m.gradient.size());
    one.kinds = m.kinds;
    one.with_mean = m.with_mean;
    one.gradient.assign(m.gradient.begin(), m.gradient.end());
    lambda_sums.groups[group].add(one, 1.0);
    for (std::size_t k = 0; k < m.histograms.size(); ++k) {
      for (int b = 0; b < kCosineBins; ++b) lambda_sums.histograms[k][b] += m.histograms[k][b];
    }
    for (int b = 0; b < kCosineBins; ++b)
      lambda_sums.with_mean_histogram[b] += m.with_mean_histogram[b];
    if (!keeps_mean(folded_ - 1)) continue;
    const float length = static_cast<float>(std::sqrt(one.gradient_square));
    if (length > 0.0f) {
      for (float& g : m.gradient) g /= length;
    }
    lambda_sums.means.push_back(std::move(m.gradient));
  }
}

// Evenly spread, so that every group contributes its share.
int CorrelationStudy::mean_stride() const { return (blocks_ + kMostMeans - 1) / kMostMeans; }

bool CorrelationStudy::keeps_mean(int block) const { return block % mean_stride() == 0; }

// Cosines between all pairs of the kept means. Leaving out a group removes its pairs with itself
// and with all others.
void CorrelationStudy::compare_means(const PerLambda& lambda_sums,
                                     CorrelationResult& result) const {
  const int n = static_cast<int>(lambda_sums.means.size());
  Tally all;
  std::vector<Tally> with_group(static_cast<std::size_t>(groups_));
  result.batch_means.histogram.assign(kCosineBins, 0);
  result.batch_mean_matrix.assign(matrix_size_, std::vector<float>(matrix_size_, 1.0f));
  const auto group_of = [&](int b) {
    const std::int64_t block = static_cast<std::int64_t>(b) * mean_stride();
    return static_cast<std::size_t>(block * groups_ / blocks_);
  };
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      const double cosine =
          std::clamp<double>(dot(lambda_sums.means[i].data(), lambda_sums.means[j].data(),
                                 lambda_sums.means[i].size()),
                             -1, 1);
      Tally one;
      count_cosine(cosine, one, result.batch_means.histogram);
      all.add(one, 1.0);
      with_group[group_of(i)].add(one, 1.0);
      if (group_of(i) != group_of(j)) with_group[group_of(j)].add(one, 1.0);
      if (j < matrix_size_) {
        result.batch_mean_matrix[i][j] = static_cast<float>(cosine);
        result.batch_mean_matrix[j][i] = static_cast<float>(cosine);
      }
    }
  }
  const auto estimate = [&](double Tally::*sum) {
    return jackknife(groups_, n, [&](int left_out) {
      Tally t = all;
      if (left_out >= 0) t.add(with_group[static_cast<std::size_t>(left_out)], -1.0);
      return quotient(t.*sum, t.count);
    });
  };
  result.batch_means.pairs = static_cast<std::int64_t>(all.count);
  result.batch_means.mean = estimate(&Tally::sum);
  result.batch_means.mean_abs = estimate(&Tally::abs);
  result.batch_means.mean_square = estimate(&Tally::square);
}

CorrelationResult CorrelationStudy::result(std::size_t lambda) const {
  const PerLambda& lambda_sums = lambdas_sums_[lambda];
  Sums all = lambda_sums.groups[0];
  for (std::size_t g = 1; g < lambda_sums.groups.size(); ++g) all.add(lambda_sums.groups[g], 1.0);
  std::vector<Sums> sums{all};  // of all blocks, then without each group
  for (const Sums& group : lambda_sums.groups) {
    Sums others = all;
    others.add(group, -1.0);
    sums.push_back(std::move(others));
  }
  const auto estimate = [&](auto&& quantity) {
    return jackknife(groups_, folded_, [&](int left_out) {
      return quantity(sums[static_cast<std::size_t>(left_out) + 1]);
    });
  };
  const auto summary = [&](auto&& tally_of, const std::vector<std::int64_t>& histogram) {
    CosineSummary s;
    s.pairs = static_cast<std::int64_t>(tally_of(all).count);
    s.mean = estimate([&](const Sums& x) { return quotient(tally_of(x).sum, tally_of(x).count); });
    s.mean_abs =
        estimate([&](const Sums& x) { return quotient(tally_of(x).abs, tally_of(x).count); });
    s.mean_square =
        estimate([&](const Sums& x) { return quotient(tally_of(x).square, tally_of(x).count); });
    s.histogram = histogram;
    return s;
  };
  // |mu|^2 without the upward bias of squared noise: see variance.h.
  const auto mean_square = [](const Sums& x) {
    double of_sum = 0.0;
    for (const double g : x.gradient) of_sum += g * g;
    return (of_sum - x.gradient_square) / (x.blocks * (x.blocks - 1.0));
  };
  std::vector<double> mu;
  mu.reserve(sums.size());
  for (const Sums& x : sums) mu.push_back(mean_square(x));
  const auto pair_kind = [&](std::size_t k, int lag) {
    PairCorrelation p;
    p.lag = lag;
    p.cosine = summary([k](const Sums& x) -> const Tally& { return x.kinds[k]; },
                       lambda_sums.histograms[k]);
    p.uncentred = estimate(
        [k](const Sums& x) { return quotient(x.kinds[k].uncentred, x.kinds[k].directed); });
    p.autocovariance = jackknife(groups_, folded_, [&](int left_out) {
      const std::size_t s = static_cast<std::size_t>(left_out) + 1;
      const Tally& t = sums[s].kinds[k];
      return quotient(quotient(t.product, t.pairs) - mu[s],
                      sums[s].sample_square / sums[s].blocks - mu[s]);
    });
    return p;
  };
  CorrelationResult r;
  r.shape = shape_;
  r.lambda = lambdas_[lambda];
  r.blocks = folded_;
  for (std::size_t k = 0; k < lags_.size(); ++k) r.within.push_back(pair_kind(k, lags_[k]));
  r.across = pair_kind(lags_.size(), 0);
  r.with_mean = summary([](const Sums& x) -> const Tally& { return x.with_mean; },
                        lambda_sums.with_mean_histogram);
  compare_means(lambda_sums, r);
  return r;
}

std::vector<CorrelationResult> CorrelationStudy::results() const {
  std::vector<CorrelationResult> results;
  for (std::size_t l = 0; l < lambdas_.size(); ++l) results.push_back(result(l));
  return results;
}

}  // namespace broadloom
