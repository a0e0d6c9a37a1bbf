// From rows of a minibatch to the derivatives of all layers' outputs on tensor cores: a block takes
// a few rows through the network and back in its shared memory, with weights that come by way of a
// ring there (tile/weight_stream.h).
#pragma once

#include <cstddef>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"
#include "cuda/tile/tensor_tile.h"

namespace broadloom::cuda {

// Where a block has the numbers of a few rows, in floats. A layer's derivatives take the place of
// its outputs, which have gone to the arrays of all rows then; what it was before its activation is
// there alone.
struct TensorPlaces {
  int rows;
  int x, y[kMostLayers], moments[kMostLayers];
  int outputs, values, shares, size;

  TensorPlaces() = default;
  TensorPlaces(const DeviceNetwork& network, const DeviceBody& body, int room) : rows(room), x(0) {
    size = rows * TilePlaces::row(body.row_in());
    for (int l = 0; l < body.layers; ++l) {
      y[l] = size;
      size += rows * TilePlaces::row(body.hidden[l].row_out());
      moments[l] = size;
      if (body.norms[l].is_there()) size += 2 * rows * body.norms[l].parts;
    }
    outputs = size;
    size += rows * body.head.out;
    values = size;
    size += rows * body.value_head.out;
    shares = size;
    size += rows * network.outputs;
  }
  BROADLOOM_HD int top(const DeviceBody& body) const {
    return body.layers > 0 ? y[body.layers - 1] : x;
  }
};

// How many rows a block takes, and how long its ring is; of no rows where a block does not have
// that much shared memory.
struct TensorTile {
  int rows = 0, places = 0;
  std::size_t bytes = 0;

  // Of as many rows as there is room for, up to `most`.
  static TensorTile within(const DeviceNetwork& network, std::size_t bytes, int most) {
    for (int rows = most; rows >= kTensorRows; rows /= 2) {
      for (int places = WeightStream::kPlaces; places >= WeightStream::kLeastPlaces; --places) {
        const TensorTile tile{rows, places, bytes_for(network, rows, places)};
        if (tile.bytes <= bytes) return tile;
      }
    }
    return {};
  }

 private:
  static std::size_t bytes_for(const DeviceNetwork& network, int rows, int places) {
    std::size_t most = 0;
    for (int side = 0; side < network.sides(); ++side) {
      const DeviceBody& body = network.body(side);
      const int floats =
          rows + TensorRoom::floats(body, places) + TensorPlaces(network, body, rows).size;
      const std::size_t size = TileTerms::kBytes + sizeof(float) * static_cast<std::size_t>(floats);
      most = size > most ? size : most;
    }
    return most;
  }
};

template <class Loss>
struct TensorDeltaKernel {
  static constexpr int kThreads = WeightStream::kThreads;
  LossWork<Loss> of;
  TensorPlaces at[2];  // of each side
  int places;          // of the ring

  static TensorDeltaKernel make(const LossWork<Loss>& of, const TensorTile& tile) {
    TensorDeltaKernel made{of, {}, tile.places};
    const DeviceNetwork& network = of.work.network;
    for (int side = 0; side < network.sides(); ++side) {
      made.at[side] = TensorPlaces(network, network.body(side), tile.rows);
    }
    return made;
  }
  KernelShape shape(const TensorTile& tile) const {
    const int groups = of.work.rows.all() / tile.rows;
    return {of.work.network.sides() * groups, kThreads, tile.bytes};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int sides = of.work.network.sides();
    const int side = block.index() % sides, group = block.index() / sides;
    const int a_tile = kTileRows / at[side].rows, first = group % a_tile * at[side].rows;
    const RowsAtHand::Tile tile = of.work.rows.tile(group / a_tile);
    const int left = tile.count - first;
    if (left <= 0) return;
    const int rows = left < at[side].rows ? left : at[side].rows;
    Group<Block>(*this, block, side, group, {tile.row + first, tile.in_minibatch + first, rows})
        .run();
  }

