#include "broadloom/math/symmetric_eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "broadloom/core/portable_math.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

// A matrix of order m with rows `stride` apart.
struct Square {
  double* first;
  std::size_t stride;
  std::size_t m;
  double* row(std::size_t i) const { return first + i * stride; }
};

// a <- H a H with the reflection H = 1 - 2 v v^T / (v . v). w: scratch [m].
//
// With p = 2 a v / (v . v) and w = p - (p . v) / (v . v) v, the result is a - v w^T - w v^T.
void reflect(const Square& a, const double* v, double* w) {
  const double scale = 2.0 / dot(v, v, a.m);
  for (std::size_t i = 0; i < a.m; ++i) w[i] = scale * dot(a.row(i), v, a.m);
  const double along = 0.5 * scale * dot(v, w, a.m);
  for (std::size_t i = 0; i < a.m; ++i) w[i] -= along * v[i];
  for (std::size_t i = 0; i < a.m; ++i) {
    double* row = a.row(i);
    const double v_i = v[i], w_i = w[i];
    for (std::size_t j = 0; j < a.m; ++j) row[j] -= v_i * w[j] + w_i * v[j];
  }
}

// Turns v [m] into the Householder vector that maps it to a multiple of the first unit vector.
// Returns the multiple. If v already is such a multiple, it stays as it is.
double householder(double* v, std::size_t m) {
  const double rest = dot(v + 1, v + 1, m - 1);
  if (rest == 0.0) return v[0];
  const double norm = std::sqrt(v[0] * v[0] + rest);
  const double image = v[0] > 0.0 ? -norm : norm;  // opposite sign: avoids cancellation below
  v[0] -= image;
  return image;
}

// Writes a tridiagonal matrix with a's eigenvalues to diagonal [n] and beside [n - 1].
void tridiagonalise(double* a, std::size_t n, double* diagonal, double* beside, double* scratch) {
  for (std::size_t k = 0; k < n; ++k) {
    double* row = a + k * n;
    diagonal[k] = row[k];
    if (k + 1 == n) return;
    double* v = row + k + 1;
    const std::size_t m = n - k - 1;
    const double before = v[0];
    beside[k] = householder(v, m);
    if (v[0] != before) reflect({a + (k + 1) * n + k + 1, n, m}, v, scratch);
  }
}

// One QR step with Wilkinson's shift on rows [low, high] of the tridiagonal matrix. The shift's
// rotation of the first two rows leaves a bulge, which further rotations chase out at the end.
void qr_step(double* d, double* e, std::size_t low, std::size_t high) {
  const double half = 0.5 * (d[high - 1] - d[high]);
  const double off = e[high - 1];
  const double shift =
      d[high] - off * off / (half + std::copysign(portable::hypot(half, off), half));
  double x = d[low] - shift, z = e[low];
  for (std::size_t k = low; k < high; ++k) {
    const double r = portable::hypot(x, z);
    const double c = r == 0.0 ? 1.0 : x / r, s = r == 0.0 ? 0.0 : z / r;
    if (k > low) e[k - 1] = r;
    const double upper = d[k], lower = d[k + 1], between = e[k];
    d[k] = c * c * upper + 2.0 * c * s * between + s * s * lower;
    d[k + 1] = s * s * upper - 2.0 * c * s * between + c * c * lower;
    e[k] = c * s * (lower - upper) + (c * c - s * s) * between;
    if (k + 1 == high) return;
    x = e[k];
    z = s * e[k + 1];
    e[k + 1] *= c;
  }
}

// Writes the eigenvalues to d [n]; e [n - 1] is destroyed. An off-diagonal number splits the matrix
// if it is negligible beside its neighbours or the largest number.
void diagonalise(double* d, double* e, std::size_t n) {
  constexpr double kTiny = std::numeric_limits<double>::epsilon();
  double size = 0.0;
  for (std::size_t i = 0; i < n; ++i) size = std::max(size, std::abs(d[i]));
  for (std::size_t i = 0; i + 1 < n; ++i) size = std::max(size, std::abs(e[i]));
  const auto negligible = [&](std::size_t i) {
    return std::abs(e[i]) <= kTiny * std::max(std::abs(d[i]) + std::abs(d[i + 1]), 1e-3 * size);
  };
  std::size_t high = n - 1;
  // One or two QR steps find an eigenvalue; the limit stops input that is not finite.
  for (std::size_t steps = 0; high > 0 && steps < 60 * n; ++steps) {
    if (negligible(high - 1)) {
      --high;
      continue;
    }
    std::size_t low = high - 1;
    while (low > 0 && !negligible(low - 1)) --low;
    qr_step(d, e, low, high);
  }
}

}  // namespace

void symmetric_eigenvalues(double* a, int n, double* values, double* scratch) {
  if (n < 1) return;
  const std::size_t size = static_cast<std::size_t>(n);
  double* beside = scratch + size;
  tridiagonalise(a, size, values, beside, scratch);
  diagonalise(values, beside, size);
  std::sort(values, values + size, std::greater<double>());
}

}  // namespace broadloom
