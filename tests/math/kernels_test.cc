// Every kernel against its slow, obvious form, on every instruction set that this processor has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/adam.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/head.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/linear.h"

namespace broadloom {
namespace {

template <class T>
std::vector<T> kernel_values(std::size_t n, std::uint64_t index, double scale = 1.0) {
  Random random(17, Purpose::kUser, 0, index);
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(scale * random.normal());
  return values;
}

class Kernels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(set_isa(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(set_isa("auto").ok()); }
};

constexpr int kProducts[][3] = {
    {1, 1, 1},   {3, 4, 2},    {5, 64, 1},  {6, 3, 64},  {7, 64, 64}, {64, 64, 64},
    {13, 17, 9}, {64, 4, 33},  {9, 1, 130}, {2, 70, 16}, {31, 5, 15}, {64, 500, 64},
    {1, 64, 64}, {11, 128, 8}, {8, 2, 31},  {64, 64, 2}, {4, 33, 65}, {7, 1300, 17}};

// The error bound of a sum of `terms` products: terms * epsilon * sum of |products|.
template <class T>
void check_forward(int rows, int in, int out) {
  const auto x = kernel_values<T>(static_cast<std::size_t>(rows) * in, 1);
  const auto w = kernel_values<T>(static_cast<std::size_t>(in) * out, 2);
  const auto b = kernel_values<T>(out, 3);
  std::vector<T> y(static_cast<std::size_t>(rows) * out + 1, T(-77));
  std::vector<T> bare = y;
  linear_forward(x.data(), w.data(), b.data(), y.data(), rows, in, out);
  linear_forward(x.data(), w.data(), static_cast<const T*>(nullptr), bare.data(), rows, in, out);
  const double epsilon = std::numeric_limits<T>::epsilon();
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      long double sum = 0.0L, size = std::abs(b[o]);
      for (int i = 0; i < in; ++i) {
        sum += static_cast<long double>(x[r * in + i]) * w[i * out + o];
        size += std::abs(static_cast<long double>(x[r * in + i]) * w[i * out + o]);
      }
      ASSERT_NEAR(y[r * out + o], static_cast<double>(sum + b[o]), (in + 2) * epsilon * size);
      ASSERT_NEAR(bare[r * out + o], static_cast<double>(sum), (in + 2) * epsilon * size);
    }
  }
  EXPECT_EQ(y.back(), T(-77)) << "wrote past the end";
}

template <class T>
void check_backward_weights(int rows, int in, int out) {
  const auto x = kernel_values<T>(static_cast<std::size_t>(rows) * in, 4);
  const auto dy = kernel_values<T>(static_cast<std::size_t>(rows) * out, 5);
  std::vector<T> dw(static_cast<std::size_t>(in) * out + 1, T(0.5)), db(out + 1, T(-0.25));
  linear_backward_weights(x.data(), dy.data(), dw.data(), db.data(), rows, in, out);
  const double epsilon = std::numeric_limits<T>::epsilon();
  for (int i = 0; i < in; ++i) {
    for (int o = 0; o < out; ++o) {
      long double sum = 0.5L, size = 0.5L;
      for (int r = 0; r < rows; ++r) {
        sum += static_cast<long double>(x[r * in + i]) * dy[r * out + o];
        size += std::abs(static_cast<long double>(x[r * in + i]) * dy[r * out + o]);
      }
      ASSERT_NEAR(dw[i * out + o], static_cast<double>(sum), (rows + 2) * epsilon * size);
    }
  }
  for (int o = 0; o < out; ++o) {
    double sum = -0.25, size = 0.25;
    for (int r = 0; r < rows; ++r) {
      sum += dy[r * out + o];
      size += std::abs(dy[r * out + o]);
    }
    ASSERT_NEAR(db[o], sum, (rows + 2) * epsilon * size);
  }
  EXPECT_EQ(dw.back(), T(0.5));
  EXPECT_EQ(db.back(), T(-0.25));
}

TEST_P(Kernels, LinearLayersEqualTheirDefinition) {
  for (const auto& [rows, in, out] : kProducts) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " x " << out);
    check_forward<float>(rows, in, out);
    check_forward<double>(rows, in, out);
    check_backward_weights<float>(rows, in, out);
    check_backward_weights<double>(rows, in, out);
  }
}

// The contract behind "the first minibatch has ratio exactly 1".
TEST_P(Kernels, ARowsBitsDoNotDependOnItsTile) {
  for (const auto& [rows, in, out] : kProducts) {
    const auto x = kernel_values<float>(static_cast<std::size_t>(rows) * in, 6);
    const auto w = kernel_values<float>(static_cast<std::size_t>(in) * out, 7);
    const auto b = kernel_values<float>(out, 8);
    std::vector<float> whole(static_cast<std::size_t>(rows) * out), one(out);
    linear_forward(x.data(), w.data(), b.data(), whole.data(), rows, in, out);
    for (int r = 0; r < rows; ++r) {
      linear_forward(&x[r * in], w.data(), b.data(), one.data(), 1, in, out);
      ASSERT_EQ(std::memcmp(one.data(), &whole[r * out], out * sizeof(float)), 0) << "row " << r;
    }
  }
}

