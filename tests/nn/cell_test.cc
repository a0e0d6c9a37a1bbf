// Recurrent cells against a slow reference, PyTorch, finite differences, and other layouts of the
// same rows.
#include "broadloom/nn/cell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "tests/support/folders.h"

namespace broadloom {
namespace {

constexpr int kOtherNumbers = 2;  // of a state, before those of the cell

struct CellScene {
  CellScene(CellKind kind, int in, int width, int steps, int sequences)
      : kind(kind),
        in(in),
        width(width),
        steps(steps),
        sequences(sequences),
        cell(kind, in, width, kOtherNumbers, layout),
        planes(static_cast<int>(cell.state_size()) / width) {}

  // Seven units, which are no multiple of any vector.
  static CellScene drawn(CellKind kind) {
    CellScene s(kind, kind == CellKind::kMinGru ? 7 : kind == CellKind::kGru ? 4 : 9, 7, 5, 3);
    Random random(3, Purpose::kUser, 0, 0);
    const int numbers = s.rows() * s.width;
    const int states = s.sequences * s.width * s.planes;
    for (std::size_t i = 0; i < s.layout.size(); ++i) s.params.push_back(0.7 * random.normal());
    for (int i = 0; i < s.rows() * s.in; ++i) s.x.push_back(random.normal());
    for (int i = 0; i < states; ++i) s.before.push_back(0.5 + random.uniform(0.0, 1.0));
    for (int i = 0; i < numbers; ++i) s.weights.push_back(random.normal());
    for (int i = 0; i < states; ++i) s.end_weights.push_back(random.normal());
    s.begins.assign(static_cast<std::size_t>(s.rows()), 0);
    s.begins[2 * s.sequences + 1] = s.begins[0] = 1;  // within a sequence, and at its start
    return s;
  }

  int rows() const { return steps * sequences; }

