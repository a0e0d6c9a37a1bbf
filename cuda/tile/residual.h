// Residual sections (residual_shape.h), step by step, by a team of threads. They have the bits of
// Chain (nn/chain.h).
#pragma once

#include "broadloom/math/element_functions.h"
#include "cuda/tile/same_convolution.h"

namespace broadloom::cuda {

// One step of a section. The threads of all teams must have finished the step before.
struct ResidualStep {
  const ResidualSections& all;
  const ResidualPlaces& places;
  int x;  // place of the images that the first section reads
  int s, step;

  BROADLOOM_HD const ResidualSection& section() const { return all.sections[s]; }
  BROADLOOM_HD SectionPlaces own() const { return places.of_section(all, s); }
  BROADLOOM_HD int convolution() const { return step > 0 ? step - 1 : 0; }
  BROADLOOM_HD int input() const {
    if (step > 0) return own().input(convolution());
    return s > 0 ? places.of_section(all, s - 1).v(ResidualSection::kBlocks) : x;
  }

  template <class Team>
  BROADLOOM_HD void forward(const Team& team, Activation activation, const TileParams& params,
                            float* work, int rows) const {
    const SectionPlaces at_hand = own();
    const int c = convolution(), block = c / 2;
    const bool is_inner = step > 0 && c % 2 == 1, ends_block = c > 0 && c % 2 == 0;
    // Numbers that it adds to its sums, and places for the results as they are and activated. Null:
    // none.
    const float* const added = ends_block ? work + at_hand.v(block - 1) : nullptr;
    float* plain = step == 0 ? work + at_hand.wide : work + at_hand.v(block);
    float* active = step == 0 ? nullptr : work + at_hand.active(block);
    if (is_inner) {
      plain = nullptr;
      active = work + at_hand.inner(block);
    }
    const auto finish = [&](int place, float number) {
      if (added != nullptr) number += added[place];
      if (plain != nullptr) plain[place] = number;
      if (active != nullptr) active[place] = element::activate(activation, number);
    };
    if (step == ResidualSection::kPool) {
      return pool(team, section(), work + at_hand.wide, rows, finish);
    }
    multiply_neighbours(team, NeighbourProduct::forward(section().convolution(c), params),
                        work + input(), rows, finish);
  }

  // From the derivative of the step's output to that of its input, before the activation.
  template <class Team>
  BROADLOOM_HD void back(const Team& team, Activation activation, const TileParams& params,
                         float* work, int rows) const {
    if (s == 0 && step == 0) return;  // nothing learns from the images' derivative
    const SectionPlaces at_hand = own();
    if (step == ResidualSection::kPool) {
      return pool_back(team, section(), work + at_hand.wide, work + at_hand.delta(0), rows,
                       work + at_hand.wide_delta);
    }
    const int c = convolution(), block = c / 2;
    const bool is_inner = c % 2 == 1;
    // The input if it is activated; and the block's other way from its output to its input.
    const float* const y = c > 0 ? work + input() : nullptr;
    const float* const added = is_inner ? work + at_hand.delta(block + 1) : nullptr;
    float* const below = c == 0
                             ? work + places.of_section(all, s - 1).delta(ResidualSection::kBlocks)
                         : is_inner ? work + at_hand.delta(block)
                                    : work + at_hand.inner_delta(block - 1);
    multiply_neighbours(team, NeighbourProduct::back(section().convolution(c), params),
                        work + at_hand.output_delta(c), rows, [&](int place, float sum) {
                          float made = sum;
                          if (y != nullptr) {
                            made = element::activate_backward(activation, y[place], sum);
                          }
                          if (added != nullptr) made += added[place];
                          below[place] = made;
                        });
  }
};

// All sections of a tile, by a block. Inputs must be complete before the call (sync()); outputs are
// complete after it. Called, so that kernels of other bodies keep their registers.
template <class Block>
BROADLOOM_CALLED BROADLOOM_HD void forward_residual(Block& block, const ResidualSections& all,
                                                    Activation activation, const TileParams& params,
                                                    const TilePlaces& places, float* work,
                                                    int rows) {
  for (int s = 0; s < all.count; ++s) {
    for (int step = 0; step < ResidualSection::kSteps; ++step) {
      ResidualStep{all, places.residual, places.x, s, step}.forward(block, activation, params, work,
                                                                    rows);
      block.sync();
    }
  }
}

}  // namespace broadloom::cuda
