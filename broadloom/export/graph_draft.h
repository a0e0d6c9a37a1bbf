// A policy graph in the making. GraphInputs, GraphLayers and the functions of graph_outputs.h add
// to it, from observation to action.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "broadloom/export/policy_graph.h"

namespace broadloom {

// A value that operations can read: an input, or the value of an earlier operation.
struct GraphValue {
  std::string name;
  std::vector<int> shape;

  bool is_image() const { return shape.size() == 3; }  // channels, height, width
};

class GraphDraft {
 public:
  explicit GraphDraft(const Policy& source) : policy(source) {}

  const Policy& policy;
  PolicyGraph graph;
  std::vector<float> vector;  // of the leader, with several policies, as the last body reads it

  GraphValue add(const Operation& operation);
  // Adds an array, of numbers or of parameters from `offset` on, and returns its name.
  std::string keep(std::string name, std::vector<int> shape, std::vector<float> numbers);
  std::string keep_params(std::string name, std::vector<int> shape, std::size_t offset);
  // name1, name2, ...
  std::string numbered(const std::string& name);

  // Each of the next functions adds no operation if x already has the wanted form.
  GraphValue row(const GraphValue& x, const std::string& side);
  // Reshapes an image, in whatever shape, to height x width x channels and puts channels first.
  GraphValue planes(GraphValue x, const RowShape& image, const std::string& prefix);
  // Converts between indices from 0 and indices from the space's start.
  GraphValue shifted(const std::string& name, const GraphValue& index, std::int64_t offset);

  GraphValue permuted(const std::string& name, const GraphValue& x, const std::vector<int>& axes);
  // If the layer reads more numbers than the input has, these are `vector`. Their share goes into
  // its biases.
  GraphValue linear(const std::string& name, const std::string& layer, const LinearSlice& slice,
                    const GraphValue& input);

 private:
  std::map<std::string, int> counts_;
};

// For each number of a value, its index in the row of Broadloom's layers, where images are stored
// pixel by pixel.
std::vector<std::size_t> row_indices(const GraphValue& value);

}  // namespace broadloom
