#include "research/lab/exact_policy.h"

#include <algorithm>
#include <utility>

#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

// The tile of a list that starts at `begin`.
std::vector<int> tile_of(const std::vector<int>& list, std::size_t begin) {
  const std::size_t end = std::min(list.size(), begin + kTileRows);
  return {list.begin() + static_cast<std::ptrdiff_t>(begin),
          list.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::vector<int> count_up(int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) list[i] = i;
  return list;
}

// One linear layer of the policy as a tile left it: inputs [rows, in], and deltas. The delta of row
// r and output o is at r * row_stride + o * output_stride.
struct LayerView {
  int in, out;
  const double* inputs;
  const double* deltas;
  int row_stride, output_stride;
};

std::vector<LayerView> policy_layers(const ActorCritic& network,
                                     const TileWorkspace<double>& work) {
  std::vector<LayerView> views;
  const double* x = work.observations.data();
  const auto chain = [&](const Chain& body, const double* activations, const double* deltas) {
    for (std::size_t l = 0; l < body.layers().size(); ++l) {
      const LinearSlice& layer = body.layers()[l].slice;
      views.push_back({layer.in, layer.out, x, deltas + body.output_offset(l), layer.out, 1});
      x = activations + body.output_offset(l);
    }
  };
  chain(network.encoder(), work.encoder.data(), work.encoder_delta.data());
  chain(network.actor(), work.actor.data(), work.actor_delta.data());
  const LinearSlice& head = network.policy_head();
  views.push_back({head.in, head.out, x, work.policy_delta.data(), 1, kTileRows});
  return views;
}

// One layer's data for score_products(). Rows are columns here, so that the sums below run over
// whole vectors.
struct LayerFactors {
  int in, out;
  std::size_t states, pairs;   // pairs: states times actions
  std::vector<double> inputs;  // [in, states]
  std::vector<double> deltas;  // [out, pairs]

  LayerFactors(const LayerView& view, std::size_t states_in, std::size_t actions)
      : in(view.in),
        out(view.out),
        states(states_in),
        pairs(states_in * actions),
        inputs(in * states),
        deltas(out * pairs) {}

  void keep(const LayerView& view, int row, std::size_t state, std::size_t pair) {
    for (int i = 0; i < in; ++i) inputs[i * states + state] = view.inputs[row * in + i];
    for (int o = 0; o < out; ++o) {
      deltas[o * pairs + pair] = view.deltas[row * view.row_stride + o * view.output_stride];
    }
  }
};

// products[j] = sum over k of x[k, column] x[k, j], for all `columns` j.
void column_products(const std::vector<double>& x, int count, std::size_t columns,
                     std::size_t column, std::vector<double>& products) {
  std::fill(products.begin(), products.end(), 0.0);
  for (int k = 0; k < count; ++k) {
    const double* row = x.data() + k * columns;
    const double factor = row[column];
    if (factor == 0.0) continue;
    for (std::size_t j = 0; j < columns; ++j) products[j] += factor * row[j];
  }
}

// Adds one layer's share to products [pairs, pairs].
void add_layer(const LayerFactors& layer, std::vector<double>& products) {
  const std::size_t actions = layer.pairs / layer.states;
  std::vector<double> of_inputs(layer.states), of_deltas(layer.pairs);
  for (std::size_t i = 0; i < layer.pairs; ++i) {
    if (i % actions == 0) {
      column_products(layer.inputs, layer.in, layer.states, i / actions, of_inputs);
    }
    column_products(layer.deltas, layer.out, layer.pairs, i, of_deltas);
    double* row = products.data() + i * layer.pairs;
    for (std::size_t j = 0; j < layer.pairs; ++j) {
      row[j] += of_deltas[j] * (of_inputs[j / actions] + 1.0);
    }
  }
}

}  // namespace

