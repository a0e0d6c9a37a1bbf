#include "broadloom/math/linear_bf16.h"

#include <algorithm>

#include "broadloom/math/elementwise.h"

#if defined(__x86_64__)
// GCC 12's own header passes vectors that are undefined on purpose (its bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#define BROADLOOM_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define BROADLOOM_BF16_INLINE BROADLOOM_BF16 __attribute__((always_inline)) inline
#endif

namespace broadloom {
namespace {

std::size_t round_up(int n, int unit) {
  return static_cast<std::size_t>((n + unit - 1) / unit) * unit;
}

}  // namespace

std::size_t bf16_scratch_size(int rows, int in, int out) {
  const std::size_t pairs = static_cast<std::size_t>((rows + 1) / 2);
  return pairs * (round_up(in, kBf16Panel) + round_up(out, kBf16Panel));
}

#if defined(__x86_64__)

namespace {

// Highway 1.0.3 has no target with VDPBF16PS, hence intrinsics. A block of the output that stays in
// registers, as in product.cc.
constexpr int kRows = 6;
constexpr int kVectors = 4;
constexpr int kLanes = 16;
static_assert(kVectors * kLanes == kBf16Panel);

// c[m, :] = start + sum over k of a[m, k] b[k, :] for one panel; k counts pairs.
struct Product {
  const Bf16Pair* a;
  std::size_t a_row, a_k;
  const Bf16Pair* b;   // [depth, kBf16Panel]
  const float* start;  // null: zeros
  std::size_t start_row;
  float* c;
  std::size_t c_row;
  int depth;
};

// The first `count` of 16 lanes; none where count is negative.
BROADLOOM_BF16_INLINE __mmask16 first_lanes(int count) {
  return static_cast<__mmask16>((1U << std::clamp(count, 0, kLanes)) - 1U);
}

BROADLOOM_BF16_INLINE __m512 dot(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

template <int R>
BROADLOOM_BF16_INLINE void multiply_block(const Product& p, const __mmask16* masks) {
  __m512 acc[R][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = p.start == nullptr
                      ? _mm512_setzero_ps()
                      : _mm512_maskz_loadu_ps(masks[v], p.start + r * p.start_row + v * kLanes);
    }
  }
  const Bf16Pair* a = p.a;
  const Bf16Pair* b = p.b;
  for (int k = 0; k < p.depth; ++k) {
    __m512i row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = _mm512_loadu_si512(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512i factor = _mm512_set1_epi32(static_cast<int>(a[r * p.a_row]));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = dot(acc[r][v], factor, row[v]);
    }
    a += p.a_k;
    b += kBf16Panel;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      _mm512_mask_storeu_ps(p.c + r * p.c_row + v * kLanes, masks[v], acc[r][v]);
    }
  }
}

// All rows of one panel, of which `cols` columns count.
BROADLOOM_BF16 void multiply_panel(Product p, int rows, int cols) {
  __mmask16 masks[kVectors];
  for (int v = 0; v < kVectors; ++v) masks[v] = first_lanes(cols - v * kLanes);
  while (rows > 0) {
    const int step = std::min(rows, kRows);
    switch (step) {
      case 1:
        multiply_block<1>(p, masks);
        break;
      case 2:
        multiply_block<2>(p, masks);
        break;
      case 3:
        multiply_block<3>(p, masks);
        break;
      case 4:
        multiply_block<4>(p, masks);
        break;
      case 5:
        multiply_block<5>(p, masks);
        break;
      default:
        multiply_block<6>(p, masks);
        break;
    }
    p.a += step * p.a_row;
    p.c += step * p.c_row;
    if (p.start != nullptr) p.start += step * p.start_row;
    rows -= step;
  }
}

void multiply(Product p, int rows, int cols) {
  for (; cols > 0; cols -= kBf16Panel) {
    multiply_panel(p, rows, std::min(cols, kBf16Panel));
    p.b += static_cast<std::size_t>(p.depth) * kBf16Panel;
    p.c += kBf16Panel;
    if (p.start != nullptr) p.start += kBf16Panel;
  }
}

// 32 numbers of a row, of which `count` are there, as 16 pairs of neighbours.
BROADLOOM_BF16_INLINE __m512i pairs_along(const float* from, int count) {
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(count), from);
  const __m512 high = _mm512_maskz_loadu_ps(first_lanes(count - kLanes), from + kLanes);
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

BROADLOOM_BF16_INLINE __m512i widened(__m512 numbers) {
  return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(numbers));
}

// x [rows, cols] -> [rows, ceil(cols/2)] pairs of neighbours in a row.
BROADLOOM_BF16 void pack_rows(const float* x, int rows, int cols, Bf16Pair* to) {
  const int pairs = (cols + 1) / 2;
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < pairs; i += kLanes) {
      _mm512_mask_storeu_epi32(to + i, first_lanes(pairs - i),
                               pairs_along(x + 2 * i, cols - 2 * i));
    }
    x += cols;
    to += pairs;
  }
}

