// The exported files' bytes, read by separate readers.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "broadloom/export/cpp_header.h"
#include "broadloom/export/npz.h"
#include "broadloom/export/onnx_model.h"
#include "broadloom/export/protobuf.h"
#include "broadloom/export/torch_module.h"
#include "tests/export/networks.h"

namespace broadloom {
namespace {

using export_tests::Kind;
using export_tests::UntrainedPolicy;

// The fields of a message: numbers as they are, all others as bytes.
struct Fields {
  explicit Fields(const std::string& bytes) {
    std::size_t place = 0;
    const auto varint = [&] {
      std::uint64_t value = 0;
      for (int shift = 0; place < bytes.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[place++]);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      return value;
    };
    while (place < bytes.size()) {
      const std::uint64_t tag = varint();
      const auto field = static_cast<int>(tag >> 3);
      if ((tag & 7) == 0) {
        numbers[field].push_back(static_cast<std::int64_t>(varint()));
      } else {
        const std::size_t size = (tag & 7) == 5 ? 4 : varint();
        texts[field].push_back(bytes.substr(place, size));
        place += size;
      }
    }
    EXPECT_EQ(place, bytes.size());
  }
  Fields sub(int field, std::size_t i = 0) const { return Fields(texts.at(field).at(i)); }
  const std::string& text(int field) const { return texts.at(field).front(); }

  std::map<int, std::vector<std::int64_t>> numbers;
  std::map<int, std::vector<std::string>> texts;
};

const Kind kImages{.encoder = "nature",
                   .layer_norm = "channels",
                   .activation = "relu",
                   .observation = Space::bytes({36, 36, 2}),
                   .hidden_sizes = {8}};

std::vector<Kind> kinds() {
  return {{.norm_obs = true, .action = Space::box({-1.0f}, {1.0f})},
          {.algorithm = "ppo_rnd", .observation = Space::discrete(5)},
          {.norm_value = "running"},
          {.std_form = "sde", .action = Space::box({-0.5f, 1.0f}, {0.5f, 9.0f})},
          {.action = Space::hybrid({3, 2}, {-0.5f, 1.0f}, {0.5f, 9.0f})},
          {.action = export_tests::choices_from_starts()},
          {.norm_obs = true, .sapg_policies = 3},
          {.observation = export_tests::discrete_from(3, 5),
           .action = export_tests::discrete_from(-1, 4)},
          kImages,
          {.encoder = "impala", .algorithm = "pqn", .observation = Space::bits({8, 8, 3})}};
}

TEST(Protobuf, HasTheBytesOfItsDocumentation) {
  EXPECT_EQ(ProtoMessage().add(1, std::int64_t{150}).bytes(), "\x08\x96\x01");
  EXPECT_EQ(ProtoMessage().add(2, std::string_view("testing")).bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtoMessage().add(3, ProtoMessage().add(1, std::int64_t{150})).bytes(),
            "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(ProtoMessage().add(1, std::int64_t{-1}).bytes(),
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(ProtoMessage().add(2, 1.0f).bytes(), std::string("\x15\x00\x00\x80\x3f", 5));
  EXPECT_EQ(ProtoMessage().add(14, std::string_view("")).bytes(), std::string("\x72\x00", 2));
}

TEST(OnnxModel, ReadsOnlyEarlierValues) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name());
    const UntrainedPolicy untrained(kind);
    const PolicyGraph graph = policy_graph(untrained.view());
    const Fields model(onnx_model(graph).take());
    EXPECT_EQ(model.numbers.at(1).front(), 8);
    EXPECT_EQ(model.sub(8).numbers.at(2).front(), 17);
    EXPECT_EQ(model.texts.at(14).size(), graph.about.size());
    const Fields in_model = model.sub(7);
    std::set<std::string> known{in_model.sub(11).text(1)};
    EXPECT_EQ(*known.begin(), "observation");
    for (const std::string& bytes : in_model.texts.at(5)) {
      const Fields tensor(bytes);
      std::size_t count = tensor.numbers.at(2).front() == 7 ? 8 : 4;
      if (tensor.numbers.count(1) > 0) {
        for (const std::int64_t extent : tensor.numbers.at(1)) count *= extent;
      }
      EXPECT_EQ(tensor.text(9).size(), count) << tensor.text(8);
      EXPECT_TRUE(known.insert(tensor.text(8)).second) << tensor.text(8);
    }
    for (const std::string& bytes : in_model.texts.at(1)) {
      const Fields node(bytes);
      for (const std::string& input : node.texts.at(1)) EXPECT_EQ(known.count(input), 1u) << input;
      EXPECT_TRUE(known.insert(node.text(2)).second) << node.text(2);
    }
    std::vector<std::string> outputs;
    for (const std::string& bytes : in_model.texts.at(12)) outputs.push_back(Fields(bytes).text(1));
    EXPECT_EQ(outputs, graph.outputs);
    for (const std::string& name : outputs) EXPECT_EQ(known.count(name), 1u) << name;
  }
}

