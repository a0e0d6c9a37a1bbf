// Observations as they are stored, row after row: float32, or uint8 where an environment's pixels
// are, and in a block each frame of a stack once. Nobody else knows how they lie, nor how a row
// becomes the floats that a network reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/env/observation_rows.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// What a row is.
struct ObservationType {
  int size = 0;  // numbers
  Dtype dtype = Dtype::kF32;
  float full_scale = 255.0f;  // what networks read uint8 divided by
  FrameLayout frames = {};    // of uint8 rows that are stacks

  std::size_t row_bytes() const { return static_cast<std::size_t>(size) * dtype_size(dtype); }
  bool operator==(const ObservationType&) const = default;
};

inline ObservationType observation_type(const Space& space) {
  return {space.size, space.dtype, space.full_scale(), space.frame_layout()};
}

// Which environments' episodes ended with a step; of none, where there was no step.
struct StepEnds {
  const std::uint8_t* terminated = nullptr;  // [k]
  const std::uint8_t* truncated = nullptr;   // [k]
  bool at(std::size_t k) const { return terminated != nullptr && (terminated[k] | truncated[k]); }
};

// Rows by themselves are stored whole. Those of a block's transitions, [T, N], are one stack after
// another of the same N environments, of which each shows one frame that the last did not: there
// are [k - 1 + T, N] frames, of which the first k - 1 are those that the block's first stacks
// bring along, and every row has an age, the steps since its episode's first observation, up to
// k - 1. A stack is its row's frame and as many before it as the age says; the rest is padding. All
// frames of a first stack are there, so its age is k - 1.
class Observations {
 public:
  Observations() = default;
  Observations(ObservationType type, std::size_t rows) : type_(type) { resize(rows); }

  // Fewer rows than there have been take no other memory.
  void resize(std::size_t rows);
  // The rows of a block's transitions.
  void resize_block(int T, int N);
  // Memory for so many rows.
  void reserve(std::size_t rows);
  void reserve_block(int T, int N);
  // What the rows of a block's transitions take, in bytes.
  static std::size_t block_bytes(const ObservationType& type, int T, int N);

  bool operator==(const Observations&) const = default;
  const ObservationType& type() const { return type_; }
  bool empty() const { return rows_ == 0 || type_.size == 0; }
  std::size_t size() const { return rows_ * width(); }  // numbers that can be read

  // To be written into, from row `first` on. Not where each frame is stored once.
  ObservationRows rows(std::size_t first = 0);
  // Takes over `count` rows of another one of the same type, whose rows are stored whole where
  // these are not.
  // before: of a block's transitions, how the step before ended for each of these environments, so
  // that all rows of a step are written after those of the step before.
  void write(std::size_t first, const Observations& from, std::size_t from_row, std::size_t count,
             const StepEnds& before = {});

  // As networks read them: float32 as they are, uint8 divided by full_scale. out: [count, size].
  void read(std::size_t first, std::size_t count, float* out) const {
    if (type_.dtype != Dtype::kF32) return read_bytes(first, count, out);
    const float* from = floats_.data() + first * width();
    const std::size_t numbers = count * width();
    // Rows are short: a plain loop beats a call of memcpy.
    for (std::size_t i = 0; i < numbers; ++i) out[i] = from[i];
  }
  // The same without a copy where they are stored so; else in scratch [count, size].
  const float* view(std::size_t first, std::size_t count, float* scratch) const {
    if (type_.dtype == Dtype::kF32) return floats_.data() + first * width();
    read_bytes(first, count, scratch);
    return scratch;
  }

  // f(const Number*, width, before) on the numbers that are stored of a block's transitions,
  // [before + T, N, width]: `before` frames of each environment are older than the block.
  template <class F>
  decltype(auto) visit(F&& f) const {
    const int stored = static_cast<int>(stored_width());
    if (type_.dtype == Dtype::kF32) return f(floats_.data(), stored, 0);
    return f(bytes_.data(), stored, across_ > 0 ? type_.frames.count - 1 : 0);
  }
  // f(bytes, lines, unit bytes) on all that is stored, for who sends it: `lines` one behind the
  // other, each with so many bytes of each of `units` environments. lines: of a block's
  // transitions, its steps; of rows by themselves, 1.
  template <class F>
  void visit_lines(std::size_t lines, std::size_t units, F&& f) {
    if (empty()) return;
    if (type_.dtype == Dtype::kF32) {
      return f(floats_.data(), lines, size() * sizeof(float) / (lines * units));
    }
    if (across_ == 0) return f(bytes_.data(), lines, size() / (lines * units));
    f(bytes_.data(), lines + older(), stored_width());
    f(ages(), lines, std::size_t{1});
  }
  // What is stored of a row alone, for who compares and hashes: all of it, or its newest frame.
  std::span<const std::byte> row_bytes(std::size_t row) const;
  // float32 rows, which are stored as they are. Empty where rows are uint8.
  std::span<float> floats() { return floats_; }
  std::span<const float> floats() const { return floats_; }

 private:
  static bool stores_frames(const ObservationType& type, int T);
  std::size_t width() const { return static_cast<std::size_t>(type_.size); }
  std::size_t stored_width() const {
    return across_ > 0 ? width() / static_cast<std::size_t>(type_.frames.count) : width();
  }
  std::size_t older() const { return static_cast<std::size_t>(type_.frames.count - 1); }
  const std::uint8_t* frame(std::size_t row, std::size_t back) const {
    return bytes_.data() + (row + (older() - back) * across_) * stored_width();
  }
  std::uint8_t* ages() { return bytes_.data() + (rows_ + older() * across_) * stored_width(); }
  std::uint8_t age(std::size_t row) const {
    return bytes_[(rows_ + older() * across_) * stored_width() + row];
  }
  void write_stack(std::size_t row, const std::uint8_t* stack, bool begins);
  bool is_stack(std::size_t row, const std::uint8_t* stack) const;
  // f(pixels of a row as bytes, how many numbers, the first one's number in the row), in order.
  template <class F>
  void over_bytes(std::size_t row, F&& f) const;
  void read_bytes(std::size_t first, std::size_t count, float* out) const;

  ObservationType type_;
  std::size_t rows_ = 0;
  std::size_t across_ = 0;             // N of a block whose frames are stored once; 0: whole rows
  AlignedVector<float> floats_;        // [rows, size] or empty
  AlignedVector<std::uint8_t> bytes_;  // [rows, size]; frames, then ages [rows]; or empty
};

}  // namespace broadloom
