#include "broadloom/export/operation.h"

#include <fmt/core.h>

#include <functional>
#include <numeric>

namespace broadloom {
namespace {

std::string extents_text(bool has_rows, const std::vector<int>& row) {
  std::string out = has_rows ? "N" : "";
  for (const int extent : row) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return out;
}

}  // namespace

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

std::string input_text(Dtype dtype, const std::vector<int>& shape) {
  return fmt::format("{} [{}]", dtype_name(dtype), extents_text(true, shape));
}

int row_size(const std::vector<int>& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
}

}  // namespace broadloom
