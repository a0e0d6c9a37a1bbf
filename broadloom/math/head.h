// The products of a head, a linear layer with few outputs. The output is transposed: column r
// belongs to row r of the tile. The functions of the loss can thus run over whole vectors of rows.
//
// w is [out, in]. y and dy are [out, stride], of which the first `rows` columns count. stride is a
// multiple of 16 and at least rows. As in linear.h, a row's bits do not depend on the other rows.
// Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// y[o, r] = b[o] + sum over i of x[r, i] w[o, i]. The sum has one chain per virtual lane; lanes are
// then added pairwise. Also overwrites columns up to the next multiple of 16.
void head_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                  int out, std::size_t stride);
void head_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                  int out, std::size_t stride);
// dw[o, i] += sum over r of dy[o, r] x[r, i];   db[o] += sum over r of dy[o, r]
void head_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows, int in,
                           int out, std::size_t stride);
void head_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                           int in, int out, std::size_t stride);
// dx[r, i] = sum over o of dy[o, r] w[o, i]
void head_backward_input(const float* dy, const float* w, float* dx, int rows, int in, int out,
                         std::size_t stride);
void head_backward_input(const double* dy, const double* w, double* dx, int rows, int in, int out,
                         std::size_t stride);

}  // namespace broadloom