  CellKind kind;
  int in, width, steps, sequences;
  ParameterLayout layout;
  Cell cell;
  int planes;  // of `width` numbers in a state
  std::vector<double> params, x, before, weights, end_weights;
  std::vector<std::uint8_t> begins;
};

double slow_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The formulas of math/min_gru.h and math/gated_units.h, number by number. Writes states [rows,
// planes, width] and outputs [rows, width].
void slow_cell(const CellScene& s, std::vector<double>& states, std::vector<double>& y) {
  const int width = s.width, size = s.planes * width;
  states.assign(static_cast<std::size_t>(s.rows() * size), 0.0);
  y.assign(static_cast<std::size_t>(s.rows() * width), 0.0);
  for (int r = 0; r < s.rows(); ++r) {
    std::vector<double> last(static_cast<std::size_t>(size), 0.0);
    if (s.begins[r] == 0) {
      const double* kept =
          r < s.sequences ? &s.before[r * size] : &states[(r - s.sequences) * size];
      std::copy_n(kept, size, last.begin());
    }
    const auto sum = [&](const LinearSlice& w, const double* in, int part, int i) {
      const int o = part * width + i;
      double out = s.params[w.bias + o];
      for (int j = 0; j < w.in; ++j) out += in[j] * s.params[w.at(j, o)];
      return out;
    };
    for (int i = 0; i < width; ++i) {
      const auto own = [&](int part) { return sum(s.cell.slice(), &s.x[r * s.in], part, i); };
      const auto of_state = [&](int part) {
        return sum(s.cell.state_slice(), last.data(), part, i);
      };
      const auto gate = [&](int part) { return slow_sigmoid(own(part) + of_state(part)); };
      double* const state = &states[r * size];
      if (s.kind == CellKind::kMinGru) {
        const double a = own(0), z = slow_sigmoid(own(1)), p = slow_sigmoid(own(2));
        state[i] = (1.0 - z) * last[i] + z * (a >= 0.0 ? a + 0.5 : slow_sigmoid(a));
        y[r * width + i] = p * state[i] + (1.0 - p) * s.x[r * width + i];
        continue;
      }
      if (s.kind == CellKind::kGru) {
        const double n = std::tanh(own(2) + gate(0) * of_state(2));
        state[i] = (1.0 - gate(1)) * n + gate(1) * last[i];
      } else {
        state[width + i] = gate(1) * last[width + i] + gate(0) * std::tanh(own(2) + of_state(2));
        state[i] = gate(3) * std::tanh(state[width + i]);
      }
      y[r * width + i] = state[i];
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
    states.size = s.planes * s.width + kOtherNumbers;
    states.before.resize(kTileRows * states.size);
    states.delta.resize(kTileRows * states.size);
    states.begins.resize(kTileRows);
    states.sequences = s.sequences;
    std::copy(s.begins.begin(), s.begins.end(), states.begins.begin());
    put(s, s.before, states.before);
    y = s.cell.forward(params.data(), x.data(), s.rows(), states, activations.data());
  }
  // Writes states [sequences, planes, width] to their places.
  void put(const CellScene& s, const std::vector<double>& numbers, AlignedVector<Real>& target) {
    const int size = s.planes * s.width;
    for (int i = 0; i < s.sequences * size; ++i) {
      target[place(s, i)] = static_cast<Real>(numbers[static_cast<std::size_t>(i)]);
    }
  }
  std::size_t place(const CellScene& s, int i) const {
    const int size = s.planes * s.width;
    return static_cast<std::size_t>(i / size * states.size + kOtherNumbers + i % size);
  }
  std::vector<Real> state(const CellScene& s, int row) const {
    std::vector<Real> whole(static_cast<std::size_t>(states.size));
    s.cell.copy_state(activations.data(), row, whole.data());
    return {whole.begin() + kOtherNumbers, whole.end()};
  }
  std::vector<Real> params, x;
  AlignedVector<Real> activations, deltas;
  TileStates<Real> states;
  const Real* y;
};

struct CellGradients {
  std::vector<double> params, x, before;
};

CellGradients gradients_of(const CellScene& s) {
  PlayedCell<double> played(s);
  std::vector<double> transposed(s.params.size());
  CellGradients out{std::vector<double>(s.params.size()), std::vector<double>(s.x.size()), {}};
  s.cell.refresh_transposed(s.params.data(), transposed.data());
  std::copy(s.weights.begin(), s.weights.end(), played.deltas.begin());
  played.put(s, s.end_weights, played.states.delta);
  s.cell.backward(transposed.data(), s.x.data(), s.rows(), played.states, played.activations.data(),
                  played.deltas.data(), out.params.data(), out.x.data());
  for (int i = 0; i < s.sequences * s.planes * s.width; ++i) {
    out.before.push_back(played.states.delta[played.place(s, i)]);
  }
  return out;
}

class Cells : public ::testing::TestWithParam<CellKind> {};

TEST_P(Cells, AgreeWithTheFormulas) {
  const CellScene scene = CellScene::drawn(GetParam());
  std::vector<double> states, y;
  slow_cell(scene, states, y);
  const PlayedCell<double> exact(scene);
  const PlayedCell<float> rounded(scene);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(exact.y[i], y[i], 1e-12);
    EXPECT_NEAR(rounded.y[i], y[i], 1e-5);
  }
  for (int r = 0; r < scene.rows(); ++r) {
    const std::vector<double> state = exact.state(scene, r);
    for (std::size_t i = 0; i < state.size(); ++i) {
      EXPECT_NEAR(state[i], states[static_cast<std::size_t>(r) * state.size() + i], 1e-12);
    }
  }
}

TEST_P(Cells, GoBackwardAsFiniteDifferencesDo) {
  CellScene scene = CellScene::drawn(GetParam());
  const CellGradients found = gradients_of(scene);
  const auto slope = [&](double& number) {
    constexpr double h = 1e-4;
    const double kept = number;
    const auto loss_at = [&](double offset) {
      number = kept + offset;
      return slow_cell_loss(scene);
    };
    const double difference =
        (8.0 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12.0 * h);
    number = kept;
    return difference;
  };
  const auto compare = [&](const std::vector<double>& gradient, std::vector<double>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_NEAR(gradient[i], slope(numbers[i]), 1e-7);
    }
  };
  compare(found.params, scene.params);
  compare(found.x, scene.x);
  compare(found.before, scene.before);
  EXPECT_EQ(found.before[0], 0.0) << "the first sequence begins an episode";
}

// As in collection, which takes one step at a time, and in the update, which takes many.
TEST_P(Cells, ARowHasTheSameBitsInAnyTile) {
  const CellScene scene = CellScene::drawn(GetParam());
  const PlayedCell<float> whole(scene);
  PlayedCell<float> steps(scene);
  const int step = scene.sequences * scene.width, seen = scene.sequences * scene.in;
  for (int t = 0; t < scene.steps; ++t) {
    const int first = t * scene.sequences;
    std::copy_n(scene.begins.begin() + first, scene.sequences, steps.states.begins.begin());
    const float* y = scene.cell.forward(steps.params.data(), &steps.x[t * seen], scene.sequences,
                                        steps.states, steps.activations.data());
    for (int i = 0; i < step; ++i) ASSERT_EQ(y[i], whole.y[t * step + i]) << "step " << t;
    for (int e = 0; e < scene.sequences; ++e) {
      scene.cell.copy_state(steps.activations.data(), e,
                            &steps.states.before[e * steps.states.size]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Cells,
                         ::testing::Values(CellKind::kMinGru, CellKind::kGru, CellKind::kLstm));

// golden_cells.json is by make_golden_cells.py.
TEST(GatedCells, EqualTorchs) {
  std::ifstream file(source_folder() + "/tests/nn/golden_cells.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const nlohmann::json& one : golden["cases"]) {
    const std::string kind = one["kind"];
    CellScene s(kind == "gru" ? CellKind::kGru : CellKind::kLstm, golden["width"], golden["width"],
                golden["steps"], golden["sequences"]);
    one["params"].get_to(s.params);
    one["x"].get_to(s.x);
    one["before"].get_to(s.before);
    one["weights"].get_to(s.weights);
    one["end_weights"].get_to(s.end_weights);
    golden["begins"].get_to(s.begins);
    ASSERT_EQ(s.params.size(), s.layout.size());
    const PlayedCell<double> exact(s);
    const PlayedCell<float> rounded(s);
    const auto near = [&](const std::vector<double>& got, const char* name) {
      ASSERT_EQ(got.size(), one[name].size()) << name;
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(got[i], one[name][i].get<double>(), 1e-12) << kind << ", " << name << " " << i;
      }
    };
    near({exact.y, exact.y + s.x.size()}, "outputs");
    for (std::size_t i = 0; i < s.x.size(); ++i) EXPECT_NEAR(rounded.y[i], exact.y[i], 1e-6);
    std::vector<double> states;
    for (int r = 0; r < s.rows(); ++r) {
      const std::vector<double> state = exact.state(s, r);
      states.insert(states.end(), state.begin(), state.end());
    }
    near(states, "states");
    const CellGradients found = gradients_of(s);
    near(found.params, "d_params");
    near(found.x, "d_x");
    near(found.before, "d_before");
  }
}

}  // namespace
}  // namespace broadloom