 private:
  // A block's rows on their way.
  template <class Block>
  struct Group {
    const TensorDeltaKernel& kernel;
    const LossWork<Loss>& of;
    Block& block;
    const int side, number;
    const RowsAtHand::Tile tile;
    const DeviceBody& body;
    const TensorPlaces& at;
    const Activation activation;
    const TileParams read;
    double* const terms;
    int* const in_block;  // of each row
    TensorMemory memory;
    float* const own;

    BROADLOOM_HD Group(const TensorDeltaKernel& of_kernel, Block& of_block, int of_side, int group,
                       const RowsAtHand::Tile& rows)
        : kernel(of_kernel),
          of(of_kernel.of),
          block(of_block),
          side(of_side),
          number(group),
          tile(rows),
          body(of.work.network.body(side)),
          at(kernel.at[side]),
          activation(of.work.network.activation),
          read{of.work.params},
          terms(block.template shared<double>()),
          in_block(reinterpret_cast<int*>(terms + TileTerms::kCount)),
          memory(block, body, reinterpret_cast<float*>(in_block + at.rows), kernel.places),
          own(memory.ring + kernel.places * WeightStream::kFloats) {}

    BROADLOOM_HD void run() {
      begin_forward(block, body, 0, read, memory.stream);
      gather();
      for (int l = 0; l < body.layers; ++l) forward(l);
      heads();
      for (int l = body.layers - 1; l >= 0; --l) backward(l);
    }

    // This block's rows of an array of all rows.
    BROADLOOM_HD float* array(int place, int row) const {
      return of.work.of_side(side) + place + static_cast<std::size_t>(tile.row) * row;
    }
    BROADLOOM_HD void hand_on(const float* from, int place, int row) const {
      copy_fours(block, from, tile.count * row, array(place, row));
    }

    BROADLOOM_HD void gather() {
      if (block.thread() < tile.count) {
        in_block[block.thread()] = of.indices[tile.in_minibatch + block.thread()];
      }
      block.sync();
      const int width = of.rollout.D, row = TilePlaces::row(width);
      const auto& seen = of.loss.seen(of.rollout);
      over_elements(block, tile.count, width, [&](int r) {
        const std::size_t from = static_cast<std::size_t>(in_block[r]);
        float* const to = own + at.x + r * row;
        return [&seen, from, to, width](int i) { to[i] = seen.read(from, i, width); };
      });
      block.sync();
      if (!body.begins_with_image()) hand_on(own + at.x, of.work.at[side].x, row);
    }

    BROADLOOM_HD void forward(int l) {
      const DeviceLayer& layer = body.hidden[l];
      const DeviceNorm& norm = body.norms[l];
      const Finish finish{activation, norm.is_there()};
      const float* const x = own + (l > 0 ? at.y[l - 1] : at.x);
      float* const y = own + at.y[l];
      if (body.is_of_image(l)) {
        tensor_convolve(block, layer, memory.patches, finish, read, x, y, tile.count);
      } else {
        tensor_layer(block, layer, finish, read, memory.stream, x, y, at.rows);
      }
      block.sync();
      if (!body.is_of_image(l)) begin_next(l);
      const int row = TilePlaces::row(layer.row_out());
      if (norm.is_there()) {
        norm_forward(block, norm, activation, read, y, own + at.moments[l],
                     array(of.work.at[side].linear[l], row), y, tile.count);
        block.sync();
      }
      hand_on(y, of.work.at[side].hidden[l], row);
    }
    // Weights that are wanted after those of layer l: of the next one, or of the last on the way
    // back.
    BROADLOOM_HD void begin_next(int l) {
      if (next_dense(body, l + 1) < body.layers) {
        return begin_forward(block, body, l + 1, read, memory.stream);
      }
      begin_backward(body.layers - 1);
    }
    // On the way back through layer l.
    BROADLOOM_HD void begin_backward(int l) {
      if (l < 1) return;
      const DeviceLayer& layer = body.hidden[l];
      memory.stream.begin(block, layer, read.at(layer.weight), WeightStream::kBack);
    }

