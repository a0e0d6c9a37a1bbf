#include "broadloom/export/policy_graph.h"

#include <fmt/core.h>
#include <limits>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include "broadloom/env/tasks/asked_frames.h"
#include "broadloom/record/json.h"
#include "broadloom/record/manifest.h"

namespace broadloom {
namespace {

// A value that operations can read.
struct Value {
  std::string name;
  std::vector<int> shape;

  bool is_image() const { return shape.size() == 3; }  // channels, height, width
};

// For each number of a value, its index in the row of Broadloom's layers, where images are stored
// pixel by pixel.
std::vector<std::size_t> places(const Value& value) {
  std::vector<std::size_t> out(static_cast<std::size_t>(row_size(value.shape)));
  std::iota(out.begin(), out.end(), std::size_t{0});
  if (!value.is_image()) return out;
  const auto channels = static_cast<std::size_t>(value.shape[0]);
  const std::size_t pixels = out.size() / channels;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i % pixels * channels + i / pixels;
  return out;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const Policy& policy) : policy_(policy) {}

  PolicyGraph build(bool with_value) {
    const ActorCritic& network = policy_.network;
    const NetworkShape& shape = network.shape();
    const std::string side = shape.action_values ? "q_network" : "actor";
    const Json given = Json::parse(policy_.spec.observation.structure);
    for (const Json& key : given["keys"].elements()) graph_.observation_keys.push_back(key.text());
    graph_.channels_first = given["channels_first"].boolean();
    graph_.is_scalar = given["scalar"].boolean();
    if (!shape.groups.empty()) graph_.observation_shape = {policy_.spec.observation.size};
    seen_ = shape.groups.empty() ? seen_by_network() : Value{kObservationName, {}};
    const Value encoded =
        remembered("encoder", network.encoder_cell(), chain("encoder", network.encoder(), seen_));
    const Value features =
        above(side, network.actor(), network.actor_cell(), network.actor_top(), encoded);
    if (shape.has_choices()) categorical_outputs(side, features);
    if (shape.has_box()) box_outputs(side, features);
    if (with_value && shape.critic_observation_size == 0) value_outputs(encoded);
    if (!next_states_.empty()) {
      graph_.outputs.push_back(
          add({OperationKind::kJoin, kNextStateName, next_states_, {graph_.state_size}}).name);
    }
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      const ObservationGroup& group = policy_.spec.observation.groups[g];
      if (!parts_[g].name.empty()) graph_.groups.push_back({input_name(group), group});
    }
    return std::move(graph_);
  }

 private:
  static std::string input_name(const ObservationGroup& group) {
    return std::string(kObservationName) + "." + group.name;
  }

  // A group as the layers of a chain read it: a row, or [C, H, W] if it is an image.
  Value part(const Layer& layer) {
    const std::vector<ObservationGroup>& groups = policy_.spec.observation.groups;
    if (policy_.network.shape().groups.empty()) return seen_;
    parts_.resize(groups.size());
    std::size_t g = 0;
    while (static_cast<std::size_t>(groups[g].first) != layer.first) ++g;
    if (!parts_[g].name.empty()) return parts_[g];
    const ObservationGroup& group = groups[g];
    const std::string name = fmt::format("group{}", g);
    Value x{input_name(group), group.shape};
    if (group.dtype == Dtype::kI64) {
      const Value index = shifted(name + ".index", {x.name, {}}, -group.start);
      return parts_[g] =
                 add({OperationKind::kOneHot, name + ".one_hot", {index.name}, {group.size}});
    }
    if (group.dtype == Dtype::kU8) {
      Operation divide{OperationKind::kDivide, name + ".divided", {x.name}, x.shape};
      divide.number = group.full_scale;
      x = add(divide);
    }
    if (policy_.obs_norm != nullptr && !policy_.obs_norm->leaves(layer.first)) {
      x = normalised(row(x, name), name, layer.first);
    }
    const bool is_image = layer.out.height * layer.out.width > 1;
    return parts_[g] = is_image ? planes(x, layer.out, name) : row(x, name);
  }

