#include "broadloom/instruments/gradient/factors.h"

#include <algorithm>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/linear.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

// Calls visit(layer) for body layers with parameters and head(slice) for heads, in the order in
// which factors are stored.
template <class Visit, class Head>
void over_layers(const ActorCritic& network, const GradientTerms& terms, Visit&& visit,
                 Head&& head) {
  const auto over_body = [&](const Chain& body) {
    for (const Layer& layer : body.layers()) {
      if (layer.has_parameters()) visit(layer);
    }
  };
  over_body(network.encoder());
  if (terms.score != Score::kValue) {
    over_body(network.actor());
    over_body(network.actor_top());
    head(network.policy_head());
  }
  if (!terms.reads_critic()) return;
  over_body(network.critic());
  over_body(network.critic_top());
  head(network.value_head());
}

std::size_t parameters_of(const LinearSlice& slice) {
  return static_cast<std::size_t>(slice.out) * (static_cast<std::size_t>(slice.in) + 1);
}

// Parameters of deviations, whose gradients are kept whole.
int log_stds(const ActorCritic& network, const GradientTerms& terms) {
  if (terms.score != Score::kLogProb) return 0;
  return network.shape().has_log_std() ? network.shape().box_size() : network.noise_size();
}

// The side that the terms read. A separate critic has no part in the policy's gradient.
NetworkSide side_of(const ActorCritic& network, const GradientTerms& terms) {
  if (!network.sides_are_apart() || terms.value) return NetworkSide::kBoth;
  return terms.score == Score::kValue ? NetworkSide::kValue : NetworkSide::kPolicy;
}

// Copies a head's rows, which are columns of the tile, to [rows, out].
template <class Real>
void keep_columns(const Real* columns, int rows, int out, Real* kept) {
  for (int r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) kept[r * out + o] = columns[o * kTileRows + r];
  }
}

std::size_t terms_size(const ActorCritic& network) {
  return static_cast<std::size_t>(PolicyDistribution::term_rows(network.shape())) * kTileRows;
}

}  // namespace

template <class Real>
FactorMaker<Real>::FactorMaker(const ActorCritic& network, const GradientTerms& terms)
    : network_(network),
      terms_(terms),
      side_(side_of(network, terms)),
      work_(network.make_workspace<Real>()),
      transposed_(network.parameter_count()),
      unused_grads_(network.parameter_count()),
      actions_(static_cast<std::size_t>(network.shape().action_size()) * kTileRows),
      normalisers_(actions_.size()),
      head_entropies_(actions_.size()),
      ones_(kTileRows, Real(1)),
      entropies_(kTileRows),
      log_probs_(kTileRows),
      scores_(kTileRows),
      terms_of_(terms_size(network)) {
  if (network.is_recurrent()) {
    for (const ParameterRange& range : network.ranges(side_)) {
      if (range.size() > 0) extra_runs_.push_back({range.begin, static_cast<int>(range.size())});
    }
    kept_policy_delta_.resize(work_.policy_delta.size());
    kept_value_delta_.resize(work_.values_delta.size());
    gradient_.resize(network.parameter_count());
    slopes_.resize(static_cast<std::size_t>(kTileRows) * log_stds(network, terms));
    return;
  }
  const auto factored = [this](const LinearSlice& slice) { layers_.push_back(slice); };
  const auto kept = [&](const Layer& layer) {
    if (layer.kind == LayerKind::kLinear) return factored(layer.slice);
    extra_runs_.push_back({layer.slice.weight, static_cast<int>(parameters_of(layer.slice))});
  };
  over_layers(network, terms, kept, factored);
  const int deviations = log_stds(network, terms);
  if (deviations > 0) extra_runs_.push_back({network.log_std_offset(), deviations});
}

