// The products of a linear layer over a tile of rows. All arrays are row-major and dense.
//
// Every output element is one chain of multiply-adds in ascending order of the summed index.
// Neither the number of rows, nor the row's position in the tile, nor the vector tail changes that.
// So a row has the same bits alone during collection and among others in the update. Nothing is
// allocated.
#pragma once

#include <cstddef>

namespace broadloom {

// y[r, o] = b[o] + sum over i of x[r, i] w[i, o]. x: [rows, in], w: [in, out], b: [out] or null, y:
// [rows, out].
void linear_forward(const float* x, const float* w, const float* b, float* y, int rows, int in,
                    int out);
void linear_forward(const double* x, const double* w, const double* b, double* y, int rows, int in,
                    int out);

// dw[i, o] += sum over r of x[r, i] dy[r, o];   db[o] += sum over r of dy[r, o]
void linear_backward_weights(const float* x, const float* dy, float* dw, float* db, int rows,
                             int in, int out);
void linear_backward_weights(const double* x, const double* dy, double* dw, double* db, int rows,
                             int in, int out);

// wt[o, i] = w[i, o]. The derivative of the input is linear_forward(dy, wt, null, dx, rows, out,
// in).
void transpose(const float* w, float* wt, int in, int out);
void transpose(const double* w, double* wt, int in, int out);

}  // namespace broadloom
