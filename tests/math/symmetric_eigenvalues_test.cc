#include "broadloom/math/symmetric_eigenvalues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

using Matrix = std::vector<double>;

std::vector<double> eigenvalues(Matrix a) {
  const int n = static_cast<int>(std::lround(std::sqrt(a.size())));
  std::vector<double> values(static_cast<std::size_t>(n)), scratch(eigenvalues_scratch(n));
  symmetric_eigenvalues(a.data(), n, values.data(), scratch.data());
  return values;
}

void expect_near(const std::vector<double>& got, std::vector<double> expected, double tolerance) {
  std::sort(expected.rbegin(), expected.rend());
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

// H a H for the reflection along v.
void reflect(Matrix& a, const std::vector<double>& v) {
  const std::size_t n = v.size();
  double length = 0.0;
  for (const double x : v) length += x * x;
  for (const bool columns : {false, true}) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto entry = [&](std::size_t k) -> double& {
        return columns ? a[k * n + i] : a[i * n + k];
      };
      double along = 0.0;
      for (std::size_t k = 0; k < n; ++k) along += entry(k) * v[k];
      for (std::size_t k = 0; k < n; ++k) entry(k) -= 2.0 * along / length * v[k];
    }
  }
}

// A dense symmetric matrix with these eigenvalues.
Matrix with_eigenvalues(const std::vector<double>& values, std::uint64_t seed) {
  const std::size_t n = values.size();
  Matrix a(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = values[i];
  Random random(seed, Purpose::kUser, 0, 0);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<double> v(n);
    for (double& x : v) x = random.normal();
    reflect(a, v);
  }
  return a;
}

TEST(SymmetricEigenvalues, AreKnownForSmallMatrices) {
  expect_near(eigenvalues({7.0}), {7.0}, 0.0);
  expect_near(eigenvalues({2.0, 1.0, 1.0, 2.0}), {3.0, 1.0}, 1e-15);
  expect_near(eigenvalues({0.0, 1.0, 1.0, 0.0}), {1.0, -1.0}, 1e-15);
  expect_near(eigenvalues({5.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 5.0}), {5.0, 5.0, -2.0}, 0.0);
  expect_near(eigenvalues(Matrix(16, 0.0)), {0.0, 0.0, 0.0, 0.0}, 0.0);
  expect_near(eigenvalues(Matrix(25, 1.0)), {5.0, 0.0, 0.0, 0.0, 0.0}, 1e-14);
}

// The second difference matrix: 2 - 2 cos(k pi / (n + 1)).
TEST(SymmetricEigenvalues, AreCosinesForSecondDifferences) {
  for (const std::size_t n : {2u, 3u, 10u, 64u, 130u}) {
    Matrix a(n * n);
    std::vector<double> expected;
    for (std::size_t i = 0; i < n; ++i) {
      a[i * n + i] = 2.0;
      if (i + 1 < n) a[i * n + i + 1] = a[(i + 1) * n + i] = -1.0;
      expected.push_back(2.0 - 2.0 * std::cos(M_PI * (i + 1.0) / (n + 1.0)));
    }
    expect_near(eigenvalues(a), expected, 1e-14 * n);
  }
}

TEST(SymmetricEigenvalues, AreFoundAgainWhereTheyWerePutIn) {
  std::vector<double> spread, repeated(50, 3.0), graded;
  for (int i = 0; i < 97; ++i) spread.push_back(i - 20.0);
  for (int i = 0; i < 30; ++i) repeated[i] = 1.0;
  for (int i = 0; i < 60; ++i) graded.push_back(std::pow(10.0, -i / 3.0));
  for (const auto& values : {spread, repeated, graded}) {
    const double size = *std::max_element(values.begin(), values.end());
    expect_near(eigenvalues(with_eigenvalues(values, 5)), values, 3e-15 * size * values.size());
  }
}

}  // namespace
}  // namespace broadloom