template <class Real>
void FactorMaker<Real>::shape(int rows, GradientFactors<Real>& factors) const {
  factors.rows = rows;
  factors.layers.resize(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    factors.layers[l].slice = layers_[l];
    factors.layers[l].inputs.resize(static_cast<std::size_t>(rows) * layers_[l].in);
    factors.layers[l].deltas.resize(static_cast<std::size_t>(rows) * layers_[l].out);
  }
  factors.extra_runs = extra_runs_;
  factors.extra_size = static_cast<int>(whole_count(network_, terms_));
  factors.extras.resize(static_cast<std::size_t>(rows) * factors.extra_size);
}

template <class Real>
void FactorMaker<Real>::make(NetworkInput<Real> observations, const Real* actions,
                             const Real* policy_weights, const Real* value_weights, int rows,
                             GradientFactors<Real>& factors,
                             const SampleSequences<Real>& sequences) {
  shape(rows, factors);
  network_.refresh_transposed(params_, transposed_.data());
  if (network_.is_recurrent()) {
    return make_sequences(observations, actions, policy_weights, value_weights, rows, factors,
                          sequences);
  }
  for (int first = 0; first < rows; first += kTileRows) {
    tile(observations, actions, policy_weights, value_weights, first,
         std::min(kTileRows, rows - first), factors);
  }
}

template <class Real>
NetworkInput<Real> FactorMaker<Real>::input_from(NetworkInput<Real> observations, int first) const {
  const NetworkShape& shape = network_.shape();
  const std::size_t begin = static_cast<std::size_t>(first);
  NetworkInput<Real> seen = observations.policy + begin * shape.observation_size;
  if (observations.valid != nullptr) {
    seen.valid = observations.valid + begin * static_cast<std::size_t>(shape.logits());
  }
  if (terms_.reads_critic()) {
    seen.critic = observations.critic + begin * shape.critic_input_size();
  }
  return seen;
}

template <class Real>
void FactorMaker<Real>::tile(NetworkInput<Real> observations, const Real* actions,
                             const Real* policy_weights, const Real* value_weights, int first,
                             int rows, GradientFactors<Real>& factors) {
  const NetworkInput<Real> seen = input_from(observations, first);
  network_.forward(params_, seen, rows, work_, side_);
  const std::size_t width = static_cast<std::size_t>(factors.extra_size);
  set_deltas(actions, policy_weights, value_weights, first, rows,
             factors.extras.data() + static_cast<std::size_t>(first) * width, width);
  network_.backward(params_, transposed_.data(), seen, rows, work_, unused_grads_.data(), side_);
  keep(seen, first, rows, factors);
}

// Derivatives of g with respect to the network's outputs.
template <class Real>
void FactorMaker<Real>::set_deltas(const Real* actions, const Real* policy_weights,
                                   const Real* value_weights, int first, int rows, Real* row_slopes,
                                   std::size_t stride) {
  const Real* weights = policy_weights != nullptr ? policy_weights + first : ones_.data();
  if (terms_.score == Score::kLogProb) {
    policy_deltas(actions, weights, first, rows, row_slopes, stride);
  } else {
    std::fill(work_.policy_delta.begin(), work_.policy_delta.end(), Real(0));
  }
  for (int r = 0; r < rows; ++r) {
    if (terms_.score == Score::kActionValue) {
      work_.policy_delta[static_cast<int>(actions[first + r]) * kTileRows + r] = weights[r];
    }
    const Real of_value =
        terms_.value ? static_cast<Real>(terms_.vf_coef) * value_weights[first + r] : Real(0);
    work_.values_delta[r] = terms_.score == Score::kValue ? weights[r] : of_value;
  }
}