  // The network's input: a row, or [C, H, W] for an encoder of images.
  Value seen_by_network() {
    const Space& space = policy_.spec.observation;
    Value x{kObservationName, {}};
    if (space.kind == SpaceKind::kDiscrete) {
      graph_.observation_dtype = Dtype::kI64;
      x = shifted("observation.index", x, -space.start);
      x = add({OperationKind::kOneHot, "observation.one_hot", {x.name}, {space.size}});
    } else {
      graph_.observation_dtype = space.dtype;
      x.shape = graph_.observation_shape = space.extents();
    }
    if (space.dtype == Dtype::kU8) {
      Operation divide{OperationKind::kDivide, "observation.divided", {x.name}, x.shape};
      divide.number = space.full_scale();
      x = add(divide);
    }
    if (policy_.obs_norm != nullptr) x = normalised(row(x, kObservationName), kObservationName, 0);
    const NetworkShape& shape = policy_.network.shape();
    return shape.encoder == Encoder::kMlp ? row(x, kObservationName)
                                          : planes(x, shape.image, kObservationName);
  }

  // By the statistics from number `first` on.
  Value normalised(const Value& x, const std::string& prefix, std::size_t first) {
    const RunningMeanStd& statistics = policy_.obs_norm->statistics();
    std::vector<float> mean, rest, scale;
    const std::size_t end = first + static_cast<std::size_t>(row_size(x.shape));
    for (std::size_t i = first; i < end; ++i) {
      const double exact = statistics.mean()[i];
      mean.push_back(static_cast<float>(exact));
      rest.push_back(static_cast<float>(exact - mean.back()));
      scale.push_back(static_cast<float>(1.0 / policy_.obs_norm->divisor(i)));
    }
    Operation operation{OperationKind::kNormalise, prefix + ".normalised", {x.name}, x.shape};
    operation.number = std::min(policy_.obs_norm->clip(), std::numeric_limits<float>::max());
    for (auto& [name, numbers] : {std::pair{"mean", mean}, {"mean_rest", rest}, {"scale", scale}}) {
      operation.arrays.push_back(keep(prefix + "_" + name, x.shape, numbers));
    }
    return add(operation);
  }

  // The features under a head.
  Value above(const std::string& side, const Chain& body, const Cell& cell, const Chain& top,
              const Value& input) {
    return chain(side, top, remembered(side, cell, chain(side, body, input)));
  }

  // Adds every layer of a chain and its activations.
  Value chain(const std::string& side, const Chain& layers, Value x) {
    std::vector<Value> outputs;
    for (std::size_t l = 0; l < layers.layers().size(); ++l) {
      const Layer& layer = layers.layers()[l];
      if (gives_policy_vector(layers, l)) {
        outputs.push_back({});
        continue;
      }
      x = layer.kind == LayerKind::kPart   ? part(layer)
          : layer.kind == LayerKind::kJoin ? joined(side, layers, outputs)
                                           : one_layer(side, layer, x, outputs);
      if (layer.is_activated) x = activated(side, x);
      outputs.push_back(x);
    }
    return x;
  }

  // Whether layer l is the last group of several policies, which reads no observation, or the layer
  // under it. An exported policy is the leader: linear() adds its vector's share to the biases.
  bool gives_policy_vector(const Chain& layers, std::size_t l) const {
    if (policy_.network.shape().policies == 1) return false;
    return l == layers.joined().back() || l + 1 == layers.joined().back();
  }

  // The leader's vector, as a body reads it.
  std::vector<float> leader_vector(const Chain& body) const {
    const LinearSlice& slice = policy_.network.policy_vectors(body).slice;
    std::vector<float> vector;
    for (int i = 0; i < slice.out; ++i) {
      const float bias = policy_.params[slice.bias + static_cast<std::size_t>(i)];
      vector.push_back(bias + policy_.params[slice.at(slice.in - 1, i)]);
    }
    return vector;
  }

  // The outputs of all groups, side by side. Images lie pixel by pixel.
  Value joined(const std::string& side, const Chain& layers, const std::vector<Value>& outputs) {
    Operation join{OperationKind::kJoin, side + ".joined", {}, {0}};
    for (const std::size_t last : layers.joined()) {
      if (gives_policy_vector(layers, last)) {
        vector_ = leader_vector(layers);
        continue;
      }
      const std::string name = numbered(side + ".group");
      const Value& x = outputs[last];
      const Value part = row(x.is_image() ? permuted(name + ".pixels", x, {0, 2, 3, 1}) : x, name);
      join.inputs.push_back(part.name);
      join.shape[0] += row_size(part.shape);
    }
    if (join.inputs.size() == 1) return {join.inputs[0], join.shape};  // of the leader's body
    return add(join);
  }