// Heads: y and dy are [out, stride], one row of the tile a column.
template <class T>
void check_head(int rows, int in, int out) {
  constexpr int kStride = 64;
  const double epsilon = std::numeric_limits<T>::epsilon();
  const auto x = kernel_values<T>(static_cast<std::size_t>(rows) * in, 20);
  const auto w = kernel_values<T>(static_cast<std::size_t>(out) * in, 21);
  const auto b = kernel_values<T>(out, 22);
  const auto dy = kernel_values<T>(static_cast<std::size_t>(out) * kStride, 23);
  std::vector<T> y(static_cast<std::size_t>(out) * kStride, T(-77)), one = y;
  std::vector<T> dw(w.size() + 1, T(0.5)), db(out + 1, T(-0.25)), dx(x.size() + 1, T(-77));
  head_forward(x.data(), w.data(), b.data(), y.data(), rows, in, out, kStride);
  head_backward_weights(x.data(), dy.data(), dw.data(), db.data(), rows, in, out, kStride);
  head_backward_input(dy.data(), w.data(), dx.data(), rows, in, out, kStride);
  for (int r = 0; r < rows; ++r) {
    head_forward(&x[r * in], w.data(), b.data(), one.data(), 1, in, out, kStride);
    for (int o = 0; o < out; ++o) {
      long double sum = b[o], size = std::abs(b[o]);
      for (int i = 0; i < in; ++i) {
        const long double product = static_cast<long double>(x[r * in + i]) * w[o * in + i];
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(y[o * kStride + r], static_cast<double>(sum), (in + 2) * epsilon * size);
      ASSERT_EQ(std::memcmp(&one[o * kStride], &y[o * kStride + r], sizeof(T)), 0) << "row " << r;
    }
    for (int i = 0; i < in; ++i) {
      double sum = 0.0, size = 0.0;
      for (int o = 0; o < out; ++o) {
        sum += static_cast<double>(dy[o * kStride + r]) * w[o * in + i];
        size += std::abs(static_cast<double>(dy[o * kStride + r]) * w[o * in + i]);
      }
      ASSERT_NEAR(dx[r * in + i], sum, (out + 2) * epsilon * size);
    }
  }
  for (int o = 0; o < out; ++o) {
    for (int i = 0; i <= in; ++i) {  // the last one is the bias
      double sum = i < in ? 0.5 : -0.25, size = 0.5;
      for (int r = 0; r < rows; ++r) {
        const double product =
            static_cast<double>(dy[o * kStride + r]) * (i < in ? x[r * in + i] : T(1));
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(i < in ? dw[o * in + i] : db[o], sum, (rows + 2) * epsilon * size);
    }
  }
  EXPECT_EQ(dw.back(), T(0.5));
  EXPECT_EQ(db.back(), T(-0.25));
  EXPECT_EQ(dx.back(), T(-77)) << "wrote past the end";
}

TEST_P(Kernels, HeadsEqualTheirDefinition) {
  for (const auto& [rows, in, out] : kProducts) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " x " << out);
    check_head<float>(rows, in, out);
    check_head<double>(rows, in, out);
  }
}

TEST_P(Kernels, AnElementsBitsDoNotDependOnItsPlace) {
  for (const Activation activation : {Activation::kTanh, Activation::kRelu, Activation::kElu}) {
    const auto x = kernel_values<float>(100, 9, 3.0);
    std::vector<float> whole = x;
    activate(activation, whole.data(), whole.size());
    for (std::size_t begin = 0; begin < 40; ++begin) {
      for (std::size_t n : {1u, 3u, 7u, 19u}) {
        std::vector<float> part(x.begin() + begin, x.begin() + begin + n);
        activate(activation, part.data(), n);
        ASSERT_EQ(std::memcmp(part.data(), &whole[begin], n * sizeof(float)), 0);
      }
    }
  }
}

double ulps(float got, double expected) {
  const float near = static_cast<float>(expected);
  const float step =
      std::nextafter(std::abs(near), std::numeric_limits<float>::infinity()) - std::abs(near);
  return std::abs(static_cast<double>(got) - expected) / step;
}

TEST_P(Kernels, ActivationsAreAccurate) {
  std::vector<float> inputs{0.0f,   -0.0f, 1e-30f, -1e-20f, 1e-7f, 20.0f,
                            -20.0f, 88.0f, -88.0f, 1e30f,   -1e30f};
  for (double x = -12.0; x < 12.0; x += 0.00037) inputs.push_back(static_cast<float>(x));
  for (double x = 1e-8; x < 1.0; x *= 1.01) inputs.push_back(static_cast<float>(x));
  std::vector<float> tanh_out = inputs, relu_out = inputs, elu_out = inputs;
  activate(Activation::kTanh, tanh_out.data(), inputs.size());
  activate(Activation::kRelu, relu_out.data(), inputs.size());
  activate(Activation::kElu, elu_out.data(), inputs.size());
  double worst_tanh = 0.0, worst_elu = 0.0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double x = inputs[i];
    worst_tanh = std::max(worst_tanh, ulps(tanh_out[i], std::tanh(x)));
    worst_elu = std::max(worst_elu, ulps(elu_out[i], x > 0 ? x : std::expm1(x)));
    ASSERT_EQ(relu_out[i], x > 0 ? inputs[i] : 0.0f);
    ASSERT_LE(std::abs(tanh_out[i]), 1.0f);
  }
  EXPECT_LE(worst_tanh, 6.0);
  EXPECT_LE(worst_elu, 4.0);
}