// Derivative of g with respect to the policy's outputs, and the rows of log_std's gradient, which
// are the last numbers of rows of `stride`.
template <class Real>
void FactorMaker<Real>::policy_deltas(const Real* actions, const Real* weights, int first, int rows,
                                      Real* row_slopes, std::size_t stride) {
  const int action_size = network_.shape().action_size();
  const Real entropy = terms_.entropy ? static_cast<Real>(terms_.ent_coef) : Real(0);
  for (int r = 0; r < rows; ++r) {
    for (int a = 0; a < action_size; ++a) {
      actions_[a * kTileRows + r] =
          actions[(static_cast<std::size_t>(first) + r) * action_size + a];
    }
  }
  std::copy_n(weights, rows, scores_.data());  // the distributions read whole vectors of rows
  const PolicyDistribution policy(network_.shape());
  const PolicyRows<Real> tile{.outputs = work_.policy.data(),
                              .log_std = work_.log_std.data(),
                              .actions = actions_.data(),
                              .rows = rows,
                              .terms = terms_of_.data(),
                              .normalisers = normalisers_.data(),
                              .head_entropies = head_entropies_.data()};
  policy.log_probs(tile, log_probs_.data());
  policy.entropies(tile, entropies_.data());
  policy.backward(tile, scores_.data(), entropy, work_.policy_delta.data(),
                  work_.log_std_delta.data());
  if (network_.noise_size() > 0) return noise_slopes(rows, row_slopes, stride);
  if (!network_.shape().has_log_std()) return;
  // Slopes of the log deviations in their parameters.
  Real* const slopes = unused_grads_.data() + network_.log_std_offset();
  const int count = network_.shape().box_size();
  std::fill_n(slopes, count, Real(0));
  std::fill_n(work_.log_std_delta.begin(), count, Real(1));
  network_.add_log_std_gradient(params_, work_.log_std_delta.data(), unused_grads_.data());
  for (int r = 0; r < rows; ++r) {
    Real* end = row_slopes + (static_cast<std::size_t>(r) + 1) * stride;
    for (int a = 0; a < count; ++a) {
      const Real slope = policy.row_log_std_slope(tile, a, r, weights[r], entropy);
      end[a - count] = slope * slopes[a];
    }
  }
}

// The rows of the gradient of noise's parameters [L, A].
template <class Real>
void FactorMaker<Real>::noise_slopes(int rows, Real* row_slopes, std::size_t stride) const {
  const NoiseRows<Real> noise = network_.noise_rows(work_, rows);
  const std::size_t begin = static_cast<std::size_t>(network_.shape().head_outputs()) * kTileRows;
  const Real* const log_std = &work_.policy[begin];
  const Real* const delta = &work_.policy_delta[begin];
  for (int r = 0; r < rows; ++r) {
    Real* out = row_slopes + (static_cast<std::size_t>(r) + 1) * stride - network_.noise_size();
    for (int l = 0; l < noise.width; ++l) {
      for (int i = 0; i < noise.count; ++i) {
        *out++ = static_cast<Real>(noise_slope(noise, log_std, r, l, i)) * delta[i * kTileRows + r];
      }
    }
  }
}

template <class Real>
void FactorMaker<Real>::keep(NetworkInput<Real> observations, int first, int rows,
                             GradientFactors<Real>& factors) {
  std::size_t l = 0;
  int column = 0;
  const auto keep_layer = [&](const Real* inputs, const Real* deltas, bool head) {
    auto& layer = factors.layers[l++];
    const std::size_t in = static_cast<std::size_t>(layer.slice.in);
    const std::size_t out = static_cast<std::size_t>(layer.slice.out);
    std::copy_n(inputs, rows * in, &layer.inputs[first * in]);
    Real* kept = &layer.deltas[first * out];
    if (head) {
      keep_columns(deltas, rows, layer.slice.out, kept);
    } else {
      std::copy_n(deltas, rows * out, kept);
    }
  };
  const auto keep_body = [&](const Chain& body, const Real* input,
                             const AlignedVector<Real>& outputs,
                             const AlignedVector<Real>& deltas) {
    for (std::size_t k = 0; k < body.layers().size(); ++k) {
      const Layer& one = body.layers()[k];
      const Real* delta = deltas.data() + body.output_offset(k);
      if (one.kind == LayerKind::kLinear) {
        keep_layer(input, delta, false);
      } else if (one.has_parameters()) {
        keep_whole(one, input, delta, column, first, rows, factors);
        column += static_cast<int>(parameters_of(one.slice));
      }
      input = outputs.data() + body.output_offset(k);
    }
    return input;
  };
  const Real* features =
      keep_body(network_.encoder(), observations.policy, work_.encoder, work_.encoder_delta);
  if (terms_.score != Score::kValue) {
    keep_layer(keep_body(network_.actor(), features, work_.actor, work_.actor_delta),
               work_.policy_delta.data(), true);
  }
  if (!terms_.reads_critic()) return;
  const Real* of_critic = network_.sides_are_apart() ? observations.critic : features;
  keep_layer(keep_body(network_.critic(), of_critic, work_.critic, work_.critic_delta),
             work_.values_delta.data(), true);
}

