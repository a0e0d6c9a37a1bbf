#include "broadloom/export/torch_module.h"

#include <fmt/format.h>

#include <algorithm>

#include "broadloom/record/json.h"

namespace broadloom {
namespace {

constexpr char kHead[] = R"(
import json
import pathlib

import torch
import torch.nn.functional as F
from torch import nn


)";

constexpr char kMinGruText[] = R"(def min_gru(sums, last):
    a, g, _ = sums.chunk(3, 1)
    return last + torch.sigmoid(g) * (torch.maximum(a + 0.5, torch.sigmoid(a)) - last)


def highway(sums, state, x):
    return x + torch.sigmoid(sums.chunk(3, 1)[2]) * (state - x)


)";

constexpr char kGruText[] = R"(def gru(sums, state_sums, last):
    (r, z, n), (last_r, last_z, last_n) = sums.chunk(3, 1), state_sums.chunk(3, 1)
    fresh = torch.tanh(n + torch.sigmoid(r + last_r) * last_n)
    return fresh + torch.sigmoid(z + last_z) * (last - fresh)


)";

constexpr char kLstmText[] = R"(def lstm(sums, state_sums, last_c):
    i, f, g, o = (sums + state_sums).chunk(4, 1)
    c = torch.sigmoid(f) * last_c + torch.sigmoid(i) * torch.tanh(g)
    return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], 1)


)";

constexpr char kLoad[] = R"(

def load(path=pathlib.Path(__file__).with_suffix(".safetensors")):
    """The policy with its parameters, which lie beside this file, ready to act."""
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    state = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            state[name] = torch.frombuffer(bytearray(data[start + begin:start + end]), dtype=torch.float32).reshape(entry["shape"])
    policy = Policy()
    policy.load_state_dict(state)
    return policy.eval()
)";

constexpr char kAsFloat[] = ".to(torch.float32)";

