// Shapes of rollout blocks: listed, or made by a rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/rollout/block_shape.h"

namespace broadloom {

// Parses "8x128": num_envs x num_steps. name: the key or flag for messages.
Result<BlockShape> parse_shape(const std::string& text, const std::string& name);
std::string shape_text(const BlockShape& shape);  // "8x128"

// kInvalidConfig if a list names a shape twice, which is a mistake.
Status check_distinct(const std::vector<BlockShape>& list);

// Rules that make shapes. Any of them may be set. Shapes come in the order of the fields, each
// once.
struct ShapeRules {
  std::vector<BlockShape> list;
  std::int64_t batch = 0;           // B of the list and the ladder; 0: not set
  bool ladder = false;              // all powers of two N and T with N x T = B
  std::vector<BlockShape> doubled;  // each, then 2N x T and N x 2T, 4N x T and so on
  int doublings = 1;                // number of doublings, for `doubled`
  int max_envs = 0;                 // N = 1, 2, 4, ... up to this, at num_steps; 0: none
  int num_steps = 0;                // T for max_envs; 0 in a plan: that of its base

  bool empty() const { return list.empty() && !ladder && doubled.empty() && max_envs == 0; }
};

// kInvalidConfig for a listed shape with another batch, a ladder whose batch is not a power of two,
// a rule without a value that it needs, or a list that names a shape twice. (Different rules may
// give the same shape.)
Result<std::vector<BlockShape>> make_shapes(const ShapeRules& rules);

}  // namespace broadloom
