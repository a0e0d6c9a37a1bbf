// The network of a policy graph up to its heads: chains of layers, and recurrent cells.
#pragma once

#include <string>
#include <vector>

#include "broadloom/export/graph_draft.h"
#include "broadloom/export/graph_inputs.h"

namespace broadloom {

// A side names the operations of a part of the network: "encoder", "actor", "q_network", "critic".
class GraphLayers {
 public:
  GraphLayers(GraphDraft& draft, GraphInputs& inputs) : draft_(draft), inputs_(inputs) {}

  // Adds the encoder, which actor and critic share.
  GraphValue encoded();
  // Adds a body, its cell and the layers above, and returns the features under a head.
  GraphValue above(const std::string& side, const Chain& body, const Cell& cell, const Chain& top,
                   const GraphValue& input);
  // Adds the output kNextStateName if there are cells.
  void list_next_state();

 private:
  GraphValue chain(const std::string& side, const Chain& layers, GraphValue x);
  bool gives_policy_vector(const Chain& layers, std::size_t l) const;
  std::vector<float> leader_vector(const Chain& body) const;
  GraphValue joined(const std::string& side, const Chain& layers,
                    const std::vector<GraphValue>& outputs);
  GraphValue one_layer(const std::string& side, const Layer& layer, const GraphValue& x,
                       const std::vector<GraphValue>& outputs);
  GraphValue activated(const std::string& side, const GraphValue& x);
  GraphValue convolution(const std::string& name, const Layer& layer, const GraphValue& x);
  GraphValue layer_norm(const std::string& side, const Layer& layer, const GraphValue& input);
  GraphValue remembered(const std::string& side, const Cell& cell, const GraphValue& input);

  GraphDraft& draft_;
  GraphInputs& inputs_;
  std::vector<std::string> next_states_;  // of the cells
};

}  // namespace broadloom
