// The bfloat16 products against plain loops over rounded inputs.
#include "broadloom/math/linear_bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

// To nearest, ties to even, written out by the bits; what is below the normal numbers is zero.
float rounded(float value) {
  if (std::abs(value) < std::numeric_limits<float>::min()) return std::copysign(0.0f, value);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (!std::isfinite(value)) return value;
  bits += 0x7fff + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

std::vector<float> bf16_inputs(std::size_t n, std::uint64_t index) {
  Random random(23, Purpose::kUser, 0, index);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(random.normal());
  return values;
}

class LinearBf16 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!bf16_available()) GTEST_SKIP() << "NOT TESTED: this processor has no avx512bf16";
  }
};

constexpr int kBf16Products[][3] = {{1, 1, 1},    {1, 64, 64},  {2, 3, 5},    {6, 64, 64},
                                    {7, 65, 63},  {64, 64, 64}, {63, 33, 17}, {13, 100, 90},
                                    {64, 66, 65}, {5, 31, 129}, {64, 256, 8}, {9, 16, 256},
                                    {64, 1, 64},  {3, 130, 70}, {61, 128, 80}};

struct Layer {
  explicit Layer(int rows, int in, int out)
      : x(bf16_inputs(static_cast<std::size_t>(rows) * in, 1)),
        w(bf16_inputs(static_cast<std::size_t>(in) * out, 2)),
        b(bf16_inputs(out, 3)),
        dy(bf16_inputs(static_cast<std::size_t>(rows) * out, 4)),
        packed(bf16_packed_size(in, out)),
        packed_transposed(bf16_packed_size(out, in)),
        scratch(bf16_scratch_size(rows, in, out)) {
    pack(in, out);
  }
  void pack(int in, int out) {
    for (int p = 0; p < bf16_panels(out); ++p) bf16_pack(w.data(), in, out, p, packed.data());
    for (int p = 0; p < bf16_panels(in); ++p) {
      bf16_pack_transposed(w.data(), in, out, p, packed_transposed.data());
    }
  }
  std::vector<float> x, w, b, dy;
  AlignedVector<Bf16Pair> packed, packed_transposed, scratch;
};

void expect_sum(float got, double sum, double size, int terms) {
  ASSERT_NEAR(got, sum, (terms + 2) * kEpsilon * size);
}

void check_forward(Layer& layer, int rows, int in, int out) {
  std::vector<float> y(static_cast<std::size_t>(rows) * out + 1, -77.0f);
  linear_forward_bf16(layer.x.data(), layer.packed.data(), layer.b.data(), y.data(), rows, in, out,
                      layer.scratch.data());
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      double sum = layer.b[o], size = std::abs(layer.b[o]);
      for (int i = 0; i < in; ++i) {
        const double product = static_cast<double>(rounded(layer.x[r * in + i])) *
                               static_cast<double>(rounded(layer.w[i * out + o]));
        sum += product;
        size += std::abs(product);
      }
      expect_sum(y[r * out + o], sum, size, in);
    }
  }
  EXPECT_EQ(y.back(), -77.0f) << "wrote past the end";
}

void check_backward_input(Layer& layer, int rows, int in, int out) {
  std::vector<float> dx(static_cast<std::size_t>(rows) * in + 1, -77.0f);
  linear_forward_bf16(layer.dy.data(), layer.packed_transposed.data(), nullptr, dx.data(), rows,
                      out, in, layer.scratch.data());
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < in; ++i) {
      double sum = 0.0, size = 0.0;
      for (int o = 0; o < out; ++o) {
        const double product = static_cast<double>(rounded(layer.dy[r * out + o])) *
                               static_cast<double>(rounded(layer.w[i * out + o]));
        sum += product;
        size += std::abs(product);
      }
      expect_sum(dx[r * in + i], sum, size, out);
    }
  }
  EXPECT_EQ(dx.back(), -77.0f);
}

