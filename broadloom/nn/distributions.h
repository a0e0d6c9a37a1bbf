// The two policy distributions over a tile of rows.
//
// Arrays named [n, rows] hold one row of the tile per column, with kTileRows columns between one n
// and the next. Every function can thus run over whole vectors of rows. Columns past `rows` may be
// overwritten. A column's bits depend on that column alone.
//
// The collector and the update call the same compiled functions. An unchanged policy then has the
// same log-probability bits in both, and the first minibatch's ratio is exactly 1. Nothing is
// allocated.
#pragma once

namespace broadloom {

// Categorical over `count` logits [count, rows].
//
// normalisers [rows] = log sum_i exp(logits[i]). The other functions build on them.
void categorical_normalisers(const float* logits, int count, int rows, float* normalisers);
void categorical_normalisers(const double* logits, int count, int rows, double* normalisers);
// log_probs [rows] of actions [rows], which hold indices.
void categorical_log_probs(const float* logits, const float* normalisers, const float* actions,
                           int count, int rows, float* log_probs);
void categorical_log_probs(const double* logits, const double* normalisers, const double* actions,
                           int count, int rows, double* log_probs);
// entropies [rows], and the probabilities probs [count, rows].
void categorical_entropies(const float* logits, const float* normalisers, int count, int rows,
                           float* probs, float* entropies);
void categorical_entropies(const double* logits, const double* normalisers, int count, int rows,
                           double* probs, double* entropies);
// d_logits [count, rows]: derivative of the sum over rows of a[r] log_prob[r] + b entropy[r].
//   d log p_a / d z_i = [i = a] - p_i;   d H / d z_i = -p_i (log p_i + H)
void categorical_backward(const float* logits, const float* normalisers, const float* probs,
                          const float* entropies, const float* actions, const float* a, float b,
                          int count, int rows, float* d_logits);
void categorical_backward(const double* logits, const double* normalisers, const double* probs,
                          const double* entropies, const double* actions, const double* a, double b,
                          int count, int rows, double* d_logits);
// actions [rows]: the first index whose cumulative probability exceeds uniforms [rows] in [0, 1).
void categorical_sample(const float* logits, const float* normalisers, const float* uniforms,
                        int count, int rows, float* actions);
// actions [rows]: the first of the largest logits.
void categorical_mode(const float* logits, int count, int rows, float* actions);

// largest [rows]: the largest of outputs [count, rows]. NaN counts as the largest.
void largest_outputs(const float* outputs, int count, int rows, float* largest);
void largest_outputs(const double* outputs, int count, int rows, double* largest);

// Diagonal Gaussian with means [count, rows] and log standard deviations log_std [count].
//
// log_probs [rows] of actions [count, rows] are summed over dimensions. scaled [count, rows]
// receives (action - mean) / std.
void gaussian_log_probs(const float* means, const float* log_std, const float* actions, int count,
                        int rows, float* scaled, float* log_probs);
void gaussian_log_probs(const double* means, const double* log_std, const double* actions,
                        int count, int rows, double* scaled, double* log_probs);
// Entropy, which is the same for every row.
float gaussian_entropy(const float* log_std, int count);
double gaussian_entropy(const double* log_std, int count);
// d_means [count, rows]: derivative of the sum over rows of a[r] log_prob[r] + b entropy. Adds the
// derivative for log_std, summed over rows, to d_log_std [count].
//   d log p / d mu = z / sigma;   d log p / d log sigma = z^2 - 1;   d H / d log sigma = 1
void gaussian_backward(const float* scaled, const float* log_std, const float* a, float b,
                       int count, int rows, float* d_means, float* d_log_std);
void gaussian_backward(const double* scaled, const double* log_std, const double* a, double b,
                       int count, int rows, double* d_means, double* d_log_std);
// actions [count, rows] = means + std * normals [count, rows].
void gaussian_sample(const float* means, const float* log_std, const float* normals, int count,
                     int rows, float* actions);

}  // namespace broadloom
