// Shapes of rollout blocks: written out, or made by a rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/rollout/block_shape.h"

namespace broadloom {

// "8x128": num_envs x num_steps. `name` is the key or flag that messages speak of.
Result<BlockShape> parse_shape(const std::string& text, const std::string& name);
std::string shape_text(const BlockShape& shape);  // "8x128"

// kInvalidConfig where a list names a shape twice: a slip, which would count it double or be lost.
Status check_distinct(const std::vector<BlockShape>& list);

// What to make shapes from. Any of the rules may be given; the shapes come in the order of the
// fields, each once.
struct ShapeRules {
  std::vector<BlockShape> list;
  std::int64_t batch = 0;           // B, which list and ladder must give; 0: none was said
  bool ladder = false;              // every N x T = B of powers of two
  std::vector<BlockShape> doubled;  // for each: itself, then 2N x T and N x 2T, 4N x T and so on
  int doublings = 1;                // how often, for `doubled`
  int max_envs = 0;                 // N = 1, 2, 4, ... up to this, at num_steps; 0: none
  int num_steps = 0;                // T, for max_envs; a plan takes 0 for that of the base

  bool empty() const { return list.empty() && !ladder && doubled.empty() && max_envs == 0; }
};

// kInvalidConfig where a rule cannot be followed: a listed shape that does not give the batch, a
// ladder over what is no power of two, a part that another one needs and that is missing, a list
// that names a shape twice (rules may meet in one).
Result<std::vector<BlockShape>> make_shapes(const ShapeRules& rules);

}  // namespace broadloom
