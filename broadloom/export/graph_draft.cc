#include "broadloom/export/graph_draft.h"

#include <fmt/core.h>

#include <numeric>
#include <utility>

namespace broadloom {

std::vector<std::size_t> row_indices(const GraphValue& value) {
  std::vector<std::size_t> out(static_cast<std::size_t>(row_size(value.shape)));
  std::iota(out.begin(), out.end(), std::size_t{0});
  if (!value.is_image()) return out;
  const auto channels = static_cast<std::size_t>(value.shape[0]);
  const std::size_t pixels = out.size() / channels;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i % pixels * channels + i / pixels;
  return out;
}

GraphValue GraphDraft::add(const Operation& operation) {
  graph.operations.push_back(operation);
  return {operation.name, operation.shape};
}

std::string GraphDraft::keep(std::string name, std::vector<int> shape, std::vector<float> numbers) {
  graph.arrays.push_back({name, std::move(shape), std::move(numbers)});
  return name;
}

std::string GraphDraft::keep_params(std::string name, std::vector<int> shape, std::size_t offset) {
  const float* params = policy.params + offset;
  std::vector<float> numbers(params, params + row_size(shape));
  return keep(std::move(name), std::move(shape), std::move(numbers));
}

std::string GraphDraft::numbered(const std::string& name) {
  return fmt::format("{}{}", name, ++counts_[name]);
}

GraphValue GraphDraft::row(const GraphValue& x, const std::string& side) {
  if (x.shape.size() == 1) return x;
  return add({OperationKind::kReshape, side + ".row", {x.name}, {row_size(x.shape)}});
}

GraphValue GraphDraft::permuted(const std::string& name, const GraphValue& x,
                                const std::vector<int>& axes) {
  Operation permute{OperationKind::kPermute, name, {x.name}};
  for (std::size_t i = 1; i < axes.size(); ++i) {
    permute.shape.push_back(x.shape[static_cast<std::size_t>(axes[i]) - 1]);
  }
  permute.axes = axes;
  return add(permute);
}

GraphValue GraphDraft::planes(GraphValue x, const RowShape& image, const std::string& prefix) {
  const std::vector<int> pixels{image.height, image.width, image.channels};
  if (x.shape != pixels) {
    x = add({OperationKind::kReshape, prefix + ".image", {x.name}, pixels});
  }
  return permuted(prefix + ".planes", x, {0, 3, 1, 2});
}

GraphValue GraphDraft::shifted(const std::string& name, const GraphValue& index,
                               std::int64_t offset) {
  if (offset == 0) return index;
  Operation shift{OperationKind::kShift, name, {index.name}};
  shift.number = static_cast<double>(offset);
  return add(shift);
}

GraphValue GraphDraft::linear(const std::string& name, const std::string& layer,
                              const LinearSlice& slice, const GraphValue& input) {
  const std::vector<std::size_t> columns = row_indices(input);
  const int width = static_cast<int>(columns.size());
  std::vector<float> weight, bias;
  for (int o = 0; o < slice.out; ++o) {
    for (const std::size_t i : columns) {
      weight.push_back(policy.params[slice.at(static_cast<int>(i), o)]);
    }
    double constant = policy.params[slice.bias + static_cast<std::size_t>(o)];
    for (int i = width; i < slice.in; ++i) {
      constant += static_cast<double>(policy.params[slice.at(i, o)]) *
                  vector[static_cast<std::size_t>(i - width)];
    }
    bias.push_back(static_cast<float>(constant));
  }
  const GraphValue x = row(input, layer);
  Operation operation{OperationKind::kLinear, name, {x.name}, {slice.out}, layer};
  operation.arrays = {keep(layer + ".weight", {slice.out, width}, std::move(weight)),
                      keep(layer + ".bias", {slice.out}, std::move(bias))};
  return add(operation);
}

}  // namespace broadloom
