#include "broadloom/export/graph_outputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "broadloom/export/first_choices.h"

namespace broadloom {
namespace {

constexpr char kActionValues[] = "action_values";

class ActionOutputs {
 public:
  ActionOutputs(GraphDraft& draft, const std::string& side, const GraphValue& features)
      : draft_(draft), side_(side), features_(features), shape_(draft.policy.network.shape()) {}

  void add_choices() {
    const std::string name = shape_.action_values ? kActionValues : "logits";
    GraphValue outputs =
        part_of_head(shape_.masked ? name + ".all" : name, side_ + ".head", 0, shape_.logits());
    if (shape_.masked) {
      Operation mask{OperationKind::kMask, name, {outputs.name, kMaskName}, outputs.shape};
      mask.number = kInvalidLogit;
      outputs = draft_.add(mask);
      draft_.graph.mask_size = shape_.logits();
    }
    if (!shape_.action_heads.empty()) {
      const int heads = static_cast<int>(shape_.action_heads.size());
      const std::vector<std::int64_t> starts = first_choices(draft_.policy.spec.action);
      const std::string chosen = shape_.has_box() ? "action.choices" : "action";
      Operation choices{OperationKind::kArgmax,
                        starts.empty() ? chosen : "action.index",
                        {outputs.name},
                        {heads}};
      choices.heads = shape_.action_heads;
      GraphValue action = draft_.add(choices);
      if (!starts.empty()) {
        Operation shift{OperationKind::kShift, chosen, {action.name}, {heads}};
        shift.shifts = starts;
        action = draft_.add(shift);
      }
      draft_.graph.outputs = {action.name, outputs.name};
      return;
    }
    const std::int64_t start = draft_.policy.spec.action.start;
    const GraphValue index = draft_.add(
        {OperationKind::kArgmax, start == 0 ? "action" : "action.index", {outputs.name}});
    draft_.graph.outputs = {draft_.shifted("action", index, start).name, outputs.name};
  }

  void add_box() {
    const Space& space = draft_.policy.spec.action;
    const std::vector<int> numbers{shape_.box_size()};
    const bool is_row = space.extents().size() == 1, is_own = !space.own_low.empty();
    std::vector<float> low = is_own ? space.own_low : space.low;
    std::vector<float> high = is_own ? space.own_high : space.high;
    low.erase(low.begin(), low.begin() + space.choice_count());
    high.erase(high.begin(), high.begin() + space.choice_count());
    const GraphValue best = best_numbers();
    const bool is_scaled = is_own || shape_.action_distribution != ActionDistribution::kGaussian;
    const GraphValue inside = is_scaled ? scaled_to_bounds(best, low, high) : best;
    const char* const name = shape_.has_choices() ? "action.numbers"
                             : is_row             ? "action"
                                                  : "action.row";
    Operation clip{OperationKind::kClip, name, {inside.name}, numbers};
    clip.arrays = {draft_.keep("action_low", numbers, low),
                   draft_.keep("action_high", numbers, high)};
    GraphValue action = draft_.add(clip);
    if (shape_.has_choices()) {
      draft_.graph.outputs.front() = join_action(draft_.graph.outputs.front(), action).name;
      return;
    }
    if (!is_row) {
      action = draft_.add({OperationKind::kReshape, "action", {action.name}, space.extents()});
    }
    draft_.graph.outputs.insert(draft_.graph.outputs.begin(), action.name);
  }

 private:
  // The number that is scaled to the bounds, or the mean of a Gaussian, which is clipped to them.
  GraphValue best_numbers() {
    if (shape_.action_distribution == ActionDistribution::kBeta) {
      const GraphValue one = box_part("alpha", ".head", 0);
      const GraphValue two = box_part("beta", ".head_beta", 1);
      draft_.graph.outputs.insert(draft_.graph.outputs.end(), {one.name, two.name});
      return draft_.add({OperationKind::kBetaMean, "action.unit", {one.name, two.name}, one.shape});
    }
    GraphValue mean = box_part("mean", ".head", 0);
    draft_.graph.outputs.push_back(mean.name);
    draft_.graph.outputs.push_back(log_deviations().name);
    if (shape_.action_distribution == ActionDistribution::kGaussian) return mean;
    return draft_.add({OperationKind::kActivation, "action.unit", {mean.name}, mean.shape});
  }

  // From [-1, 1] to the bounds: (x + middle / half) half. What leaves [-1, 1] leaves the bounds, to
  // which the result is clipped.
  GraphValue scaled_to_bounds(const GraphValue& x, const std::vector<float>& lows,
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
      operation.arrays.push_back(draft_.keep(std::string("action_") + name, x.shape, numbers));
    }
    return draft_.add(operation);
  }

  // Choices, then numbers: the row that the environment gets.
  GraphValue join_action(const std::string& choices, const GraphValue& numbers) {
    const int heads = static_cast<int>(shape_.heads().size());
    const GraphValue indices =
        draft_.add({OperationKind::kFloat, "action.indices", {choices}, {heads}});
    return draft_.add({OperationKind::kJoin,
                       "action",
                       {indices.name, numbers.name},
                       {heads + shape_.box_size()}});
  }

