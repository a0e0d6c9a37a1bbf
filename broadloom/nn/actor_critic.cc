#include "broadloom/nn/actor_critic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "broadloom/core/portable_math.h"
#include "broadloom/core/random.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/math/head.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {
namespace {

// valid: [rows, count]. outputs: [count, kTileRows].
template <class Real>
void mask_outputs(const std::uint8_t* valid, int count, int rows, Real* outputs) {
  if (valid == nullptr) return;
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < count; ++i) {
      if (*valid++ == 0) outputs[i * kTileRows + r] = static_cast<Real>(kInvalidLogit);
    }
  }
}

// The place in a tile's outputs of the first that is not the head's.
std::size_t head_columns(const NetworkShape& shape) {
  return static_cast<std::size_t>(shape.head_outputs()) * kTileRows;
}

}  // namespace

StdBounds::StdBounds(const NetworkShape& shape)
    : low(-std::numeric_limits<double>::infinity()), high(std::numeric_limits<double>::infinity()) {
  const bool is_log = shape.std_form != StdForm::kScalar;
  const double least = is_log ? shape.std_min : std::max(shape.std_min, kLeastScalarStd);
  if (least > 0.0) low = is_log ? portable::log(least) : least;
  if (shape.std_max > 0.0) high = is_log ? portable::log(shape.std_max) : shape.std_max;
}

ActorCritic::ActorCritic(NetworkShape shape) : shape_(std::move(shape)) {
  const bool grouped = !shape_.groups.empty() || shape_.policies > 1;
  const bool cell_is_before = shape_.recurrent != CellKind::kNone && shape_.recurrent_units > 0;
  const std::vector<LayerPlan> plan =
      body_plan(grouped ? Encoder::kMlp : shape_.encoder, shape_.normalisation,
                cell_is_before ? std::vector<int>{} : shape_.hidden_sizes);
  const bool shared = shape_.shared_encoder && (grouped || !plan.empty()) && !shape_.action_values;
  // A shared encoder or a single body has one input, so the critic has none of its own.
  if (shared || shape_.action_values) shape_.critic_observation_size = 0;
  const auto body = [&](int numbers, bool of_critic = false) {
    if (grouped) {
      const int marks = shape_.policies > 1 ? shape_.policies : 0;
      return Chain(numbers + marks, group_plans(of_critic), plan, shape_.activation, layout_);
    }
    const bool is_image = shape_.encoder != Encoder::kMlp;
    return Chain(is_image ? shape_.image : RowShape{1, 1, numbers}, plan, shape_.activation,
                 layout_);
  };
  const auto features = [](const Chain& chain, int numbers) {
    return chain.empty() ? numbers : chain.layers().back().out.size();
  };
  const auto cell = [&](int in) {
    const Cell made(shape_.recurrent, in, cell_is_before ? shape_.recurrent_units : in, state_size_,
                    layout_);
    state_size_ += made.state_size();
    return made;
  };
  const auto top = [&] {
    if (!cell_is_before) return Chain();
    return Chain({1, 1, shape_.recurrent_units},
                 body_plan(Encoder::kMlp, shape_.normalisation, shape_.hidden_sizes),
                 shape_.activation, layout_);
  };
  const auto head_inputs = [&](const Chain& body, const Cell& of_body, const Chain& above,
                               int numbers) {
    return features(above, of_body.empty() ? features(body, numbers) : of_body.width());
  };
  if (shared) encoder_ = body(shape_.observation_size);
  const int encoded = features(encoder_, shape_.observation_size);
  if (shared) encoder_cell_ = cell(encoded);
  if (!shared) actor_ = body(encoded);
  if (!shared) actor_cell_ = cell(features(actor_, encoded));
  if (!shared) actor_top_ = top();
  policy_head_ = layout_.add_linear(head_inputs(actor_, actor_cell_, actor_top_, encoded),
                                    shape_.head_outputs(), true);
  critic_range_.begin = layout_.size();
  if (!shape_.action_values) {
    const int read = shared ? encoded : shape_.critic_input_size();
    if (!shared) critic_ = body(read, true);
    if (!shared) critic_cell_ = cell(features(critic_, read));
    if (!shared) critic_top_ = top();
    value_head_ = layout_.add_linear(head_inputs(critic_, critic_cell_, critic_top_, read),
                                     shape_.value_outputs, true);
  }
  critic_range_.end = layout_.size();
  if (shape_.has_log_std()) log_std_ = layout_.add_vector(shape_.box_size());
  if (shape_.has_state_noise()) log_std_ = layout_.add_vector(noise_size());
  if (shape_.has_policy_stds()) log_std_ = layout_.add_vector(shape_.policies * shape_.box_size());
}

