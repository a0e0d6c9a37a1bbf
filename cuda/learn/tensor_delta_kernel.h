// From rows of a minibatch to the derivatives of all layers' outputs, on tensor cores. A block
// takes a few rows through the network and back in its shared memory.
#pragma once

#include <cstddef>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"
#include "cuda/tile/tensor_tile.h"

namespace broadloom::cuda {

// Layout of a few rows in a block's shared memory, in floats. A layer's derivatives overwrite its
// outputs, which are by then in the arrays of all rows. Values before the activation are only in
// those arrays, except for an image's layer.
struct TensorPlaces {
  int rows;
  int x, y[kMostLayers], moments[kMostLayers];
  int z;  // of an image's normalised layer; then scratch for sums of filters
  int outputs, values, kept, scratch, size;

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
    kept = size;
    size += rows * network.kept_numbers();
    z = scratch = size;
    int most = rows / kTensorRows * kTensorScratch<1>;
    if (body.begins_with_image()) {
      const int row = TilePlaces::row(body.hidden[0].row_out()), image = rows * row;
      size += image > TensorFilters::kScratch ? image : TensorFilters::kScratch;
      scratch = size;
      most = most > 2 * row ? most : 2 * row;
    }
    size += most;
  }
  BROADLOOM_HD int top(const DeviceBody& body) const {
    return body.layers > 0 ? y[body.layers - 1] : x;
  }
};

// Rows of a block; 0 rows if the shared memory is too small.
struct TensorTile {
  int rows = 0;
  std::size_t bytes = 0;

  // As many rows as fit, up to `most`.
  static TensorTile fit(const DeviceNetwork& network, std::size_t bytes, int most) {
    for (int rows = most; rows >= kTensorRows; rows /= 2) {
      const TensorTile tile{rows, bytes_for(network, rows)};
      if (tile.bytes <= bytes) return tile;
    }
    return {};
  }

 private:
  static std::size_t bytes_for(const DeviceNetwork& network, int rows) {
    std::size_t most = 0;
    for (int side = 0; side < network.sides(); ++side) {
      const DeviceBody& body = network.body(side);
      const int floats = rows + PatchPlaces::ints(body) + TensorPlaces(network, body, rows).size;
      const std::size_t size = TileTerms::kBytes + sizeof(float) * static_cast<std::size_t>(floats);
      most = size > most ? size : most;
    }
    return most;
  }
};

template <class Loss>
struct TensorDeltaKernel {
  static constexpr int kThreads = 2 * kTensorPairs * kWarp;
  static_assert(kThreads == TensorFilters::kWarps * kWarp);
  LossWork<Loss> loss_work;
  TensorPlaces places[2];  // layout per side

  static TensorDeltaKernel make(const LossWork<Loss>& source, const TensorTile& tile) {
    TensorDeltaKernel made{source, {}};
    const DeviceNetwork& network = source.work.network;
    for (int side = 0; side < network.sides(); ++side) {
      made.places[side] = TensorPlaces(network, network.body(side), tile.rows);
    }
    return made;
  }
  KernelShape shape(const TensorTile& tile) const {
    const int groups = loss_work.work.rows.all() / tile.rows;
    return {loss_work.work.network.sides() * groups, kThreads, tile.bytes};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int sides = loss_work.work.network.sides();
    const int side = block.index() % sides, group = block.index() / sides;
    const int a_tile = kTileRows / places[side].rows, first = group % a_tile * places[side].rows;
    const RowsAtHand::Tile tile = loss_work.work.rows.tile(group / a_tile);
    const int left = tile.count - first;
    if (left <= 0) return;
    const int rows = left < places[side].rows ? left : places[side].rows;
    Group<Block>(*this, block, side, group, {tile.row + first, tile.in_minibatch + first, rows})
        .run();
  }

 private:
  // The rows of one block during the kernel.
  template <class Block>
  struct Group {
    const TensorDeltaKernel& kernel;
    const LossWork<Loss>& loss_work;
    Block& block;
    const int side, number;
    const RowsAtHand::Tile tile;
    const DeviceBody& body;
    const TensorPlaces& places;
    const Activation activation;
    const TileParams read;
    double* const terms;
    int* const in_block;  // index of each row in the rollout block
    const PatchPlaces patches;
    float* const own;

