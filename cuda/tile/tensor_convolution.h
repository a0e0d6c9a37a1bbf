// A convolution of a tile of rows on tensor cores (sides/tf32.h), by all threads of a block
// together. It reads patches in place from the image.
#pragma once

#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"
#include "cuda/tile/network.h"
#include "cuda/tile/packed_weights.h"
#include "cuda/tile/product.h"

namespace broadloom::cuda {

// Tables in shared memory: offsets of a patch's numbers from its first, and of patches in their
// row. Computing them takes divisions.
struct PatchPlaces {
  const int *numbers, *patches;

  // Ints of both tables, a multiple of four.
  BROADLOOM_HD static int ints(const DeviceBody& body) {
    if (!body.begins_with_image()) return 0;
    const DeviceLayer& layer = body.hidden[0];
    return (rounded_up(layer.in) + rounded_up(layer.patches.count()) + 3) / 4 * 4;
  }
  // Complete after the next sync(). Entries beyond the last one are 0.
  template <class Block>
  BROADLOOM_HD static PatchPlaces make(Block& block, const DeviceBody& body, int* memory) {
    if (!body.begins_with_image()) return {memory, memory};
    const DeviceLayer& layer = body.hidden[0];
    const int in = rounded_up(layer.in), count = rounded_up(layer.patches.count());
    for (int e = block.thread(); e < in + count; e += block.threads()) {
      const int p = e - in;
      const bool is_number = p < 0, is_there = is_number ? e < layer.in : p < layer.patches.count();
      memory[e] = !is_there ? 0 : is_number ? layer.patches.at(e) : layer.patches.begin(p);
    }
    return {memory, memory + in};
  }

 private:
  BROADLOOM_HD static int rounded_up(int count) { return (count + 15) / 16 * 16; }
};

// y[p, f] = finish(b[f] + sum over i of x[p, i] w[i, f]) for every patch p of the rows. Numbers
// must be rounded before. A product has 16 patches by 16 filters; kTogether products share weights.
template <class Block>
BROADLOOM_HD void tensor_convolve(Block& block, const DeviceLayer& layer, const PatchPlaces& places,
                                  const Finish& finish, const float* params, const float* x,
                                  float* y, int rows) {
  constexpr int kTogether = 2, kPatches = 16, kFilters = 16;
  const TensorLane lane(block.thread());
  const int count = layer.patches.count(), filters = layer.out;
  const int x_row = TilePlaces::row(layer.row_in), y_row = TilePlaces::row(layer.row_out());
  const int a_row = (count + kPatches - 1) / kPatches, tiles = rows * a_row;
  const float* const bias = params + layer.bias;
  const PackedMatrix matrix{filters, layer.in};
  const float* const packed = params + layer.packed + block.thread() % kWarp * 4;
  for (int first_f = 0; first_f < filters; first_f += kFilters) {
    for (int first = lane.warp * kTogether; first < tiles;
         first += block.threads() / kWarp * kTogether) {
      float sums[kTogether][2][4];
      int upper[kTogether], lower[kTogether];  // offsets of patches group and group + 8
      float* outputs[kTogether];               // output of the first one
      int left[kTogether];                     // remaining patches from it on
      for (int j = 0; j < kTogether; ++j) {
        const int tile = first + j < tiles ? first + j : first;
        const int row = tile / a_row, p = (tile - row * a_row) * kPatches + lane.group;
        upper[j] = row * x_row + places.patches[p];
        lower[j] = row * x_row + places.patches[p + 8];
        outputs[j] = y + row * y_row + p * filters;
        left[j] = first + j < tiles ? count - p : 0;
        for (int n = 0; n < 2; ++n) {
          for (int c = 0; c < 4; ++c) {
            const int f = first_f + 8 * n + 2 * lane.within + c % 2;
            sums[j][n][c] = f < filters ? bias[f] : 0.0f;
          }
        }
      }
      const float* weights = packed + first_f / 16 * matrix.steps() * PackedMatrix::kPiece;
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
      for (int i = 0; i < layer.in; i += 8, weights += PackedMatrix::kPiece) {
        const int own = i + 2 * lane.within;
        const int one = places.numbers[own], other = places.numbers[own + 1];
        const Four four = load_four(weights);
        const TensorB low = {{four.values[0], four.values[2]}},
                      high = {{four.values[1], four.values[3]}};
        for (int j = 0; j < kTogether; ++j) {
          const float *const here = x + upper[j], *const there = x + lower[j];
          const TensorA patch = {{here[one], there[one], here[other], there[other]}};
          block.multiply_add(patch, low, sums[j][0]);
          block.multiply_add(patch, high, sums[j][1]);
        }
      }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int j = 0; j < kTogether; ++j) {
        finish(sums[j]);
        for (int e = 0; e < 8; ++e) {
          const int n = e / 4, c = e % 4, p = c / 2 * 8;
          const int f = first_f + 8 * n + 2 * lane.within + c % 2;
          if (p < left[j] && f < filters) outputs[j][p * filters + f] = sums[j][n][c];
        }
      }
    }
  }
}

