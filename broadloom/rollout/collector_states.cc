// The states of a recurrent network: the part of collector.h that carries them from step to step.
// The policy's states advance with each step; those of the critic follow when the block is
// complete.
#include <algorithm>

#include "broadloom/rollout/collector.h"

namespace broadloom {
namespace {

float* state_of(std::vector<float>& states, const RolloutBlock& block, std::size_t row) {
  return states.data() + row * static_cast<std::size_t>(block.state_size);
}

}  // namespace

// Keeps the states before step t if a sequence begins with it. The critic's follow later, but for
// the block's first step.
void Collector::begin_sequence(Shard shard, int t, RolloutBlock& block) const {
  if (!network_.is_recurrent() || t % block.sequence_steps() != 0) return;
  std::copy(state_of(block.next_states, block, static_cast<std::size_t>(shard.begin)),
            state_of(block.next_states, block, static_cast<std::size_t>(shard.end)),
            state_of(block.states, block, block.sequence_row(t, shard.begin)));
}

void Collector::read_states(const float* states, int rows, TileWorkspace<float>& work) const {
  if (!network_.is_recurrent()) return;
  work.states.begin(rows);
  std::copy_n(states, static_cast<std::size_t>(rows) * network_.state_size(),
              work.states.before.data());
}

void Collector::keep_policy_states(Shard shard, const TileWorkspace<float>& work,
                                   RolloutBlock& block) const {
  if (!network_.is_recurrent()) return;
  for (int n = shard.begin; n < shard.end; ++n) {
    network_.copy_state(work, n - shard.begin,
                        state_of(block.next_states, block, static_cast<std::size_t>(n)),
                        NetworkSide::kPolicy);
  }
}

void Collector::forget_ended(Shard shard, int t, RolloutBlock& block) const {
  if (!network_.is_recurrent()) return;
  for (int n = shard.begin; n < shard.end; ++n) {
    if (!block.ends_at(block.index(t, n))) continue;
    std::fill_n(state_of(block.next_states, block, static_cast<std::size_t>(n)),
                network_.state_size(), 0.0f);
  }
}

// Prepares a tile of `steps` steps that begins at step t and follows the tile in `work`, if t > 0.
void Collector::read_value_states(Shard shard, int t, int steps, TileWorkspace<float>& work,
                                  const RolloutBlock& block) const {
  if (!network_.is_recurrent()) return;
  const int rows = shard.size();
  if (t == 0) {
    read_states(&block.states[static_cast<std::size_t>(shard.begin) * network_.state_size()], rows,
                work);
  } else {
    const int last = kTileRows / rows * rows - rows;  // first row of a whole tile's last step
    for (int k = 0; k < rows; ++k) {
      network_.copy_state(work, last + k,
                          &work.states.before[static_cast<std::size_t>(k) * network_.state_size()],
                          NetworkSide::kValue);
    }
  }
  for (int row = 0; row < steps * rows; ++row) {
    const int step = t + row / rows, n = shard.begin + row % rows;
    work.states.begins[static_cast<std::size_t>(row)] = block.begins_at(step, n) ? 1 : 0;
  }
}

// Keeps the critic's states of a tile as read_value_states() prepared it: those before final
// observations, and of episodes that go on those before later sequences and after the block's last
// step. slots: truncations of earlier tiles, per environment of the shard.
void Collector::keep_value_states(Shard shard, int t, int steps, const TileWorkspace<float>& work,
                                  std::array<int, kTileRows>& slots, RolloutBlock& block) const {
  if (!network_.is_recurrent()) return;
  const int rows = shard.size();
  for (int row = 0; row < steps * rows; ++row) {
    const int step = t + row / rows, k = row % rows, n = shard.begin + k;
    const std::size_t i = block.index(step, n);
    if (block.truncated[i] != 0) {
      const std::size_t place = block.final_index(n, slots[static_cast<std::size_t>(k)]++);
      network_.copy_state(work, row, state_of(block.final_states, block, place),
                          NetworkSide::kValue);
    }
    if (block.ends_at(i)) continue;
    if (step + 1 == block.T) {
      network_.copy_state(work, row,
                          state_of(block.next_states, block, static_cast<std::size_t>(n)),
                          NetworkSide::kValue);
    } else if ((step + 1) % block.sequence_steps() == 0) {
      network_.copy_state(work, row, state_of(block.states, block, block.sequence_row(step + 1, n)),
                          NetworkSide::kValue);
    }
  }
}

}  // namespace broadloom