    BROADLOOM_HD Group(const TensorDeltaKernel& of_kernel, Block& of_block, int of_side, int group,
                       const RowsAtHand::Tile& rows)
        : kernel(of_kernel),
          loss_work(of_kernel.loss_work),
          block(of_block),
          side(of_side),
          number(group),
          tile(rows),
          body(loss_work.work.network.body(side)),
          places(kernel.places[side]),
          activation(loss_work.work.network.activation),
          read{loss_work.work.params},
          terms(block.template shared<double>()),
          in_block(reinterpret_cast<int*>(terms + TileTerms::kCount)),
          patches(PatchPlaces::make(block, body, in_block + places.rows)),
          own(reinterpret_cast<float*>(in_block + places.rows + PatchPlaces::ints(body))) {}

    BROADLOOM_HD void run() {
      gather();
      for (int l = 0; l < body.layers; ++l) forward(l);
      heads();
      for (int l = body.layers - 1; l >= 0; --l) backward(l);
    }

    // This block's rows of an array of all rows.
    BROADLOOM_HD float* array(int place, int row) const {
      return loss_work.work.of_side(side) + place + static_cast<std::size_t>(tile.row) * row;
    }
    BROADLOOM_HD void hand_on(const float* source, int place, int row) const {
      copy_fours(block, source, tile.count * row, array(place, row));
    }
    // Rounds in place and copies the rounded numbers; complete after the next sync().
    BROADLOOM_HD void hand_on_rounded(float* source, int place, int row) const {
      float* const target = array(place, row);
      for (int i = 4 * block.thread(); i < tile.count * row; i += 4 * block.threads()) {
        const Four four = rounded(load_four(source + i));
        store_four(four, source + i);
        store_four(four, target + i);
      }
    }

    BROADLOOM_HD void gather() {
      if (block.thread() < tile.count) {
        const int row = loss_work.indices[tile.in_minibatch + block.thread()];
        in_block[block.thread()] = row;
        loss_work.loss.fetch_ahead(loss_work.rollout, static_cast<std::size_t>(row));
      }
      block.sync();
      // Several lanes share a row; each issues several reads before it waits for one.
      constexpr int kReads = 8;
      const int width = body.row_in(), row = TilePlaces::row(width);
      const int lanes = block.threads() / places.rows, r = block.thread() / lanes;
      const auto& seen = loss_work.loss.seen(loss_work.rollout, side);
      const std::size_t row_in_block = r < tile.count ? static_cast<std::size_t>(in_block[r]) : 0;
      float* const target = own + places.x + r * row;
      for (int i = block.thread() % lanes; i < width && r < tile.count; i += kReads * lanes) {
        float raw[kReads];
        for (int k = 0; k < kReads; ++k) {
          raw[k] = i + k * lanes < width ? seen.raw(row_in_block, i + k * lanes, width) : 0.0f;
        }
        for (int k = 0; k < kReads && i + k * lanes < width; ++k) {
          const float shown = seen.scaled(raw[k], i + k * lanes);
          target[i + k * lanes] = body.layers > 0 ? to_tf32(shown) : shown;  // heads do not round
        }
      }
      block.sync();
      if (!body.begins_with_image()) hand_on(own + places.x, loss_work.work.places[side].x, row);
    }

    BROADLOOM_HD void forward(int l) {
      const DeviceLayer& layer = body.hidden[l];
      const DeviceNorm& norm = body.norms[l];
      const Finish finish{activation, norm.is_there()};
      const float* const x = own + (l > 0 ? places.y[l - 1] : places.x);
      float* const y = own + places.y[l];
      if (body.is_of_image(l)) {
        tensor_convolve(block, layer, patches, finish, read.start, x, y, tile.count);
      } else if (places.rows > kTensorRows) {
        tensor_forward<2>(block, layer, finish, read.start, x, y, own + places.scratch);
      } else {
        tensor_forward<1>(block, layer, finish, read.start, x, y, own + places.scratch);
      }
      block.sync();
      const int row = TilePlaces::row(layer.row_out());
      if (norm.is_there()) {
        tensor_norm_forward(block, norm, activation, read, y, own + places.moments[l], z_of(l), y,
                            tile.count);
        block.sync();
      }
      hand_on_rounded(y, loss_work.work.places[side].hidden[l], row);
      block.sync();
    }
    // The normalised output of a layer before its activation.
    BROADLOOM_HD float* z_of(int l) const {
      if (body.is_of_image(l)) return own + places.z;
      return array(loss_work.work.places[side].linear[l],
                   TilePlaces::row(body.hidden[l].row_out()));
    }