  Value one_layer(const std::string& side, const Layer& layer, const Value& x,
                  const std::vector<Value>& outputs) {
    switch (layer.kind) {
      case LayerKind::kLinear: {
        const std::string name = numbered(side + ".linear");
        return linear(name, name, layer.slice, x);
      }
      case LayerKind::kConvolution:
        return convolution(numbered(side + ".conv"), layer, x);
      case LayerKind::kLayerNorm:
        return layer_norm(side, layer, x);
      case LayerKind::kMaxPool: {
        Operation pool{OperationKind::kMaxPool, numbered(side + ".pool"), {x.name}};
        pool.shape = {layer.out.channels, layer.out.height, layer.out.width};
        pool.kernel = layer.pool.kernel;
        pool.stride = layer.pool.stride;
        pool.padding = layer.pool.padding;
        return add(pool);
      }
      case LayerKind::kActivation:
        return activated(side, x);
      case LayerKind::kAdd:
        return add({OperationKind::kAdd,
                    numbered(side + ".sum"),
                    {x.name, outputs[layer.source].name},
                    x.shape});
      case LayerKind::kPart:
      case LayerKind::kJoin:
        break;
    }
    return x;
  }

  // The output of a recurrent cell, if there is one. The state's parts come in the order of the
  // calls, as in a state of the network.
  Value remembered(const std::string& side, const Cell& cell, const Value& input) {
    if (cell.empty()) return input;
    const int width = cell.width();
    const auto part = [&](const char* name, const Value& whole, int begin) {
      Operation operation{OperationKind::kPart, side + name, {whole.name}, {width}};
      operation.number = begin;
      return add(operation);
    };
    const Value state{kStateName, {}};
    const int begin = static_cast<int>(cell.state_offset());
    graph_.state_size = begin + static_cast<int>(cell.state_size());
    // Units of images lie pixel by pixel.
    const Value x =
        row(input.is_image() ? permuted(side + ".pixels", input, {0, 2, 3, 1}) : input, side);
    const Value sums = linear(side + ".cell", side + ".cell", cell.slice(), x);
    const Value last = part(".last", state, begin);
    if (cell.kind() == CellKind::kMinGru) {
      const Value after =
          add({OperationKind::kMinGru, side + ".state", {sums.name, last.name}, {width}});
      next_states_.push_back(after.name);
      return add({OperationKind::kHighway,
                  side + ".remembered",
                  {sums.name, after.name, x.name},
                  {width}});
    }
    const Value state_sums =
        linear(side + ".cell_state", side + ".cell_state", cell.state_slice(), last);
    const bool is_gru = cell.kind() == CellKind::kGru;
    const Value before = is_gru ? last : part(".last_c", state, begin + width);
    const Value after = add({is_gru ? OperationKind::kGru : OperationKind::kLstm,
                             side + ".state",
                             {sums.name, state_sums.name, before.name},
                             {static_cast<int>(cell.state_size())}});
    next_states_.push_back(after.name);
    return is_gru ? after : part(".remembered", after, 0);
  }

  Value activated(const std::string& side, const Value& x) {
    Operation operation{OperationKind::kActivation, "", {x.name}, x.shape};
    operation.activation = policy_.network.shape().activation;
    operation.name = numbered(side + "." + operation_name(operation));
    return add(operation);
  }

  Value linear(const std::string& name, const std::string& layer, const LinearSlice& slice,
               const Value& input) {
    const std::vector<std::size_t> columns = places(input);
    const int width = static_cast<int>(columns.size());
    std::vector<float> weight, bias;
    for (int o = 0; o < slice.out; ++o) {
      for (const std::size_t i : columns) {
        weight.push_back(policy_.params[slice.at(static_cast<int>(i), o)]);
      }
      double constant = policy_.params[slice.bias + static_cast<std::size_t>(o)];
      for (int i = width; i < slice.in; ++i) {  // a layer that reads the leader's vector
        constant += static_cast<double>(policy_.params[slice.at(i, o)]) *
                    vector_[static_cast<std::size_t>(i - width)];
      }
      bias.push_back(static_cast<float>(constant));
    }
    const Value x = row(input, layer);
    Operation operation{OperationKind::kLinear, name, {x.name}, {slice.out}, layer};
    operation.arrays = {keep(layer + ".weight", {slice.out, width}, std::move(weight)),
                        keep(layer + ".bias", {slice.out}, std::move(bias))};
    return add(operation);
  }

