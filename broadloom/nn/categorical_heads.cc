#include "broadloom/nn/categorical_heads.h"

#include <algorithm>

#include "broadloom/math/elementwise.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/nn/layer.h"

namespace broadloom {
namespace {

constexpr std::size_t kRow = kTileRows;

// Replaces invalid actions by the valid ones before them. logits: of one head.
void step_back(const float* logits, int rows, float* actions) {
  for (int r = 0; r < rows; ++r) {
    while (actions[r] > 0.0f &&
           logits[static_cast<std::size_t>(actions[r]) * kRow + r] == kInvalidLogit) {
      actions[r] -= 1.0f;
    }
  }
}

}  // namespace

template <class Visit>
void CategoricalHeads::each(Visit&& visit) const {
  std::size_t first = 0, row = 0;
  for (const int count : counts_) {
    visit(count, first, row);
    first += static_cast<std::size_t>(count) * kRow;
    row += kRow;
  }
}

template <class Real>
void CategoricalHeads::normalisers(const Real* logits, int rows, Real* normalisers) const {
  each([&](int count, std::size_t first, std::size_t row) {
    categorical_normalisers(logits + first, count, rows, normalisers + row);
  });
}

template <class Real>
void CategoricalHeads::log_probs(const Real* logits, const Real* normalisers, const Real* actions,
                                 int rows, Real* log_probs) const {
  Real part[kRow];
  each([&](int count, std::size_t first, std::size_t row) {
    Real* out = row == 0 ? log_probs : part;
    categorical_log_probs(logits + first, normalisers + row, actions + row, count, rows, out);
    if (row > 0) add_into(log_probs, part, static_cast<std::size_t>(rows));
  });
}

template <class Real>
void CategoricalHeads::entropies(const Real* logits, const Real* normalisers, int rows, Real* probs,
                                 Real* head_entropies, Real* entropies) const {
  each([&](int count, std::size_t first, std::size_t row) {
    Real* own = head_entropies + row;
    categorical_entropies(logits + first, normalisers + row, count, rows, probs + first, own);
    if (row == 0) {
      std::copy_n(own, rows, entropies);
    } else {
      add_into(entropies, own, static_cast<std::size_t>(rows));
    }
  });
}

template <class Real>
void CategoricalHeads::backward(const Real* logits, const Real* normalisers, const Real* probs,
                                const Real* head_entropies, const Real* actions, const Real* a,
                                Real b, int rows, Real* d_logits) const {
  each([&](int count, std::size_t first, std::size_t row) {
    categorical_backward(logits + first, normalisers + row, probs + first, head_entropies + row,
                         actions + row, a, b, count, rows, d_logits + first);
  });
}

void CategoricalHeads::sample(const float* logits, const float* normalisers, const float* uniforms,
                              int rows, float* actions, bool masked) const {
  each([&](int count, std::size_t first, std::size_t row) {
    categorical_sample(logits + first, normalisers + row, uniforms + row, count, rows,
                       actions + row);
    if (masked) step_back(logits + first, rows, actions + row);
  });
}

void CategoricalHeads::mode(const float* logits, int rows, float* actions) const {
  each([&](int count, std::size_t first, std::size_t row) {
    categorical_mode(logits + first, count, rows, actions + row);
  });
}

#define BROADLOOM_CATEGORICAL_HEADS(Real)                                                       \
  template void CategoricalHeads::normalisers(const Real*, int, Real*) const;                   \
  template void CategoricalHeads::log_probs(const Real*, const Real*, const Real*, int, Real*)  \
      const;                                                                                    \
  template void CategoricalHeads::entropies(const Real*, const Real*, int, Real*, Real*, Real*) \
      const;                                                                                    \
  template void CategoricalHeads::backward(const Real*, const Real*, const Real*, const Real*,  \
                                           const Real*, const Real*, Real, int, Real*) const;
BROADLOOM_CATEGORICAL_HEADS(float)
BROADLOOM_CATEGORICAL_HEADS(double)
#undef BROADLOOM_CATEGORICAL_HEADS

}  // namespace broadloom
