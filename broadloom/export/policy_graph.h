// A policy as a plain list of operations from observation to action, from which all exported files
// are written. Layouts are those of PyTorch and ONNX.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/evaluate/policy.h"
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

inline constexpr char kObservationName[] = "observation";
inline constexpr char kMaskName[] = "action_mask";
inline constexpr char kStateName[] = "state", kNextStateName[] = "next_state";

// An input for a group of the observation: "observation.image".
struct GroupInput {
  std::string name;
  ObservationGroup group;

  std::vector<int> shape() const {  // of a row; {}: an index
    return group.dtype == Dtype::kI64 ? std::vector<int>{} : group.shape;
  }
};

// An input's share of rows [rows, width] of all groups, as the environment gives them.
std::vector<double> numbers_of(const GroupInput& input, const std::vector<double>& rows,
                               std::size_t width);

struct PolicyGraph {
  Dtype observation_dtype = Dtype::kF32;  // or kU8; kI64: an index
  std::vector<int> observation_shape;     // of a row; {}: an index
  // How a simulator of Python gives the observation, for modules of PyTorch: keys of a Dict, whose
  // numbers the input has one after the other; images with their channels first; single numbers.
  std::vector<std::string> observation_keys;
  bool channels_first = false, is_scalar = false;
  // If the observation is a dictionary, the groups that are read, each an input in place of
  // kObservationName; observation_shape is then that of all groups together.
  std::vector<GroupInput> groups;
  int mask_size = 0;  // of the input kMaskName, bool; 0: there is none
  // Numbers of the input kStateName, of a recurrent policy: the output kNextStateName of the step
  // before, or zeros at the first step of an episode. 0: there is none.
  int state_size = 0;
  std::vector<Operation> operations;  // each after those that it reads
  std::vector<NamedArray> arrays;     // in the order in which operations read them
  std::vector<std::string> outputs;   // operations for the user, the action first
  // Its origin in words: env_id, run, ...
  std::vector<std::pair<std::string, std::string>> about;

  // Find an existing name.
  const Operation& operation(std::string_view name) const;
  const NamedArray& array(std::string_view name) const;
};

// Copies parameters and statistics of a policy. with_value: also the critic's values, unless the
// critic has observations of its own. Without them, states are those of the policy alone.
PolicyGraph policy_graph(const Policy& policy, bool with_value = true);
// The first choice of each number of an action as its environment counts, in the order of rows; {}
// if all count from 0.
std::vector<std::int64_t> first_choices(const Space& action);
// The groups of a policy's observation that are stacks, with their numbers of frames; "": none.
// With the colon ":" and the comma ",": "image:4,turn:2".
std::string stacks_text(const Policy& policy, const char* colon, const char* comma);

// "linear", "tanh", ...: an activation is named after its function.
const char* operation_name(const Operation& operation);
bool is_index(const Operation& operation);  // whether its value is int64
// The dtype's name in NumPy and PyTorch: of an output, and of an observation.
const char* output_dtype(const Operation& operation);
const char* dtype_name(Dtype dtype);
// Dtype and shape, where N is the number of rows: "float32 [N, 4]".
std::string output_text(const Operation& operation);
std::string observation_text(const PolicyGraph& graph);
std::string input_text(Dtype dtype, const std::vector<int>& shape);  // of an input's rows
std::string state_text(const PolicyGraph& graph);  // of the state before a step, and its source

// Text from elsewhere, without characters that would end a string or comment of a source file.
std::string printable_text(std::string text);

// Number of elements in a row of that shape.
int row_size(const std::vector<int>& shape);

}  // namespace broadloom