  Value convolution(const std::string& name, const Layer& layer, const Value& x) {
    const ConvolutionShape& shape = layer.convolution;
    const int k = shape.kernel;
    std::vector<float> weight;
    for (int f = 0; f < shape.filters; ++f) {
      for (int c = 0; c < shape.channels; ++c) {
        for (int pixel = 0; pixel < k * k; ++pixel) {
          weight.push_back(policy_.params[layer.slice.at(pixel * shape.channels + c, f)]);
        }
      }
    }
    Operation operation{OperationKind::kConvolution, name, {x.name}};
    operation.shape = {layer.out.channels, layer.out.height, layer.out.width};
    operation.layer = name;
    operation.arrays = {
        keep(name + ".weight", {shape.filters, shape.channels, k, k}, std::move(weight)),
        keep_params(name + ".bias", {shape.filters}, layer.slice.bias)};
    operation.kernel = k;
    operation.stride = shape.stride;
    operation.padding = shape.padding;
    return add(operation);
  }

  // Normalises all numbers of x, or the channels of each pixel, which must then be the last axis.
  Value layer_norm(const std::string& side, const Layer& layer, const Value& input) {
    const LinearSlice& slice = layer.slice;
    const bool over_channels = input.is_image() && slice.out != row_size(input.shape);
    const std::string name = numbered(side + ".norm");
    const Value x = over_channels ? permuted(name + ".pixels", input, {0, 2, 3, 1}) : input;
    Operation operation{OperationKind::kLayerNorm, name, {x.name}, x.shape, name};
    const std::vector<int> normalised = over_channels ? std::vector{slice.out} : x.shape;
    const std::vector<std::size_t> order =
        over_channels ? places({"", {slice.out}}) : places(input);
    for (const auto& [array, offset] :
         {std::pair{".weight", slice.weight}, {".bias", slice.bias}}) {
      std::vector<float> numbers(order.size());
      for (std::size_t i = 0; i < order.size(); ++i) numbers[i] = policy_.params[offset + order[i]];
      operation.arrays.push_back(keep(name + array, normalised, std::move(numbers)));
    }
    operation.number = kLayerNormEpsilon;
    const Value out = add(operation);
    return over_channels ? permuted(name + ".planes", out, {0, 3, 1, 2}) : out;
  }

  void categorical_outputs(const std::string& side, const Value& features) {
    const NetworkShape& shape = policy_.network.shape();
    const std::string name = shape.action_values ? "action_values" : "logits";
    Value outputs = part_of_head(shape.masked ? name + ".all" : name, side + ".head", 0,
                                 shape.logits(), features);
    if (shape.masked) {
      Operation mask{OperationKind::kMask, name, {outputs.name, kMaskName}, outputs.shape};
      mask.number = kInvalidLogit;
      outputs = add(mask);
      graph_.mask_size = shape.logits();
    }
    if (!shape.action_heads.empty()) {
      const int heads = static_cast<int>(shape.action_heads.size());
      const std::vector<std::int64_t> starts = first_choices(policy_.spec.action);
      const std::string chosen = shape.has_box() ? "action.choices" : "action";
      Operation choices{OperationKind::kArgmax,
                        starts.empty() ? chosen : "action.index",
                        {outputs.name},
                        {heads}};
      choices.heads = shape.action_heads;
      Value action = add(choices);
      if (!starts.empty()) {
        Operation shift{OperationKind::kShift, chosen, {action.name}, {heads}};
        shift.shifts = starts;
        action = add(shift);
      }
      graph_.outputs = {action.name, outputs.name};
      return;
    }
    const std::int64_t start = policy_.spec.action.start;
    const Value index =
        add({OperationKind::kArgmax, start == 0 ? "action" : "action.index", {outputs.name}});
    graph_.outputs = {shifted("action", index, start).name, outputs.name};
    if (shape.action_values) largest_ = outputs;
  }

  // From [-1, 1] to the bounds: (x + middle / half) half. What leaves [-1, 1] leaves the bounds, to
  // which the result is clipped.
  Value scaled_to_bounds(const Value& x, const std::vector<float>& lows,
                         const std::vector<float>& highs) {
    std::vector<float> mean, rest, scale;
    float limit = 0.0f;
    for (std::size_t i = 0; i < lows.size(); ++i) {
      const double low = lows[i], high = highs[i];
      const double half = 0.5 * (high - low), exact = half > 0.0 ? -0.5 * (high + low) / half : 0.0;
      mean.push_back(static_cast<float>(exact));
      rest.push_back(static_cast<float>(exact - mean.back()));
      scale.push_back(static_cast<float>(half));
      limit = std::max({limit, std::fabs(lows[i]), std::fabs(highs[i])});
    }
    Operation operation{OperationKind::kNormalise, "action.scaled", {x.name}, x.shape};
    operation.number = limit;
    for (auto& [name, numbers] : {std::pair{"mean", mean}, {"mean_rest", rest}, {"scale", scale}}) {
      operation.arrays.push_back(keep(std::string("action_") + name, x.shape, numbers));
    }
    return add(operation);
  }