TEST_P(Kernels, KeepNotANumber) {
  for (const Activation activation : {Activation::kTanh, Activation::kRelu, Activation::kElu}) {
    std::vector<float> x(37, 0.5f);
    x[5] = x[36] = std::nanf("");
    activate(activation, x.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(x[i]), i == 5 || i == 36);
  }
}

TEST_P(Kernels, ActivationDerivativesEqualFiniteDifferences) {
  for (const Activation activation : {Activation::kTanh, Activation::kRelu, Activation::kElu}) {
    const auto x = kernel_values<double>(41, 10, 2.0);
    const double h = 1e-6;
    std::vector<double> y = x, up = x, down = x, dy(x.size(), 1.5);
    for (double& v : up) v += h;
    for (double& v : down) v -= h;
    activate(activation, y.data(), y.size());
    activate(activation, up.data(), up.size());
    activate(activation, down.data(), down.size());
    activate_backward(activation, y.data(), dy.data(), dy.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(dy[i], 1.5 * (up[i] - down[i]) / (2 * h), 1e-8) << x[i];
    }
  }
}

TEST_P(Kernels, AdamFollowsTorchsFormula) {
  for (const std::size_t n : {1u, 5u, 16u, 1003u}) {
    auto p = kernel_values<float>(n, 11), m = kernel_values<float>(n, 12, 0.1),
         g = kernel_values<float>(n, 14);
    auto v = kernel_values<float>(n, 13, 0.1);
    for (float& x : v) x *= x;
    const auto p0 = p, m0 = m, v0 = v;
    AdamStep step;
    step.learning_rate = 3e-3;
    step.correction1 = 1.0 - std::pow(0.9, 7);
    step.correction2 = 1.0 - std::pow(0.999, 7);
    step.grad_scale = 0.37;
    adam_update(p.data(), m.data(), v.data(), g.data(), n, step);
    for (std::size_t i = 0; i < n; ++i) {
      const double grad = 0.37 * g[i];
      const double new_m = 0.9 * m0[i] + 0.1 * grad;
      const double new_v = 0.999 * v0[i] + 0.001 * grad * grad;
      const double change = step.learning_rate / step.correction1 * new_m /
                            (std::sqrt(new_v) / std::sqrt(step.correction2) + step.eps);
      EXPECT_NEAR(m[i], new_m, 1e-6 * (std::abs(new_m) + std::abs(grad)));
      EXPECT_NEAR(v[i], new_v, 1e-6 * new_v);
      EXPECT_NEAR(p[i], p0[i] - change, 1e-6 * std::abs(p0[i]) + 1e-5 * std::abs(change));
    }
  }
}

TEST_P(Kernels, FiniteNumbersAreToldFromOthers) {
  for (const std::size_t n : {1u, 15u, 16u, 33u, 64u}) {
    const auto x = kernel_values<float>(n, 30, 1e30);
    EXPECT_TRUE(all_finite(x.data(), n));
    for (std::size_t i = 0; i < n; ++i) {
      for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
        auto y = x;
        y[i] = bad;
        EXPECT_FALSE(all_finite(y.data(), n));
      }
    }
  }
}

TEST_P(Kernels, SumsAndTransposes) {
  const auto x = kernel_values<float>(1037, 15);
  double expected = 0.0;
  for (const float v : x) expected += static_cast<double>(v) * v;
  EXPECT_NEAR(sum_squares(x.data(), x.size()), expected, 1e-9 * expected);
  auto sum = kernel_values<float>(1037, 16);
  const auto before = sum;
  add_into(sum.data(), x.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(sum[i], before[i] + x[i]);
  std::vector<float> turned(21 * 49);
  transpose(x.data(), turned.data(), 21, 49);
  for (int i = 0; i < 21; ++i) {
    for (int o = 0; o < 49; ++o) ASSERT_EQ(turned[o * 21 + i], x[i * 49 + o]);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Kernels, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return info.param; });

TEST(Isa, NamesAreCheckedAndTheChoiceHolds) {
  EXPECT_FALSE(set_isa("mmx").ok());
  for (const std::string& name : supported_isas()) {
    ASSERT_TRUE(set_isa(name).ok());
    EXPECT_EQ(active_isa(), name);
  }
  ASSERT_TRUE(set_isa("auto").ok());
  EXPECT_EQ(active_isa(), supported_isas().front());
}

}  // namespace
}  // namespace broadloom
