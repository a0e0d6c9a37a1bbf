#include "broadloom/export/cpp_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>

#include "broadloom/export/cpp_helpers.h"

namespace broadloom {
namespace {

std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

// The shortest decimal number that gives the same float again.
std::string literal(float number) {
  if (std::isinf(number)) return number > 0.0f ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}
std::string literal(double number) { return literal(static_cast<float>(number)); }

// Comma-separated, in lines of at most 100 columns.
std::string list_of(const std::vector<std::string>& words, std::size_t indent) {
  std::string out, line;
  const std::string margin(indent, ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!line.empty() && indent + line.size() + words[i].size() + 3 > 100) {
      out += margin + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + words[i] + (i + 1 < words.size() ? "," : "");
  }
  return out + margin + line;
}

const char* type_of(const Operation& operation) {
  return is_index(operation) ? "long long" : "float";
}
const char* type_of(Dtype dtype) {
  if (dtype == Dtype::kU8) return "unsigned char";
  return dtype == Dtype::kI64 ? "long long" : "float";
}

std::string array_type(const char* type, int size) {
  return fmt::format("std::array<{}, {}>", type, size);
}

// Outputs that depend on the observation: not log_std.
std::vector<const Operation*> row_outputs(const PolicyGraph& graph) {
  std::vector<const Operation*> out;
  for (const std::string& name : graph.outputs) {
    const Operation& operation = graph.operation(name);
    if (operation.kind != OperationKind::kConstant) out.push_back(&operation);
  }
  return out;
}

class HeaderText {
 public:
  HeaderText(const PolicyGraph& graph, std::string cpp_namespace)
      : graph_(graph), namespace_(std::move(cpp_namespace)) {
    shapes_[kObservationName] = graph.observation_shape;
    for (const Operation& operation : graph.operations) shapes_[operation.name] = operation.shape;
  }

  std::string write() {
    description();
    text_ += "#pragma once\n\n#include <array>\n#include <cmath>\n#include <cstddef>\n\n";
    text_ += fmt::format("namespace {} {{\n\n", namespace_);
    types();
    parameters();
    helpers();
    functions();
    text_ += fmt::format("\n}}  // namespace {}\n", namespace_);
    return std::move(text_);
  }

 private:
  bool is_masked() const { return graph_.mask_size > 0; }

  void description() {
    std::size_t bytes = 0;
    for (const auto& [name, shape] : shapes_) {
      bytes += sizeof(float) * static_cast<std::size_t>(row_size(shape));
    }
    text_ += "// A policy that Broadloom trained, as C++17. It allocates and throws nothing.\n//\n";
    for (const char* type : {"Observation observation{}", "Action action{}"}) {
      text_ += fmt::format("//   {}::{};\n", namespace_, type);
    }
    text_ += fmt::format("//   {}::act(observation, {}action);\n//\n", namespace_,
                         is_masked() ? "action_mask, " : "");
    text_ += fmt::format("// An observation is a row of {}, as the environment shows it.\n",
                         observation_text(graph_));
    text_ += fmt::format("// A call takes some {} bytes of stack.\n//\n", bytes);
    for (const auto& [key, value] : graph_.about) {
      if (!value.empty() && key != "observation") {
        text_ += fmt::format("// {}: {}\n", key, printable_text(value));
      }
    }
  }

  void types() {
    const Operation& action = graph_.operation(graph_.outputs.front());
    const int observations = row_size(graph_.observation_shape), actions = row_size(action.shape);
    text_ += fmt::format("inline constexpr std::size_t kObservationSize = {};\n", observations);
    text_ += fmt::format("inline constexpr std::size_t kActionSize = {};\n", actions);
    if (is_masked()) {
      text_ += fmt::format("inline constexpr std::size_t kMaskSize = {};\n", graph_.mask_size);
    }
    text_ += fmt::format("\nusing Observation = std::array<{}, kObservationSize>;\n",
                         type_of(graph_.observation_dtype));
    text_ += fmt::format("using Action = std::array<{}, kActionSize>;\n", type_of(action));
    if (is_masked()) {
      text_ += "using Mask = std::array<bool, kMaskSize>;  // true for valid choices\n";
    }
    text_ += "\nstruct Outputs {\n  Action action;\n";
    for (const Operation* output : row_outputs(graph_)) {
      if (output == &action) continue;
      text_ += fmt::format("  {} {};\n", array_type(type_of(*output), row_size(output->shape)),
                           output->name);
    }
    text_ += "};\n\n";
  }

