// The products of a head: a linear layer with few outputs, whose output stands with one row of the
// tile a column, so that the functions of the loss run over whole vectors of rows.
//
// w is [out, in]; y and dy are [out, stride], of which the first `rows` columns count; stride is a
// multiple of 16 and at least rows. As in linear.h, a row has the same bits whatever rows are with
// it. Nothing is allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// y[o, r] = b[o] + sum over i of x[r, i] w[o, i], one chain a lane, the lanes then added pairwise.
// Also writes the columns up to the next multiple of 16.
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