    BROADLOOM_HD void heads() {
      const DeviceNetwork& network = of.work.network;
      const float* const top = own + at.top(body);
      float *const outputs = own + at.outputs, *const values = own + at.values;
      forward_head(block, body.head, read, top, outputs, at.rows, tile.count);
      forward_head(block, body.value_head, read, top, values, at.rows, tile.count);
      block.sync();
      const LossTile loss = of.tile(tile, side, outputs, values, own + at.shares, at.rows, terms);
      auto& sums = of.work.tile_sums[static_cast<std::size_t>(number) * network.sides() + side];
      if (block.thread() == 0) sums = typename Loss::Sums();
      if (block.thread() < tile.count) of.take_row(loss, tile, block.thread());
      block.sync();
      of.loss.add(block, loss, sums,
                  of.work.log_std + static_cast<std::size_t>(number) * network.outputs);
      columns(outputs, of.work.at[side].outputs, body.head.out);
      columns(values, of.work.at[side].values, body.value_head.out);
      if (body.layers == 0) return;
      backward_heads(block, body, activation, read, HeadDeltas{outputs, values, at.rows}, top,
                     tile.count, own + at.top(body));
      block.sync();
    }
    BROADLOOM_HD void columns(const float* from, int place, int count) const {
      const int stride = of.work.at[side].rows;
      float* const to = of.work.of_side(side) + place + tile.row;
      for (int e = block.thread(); e < count * at.rows; e += block.threads()) {
        const int c = e / at.rows, r = e % at.rows;
        if (r < tile.count) to[static_cast<std::size_t>(c) * stride + r] = from[e];
      }
    }

    BROADLOOM_HD void backward(int l) {
      const DeviceLayer& layer = body.hidden[l];
      const DeviceNorm& norm = body.norms[l];
      const bool is_of_image = body.is_of_image(l);
      const int row = TilePlaces::row(layer.row_out());
      float* const delta = own + at.y[l];
      if (norm.is_there()) {
        float* const z = array(of.work.at[side].linear[l], row);
        if (is_of_image) {
          learn_norm(layer, norm, delta, z);
        } else {
          hand_on(delta, of.work.at[side].delta[l], row);
          block.sync();
        }
        norm_backward(block, norm, read, delta, own + at.moments[l], z, delta, tile.count);
        block.sync();
      }
      if (is_of_image) return learn_filters(layer, delta);
      hand_on(delta, norm.is_there() ? of.work.at[side].before[l] : of.work.at[side].delta[l], row);
      if (l == 0) return;
      float* const below = own + at.y[l - 1];
      if (at.rows > kTensorRows) {
        tensor_backward<2>(block, memory.stream, layer, activation, delta, below);
      } else {
        tensor_backward<1>(block, memory.stream, layer, activation, delta, below);
      }
      block.sync();
      begin_backward(l - 1);
    }

    BROADLOOM_HD void learn_filters(const DeviceLayer& layer, const float* delta) {
      TensorFilters{layer, memory.patches, own + at.x, delta, tile.count}.run(
          block, memory.ring, of.work.image_of(number, side));
    }
    // Gain and bias, of which each is a sum over a number of all rows, and over the parts of a row
    // then.
    BROADLOOM_HD void learn_norm(const DeviceLayer& layer, const DeviceNorm& norm,
                                 const float* delta, const float* z) {
      const int width = norm.parts * norm.size, row = TilePlaces::row(width);
      float *const gains = memory.ring, *const biases = gains + width;
      for (int i = block.thread(); i < width; i += block.threads()) {
        float gain = 0.0f, bias = 0.0f;
        for (int r = 0; r < tile.count; ++r) {
          const float d = delta[r * row + i];
          gain = element::mul_add(d, z[r * row + i], gain);
          bias += d;
        }
        gains[i] = gain;
        biases[i] = bias;
      }
      block.sync();
      float* const to = of.work.image_of(number, side) + (layer.in + 1) * layer.out;
      for (int e = block.thread(); e < 2 * norm.size; e += block.threads()) {
        float sum = 0.0f;
        for (int part = 0; part < norm.parts; ++part) {
          sum += gains[(e >= norm.size ? width : 0) + part * norm.size + e % norm.size];
        }
        to[e] = sum;
      }
      block.sync();
    }
  };
};

}  // namespace broadloom::cuda