// The groups that a side reads, in their order. With several policies, the vector of a row's policy
// comes last.
std::vector<GroupPlan> ActorCritic::group_plans(bool of_critic) const {
  std::vector<GroupPlan> plans;
  const int numbers = of_critic ? shape_.critic_input_size() : shape_.observation_size;
  if (shape_.groups.empty()) {
    const bool is_image = shape_.encoder != Encoder::kMlp;
    plans.push_back({is_image ? shape_.image : RowShape{1, 1, numbers}, 0, 1.0f,
                     body_plan(shape_.encoder, shape_.normalisation, {})});
  }
  for (const GroupShape& group : shape_.groups) {
    if (!(of_critic ? group.critic : group.policy)) continue;
    plans.push_back({group.shape, static_cast<std::size_t>(group.first), group.divisor,
                     body_plan(group.encoder, shape_.normalisation, group.widths)});
  }
  if (shape_.policies > 1) {
    plans.push_back({{1, 1, shape_.policies},
                     static_cast<std::size_t>(numbers),
                     1.0f,
                     {{.kind = LayerKind::kLinear, .width = shape_.policy_vector_size}}});
  }
  return plans;
}

// Vectors begin as in SAPG's code: independent standard normal numbers, with biases of 0.
void ActorCritic::initialise_vectors(const Chain& body, std::uint64_t seed, std::uint32_t tensor,
                                     Purpose purpose, float* params) const {
  if (shape_.policies == 1 || body.empty()) return;
  const LinearSlice& slice = policy_vectors(body).slice;
  Random random(seed, purpose, tensor, 1);
  for (int policy = 0; policy < slice.in; ++policy) {
    for (int i = 0; i < slice.out; ++i) {
      params[slice.at(policy, i)] = static_cast<float>(random.normal());
    }
  }
  std::fill_n(params + slice.bias, slice.out, 0.0f);
}

// Writes the inputs that bodies read to `work`.
template <class Real>
void ActorCritic::mark(const NetworkInput<Real>& input, int rows, NetworkSide side,
                       TileWorkspace<Real>& work) const {
  if (shape_.policies == 1) return;
  const auto count = static_cast<std::size_t>(rows);
  for (std::size_t r = 0; r < count; ++r) {
    work.policies[r] = input.policies != nullptr ? input.policies[r] : shape_.policies - 1;
  }
  const auto copy = [&](const Real* source, int numbers, AlignedVector<Real>& target) {
    const auto size = static_cast<std::size_t>(numbers);
    const std::size_t width = size + static_cast<std::size_t>(shape_.policies);
    for (std::size_t r = 0; r < count; ++r) {
      Real* row = &target[r * width];
      std::fill_n(std::copy_n(source + r * size, size, row), shape_.policies, Real(0));
      row[size + static_cast<std::size_t>(work.policies[r])] = Real(1);
    }
  };
  const bool has_critic = shape_.critic_observation_size > 0;
  if (side != NetworkSide::kValue) {
    copy(input.policy, shape_.observation_size, work.marked);
  } else if (!has_critic) {
    copy(encoder_.empty() ? input.critic : input.policy, shape_.observation_size, work.marked);
  }
  if (has_critic && side != NetworkSide::kPolicy) {
    copy(input.critic, shape_.critic_observation_size, work.marked_critic);
  }
}

// The inputs that bodies read.
template <class Real>
NetworkInput<Real> ActorCritic::marked(const NetworkInput<Real>& input,
                                       TileWorkspace<Real>& work) const {
  if (shape_.policies == 1) return input;
  NetworkInput<Real> out(work.marked.data());
  if (shape_.critic_observation_size > 0) out.critic = work.marked_critic.data();
  out.valid = input.valid;
  return out;
}

// Writes the rows' log deviations to the outputs after those of the head.
template <class Real>
void ActorCritic::fill_policy_stds(const Real* params, int rows, TileWorkspace<Real>& work) const {
  if (!shape_.has_policy_stds()) return;
  Real* const out = &work.policy[head_columns(shape_)];
  for (int a = 0; a < shape_.box_size(); ++a) {
    for (int r = 0; r < rows; ++r) {
      const int policy = work.policies[static_cast<std::size_t>(r)];
      out[a * kTileRows + r] =
          params[log_std_ + static_cast<std::size_t>(policy * shape_.box_size() + a)];
    }
  }
}

