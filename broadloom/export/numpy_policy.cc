#include "broadloom/export/numpy_policy.h"

#include "broadloom/export/npz.h"

namespace broadloom {
namespace {

// Adds the settings of this kind of operation, besides name, inputs, shape and arrays.
void add_settings(const Operation& operation, Json& out) {
  switch (operation.kind) {
    case OperationKind::kDivide:
      out["divisor"] = operation.number;
      break;
    case OperationKind::kMask:
      out["invalid"] = operation.number;
      break;
    case OperationKind::kNormalise:
      out["limit"] = operation.number;
      break;
    case OperationKind::kShift:
      out["by"] = static_cast<std::int64_t>(operation.number);
      if (!operation.shifts.empty()) out["by"] = operation.shifts;
      break;
    case OperationKind::kPermute:
      out["axes"] = operation.axes;
      break;
    case OperationKind::kArgmax:
      if (!operation.heads.empty()) out["parts"] = operation.heads;
      break;
    case OperationKind::kConvolution:
    case OperationKind::kMaxPool:
      out["kernel"] = operation.kernel;
      out["stride"] = operation.stride;
      out["padding"] = operation.padding;
      break;
    case OperationKind::kLayerNorm:
    case OperationKind::kNoise:
      out["epsilon"] = operation.number;
      break;
    case OperationKind::kColumn:
    case OperationKind::kPart:
      out["place"] = static_cast<int>(operation.number);
      break;
    default:
      break;
  }
}

Json operation_json(const Operation& operation) {
  Json out{{"name", operation.name},
           {"op", operation_name(operation)},
           {"inputs", operation.inputs},
           {"arrays", operation.arrays},
           {"shape", operation.shape}};
  add_settings(operation, out);
  return out;
}

}  // namespace

Json graph_json(const PolicyGraph& graph) {
  Json about = Json::object();
  for (const auto& [key, value] : graph.about) about[key] = value;
  Json operations = Json::array(), outputs = Json::array();
  for (const Operation& operation : graph.operations) {
    operations.push_back(operation_json(operation));
  }
  for (const std::string& name : graph.outputs) {
    const Operation& operation = graph.operation(name);
    outputs.push_back({{"name", name},
                       {"dtype", output_dtype(operation)},
                       {"shape", operation.shape},
                       {"has_rows", operation.kind != OperationKind::kConstant}});
  }
  Json out{{"about", about},
           {"input",
            {{"name", kObservationName},
             {"dtype", dtype_name(graph.observation_dtype)},
             {"shape", graph.observation_shape}}},
           {"operations", operations},
           {"outputs", outputs}};
  if (!graph.groups.empty()) {
    Json groups = Json::array();
    for (const GroupInput& input : graph.groups) {
      groups.push_back({{"name", input.name},
                        {"group", input.group.name},
                        {"dtype", dtype_name(input.group.dtype)},
                        {"shape", input.shape()}});
    }
    out["input"] = {{"groups", groups}};
  }
  if (graph.mask_size > 0) {
    out["mask"] = {
        {"name", kMaskName}, {"dtype", "bool"}, {"shape", std::vector<int>{graph.mask_size}}};
  }
  if (graph.state_size > 0) {
    out["state"] = {
        {"name", kStateName}, {"dtype", "float32"}, {"shape", std::vector<int>{graph.state_size}}};
  }
  return out;
}

Result<std::string> numpy_policy(const PolicyGraph& graph) {
  const std::string json = graph_json(graph).dump();
  std::vector<NpyArray> arrays{{"policy", "|u1", {static_cast<int>(json.size())}, json}};
  for (const NamedArray& array : graph.arrays) {
    arrays.push_back({array.name, "<f4", array.shape, bytes_of(array.numbers)});
  }
  return npz_file(arrays);
}

}  // namespace broadloom