  // Rows [first, first + count) of the policy's head, as a layer of their own.
  Value part_of_head(const std::string& name, const std::string& layer, int first, int count,
                     const Value& features) {
    LinearSlice slice = policy_.network.policy_head();
    slice.weight += static_cast<std::size_t>(first) * slice.in;
    slice.bias += static_cast<std::size_t>(first);
    slice.out = count;
    return linear(name, layer, slice, features);
  }
  // Rows of the numbers of a Box: part 0 or 1. Beside choices, the layer has a name of its own.
  Value box_part(const std::string& name, const std::string& side, const std::string& layer,
                 int part, const Value& features) {
    const NetworkShape& shape = policy_.network.shape();
    const bool is_second_layer = shape.has_choices() && part == 0;
    return part_of_head(name, side + (is_second_layer ? ".head_" + name : layer),
                        shape.logits() + part * shape.box_size(), shape.box_size(), features);
  }

  // The number that is scaled to the bounds, or the mean of a Gaussian, which is clipped to them.
  Value best_numbers(const std::string& side, const Value& features) {
    const NetworkShape& shape = policy_.network.shape();
    if (shape.action_distribution == ActionDistribution::kBeta) {
      const Value one = box_part("alpha", side, ".head", 0, features);
      const Value two = box_part("beta", side, ".head_beta", 1, features);
      graph_.outputs.insert(graph_.outputs.end(), {one.name, two.name});
      return add({OperationKind::kBetaMean, "action.unit", {one.name, two.name}, one.shape});
    }
    Value mean = box_part("mean", side, ".head", 0, features);
    graph_.outputs.push_back(mean.name);
    graph_.outputs.push_back(log_deviations(side, features).name);
    if (shape.action_distribution == ActionDistribution::kGaussian) return mean;
    return add({OperationKind::kActivation, "action.unit", {mean.name}, mean.shape});
  }

  Value log_deviations(const std::string& side, const Value& features) {
    const NetworkShape& shape = policy_.network.shape();
    const std::vector<int> numbers{shape.box_size()};
    const auto count = static_cast<std::size_t>(numbers[0]);
    if (shape.has_log_std() || shape.has_policy_stds()) {
      Operation log_std{OperationKind::kConstant, "log_std", {}, numbers};
      std::vector<float> deviations(count);
      policy_.network.log_std(policy_.params, deviations.data());
      log_std.arrays = {keep("log_std", numbers, deviations)};
      return add(log_std);
    }
    if (shape.has_state_noise()) return noise_deviations(features, numbers[0]);
    constexpr double kMost = std::numeric_limits<float>::max();
    const StdBounds bounds(shape);
    const Value free = box_part("log_std.free", side, ".head_log_std", 1, features);
    Operation clip{OperationKind::kClip, "log_std", {free.name}, numbers};
    for (const auto& [name, bound] :
         {std::pair{"log_std_low", bounds.low}, {"log_std_high", bounds.high}}) {
      const float number = static_cast<float>(std::clamp(bound, -kMost, kMost));
      clip.arrays.push_back(keep(name, numbers, std::vector<float>(count, number)));
    }
    return add(clip);
  }

  // PyTorch's layout of variances: [A, L].
  Value noise_deviations(const Value& features, int count) {
    const ActorCritic& network = policy_.network;
    const int width = network.policy_head().in;
    const auto size = static_cast<std::size_t>(network.noise_size());
    std::vector<float> variances(size), turned(size);
    noise_variances(policy_.params + network.log_std_offset(), network.noise_size(),
                    variances.data());
    for (std::size_t i = 0; i < size; ++i) {
      turned[i % count * width + i / count] = variances[i];
    }
    Operation noise{OperationKind::kNoise, "log_std", {features.name}, {count}};
    noise.number = kNoiseVariance;
    noise.arrays = {keep("noise_variances", {count, width}, turned)};
    return add(noise);
  }