template <class Real>
void ActorCritic::add_policy_stds_gradient(int rows, const TileWorkspace<Real>& work,
                                           Real* grads) const {
  if (!shape_.has_policy_stds()) return;
  const Real* const delta = &work.policy_delta[head_columns(shape_)];
  for (int a = 0; a < shape_.box_size(); ++a) {
    for (int r = 0; r < rows; ++r) {
      const int policy = work.policies[static_cast<std::size_t>(r)];
      grads[log_std_ + static_cast<std::size_t>(policy * shape_.box_size() + a)] +=
          delta[a * kTileRows + r];
    }
  }
}

void ActorCritic::initialise(std::uint64_t seed, float* params, Purpose purpose) const {
  std::uint32_t tensor = 0;
  const bool is_orthogonal = shape_.weight_init == WeightInit::kOrthogonal;
  const auto normal = [&](const LinearSlice& slice, double scale) {
    init_truncated_normal(slice, scale, seed, tensor++, params, purpose);
  };
  const auto orthogonal = [&](const LinearSlice& slice, double gain) {
    init_orthogonal(slice, gain, seed, tensor++, params, purpose);
  };
  const WeightInit how = shape_.weight_init;
  const bool is_uniform = how == WeightInit::kTorch || how == WeightInit::kTorchWeights ||
                          how == WeightInit::kLecunUniform;
  const auto uniform = [&](const LinearSlice& slice, double scale = 1.0) {
    init_uniform(slice, how == WeightInit::kLecunUniform ? 3.0 : scale, how == WeightInit::kTorch,
                 seed, tensor++, params, purpose);
  };
  const auto head = [&](const LinearSlice& slice, double gain) {
    is_uniform ? uniform(slice) : orthogonal(slice, gain);
  };
  const auto init = [&](const Chain& chain) {
    for (const Layer& layer : chain.layers()) {
      if (!layer.has_parameters()) continue;
      if (layer.kind == LayerKind::kLayerNorm) {
        std::fill_n(params + layer.slice.weight, layer.slice.out, 1.0f);
        std::fill_n(params + layer.slice.bias, layer.slice.out, 0.0f);
      } else if (is_uniform) {
        uniform(layer.slice);
      } else if (is_orthogonal) {
        orthogonal(layer.slice, std::sqrt(2.0));
      } else {
        normal(layer.slice, shape_.weight_init == WeightInit::kHeNormal ? 2.0 : 1.0);
      }
    }
  };
  const auto init_cell = [&](const Cell& cell) {
    for (const LinearSlice& slice : {cell.slice(), cell.state_slice()}) {
      if (slice.out == 0) continue;
      if (is_uniform) {
        // As torch's cells, whose first weights depend on the units, not on the inputs.
        uniform(slice, static_cast<double>(slice.in) / cell.width());
        continue;
      }
      is_orthogonal ? orthogonal(slice, 1.0) : normal(slice, 1.0);
    }
    // An LSTM begins by remembering: Gers et al. (2000), Jozefowicz et al. (2015).
    if (cell.kind() == CellKind::kLstm && !is_uniform) {
      std::fill_n(params + cell.slice().bias + cell.width(), cell.width(), 1.0f);
    }
  };
  init(encoder_);
  initialise_vectors(encoder_, seed, tensor, purpose, params);
  init_cell(encoder_cell_);
  init(actor_);
  initialise_vectors(actor_, seed, tensor, purpose, params);
  init_cell(actor_cell_);
  init(actor_top_);
  if (shape_.action_values && !is_orthogonal && !is_uniform) {
    normal(policy_head_, 1.0);
  } else {
    LinearSlice drawn = policy_head_;
    if (shape_.has_pairs() && !shape_.has_state_noise() && !shape_.has_policy_stds() &&
        shape_.action_distribution != ActionDistribution::kBeta) {
      const int deviations = shape_.box_size();
      drawn.out -= deviations;  // the logits and means
      const std::size_t rest = static_cast<std::size_t>(drawn.in) * drawn.out;
      std::fill_n(params + drawn.weight + rest, static_cast<std::size_t>(drawn.in) * deviations,
                  0.0f);
      std::fill_n(params + drawn.bias + drawn.out, deviations,
                  static_cast<float>(shape_.log_std_init));
    }
    head(drawn, shape_.action_values ? std::sqrt(2.0) : 0.01);
  }
  if (!shape_.action_values) {
    init(critic_);
    initialise_vectors(critic_, seed, tensor, purpose, params);
    init_cell(critic_cell_);
    init(critic_top_);
    head(value_head_, 1.0);
  }
  std::fill_n(params + log_std_, noise_size(), static_cast<float>(shape_.log_std_init));
  if (shape_.has_policy_stds()) {
    std::fill_n(params + log_std_, shape_.policies * shape_.box_size(),
                static_cast<float>(shape_.log_std_init));
  }
  if (shape_.has_log_std()) {
    const bool is_log = shape_.std_form == StdForm::kLog;
    const double first = is_log ? shape_.log_std_init : portable::exp(shape_.log_std_init);
    std::fill_n(params + log_std_, shape_.box_size(), static_cast<float>(first));
  }
}

