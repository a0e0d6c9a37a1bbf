#include "broadloom/rollout/actor.h"

namespace broadloom {

void PolicySampler::act(const ActRows& rows) const {
  policy_.sample(rows.outputs, rows.log_std, rows.streams, rows.draws, rows.terms, rows.actions,
                 rows.log_probs, rows.noise);
}

void PolicySampler::act_best(const ActRows& rows) const {
  policy_.best(rows.outputs, rows.streams.rows, rows.actions);
}

}  // namespace broadloom
