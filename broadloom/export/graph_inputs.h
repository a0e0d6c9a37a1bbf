// The observation of a policy graph, as the network's layers read it.
#pragma once

#include <vector>

#include "broadloom/export/graph_draft.h"

namespace broadloom {

class GraphInputs {
 public:
  // Adds the operations of an observation without groups.
  explicit GraphInputs(GraphDraft& draft);

  // Without groups: the network's input, a row, or [C, H, W] for an encoder of images.
  const GraphValue& whole() const { return whole_; }
  // The group that a layer of the kind kPart reads: a row, or [C, H, W] if it is an image. The
  // first call for a group adds its operations. Without groups: whole().
  GraphValue part(const Layer& layer);
  // Makes inputs of the groups that were read.
  void list_groups();

 private:
  GraphValue seen_by_network();

  GraphDraft& draft_;
  GraphValue whole_;
  std::vector<GraphValue> parts_;  // of the groups; no name: not read yet
};

}  // namespace broadloom
