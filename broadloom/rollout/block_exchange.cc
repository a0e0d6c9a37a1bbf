#include "broadloom/rollout/block_exchange.h"

#include <type_traits>

namespace broadloom {

void add_arrays(RolloutBlock& block, BlockStage stage, std::span<const int> env_bounds,
                Exchange& exchange) {
  const std::size_t units = static_cast<std::size_t>(block.N);
  RolloutBlock::visit_arrays(
      block, [&]<class Array>(const BlockArray& array, Array RolloutBlock::*member) {
        if (array.made_in != stage || array.count(block) == 0) return;
        const std::size_t lines =
            array.places == BlockPlaces::kTransitions || array.places == BlockPlaces::kSequences
                ? array.rows(block) / units
                : 1;
        const auto add = [&](void* data, std::size_t all_lines, std::size_t unit_bytes) {
          exchange.add_lines(data, all_lines, units, unit_bytes, env_bounds);
        };
        Array& rows = block.*member;
        if constexpr (std::is_same_v<Array, Observations>) {
          rows.visit_lines(lines, units, add);
        } else {
          add(rows.data(), lines,
              array.count(block) / (lines * units) * sizeof(typename Array::value_type));
        }
      });
}

std::size_t exchanged_bytes_per_env(const BlockSizes& sizes) {
  std::size_t sum = 0;
  RolloutBlock::visit_arrays(sizes,
                             [&]<class Array>(const BlockArray& array, Array RolloutBlock::*) {
                               if (array.made_in != BlockStage::kTargets)
                                 sum += RolloutBlock::array_bytes<Array>(array, sizes);
                             });
  return sum / static_cast<std::size_t>(sizes.N);
}

}  // namespace broadloom