void check_backward_weights(Layer& layer, int rows, int in, int out) {
  std::vector<float> dw(static_cast<std::size_t>(in) * out + 1, 0.5f), db(out + 1, -0.25f);
  linear_backward_weights_bf16(layer.x.data(), layer.dy.data(), dw.data(), db.data(), rows, in, out,
                               layer.scratch.data());
  for (int i = 0; i < in; ++i) {
    for (int o = 0; o < out; ++o) {
      double sum = 0.5, size = 0.5;
      for (int r = 0; r < rows; ++r) {
        const double product = static_cast<double>(rounded(layer.x[r * in + i])) *
                               static_cast<double>(rounded(layer.dy[r * out + o]));
        sum += product;
        size += std::abs(product);
      }
      expect_sum(dw[i * out + o], sum, size, rows);
    }
  }
  for (int o = 0; o < out; ++o) {
    double sum = -0.25, size = 0.25;
    for (int r = 0; r < rows; ++r) {
      sum += layer.dy[r * out + o];
      size += std::abs(layer.dy[r * out + o]);
    }
    expect_sum(db[o], sum, size, rows);
  }
  EXPECT_EQ(dw.back(), 0.5f);
  EXPECT_EQ(db.back(), -0.25f);
}

TEST_F(LinearBf16, ProductsEqualTheirDefinitionOverRoundedInputs) {
  for (const auto& [rows, in, out] : kBf16Products) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " x " << out);
    Layer layer(rows, in, out);
    check_forward(layer, rows, in, out);
    check_backward_input(layer, rows, in, out);
    check_backward_weights(layer, rows, in, out);
  }
}

// The contract behind "the first minibatch has ratio exactly 1".
TEST_F(LinearBf16, ARowsBitsDoNotDependOnItsTile) {
  for (const auto& [rows, in, out] : kBf16Products) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " x " << out);
    Layer layer(rows, in, out);
    std::vector<float> whole(static_cast<std::size_t>(rows) * out), part(whole.size());
    linear_forward_bf16(layer.x.data(), layer.packed.data(), layer.b.data(), whole.data(), rows, in,
                        out, layer.scratch.data());
    for (const int count : {1, 2, 5, 7}) {
      for (int r = 0; r + count <= rows; ++r) {
        linear_forward_bf16(&layer.x[r * in], layer.packed.data(), layer.b.data(), part.data(),
                            count, in, out, layer.scratch.data());
        ASSERT_EQ(std::memcmp(part.data(), &whole[r * out], count * out * sizeof(float)), 0)
            << count << " rows from " << r;
      }
    }
  }
}

// A product with 1 shows how a number was rounded.
TEST_F(LinearBf16, InputsAreRoundedToNearestEven) {
  const float tiny = std::numeric_limits<float>::min();
  const std::vector<float> values = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     1.00390625f,  // between 1 and the next: a tie, to even below
                                     1.01171875f,  // a tie, to even above
                                     std::nextafter(1.00390625f, 2.0f),
                                     std::nextafter(1.01171875f, 1.0f),
                                     -3.14159274f,
                                     65535.0f,
                                     tiny,
                                     3e38f,
                                     std::numeric_limits<float>::infinity()};
  const int count = static_cast<int>(values.size());
  AlignedVector<Bf16Pair> packed(bf16_packed_size(1, count)),
      scratch(bf16_scratch_size(1, 1, count));
  bf16_pack(values.data(), 1, count, 0, packed.data());
  const float one = 1.0f;
  std::vector<float> y(values.size());
  linear_forward_bf16(&one, packed.data(), nullptr, y.data(), 1, 1, count, scratch.data());
  for (int i = 0; i < count; ++i) EXPECT_EQ(y[i], rounded(values[i])) << values[i];
  for (int i = 0; i < count; ++i) {
    bf16_pack(&one, 1, 1, 0, packed.data());
    linear_forward_bf16(&values[i], packed.data(), nullptr, y.data(), 1, 1, 1, scratch.data());
    EXPECT_EQ(y[0], rounded(values[i])) << values[i];
  }
}

TEST_F(LinearBf16, WhatIsNotANumberStaysSo) {
  Layer layer(4, 70, 66);
  layer.x[1 * 70 + 69] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y(4 * 66);
  linear_forward_bf16(layer.x.data(), layer.packed.data(), layer.b.data(), y.data(), 4, 70, 66,
                      layer.scratch.data());
  for (int r = 0; r < 4; ++r) {
    for (int o = 0; o < 66; ++o) ASSERT_EQ(std::isnan(y[r * 66 + o]), r == 1);
  }
}

}  // namespace
}  // namespace broadloom
