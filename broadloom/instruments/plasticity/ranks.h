// The number of directions that features use: five ranks of one matrix, from its singular values.
#pragma once

#include <span>

namespace broadloom {

// Ranks of a feature matrix [n rows, one per state; columns, one per unit], not centred. Singular
// values are s_1 >= s_2 >= ... . The five are different numbers, and papers call several of them
// "feature rank". All are 0 if every feature is 0.
struct FeatureRanks {
  // Smallest k with sum_{i<=k} s_i^2 >= 0.99 sum s_j^2 (Yang et al. 2019, "Harnessing structures
  // for value-based planning and reinforcement learning"; "feature rank" in Mayor et al. 2025).
  double approximate_rank = 0.0;
  // exp of the entropy of s_i / sum s_j (Roy and Vetterli 2007, "The effective rank").
  double effective_rank = 0.0;
  // Smallest k with sum_{i<=k} s_i >= 0.99 sum s_j: srank with delta 0.01 (Kumar et al. 2021,
  // arXiv 2010.14498).
  double srank = 0.0;
  // Number of s_i / sqrt(n) > 0.01 (Lyle et al. 2022, arXiv 2204.09560).
  double feature_rank = 0.0;
  // Number of s_i > s_1 max(n, columns) 2^-23: the usual numerical rank of float32 numbers.
  double numeric_rank = 0.0;
};

// singular_values: in falling order.
FeatureRanks feature_ranks(std::span<const double> singular_values, int rows, int columns);

}  // namespace broadloom