  GraphValue log_deviations() {
    const std::vector<int> numbers{shape_.box_size()};
    const auto count = static_cast<std::size_t>(numbers[0]);
    if (shape_.has_log_std() || shape_.has_policy_stds()) {
      Operation log_std{OperationKind::kConstant, "log_std", {}, numbers};
      std::vector<float> deviations(count);
      draft_.policy.network.log_std(draft_.policy.params, deviations.data());
      log_std.arrays = {draft_.keep("log_std", numbers, deviations)};
      return draft_.add(log_std);
    }
    if (shape_.has_state_noise()) return noise_deviations(numbers[0]);
    constexpr double kMost = std::numeric_limits<float>::max();
    const StdBounds bounds(shape_);
    const GraphValue free = box_part("log_std.free", ".head_log_std", 1);
    Operation clip{OperationKind::kClip, "log_std", {free.name}, numbers};
    for (const auto& [name, bound] :
         {std::pair{"log_std_low", bounds.low}, {"log_std_high", bounds.high}}) {
      const float number = static_cast<float>(std::clamp(bound, -kMost, kMost));
      clip.arrays.push_back(draft_.keep(name, numbers, std::vector<float>(count, number)));
    }
    return draft_.add(clip);
  }

  // PyTorch's layout of variances: [A, L].
  GraphValue noise_deviations(int count) {
    const ActorCritic& network = draft_.policy.network;
    const int width = network.policy_head().in;
    const auto size = static_cast<std::size_t>(network.noise_size());
    std::vector<float> variances(size), turned(size);
    noise_variances(draft_.policy.params + network.log_std_offset(), network.noise_size(),
                    variances.data());
    for (std::size_t i = 0; i < size; ++i) {
      turned[i % count * width + i / count] = variances[i];
    }
    Operation noise{OperationKind::kNoise, "log_std", {features_.name}, {count}};
    noise.number = kNoiseVariance;
    noise.arrays = {draft_.keep("noise_variances", {count, width}, turned)};
    return draft_.add(noise);
  }

  // Rows of the numbers of a Box: part 0 or 1. Beside choices, the layer has a name of its own.
  GraphValue box_part(const std::string& name, const std::string& layer, int part) {
    const bool is_second_layer = shape_.has_choices() && part == 0;
    return part_of_head(name, side_ + (is_second_layer ? ".head_" + name : layer),
                        shape_.logits() + part * shape_.box_size(), shape_.box_size());
  }

  // Rows [first, first + count) of the policy's head, as a layer of their own.
  GraphValue part_of_head(const std::string& name, const std::string& layer, int first, int count) {
    LinearSlice slice = draft_.policy.network.policy_head();
    slice.weight += static_cast<std::size_t>(first) * slice.in;
    slice.bias += static_cast<std::size_t>(first);
    slice.out = count;
    return draft_.linear(name, layer, slice, features_);
  }

  GraphDraft& draft_;
  const std::string& side_;
  const GraphValue& features_;
  const NetworkShape& shape_;
};

// The critic's head, in units of rewards with norm_value, too: w s and b s + m.
GraphValue values_of_head(GraphDraft& draft, const GraphValue& features) {
  const LinearSlice& head = draft.policy.network.value_head();
  const char *name = "critic.values", *layer = "critic.head";
  if (draft.policy.value_norm == nullptr) return draft.linear(name, layer, head, features);
  const ValueUnit unit = draft.policy.value_norm->unit();
  const bool clips = std::isfinite(unit.clip);
  GraphValue all = draft.linear(clips ? "critic.unclipped" : name, layer, head, features);
  std::vector<float>& weight = draft.graph.arrays[draft.graph.arrays.size() - 2].numbers;
  for (float& w : weight) w = static_cast<float>(w * unit.deviation);
  for (float& b : draft.graph.arrays.back().numbers) {
    b = static_cast<float>(b * unit.deviation + unit.mean);
  }
  if (!clips) return all;
  const float limit = static_cast<float>(unit.clip);
  Operation clip{OperationKind::kClip, name, {all.name}, all.shape};
  clip.arrays = {draft.keep("value_low", all.shape, {unit.value(-limit)}),
                 draft.keep("value_high", all.shape, {unit.value(limit)})};
  return draft.add(clip);
}

}  // namespace

void add_actions(GraphDraft& draft, const std::string& side, const GraphValue& features) {
  ActionOutputs outputs(draft, side, features);
  const NetworkShape& shape = draft.policy.network.shape();
  if (shape.has_choices()) outputs.add_choices();
  if (shape.has_box()) outputs.add_box();
}

void add_values(GraphDraft& draft, GraphLayers& layers, const GraphValue& encoded) {
  const ActorCritic& network = draft.policy.network;
  if (network.shape().action_values) {
    draft.graph.outputs.push_back(
        draft.add({OperationKind::kLargest, "value", {kActionValues}}).name);
    return;
  }
  const GraphValue features = layers.above("critic", network.critic(), network.critic_cell(),
                                           network.critic_top(), encoded);
  const GraphValue all = values_of_head(draft, features);
  // The first value is of the environment's rewards, the second of those by RND.
  const std::vector<std::string> names{"value", "intrinsic_value"};
  for (int v = 0; v < std::min(network.shape().value_outputs, 2); ++v) {
    Operation column{OperationKind::kColumn, names[static_cast<std::size_t>(v)], {all.name}};
    column.number = v;
    draft.graph.outputs.push_back(draft.add(column).name);
  }
}

}  // namespace broadloom
