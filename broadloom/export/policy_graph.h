// A policy as a plain list of operations from observation to action, from which all exported files
// are written. Layouts are those of PyTorch and ONNX.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/evaluate/policy.h"
#include "broadloom/export/operation.h"

namespace broadloom {

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
// The groups of a policy's observation that are stacks, with their numbers of frames; "": none.
// With the colon ":" and the comma ",": "image:4,turn:2".
std::string stacks_text(const Policy& policy, const char* colon, const char* comma);

std::string observation_text(const PolicyGraph& graph);
std::string state_text(const PolicyGraph& graph);  // of the state before a step, and its source

// Text from elsewhere, without characters that would end a string or comment of a source file.
std::string printable_text(std::string text);

}  // namespace broadloom