  void parameters() {
    text_ += "namespace parameters {\n\n";
    for (const NamedArray& array : graph_.arrays) {
      std::vector<std::string> words;
      for (const float number : array.numbers) words.push_back(literal(number));
      text_ += fmt::format("inline constexpr {} {}{{{{\n{}}}}};\n\n",
                           array_type("float", static_cast<int>(array.numbers.size())),
                           identifier(array.name), list_of(words, 4));
    }
    text_ += "}  // namespace parameters\n\n";
  }

  void helpers() {
    std::map<std::string, bool> used;
    for (const Operation& operation : graph_.operations) {
      used[helper_of(operation)] = true;
      if (has_windows(operation)) used["windows"] = true;
    }
    text_ += "namespace layers {\n";
    for (const CppHelper& helper : cpp_helpers()) {
      if (used.count(helper.name) > 0) text_ += helper.code;
    }
    text_ += "\n}  // namespace layers\n\n";
  }

  static std::string helper_of(const Operation& operation) {
    return operation.kind == OperationKind::kArgmax ? "argmax" : operation_name(operation);
  }

  static bool has_windows(const Operation& operation) {
    return operation.kind == OperationKind::kConvolution ||
           operation.kind == OperationKind::kMaxPool;
  }

  void functions() {
    const std::string mask = is_masked() ? "const Mask& action_mask, " : "";
    text_ += fmt::format(
        "// The action, and the numbers that it follows from.\n"
        "inline void run(const Observation& observation, {}Outputs& outputs) {{\n",
        mask);
    for (const Operation& operation : graph_.operations) {
      if (operation.kind == OperationKind::kConstant) continue;
      text_ += fmt::format("  const auto{} {} = {};\n",
                           operation.kind == OperationKind::kReshape ? "&" : "",
                           identifier(operation.name), expression(operation));
    }
    for (const Operation* output : row_outputs(graph_)) {
      text_ += fmt::format("  outputs.{0} = {0};\n", output->name);
    }
    text_ += fmt::format(
        "}}\n\n// The action of an evaluation: the most likely one.\n"
        "inline void act(const Observation& observation, {}Action& action) {{\n"
        "  Outputs outputs{{}};\n  run(observation, {}outputs);\n"
        "  action = outputs.action;\n}}\n",
        mask, is_masked() ? "action_mask, " : "");
  }

  std::string expression(const Operation& operation) const {
    std::string x = identifier(operation.inputs.front());
    std::string call = "layers::" + helper_of(operation), arguments = x;
    for (const std::string& array : operation.arrays) {
      arguments += ", parameters::" + identifier(array);
    }
    switch (operation.kind) {
      case OperationKind::kReshape:
        return x;
      case OperationKind::kOneHot:
      case OperationKind::kLinear:
        call += fmt::format("<{}>", row_size(operation.shape));
        break;
      case OperationKind::kConvolution:
      case OperationKind::kMaxPool:
        call += fmt::format("<{}>", row_size(operation.shape));
        arguments += ", " + windows(operation);
        break;
      case OperationKind::kPermute:
        arguments += ", " + steps(operation);
        break;
      case OperationKind::kAdd:
      case OperationKind::kBetaMean:
        arguments += ", " + identifier(operation.inputs[1]);
        break;
      case OperationKind::kMask:
        arguments += fmt::format(", {}, {}", operation.inputs[1], literal(operation.number));
        break;
      case OperationKind::kDivide:
      case OperationKind::kNormalise:
      case OperationKind::kLayerNorm:
      case OperationKind::kNoise:
        arguments += ", " + literal(operation.number);
        break;
      case OperationKind::kShift:
        arguments += ", " + shifts(operation);
        break;
      case OperationKind::kArgmax:
        arguments += ", " + parts(operation);
        break;
      case OperationKind::kJoin:  // of an action: a recurrent policy is refused
        arguments += ", " + identifier(operation.inputs[1]);
        break;
      case OperationKind::kClip:
      case OperationKind::kFloat:
      case OperationKind::kActivation:
      case OperationKind::kLargest:
      case OperationKind::kColumn:
      case OperationKind::kConstant:
      case OperationKind::kPart:  // this and the others: export_policy() refuses recurrent policies
      case OperationKind::kMinGru:
      case OperationKind::kHighway:
      case OperationKind::kGru:
      case OperationKind::kLstm:
        break;
    }
    return fmt::format("{}({})", call, arguments);
  }

