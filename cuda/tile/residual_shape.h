// The residual sections before a body's hidden layers (encoder = impala) as kernels see them:
// sizes, offsets of parameters, and where arrays lie. All follows from a few numbers, because a
// list of 18 layers would take most of the 4 KB that a kernel may receive.
#pragma once

#include "broadloom/core/host_device.h"

namespace broadloom::cuda {

// Floats from row to row of an array: an odd number of fours (TilePlaces).
BROADLOOM_HD inline int padded_row(int width) { return ((width + 3) / 4 | 1) * 4; }

// A convolution with patches of 3 x 3 pixels. Zeros surround the image, so its size stays. b
// [filters] follows W [patch, filters].
struct SameConvolution {
  static constexpr int kTaps = 9;
  int height, width, channels, filters, weight;

  BROADLOOM_HD int patch() const { return kTaps * channels; }
  BROADLOOM_HD int pixels() const { return height * width; }
  BROADLOOM_HD int bias() const { return weight + patch() * filters; }
  BROADLOOM_HD int end() const { return bias() + filters; }
};

// Convolution 0, a max pool that halves the image, and two blocks: with v their input, v + f(v).
// f(v) is a convolution of activated v, activated, and another convolution.
struct ResidualSection {
  static constexpr int kBlocks = 2, kConvolutions = 1 + 2 * kBlocks;
  // Steps are convolution 0, the pool, and the other convolutions.
  static constexpr int kPool = 1, kSteps = kConvolutions + 1;
  int height, width, channels;  // of the image that it reads
  int filters, weight;

  BROADLOOM_HD int pooled_height() const { return (height + 1) / 2; }
  BROADLOOM_HD int pooled_width() const { return (width + 1) / 2; }
  BROADLOOM_HD SameConvolution convolution(int c) const {
    const SameConvolution first{height, width, channels, filters, weight};
    if (c == 0) return first;
    const int each = (SameConvolution::kTaps * filters + 1) * filters;
    return {pooled_height(), pooled_width(), filters, filters, first.end() + (c - 1) * each};
  }
  // Floats of a row before and after the pool.
  BROADLOOM_HD int wide_row() const { return padded_row(height * width * filters); }
  BROADLOOM_HD int row() const { return padded_row(pooled_height() * pooled_width() * filters); }
};

struct ResidualSections {
  static constexpr int kMost = 3;
  int count = 0;
  ResidualSection sections[kMost];

  BROADLOOM_HD bool are_there() const { return count > 0; }
  BROADLOOM_HD int row_in() const {
    return sections[0].height * sections[0].width * sections[0].channels;
  }
};

// Offsets of a section's arrays. v(0) is the pool's output, v(1) and v(2) are those of the blocks.
// Only the backward pass keeps all of them, and has deltas.
struct SectionPlaces {
  int wide;  // output of convolution 0
  int wide_delta;
  int first, each;  // of the arrays after the pool
  bool keeps;

  BROADLOOM_HD int v(int i) const { return place(keeps ? i : 0); }
  BROADLOOM_HD int active(int i) const { return place(keeps ? 3 + i : 1); }  // activated v(i)
  BROADLOOM_HD int inner(int block) const { return place(keeps ? 6 + block : 2); }
  BROADLOOM_HD int delta(int i) const { return place(8 + i); }  // of v(i)
  BROADLOOM_HD int inner_delta(int block) const { return place(11 + block); }
  static constexpr int kForward = 3, kForwardAndBack = 13;  // arrays after the pool

  // Input of convolution c > 0, and the derivative of any one's output.
  BROADLOOM_HD int input(int c) const { return c % 2 == 1 ? active(c / 2) : inner(c / 2 - 1); }
  BROADLOOM_HD int output_delta(int c) const {
    if (c == 0) return wide_delta;
    return c % 2 == 1 ? inner_delta(c / 2) : delta(c / 2);
  }

 private:
  BROADLOOM_HD int place(int array) const { return first + array * each; }
};

// Places of all sections. Without a backward pass, each section overwrites the arrays of the one
// before; its first convolution reads v(2) of that one, which the pool then overwrites.
struct ResidualPlaces {
  int begin[ResidualSections::kMost];
  int room;  // before the arrays after a pool, if sections share their places; otherwise 0
  int rows;

  // Gives arrays their places from `start` on. Returns their end.
  BROADLOOM_HD int make(const ResidualSections& all, int tile_rows, bool goes_back, int start) {
    rows = tile_rows;
    room = 0;
    int widest = 0, end = start;
    for (int s = 0; s < all.count; ++s) {
      const ResidualSection& section = all.sections[s];
      const int wide = rows * section.wide_row(), each = rows * section.row();
      begin[s] = goes_back ? end : start;
      if (goes_back) end += 2 * wide + SectionPlaces::kForwardAndBack * each;
      room = !goes_back && wide > room ? wide : room;
      widest = each > widest ? each : widest;
    }
    return goes_back ? end : start + room + SectionPlaces::kForward * widest;
  }
  BROADLOOM_HD SectionPlaces of_section(const ResidualSections& all, int s) const {
    const ResidualSection& section = all.sections[s];
    const int wide = rows * section.wide_row(), each = rows * section.row();
    if (room > 0) return {begin[s], 0, begin[s] + room, each, false};
    return {begin[s], begin[s] + wide, begin[s] + 2 * wide, each, true};
  }
  // Activated output of the last section, and the derivative before that activation.
  BROADLOOM_HD int top(const ResidualSections& all) const {
    return of_section(all, all.count - 1).active(ResidualSection::kBlocks);
  }
  BROADLOOM_HD int top_delta(const ResidualSections& all) const {
    return of_section(all, all.count - 1).delta(ResidualSection::kBlocks);
  }
};

}  // namespace broadloom::cuda