ExactPolicy::ExactPolicy(const ActorCritic& network, const double* params, ValueUnit unit)
    : network_(network),
      params_(params, params + network_.parameter_count()),
      transposed_(network_.parameter_count()),
      probabilities_(static_cast<std::size_t>(num_states()) * num_actions()),
      values_(static_cast<std::size_t>(num_states())) {
  network_.refresh_transposed(params_.data(), transposed_.data());
  TileWorkspace<double> work = network_.make_workspace<double>();
  const std::vector<int> all = count_up(num_states());
  std::vector<double> normalisers(kTileRows), entropies(kTileRows);
  std::vector<double> probs(static_cast<std::size_t>(kTileRows) * num_actions());
  for (int begin = 0; begin < num_states(); begin += kTileRows) {
    const std::vector<int> rows = tile_of(all, begin);
    const int count = static_cast<int>(rows.size());
    forward(rows, work);
    categorical_normalisers(work.policy.data(), num_actions(), count, normalisers.data());
    categorical_entropies(work.policy.data(), normalisers.data(), num_actions(), count,
                          probs.data(), entropies.data());
    for (int r = 0; r < count; ++r) {
      values_[begin + r] = unit.exact_value(work.values[r]);
      for (int a = 0; a < num_actions(); ++a) {
        probabilities_[(begin + r) * num_actions() + a] = probs[a * kTileRows + r];
      }
    }
  }
}

void ExactPolicy::forward(const std::vector<int>& states, TileWorkspace<double>& work) const {
  std::fill(work.observations.begin(), work.observations.end(), 0.0);
  for (std::size_t r = 0; r < states.size(); ++r) {
    work.observations[r * num_states() + states[r]] = 1.0;
  }
  network_.forward(params_.data(), work.observations.data(), static_cast<int>(states.size()), work);
}

void ExactPolicy::backward(const std::vector<int>& states, const double* weights,
                           TileWorkspace<double>& work, double* sum) const {
  forward(states, work);
  std::fill(work.policy_delta.begin(), work.policy_delta.end(), 0.0);
  std::fill(work.values_delta.begin(), work.values_delta.end(), 0.0);
  const std::size_t actions = num_actions();
  for (std::size_t r = 0; r < states.size(); ++r) {
    const double* row = weights + r * actions;
    double total = 0.0;
    for (std::size_t a = 0; a < actions; ++a) total += row[a];
    // d log pi(a | s) / d logit_i = [i = a] - pi(i | s)
    for (std::size_t i = 0; i < actions; ++i) {
      work.policy_delta[i * kTileRows + r] =
          row[i] - probabilities_[states[r] * actions + i] * total;
    }
  }
  network_.backward(params_.data(), transposed_.data(), work.observations.data(),
                    static_cast<int>(states.size()), work, sum);
}

std::vector<double> ExactPolicy::weighted_scores(const std::vector<double>& weights) const {
  std::vector<double> sum(params_.size(), 0.0);
  TileWorkspace<double> work = network_.make_workspace<double>();
  const std::vector<int> all = count_up(num_states());
  for (int begin = 0; begin < num_states(); begin += kTileRows) {
    backward(tile_of(all, begin), weights.data() + begin * num_actions(), work, sum.data());
  }
  return sum;
}

std::vector<double> ExactPolicy::score_products(const std::vector<int>& states) const {
  const std::size_t actions = num_actions();
  TileWorkspace<double> work = network_.make_workspace<double>();
  std::vector<LayerFactors> layers;
  for (const LayerView& view : policy_layers(network_, work)) {
    layers.emplace_back(view, states.size(), actions);
  }
  std::vector<double> unused(params_.size()), one_action(kTileRows * actions);
  for (std::size_t begin = 0; begin < states.size(); begin += kTileRows) {
    const std::vector<int> rows = tile_of(states, begin);
    for (std::size_t action = 0; action < actions; ++action) {
      for (std::size_t i = 0; i < one_action.size(); ++i) {
        one_action[i] = i % actions == action ? 1.0 : 0.0;
      }
      backward(rows, one_action.data(), work, unused.data());
      const std::vector<LayerView> views = policy_layers(network_, work);
      for (std::size_t l = 0; l < views.size(); ++l) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          layers[l].keep(views[l], static_cast<int>(r), begin + r, (begin + r) * actions + action);
        }
      }
    }
  }
  const std::size_t pairs = states.size() * actions;
  std::vector<double> products(pairs * pairs, 0.0);
  for (const LayerFactors& layer : layers) add_layer(layer, products);
  return products;
}

}  // namespace broadloom