template <class Real>
void ActorCritic::log_std(const Real* params, Real* out) const {
  const StdParameter<Real> parameter = std_parameter<Real>(shape_);
  const std::size_t first =
      log_std_ + (shape_.has_policy_stds()
                      ? static_cast<std::size_t>((shape_.policies - 1) * shape_.box_size())
                      : 0);
  for (int a = 0; a < shape_.box_size(); ++a) {
    out[a] = parameter.log_std(params[first + static_cast<std::size_t>(a)]);
  }
}

template <class Real>
void ActorCritic::add_log_std_gradient(const Real* params, const Real* d_log_std,
                                       Real* grads) const {
  const StdParameter<Real> parameter = std_parameter<Real>(shape_);
  for (int a = 0; a < shape_.box_size(); ++a) {
    grads[log_std_ + a] += parameter.slope(params[log_std_ + a], d_log_std[a]);
  }
}

template <class Real>
TileWorkspace<Real> ActorCritic::make_workspace() const {
  constexpr std::size_t kRows = kTileRows;
  TileWorkspace<Real> work;
  work.observations.resize(kRows * shape_.observation_size);
  work.critic_observations.resize(kRows * shape_.critic_observation_size);
  if (shape_.policies > 1) {
    const auto marks = static_cast<std::size_t>(shape_.policies);
    work.marked.resize(kRows * (static_cast<std::size_t>(shape_.observation_size) + marks));
    const auto own = static_cast<std::size_t>(shape_.critic_observation_size);
    work.marked_critic.resize(own > 0 ? kRows * (own + marks) : 0);
  }
  work.encoder.resize(encoder_.workspace_size());
  work.encoder_delta.resize(encoder_.workspace_size());
  work.actor.resize(actor_.workspace_size());
  work.actor_delta.resize(actor_.workspace_size());
  work.critic.resize(critic_.workspace_size());
  work.critic_delta.resize(critic_.workspace_size());
  work.encoder_cell.resize(encoder_cell_.workspace_size());
  work.encoder_cell_delta.resize(encoder_cell_.delta_size());
  work.actor_cell.resize(actor_cell_.workspace_size());
  work.actor_cell_delta.resize(actor_cell_.delta_size());
  work.critic_cell.resize(critic_cell_.workspace_size());
  work.critic_cell_delta.resize(critic_cell_.delta_size());
  work.actor_top.resize(actor_top_.workspace_size());
  work.actor_top_delta.resize(actor_top_.workspace_size());
  work.critic_top.resize(critic_top_.workspace_size());
  work.critic_top_delta.resize(critic_top_.workspace_size());
  work.states.size = static_cast<int>(state_size_);
  work.states.before.resize(kRows * state_size_);
  work.states.delta.resize(kRows * state_size_);
  if (is_recurrent()) work.states.begins.resize(kRows);
  work.policy.resize(kRows * shape_.action_outputs);
  if (shape_.has_log_std()) {
    work.log_std.resize(static_cast<std::size_t>(shape_.box_size()));
    work.log_std_delta.resize(work.log_std.size());
  }
  work.noise_variances.resize(static_cast<std::size_t>(noise_size()));
  work.policy_delta.resize(kRows * shape_.action_outputs);
  work.values.resize(kRows * shape_.value_outputs);
  work.values_delta.resize(kRows * shape_.value_outputs);
  if (!encoder_.empty()) work.feature_delta.resize(kRows * policy_head_.in);
  work.layer_scratch.resize(
      std::max({encoder_.scratch_size(), actor_.scratch_size(), critic_.scratch_size(),
                actor_top_.scratch_size(), critic_top_.scratch_size()}));
  return work;
}