TEST(OnnxModel, HasParametersAndRowsOfAnyNumber) {
  const UntrainedPolicy untrained(kImages);
  const PolicyGraph graph = policy_graph(untrained.view());
  const Fields in_model = Fields(onnx_model(graph).take()).sub(7);
  std::size_t found = 0;
  for (const std::string& bytes : in_model.texts.at(5)) {
    const Fields tensor(bytes);
    if (!tensor.text(8).ends_with(".weight")) continue;
    const NamedArray& array = graph.array(tensor.text(8));
    EXPECT_EQ(tensor.text(9), bytes_of(array.numbers));
    EXPECT_TRUE(std::equal(array.shape.begin(), array.shape.end(), tensor.numbers.at(1).begin()));
    ++found;
  }
  EXPECT_EQ(found, 18u);  // two sides of three convolutions, a dense layer, four gains and a head
  const Fields tensor_type = in_model.sub(11).sub(2).sub(1);
  EXPECT_EQ(tensor_type.numbers.at(1).front(), 2);  // uint8
  const Fields shape = tensor_type.sub(2);
  EXPECT_EQ(shape.sub(1, 0).text(2), "N");
  EXPECT_EQ(shape.sub(1, 3).numbers.at(1).front(), 2);
}

TEST(Npz, IsAZipOfAlignedArrays) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);  // the check value from its catalogue
  const std::string file =
      npz_file({{"a", "<f4", {2}, bytes_of(std::vector{1.0f, 2.0f})}, {"b", "|u1", {}, "x"}})
          .take();
  EXPECT_EQ(file.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(file.substr(30, 5), "a.npy");
  EXPECT_EQ(file.substr(35, 6), "\x93NUMPY");
  const std::size_t data = file.find('\n') + 1;
  EXPECT_EQ((data - 35) % 64, 0u);
  EXPECT_NE(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"),
            std::string::npos);
  EXPECT_NE(file.find("'shape': (), }"), std::string::npos);
  float second = 0.0f;
  std::memcpy(&second, file.data() + data + 4, 4);
  EXPECT_EQ(second, 2.0f);
  EXPECT_EQ(file.substr(file.size() - 22, 4), "PK\x05\x06");
}

TEST(TorchModule, IsASmallFileWithNamedLayers) {
  for (const Kind& kind : kinds()) {
    const UntrainedPolicy untrained(kind);
    PolicyGraph graph = policy_graph(untrained.view());
    const std::string text = torch_module(graph);
    for (const TensorRef& tensor : state_dict(graph)) {
      const std::size_t point = tensor.name.rfind('.');
      const std::size_t start = point == std::string::npos ? 0 : tensor.name.find('.') + 1;
      const std::string name = "\"" + tensor.name.substr(start, point - start) + "\"";
      if (tensor.name != "log_std") EXPECT_NE(text.find(name), std::string::npos) << name;
    }
    EXPECT_NE(text.find("class Policy(nn.Module):"), std::string::npos);
    EXPECT_EQ(text.find("broadloom."), std::string::npos);
  }
}

TEST(TorchModule, CountsFromTheSpacesStart) {
  const UntrainedPolicy untrained({.observation = export_tests::discrete_from(3, 5),
                                   .action = export_tests::discrete_from(-1, 4)});
  const std::string text = torch_module(policy_graph(untrained.view()));
  EXPECT_NE(text.find("observation_index = observation + -3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("action = action_index + -1\n"), std::string::npos) << text;
}

// Names from elsewhere become part of a Python string.
TEST(TorchModule, KeepsAPolicysNameInsideItsQuotes) {
  const UntrainedPolicy untrained({});
  PolicyGraph graph = policy_graph(untrained.view());
  graph.about = {{"run", "a\"\"\"\nimport os\\"}};
  const std::string text = torch_module(graph);
  EXPECT_NE(text.find("run: a''''import os/"), std::string::npos) << text.substr(0, 300);
}

TEST(CppHeader, NeedsThreeHeadersOfTheLanguage) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name());
    const UntrainedPolicy untrained(kind);
    const std::string text = cpp_header(policy_graph(untrained.view(), false), "robot::walk");
    EXPECT_NE(text.find("namespace robot::walk {"), std::string::npos);
    std::string included;
    for (std::size_t place = text.find("#include"); place != std::string::npos;
         place = text.find("#include", place + 1)) {
      included += text.substr(place + 9, text.find('\n', place) - place - 9);
    }
    EXPECT_EQ(included, "<array><cmath><cstddef>");
    for (const char* word : {"std::vector", "new ", "throw ", "critic"}) {
      EXPECT_EQ(text.find(word), std::string::npos) << word;
    }
  }
}

TEST(CppHeader, KeepsAPolicysNameInsideItsComment) {
  const UntrainedPolicy untrained({});
  PolicyGraph graph = policy_graph(untrained.view(), false);
  graph.about = {{"run", "a\nint b;\\"}};
  EXPECT_NE(cpp_header(graph, "policy").find("// run: a'int b;/\n"), std::string::npos);
}

TEST(CppHeader, HasANamespaceThatCompiles) {
  for (const char* name : {"policy", "_a1", "robot::walk", "A::b::c2"}) {
    EXPECT_TRUE(check_cpp_namespace(name).ok()) << name;
  }
  for (const char* name : {"", "1a", "my-robot", "a::", "::a", "a::::b", "a:b", "a b", "a::1"}) {
    EXPECT_FALSE(check_cpp_namespace(name).ok()) << name;
  }
}

}  // namespace
}  // namespace broadloom
