// Convolutions, pools and layer normalisation against their slow, obvious forms, on every
// instruction set that this processor has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/convolution.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/layer_norm.h"
#include "broadloom/math/max_pool.h"

namespace broadloom {
namespace {

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t index) {
  Random random(23, Purpose::kUser, 0, index);
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(random.normal());
  return values;
}

class ImageKernels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(set_isa(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(set_isa("auto").ok()); }
};

// Height, width, channels, filters, kernel, stride, padding: those of the encoders, smaller where
// that is faster, and special cases: a stride that leaves a remainder, one pixel, no border.
const ConvolutionShape kShapes[] = {
    {10, 10, 4, 16, 3, 1, 0}, {20, 20, 4, 32, 8, 4, 0}, {20, 20, 32, 64, 4, 2, 0},
    {9, 9, 64, 64, 3, 1, 0},  {12, 8, 16, 16, 3, 1, 1}, {5, 5, 3, 33, 3, 1, 1},
    {3, 3, 1, 1, 3, 1, 0},    {1, 1, 5, 7, 1, 1, 0},    {1, 1, 3, 4, 3, 1, 1},
    {11, 7, 2, 5, 3, 2, 1},   {9, 14, 3, 20, 5, 3, 2},  {13, 6, 10, 16, 3, 3, 0},
    {7, 7, 6, 9, 4, 3, 1},
};

// The place in the image that tap (ky, kx) of output (oy, ox) reads, or -1 outside of it.
int place(const ConvolutionShape& s, int oy, int ox, int ky, int kx) {
  const int y = oy * s.stride - s.padding + ky, x = ox * s.stride - s.padding + kx;
  if (y < 0 || y >= s.height || x < 0 || x >= s.width) return -1;
  return (y * s.width + x) * s.channels;
}

// f(index in x, in w, in y) for every product that the definition has.
template <class F>
void over_products(const ConvolutionShape& s, F&& f) {
  for (int oy = 0; oy < s.out_height(); ++oy) {
    for (int ox = 0; ox < s.out_width(); ++ox) {
      for (int ky = 0; ky < s.kernel; ++ky) {
        for (int kx = 0; kx < s.kernel; ++kx) {
          const int source = place(s, oy, ox, ky, kx);
          if (source < 0) continue;
          for (int c = 0; c < s.channels; ++c) {
            for (int o = 0; o < s.filters; ++o) {
              f(source + c, ((ky * s.kernel + kx) * s.channels + c) * s.filters + o,
                (oy * s.out_width() + ox) * s.filters + o);
            }
          }
        }
      }
    }
  }
}

// A sum in long double, and the sum of absolute terms, which bounds the error of a shorter type.
struct Sums {
  explicit Sums(std::size_t n, double start = 0.0) : value(n, start), size(n, std::abs(start)) {}
  void add(std::size_t i, long double term) {
    value[i] += term;
    size[i] += std::abs(term);
  }
  template <class T>
  void expect(const std::vector<T>& got, int terms, const char* what) const {
    const long double bound =
        (terms + 3) * static_cast<long double>(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < value.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(value[i]),
                  static_cast<double>(bound * size[i]))
          << what << " " << i;
    }
    ASSERT_EQ(got.size(), value.size() + 1);
    EXPECT_EQ(got.back(), T(-77)) << what << ": wrote past the end";
  }
  std::vector<long double> value, size;
};

template <class T>
std::vector<T> filled(std::size_t n, T value) {
  std::vector<T> out(n + 1, value);
  out.back() = T(-77);
  return out;
}

