#include "broadloom/algorithms/epsilon_greedy.h"

#include <cstddef>
#include <cstdint>

#include "broadloom/core/portable_math.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {

double EpsilonSchedule::at(double progress) const {
  return progress >= decay ? finish : start + (finish - start) * (progress / decay);
}

void EpsilonGreedy::begin_block(double progress) {
  epsilon_ = schedule_.at(progress);
  const double other = epsilon_ / actions_;
  log_other_ = static_cast<float>(portable::log(other));
  log_best_ = static_cast<float>(portable::log(1.0 - epsilon_ + other));
}

// Of a row's stream the first word says whether, the second which.
void EpsilonGreedy::act(const ActRows& rows) const {
  alignas(64) std::uint32_t words[4 * kTileRows];
  random_words(rows.streams, 0, words, kTileRows);
  categorical_mode(rows.outputs, actions_, rows.streams.rows, rows.actions);
  for (int r = 0; r < rows.streams.rows; ++r) {
    const float best = rows.actions[r];
    if (words[r] * 0x1p-32 < epsilon_) {
      const std::uint64_t drawn = words[kTileRows + r] * static_cast<std::uint64_t>(actions_) >> 32;
      rows.actions[r] = static_cast<float>(drawn);
    }
    rows.log_probs[r] = rows.actions[r] == best ? log_best_ : log_other_;
  }
}

void EpsilonGreedy::act_best(const ActRows& rows) const {
  categorical_mode(rows.outputs, actions_, rows.streams.rows, rows.actions);
}

}  // namespace broadloom
