#include "broadloom/nn/distributions.h"

#include <algorithm>

#include <cstddef>

#include "broadloom/core/portable_math.h"
#include "broadloom/math/targets.h"
#include "broadloom/nn/chain.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/nn/distributions.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/functions-inl.h"
#include "broadloom/math/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr double kHalfLog2Pi = 0.91893853320467274178;

// Calls f(first column) for every vector of columns.
template <class T, class F>
HWY_INLINE void over_rows(int rows, F&& f) {
  static_assert(kTileRows % hn::MaxLanes(hn::ScalableTag<T>()) == 0);
  for (int r = 0; r < rows; r += static_cast<int>(hn::MaxLanes(hn::ScalableTag<T>()))) f(r);
}

constexpr std::size_t at(int i, int r) { return static_cast<std::size_t>(i) * kTileRows + r; }

template <class T>
void normalisers_as(const T* logits, int count, int rows, T* normalisers) {
  const hn::ScalableTag<T> d;
  over_rows<T>(rows, [&](int r) HWY_ATTR {
    auto top = hn::LoadU(d, logits + r);
    for (int i = 1; i < count; ++i) top = hn::Max(top, hn::LoadU(d, logits + at(i, r)));
    auto sum = hn::Zero(d);
    for (int i = 0; i < count; ++i) {
      sum = hn::Add(sum, exp_of(d, hn::Sub(hn::LoadU(d, logits + at(i, r)), top)));
    }
    hn::StoreU(hn::Add(top, log_of(d, sum)), d, normalisers + r);
  });
}

template <class T>
void categorical_log_probs_as(const T* logits, const T* normalisers, const T* actions, int count,
                              int rows, T* log_probs) {
  const hn::ScalableTag<T> d;
  over_rows<T>(rows, [&](int r) HWY_ATTR {
    const auto action = hn::LoadU(d, actions + r);
    auto chosen = hn::LoadU(d, logits + r);
    for (int i = 1; i < count; ++i) {
      const auto is_chosen = hn::Eq(action, hn::Set(d, static_cast<T>(i)));
      chosen = hn::IfThenElse(is_chosen, hn::LoadU(d, logits + at(i, r)), chosen);
    }
    hn::StoreU(hn::Sub(chosen, hn::LoadU(d, normalisers + r)), d, log_probs + r);
  });
}

template <class T>
void entropies_as(const T* logits, const T* normalisers, int count, int rows, T* probs,
                  T* entropies) {
  const hn::ScalableTag<T> d;
  over_rows<T>(rows, [&](int r) HWY_ATTR {
    const auto normaliser = hn::LoadU(d, normalisers + r);
    auto entropy = hn::Zero(d);
    for (int i = 0; i < count; ++i) {
      const auto log_prob = hn::Sub(hn::LoadU(d, logits + at(i, r)), normaliser);
      const auto prob = exp_of(d, log_prob);
      hn::StoreU(prob, d, probs + at(i, r));
      entropy = neg_mul_add(prob, log_prob, entropy);
    }
    hn::StoreU(entropy, d, entropies + r);
  });
}

template <class T>
void categorical_backward_as(const T* logits, const T* normalisers, const T* probs,
                             const T* entropies, const T* actions, const T* a, T b, int count,
                             int rows, T* d_logits) {
  const hn::ScalableTag<T> d;
  over_rows<T>(rows, [&](int r) HWY_ATTR {
    const auto action = hn::LoadU(d, actions + r);
    const auto weight = hn::LoadU(d, a + r);
    const auto offset = hn::Sub(hn::LoadU(d, entropies + r), hn::LoadU(d, normalisers + r));
    for (int i = 0; i < count; ++i) {
      const auto prob = hn::LoadU(d, probs + at(i, r));
      const auto is_chosen = hn::Eq(action, hn::Set(d, static_cast<T>(i)));
      const auto score = hn::Sub(hn::IfThenElseZero(is_chosen, hn::Set(d, T(1))), prob);
      const auto log_prob_and_entropy = hn::Add(hn::LoadU(d, logits + at(i, r)), offset);
      const auto entropy_part = hn::Mul(hn::Set(d, b), hn::Mul(prob, log_prob_and_entropy));
      hn::StoreU(mul_sub(weight, score, entropy_part), d, d_logits + at(i, r));
    }
  });
}