// Derivatives of the weights [in, filters] and the biases [filters] behind them: sums over the
// patches of all rows, shared out over the warps. `scratch` [kScratch] collects them. The bias is
// the weight of a number that is 1 in every patch. x must be rounded before.
struct TensorFilters {
  static constexpr int kWarps = 16, kDown = 3, kAcross = 2;  // products of a warp at a time
  static constexpr int kProduct = 16 * 8, kOfWarp = kDown * kAcross * kProduct;
  static constexpr int kScratch = kWarps / 2 * kOfWarp;

  const DeviceLayer& layer;
  PatchPlaces places;
  const float *x, *delta;
  int rows;

  // target: [in + 1, filters].
  template <class Block>
  BROADLOOM_HD void run(Block& block, float* scratch, float* target) const {
    for (int i = 0; i <= layer.in; i += 16 * kDown) {
      for (int f = 0; f < layer.out; f += 8 * kAcross) {
        Products sums;
        add_up(block, i, f, sums);
        // Writes the sums of the second half of the warps, then adds those of the first half.
        const int warp = block.thread() / kWarp;
        float* const own = scratch + warp % (kWarps / 2) * kOfWarp + block.thread() % kWarp;
        if (warp >= kWarps / 2) sums.each([own](int e, float& sum) { own[e * kWarp] = sum; });
        block.sync();
        if (warp < kWarps / 2) sums.each([own](int e, float& sum) { own[e * kWarp] += sum; });
        block.sync();
        for (int e = block.thread(); e < kOfWarp; e += block.threads()) {
          const int product = e / kProduct, number = e / kWarp % 4;
          const TensorLane lane(e % kWarp);
          const int own_i = i + product / kAcross * 16 + lane.group + number / 2 * 8;
          const int own_f = f + product % kAcross * 8 + 2 * lane.within + number % 2;
          if (own_i > layer.in || own_f >= layer.out) continue;
          float sum = 0.0f;
          for (int w = 0; w < kWarps / 2; ++w) sum += scratch[w * kOfWarp + e];
          target[own_i * layer.out + own_f] = sum;
        }
        block.sync();
      }
    }
  }

 private:
  // A thread's numbers of a warp's products.
  struct Products {
    float values[kDown][kAcross][4] = {};

    template <class F>
    BROADLOOM_HD void each(F&& f) {
      for (int e = 0; e < kDown * kAcross * 4; ++e)
        f(e, values[e / 4 / kAcross][e / 4 % kAcross][e % 4]);
    }
  };
  template <class Block>
  BROADLOOM_HD void add_up(Block& block, int first_i, int first_f, Products& made) const {
    const TensorLane lane(block.thread());
    const int count = layer.patches.count();
    const int x_row = TilePlaces::row(layer.row_in), d_row = TilePlaces::row(layer.row_out());
    auto& sums = made.values;
    int numbers[2 * kDown];  // group and group + 8 of each product
    for (int m = 0; m < 2 * kDown; ++m) {
      const int i = first_i + m * 8 + lane.group;
      numbers[m] = i < layer.in ? places.numbers[i] : -1 - (i - layer.in);  // -1: the bias's
    }
    const auto input = [&](const float* patch, int m) {
      const int number = numbers[m];
      return number >= 0 ? patch[number] : number == -1 ? 1.0f : 0.0f;
    };
    // Each half of a row goes to a warp, because a block has few rows.
    const int half = (count + 15) / 16 * 8;
    for (int e = lane.warp; e < 2 * rows; e += kWarps) {
      const float *const of_x = x + e / 2 * x_row, *const of_d = delta + e / 2 * d_row;
      const int begin = e % 2 * half, end = e % 2 == 0 && half < count ? half : count;
      for (int first = begin; first < end; first += 8) {
        const int p = first + lane.within;
        const auto derivative = [&](int patch, int n) {
          const int f = first_f + 8 * n + lane.group;
          return patch < count && f < layer.out ? of_d[patch * layer.out + f] : 0.0f;
        };
        const float *const one = of_x + places.patches[p], *const other =
                                                               of_x + places.patches[p + 4];
        TensorB of_delta[kAcross];
        for (int n = 0; n < kAcross; ++n) {
          of_delta[n] = rounded(derivative(p, n), derivative(p + 4, n));
        }
        for (int m = 0; m < kDown; ++m) {
          const TensorA of_inputs = {{input(one, 2 * m), input(one, 2 * m + 1), input(other, 2 * m),
                                      input(other, 2 * m + 1)}};
          for (int n = 0; n < kAcross; ++n) block.multiply_add(of_inputs, of_delta[n], sums[m][n]);
        }
      }
    }
  }
};

}  // namespace broadloom::cuda
