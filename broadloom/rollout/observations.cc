#include "broadloom/rollout/observations.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <type_traits>

namespace broadloom {
namespace {

// Size of the pieces in which a stack is assembled; fits the first-level cache.
constexpr std::size_t kPiece = kMostPixelNumbers;

// Divides, because a product with 1 / 255 gives other bits than x / 255. Planes of 0 and 1 need no
// division.
void as_floats(const std::uint8_t* bytes, std::size_t numbers, float full_scale, float* out) {
  if (full_scale == 1.0f) {
    for (std::size_t i = 0; i < numbers; ++i) out[i] = static_cast<float>(bytes[i]);
    return;
  }
  for (std::size_t i = 0; i < numbers; ++i) out[i] = static_cast<float>(bytes[i]) / full_scale;
}

}  // namespace

ByteRuns byte_runs(const Space& space) {
  ByteRuns out;
  int end = -1;  // of the last run
  for (const ObservationGroup& group : space.groups) {
    if (group.dtype == Dtype::kF32) continue;
    if (group.first != end) {
      if (out.count == ByteRuns::kMost) return {};
      out.runs[out.count++].first = group.first;
    }
    out.runs[out.count - 1].size += group.size;
    end = group.first + group.size;
  }
  return out;
}

// A block of one step has no repeated frame.
bool Observations::stores_frames(const ObservationType& type, int T) {
  return type.frames.count > 1 && type.dtype == Dtype::kU8 && T > 1;
}

std::size_t Observations::block_bytes(const ObservationType& type, int T, int N) {
  const std::size_t rows = static_cast<std::size_t>(T) * static_cast<std::size_t>(N);
  if (!type.byte_runs.empty()) return rows * packed_width(type);
  if (!stores_frames(type, T)) return rows * type.row_bytes();
  const std::size_t count = static_cast<std::size_t>(type.frames.count);
  const std::size_t frames = rows + (count - 1) * static_cast<std::size_t>(N);
  return frames * (type.row_bytes() / count) + rows;
}

void Observations::reserve(std::size_t rows) {
  if (type_.dtype == Dtype::kF32) {
    floats_.reserve(rows * width());
  } else {
    bytes_.reserve(rows * width());
  }
}

void Observations::reserve_block(int T, int N) {
  if (!type_.byte_runs.empty()) return bytes_.reserve(block_bytes(type_, T, N));
  if (!stores_frames(type_, T)) {
    return reserve(static_cast<std::size_t>(T) * static_cast<std::size_t>(N));
  }
  bytes_.reserve(block_bytes(type_, T, N));
}

void Observations::resize(std::size_t rows) {
  rows_ = rows;
  across_ = 0;
  packed_ = false;
  if (type_.dtype == Dtype::kF32) {
    floats_.resize(size());
  } else {
    bytes_.resize(size());
  }
}

void Observations::resize_block(int T, int N) {
  const std::size_t rows = static_cast<std::size_t>(T) * static_cast<std::size_t>(N);
  packed_ = !type_.byte_runs.empty();
  if (packed_) {
    rows_ = rows;
    across_ = 0;
    return bytes_.resize(block_bytes(type_, T, N));
  }
  if (!stores_frames(type_, T)) return resize(rows);
  rows_ = rows;
  across_ = static_cast<std::size_t>(N);
  bytes_.resize(block_bytes(type_, T, N));
}

ObservationRows Observations::rows(std::size_t first) {
  assert(across_ == 0 && !packed_);
  if (empty()) return {};
  if (type_.dtype == Dtype::kF32) return floats_.data() + first * width();
  return bytes_.data() + first * width();
}

template <class F>
void Observations::visit_pieces(std::size_t row, F&& f) const {
  if (across_ == 0) return f(bytes_.data() + row * width(), width(), std::size_t{0});
  const FrameLayout& layout = type_.frames;
  const std::size_t count = static_cast<std::size_t>(layout.count), seen = age(row);
  std::array<const std::uint8_t*, kMostFrames> frames;
  for (std::size_t back = 0; back < count; ++back) {
    const bool padded = back > seen;
    frames[count - 1 - back] = padded && layout.padding == FramePadding::kZero
                                   ? nullptr
                                   : frame(row, padded ? seen : back);
  }
  alignas(kCacheLine) std::array<std::uint8_t, kPiece> piece;
  const std::size_t pixel_numbers = count * static_cast<std::size_t>(layout.channels);
  const std::size_t pixels = width() / pixel_numbers, most = kPiece / pixel_numbers;
  for (std::size_t first = 0; first < pixels; first += most) {
    const std::size_t some = std::min(most, pixels - first);
    stack_pixels(layout, frames.data(), first, some, piece.data());
    f(piece.data(), some * pixel_numbers, first * pixel_numbers);
  }
}

void Observations::write(std::size_t first, const Observations& source, std::size_t source_row,
                         std::size_t count, const StepEnds& previous_ends) {
  assert(type_ == source.type_);
  if (packed_ || source.packed_) return write_packed(first, source, source_row, count);
  const std::size_t numbers = count * width(), target_place = first * width();
  const std::size_t source_place = source_row * width();
  if (type_.dtype == Dtype::kF32) {
    std::copy_n(source.floats_.data() + source_place, numbers, floats_.data() + target_place);
  } else if (across_ > 0) {
    assert(source.across_ == 0);
    for (std::size_t k = 0; k < count; ++k) {
      write_stack(first + k, source.bytes_.data() + source_place + k * width(),
                  previous_ends.ended(k));
    }
  } else if (source.across_ == 0) {
    std::copy_n(source.bytes_.data() + source_place, numbers, bytes_.data() + target_place);
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      source.visit_pieces(
          source_row + k, [&](const std::uint8_t* piece, std::size_t some, std::size_t place) {
            std::copy_n(piece, some, bytes_.data() + target_place + k * width() + place);
          });
    }
  }
}

