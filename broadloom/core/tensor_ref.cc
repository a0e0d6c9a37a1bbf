#include "broadloom/core/tensor_ref.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "broadloom/core/config_table.h"

namespace broadloom {
namespace {

// A number outside of its range, and how many bytes of the tensor stand before it.
struct Outside {
  std::size_t offset = 0;
  std::string text;
};

// Texts that config_table.h has, for every type of a tensor.
template <class Number>
std::string text_of(Number number) {
  if constexpr (std::is_same_v<Number, double>) return to_text(number);
  if constexpr (std::is_same_v<Number, float>) return to_text(number);
  if constexpr (std::is_unsigned_v<Number>) return to_text(static_cast<std::uint64_t>(number));
  return to_text(static_cast<std::int64_t>(number));
}

template <class Number>
Number part_of(Number number, const ValueRange& range) {
  if constexpr (std::is_integral_v<Number>) {
    if (range.bits > 0) {
      const std::uint64_t bits = static_cast<std::uint64_t>(number) >> range.first_bit;
      return static_cast<Number>(bits & ((std::uint64_t{1} << range.bits) - 1));
    }
  }
  return number;
}

// Integers beyond 2^53 are rounded to a double, which keeps their order: ends below that are exact.
template <class Number>
std::optional<Outside> find_outside(const std::byte* numbers, std::size_t bytes,
                                    const ValueRange& range) {
  const std::size_t stride = range.stride > 0 ? range.stride : sizeof(Number);
  for (std::size_t offset = range.offset; offset + sizeof(Number) <= bytes; offset += stride) {
    Number number;  // of a file, at any alignment
    std::memcpy(&number, numbers + offset, sizeof(number));
    number = part_of(number, range);
    const double value = static_cast<double>(number);
    if (value >= range.low && value <= range.high) continue;
    return Outside{offset, text_of(number)};
  }
  return std::nullopt;
}

std::optional<Outside> find_outside(Dtype dtype, const std::byte* numbers, std::size_t bytes,
                                    const ValueRange& range) {
  switch (dtype) {
    case Dtype::kBool:
    case Dtype::kU8:
      return find_outside<std::uint8_t>(numbers, bytes, range);
    case Dtype::kI8:
      return find_outside<std::int8_t>(numbers, bytes, range);
    case Dtype::kI16:
      return find_outside<std::int16_t>(numbers, bytes, range);
    case Dtype::kU16:
      return find_outside<std::uint16_t>(numbers, bytes, range);
    case Dtype::kI32:
      return find_outside<std::int32_t>(numbers, bytes, range);
    case Dtype::kU32:
      return find_outside<std::uint32_t>(numbers, bytes, range);
    case Dtype::kI64:
      return find_outside<std::int64_t>(numbers, bytes, range);
    case Dtype::kU64:
      return find_outside<std::uint64_t>(numbers, bytes, range);
    case Dtype::kF32:
      return find_outside<float>(numbers, bytes, range);
    case Dtype::kF64:
      return find_outside<double>(numbers, bytes, range);
  }
  return std::nullopt;
}

// "[2, 0]", the number that begins after so many bytes.
std::string place_text(const TensorRef& tensor, std::size_t offset) {
  std::size_t number = offset / dtype_size(tensor.dtype);
  std::string text;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    const std::size_t extent = static_cast<std::size_t>(tensor.shape[axis]);
    text = to_text(static_cast<std::uint64_t>(number % extent)) + (text.empty() ? "" : ", ") + text;
    number /= extent;
  }
  return "[" + text + "]";
}

std::string expected_text(const ValueRange& range) {
  const bool has_low = range.low > -std::numeric_limits<double>::max();
  const bool has_high = range.high < std::numeric_limits<double>::max();
  if (has_low && has_high) return to_text(range.low) + " to " + to_text(range.high);
  const bool finite = std::isfinite(range.low) && std::isfinite(range.high);
  const std::string kind = finite ? "a finite number" : "a number";
  if (has_low) return kind + " of at least " + to_text(range.low);
  return has_high ? kind + " of at most " + to_text(range.high) : kind;
}

}  // namespace

Status check_values(const TensorRef& tensor, const void* numbers) {
  std::vector<ValueRange> ranges = tensor.ranges;
  if (tensor.dtype == Dtype::kBool) ranges.push_back({0.0, 1.0});  // another byte is no bool
  for (const ValueRange& range : ranges) {
    const std::optional<Outside> found =
        find_outside(range.stride > 0 ? range.dtype : tensor.dtype,
                     static_cast<const std::byte*>(numbers), tensor.bytes(), range);
    if (!found) continue;
    const std::string bits = range.bits > 0 ? "bits " + to_text(range.first_bit) + " to " +
                                                  to_text(range.first_bit + range.bits - 1) + " of "
                                            : "";
    return {ErrorKind::kCorrupt, "tensor '" + tensor.name + "': got " + found->text + " at " +
                                     bits + place_text(tensor, found->offset) + ", expected " +
                                     expected_text(range)};
  }
  return {};
}

}  // namespace broadloom
