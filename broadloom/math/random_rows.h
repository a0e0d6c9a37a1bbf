// Many random numbers at once, of one stream or of neighbouring ones. They equal the draws of
// core/random.h's Random.
#pragma once

#include <cstddef>
#include <cstdint>

#include "broadloom/core/purpose.h"

namespace broadloom {

// Streams (seed, purpose, first_lane + r, index) for r in [0, rows).
struct RandomRows {
  std::uint64_t seed;
  Purpose purpose;
  std::uint32_t first_lane;
  std::uint64_t index;  // below 2^56
  int rows;
};

struct RandomStream {
  std::uint64_t seed;
  Purpose purpose;
  std::uint32_t lane;
  std::uint64_t index;  // below 2^56
};

// words [4 * blocks]: bits32() starting at draw 4 first_block. blocks: a multiple of 16.
void random_words(const RandomStream& stream, std::uint32_t first_block, int blocks,
                  std::uint32_t* words);

// In the functions below, arrays [n, stride] hold one stream per column. stride is a multiple of 16
// and at least rows. Columns up to the next multiple of 16 may be overwritten. Nothing is
// allocated.

// words [4, stride]: draws 4 block to 4 block + 3 of every stream's bits32().
void random_words(const RandomRows& streams, std::uint32_t block, std::uint32_t* words,
                  std::size_t stride);

// out [count, stride]: uniform on [0, 1), the upper 24 bits of each stream's first words.
void random_uniforms(const RandomRows& streams, int count, float* out, std::size_t stride);

// out [count, stride]: standard normals by Box and Muller (1958), two from every two words. The
// radius has 31 random bits, so |x| < 6.7.
void random_normals(const RandomRows& streams, int count, float* out, std::size_t stride);

}  // namespace broadloom
