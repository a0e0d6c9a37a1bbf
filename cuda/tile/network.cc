#include "cuda/tile/network.h"

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

// The residual sections of a chain, and the number of its layers that they are. An activation
// follows the last one.
struct Residual {
  ResidualSections all;
  std::size_t layers = 0;
};
Residual residual(const Chain& chain) {
  const std::vector<Layer>& layers = chain.layers();
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

DeviceBody body(const Chain& chain, const LinearSlice& head, const ParameterRange& range) {
  DeviceBody body{
      0, {}, {}, dense(head), static_cast<int>(range.begin), static_cast<int>(range.end)};
  const Residual before = residual(chain);
  body.residual = before.all;
  for (std::size_t l = before.layers; l < chain.layers().size(); ++l) {
    const Layer& one = chain.layers()[l];
    if (one.kind == LayerKind::kLayerNorm) {
      body.norms[body.layers - 1] = device_norm(one);
    } else {
      body.hidden[body.layers++] = device_layer(one);
    }
  }
  return body;
}

// Accepts dense layers, optionally after convolutions or residual sections, that end in an
// activation. All layers may
// have a normalisation before it, or none: moments are placed by the first layer's (TilePlaces).
// Tensor cores take one convolution, and no residual sections.
bool is_known(const Chain& chain, bool is_rounded) {
  const int most_convolutions = is_rounded ? 1 : kMostLayers;
  if (is_rounded && residual(chain).all.are_there()) return false;
  int layers = 0, convolutions = 0, norms = 0;
  bool is_open = false;  // the last layer still lacks its activation
  for (std::size_t l = residual(chain).layers; l < chain.layers().size(); ++l) {
    const Layer& layer = chain.layers()[l];
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

}  // namespace

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
