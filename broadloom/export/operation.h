// An operation of an exported policy, and its names in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {

// docs/formats/export.md has the formulas.
enum class OperationKind {
  kShift,        // adds the whole number `number`, or one of `shifts` to each number, to an index
  kOneHot,       // of an index
  kDivide,       // by `number`, in float32
  kNormalise,    // arrays mean, mean_rest and scale, limit `number`
  kReshape,      // a row to `shape`
  kPermute,      // by `axes`; axis 0 is the rows
  kLinear,       // weight [out, in], bias [out]
  kConvolution,  // of [channels, height, width]; weight [filters, channels, kernel, kernel]
  kLayerNorm,    // over the axes of weight and bias, which are last; epsilon `number`
  kMaxPool,      // of [channels, height, width]
  kActivation,
  kAdd,       // of its two inputs
  kMask,      // its first input, and `number` where its second one is false
  kClip,      // arrays low and high
  kArgmax,    // index of the largest number, or of the largest in each part of `heads` numbers
  kFloat,     // indices as float32
  kLargest,   // largest number
  kColumn,    // number at index `number`
  kConstant,  // an array without rows
  kNoise,     // array variances [A, L]: log(sqrt(sum of x^2 variance + `number`))
  kBetaMean,  // of Beta(1 + softplus(x), 1 + softplus(y)), moved from [0, 1] to [-1, 1]
  kPart,      // numbers from index `number` on, as many as its shape says
  kJoin,      // its inputs, side by side
  // Units of recurrent cells (math/min_gru.h, math/gated_units.h).
  kMinGru,   // new h, of sums and the last h
  kHighway,  // output of a MinGRU, of sums, new h and x
  kGru,      // new h, of sums, state sums and the last h
  kLstm,     // new h and c, of sums, state sums and the last c
};

// Row-major.
struct NamedArray {
  std::string name;
  std::vector<int> shape;
  std::vector<float> numbers;
};

struct Operation {
  OperationKind kind = OperationKind::kReshape;
  std::string name;                 // of its value
  std::vector<std::string> inputs;  // values: of the inputs, or of earlier operations
  std::vector<int> shape = {};      // of a row of its value; {}: one number
  std::string layer = {};           // kLinear, kConvolution, kLayerNorm: prefix of its arrays
  std::vector<std::string> arrays = {};
  int kernel = 1, stride = 1, padding = 0;  // kConvolution, kMaxPool
  std::vector<int> axes = {};
  std::vector<int> heads = {};            // kArgmax: sizes of the parts; {}: one part
  std::vector<std::int64_t> shifts = {};  // kShift; {}: `number`
  double number = 0.0;
  Activation activation = Activation::kTanh;
};

// "linear", "tanh", ...: an activation is named after its function.
const char* operation_name(const Operation& operation);
bool is_index(const Operation& operation);  // whether its value is int64
// The dtype's name in NumPy and PyTorch: of an output, and of an observation.
const char* output_dtype(const Operation& operation);
const char* dtype_name(Dtype dtype);
// Dtype and shape, where N is the number of rows: "float32 [N, 4]".
std::string output_text(const Operation& operation);
std::string input_text(Dtype dtype, const std::vector<int>& shape);  // of an input's rows

// Number of elements in a row of that shape.
int row_size(const std::vector<int>& shape);

}  // namespace broadloom
