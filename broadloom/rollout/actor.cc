#include "broadloom/rollout/actor.h"

#include <algorithm>

#include "broadloom/nn/categorical_heads.h"
#include "broadloom/nn/distributions.h"

namespace broadloom {

void PolicySampler::act(const ActRows& rows) const {
  const NetworkShape& shape = network_.shape();
  const int outputs = shape.action_outputs, count = rows.streams.rows;
  if (shape.is_categorical()) {
    const CategoricalHeads heads(shape.heads());
    random_uniforms(rows.streams, shape.action_size(), rows.draws, kTileRows);
    heads.normalisers(rows.outputs, count, rows.terms);
    heads.sample(rows.outputs, rows.terms, rows.draws, count, rows.actions, shape.masked);
    heads.log_probs(rows.outputs, rows.terms, rows.actions, count, rows.log_probs);
  } else {
    random_normals(rows.streams, outputs, rows.draws, kTileRows);
    gaussian_sample(rows.outputs, rows.log_std, rows.draws, outputs, count, rows.actions);
    gaussian_log_probs(rows.outputs, rows.log_std, rows.actions, outputs, count, rows.terms,
                       rows.log_probs);
  }
}

void PolicySampler::act_best(const ActRows& rows) const {
  const NetworkShape& shape = network_.shape();
  if (shape.is_categorical()) {
    CategoricalHeads(shape.heads()).mode(rows.outputs, rows.streams.rows, rows.actions);
  } else {
    std::copy_n(rows.outputs, shape.action_outputs * kTileRows, rows.actions);
  }
}

}  // namespace broadloom