std::array<ParameterRange, 2> ActorCritic::ranges(NetworkSide side) const {
  if (side == NetworkSide::kValue) return {critic_range_};
  if (side == NetworkSide::kBoth) return {ParameterRange{0, layout_.size()}};
  return {ParameterRange{0, critic_range_.begin},
          ParameterRange{critic_range_.end, layout_.size()}};
}

template <class Real>
void ActorCritic::forward(const Real* params, std::type_identity_t<NetworkInput<Real>> input,
                          int rows, TileWorkspace<Real>& work, NetworkSide side) const {
  mark(input, rows, side, work);
  input = marked(input, work);
  const Real* encoded =
      encoder_.forward(params, input.policy, rows, work.encoder.data(), work.layer_scratch.data());
  encoded = encoder_cell_.forward(params, encoded, rows, work.states, work.encoder_cell.data());
  const auto run = [&](const Chain& body, const Cell& cell, const Real* features, Real* activations,
                       Real* cell_activations, const Chain& above, Real* above_activations,
                       const LinearSlice& head, Real* outputs) {
    const Real* top = body.forward(params, features, rows, activations, work.layer_scratch.data());
    top = cell.forward(params, top, rows, work.states, cell_activations);
    top = above.forward(params, top, rows, above_activations, work.layer_scratch.data());
    head_forward(top, params + head.weight, params + head.bias, outputs, rows, head.in, head.out,
                 kTileRows);
    return top;
  };
  if (shape_.action_values) {
    run(actor_, actor_cell_, encoded, work.actor.data(), work.actor_cell.data(), actor_top_,
        work.actor_top.data(), policy_head_, work.policy.data());
    mask_outputs(input.valid, shape_.logits(), rows, work.policy.data());
    if (side != NetworkSide::kPolicy) {
      largest_outputs(work.policy.data(), policy_head_.out, rows, work.values.data());
    }
    return;
  }
  if (side != NetworkSide::kPolicy)
    run(critic_, critic_cell_, encoder_.empty() ? input.critic : encoded, work.critic.data(),
        work.critic_cell.data(), critic_top_, work.critic_top.data(), value_head_,
        work.values.data());
  if (side == NetworkSide::kValue) return;
  work.policy_features =
      run(actor_, actor_cell_, encoded, work.actor.data(), work.actor_cell.data(), actor_top_,
          work.actor_top.data(), policy_head_, work.policy.data());
  mask_outputs(input.valid, shape_.logits(), rows, work.policy.data());
  if (shape_.has_state_noise()) {
    noise_variances(params + log_std_, noise_size(), work.noise_variances.data());
    noise_log_std(noise_rows(work, rows), &work.policy[head_columns(shape_)]);
  }
  fill_policy_stds(params, rows, work);
  if (!work.log_std.empty()) log_std(params, work.log_std.data());
}

template <class Real>
void ActorCritic::copy_state(const TileWorkspace<Real>& work, int row, Real* state,
                             NetworkSide side) const {
  const auto copy = [&](const Cell& cell, const AlignedVector<Real>& activations) {
    if (!cell.empty()) cell.copy_state(activations.data(), row, state);
  };
  copy(encoder_cell_, work.encoder_cell);
  if (side != NetworkSide::kValue || shape_.action_values) copy(actor_cell_, work.actor_cell);
  if (side != NetworkSide::kPolicy) copy(critic_cell_, work.critic_cell);
}

