// Eigenvalues of a dense symmetric matrix.
#pragma once

#include <cstddef>

namespace broadloom {

// Numbers of scratch that symmetric_eigenvalues() needs.
constexpr std::size_t eigenvalues_scratch(int n) { return 2 * static_cast<std::size_t>(n); }

// values [n] <- the eigenvalues of the symmetric matrix a [n, n], in falling order. a is destroyed.
//
// Householder's reduction to a tridiagonal matrix, then QR steps with Wilkinson's shift (Golub and
// Van Loan, "Matrix Computations", 4th edition, algorithms 8.3.1 to 8.3.3). The error is of the
// order of 1e-16 times n times the largest eigenvalue.
//
// Cost: 2 n^3 multiplications and additions, plus 10 n^2 operations: 0.3 ms for n = 64, about 0.1 s
// for 512. Nothing is allocated.
void symmetric_eigenvalues(double* a, int n, double* values, double* scratch);

}  // namespace broadloom