template <class T>
void check_convolution(const ConvolutionShape& s) {
  const std::size_t weights = static_cast<std::size_t>(s.patch()) * s.filters;
  const auto x = random_values<T>(s.in_size(), 1), w = random_values<T>(weights, 2);
  const auto b = random_values<T>(s.filters, 3), dy = random_values<T>(s.out_size(), 4);
  std::vector<T> scratch(s.scratch_size(), std::numeric_limits<T>::quiet_NaN());
  auto y = filled(s.out_size(), T(9)), dx = filled(s.in_size(), T(9));
  auto dw = filled(weights, T(0.5)), db = filled<T>(s.filters, T(-0.25));
  std::vector<T> turned(weights);
  convolve(s, x.data(), w.data(), b.data(), y.data(), scratch.data());
  convolve_backward_weights(s, x.data(), dy.data(), dw.data(), db.data(), scratch.data());
  turn_weights(s, w.data(), turned.data());
  convolve_backward_input(s, dy.data(), turned.data(), dx.data(), scratch.data());

  Sums of_y(s.out_size()), of_dx(s.in_size()), of_dw(weights, 0.5), of_db(s.filters, -0.25);
  for (std::size_t i = 0; i < s.out_size(); ++i) {
    of_y.add(i, b[i % s.filters]);
    of_db.add(i % s.filters, dy[i]);
  }
  over_products(s, [&](int input, int weight, int output) {
    of_y.add(output, static_cast<long double>(x[input]) * w[weight]);
    of_dx.add(input, static_cast<long double>(dy[output]) * w[weight]);
    of_dw.add(weight, static_cast<long double>(dy[output]) * x[input]);
  });
  of_y.expect(y, s.patch(), "y");
  of_dx.expect(dx, s.kernel * s.kernel * s.filters, "dx");
  of_dw.expect(dw, s.out_height() * s.out_width(), "dw");
  of_db.expect(db, s.out_height() * s.out_width(), "db");
}

TEST_P(ImageKernels, ConvolutionsEqualTheirDefinition) {
  for (const ConvolutionShape& s : kShapes) {
    SCOPED_TRACE(::testing::Message()
                 << s.height << " x " << s.width << " x " << s.channels << ", " << s.filters
                 << " of " << s.kernel << ", stride " << s.stride << ", padding " << s.padding);
    check_convolution<float>(s);
    check_convolution<double>(s);
  }
}

template <class T>
void check_pool(const PoolShape& s) {
  const std::size_t in = static_cast<std::size_t>(s.height) * s.width * s.channels;
  const std::size_t out = static_cast<std::size_t>(s.out_height()) * s.out_width() * s.channels;
  auto x = random_values<T>(in, 5);
  for (T& v : x) v = std::round(v * T(2)) / T(2);  // so that there are ties
  const auto dy = random_values<T>(out, 6);
  std::vector<T> y(out), dx(in, T(7)), expected(in, T(0));
  max_pool(s, x.data(), y.data());
  max_pool_backward(s, x.data(), dy.data(), dx.data());
  const ConvolutionShape window{s.height, s.width, s.channels, 1, s.kernel, s.stride, s.padding};
  for (int oy = 0; oy < s.out_height(); ++oy) {
    for (int ox = 0; ox < s.out_width(); ++ox) {
      for (int c = 0; c < s.channels; ++c) {
        int best = -1;
        for (int tap = 0; tap < s.kernel * s.kernel; ++tap) {
          const int source = place(window, oy, ox, tap / s.kernel, tap % s.kernel);
          if (source >= 0 && (best < 0 || x[source + c] > x[best])) best = source + c;
        }
        const int target = (oy * s.out_width() + ox) * s.channels + c;
        ASSERT_EQ(y[target], x[best]) << oy << ", " << ox << ", " << c;
        expected[best] += dy[target];
      }
    }
  }
  EXPECT_EQ(dx, expected);
}

TEST_P(ImageKernels, PoolsEqualTheirDefinition) {
  for (const PoolShape& s : {PoolShape{84, 84, 3, 3, 2, 1}, PoolShape{5, 7, 16, 3, 2, 1},
                             PoolShape{4, 4, 1, 2, 2, 0}, PoolShape{1, 1, 5, 3, 2, 1}}) {
    check_pool<float>(s);
    check_pool<double>(s);
  }
}

TEST_P(ImageKernels, APoolKeepsWhatIsNotANumber) {
  const float x[] = {1.0f, std::numeric_limits<float>::quiet_NaN(), 3.0f, 4.0f};
  const float dy[] = {2.0f};
  float y[1], dx[4];
  max_pool({2, 2, 1, 2, 2, 0}, x, y);
  max_pool_backward({2, 2, 1, 2, 2, 0}, x, dy, dx);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(dx[1], 2.0f);
}

