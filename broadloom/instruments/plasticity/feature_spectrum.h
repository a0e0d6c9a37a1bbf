// The singular values of a matrix of features.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace broadloom {

// Singular values as the roots of the eigenvalues of F^T F, in double. The product squares the
// condition number: an s below about 1e-8 s_1 is lost in rounding. Features are float32, whose own
// rounding is larger, and no rank of ranks.h looks below 1e-4 s_1.
//
// Work consists of tasks that may run concurrently: first all of set_rows(), then all of
// multiply(), then solve(). Cost: rows columns^2 / 2 multiplications for F^T F, and 2 columns^3.
class FeatureSpectrum {
 public:
  FeatureSpectrum(int rows, int columns);
  static std::size_t bytes(int rows, int columns);

  // Copies features [count, columns] to rows [first, first + count) of F.
  void set_rows(std::size_t first, int count, const float* features);
  // Number of tasks that compute F^T F block by block.
  int multiply_tasks() const { return static_cast<int>(panels_ * (panels_ + 1) / 2); }
  void multiply(int task);
  void solve();

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  // Singular values of the F solved last, in falling order; as many as columns.
  std::span<const double> singular_values() const { return values_; }

 private:
  int width(std::size_t panel) const;
  double* panel(std::size_t p);

  int rows_, columns_;
  std::size_t panels_;
  std::vector<double> features_;  // panel after panel, each [rows, width]
  std::vector<double> gram_;      // [columns, columns] F^T F
  std::vector<double> values_, scratch_;
};

}  // namespace broadloom
