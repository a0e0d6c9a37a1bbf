#include "broadloom/export/onnx_model.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "broadloom/export/protobuf.h"
#include "broadloom/record/manifest.h"

namespace broadloom {
namespace {

// Numbers of fields and enums in onnx.proto3.
namespace model {
enum { kIrVersion = 1, kProducerName, kProducerVersion, kGraph = 7, kOpsetImport, kMetadata = 14 };
}
namespace graph_proto {
enum { kNode = 1, kName, kInitializer = 5, kInput = 11, kOutput };
}
namespace node_proto {
enum { kInput = 1, kOutput, kName, kOpType, kAttribute };
}
namespace attribute {
enum { kName = 1, kFloat, kInt, kInts = 8, kType = 20 };
enum Type { kIsFloat = 1, kIsInt, kIsInts = 7 };
}  // namespace attribute
namespace tensor {
enum { kDims = 1, kDataType, kName = 8, kRawData };
}
enum ElementType : std::int64_t { kFloat32 = 1, kUint8 = 2, kInt64 = 7, kBool = 9 };

constexpr std::int64_t kIrVersion = 8;
constexpr char kRows[] = "N";
// An initializer must not have the name of a node's output, which a constant would share.
constexpr char kConstantSuffix[] = ".value";

static_assert(std::endian::native == std::endian::little, "raw_data is little endian");

template <class Number>
ProtoMessage tensor_of(const std::string& name, const std::vector<int>& shape,
                       std::span<const Number> numbers) {
  ProtoMessage out;
  for (const int extent : shape) out.add(tensor::kDims, std::int64_t{extent});
  out.add(tensor::kDataType, std::int64_t{sizeof(Number) == 4 ? kFloat32 : kInt64});
  out.add(tensor::kName, name);
  out.add(tensor::kRawData,
          std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()));
  return out;
}

class Attributes {
 public:
  Attributes& add(const char* name, std::int64_t value) {
    return add(name, attribute::kIsInt, ProtoMessage().add(attribute::kInt, value));
  }
  Attributes& add(const char* name, double value) {
    return add(name, attribute::kIsFloat,
               ProtoMessage().add(attribute::kFloat, static_cast<float>(value)));
  }
  Attributes& add(const char* name, const std::vector<int>& values) {
    ProtoMessage ints;
    for (const int value : values) ints.add(attribute::kInts, std::int64_t{value});
    return add(name, attribute::kIsInts, ints);
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  // Fields of a message may come in any order.
  Attributes& add(const char* name, attribute::Type type, const ProtoMessage& value) {
    ProtoMessage message;
    message.add(attribute::kName, std::string_view(name));
    message.add(attribute::kType, std::int64_t{type});
    all_.push_back(message.bytes() + value.bytes());
    return *this;
  }

  std::vector<std::string> all_;
};

class ModelWriter {
 public:
  explicit ModelWriter(const PolicyGraph& policy) : policy_(policy) {}

  ProtoMessage write() {
    graph_.add(graph_proto::kName, std::string_view("policy"));
    for (const Operation& operation : policy_.operations) {
      for (const std::string& name : operation.arrays) keep(operation, policy_.array(name));
      write(operation);
    }
    for (const GroupInput& input : policy_.groups) {
      graph_.add(graph_proto::kInput,
                 value_info(input.name, element_type(input.group.dtype), input.shape(), true));
    }
    if (policy_.groups.empty()) {
      graph_.add(graph_proto::kInput,
                 value_info(kObservationName, element_type(policy_.observation_dtype),
                            policy_.observation_shape, true));
    }
    if (policy_.mask_size > 0) {
      graph_.add(graph_proto::kInput, value_info(kMaskName, kBool, {policy_.mask_size}, true));
    }
    if (policy_.state_size > 0) {
      graph_.add(graph_proto::kInput, value_info(kStateName, kFloat32, {policy_.state_size}, true));
    }
    for (const std::string& name : policy_.outputs) {
      const Operation& operation = policy_.operation(name);
      graph_.add(graph_proto::kOutput,
                 value_info(name, is_index(operation) ? kInt64 : kFloat32, operation.shape,
                            operation.kind != OperationKind::kConstant));
    }
    return whole();
  }

 private:
  ProtoMessage whole() const {
    ProtoMessage out;
    out.add(model::kIrVersion, kIrVersion);
    out.add(model::kProducerName, std::string_view("Broadloom"));
    out.add(model::kProducerVersion, version_text());
    out.add(model::kGraph, graph_);
    out.add(model::kOpsetImport,
            ProtoMessage().add(1, std::string_view("")).add(2, std::int64_t{kOnnxOpset}));
    for (const auto& [key, value] : policy_.about) {
      out.add(model::kMetadata, ProtoMessage().add(1, key).add(2, value));
    }
    return out;
  }