  std::string windows(const Operation& operation) const {
    const std::vector<int>& in = shapes_.at(operation.inputs.front());
    return fmt::format("layers::Windows{{{}, {}, {}, {}}}", fmt::join(in, ", "),
                       fmt::join(operation.shape, ", "), operation.kernel,
                       fmt::format("{}, {}", operation.stride, operation.padding));
  }

  // Extents of the value, and the input's step along each of its axes.
  std::string steps(const Operation& operation) const {
    const std::vector<int>& in = shapes_.at(operation.inputs.front());
    const std::array<int, 3> step_of_axis{in[1] * in[2], in[2], 1};
    std::vector<int> step;
    for (std::size_t a = 1; a < operation.axes.size(); ++a) {
      step.push_back(step_of_axis[static_cast<std::size_t>(operation.axes[a]) - 1]);
    }
    return fmt::format("{{{{{}}}}}, {{{{{}}}}}", fmt::join(operation.shape, ", "),
                       fmt::join(step, ", "));
  }

  std::string parts(const Operation& operation) const {
    std::vector<int> sizes = operation.heads;
    if (sizes.empty()) sizes.push_back(row_size(shapes_.at(operation.inputs.front())));
    return fmt::format("std::array<std::size_t, {}>{{{{{}}}}}", sizes.size(),
                       fmt::join(sizes, ", "));
  }

  static std::string shifts(const Operation& operation) {
    std::vector<std::int64_t> numbers = operation.shifts;
    if (numbers.empty()) numbers.push_back(static_cast<std::int64_t>(operation.number));
    return fmt::format("std::array<long long, {}>{{{{{}}}}}", numbers.size(),
                       fmt::join(numbers, ", "));
  }

  const PolicyGraph& graph_;
  std::string namespace_, text_;
  std::map<std::string, std::vector<int>> shapes_;
};

// {{1.0f, 2.0f}}: row r of rows of that size, in the notation of its type.
std::string row_text(const std::vector<double>& rows, std::size_t size, std::size_t r,
                     std::string_view type) {
  std::vector<std::string> words;
  for (std::size_t i = r * size; i < (r + 1) * size; ++i) {
    words.push_back(type == "float"  ? literal(rows[i])
                    : type == "bool" ? (rows[i] != 0.0 ? "true" : "false")
                                     : fmt::format("{}", static_cast<std::int64_t>(rows[i])));
  }
  return "{{\n" + list_of(words, 6) + "}}";
}

constexpr char kCompare[] = R"(
[[maybe_unused]] double difference(float got, float expected) {
  const double apart = std::fabs(static_cast<double>(got) - static_cast<double>(expected));
  const double relative = apart / std::fmax(1.0, std::fabs(static_cast<double>(expected)));
  return relative >= 0.0 ? relative : HUGE_VAL;  // not a number
}
[[maybe_unused]] double difference(long long got, long long expected) {
  return got == expected ? 0.0 : HUGE_VAL;
}

template <class Row>
double difference(const Row& got, const Row& expected) {
  double largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::fmax(largest, difference(got[i], expected[i]));
  }
  return largest;
}

}  // namespace

