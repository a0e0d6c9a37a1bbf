// A policy as a plain list of operations, from what the environment shows to the action: what every
// exported file is written from. Layouts are those that PyTorch and ONNX have.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {

// docs/formats/export.md has the formula of each.
enum class OperationKind {
  kShift,        // of an index: with the whole number `number` added
  kOneHot,       // of an index
  kDivide,       // by `number`, in float32
  kNormalise,    // arrays mean, mean_rest and scale, limit `number`
  kReshape,      // a row, to `shape`
  kPermute,      // by `axes`, of which 0 are the rows
  kLinear,       // weight [out, in], bias [out]
  kConvolution,  // of [channels, height, width]; weight [filters, channels, kernel, kernel]
  kLayerNorm,    // over the last axes, those of weight and bias; epsilon `number`
  kMaxPool,      // of [channels, height, width]
  kActivation,
  kAdd,       // its two inputs
  kClip,      // arrays low and high
  kArgmax,    // the first place of the largest
  kLargest,   // the largest
  kColumn,    // the number at place `number`
  kConstant,  // the array itself, which has no rows
};

// Row-major.
struct NamedArray {
  std::string name;
  std::vector<int> shape;
  std::vector<float> numbers;
};

struct Operation {
  OperationKind kind = OperationKind::kReshape;
  std::string name;                 // of the value that it gives
  std::vector<std::string> inputs;  // values: kObservationName, or of operations before it
  std::vector<int> shape = {};      // of a row of its value; {}: a number
  std::string layer = {};           // kLinear, kConvolution, kLayerNorm: what its arrays begin with
  std::vector<std::string> arrays = {};
  int kernel = 1, stride = 1, padding = 0;  // kConvolution, kMaxPool
  std::vector<int> axes = {};
  double number = 0.0;
  Activation activation = Activation::kTanh;
};

inline constexpr char kObservationName[] = "observation";

struct PolicyGraph {
  Dtype observation_dtype = Dtype::kF32;  // kU8; kI64 of an index
  std::vector<int> observation_shape;     // of a row; {}: an index
  std::vector<Operation> operations;      // each after those that it reads
  std::vector<NamedArray> arrays;         // in the order of the operations that read them
  std::vector<std::string> outputs;       // operations that a user asks for, the action first
  // What it is: env_id, run, ... in words, for whoever finds the file later.
  std::vector<std::pair<std::string, std::string>> about;

  // Of names that are there.
  const Operation& operation(std::string_view name) const;
  const NamedArray& array(std::string_view name) const;
};

// Parameters and statistics are copied. with_value: with what the critic makes of the observation,
// where it reads no other one than the policy does.
PolicyGraph policy_graph(const Policy& policy, bool with_value = true);

// "linear", "tanh", ...: an activation has the name of its function.
const char* operation_name(const Operation& operation);
bool is_index(const Operation& operation);  // what it gives is int64
// As NumPy and PyTorch name it: of an output, and of the observation.
const char* output_dtype(const Operation& operation);
const char* dtype_name(Dtype dtype);
// With the shape, N being the rows: "float32 [N, 4]".
std::string output_text(const Operation& operation);
std::string observation_text(const PolicyGraph& graph);

// Numbers in a row of that shape.
int row_size(const std::vector<int>& shape);

}  // namespace broadloom
