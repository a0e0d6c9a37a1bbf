#include "broadloom/export/graph_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "broadloom/record/json.h"

namespace broadloom {
namespace {

std::string input_name(const ObservationGroup& group) {
  return std::string(kObservationName) + "." + group.name;
}

// By the statistics from number `first` on.
GraphValue normalised(GraphDraft& draft, const GraphValue& x, const std::string& prefix,
                      std::size_t first) {
  const RunningMeanStd& statistics = draft.policy.obs_norm->statistics();
  std::vector<float> mean, rest, scale;
  const std::size_t end = first + static_cast<std::size_t>(row_size(x.shape));
  for (std::size_t i = first; i < end; ++i) {
    const double exact = statistics.mean()[i];
    mean.push_back(static_cast<float>(exact));
    rest.push_back(static_cast<float>(exact - mean.back()));
    scale.push_back(static_cast<float>(1.0 / draft.policy.obs_norm->divisor(i)));
  }
  Operation operation{OperationKind::kNormalise, prefix + ".normalised", {x.name}, x.shape};
  operation.number = std::min(draft.policy.obs_norm->clip(), std::numeric_limits<float>::max());
  for (auto& [name, numbers] : {std::pair{"mean", mean}, {"mean_rest", rest}, {"scale", scale}}) {
    operation.arrays.push_back(draft.keep(prefix + "_" + name, x.shape, numbers));
  }
  return draft.add(operation);
}

}  // namespace

GraphInputs::GraphInputs(GraphDraft& draft) : draft_(draft) {
  const Json given = Json::parse(draft_.policy.spec.observation.structure);
  for (const Json& key : given["keys"].elements()) {
    draft_.graph.observation_keys.push_back(key.text());
  }
  draft_.graph.channels_first = given["channels_first"].boolean();
  draft_.graph.is_scalar = given["scalar"].boolean();
  if (draft_.policy.network.shape().groups.empty()) {
    whole_ = seen_by_network();
  } else {
    draft_.graph.observation_shape = {draft_.policy.spec.observation.size};
    parts_.resize(draft_.policy.spec.observation.groups.size());
  }
}

GraphValue GraphInputs::seen_by_network() {
  const Space& space = draft_.policy.spec.observation;
  GraphValue x{kObservationName, {}};
  if (space.kind == SpaceKind::kDiscrete) {
    draft_.graph.observation_dtype = Dtype::kI64;
    x = draft_.shifted("observation.index", x, -space.start);
    x = draft_.add({OperationKind::kOneHot, "observation.one_hot", {x.name}, {space.size}});
  } else {
    draft_.graph.observation_dtype = space.dtype;
    x.shape = draft_.graph.observation_shape = space.extents();
  }
  if (space.dtype == Dtype::kU8) {
    Operation divide{OperationKind::kDivide, "observation.divided", {x.name}, x.shape};
    divide.number = space.full_scale();
    x = draft_.add(divide);
  }
  if (draft_.policy.obs_norm != nullptr)
    x = normalised(draft_, draft_.row(x, kObservationName), kObservationName, 0);
  const NetworkShape& shape = draft_.policy.network.shape();
  return shape.encoder == Encoder::kMlp ? draft_.row(x, kObservationName)
                                        : draft_.planes(x, shape.image, kObservationName);
}

GraphValue GraphInputs::part(const Layer& layer) {
  const std::vector<ObservationGroup>& groups = draft_.policy.spec.observation.groups;
  if (parts_.empty()) return whole_;
  std::size_t g = 0;
  while (static_cast<std::size_t>(groups[g].first) != layer.first) ++g;
  if (!parts_[g].name.empty()) return parts_[g];
  const ObservationGroup& group = groups[g];
  const std::string name = fmt::format("group{}", g);
  GraphValue x{input_name(group), group.shape};
  if (group.dtype == Dtype::kI64) {
    const GraphValue index = draft_.shifted(name + ".index", {x.name, {}}, -group.start);
    return parts_[g] =
               draft_.add({OperationKind::kOneHot, name + ".one_hot", {index.name}, {group.size}});
  }
  if (group.dtype == Dtype::kU8) {
    Operation divide{OperationKind::kDivide, name + ".divided", {x.name}, x.shape};
    divide.number = group.full_scale;
    x = draft_.add(divide);
  }
  if (draft_.policy.obs_norm != nullptr && !draft_.policy.obs_norm->leaves(layer.first)) {
    x = normalised(draft_, draft_.row(x, name), name, layer.first);
  }
  const bool is_image = layer.out.height * layer.out.width > 1;
  return parts_[g] = is_image ? draft_.planes(x, layer.out, name) : draft_.row(x, name);
}

void GraphInputs::list_groups() {
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const ObservationGroup& group = draft_.policy.spec.observation.groups[g];
    if (!parts_[g].name.empty()) draft_.graph.groups.push_back({input_name(group), group});
  }
}

}  // namespace broadloom