  static ElementType element_type(Dtype dtype) {
    if (dtype == Dtype::kU8) return kUint8;
    return dtype == Dtype::kI64 ? kInt64 : kFloat32;
  }

  static ProtoMessage value_info(const std::string& name, ElementType type,
                                 const std::vector<int>& row, bool has_rows) {
    ProtoMessage shape;
    if (has_rows) shape.add(1, ProtoMessage().add(2, std::string_view(kRows)));
    for (const int extent : row) shape.add(1, ProtoMessage().add(1, std::int64_t{extent}));
    const ProtoMessage tensor_type = ProtoMessage().add(1, std::int64_t{type}).add(2, shape);
    return ProtoMessage().add(1, name).add(2, ProtoMessage().add(1, tensor_type));
  }

  void write(const Operation& operation) {
    const std::string& x = operation.inputs.empty() ? operation.name : operation.inputs.front();
    const std::vector<std::string>& arrays = operation.arrays;
    const std::vector<int> pads(4, operation.padding), strides(2, operation.stride),
        kernel(2, operation.kernel);
    const auto whole_window = [&] {
      return Attributes().add("kernel_shape", kernel).add("strides", strides).add("pads", pads);
    };
    const auto out = [&](const char* type, const std::vector<std::string>& inputs,
                         const Attributes& attributes = {}) {
      node(type, inputs, operation.name, attributes);
    };
    switch (operation.kind) {
      case OperationKind::kShift:
        out("Add", {x, operation.shifts.empty()
                           ? number(operation, "by", static_cast<std::int64_t>(operation.number))
                           : list(operation, "by", operation.shifts)});
        break;
      case OperationKind::kOneHot:
        out("OneHot",
            {x, list(operation, "depth", std::vector<std::int64_t>{operation.shape[0]}),
             list(operation, "off_and_on", std::vector{0.0f, 1.0f})},
            Attributes().add("axis", std::int64_t{-1}));
        break;
      case OperationKind::kDivide:
        out("Div", {as_float(operation, x), number(operation, "divisor", as_number(operation))});
        break;
      case OperationKind::kNormalise:
        normalise(operation, x);
        break;
      case OperationKind::kReshape: {
        std::vector<std::int64_t> shape{-1};
        shape.insert(shape.end(), operation.shape.begin(), operation.shape.end());
        out("Reshape", {x, list(operation, "shape", shape)});
        break;
      }
      case OperationKind::kPermute:
        out("Transpose", {x}, Attributes().add("perm", operation.axes));
        break;
      case OperationKind::kLinear:
        out("Gemm", {x, arrays[0], arrays[1]}, Attributes().add("transB", std::int64_t{1}));
        break;
      case OperationKind::kConvolution:
        out("Conv", {x, arrays[0], arrays[1]}, whole_window());
        break;
      case OperationKind::kLayerNorm: {
        const auto axes = static_cast<std::int64_t>(policy_.array(arrays[0]).shape.size());
        out("LayerNormalization", {x, arrays[0], arrays[1]},
            Attributes().add("axis", -axes).add("epsilon", operation.number));
        break;
      }
      case OperationKind::kMaxPool:
        out("MaxPool", {x}, whole_window());
        break;
      case OperationKind::kActivation:
        out(operation.activation == Activation::kTanh   ? "Tanh"
            : operation.activation == Activation::kRelu ? "Relu"
                                                        : "Elu",
            {x});
        break;
      case OperationKind::kAdd:
        out("Add", operation.inputs);
        break;
      case OperationKind::kMask:
        out("Where", {operation.inputs[1], x, number(operation, "invalid", as_number(operation))});
        break;
      case OperationKind::kClip:
        node("Max", {x, arrays[0]}, operation.name + ".above_low");
        out("Min", {operation.name + ".above_low", arrays[1]});
        break;
      case OperationKind::kArgmax:
        if (operation.heads.empty()) {
          out("ArgMax", {x},
              Attributes().add("axis", std::int64_t{1}).add("keepdims", std::int64_t{0}));
        } else {
          choose(operation, x);
        }
        break;
      case OperationKind::kLargest:
        out("ReduceMax", {x},
            Attributes().add("axes", std::vector{1}).add("keepdims", std::int64_t{0}));
        break;
      case OperationKind::kColumn:
        out("Gather", {x, number(operation, "place", static_cast<std::int64_t>(operation.number))},
            Attributes().add("axis", std::int64_t{1}));
        break;
      case OperationKind::kConstant:
        out("Identity", {arrays[0] + kConstantSuffix});
        break;
      case OperationKind::kBetaMean: {
        const std::string& name = operation.name;
        node("Softplus", {x}, name + ".alpha");
        node("Softplus", {operation.inputs[1]}, name + ".beta");
        node("Sub", {name + ".alpha", name + ".beta"}, name + ".difference");
        node("Add", {name + ".alpha", name + ".beta"}, name + ".sum");
        node("Add", {name + ".sum", number(operation, "two", 2.0f)}, name + ".whole");
        out("Div", {name + ".difference", name + ".whole"});
        break;
      }
      case OperationKind::kNoise: {
        const std::string& name = operation.name;
        node("Mul", {x, x}, name + ".squares");
        node("Gemm", {name + ".squares", arrays[0]}, name + ".variances",
             Attributes().add("transB", std::int64_t{1}));
        node(
            "Add",
            {name + ".variances", number(operation, "least", static_cast<float>(operation.number))},
            name + ".sums");
        node("Log", {name + ".sums"}, name + ".logs");
        out("Mul", {name + ".logs", number(operation, "half", 0.5f)});
        break;
      }
      case OperationKind::kFloat:
        out("Cast", {x}, Attributes().add("to", std::int64_t{kFloat32}));
        break;
      case OperationKind::kPart: {
        const auto begin = static_cast<std::int64_t>(operation.number);
        slice(operation, x, "", axis_of(operation), begin, begin + operation.shape[0],
              operation.name);
        break;
      }
      case OperationKind::kJoin:
        out("Concat", operation.inputs, Attributes().add("axis", std::int64_t{1}));
        break;
      case OperationKind::kMinGru:
      case OperationKind::kHighway:
      case OperationKind::kGru:
      case OperationKind::kLstm:
        units(operation);
        break;
    }
  }