  void box_outputs(const std::string& side, const Value& features) {
    const NetworkShape& shape = policy_.network.shape();
    const Space& space = policy_.spec.action;
    const std::vector<int> numbers{shape.box_size()};
    const bool is_row = space.extents().size() == 1, is_own = !space.own_low.empty();
    std::vector<float> low = is_own ? space.own_low : space.low;
    std::vector<float> high = is_own ? space.own_high : space.high;
    low.erase(low.begin(), low.begin() + space.choice_count());
    high.erase(high.begin(), high.begin() + space.choice_count());
    const Value best = best_numbers(side, features);
    const bool is_scaled = is_own || shape.action_distribution != ActionDistribution::kGaussian;
    const Value inside = is_scaled ? scaled_to_bounds(best, low, high) : best;
    const char* const name = shape.has_choices() ? "action.numbers"
                             : is_row            ? "action"
                                                 : "action.row";
    Operation clip{OperationKind::kClip, name, {inside.name}, numbers};
    clip.arrays = {keep("action_low", numbers, low), keep("action_high", numbers, high)};
    Value action = add(clip);
    if (shape.has_choices()) {
      graph_.outputs.front() = join_action(graph_.outputs.front(), action).name;
      return;
    }
    if (!is_row) {
      action = add({OperationKind::kReshape, "action", {action.name}, space.extents()});
    }
    graph_.outputs.insert(graph_.outputs.begin(), action.name);
  }

  // Choices, then numbers: the row that the environment gets.
  Value join_action(const std::string& choices, const Value& numbers) {
    const NetworkShape& shape = policy_.network.shape();
    const int heads = static_cast<int>(shape.heads().size());
    const Value indices = add({OperationKind::kFloat, "action.indices", {choices}, {heads}});
    return add(
        {OperationKind::kJoin, "action", {indices.name, numbers.name}, {heads + shape.box_size()}});
  }

  // The critic's head, in units of rewards with norm_value, too: w s and b s + m.
  Value values_of_head(const Value& features) {
    const LinearSlice& head = policy_.network.value_head();
    const char *name = "critic.values", *layer = "critic.head";
    if (policy_.value_norm == nullptr) return linear(name, layer, head, features);
    const ValueUnit unit = policy_.value_norm->unit();
    const bool clips = std::isfinite(unit.clip);
    Value all = linear(clips ? "critic.unclipped" : name, layer, head, features);
    std::vector<float>& weight = graph_.arrays[graph_.arrays.size() - 2].numbers;
    for (float& w : weight) w = static_cast<float>(w * unit.deviation);
    for (float& b : graph_.arrays.back().numbers) {
      b = static_cast<float>(b * unit.deviation + unit.mean);
    }
    if (!clips) return all;
    const float limit = static_cast<float>(unit.clip);
    Operation clip{OperationKind::kClip, name, {all.name}, all.shape};
    clip.arrays = {keep("value_low", all.shape, {unit.value(-limit)}),
                   keep("value_high", all.shape, {unit.value(limit)})};
    return add(clip);
  }

  void value_outputs(const Value& encoded) {
    const ActorCritic& network = policy_.network;
    if (network.shape().action_values) {
      graph_.outputs.push_back(add({OperationKind::kLargest, "value", {largest_.name}}).name);
      return;
    }
    const Value features =
        above("critic", network.critic(), network.critic_cell(), network.critic_top(), encoded);
    const Value all = values_of_head(features);
    // The first value is of the environment's rewards, the second of those by RND.
    const std::vector<std::string> names{"value", "intrinsic_value"};
    for (int v = 0; v < std::min(network.shape().value_outputs, 2); ++v) {
      Operation column{OperationKind::kColumn, names[static_cast<std::size_t>(v)], {all.name}};
      column.number = v;
      graph_.outputs.push_back(add(column).name);
    }
  }

  // Converts between indices from 0 and indices from the space's start.
  Value shifted(const std::string& name, const Value& index, std::int64_t offset) {
    if (offset == 0) return index;
    Operation shift{OperationKind::kShift, name, {index.name}};
    shift.number = static_cast<double>(offset);
    return add(shift);
  }

  Value row(const Value& x, const std::string& side) {
    if (x.shape.size() == 1) return x;
    return add({OperationKind::kReshape, side + ".row", {x.name}, {row_size(x.shape)}});
  }

  // Reshapes an image, in whatever shape, to height x width x channels and puts channels first.
  Value planes(Value x, const RowShape& image, const std::string& prefix) {
    const std::vector<int> pixels{image.height, image.width, image.channels};
    if (x.shape != pixels) {
      x = add({OperationKind::kReshape, prefix + ".image", {x.name}, pixels});
    }
    return permuted(prefix + ".planes", x, {0, 3, 1, 2});
  }

