// A loss's gradient against differences of the loss, in double precision.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace broadloom {

// loss(params, grads): the loss there; adds its gradient to grads.
template <class Loss>
void expect_gradient_of_differences(const std::vector<double>& params, Loss&& loss) {
  std::vector<double> grads(params.size()), unused(params.size());
  loss(params, grads);
  double largest = 0.0;
  for (const double g : grads) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 1e-3);
  constexpr double h = 2e-5;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto loss_at = [&](double offset) {
      std::vector<double> moved = params;
      moved[i] += offset;
      return loss(moved, unused);
    };
    const double numeric =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    ASSERT_NEAR(grads[i], numeric, 1e-6 * largest) << "parameter " << i;
  }
}

}  // namespace broadloom