// Stores whole gradients of a layer, sample after sample. The slice is moved to offset 0, because
// each gradient is a buffer of its own.
template <class Real>
void FactorMaker<Real>::keep_whole(const Layer& layer, const Real* inputs, const Real* deltas,
                                   int column, int first, int rows,
                                   GradientFactors<Real>& factors) {
  Layer alone = layer;
  alone.slice.weight = 0;
  alone.slice.bias = layer.slice.bias - layer.slice.weight;
  const Real* params = params_ + layer.slice.weight;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const std::size_t row = static_cast<std::size_t>(first) + r;
    Real* kept = &factors.extras[row * static_cast<std::size_t>(factors.extra_size) + column];
    std::fill_n(kept, parameters_of(layer.slice), Real(0));
    layer_parameter_gradient(alone, params, inputs + r * layer.in.size(),
                             deltas + r * layer.out.size(), 1, kept, work_.layer_scratch.data());
  }
}

// A head's W is [out, in], so input and delta exchange roles, and its bias is summed separately.
template <class Real>
void add_weighted_sum(const GradientFactors<Real>& factors, const Real* weights, int begin, int end,
                      Real* sum, std::vector<Real>& scratch) {
  for (const auto& layer : factors.layers) {
    const int in = layer.slice.in, out = layer.slice.out;
    scratch.resize(static_cast<std::size_t>(kTileRows) * out + in);
    Real* scaled = scratch.data();
    Real* unused = scaled + static_cast<std::size_t>(kTileRows) * out;
    Real* dw = sum + layer.slice.weight;
    Real* db = sum + layer.slice.bias;
    for (int first = begin; first < end; first += kTileRows) {
      const int rows = std::min(kTileRows, end - first);
      const Real* x = &layer.inputs[static_cast<std::size_t>(first) * in];
      const Real* dy = &layer.deltas[static_cast<std::size_t>(first) * out];
      for (int r = 0; r < rows; ++r) {
        const Real w = weights != nullptr ? weights[first + r] : Real(1);
        for (int o = 0; o < out; ++o) scaled[r * out + o] = w * dy[r * out + o];
      }
      if (!layer.slice.head) {
        linear_backward_weights(x, scaled, dw, db, rows, in, out);
        continue;
      }
      linear_backward_weights(scaled, x, dw, unused, rows, out, in);
      for (int r = 0; r < rows; ++r) {
        for (int o = 0; o < out; ++o) db[o] += scaled[r * out + o];
      }
    }
  }
  if (factors.extra_size == 0) return;
  for (int r = begin; r < end; ++r) {
    const Real w = weights != nullptr ? weights[r] : Real(1);
    const Real* kept = &factors.extras[static_cast<std::size_t>(r) * factors.extra_size];
    for (const auto& run : factors.extra_runs) {
      for (int e = 0; e < run.size; ++e) sum[run.offset + e] += w * kept[e];
      kept += run.size;
    }
  }
}

template <class Real>
void squared_norms(const GradientFactors<Real>& factors, Real* squares) {
  for (int r = 0; r < factors.rows; ++r) squares[r] = inner_product(factors, r, r);
}

