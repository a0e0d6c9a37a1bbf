// Weights of a dense layer on their way to a block for its tensor cores: piece after piece through
// a ring of shared memory, of which some are under way while one is worked on.
#pragma once

#include "cuda/sides/kernel.h"
#include "cuda/tile/network.h"
#include "cuda/tile/product.h"

namespace broadloom::cuda {

class WeightStream {
 public:
  static constexpr int kInputs = 64, kOutputs = 128;  // of a piece: W [kInputs, kOutputs]
  static constexpr int kThreads = 256;
  // From one input to the next: other banks for neighbours, along both sides.
  static constexpr int kRow = kOutputs + 4;
  static constexpr int kFloats = kInputs * kRow;       // of a place in the ring
  static constexpr int kLeastPlaces = 2, kPlaces = 3;  // of it

  // kForward: for outputs, piece by piece along the inputs; kBack: the other way round.
  enum Direction { kForward, kBack };

  // What is worked on: zeros where there are no weights.
  struct Piece {
    const float* w;
    int input, output;  // from where on
    bool begins, ends;  // the sums of its outputs (kForward) or inputs (kBack)
  };

  BROADLOOM_HD WeightStream(float* ring, int places) : ring_(ring), places_(places) {}

  // Nobody works on a piece any more (sync()).
  template <class Block>
  BROADLOOM_HD void begin(Block& block, const DeviceLayer& layer, const float* w,
                          Direction direction) {
    w_ = w;
    in_ = layer.in;
    out_ = layer.out;
    direction_ = direction;
    fours_ = out_ % 4 == 0 && holds_fours(w);
    const int down = (in_ + kInputs - 1) / kInputs, across = (out_ + kOutputs - 1) / kOutputs;
    along_ = direction == kForward ? down : across;
    pieces_ = down * across;
    asked_ = taken_ = 0;
    for (int p = 0; p + 1 < places_; ++p) ask(block);
  }
  BROADLOOM_HD int pieces() const { return pieces_; }

  // The next one, once all threads are done with the one before it.
  template <class Block>
  BROADLOOM_HD Piece next(Block& block) {
    if (places_ > kLeastPlaces) {
      block.template await_groups<kPlaces - 2>();
    } else {
      block.template await_groups<kLeastPlaces - 2>();
    }
    block.sync();
    ask(block);
    const int q = taken_++;
    return {ring_ + q % places_ * kFloats, input_of(q), output_of(q), q % along_ == 0,
            q % along_ == along_ - 1};
  }

 private:
  BROADLOOM_HD int input_of(int q) const {
    return (direction_ == kForward ? q % along_ : q / along_) * kInputs;
  }
  BROADLOOM_HD int output_of(int q) const {
    return (direction_ == kForward ? q / along_ : q % along_) * kOutputs;
  }
  // A group of copies, of none behind the last piece.
  template <class Block>
  BROADLOOM_HD void ask(Block& block) {
    if (asked_ < pieces_) bring(block, ring_ + asked_ % places_ * kFloats);
    ++asked_;
    block.end_copies();
  }
  template <class Block>
  BROADLOOM_HD void bring(Block& block, float* to) {
    const int first_i = input_of(asked_), first_o = output_of(asked_);
    for (int e = block.thread(); e < kInputs * kOutputs / 4; e += kThreads) {
      const int within = e / (kOutputs / 4), column = e % (kOutputs / 4) * 4;
      const int i = first_i + within, o = first_o + column;
      const float* const from = w_ + static_cast<std::size_t>(i) * out_ + o;
      float* const place = to + within * kRow + column;
      if (fours_) {
        const bool is_there = i < in_ && o < out_;
        block.copy_ahead(place, is_there ? from : w_, is_there);
      } else {
        for (int k = 0; k < 4; ++k) {
          const bool is_there = i < in_ && o + k < out_;
          block.copy_one_ahead(place + k, is_there ? from + k : w_, is_there);
        }
      }
    }
  }

  float* ring_;
  int places_;
  const float* w_ = nullptr;
  int in_ = 0, out_ = 0, along_ = 1, pieces_ = 0, asked_ = 0, taken_ = 0;
  Direction direction_ = kForward;
  bool fours_ = false;
};

}  // namespace broadloom::cuda