int main() {
  double largest = 0.0;
  for (const State& state : kStates) {
)";

// Whether a part of the name is a word of C++, reserved, or a name of <cmath> or of the files.
bool is_taken(const std::string& name) {
  static constexpr std::string_view kWords =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
      "char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval "
      "constexpr constinit continue decltype default delete do double dynamic_cast else enum "
      "explicit export extern false float for friend goto if inline int long mutable namespace new "
      "noexcept not not_eq nullptr operator or or_eq private protected public register "
      "reinterpret_cast requires return short signed sizeof static static_assert static_cast "
      "struct "
      "switch template this thread_local throw true try typedef typeid typename union unsigned "
      "using virtual void volatile wchar_t while xor xor_eq std main layers parameters State "
      "difference kStates exp log sqrt tanh gamma lgamma INFINITY NAN EOF NULL ";
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find("::", begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool is_reserved =
        part.find("__") != std::string::npos ||
        (part.size() > 1 && part[0] == '_' && part[1] >= 'A' && part[1] <= 'Z');
    if (is_reserved || kWords.find(" " + part + " ") != std::string_view::npos) return true;
    begin = end + 2;
  }
  return false;
}

}  // namespace

Status check_cpp_namespace(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  bool begins = true, is_good = !name.empty();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!begins && name.compare(i, 2, "::") == 0) {
      begins = true;
      ++i;
      continue;
    }
    const bool is_digit = name[i] >= '0' && name[i] <= '9';
    is_good = is_good && (is_letter(name[i]) || (!begins && is_digit));
    begins = false;
  }
  is_good = is_good && !begins && !is_taken(name);
  if (is_good) return {};
  return invalid(fmt::format(
      "namespace: got '{}', expected a name of C++ that nobody else has, such as walk or "
      "robot::walk",
      name));
}

std::string cpp_header(const PolicyGraph& graph, const std::string& cpp_namespace) {
  return HeaderText(graph, cpp_namespace).write();
}

std::string cpp_parity_program(const PolicyGraph& graph, const Parity& parity,
                               const std::string& cpp_namespace, const std::string& header) {
  const std::string prefix = cpp_namespace + "::";
  const bool is_masked = graph.mask_size > 0;
  const std::string name = header.substr(0, header.rfind('.')) + "_parity";
  std::string out = fmt::format(
      "// Plays recorded states by {0}, and compares its outputs with those of Broadloom's "
      "network.\n//\n//   c++ -std=c++17 -O2 {1}.cc -o {1} && ./{1}\n#include <cmath>\n"
      "#include <cstdio>\n\n#include \"{0}\"\n\nnamespace {{\n\nstruct State {{\n  {2}Observation "
      "observation;\n{3}  {2}Outputs expected;\n}};\n\nconst State kStates[] = {{\n",
      header, name, prefix, is_masked ? "  " + prefix + "Mask action_mask;\n" : "");
  for (std::size_t r = 0; r < static_cast<std::size_t>(parity.rows); ++r) {
    out += "    {" + row_text(parity.observations,
                              static_cast<std::size_t>(row_size(graph.observation_shape)), r,
                              type_of(graph.observation_dtype));
    if (is_masked) {
      out +=
          ",\n     " + row_text(parity.masks, static_cast<std::size_t>(graph.mask_size), r, "bool");
    }
    out += ",\n     {";
    for (const Operation* output : row_outputs(graph)) {
      out += (output->name == graph.outputs.front() ? "" : ",\n      ") +
             row_text(parity.expected.at(output->name),
                      static_cast<std::size_t>(row_size(output->shape)), r, type_of(*output));
    }
    out += "}},\n";
  }
  out += "};\n";
  out += kCompare;
  out += fmt::format(
      "    {0}Outputs got{{}};\n    {0}run(state.observation, {1}got);\n"
      "    {0}Action action{{}};\n    {0}act(state.observation, {1}action);\n"
      "    largest = std::fmax(largest, difference(action, "
      "state.expected.action));\n",
      prefix, is_masked ? "state.action_mask, " : "");
  for (const Operation* output : row_outputs(graph)) {
    out +=
        fmt::format("    largest = std::fmax(largest, difference(got.{0}, state.expected.{0}));\n",
                    output->name);
  }
  out += fmt::format(
      "  }}\n  std::printf(\"%d states: the outputs differ by at most %.1e (limit {0:.1e})\\n\", "
      "{1}, largest);\n  return largest <= {0:.9e} ? 0 : 1;\n}}\n",
      parity.tolerance, parity.rows);
  return out;
}

}  // namespace broadloom