template <class T>
void gaussian_log_probs_as(const T* means, const T* log_std, const T* actions, int count, int rows,
                           T* scaled, T* log_probs) {
  const hn::ScalableTag<T> d;
  over_rows<T>(rows, [&](int r) HWY_ATTR {
    auto log_prob = hn::Zero(d);
    for (int i = 0; i < count; ++i) {
      const auto inverse_std = hn::Set(d, static_cast<T>(portable::exp(-log_std[i])));
      const auto constant = hn::Set(d, log_std[i] + static_cast<T>(kHalfLog2Pi));
      const auto z = hn::Mul(
          hn::Sub(hn::LoadU(d, actions + at(i, r)), hn::LoadU(d, means + at(i, r))), inverse_std);
      hn::StoreU(z, d, scaled + at(i, r));
      log_prob = hn::Sub(log_prob, mul_add(hn::Mul(hn::Set(d, T(0.5)), z), z, constant));
    }
    hn::StoreU(log_prob, d, log_probs + r);
  });
}

template <class T>
void gaussian_backward_as(const T* scaled, const T* log_std, const T* a, T b, int count, int rows,
                          T* d_means, T* d_log_std) {
  const hn::ScalableTag<T> d;
  for (int i = 0; i < count; ++i) {
    const auto inverse_std = hn::Set(d, static_cast<T>(portable::exp(-log_std[i])));
    LaneSums<T> sums;
    over_rows<T>(rows, [&](int r) HWY_ATTR {
      auto& sum = sums.part[static_cast<std::size_t>(r) / hn::MaxLanes(d) % kParts<T>];
      const auto weight = hn::LoadU(d, a + r);
      const auto z = hn::LoadU(d, scaled + at(i, r));
      hn::StoreU(hn::Mul(weight, hn::Mul(z, inverse_std)), d, d_means + at(i, r));
      const auto share = hn::Mul(weight, mul_sub(z, z, hn::Set(d, T(1))));
      const auto counts = hn::FirstN(d, static_cast<std::size_t>(rows - r));
      sum = hn::Add(sum, hn::IfThenElseZero(counts, share));
    });
    d_log_std[i] += sums.total() + b * static_cast<T>(rows);
  }
}

void CategoricalSampleF32(const float* logits, const float* normalisers, const float* uniforms,
                          int count, int rows, float* actions) {
  const hn::ScalableTag<float> d;
  over_rows<float>(rows, [&](int r) HWY_ATTR {
    const auto normaliser = hn::LoadU(d, normalisers + r);
    const auto u = hn::LoadU(d, uniforms + r);
    auto cumulative = hn::Zero(d);
    auto action = hn::Zero(d);
    for (int i = 0; i + 1 < count; ++i) {
      const auto log_prob = hn::Sub(hn::LoadU(d, logits + at(i, r)), normaliser);
      cumulative = hn::Add(cumulative, exp_of(d, log_prob));
      action = hn::Add(action, hn::IfThenElseZero(hn::Ge(u, cumulative), hn::Set(d, 1.0f)));
    }
    hn::StoreU(action, d, actions + r);
  });
}

void GaussianSampleF32(const float* means, const float* log_std, const float* normals, int count,
                       int rows, float* actions) {
  const hn::ScalableTag<float> d;
  for (int i = 0; i < count; ++i) {
    const auto deviation = hn::Set(d, static_cast<float>(portable::exp(log_std[i])));
    over_rows<float>(rows, [&](int r) HWY_ATTR {
      const auto mean = hn::LoadU(d, means + at(i, r));
      hn::StoreU(mul_add(deviation, hn::LoadU(d, normals + at(i, r)), mean), d, actions + at(i, r));
    });
  }
}

// HWY_EXPORT needs a name of its own per type.
#define BROADLOOM_FUNCTIONS(T, S)                                                                \
  void Normalisers##S(const T* l, int count, int rows, T* n) {                                   \
    normalisers_as(l, count, rows, n);                                                           \
  }                                                                                              \
  void CategoricalLogProbs##S(const T* l, const T* n, const T* a, int count, int rows, T* out) { \
    categorical_log_probs_as(l, n, a, count, rows, out);                                         \
  }                                                                                              \
  void Entropies##S(const T* l, const T* n, int count, int rows, T* probs, T* out) {             \
    entropies_as(l, n, count, rows, probs, out);                                                 \
  }                                                                                              \
  void CategoricalBackward##S(const T* l, const T* n, const T* p, const T* h, const T* act,      \
                              const T* a, T b, int count, int rows, T* out) {                    \
    categorical_backward_as(l, n, p, h, act, a, b, count, rows, out);                            \
  }                                                                                              \
  void GaussianLogProbs##S(const T* m, const T* s, const T* a, int count, int rows, T* z,        \
                           T* out) {                                                             \
    gaussian_log_probs_as(m, s, a, count, rows, z, out);                                         \
  }                                                                                              \
  void GaussianBackward##S(const T* z, const T* s, const T* a, T b, int count, int rows, T* dm,  \
                           T* ds) {                                                              \
    gaussian_backward_as(z, s, a, b, count, rows, dm, ds);                                       \
  }
