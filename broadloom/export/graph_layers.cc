#include "broadloom/export/graph_layers.h"

#include <utility>

namespace broadloom {

GraphValue GraphLayers::encoded() {
  const ActorCritic& network = draft_.policy.network;
  return remembered("encoder", network.encoder_cell(),
                    chain("encoder", network.encoder(), inputs_.whole()));
}

GraphValue GraphLayers::above(const std::string& side, const Chain& body, const Cell& cell,
                              const Chain& top, const GraphValue& input) {
  return chain(side, top, remembered(side, cell, chain(side, body, input)));
}

// Adds every layer of a chain and its activations.
GraphValue GraphLayers::chain(const std::string& side, const Chain& layers, GraphValue x) {
  std::vector<GraphValue> outputs;
  for (std::size_t l = 0; l < layers.layers().size(); ++l) {
    const Layer& layer = layers.layers()[l];
    if (gives_policy_vector(layers, l)) {
      outputs.push_back({});
      continue;
    }
    x = layer.kind == LayerKind::kPart   ? inputs_.part(layer)
        : layer.kind == LayerKind::kJoin ? joined(side, layers, outputs)
                                         : one_layer(side, layer, x, outputs);
    if (layer.is_activated) x = activated(side, x);
    outputs.push_back(x);
  }
  return x;
}

// Whether layer l is the last group of several policies, which reads no observation, or the layer
// under it. An exported policy is the leader: the biases of later layers get its vector's share.
bool GraphLayers::gives_policy_vector(const Chain& layers, std::size_t l) const {
  if (draft_.policy.network.shape().policies == 1) return false;
  return l == layers.joined().back() || l + 1 == layers.joined().back();
}

// The leader's vector, as a body reads it.
std::vector<float> GraphLayers::leader_vector(const Chain& body) const {
  const LinearSlice& slice = draft_.policy.network.policy_vectors(body).slice;
  std::vector<float> vector;
  for (int i = 0; i < slice.out; ++i) {
    const float bias = draft_.policy.params[slice.bias + static_cast<std::size_t>(i)];
    vector.push_back(bias + draft_.policy.params[slice.at(slice.in - 1, i)]);
  }
  return vector;
}

// The outputs of all groups, side by side. Images lie pixel by pixel.
GraphValue GraphLayers::joined(const std::string& side, const Chain& layers,
                               const std::vector<GraphValue>& outputs) {
  Operation join{OperationKind::kJoin, side + ".joined", {}, {0}};
  for (const std::size_t last : layers.joined()) {
    if (gives_policy_vector(layers, last)) {
      draft_.vector = leader_vector(layers);
      continue;
    }
    const std::string name = draft_.numbered(side + ".group");
    const GraphValue& x = outputs[last];
    const GraphValue part =
        draft_.row(x.is_image() ? draft_.permuted(name + ".pixels", x, {0, 2, 3, 1}) : x, name);
    join.inputs.push_back(part.name);
    join.shape[0] += row_size(part.shape);
  }
  if (join.inputs.size() == 1) return {join.inputs[0], join.shape};  // of the leader's body
  return draft_.add(join);
}

GraphValue GraphLayers::one_layer(const std::string& side, const Layer& layer, const GraphValue& x,
                                  const std::vector<GraphValue>& outputs) {
  switch (layer.kind) {
    case LayerKind::kLinear: {
      const std::string name = draft_.numbered(side + ".linear");
      return draft_.linear(name, name, layer.slice, x);
    }
    case LayerKind::kConvolution:
      return convolution(draft_.numbered(side + ".conv"), layer, x);
    case LayerKind::kLayerNorm:
      return layer_norm(side, layer, x);
    case LayerKind::kMaxPool: {
      Operation pool{OperationKind::kMaxPool, draft_.numbered(side + ".pool"), {x.name}};
      pool.shape = {layer.out.channels, layer.out.height, layer.out.width};
      pool.kernel = layer.pool.kernel;
      pool.stride = layer.pool.stride;
      pool.padding = layer.pool.padding;
      return draft_.add(pool);
    }
    case LayerKind::kActivation:
      return activated(side, x);
    case LayerKind::kAdd:
      return draft_.add({OperationKind::kAdd,
                         draft_.numbered(side + ".sum"),
                         {x.name, outputs[layer.source].name},
                         x.shape});
    case LayerKind::kPart:
    case LayerKind::kJoin:
      break;
  }
  return x;
}

GraphValue GraphLayers::activated(const std::string& side, const GraphValue& x) {
  Operation operation{OperationKind::kActivation, "", {x.name}, x.shape};
  operation.activation = draft_.policy.network.shape().activation;
  operation.name = draft_.numbered(side + "." + operation_name(operation));
  return draft_.add(operation);
}

GraphValue GraphLayers::convolution(const std::string& name, const Layer& layer,
                                    const GraphValue& x) {
  const ConvolutionShape& shape = layer.convolution;
  const int k = shape.kernel;
  std::vector<float> weight;
  for (int f = 0; f < shape.filters; ++f) {
    for (int c = 0; c < shape.channels; ++c) {
      for (int pixel = 0; pixel < k * k; ++pixel) {
        weight.push_back(draft_.policy.params[layer.slice.at(pixel * shape.channels + c, f)]);
      }
    }
  }
  Operation operation{OperationKind::kConvolution, name, {x.name}};
  operation.shape = {layer.out.channels, layer.out.height, layer.out.width};
  operation.layer = name;
  operation.arrays = {
      draft_.keep(name + ".weight", {shape.filters, shape.channels, k, k}, std::move(weight)),
      draft_.keep_params(name + ".bias", {shape.filters}, layer.slice.bias)};
  operation.kernel = k;
  operation.stride = shape.stride;
  operation.padding = shape.padding;
  return draft_.add(operation);
}

// Normalises all numbers of x, or the channels of each pixel, which must then be the last axis.
GraphValue GraphLayers::layer_norm(const std::string& side, const Layer& layer,
                                   const GraphValue& input) {
  const LinearSlice& slice = layer.slice;
  const bool over_channels = input.is_image() && slice.out != row_size(input.shape);
  const std::string name = draft_.numbered(side + ".norm");
  const GraphValue x =
      over_channels ? draft_.permuted(name + ".pixels", input, {0, 2, 3, 1}) : input;
  Operation operation{OperationKind::kLayerNorm, name, {x.name}, x.shape, name};
  const std::vector<int> normalised = over_channels ? std::vector{slice.out} : x.shape;
  const std::vector<std::size_t> order =
      over_channels ? row_indices({"", {slice.out}}) : row_indices(input);
  for (const auto& [array, offset] : {std::pair{".weight", slice.weight}, {".bias", slice.bias}}) {
    std::vector<float> numbers(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      numbers[i] = draft_.policy.params[offset + order[i]];
    }
    operation.arrays.push_back(draft_.keep(name + array, normalised, std::move(numbers)));
  }
  operation.number = kLayerNormEpsilon;
  const GraphValue out = draft_.add(operation);
  return over_channels ? draft_.permuted(name + ".planes", out, {0, 3, 1, 2}) : out;
}

// The output of a recurrent cell, if there is one. The state's parts come in the order of the
// calls, as in a state of the network.
GraphValue GraphLayers::remembered(const std::string& side, const Cell& cell,
                                   const GraphValue& input) {
  if (cell.empty()) return input;
  const int width = cell.width();
  const auto part = [&](const char* name, const GraphValue& whole, int begin) {
    Operation operation{OperationKind::kPart, side + name, {whole.name}, {width}};
    operation.number = begin;
    return draft_.add(operation);
  };
  const GraphValue state{kStateName, {}};
  const int begin = static_cast<int>(cell.state_offset());
  draft_.graph.state_size = begin + static_cast<int>(cell.state_size());
  // Units of images lie pixel by pixel.
  const GraphValue x = draft_.row(
      input.is_image() ? draft_.permuted(side + ".pixels", input, {0, 2, 3, 1}) : input, side);
  const GraphValue sums = draft_.linear(side + ".cell", side + ".cell", cell.slice(), x);
  const GraphValue last = part(".last", state, begin);
  if (cell.kind() == CellKind::kMinGru) {
    const GraphValue after =
        draft_.add({OperationKind::kMinGru, side + ".state", {sums.name, last.name}, {width}});
    next_states_.push_back(after.name);
    return draft_.add(
        {OperationKind::kHighway, side + ".remembered", {sums.name, after.name, x.name}, {width}});
  }
  const GraphValue state_sums =
      draft_.linear(side + ".cell_state", side + ".cell_state", cell.state_slice(), last);
  const bool is_gru = cell.kind() == CellKind::kGru;
  const GraphValue before = is_gru ? last : part(".last_c", state, begin + width);
  const GraphValue after = draft_.add({is_gru ? OperationKind::kGru : OperationKind::kLstm,
                                       side + ".state",
                                       {sums.name, state_sums.name, before.name},
                                       {static_cast<int>(cell.state_size())}});
  next_states_.push_back(after.name);
  return is_gru ? after : part(".remembered", after, 0);
}

void GraphLayers::list_next_state() {
  if (next_states_.empty()) return;
  draft_.graph.outputs.push_back(
      draft_.add({OperationKind::kJoin, kNextStateName, next_states_, {draft_.graph.state_size}})
          .name);
}

}  // namespace broadloom
