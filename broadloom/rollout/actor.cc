#include "broadloom/rollout/actor.h"

#include <algorithm>

#include "broadloom/nn/distributions.h"

namespace broadloom {

void PolicySampler::act(const ActRows& rows) const {
  const int outputs = network_.shape().action_outputs;
  const int count = rows.streams.rows;
  if (network_.shape().action_kind == SpaceKind::kDiscrete) {
    random_uniforms(rows.streams, rows.draws);
    categorical_normalisers(rows.outputs, outputs, count, rows.terms);
    categorical_sample(rows.outputs, rows.terms, rows.draws, outputs, count, rows.actions);
    categorical_log_probs(rows.outputs, rows.terms, rows.actions, outputs, count, rows.log_probs);
  } else {
    const float* log_std = rows.params + network_.log_std_offset();
    random_normals(rows.streams, outputs, rows.draws, kTileRows);
    gaussian_sample(rows.outputs, log_std, rows.draws, outputs, count, rows.actions);
    gaussian_log_probs(rows.outputs, log_std, rows.actions, outputs, count, rows.terms,
                       rows.log_probs);
  }
}

void PolicySampler::act_best(const ActRows& rows) const {
  const int outputs = network_.shape().action_outputs;
  if (network_.shape().action_kind == SpaceKind::kDiscrete) {
    categorical_mode(rows.outputs, outputs, rows.streams.rows, rows.actions);
  } else {
    std::copy_n(rows.outputs, outputs * kTileRows, rows.actions);
  }
}

}  // namespace broadloom
