#include "cuda/tile/network.h"

#include <span>

#include "broadloom/nn/policy_distribution.h"
#include "cuda/tile/packed_weights.h"

namespace broadloom::cuda {
namespace {

DeviceLayer dense(const LinearSlice& slice) {
  return {slice.in,
          slice.out,
          static_cast<int>(slice.weight),
          static_cast<int>(slice.bias),
          slice.in,
          {.run = slice.in, .next_run = slice.in}};
}

DeviceLayer device_layer(const Layer& layer) {
  DeviceLayer made = dense(layer.slice);
  if (layer.kind == LayerKind::kLinear) return made;
  const ConvolutionShape& shape = layer.convolution;
  const int image_row = shape.width * shape.channels;
  made.row_in = shape.height * image_row;
  made.patches = {shape.out_height(),
                  shape.out_width(),
                  shape.stride * image_row,
                  shape.stride * shape.channels,
                  shape.kernel * shape.channels,
                  image_row};
  return made;
}

// Layers of a section in a chain: a convolution, a pool, and blocks of an activation, two
// convolutions and a sum.
constexpr std::size_t kSectionLayers = 2 + 4 * ResidualSection::kBlocks;

// The residual sections at the front of layers, and the number of layers that they are. An
// activation follows the last one.
struct Residual {
  ResidualSections all;
  std::size_t layers = 0;
};
Residual residual(std::span<const Layer> layers) {
  Residual made;
  const auto begins = [&](std::size_t l) {
    return l + kSectionLayers < layers.size() && layers[l].kind == LayerKind::kConvolution &&
           layers[l + 1].kind == LayerKind::kMaxPool;
  };
  while (begins(made.layers) && made.all.count < ResidualSections::kMost) {
    const Layer& first = layers[made.layers];
    made.all.sections[made.all.count++] = {first.in.height, first.in.width, first.in.channels,
                                           first.slice.out, static_cast<int>(first.slice.weight)};
    made.layers += kSectionLayers;
  }
  if (made.layers > 0) ++made.layers;
  return made;
}

DeviceNorm device_norm(const Layer& layer) {
  const LinearSlice& slice = layer.slice;
  return {static_cast<int>(slice.weight), static_cast<int>(slice.bias), slice.out,
          layer.out.size() / slice.out};
}

// The layers of a chain, without parts and join if these pass the whole row on as it is.
std::span<const Layer> layers_of(const Chain& chain) {
  const std::span<const Layer> layers = chain.layers();
  std::size_t l = 0, next = 0;  // number of the row
  for (; l < layers.size() && layers[l].kind == LayerKind::kPart; ++l) {
    if (layers[l].first != next || layers[l].divisor != 1.0f) return layers;
    next += static_cast<std::size_t>(layers[l].out.size());
  }
  const bool is_whole = l > 0 && l < layers.size() && layers[l].kind == LayerKind::kJoin &&
                        next == static_cast<std::size_t>(layers[0].in.size());
  return is_whole ? layers.subspan(l + 1) : layers;
}

DeviceBody body(const Chain& chain, const LinearSlice& head, const ParameterRange& range) {
  DeviceBody body{
      0, {}, {}, dense(head), static_cast<int>(range.begin), static_cast<int>(range.end)};
  const std::span<const Layer> layers = layers_of(chain);
  const Residual before = residual(layers);
  body.residual = before.all;
  for (const Layer& one : layers.subspan(before.layers)) {
    if (one.kind == LayerKind::kLayerNorm) {
      body.norms[body.layers - 1] = device_norm(one);
    } else {
      body.hidden[body.layers++] = device_layer(one);
    }
  }
  return body;
}

// Accepts dense layers, optionally after convolutions or residual sections, that end in an
// activation. All layers may have a normalisation before it, or none: moments are placed by the
// first layer's (TilePlaces).
// Tensor cores take one convolution, and no residual sections.
bool is_known(const Chain& chain, bool is_rounded) {
  const int most_convolutions = is_rounded ? 1 : kMostLayers;
  const std::span<const Layer> all = layers_of(chain);
  const Residual before = residual(all);
  if (is_rounded && before.all.are_there()) return false;
  int layers = 0, convolutions = 0, norms = 0;
  bool is_open = false;  // the last layer still lacks its activation
  for (const Layer& layer : all.subspan(before.layers)) {
    const bool goes_on = layer.kind == LayerKind::kLayerNorm && is_open;
    const bool convolves = layer.kind == LayerKind::kConvolution && layers == convolutions &&
                           convolutions < most_convolutions && layer.convolution.padding == 0;
    const bool begins = (layer.kind == LayerKind::kLinear || convolves) && !is_open;
    if (!goes_on && !begins) return false;
    layers += begins ? 1 : 0;
    convolutions += begins && convolves ? 1 : 0;
    norms += goes_on ? 1 : 0;
    is_open = !layer.is_activated;
  }
  return !is_open && layers <= kMostLayers && (norms == 0 || norms == layers);
}

DeviceNetwork network_of(const ActorCritic& network) {
  const NetworkShape& shape = network.shape();
  const PolicyDistribution policy(shape);
  DeviceNetwork made{{},
                     {},
                     shape.observation_size,
                     shape.action_outputs,
                     static_cast<int>(network.parameter_count()),
                     shape.action_values ? 1 : shape.value_outputs,
                     shape.action_values,
                     static_cast<int>(network.log_std_offset()),
                     shape.activation,
                     policy.pairs(),
                     policy.uses_pairs(),
                     policy.is_squashed(),
                     shape.has_log_std(),
                     std_parameter<float>(shape)};
  if (!network.encoder().empty()) {
    const int log_std = made.has_log_std ? shape.box_size() : 0;
    const ParameterRange all{0, network.parameter_count() - static_cast<std::size_t>(log_std)};
    made.actor = body(network.encoder(), network.policy_head(), all);
    made.actor.value_head = dense(network.value_head());
    made.critic = body(network.encoder(), network.value_head(), all);
    return made;
  }
  made.actor =
      body(network.actor(), network.policy_head(), network.ranges(NetworkSide::kPolicy)[0]);
  if (!shape.action_values) {
    made.critic =
        body(network.critic(), network.value_head(), network.ranges(NetworkSide::kValue)[0]);
  }
  return made;
}

// Whether the chain begins with groups that do not make up the row as it is.
bool has_groups(const Chain& chain) {
  const std::span<const Layer> layers = layers_of(chain);
  return !layers.empty() && layers[0].kind == LayerKind::kPart;
}

}  // namespace

bool reads_groups(const ActorCritic& network) {
  return has_groups(network.encoder()) || has_groups(network.actor()) ||
         has_groups(network.critic());
}

bool fits_kernels(const ActorCritic& network) {
  const NetworkShape& shape = network.shape();
  const bool is_rounded = shape.precision == Precision::kTf32;
  return network.parameter_count() <= kMostParameters && shape.value_outputs <= 2 &&
         is_known(network.encoder(), is_rounded) && is_known(network.actor(), is_rounded) &&
         is_known(network.critic(), is_rounded);
}

DeviceNetwork device_network(const ActorCritic& network) {
  DeviceNetwork made = network_of(network);
  // With more parameters, offsets of copies exceed int. Rows of such a network do not fit a block's
  // memory either, so check_tensor_cores() refuses it.
  const bool may_pack = network.parameter_count() <= kMostParameters / 4;
  if (network.shape().precision != Precision::kTf32 || !may_pack) return made;
  const int begin = (made.parameters + 3) / 4 * 4, end = PackedWeights::place(made.actor, begin);
  PackedWeights::place(made.critic,
                       made.sides() == 1 ? begin : end);  // a shared body's copies are its own
  return made;
}

}  // namespace broadloom::cuda