  Value permuted(const std::string& name, const Value& x, const std::vector<int>& axes) {
    Operation permute{OperationKind::kPermute, name, {x.name}};
    for (std::size_t i = 1; i < axes.size(); ++i) {
      permute.shape.push_back(x.shape[static_cast<std::size_t>(axes[i]) - 1]);
    }
    permute.axes = axes;
    return add(permute);
  }

  Value add(const Operation& operation) {
    graph_.operations.push_back(operation);
    return {operation.name, operation.shape};
  }

  std::string keep(std::string name, std::vector<int> shape, std::vector<float> numbers) {
    graph_.arrays.push_back({name, std::move(shape), std::move(numbers)});
    return name;
  }
  std::string keep_params(std::string name, std::vector<int> shape, std::size_t offset) {
    const float* params = policy_.params + offset;
    std::vector<float> numbers(params, params + row_size(shape));
    return keep(std::move(name), std::move(shape), std::move(numbers));
  }

  std::string numbered(const std::string& name) {
    return fmt::format("{}{}", name, ++counts_[name]);
  }

  const Policy& policy_;
  PolicyGraph graph_;
  Value seen_;                            // the network's input, without groups
  std::vector<float> vector_;             // of the leader, with several policies
  Value largest_;                         // action values
  std::vector<Value> parts_;              // groups that were read, as layers read them
  std::vector<std::string> next_states_;  // of the cells
  std::map<std::string, int> counts_;
};

std::vector<std::pair<std::string, std::string>> metadata_of(const Policy& policy) {
  const Config& config = policy.config;
  const Space& observation = policy.spec.observation;
  std::vector<std::pair<std::string, std::string>> out{
      {"format", "broadloom-policy-1"},
      {"broadloom_version", version_text()},
      {"env_id", config.env_id},
      {"algorithm", config.algorithm},
      {"run", std::filesystem::path(policy.origin.run_dir).filename().string()},
      {"checkpoint_hash", policy.origin.hash},
      {"global_step", std::to_string(policy.origin.global_step)},
      {"observation", shape_text(observation)},
      {"action", shape_text(policy.spec.action)},
      {"norm_obs", config.norm_obs ? "true" : "false"}};
  const std::string stacks = stacks_text(policy, ":", ",");
  if (observation.frames > 1) out.emplace_back("frame_stack", std::to_string(observation.frames));
  if (!stacks.empty()) out.emplace_back("frame_stack_of", stacks);
  if (observation.frames > 1 || !stacks.empty()) {
    out.emplace_back("frame_padding",
                     observation.frame_padding == FramePadding::kFirst ? "first" : "zero");
  }
  for (const auto& [key, value] : config.env_options) out.emplace_back("env." + key, value);
  return out;
}

std::string extents_text(bool has_rows, const std::vector<int>& row) {
  std::string out = has_rows ? "N" : "";
  for (const int extent : row) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return out;
}

template <class T>
const T& named(const std::vector<T>& list, std::string_view name) {
  return *std::find_if(list.begin(), list.end(), [&](const T& item) { return item.name == name; });
}

}  // namespace

namespace {

// starts: of all numbers. A leaf names those of its own (python/broadloom/_nested.py).
void read_starts(const Json& node, std::vector<std::int64_t>& starts) {
  for (const Json& part : node["tuple"].elements()) read_starts(part, starts);
  for (const Json& pair : node["dict"].elements()) {
    if (pair.elements().size() == 2) read_starts(pair.elements()[1], starts);
  }
  if (!node["at"].is_unsigned()) return;
  const Json& start = node["start"];
  const Json::Array all = start.is_array() ? start.elements() : Json::Array{start};
  const auto first = node["at"].integer<std::size_t>();
  for (std::size_t i = 0; i < all.size() && first < starts.size() - i; ++i) {
    if (all[i].is_integer()) starts[first + i] = all[i].integer<std::int64_t>();
  }
}

}  // namespace

std::vector<std::int64_t> first_choices(const Space& action) {
  std::vector<std::int64_t> starts(action.choices().size(), action.start);
  read_starts(Json::parse(action.structure), starts);
  const bool count_from_0 =
      std::all_of(starts.begin(), starts.end(), [](std::int64_t first) { return first == 0; });
  return count_from_0 ? std::vector<std::int64_t>{} : starts;
}