// w [rows, stride] -> [ceil(rows/2), width] pairs of neighbours in a column, for the first `cols`
// columns and zeros past them. width is a multiple of 16.
BROADLOOM_BF16 void pack_columns(const float* w, int rows, int cols, std::size_t stride, int width,
                                 Bf16Pair* to) {
  for (int r = 0; r < rows; r += 2) {
    for (int c = 0; c < width; c += kLanes) {
      const __mmask16 mask = first_lanes(cols - c);
      const __mmask16 mask_high = r + 1 < rows ? mask : __mmask16{0};
      const __m512i low = widened(_mm512_maskz_loadu_ps(mask, w + c));
      const __m512i high = widened(_mm512_maskz_loadu_ps(mask_high, w + stride + c));
      _mm512_storeu_si512(to + c, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
    w += 2 * stride;
    to += width;
  }
}

// Transposes 16 x 16 pairs in registers: neighbouring rows are interleaved, then ever larger parts.
BROADLOOM_BF16_INLINE void transpose_pairs(__m512i* m) {
  __m512i t[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    t[i] = _mm512_unpacklo_epi32(m[i], m[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(m[i], m[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    m[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    m[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    m[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    m[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(m[i], m[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(m[i], m[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(m[i + 8], m[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(m[i + 8], m[i + 12], 0xdd);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    m[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    m[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

// One panel of w^T: pairs along w's rows, which become its columns.
BROADLOOM_BF16 void pack_transposed_panel(const float* w, int in, int out, int first,
                                          Bf16Pair* to) {
  const int pairs = (out + 1) / 2;
  for (int i = 0; i < kBf16Panel; i += kLanes) {
    for (int k = 0; k < pairs; k += kLanes) {
      __m512i block[kLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kLanes; ++r) {
        const int row = first + i + r;
        const float* from = w + static_cast<std::size_t>(std::min(row, in - 1)) * out + 2 * k;
        block[r] = pairs_along(from, row < in ? out - 2 * k : 0);
      }
      transpose_pairs(block);
      const int count = std::min(kLanes, pairs - k);
      for (int r = 0; r < count; ++r) {
        _mm512_storeu_si512(to + static_cast<std::size_t>(k + r) * kBf16Panel + i, block[r]);
      }
    }
  }
}

}  // namespace

bool bf16_available() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

void bf16_pack(const float* w, int in, int out, int panel, Bf16Pair* packed) {
  const int first = panel * kBf16Panel;
  packed += static_cast<std::size_t>(first) * ((in + 1) / 2);
  pack_columns(w + first, in, std::min(out - first, kBf16Panel), static_cast<std::size_t>(out),
               kBf16Panel, packed);
}

void bf16_pack_transposed(const float* w, int in, int out, int panel, Bf16Pair* packed) {
  const int first = panel * kBf16Panel;
  pack_transposed_panel(w, in, out, first,
                        packed + static_cast<std::size_t>(first) * ((out + 1) / 2));
}

void linear_forward_bf16(const float* x, const Bf16Pair* w, const float* b, float* y, int rows,
                         int in, int out, Bf16Pair* scratch) {
  const int pairs = (in + 1) / 2;
  pack_rows(x, rows, in, scratch);
  multiply({scratch, static_cast<std::size_t>(pairs), 1, w, b, 0, y, static_cast<std::size_t>(out),
            pairs},
           rows, out);
}

void linear_backward_weights_bf16(const float* x, const float* dy, float* dw, float* db, int rows,
                                  int in, int out, Bf16Pair* scratch) {
  const int pairs = (rows + 1) / 2;
  const std::size_t width = round_up(in, kLanes);
  const std::size_t n_out = static_cast<std::size_t>(out);
  Bf16Pair* packed_dy = scratch + round_up(in, kBf16Panel) * pairs;
  pack_columns(x, rows, in, static_cast<std::size_t>(in), static_cast<int>(width), scratch);
  for (int panel = 0; panel < bf16_panels(out); ++panel) bf16_pack(dy, rows, out, panel, packed_dy);
  multiply({scratch, 1, width, packed_dy, dw, n_out, dw, n_out, pairs}, in, out);
  for (int r = 0; r < rows; ++r) add_into(db, dy + r * n_out, n_out);
}

#else  // Trainer::create() refuses what would come here.

bool bf16_available() { return false; }
void bf16_pack(const float*, int, int, int, Bf16Pair*) {}
void bf16_pack_transposed(const float*, int, int, int, Bf16Pair*) {}
void linear_forward_bf16(const float*, const Bf16Pair*, const float*, float*, int, int, int,
                         Bf16Pair*) {}
void linear_backward_weights_bf16(const float*, const float*, float*, float*, int, int, int,
                                  Bf16Pair*) {}

#endif

}  // namespace broadloom