std::string tuple_of(const std::vector<int>& numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

// Splits "actor.linear1" at the point.
std::pair<std::string, std::string> side_and_layer(const std::string& name) {
  const std::size_t point = name.find('.');
  return {name.substr(0, point), name.substr(point + 1)};
}

std::string variable(std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return value;
}

class ModuleText {
 public:
  explicit ModuleText(const PolicyGraph& graph) : graph_(graph) {}

  std::string write() {
    text_ = "\"\"\"" + description() + "\"\"\"\n";
    text_ += kHead;
    text_ += unit_text();
    line(0, "class Policy(nn.Module):");
    line(1, "def __init__(self):");
    line(2, "super().__init__()");
    modules();
    buffers();
    line(0, "");
    forward();
    return text_ + kLoad;
  }

 private:
  std::string description() const {
    std::string out = "A policy that Broadloom trained. Needs torch alone.\n\n";
    out += "    policy = load()\n";
    out += fmt::format("    policy({})[\"{}\"]\n\n", inputs(), graph_.outputs.front());
    out += fmt::format("observation: {}, as the environment shows it\n", observation_text(graph_));
    if (graph_.mask_size > 0) {
      out += fmt::format("{}: bool [N, {}], true for valid actions\n", kMaskName, graph_.mask_size);
    }
    if (graph_.state_size > 0) {
      out += fmt::format("{}: {}; None is zeros\n", kStateName, state_text(graph_));
    }
    for (const auto& [key, value] : graph_.about) {
      if (!value.empty() && key != "observation") {
        out += fmt::format("{}: {}\n", key, printable_text(value));
      }
    }
    return out;
  }

  std::string inputs() const {
    std::string out = kObservationName;
    if (graph_.mask_size > 0) out += fmt::format(", {}", kMaskName);
    if (graph_.state_size > 0) out += fmt::format(", {}", kStateName);
    return out;
  }

  // The functions of a recurrent cell's units.
  std::string unit_text() const {
    for (const Operation& operation : graph_.operations) {
      if (operation.kind == OperationKind::kMinGru) return kMinGruText;
      if (operation.kind == OperationKind::kGru) return kGruText;
      if (operation.kind == OperationKind::kLstm) return kLstmText;
    }
    return {};
  }

  void modules() {
    std::string open;
    for (const Operation& operation : graph_.operations) {
      if (operation.layer.empty()) continue;
      const auto [side, layer] = side_and_layer(operation.layer);
      if (side != open) {
        if (!open.empty()) line(2, "})");
        line(2, fmt::format("self.{} = nn.ModuleDict({{", side));
        open = side;
      }
      line(3, fmt::format("\"{}\": {},", layer, layer_text(operation)));
    }
    line(2, "})");
  }

  std::string layer_text(const Operation& operation) const {
    const std::vector<int>& weight = graph_.array(operation.arrays[0]).shape;
    if (operation.kind == OperationKind::kLinear) {
      return fmt::format("nn.Linear({}, {})", weight[1], weight[0]);
    }
    if (operation.kind == OperationKind::kConvolution) {
      return fmt::format("nn.Conv2d({}, {}, {}, stride={}, padding={})", weight[1], weight[0],
                         operation.kernel, operation.stride, operation.padding);
    }
    return fmt::format("nn.LayerNorm({}, eps={})", tuple_of(weight), operation.number);
  }

  // Arrays outside layers: log_std is a parameter, the others are buffers.
  void buffers() {
    for (const Operation& operation : graph_.operations) {
      if (!operation.layer.empty()) continue;
      for (const std::string& name : operation.arrays) {
        const std::string zeros =
            fmt::format("torch.zeros({})", fmt::join(graph_.array(name).shape, ", "));
        if (operation.kind == OperationKind::kConstant) {
          line(2, fmt::format("self.{} = nn.Parameter({})", name, zeros));
        } else {
          line(2, fmt::format("self.register_buffer(\"{}\", {})", name, zeros));
        }
      }
    }
  }

  void forward() {
    std::vector<std::string> outputs, pairs;
    for (const std::string& name : graph_.outputs) {
      outputs.push_back(name + ": " + output_text(graph_.operation(name)));
      pairs.push_back(fmt::format("\"{0}\": {0}", name));
    }
    line(1,
         fmt::format("def forward(self, {}{}):", inputs(), graph_.state_size > 0 ? "=None" : ""));
    line(2, fmt::format("\"\"\"{} -> {{{}}}\"\"\"", observation_text(graph_),
                        fmt::join(outputs, ", ")));
    if (graph_.groups.empty()) observation();
    if (graph_.state_size > 0) {
      line(2, fmt::format("if {} is None:", kStateName));
      const std::string first = graph_.groups.empty() ? kObservationName
                                                      : fmt::format("{}[\"{}\"]", kObservationName,
                                                                    graph_.groups[0].group.name);
      line(3, fmt::format("{} = torch.zeros(len({}), {}, device={}.device)", kStateName, first,
                          graph_.state_size, first));
    }
    for (const GroupInput& input : graph_.groups) {
      const bool is_float = input.group.dtype == Dtype::kF32;
      const bool is_number = is_float && input.group.shape == std::vector{1};
      line(2, fmt::format("{} = {}[\"{}\"]{}{}", variable(input.name), kObservationName,
                          input.group.name, is_float ? kAsFloat : "",
                          is_number ? ".reshape(-1, 1)" : ""));
    }
    for (const Operation& operation : graph_.operations) {
      line(2, fmt::format("{} = {}", variable(operation.name), expression(operation)));
    }
    line(2, fmt::format("return {{{}}}", fmt::join(pairs, ", ")));
  }

  // Makes the input what operations read: the environment may give other forms and dtypes.
  void observation() {
    const std::vector<std::string>& keys = graph_.observation_keys;
    if (!keys.empty()) {
      std::vector<std::string> parts;
      parts.reserve(keys.size());
      for (const std::string& key : keys) {
        parts.push_back(fmt::format("{}[{}]", kObservationName, Json(key).dump()));
      }
      line(2, fmt::format("if isinstance({}, dict):", kObservationName));
      line(3, parts.size() == 1 ? fmt::format("{} = {}", kObservationName, parts[0])
                                : fmt::format("{} = torch.cat([{}], 1)", kObservationName,
                                              fmt::join(parts, ", ")));
    }
    const std::vector<int>& shape = graph_.observation_shape;
    if (graph_.channels_first && shape.size() == 3) {
      line(2, fmt::format("if {}.shape[1:] == ({}, {}, {}):", kObservationName, shape[2], shape[0],
                          shape[1]));
      line(3, fmt::format("{0} = {0}.movedim(1, -1)", kObservationName));
    }
    if (graph_.is_scalar) line(2, fmt::format("{0} = {0}.reshape(-1, 1)", kObservationName));
    if (graph_.observation_dtype == Dtype::kF32)
      line(2, fmt::format("{0} = {0}{1}", kObservationName, kAsFloat));
  }

  static std::string expression(const Operation& operation) {
    const std::string x = operation.inputs.empty() ? "" : variable(operation.inputs.front());
    const std::vector<std::string>& arrays = operation.arrays;
    switch (operation.kind) {
      case OperationKind::kShift:
        if (operation.shifts.empty())
          return fmt::format("{} + {}", x, static_cast<std::int64_t>(operation.number));
        return fmt::format("{0} + torch.tensor([{1}], device={0}.device)", x,
                           fmt::join(operation.shifts, ", "));
      case OperationKind::kOneHot:
        return fmt::format("F.one_hot({}.long(), {}).to(torch.float32)", x, operation.shape[0]);
      case OperationKind::kDivide:
        return fmt::format("{}.to(torch.float32) / {:.1f}", x, operation.number);
      case OperationKind::kNormalise:
        return fmt::format("torch.clamp(({} - self.{} - self.{}) * self.{}, -{}, {})", x, arrays[0],
                           arrays[1], arrays[2], operation.number, operation.number);
      case OperationKind::kReshape:
        return operation.shape.size() == 1
                   ? fmt::format("{}.flatten(1)", x)
                   : fmt::format("{}.reshape(-1, {})", x, fmt::join(operation.shape, ", "));
      case OperationKind::kPermute:
        return fmt::format("{}.permute({})", x, fmt::join(operation.axes, ", "));
      case OperationKind::kLinear:
      case OperationKind::kConvolution:
      case OperationKind::kLayerNorm: {
        const auto [side, layer] = side_and_layer(operation.layer);
        return fmt::format("self.{}[\"{}\"]({})", side, layer, x);
      }
      case OperationKind::kMaxPool:
        return fmt::format("F.max_pool2d({}, {}, stride={}, padding={})", x, operation.kernel,
                           operation.stride, operation.padding);
      case OperationKind::kActivation:
        return fmt::format("F.{}({})", operation_name(operation), x);
      case OperationKind::kAdd:
        return fmt::format("{} + {}", x, variable(operation.inputs[1]));
      case OperationKind::kMask:
        return fmt::format("torch.where({}.bool(), {}, {:.1e})", operation.inputs[1], x,
                           operation.number);
      case OperationKind::kClip:
        return fmt::format("torch.clamp({}, self.{}, self.{})", x, arrays[0], arrays[1]);
      case OperationKind::kArgmax:
        if (operation.heads.empty()) return fmt::format("{}.argmax(dim=1)", x);
        return fmt::format("torch.stack([part.argmax(dim=1) for part in {}.split([{}], 1)], 1)", x,
                           fmt::join(operation.heads, ", "));
      case OperationKind::kLargest:
        return fmt::format("{}.amax(dim=1)", x);
      case OperationKind::kColumn:
        return fmt::format("{}[:, {}]", x, static_cast<int>(operation.number));
      case OperationKind::kConstant:
        return fmt::format("self.{}", arrays[0]);
      case OperationKind::kBetaMean: {
        const std::string other = variable(operation.inputs[1]);
        return fmt::format(
            "(F.softplus({0}) - F.softplus({1})) / (F.softplus({0}) + F.softplus({1}) + 2.0)", x,
            other);
      }
      case OperationKind::kNoise:
        return fmt::format("0.5 * torch.log(F.linear({} * {}, self.{}) + {})", x, x, arrays[0],
                           operation.number);
      case OperationKind::kFloat:
        return fmt::format("{}.to(torch.float32)", x);
      case OperationKind::kPart: {
        const int begin = static_cast<int>(operation.number);
        return fmt::format("{}[:, {}:{}]", x, begin, begin + operation.shape[0]);
      }
      case OperationKind::kJoin:
        return fmt::format("torch.cat([{}], 1)", variables(operation.inputs));
      case OperationKind::kMinGru:
      case OperationKind::kHighway:
      case OperationKind::kGru:
      case OperationKind::kLstm:
        return fmt::format("{}({})", operation_name(operation), variables(operation.inputs));
    }
    return {};
  }

  static std::string variables(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + variable(name);
    return out;
  }

  void line(int indent, const std::string& words) {
    if (!words.empty()) text_.append(4 * static_cast<std::size_t>(indent), ' ');
    text_ += words + "\n";
  }

  const PolicyGraph& graph_;
  std::string text_;
};

}  // namespace

std::string torch_module(const PolicyGraph& graph) { return ModuleText(graph).write(); }

std::vector<TensorRef> state_dict(PolicyGraph& graph) {
  std::vector<TensorRef> out;
  for (NamedArray& array : graph.arrays) {
    out.push_back(
        {array.name, Dtype::kF32, {array.shape.begin(), array.shape.end()}, array.numbers.data()});
  }
  return out;
}

}  // namespace broadloom