BROADLOOM_FUNCTIONS(float, F32)
BROADLOOM_FUNCTIONS(double, F64)
#undef BROADLOOM_FUNCTIONS

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(CategoricalSampleF32);
HWY_EXPORT(GaussianSampleF32);

#define BROADLOOM_DISPATCH(T, S)                                                                   \
  HWY_EXPORT(Normalisers##S);                                                                      \
  HWY_EXPORT(CategoricalLogProbs##S);                                                              \
  HWY_EXPORT(Entropies##S);                                                                        \
  HWY_EXPORT(CategoricalBackward##S);                                                              \
  HWY_EXPORT(GaussianLogProbs##S);                                                                 \
  HWY_EXPORT(GaussianBackward##S);                                                                 \
  void categorical_normalisers(const T* logits, int count, int rows, T* normalisers) {             \
    HWY_DYNAMIC_DISPATCH(Normalisers##S)(logits, count, rows, normalisers);                        \
  }                                                                                                \
  void categorical_log_probs(const T* logits, const T* normalisers, const T* actions, int count,   \
                             int rows, T* log_probs) {                                             \
    HWY_DYNAMIC_DISPATCH(CategoricalLogProbs##S)                                                   \
    (logits, normalisers, actions, count, rows, log_probs);                                        \
  }                                                                                                \
  void categorical_entropies(const T* logits, const T* normalisers, int count, int rows, T* probs, \
                             T* entropies) {                                                       \
    HWY_DYNAMIC_DISPATCH(Entropies##S)(logits, normalisers, count, rows, probs, entropies);        \
  }                                                                                                \
  void categorical_backward(const T* logits, const T* normalisers, const T* probs,                 \
                            const T* entropies, const T* actions, const T* a, T b, int count,      \
                            int rows, T* d_logits) {                                               \
    HWY_DYNAMIC_DISPATCH(CategoricalBackward##S)                                                   \
    (logits, normalisers, probs, entropies, actions, a, b, count, rows, d_logits);                 \
  }                                                                                                \
  void gaussian_log_probs(const T* means, const T* log_std, const T* actions, int count, int rows, \
                          T* scaled, T* log_probs) {                                               \
    HWY_DYNAMIC_DISPATCH(GaussianLogProbs##S)                                                      \
    (means, log_std, actions, count, rows, scaled, log_probs);                                     \
  }                                                                                                \
  void gaussian_backward(const T* scaled, const T* log_std, const T* a, T b, int count, int rows,  \
                         T* d_means, T* d_log_std) {                                               \
    HWY_DYNAMIC_DISPATCH(GaussianBackward##S)                                                      \
    (scaled, log_std, a, b, count, rows, d_means, d_log_std);                                      \
  }                                                                                                \
  T gaussian_entropy(const T* log_std, int count) {                                                \
    T entropy = 0;                                                                                 \
    for (int i = 0; i < count; ++i) entropy += T(0.5) + static_cast<T>(kHalfLog2Pi) + log_std[i];  \
    return entropy;                                                                                \
  }

namespace {
constexpr double kHalfLog2Pi = 0.91893853320467274178;
}
BROADLOOM_DISPATCH(float, F32)
BROADLOOM_DISPATCH(double, F64)
#undef BROADLOOM_DISPATCH

void categorical_sample(const float* logits, const float* normalisers, const float* uniforms,
                        int count, int rows, float* actions) {
  HWY_DYNAMIC_DISPATCH(CategoricalSampleF32)(logits, normalisers, uniforms, count, rows, actions);
}

void categorical_mode(const float* logits, int count, int rows, float* actions) {
  for (int r = 0; r < rows; ++r) {
    int best = 0;
    for (int i = 1; i < count; ++i) {
      if (logits[i * kTileRows + r] > logits[best * kTileRows + r]) best = i;
    }
    actions[r] = static_cast<float>(best);
  }
}

namespace {

template <class T>
void largest_as(const T* outputs, int count, int rows, T* largest) {
  std::copy_n(outputs, rows, largest);
  for (int i = 1; i < count; ++i) {
    const T* row = outputs + i * kTileRows;
    for (int r = 0; r < rows; ++r) {
      largest[r] = row[r] > largest[r] || row[r] != row[r] ? row[r] : largest[r];
    }
  }
}

}  // namespace

void largest_outputs(const float* outputs, int count, int rows, float* largest) {
  largest_as(outputs, count, rows, largest);
}
void largest_outputs(const double* outputs, int count, int rows, double* largest) {
  largest_as(outputs, count, rows, largest);
}

void gaussian_sample(const float* means, const float* log_std, const float* normals, int count,
                     int rows, float* actions) {
  HWY_DYNAMIC_DISPATCH(GaussianSampleF32)(means, log_std, normals, count, rows, actions);
}

}  // namespace broadloom
#endif  // HWY_ONCE
