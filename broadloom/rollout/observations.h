// Storage of observations, row by row: float32, or uint8 for pixels. A block stores each frame of a
// stack once, and a dictionary's bytes as bytes. Only this class knows the layout and how rows
// become a network's float inputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/env/observation_rows.h"
#include "broadloom/env/spec.h"

namespace broadloom {

// Neighbouring numbers of float rows that are whole and fit into bytes: groups of images and
// choices (env/spec.h).
struct ByteRuns {
  static constexpr std::size_t kMost = 8;
  struct Run {
    int first = 0, size = 0;
    bool operator==(const Run&) const = default;
  };
  std::array<Run, kMost> runs{};
  std::size_t count = 0;

  bool empty() const { return count == 0; }
  std::size_t numbers() const {
    std::size_t sum = 0;
    for (std::size_t r = 0; r < count; ++r) sum += static_cast<std::size_t>(runs[r].size);
    return sum;
  }
  bool operator==(const ByteRuns&) const = default;
};

// The runs of a dictionary. None if there are more than kMost.
ByteRuns byte_runs(const Space& space);

// Type of a row.
struct ObservationType {
  int size = 0;  // numbers
  Dtype dtype = Dtype::kF32;
  float full_scale = 255.0f;  // divisor of uint8 rows
  FrameLayout frames = {};    // of stacked rows
  ByteRuns byte_runs = {};    // of kF32

  std::size_t row_bytes() const { return static_cast<std::size_t>(size) * dtype_size(dtype); }
  bool operator==(const ObservationType&) const = default;
};

inline ObservationType observation_type(const Space& space) {
  return {space.size, space.dtype, space.full_scale(), space.frame_layout(), byte_runs(space)};
}

// Flags of the episodes that ended at a step; null: no step.
struct StepEnds {
  const std::uint8_t* terminated = nullptr;  // [k]
  const std::uint8_t* truncated = nullptr;   // [k]
  bool ended(std::size_t k) const {
    return terminated != nullptr && (terminated[k] | truncated[k]);
  }
};

// resize() stores rows whole. resize_block() stores uint8 stacks of k frames, [T, N], as single
// frames, because a stack has one frame that the stack before has not. It keeps [k - 1 + T, N]
// frames; the first k - 1 come with the block's first stacks. Every row has an age: the steps since
// its episode's first observation, at most k - 1. A stack is its row's frame and `age` frames
// before it; the rest is padding. The first stacks of a block are complete, so their age is k - 1.
// It also packs rows with byte runs: their floats, one byte for each number of a run, and zeros up
// to a multiple of four bytes.
class Observations {
 public:
  Observations() = default;
  Observations(ObservationType type, std::size_t rows) : type_(type) { resize(rows); }

  // Shrinking keeps the memory.
  void resize(std::size_t rows);
  // Rows for a block's transitions, [T, N].
  void resize_block(int T, int N);
  // Allocates memory for later resizes.
  void reserve(std::size_t rows);
  void reserve_block(int T, int N);
  // Memory of the rows of a block's transitions, bytes.
  static std::size_t block_bytes(const ObservationType& type, int T, int N);

  bool operator==(const Observations&) const = default;
  const ObservationType& type() const { return type_; }
  bool empty() const { return rows_ == 0 || type_.size == 0; }
  std::size_t size() const { return rows_ * width(); }  // in numbers

  // Writable rows from `first` on. Not for blocks that store single frames.
  ObservationRows rows(std::size_t first = 0);
  // Copies `count` rows of `source`, which has the same type. If this stores single frames,
  // `source` must store whole rows. previous_ends: for a block, the end flags of the previous step
  // for these environments. Write the rows of a block step by step.
  void write(std::size_t first, const Observations& source, std::size_t source_row,
             std::size_t count, const StepEnds& previous_ends = {});

  // Reads rows as network inputs: float32 unchanged, uint8 divided by full_scale. out: [count,
  // size].
  void read(std::size_t first, std::size_t count, float* out) const {
    if (type_.dtype != Dtype::kF32 || packed_) return read_bytes(first, count, out);
    const float* source = floats_.data() + first * width();
    const std::size_t numbers = count * width();
    // Rows are short, so a plain loop is faster than memcpy.
    for (std::size_t i = 0; i < numbers; ++i) out[i] = source[i];
  }
  // The same for rows `indices` [count].
  void read_rows(const std::int32_t* indices, int count, float* out) const;
  // As read(), without a copy for float32; else written to scratch [count, size].
  const float* view(std::size_t first, std::size_t count, float* scratch) const {
    if (type_.dtype == Dtype::kF32 && !packed_) return floats_.data() + first * width();
    read_bytes(first, count, scratch);
    return scratch;
  }