  std::string axis_of(const Operation& operation) {
    return list(operation, "axis", std::vector<std::int64_t>{1});
  }
  void slice(const Operation& operation, const std::string& x, const std::string& part,
             const std::string& axis, std::int64_t begin, std::int64_t end,
             const std::string& name) {
    node("Slice",
         {x, list(operation, (part + "begin").c_str(), std::vector{begin}),
          list(operation, (part + "end").c_str(), std::vector{end}), axis},
         name);
  }

  // The units of a recurrent cell, node by node.
  void units(const Operation& operation) {
    const std::string& name = operation.name;
    const std::vector<std::string>& inputs = operation.inputs;
    const auto make = [&](const char* type, const std::vector<std::string>& read,
                          const std::string& what) {
      node(type, read, name + what);
      return name + what;
    };
    const std::string axis = axis_of(operation);
    // The parts of sums, [N, width] each.
    const auto parts = [&](const std::string& sums, int count) {
      const int width =
          operation.kind == OperationKind::kLstm ? operation.shape[0] / 2 : operation.shape[0];
      std::vector<std::string> out;
      for (int i = 0; i < count; ++i) {
        const std::string part = sums + std::to_string(i);
        out.push_back(name + "." + part);
        slice(operation, sums, part + ".", axis, std::int64_t{i} * width,
              std::int64_t{i + 1} * width, out.back());
      }
      return out;
    };
    const auto gate = [&](const std::string& sum, const std::string& what) {
      return make("Sigmoid", {sum}, what);
    };
    // a + gate (b - a)
    const auto mix = [&](const std::string& a, const std::string& b, const std::string& share) {
      make("Sub", {b, a}, ".difference");
      make("Mul", {share, name + ".difference"}, ".share");
      make("Add", {a, name + ".share"}, "");
    };
    if (operation.kind == OperationKind::kMinGru) {
      const std::vector<std::string> sums = parts(inputs[0], 2);
      const std::string raised = make("Add", {sums[0], number(operation, "half", 0.5f)}, ".raised");
      const std::string candidate = make("Max", {raised, gate(sums[0], ".low")}, ".candidate");
      mix(inputs[1], candidate, gate(sums[1], ".gate"));
    } else if (operation.kind == OperationKind::kHighway) {
      mix(inputs[2], inputs[1], gate(parts(inputs[0], 3)[2], ".gate"));
    } else if (operation.kind == OperationKind::kGru) {
      const std::vector<std::string> own = parts(inputs[0], 3), last = parts(inputs[1], 3);
      const std::string reset = gate(make("Add", {own[0], last[0]}, ".r_sum"), ".r");
      const std::string keep = gate(make("Add", {own[1], last[1]}, ".z_sum"), ".z");
      const std::string shown = make("Mul", {reset, last[2]}, ".shown");
      const std::string fresh = make("Tanh", {make("Add", {own[2], shown}, ".n_sum")}, ".n");
      mix(fresh, inputs[2], keep);
    } else {
      const std::vector<std::string> sums = parts(make("Add", {inputs[0], inputs[1]}, ".sums"), 4);
      const std::string kept = make("Mul", {gate(sums[1], ".f"), inputs[2]}, ".kept");
      const std::string fresh = make("Tanh", {sums[2]}, ".g");
      const std::string entered = make("Mul", {gate(sums[0], ".i"), fresh}, ".entered");
      const std::string c = make("Add", {kept, entered}, ".c");
      const std::string shown = make("Tanh", {c}, ".shown");
      const std::string h = make("Mul", {gate(sums[3], ".o"), shown}, ".h");
      node("Concat", {h, c}, name, Attributes().add("axis", std::int64_t{1}));
    }
  }