    BROADLOOM_HD void heads() {
      const DeviceNetwork& network = loss_work.work.network;
      const float* const top = own + places.top(body);
      float *const outputs = own + places.outputs, *const values = own + places.values;
      forward_head(block, body.head, read, top, outputs, places.rows, tile.count);
      forward_head(block, body.value_head, read, top, values, places.rows, tile.count);
      block.sync();
      const LossTile loss =
          loss_work.tile(tile, side, outputs, values, own + places.kept, places.rows, terms);
      auto& sums =
          loss_work.work.tile_sums[static_cast<std::size_t>(number) * network.sides() + side];
      if (block.thread() == 0) sums = typename Loss::Sums();
      if (block.thread() < tile.count) loss_work.take_row(loss, tile, block.thread());
      block.sync();
      loss_work.loss.add(
          block, loss, sums,
          loss_work.work.log_std + static_cast<std::size_t>(number) * network.outputs);
      columns(outputs, loss_work.work.places[side].outputs, body.head.out);
      columns(values, loss_work.work.places[side].values, body.value_head.out);
      if (body.layers == 0) return;
      backward_heads(block, body, activation, read, HeadDeltas{outputs, values, places.rows}, top,
                     tile.count, own + places.top(body));
      block.sync();
    }
    BROADLOOM_HD void columns(const float* source, int place, int count) const {
      const int stride = loss_work.work.places[side].rows;
      float* const target = loss_work.work.of_side(side) + place + tile.row;
      for (int e = block.thread(); e < count * places.rows; e += block.threads()) {
        const int c = e / places.rows, r = e % places.rows;
        if (r < tile.count) target[static_cast<std::size_t>(c) * stride + r] = source[e];
      }
    }

    BROADLOOM_HD void backward(int l) {
      const DeviceLayer& layer = body.hidden[l];
      const DeviceNorm& norm = body.norms[l];
      const bool is_of_image = body.is_of_image(l);
      const int row = TilePlaces::row(layer.row_out());
      float* const delta = own + places.y[l];
      if (norm.is_there()) {
        float* const z = z_of(l);
        if (is_of_image) {
          learn_norm(layer, norm, delta, z);
        } else {
          hand_on(delta, loss_work.work.places[side].delta[l], row);
          block.sync();
        }
        tensor_norm_backward(block, norm, read, delta, own + places.moments[l], z, delta,
                             tile.count);
        block.sync();
      }
      if (is_of_image) return learn_filters(layer, delta);
      hand_on_rounded(delta,
                      norm.is_there() ? loss_work.work.places[side].before[l]
                                      : loss_work.work.places[side].delta[l],
                      row);
      if (l == 0) return;
      float* const below = own + places.y[l - 1];
      block.sync();
      if (places.rows > kTensorRows) {
        tensor_backward<2>(block, layer, activation, read.start, delta, below);
      } else {
        tensor_backward<1>(block, layer, activation, read.start, delta, below);
      }
      block.sync();
    }

    BROADLOOM_HD void learn_filters(const DeviceLayer& layer, const float* delta) {
      TensorFilters{layer, patches, own + places.x, delta, tile.count}.run(
          block, own + places.z, loss_work.work.image_of(number, side));
    }
    // Sums for gain and bias: first each position over all rows, then over the parts of a row.
    BROADLOOM_HD void learn_norm(const DeviceLayer& layer, const DeviceNorm& norm,
                                 const float* delta, const float* z) {
      const int width = norm.parts * norm.size, row = TilePlaces::row(width);
      float *const gains = own + places.scratch, *const biases = gains + width;
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
      float* const target = loss_work.work.image_of(number, side) + (layer.in + 1) * layer.out;
      constexpr int kEach = 16;  // threads per sum
      for (int first = 0; first < 2 * norm.size; first += block.threads() / kEach) {
        const int e = first + block.thread() / kEach;
        const bool is_there = e < 2 * norm.size;  // all continue, to exchange numbers
        const float* const source = gains + (e >= norm.size ? width : 0) + e % norm.size;
        float sum = 0.0f;
        for (int p = block.thread() % kEach; p < norm.parts && is_there; p += kEach) {
          sum += source[p * norm.size];
        }
        for (int mask = kEach / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
        if (is_there && block.thread() % kEach == 0) target[e] = sum;
      }
      block.sync();
    }
  };
};

}  // namespace broadloom::cuda