void Observations::write_packed(std::size_t first, const Observations& source,
                                std::size_t source_row, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (!packed_) {
      source.unpack(source_row + k, floats_.data() + (first + k) * width());
    } else if (source.packed_) {
      std::copy_n(source.bytes_.data() + (source_row + k) * stored_width(), stored_width(),
                  bytes_.data() + (first + k) * stored_width());
    } else {
      const float* raw = source.floats_.data() + (source_row + k) * width();
      pack(first + k, raw, [&](std::size_t place, std::size_t numbers, float* out) {
        std::copy_n(raw + place, numbers, out);
      });
    }
  }
}

void Observations::unpack(std::size_t row, float* out) const {
  const std::uint8_t* const begin = bytes_.data() + row * stored_width();
  const float* numbers = reinterpret_cast<const float*>(begin);
  const std::uint8_t* bytes = begin + (width() - type_.byte_runs.numbers()) * sizeof(float);
  over_runs(
      [&](std::size_t first, std::size_t count) {
        std::copy_n(numbers, count, out + first);
        numbers += count;
      },
      [&](std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[first + i] = static_cast<float>(*bytes++);
      });
}

void Observations::write_stack(std::size_t row, const std::uint8_t* stack, bool begins) {
  const int newest = type_.frames.count - 1;
  const auto keep = [&](int number) {
    const std::size_t place = row + static_cast<std::size_t>(number) * across_;
    copy_frame(type_.frames, width(), stack, number, bytes_.data() + place * stored_width());
  };
  std::uint8_t* age = ages() + row;
  if (row < across_) {
    for (int number = 0; number < newest; ++number) keep(number);
    *age = static_cast<std::uint8_t>(newest);
  } else {
    const int previous = *(age - across_);
    *age = static_cast<std::uint8_t>(begins ? 0 : std::min(previous + 1, newest));
  }
  keep(newest);
  assert(is_stack(row, stack));  // else the environments do not stack frames as declared
}

bool Observations::is_stack(std::size_t row, const std::uint8_t* stack) const {
  bool same = true;
  visit_pieces(row, [&](const std::uint8_t* piece, std::size_t some, std::size_t place) {
    same = same && std::equal(piece, piece + some, stack + place);
  });
  return same;
}

std::span<const std::byte> Observations::row_bytes(std::size_t row) const {
  if (across_ > 0) return std::as_bytes(std::span(frame(row, 0), stored_width()));
  if (packed_) {
    return std::as_bytes(std::span(bytes_.data() + row * stored_width(), stored_width()));
  }
  return visit([&](const auto* numbers, int, int) {
    return std::as_bytes(std::span(numbers + row * width(), width()));
  });
}

void Observations::read_rows(const std::int32_t* indices, int count, float* out) const {
  if (type_.dtype != Dtype::kF32 || packed_) {
    for (int r = 0; r < count; ++r, out += width()) {
      read_bytes(static_cast<std::size_t>(indices[r]), 1, out);
    }
    return;
  }
  const auto copy = [&](auto size) {
    for (int r = 0; r < count; ++r, out += size) {
      const float* source = floats_.data() + static_cast<std::size_t>(indices[r]) * size;
      for (std::size_t i = 0; i < size; ++i) out[i] = source[i];
    }
  };
  // The rows of small tasks, without a loop.
  switch (width()) {
    case 3:
      return copy(std::integral_constant<std::size_t, 3>());
    case 4:
      return copy(std::integral_constant<std::size_t, 4>());
    default:
      return copy(width());
  }
}

void Observations::read_bytes(std::size_t first, std::size_t count, float* out) const {
  if (packed_) {
    for (std::size_t k = 0; k < count; ++k) unpack(first + k, out + k * width());
    return;
  }
  if (across_ == 0) {
    return as_floats(bytes_.data() + first * width(), count * width(), type_.full_scale, out);
  }
  for (std::size_t k = 0; k < count; ++k, out += width()) {
    visit_pieces(first + k, [&](const std::uint8_t* piece, std::size_t some, std::size_t place) {
      as_floats(piece, some, type_.full_scale, out + place);
    });
  }
}

}  // namespace broadloom