  static float as_number(const Operation& operation) {
    return static_cast<float>(operation.number);
  }

  void normalise(const Operation& operation, const std::string& x) {
    const std::string& name = operation.name;
    node("Sub", {x, operation.arrays[0]}, name + ".minus_mean");
    node("Sub", {name + ".minus_mean", operation.arrays[1]}, name + ".centred");
    node("Mul", {name + ".centred", operation.arrays[2]}, name + ".scaled");
    node("Clip",
         {name + ".scaled", number(operation, "low", -as_number(operation)),
          number(operation, "high", as_number(operation))},
         name);
  }

  // The choice of each part, side by side.
  void choose(const Operation& operation, const std::string& x) {
    const std::string axis = axis_of(operation);
    std::vector<std::string> choices;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < operation.heads.size(); ++i) {
      const std::int64_t end = begin + operation.heads[i];
      const std::string part = "part" + std::to_string(i);
      const std::string name = operation.name + "." + part;
      slice(operation, x, part + ".", axis, begin, end, name);
      choices.push_back(name + ".choice");
      node("ArgMax", {name}, choices.back(),
           Attributes().add("axis", std::int64_t{1}).add("keepdims", std::int64_t{1}));
      begin = end;
    }
    node("Concat", choices, operation.name, Attributes().add("axis", std::int64_t{1}));
  }

  std::string as_float(const Operation& operation, const std::string& x) {
    std::string name = operation.name + ".float32";
    node("Cast", {x}, name, Attributes().add("to", std::int64_t{kFloat32}));
    return name;
  }

  void keep(const Operation& operation, const NamedArray& array) {
    const bool is_constant = operation.kind == OperationKind::kConstant;
    initializer(tensor_of(is_constant ? array.name + kConstantSuffix : array.name, array.shape,
                          std::span<const float>(array.numbers)));
  }
  // Adds an initializer for one operation: a list or one number.
  template <class Number>
  std::string list(const Operation& operation, const char* what,
                   const std::vector<Number>& numbers) {
    std::string name = operation.name + "." + what;
    initializer(
        tensor_of(name, {static_cast<int>(numbers.size())}, std::span<const Number>(numbers)));
    return name;
  }
  template <class Number>
  std::string number(const Operation& operation, const char* what, Number value) {
    std::string name = operation.name + "." + what;
    initializer(tensor_of(name, {}, std::span<const Number>(&value, 1)));
    return name;
  }

  void initializer(const ProtoMessage& message) { graph_.add(graph_proto::kInitializer, message); }

  void node(const char* type, const std::vector<std::string>& inputs, const std::string& output,
            const Attributes& attributes = {}) {
    ProtoMessage message;
    for (const std::string& name : inputs) message.add(node_proto::kInput, name);
    message.add(node_proto::kOutput, output);
    message.add(node_proto::kName, output);
    message.add(node_proto::kOpType, std::string_view(type));
    for (const std::string& bytes : attributes.all()) message.add(node_proto::kAttribute, bytes);
    graph_.add(graph_proto::kNode, message);
  }

  const PolicyGraph& policy_;
  ProtoMessage graph_;
};

}  // namespace

Result<std::string> onnx_model(const PolicyGraph& graph) {
  std::size_t bytes = 0;
  for (const NamedArray& array : graph.arrays) bytes += array.numbers.size() * sizeof(float);
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - (1u << 20)) {
    return Status{ErrorKind::kIo,
                  "the policy is larger than the 2 GiB of an ONNX file; export it as torch"};
  }
  return ModelWriter(graph).write().bytes();
}

}  // namespace broadloom
