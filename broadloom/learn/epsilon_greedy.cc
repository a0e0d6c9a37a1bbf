#include "broadloom/learn/epsilon_greedy.h"

#include <cstddef>
#include <cstdint>

#include "broadloom/learn/pqn_formulas.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {

double EpsilonSchedule::epsilon(double progress) const {
  return progress >= decay ? finish : start + (finish - start) * (progress / decay);
}

void EpsilonGreedy::begin_block(double progress) {
  epsilon_ = schedule_.epsilon(progress);
  const EpsilonLogs logs(epsilon_, actions_);
  log_other_ = logs.other;
  log_best_ = logs.best;
}

void EpsilonGreedy::act(const ActRows& rows) const {
  alignas(64) std::uint32_t words[4 * kTileRows];
  random_words(rows.streams, 0, words, kTileRows);
  categorical_mode(rows.outputs, actions_, rows.streams.rows, rows.actions);
  for (int r = 0; r < rows.streams.rows; ++r) {
    const float best = rows.actions[r];
    rows.actions[r] = static_cast<float>(epsilon_greedy_action(
        epsilon_, actions_, static_cast<int>(best), words[r], words[kTileRows + r]));
    rows.log_probs[r] = rows.actions[r] == best ? log_best_ : log_other_;
  }
}

void EpsilonGreedy::act_best(const ActRows& rows) const {
  categorical_mode(rows.outputs, actions_, rows.streams.rows, rows.actions);
}

}  // namespace broadloom
