// The products of a linear layer with their inputs rounded to bfloat16 and their sums in float32,
// by the instruction VDPBF16PS. Only for processors where bf16_available().
//
// As in linear.h, every output element is one chain of additions in ascending order of the summed
// index, two at a time, whatever the number of rows or the row's place in the tile. Inputs are
// rounded to nearest even; numbers below 2^-126 count as zero, which is what the instruction does.
// Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace broadloom {

// Two neighbours along the summed index, the first in the low half.
using Bf16Pair = std::uint32_t;

// Columns that stand together in a packed matrix, [panels][ceil(in/2)][kBf16Panel] pairs: what the
// kernel reads for one block of the output is contiguous, and no power of two apart.
inline constexpr int kBf16Panel = 64;

// Whether this processor, and this build, have the instructions.
bool bf16_available();

inline int bf16_panels(int out) { return (out + kBf16Panel - 1) / kBf16Panel; }
// Pairs of a packed [in, out] matrix, a multiple of kBf16Panel.
inline std::size_t bf16_packed_size(int in, int out) {
  return static_cast<std::size_t>((in + 1) / 2) * bf16_panels(out) * kBf16Panel;
}
// Pairs of scratch that the products below need.
std::size_t bf16_scratch_size(int rows, int in, int out);

// Writes one panel of w [in, out], packed.
void bf16_pack(const float* w, int in, int out, int panel, Bf16Pair* packed);
// Writes one panel of w^T [out, in], packed; there are bf16_panels(in).
void bf16_pack_transposed(const float* w, int in, int out, int panel, Bf16Pair* packed);

// y[r, o] = b[o] + sum over i of x[r, i] w[i, o].   x [rows, in], w packed [in, out], b [out] or
// null, y [rows, out]
void linear_forward_bf16(const float* x, const Bf16Pair* w, const float* b, float* y, int rows,
                         int in, int out, Bf16Pair* scratch);

// dw[i, o] += sum over r of x[r, i] dy[r, o];   db[o] += sum over r of dy[r, o], in float32
void linear_backward_weights_bf16(const float* x, const float* dy, float* dw, float* db, int rows,
                                  int in, int out, Bf16Pair* scratch);

}  // namespace broadloom
