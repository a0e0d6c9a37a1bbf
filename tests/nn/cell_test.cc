// Recurrent cells against a slow reference, finite differences, and other layouts of the same rows.
#include "broadloom/nn/cell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr int kCellWidth = 7;  // not a multiple of any vector
constexpr int kCellSteps = 5, kCellSequences = 3, kCellRows = kCellSteps * kCellSequences;

struct CellScene {
  CellScene() {
    cell = Cell(CellKind::kMinGru, kCellWidth, 2,
                layout);  // two numbers of a state are another cell's
    Random random(3, Purpose::kUser, 0, 0);
    for (std::size_t i = 0; i < layout.size(); ++i) params.push_back(0.7 * random.normal());
    for (int i = 0; i < kCellRows * kCellWidth; ++i) x.push_back(random.normal());
    for (int i = 0; i < kCellSequences * kCellWidth; ++i)
      before.push_back(0.5 + random.uniform(0.0, 1.0));
    for (int i = 0; i < kCellRows * kCellWidth; ++i) weights.push_back(random.normal());
    for (int i = 0; i < kCellSequences * kCellWidth; ++i) end_weights.push_back(random.normal());
    begins.assign(kCellRows, 0);
    begins[2 * kCellSequences + 1] = begins[0] = 1;  // within a sequence, and at its start
  }

  ParameterLayout layout;
  Cell cell;
  std::vector<double> params, x, before, weights, end_weights;
  std::vector<std::uint8_t> begins;
};

double slow_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The formulas of math/min_gru.h, number by number. Writes states and outputs [rows, width].
void slow_cell(const CellScene& s, std::vector<double>& states, std::vector<double>& y) {
  states.assign(s.x.size(), 0.0);
  y = states;
  const LinearSlice& w = s.cell.slice();
  for (int r = 0; r < kCellRows; ++r) {
    for (int i = 0; i < kCellWidth; ++i) {
      double sums[3];
      for (int k = 0; k < 3; ++k) {
        const int o = k * kCellWidth + i;
        sums[k] = s.params[w.bias + o];
        for (int j = 0; j < kCellWidth; ++j)
          sums[k] += s.x[r * kCellWidth + j] * s.params[w.at(j, o)];
      }
      double last = r < kCellSequences ? s.before[r * kCellWidth + i]
                                       : states[(r - kCellSequences) * kCellWidth + i];
      if (s.begins[r] != 0) last = 0.0;
      const double candidate = sums[0] >= 0.0 ? sums[0] + 0.5 : slow_sigmoid(sums[0]);
      const double z = slow_sigmoid(sums[1]), p = slow_sigmoid(sums[2]);
      const double state = (1.0 - z) * last + z * candidate;
      states[r * kCellWidth + i] = state;
      y[r * kCellWidth + i] = p * state + (1.0 - p) * s.x[r * kCellWidth + i];
    }
  }
}

// A loss that reads all outputs and the last states.
double slow_cell_loss(const CellScene& s) {
  std::vector<double> states, y;
  slow_cell(s, states, y);
  double loss = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) loss += s.weights[i] * y[i];
  const std::size_t last = states.size() - s.end_weights.size();
  for (std::size_t i = 0; i < s.end_weights.size(); ++i) {
    loss += s.end_weights[i] * states[last + i];
  }
  return loss;
}

template <class Real>
struct PlayedCell {
  explicit PlayedCell(const CellScene& s)
      : params(s.params.begin(), s.params.end()),
        x(s.x.begin(), s.x.end()),
        activations(s.cell.workspace_size()),
        deltas(s.cell.delta_size()) {
    states.size = kCellWidth + 2;
    states.before.resize(kTileRows * states.size);
    states.delta.resize(kTileRows * states.size);
    states.begins.resize(kTileRows);
    states.sequences = kCellSequences;
    std::copy(s.begins.begin(), s.begins.end(), states.begins.begin());
    for (int e = 0; e < kCellSequences; ++e) {
      for (int i = 0; i < kCellWidth; ++i) {
        states.before[e * states.size + 2 + i] = static_cast<Real>(s.before[e * kCellWidth + i]);
      }
    }
    y = s.cell.forward(params.data(), x.data(), kCellRows, states, activations.data());
  }
  std::vector<Real> params, x;
  AlignedVector<Real> activations, deltas;
  TileStates<Real> states;
  const Real* y;
};

TEST(MinGru, AgreesWithTheFormulas) {
  const CellScene scene;
  std::vector<double> states, y;
  slow_cell(scene, states, y);
  const PlayedCell<double> exact(scene);
  const PlayedCell<float> rounded(scene);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(exact.y[i], y[i], 1e-12);
    EXPECT_NEAR(scene.cell.states(exact.activations.data())[i], states[i], 1e-12);
    EXPECT_NEAR(rounded.y[i], y[i], 1e-5);
  }
}

TEST(MinGru, GoesBackwardAsFiniteDifferencesDo) {
  CellScene scene;
  PlayedCell<double> played(scene);
  std::vector<double> transposed(scene.params.size()), grads(scene.params.size());
  std::vector<double> below(scene.x.size());
  scene.cell.refresh_transposed(scene.params.data(), transposed.data());
  std::copy(scene.weights.begin(), scene.weights.end(), played.deltas.begin());
  for (int e = 0; e < kCellSequences; ++e) {
    for (int i = 0; i < kCellWidth; ++i) {
      played.states.delta[e * played.states.size + 2 + i] = scene.end_weights[e * kCellWidth + i];
    }
  }
  scene.cell.backward(transposed.data(), scene.x.data(), kCellRows, played.states,
                      played.activations.data(), played.deltas.data(), grads.data(), below.data());
  const auto slope = [&](double& number) {
    constexpr double h = 1e-5;
    const double kept = number;
    const auto loss_at = [&](double offset) {
      number = kept + offset;
      return slow_cell_loss(scene);
    };
    const double found =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    number = kept;
    return found;
  };
  for (std::size_t i = 0; i < grads.size(); ++i)
    EXPECT_NEAR(grads[i], slope(scene.params[i]), 1e-7);
  for (std::size_t i = 0; i < below.size(); ++i) EXPECT_NEAR(below[i], slope(scene.x[i]), 1e-7);
  for (int i = 0; i < kCellSequences * kCellWidth; ++i) {
    EXPECT_NEAR(played.states.delta[i / kCellWidth * played.states.size + 2 + i % kCellWidth],
                slope(scene.before[i]), 1e-7);
  }
  EXPECT_EQ(played.states.delta[2], 0.0) << "the first sequence begins an episode";
}

// As in collection, which takes one step at a time, and in the update, which takes many.
TEST(MinGru, ARowHasTheSameBitsInAnyTile) {
  const CellScene scene;
  const PlayedCell<float> whole(scene);
  PlayedCell<float> steps(scene);
  for (int t = 0; t < kCellSteps; ++t) {
    const int first = t * kCellSequences;
    std::copy_n(scene.begins.begin() + first, kCellSequences, steps.states.begins.begin());
    const float* y = scene.cell.forward(steps.params.data(), &steps.x[first * kCellWidth],
                                        kCellSequences, steps.states, steps.activations.data());
    for (int i = 0; i < kCellSequences * kCellWidth; ++i) {
      ASSERT_EQ(y[i], whole.y[first * kCellWidth + i]) << "step " << t;
      steps.states.before[i / kCellWidth * steps.states.size + 2 + i % kCellWidth] =
          scene.cell.states(steps.activations.data())[i];
    }
  }
}

}  // namespace
}  // namespace broadloom
