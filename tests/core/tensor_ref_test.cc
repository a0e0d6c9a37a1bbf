// The ranges of restored numbers.
#include "broadloom/core/tensor_ref.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace broadloom {
namespace {

TEST(ValueRange, TheFirstNumberOutsideIsNamedWithItsPlaceAndWhatWasExpected) {
  std::array<std::int32_t, 6> cells{0, 15, 3, 16, -1, 2};
  const TensorRef tensor{"envs.state0", Dtype::kI32, {3, 2}, cells.data(), {{0.0, 15.0}}};
  const Status status = check_values(tensor, cells.data());
  EXPECT_EQ(status.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(status.message(), "tensor 'envs.state0': got 16 at [1, 1], expected 0 to 15");
  cells = {0, 15, 3, 1, 14, 2};
  EXPECT_TRUE(check_values(tensor, cells.data()).ok());
}

TEST(ValueRange, CountersKeepTheirExtremesOut) {
  std::int64_t steps = 0;
  const TensorRef tensor{"trainer.global_step", Dtype::kI64, {1}, &steps, {kCountRange}};
  for (const std::int64_t valid : {std::int64_t{0}, std::int64_t{1} << 53}) {
    steps = valid;
    EXPECT_TRUE(check_values(tensor, &steps).ok()) << steps;
  }
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t wrong :
       {std::int64_t{-1}, (std::int64_t{1} << 53) + 2, Limits::min(), Limits::max()}) {
    steps = wrong;
    EXPECT_NE(check_values(tensor, &steps).message().find(std::to_string(wrong)),
              std::string::npos);
  }
}

TEST(ValueRange, NotANumberIsInNone) {
  using Limits = std::numeric_limits<double>;
  double x = Limits::quiet_NaN();
  const TensorRef finite{"x", Dtype::kF64, {1}, &x, {kFiniteRange}};
  const TensorRef above{"x", Dtype::kF64, {1}, &x, {{0.0, Limits::infinity()}}};
  EXPECT_EQ(check_values(finite, &x).message(),
            "tensor 'x': got nan at [0], expected a finite number");
  EXPECT_FALSE(check_values(above, &x).ok());
  x = Limits::infinity();
  EXPECT_FALSE(check_values(finite, &x).ok());
  EXPECT_TRUE(check_values(above, &x).ok());
  x = -0.5;
  EXPECT_EQ(check_values(above, &x).message(),
            "tensor 'x': got -0.5 at [0], expected a number of at least 0");
  EXPECT_TRUE(check_values(finite, &x).ok());
}

TEST(ValueRange, AColumnAndBitsOfACodeHaveRangesOfTheirOwn) {
  std::array<std::int32_t, 6> levels{0, 9, 9, 3, 9, 9};
  const TensorRef standings{
      "c", Dtype::kI32, {2, 3}, levels.data(), {in_column(0, 3, Dtype::kI32, 0.0, 2.0)}};
  EXPECT_EQ(check_values(standings, levels.data()).message(),
            "tensor 'c': got 3 at [1, 0], expected 0 to 2");
  std::uint16_t code = 0x93;
  const TensorRef row{"r", Dtype::kU16, {1}, &code, {{0.0, 8.0, 0, 0, Dtype::kU16, 4, 4}}};
  EXPECT_EQ(check_values(row, &code).message(),
            "tensor 'r': got 9 at bits 4 to 7 of [0], expected 0 to 8");
  code = 0x83;
  EXPECT_TRUE(check_values(row, &code).ok());
}

TEST(ValueRange, AByteThatIsNoTruthIsNoBool) {
  const std::array<std::uint8_t, 2> bytes{1, 2};
  EXPECT_FALSE(check_values({"b", Dtype::kBool, {2}, nullptr}, bytes.data()).ok());
  EXPECT_TRUE(check_values({"b", Dtype::kU8, {2}, nullptr}, bytes.data()).ok());
}

}  // namespace
}  // namespace broadloom