std::string stacks_text(const Policy& policy, const char* colon, const char* comma) {
  const std::vector<int> frames =
      group_frames(policy.config.env_id, policy.config.env_options, policy.spec);
  std::string out;
  for (std::size_t g = 0; g < frames.size(); ++g) {
    if (frames[g] == 1) continue;
    out += (out.empty() ? "" : comma) + policy.spec.observation.groups[g].name + colon +
           std::to_string(frames[g]);
  }
  return out;
}

const Operation& PolicyGraph::operation(std::string_view name) const {
  return named(operations, name);
}

const NamedArray& PolicyGraph::array(std::string_view name) const { return named(arrays, name); }

PolicyGraph policy_graph(const Policy& policy, bool with_value) {
  PolicyGraph graph = GraphBuilder(policy).build(with_value);
  graph.about = metadata_of(policy);
  return graph;
}

const char* operation_name(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kShift:
      return "shift";
    case OperationKind::kOneHot:
      return "one_hot";
    case OperationKind::kDivide:
      return "divide";
    case OperationKind::kNormalise:
      return "normalise";
    case OperationKind::kReshape:
      return "reshape";
    case OperationKind::kPermute:
      return "permute";
    case OperationKind::kLinear:
      return "linear";
    case OperationKind::kConvolution:
      return "convolution";
    case OperationKind::kLayerNorm:
      return "layer_norm";
    case OperationKind::kMaxPool:
      return "max_pool";
    case OperationKind::kActivation:
      break;
    case OperationKind::kAdd:
      return "add";
    case OperationKind::kMask:
      return "mask";
    case OperationKind::kClip:
      return "clip";
    case OperationKind::kArgmax:
      return operation.heads.empty() ? "argmax" : "argmax_of_parts";
    case OperationKind::kLargest:
      return "largest";
    case OperationKind::kColumn:
      return "column";
    case OperationKind::kConstant:
      return "constant";
    case OperationKind::kBetaMean:
      return "beta_mean";
    case OperationKind::kNoise:
      return "noise";
    case OperationKind::kFloat:
      return "float32";
    case OperationKind::kPart:
      return "part";
    case OperationKind::kJoin:
      return "join";
    case OperationKind::kMinGru:
      return "min_gru";
    case OperationKind::kHighway:
      return "highway";
    case OperationKind::kGru:
      return "gru";
    case OperationKind::kLstm:
      return "lstm";
  }
  if (operation.activation == Activation::kTanh) return "tanh";
  return operation.activation == Activation::kRelu ? "relu" : "elu";
}

bool is_index(const Operation& operation) {
  return operation.kind == OperationKind::kArgmax || operation.kind == OperationKind::kShift;
}

const char* output_dtype(const Operation& operation) {
  return is_index(operation) ? "int64" : "float32";
}

const char* dtype_name(Dtype dtype) {
  if (dtype == Dtype::kU8) return "uint8";
  return dtype == Dtype::kI64 ? "int64" : "float32";
}

std::string output_text(const Operation& operation) {
  const bool has_rows = operation.kind != OperationKind::kConstant;
  return fmt::format("{} [{}]", output_dtype(operation), extents_text(has_rows, operation.shape));
}

std::vector<double> numbers_of(const GroupInput& input, const std::vector<double>& rows,
                               std::size_t width) {
  std::vector<double> out;
  const ObservationGroup& group = input.group;
  for (std::size_t first = static_cast<std::size_t>(group.first); first < rows.size();
       first += width) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + group.size;
    if (group.dtype != Dtype::kI64) {
      out.insert(out.end(), begin, end);
    } else {
      out.push_back(static_cast<double>(std::max_element(begin, end) - begin + group.start));
    }
  }
  return out;
}

std::string input_text(Dtype dtype, const std::vector<int>& shape) {
  return fmt::format("{} [{}]", dtype_name(dtype), extents_text(true, shape));
}

std::string observation_text(const PolicyGraph& graph) {
  if (graph.groups.empty()) return input_text(graph.observation_dtype, graph.observation_shape);
  std::string text;
  for (const GroupInput& input : graph.groups) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", input.group.name,
                        input_text(input.group.dtype, input.shape()));
  }
  return "{" + text + "}";
}

std::string printable_text(std::string text) {
  std::replace(text.begin(), text.end(), '\\', '/');
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '"' || c < ' '; }, '\'');
  return text;
}

std::string state_text(const PolicyGraph& graph) {
  return fmt::format("float32 [N, {}], {} of the step before; zeros at an episode's first step",
                     graph.state_size, kNextStateName);
}

int row_size(const std::vector<int>& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
}

}  // namespace broadloom
