// The heads of a policy graph, and the outputs that a user reads: actions and values.
#pragma once

#include <string>

#include "broadloom/export/graph_draft.h"
#include "broadloom/export/graph_layers.h"

namespace broadloom {

// Adds the policy's head on its features, and outputs: the action, then what it was chosen from.
void add_actions(GraphDraft& draft, const std::string& side, const GraphValue& features);
// Adds the critic on the encoder's output, or the largest action value, and outputs the values.
void add_values(GraphDraft& draft, GraphLayers& layers, const GraphValue& encoded);

}  // namespace broadloom