template <class Real>
void project(const GradientFactors<Real>& factors, const Real* v, Real* products,
             std::vector<Real>& scratch) {
  std::fill_n(products, factors.rows, Real(0));
  for (const auto& layer : factors.layers) {
    const int in = layer.slice.in, out = layer.slice.out;
    const std::size_t size = static_cast<std::size_t>(out);
    scratch.resize((static_cast<std::size_t>(kTileRows) + in) * size);
    Real* along = scratch.data();
    const Real* w = v + layer.slice.weight;
    if (layer.slice.head) {
      Real* turned = along + kTileRows * size;
      transpose(w, turned, out, in);
      w = turned;
    }
    for (int first = 0; first < factors.rows; first += kTileRows) {
      const int rows = std::min(kTileRows, factors.rows - first);
      linear_forward(&layer.inputs[static_cast<std::size_t>(first) * in], w, v + layer.slice.bias,
                     along, rows, in, out);
      for (int r = 0; r < rows; ++r) {
        products[first + r] +=
            dot(along + static_cast<std::size_t>(r) * size,
                &layer.deltas[(static_cast<std::size_t>(first) + r) * size], size);
      }
    }
  }
  if (factors.extra_size == 0) return;
  for (int r = 0; r < factors.rows; ++r) {
    const Real* kept = &factors.extras[static_cast<std::size_t>(r) * factors.extra_size];
    for (const auto& run : factors.extra_runs) {
      products[r] += dot(v + run.offset, kept, static_cast<std::size_t>(run.size));
      kept += run.size;
    }
  }
}

template <class Real>
Real inner_product(const GradientFactors<Real>& factors, int i, int j) {
  Real sum = 0;
  const auto product = [i, j](const std::vector<Real>& rows, int width) {
    const std::size_t n = static_cast<std::size_t>(width);
    return dot(rows.data() + i * n, rows.data() + j * n, n);
  };
  for (const auto& layer : factors.layers) {
    sum +=
        product(layer.deltas, layer.slice.out) * (product(layer.inputs, layer.slice.in) + Real(1));
  }
  return factors.extra_size > 0 ? sum + product(factors.extras, factors.extra_size) : sum;
}

std::size_t whole_count(const ActorCritic& network, const GradientTerms& terms) {
  std::size_t count = static_cast<std::size_t>(log_stds(network, terms));
  if (network.is_recurrent()) {
    count = 0;
    for (const ParameterRange& range : network.ranges(side_of(network, terms))) {
      count += range.size();
    }
    return count;
  }
  const auto add = [&](const Layer& layer) {
    if (layer.kind != LayerKind::kLinear) count += parameters_of(layer.slice);
  };
  over_layers(network, terms, add, [](const LinearSlice&) {});
  return count;
}

std::size_t scored_parameter_count(const ActorCritic& network, Score score) {
  GradientTerms terms;
  terms.score = score;
  std::size_t count = static_cast<std::size_t>(log_stds(network, terms));
  const auto add = [&](const LinearSlice& slice) { count += parameters_of(slice); };
  const auto add_cell = [&](const Cell& cell) {
    if (cell.empty()) return;
    add(cell.slice());
    if (cell.state_slice().out > 0) add(cell.state_slice());
  };
  over_layers(
      network, terms, [&](const Layer& layer) { add(layer.slice); }, add);
  add_cell(network.encoder_cell());
  add_cell(score == Score::kValue ? network.critic_cell() : network.actor_cell());
  return count;
}

#define BROADLOOM_INSTANTIATE(Real)                                                 \
  template class FactorMaker<Real>;                                                 \
  template void add_weighted_sum(const GradientFactors<Real>&, const Real*, Real*); \
  template void squared_norms(const GradientFactors<Real>&, Real*);                 \
  template void project(const GradientFactors<Real>&, const Real*, Real*);          \
  template Real inner_product(const GradientFactors<Real>&, int, int);
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