// Derivatives by definition: sums in long double over a row.
template <class T>
void check_norm(std::size_t rows, std::size_t size) {
  const long double epsilon = 1e-5L;
  const auto x = random_values<T>(rows * size, 7), dy = random_values<T>(rows * size, 8);
  const auto gain = random_values<T>(size, 9), bias = random_values<T>(size, 10);
  auto y = filled<T>(rows * size, T(3)), dx = y;
  auto dgain = filled<T>(size, T(0.5)), dbias = filled<T>(size, T(-0.5));
  const T e = static_cast<T>(epsilon);
  layer_norm(x.data(), gain.data(), bias.data(), e, y.data(), rows, size);
  layer_norm_backward(x.data(), gain.data(), e, dy.data(), dx.data(), dgain.data(), dbias.data(),
                      rows, size);
  std::vector<long double> sum_gain(size, 0.5L), sum_bias(size, -0.5L);
  const long double n = static_cast<long double>(size);
  const double near = 64.0 * std::sqrt(static_cast<double>(size)) *
                      static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::size_t r = 0; r < rows; ++r) {
    const T* row = &x[r * size];
    long double mean = 0, variance = 0, mean_g = 0, mean_gz = 0;
    for (std::size_t i = 0; i < size; ++i) mean += row[i] / n;
    for (std::size_t i = 0; i < size; ++i) variance += (row[i] - mean) * (row[i] - mean) / n;
    const long double scale = 1.0L / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < size; ++i) {
      const long double z = (row[i] - mean) * scale, g = dy[r * size + i] * gain[i];
      mean_g += g / n;
      mean_gz += g * z / n;
      sum_gain[i] += dy[r * size + i] * z;
      sum_bias[i] += dy[r * size + i];
      ASSERT_NEAR(y[r * size + i], static_cast<double>(gain[i] * z + bias[i]),
                  near * (1.0 + std::abs(static_cast<double>(gain[i] * z))));
    }
    for (std::size_t i = 0; i < size; ++i) {
      const long double z = (row[i] - mean) * scale, g = dy[r * size + i] * gain[i];
      ASSERT_NEAR(dx[r * size + i], static_cast<double>(scale * (g - mean_g - z * mean_gz)),
                  near * static_cast<double>(scale) * (8.0 + std::abs(static_cast<double>(g))));
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(dgain[i], static_cast<double>(sum_gain[i]), near * static_cast<double>(rows + 8));
    ASSERT_NEAR(dbias[i], static_cast<double>(sum_bias[i]), near * static_cast<double>(rows + 8));
  }
  EXPECT_EQ(y.back(), T(-77));
  EXPECT_EQ(dx.back(), T(-77));
  EXPECT_EQ(dgain.back(), T(-77));
  EXPECT_EQ(dbias.back(), T(-77));
}

TEST_P(ImageKernels, LayerNormEqualsItsDefinition) {
  for (const std::size_t size : {2, 3, 8, 15, 16, 17, 31, 64, 128, 500}) {
    SCOPED_TRACE(size);
    check_norm<float>(7, size);
    check_norm<double>(7, size);
  }
}

// One number has no deviation, so only the bias remains.
TEST_P(ImageKernels, ALayerNormOfOneNumberIsItsBias) {
  const float x = 5.0f, gain = 3.0f, bias = 2.0f;
  float y = 0.0f;
  layer_norm(&x, &gain, &bias, 1e-5f, &y, 1, 1);
  EXPECT_EQ(y, 2.0f);
}

// Every instruction set gives the same bits.
TEST_P(ImageKernels, BitsAreThoseOfEveryInstructionSet) {
  if (GetParam() == "sse4") GTEST_SKIP() << "sse4 rounds products, and has bits of its own";
  const auto all = [] {
    std::vector<float> out;
    for (const ConvolutionShape& s : kShapes) {
      const std::size_t weights = static_cast<std::size_t>(s.patch()) * s.filters;
      const auto x = random_values<float>(s.in_size(), 1), w = random_values<float>(weights, 2);
      const auto b = random_values<float>(s.filters, 3), dy = random_values<float>(s.out_size(), 4);
      std::vector<float> scratch(s.scratch_size()), y(s.out_size()), dx(s.in_size());
      std::vector<float> dw(weights), db(s.filters), turned(weights);
      convolve(s, x.data(), w.data(), b.data(), y.data(), scratch.data());
      convolve_backward_weights(s, x.data(), dy.data(), dw.data(), db.data(), scratch.data());
      turn_weights(s, w.data(), turned.data());
      convolve_backward_input(s, dy.data(), turned.data(), dx.data(), scratch.data());
      layer_norm_backward(y.data(), b.data(), 1e-5f, dy.data(), y.data(), db.data(), db.data(),
                          s.out_size() / s.filters, s.filters);
      for (const auto* part : {&y, &dx, &dw, &db})
        out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  };
  const std::vector<float> got = all();
  ASSERT_TRUE(set_isa("exact").ok());
  const std::vector<float> expected = all();
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Isa, ImageKernels, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace broadloom