template <class Real>
void ActorCritic::backward(const Real* params, const Real* transposed,
                           std::type_identity_t<NetworkInput<Real>> input, int rows,
                           TileWorkspace<Real>& work, Real* grads, NetworkSide side) const {
  const bool shared = !encoder_.empty();
  input = marked(input, work);
  const Real* top = encoder_.output(input.policy, work.encoder.data());
  const Real* encoded = encoder_cell_.output(top, work.encoder_cell.data());
  // below: where the derivative of the features under the head goes; null: not needed
  // The vectors' layer has a bias, which would be a second parameter of every vector.
  const auto keep_vector_bias = [&](const Chain& body, Real* of_params) {
    if (shape_.policies == 1 || body.empty()) return;
    const LinearSlice& slice = policy_vectors(body).slice;
    std::fill_n(of_params + slice.bias, slice.out, Real(0));
  };
  const auto run = [&](const Chain& body, const Cell& cell, const Real* features,
                       const Real* activations, Real* deltas, const Real* cell_activations,
                       Real* cell_deltas, const Chain& above, const Real* above_activations,
                       Real* above_deltas, const LinearSlice& head, const Real* delta,
                       Real* below) {
    const Real* x = body.output(features, activations);
    const Real* remembered = cell.output(x, cell_activations);
    head_backward_weights(above.output(remembered, above_activations), delta, grads + head.weight,
                          grads + head.bias, rows, head.in, head.out, kTileRows);
    Real* const of_cell = cell.output_delta(cell_deltas, below);
    Real* const out = above.empty() ? of_cell : above.output_delta(above_deltas);
    if (out != nullptr)
      head_backward_input(delta, params + head.weight, out, rows, head.in, head.out, kTileRows);
    above.backward(params, transposed, remembered, rows, above_activations, above_deltas, grads,
                   work.layer_scratch.data(), of_cell);
    cell.backward(transposed, x, rows, work.states, cell_activations, cell_deltas, grads, below);
    body.backward(params, transposed, features, rows, activations, deltas, grads,
                  work.layer_scratch.data());
    keep_vector_bias(body, grads);
  };
  Real* below_actor =
      shared ? work.feature_delta.data() : actor_.output_delta(work.actor_delta.data());
  Real* below_encoder = encoder_.output_delta(work.encoder_delta.data());
  Real* below_critic =
      shared ? encoder_cell_.output_delta(work.encoder_cell_delta.data(), below_encoder)
             : critic_.output_delta(work.critic_delta.data());
  if (side != NetworkSide::kValue && shape_.has_state_noise()) {
    const std::size_t first = head_columns(shape_);
    noise_backward(noise_rows(work, rows), &work.policy[first], &work.policy_delta[first],
                   grads + log_std_);
  }
  if (side != NetworkSide::kValue) add_policy_stds_gradient(rows, work, grads);
  if (side != NetworkSide::kValue) {
    run(actor_, actor_cell_, encoded, work.actor.data(), work.actor_delta.data(),
        work.actor_cell.data(), work.actor_cell_delta.data(), actor_top_, work.actor_top.data(),
        work.actor_top_delta.data(), policy_head_, work.policy_delta.data(), below_actor);
  }
  if (side != NetworkSide::kPolicy && !shape_.action_values) {
    run(critic_, critic_cell_, shared ? encoded : input.critic, work.critic.data(),
        work.critic_delta.data(), work.critic_cell.data(), work.critic_cell_delta.data(),
        critic_top_, work.critic_top.data(), work.critic_top_delta.data(), value_head_,
        work.values_delta.data(), below_critic);
  }
  if (!shared) return;
  add_into(below_critic, below_actor, static_cast<std::size_t>(rows) * policy_head_.in);
  encoder_cell_.backward(transposed, top, rows, work.states, work.encoder_cell.data(),
                         work.encoder_cell_delta.data(), grads, below_encoder);
  encoder_.backward(params, transposed, input.policy, rows, work.encoder.data(),
                    work.encoder_delta.data(), grads, work.layer_scratch.data());
  keep_vector_bias(encoder_, grads);
}

template <class Real>
void ActorCritic::refresh_transposed(const Real* params, Real* transposed, NetworkSide side) const {
  encoder_.refresh_transposed(params, transposed);
  encoder_cell_.refresh_transposed(params, transposed);
  if (side != NetworkSide::kValue) {
    actor_.refresh_transposed(params, transposed);
    actor_cell_.refresh_transposed(params, transposed);
    actor_top_.refresh_transposed(params, transposed, false);
  }
  if (side != NetworkSide::kPolicy) {
    critic_.refresh_transposed(params, transposed);
    critic_cell_.refresh_transposed(params, transposed);
    critic_top_.refresh_transposed(params, transposed, false);
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                              \
  template TileWorkspace<Real> ActorCritic::make_workspace() const;                              \
  template void ActorCritic::log_std(const Real*, Real*) const;                                  \
  template void ActorCritic::add_log_std_gradient(const Real*, const Real*, Real*) const;        \
  template void ActorCritic::forward(const Real*, NetworkInput<Real>, int, TileWorkspace<Real>&, \
                                     NetworkSide) const;                                         \
  template void ActorCritic::copy_state(const TileWorkspace<Real>&, int, Real*, NetworkSide)     \
      const;                                                                                     \
  template void ActorCritic::backward(const Real*, const Real*, NetworkInput<Real>, int,         \
                                      TileWorkspace<Real>&, Real*, NetworkSide) const;           \
  template void ActorCritic::refresh_transposed(const Real*, Real*, NetworkSide) const;
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
