// The bits of kernels are the same on every instruction set that fuses multiplication and addition,
// and by emulation ("exact"). sse4 rounds twice.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/adam.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/head.h"
#include "broadloom/math/isa.h"
#include "broadloom/math/linear.h"
#include "broadloom/math/random_rows.h"

namespace broadloom {
namespace {

template <class T>
std::vector<T> portable_values(std::size_t n, std::uint64_t index, double scale = 1.0) {
  Random random(23, Purpose::kUser, 0, index);
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(scale * random.normal());
  return values;
}

// Compares the results of `compute` under all instruction sets with common bits.
template <class T>
void expect_same_bits(std::size_t size, const std::function<void(std::vector<T>&)>& compute) {
  ASSERT_TRUE(set_isa("exact").ok());
  std::vector<T> expected(size, T(0.25));
  compute(expected);
  for (const std::string& isa : supported_isas()) {
    if (!has_common_bits(isa)) continue;
    ASSERT_TRUE(set_isa(isa).ok());
    std::vector<T> got(size, T(0.25));
    compute(got);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(T)), 0)
          << isa << ", element " << i << ": " << got[i] << " and " << expected[i];
    }
  }
  ASSERT_TRUE(set_isa("auto").ok());
}

template <class T>
void check_products() {
  constexpr int kShapes[][3] = {{1, 1, 1},   {3, 4, 2},   {7, 64, 64}, {64, 64, 3},
                                {13, 17, 9}, {5, 23, 33}, {64, 31, 1}, {9, 1, 130}};
  constexpr int kStride = 64;
  for (const auto& [rows, in, out] : kShapes) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " x " << out);
    const std::size_t n_in = static_cast<std::size_t>(in), n_out = static_cast<std::size_t>(out);
    const auto x = portable_values<T>(static_cast<std::size_t>(rows) * n_in, 1);
    const auto w = portable_values<T>(n_in * n_out, 2);
    const auto b = portable_values<T>(n_out, 3);
    const auto dy = portable_values<T>(n_out * kStride, 4);
    expect_same_bits<T>(static_cast<std::size_t>(rows) * n_out, [&](std::vector<T>& y) {
      linear_forward(x.data(), w.data(), b.data(), y.data(), rows, in, out);
    });
    expect_same_bits<T>((n_in + 1) * n_out, [&](std::vector<T>& dw) {
      linear_backward_weights(x.data(), dy.data(), dw.data(), dw.data() + n_in * n_out, rows, in,
                              out);
    });
    expect_same_bits<T>(n_out * kStride, [&](std::vector<T>& y) {
      head_forward(x.data(), w.data(), b.data(), y.data(), rows, in, out, kStride);
      // Columns after the rows may have any content.
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (i % kStride >= static_cast<std::size_t>(rows)) y[i] = T(0);
      }
    });
    expect_same_bits<T>((n_in + 1) * n_out, [&](std::vector<T>& dw) {
      head_backward_weights(x.data(), dy.data(), dw.data(), dw.data() + n_in * n_out, rows, in, out,
                            kStride);
    });
    expect_same_bits<T>(static_cast<std::size_t>(rows) * n_in, [&](std::vector<T>& dx) {
      head_backward_input(dy.data(), w.data(), dx.data(), rows, in, out, kStride);
    });
  }
}

TEST(PortableBits, Products) {
  check_products<float>();
  check_products<double>();
}

template <class T>
void check_elements() {
  auto x = portable_values<T>(1000, 5, 3.0);
  for (const double extreme : {0.0, -0.0, 1e-38, -1e-30, 9.0, -90.0, 1e30, -1e30}) {
    x.push_back(static_cast<T>(extreme));
  }
  const auto y = portable_values<T>(x.size(), 6);
  for (const Activation activation : {Activation::kTanh, Activation::kRelu, Activation::kElu}) {
    expect_same_bits<T>(x.size(), [&](std::vector<T>& out) {
      out = x;
      activate(activation, out.data(), out.size());
    });
    expect_same_bits<T>(x.size(), [&](std::vector<T>& out) {
      activate_backward(activation, y.data(), out.data(), out.size());
    });
  }
  expect_same_bits<T>(x.size(), [&](std::vector<T>& out) {
    add_products(out.data(), x.data(), y.data(), out.size());
  });
  for (std::size_t n = 0; n < 70; ++n) {
    expect_same_bits<T>(1, [&](std::vector<T>& out) { out[0] = dot(x.data(), y.data(), n); });
  }
}

TEST(PortableBits, ElementwiseFunctionsAndSums) {
  check_elements<float>();
  check_elements<double>();
  const auto x = portable_values<float>(1003, 7);
  expect_same_bits<double>(
      1, [&](std::vector<double>& out) { out[0] = sum_squares(x.data(), x.size()); });
}

TEST(PortableBits, Optimiser) {
  expect_same_bits<float>(301, [&](std::vector<float>& params) {
    auto m = portable_values<float>(params.size(), 8, 0.1);
    auto v = portable_values<float>(params.size(), 9, 0.1);
    for (float& element : v) element *= element;
    AdamStep step;
    step.correction1 = 0.3;
    step.correction2 = 0.01;
    step.grad_scale = 0.37;
    const auto gradient = portable_values<float>(params.size(), 10);
    adam_update(params.data(), m.data(), v.data(), gradient.data(), params.size(), step);
  });
}

TEST(PortableBits, RandomRows) {
  expect_same_bits<float>(3 * 64, [&](std::vector<float>& normals) {
    random_normals({5, Purpose::kAction, 0, 77, 64}, 3, normals.data(), 64);
  });
}

}  // namespace
}  // namespace broadloom