  // Calls f(const Number*, width, older) on the stored numbers of a block, [older + T, N, width].
  // `older` frames of each environment come from before the block.
  template <class F>
  decltype(auto) visit(F&& f) const {
    const int stored = static_cast<int>(stored_width());
    if (type_.dtype == Dtype::kF32 && !packed_) return f(floats_.data(), stored, 0);
    return f(bytes_.data(), stored, across_ > 0 ? type_.frames.count - 1 : 0);
  }
  // Calls f(data, lines, unit bytes) on everything stored, to send it to other ranks. Each line
  // holds `unit bytes` of each of `units` environments. lines: the steps of a block; 1 for plain
  // rows.
  template <class F>
  void visit_lines(std::size_t lines, std::size_t units, F&& f) {
    if (empty()) return;
    if (packed_) return f(bytes_.data(), lines, rows_ * stored_width() / (lines * units));
    if (type_.dtype == Dtype::kF32) {
      return f(floats_.data(), lines, size() * sizeof(float) / (lines * units));
    }
    if (across_ == 0) return f(bytes_.data(), lines, size() / (lines * units));
    f(bytes_.data(), lines + older(), stored_width());
    f(ages(), lines, std::size_t{1});
  }
  // The bytes stored for this row only, to compare and hash: the whole row or its newest frame.
  std::span<const std::byte> row_bytes(std::size_t row) const;
  // Whether rows are packed: bytes of byte runs are stored as such.
  bool is_packed() const { return packed_; }
  // Writes a packed row from a raw one [size]. floats(first, count, out) writes the numbers from
  // `first` on that are not bytes.
  template <class F>
  void pack(std::size_t row, const float* raw, F&& floats);
  // Calls f(first, count, numbers) on the numbers of a float32 row that are not bytes.
  template <class F>
  void visit_floats(std::size_t row, F&& f) const;
  // The float32 rows. Empty if rows are uint8 or packed.
  std::span<float> floats() { return floats_; }
  std::span<const float> floats() const { return floats_; }

 private:
  static bool stores_frames(const ObservationType& type, int T);
  std::size_t width() const { return static_cast<std::size_t>(type_.size); }
  static std::size_t packed_width(const ObservationType& type) {
    const std::size_t bytes = type.byte_runs.numbers();
    return (static_cast<std::size_t>(type.size) - bytes) * sizeof(float) + (bytes + 3) / 4 * 4;
  }
  // Calls f(first, count) on the numbers between byte runs, and g(first, count) on those in them.
  template <class F, class G>
  void over_runs(F&& f, G&& g) const;
  void write_packed(std::size_t first, const Observations& source, std::size_t source_row,
                    std::size_t count);
  void unpack(std::size_t row, float* out) const;
  std::size_t stored_width() const {
    if (packed_) return packed_width(type_);
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
  // Calls f(bytes, count, place in the row) on the pieces of a row, in order.
  template <class F>
  void visit_pieces(std::size_t row, F&& f) const;
  void read_bytes(std::size_t first, std::size_t count, float* out) const;

  ObservationType type_;
  std::size_t rows_ = 0;
  bool packed_ = false;                // bytes_ has packed rows
  std::size_t across_ = 0;             // N of a block of single frames; 0: whole rows
  AlignedVector<float> floats_;        // [rows, size] or empty
  AlignedVector<std::uint8_t> bytes_;  // [rows, size]; frames, then ages [rows]; or empty
};

template <class F, class G>
void Observations::over_runs(F&& f, G&& g) const {
  std::size_t next = 0;
  for (std::size_t r = 0; r < type_.byte_runs.count; ++r) {
    const std::size_t first = static_cast<std::size_t>(type_.byte_runs.runs[r].first);
    const std::size_t count = static_cast<std::size_t>(type_.byte_runs.runs[r].size);
    if (first > next) f(next, first - next);
    g(first, count);
    next = first + count;
  }
  if (width() > next) f(next, width() - next);
}

template <class F>
void Observations::pack(std::size_t row, const float* raw, F&& floats) {
  std::uint8_t* const begin = bytes_.data() + row * stored_width();
  float* numbers = reinterpret_cast<float*>(begin);  // rows begin at multiples of four
  std::uint8_t* bytes = begin + (width() - type_.byte_runs.numbers()) * sizeof(float);
  over_runs(
      [&](std::size_t first, std::size_t count) {
        floats(first, count, numbers);
        numbers += count;
      },
      [&](std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          *bytes++ = static_cast<std::uint8_t>(static_cast<int>(raw[first + i]));
        }
      });
}

template <class F>
void Observations::visit_floats(std::size_t row, F&& f) const {
  const float* packed =
      packed_ ? reinterpret_cast<const float*>(bytes_.data() + row * stored_width()) : nullptr;
  over_runs(
      [&](std::size_t first, std::size_t count) {
        f(first, count, packed_ ? packed : &floats_[row * width() + first]);
        packed += packed_ ? count : 0;
      },
      [](std::size_t, std::size_t) {});
}

}  // namespace broadloom
