#include "broadloom/nn/pair_distributions.h"

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "broadloom/math/targets.h"
#include "broadloom/nn/chain.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/nn/pair_distributions.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Wide = hn::Vec<Doubles>;

constexpr double kPairHalfLog2Pi = 0.91893853320467274178;
constexpr double kPairLn2 = 0.69314718055994530942;

HWY_INLINE Wide wide(double number) { return hn::Set(Doubles(), number); }

template <class T>
HWY_INLINE Wide load_wide(const T* source) {
  const Doubles d;
  if constexpr (std::is_same_v<T, double>) {
    return hn::LoadU(d, source);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, Doubles>(), source));
  }
}

template <class T>
HWY_INLINE void store_wide(Wide numbers, T* target) {
  const Doubles d;
  if constexpr (std::is_same_v<T, double>) {
    hn::StoreU(numbers, d, target);
  } else {
    const hn::Rebind<T, Doubles> narrow;
    hn::StoreU(hn::DemoteTo(narrow, numbers), narrow, target);
  }
}

// Calls f(first column) for every vector of doubles.
template <class F>
HWY_INLINE void over_columns(int rows, F&& f) {
  static_assert(kTileRows % hn::MaxLanes(Doubles()) == 0);
  for (int r = 0; r < rows; r += static_cast<int>(hn::MaxLanes(Doubles()))) f(r);
}

constexpr std::size_t place(int i, int r) { return static_cast<std::size_t>(i) * kTileRows + r; }

// log(1 + e^-|x|).
HWY_INLINE Wide log_of_one_and(Wide x) {
  const Doubles d;
  return log_of(d, hn::Add(wide(1.0), exp_of(d, hn::Neg(hn::Abs(x)))));
}

// log(1 + e^x).
HWY_INLINE Wide softplus(Wide x) {
  const auto positive = hn::IfThenZeroElse(hn::Lt(x, wide(0.0)), x);
  return hn::Add(positive, log_of_one_and(x));
}

// 1 / (1 + e^-x), the derivative of softplus().
HWY_INLINE Wide sigmoid(Wide x) {
  return hn::Div(wide(1.0), hn::Add(wide(1.0), exp_of(Doubles(), hn::Neg(x))));
}

// c(x) = log(1 - tanh(x)^2).
HWY_INLINE Wide log_slope_of_tanh(Wide x) {
  const Wide twice = hn::Mul(wide(2.0), hn::Abs(x));
  return hn::Sub(hn::Sub(wide(2.0 * kPairLn2), twice), hn::Mul(wide(2.0), log_of_one_and(twice)));
}

// log Gamma, digamma and trigamma for x >= 1, by their recurrences to x + 6 and the series there
// (Abramowitz and Stegun 1964, 6.1.41, 6.3.18, 6.4.12). Each is within 1e-13, or relatively.
constexpr int kShifts = 6;

HWY_INLINE Wide log_gamma(Wide x) {
  const Doubles d;
  constexpr double kSeries[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  Wide product = x;
  for (int k = 1; k < kShifts; ++k) product = hn::Mul(product, hn::Add(x, wide(k)));
  const Wide z = hn::Add(x, wide(kShifts));
  const Wide inverse = hn::Div(wide(1.0), z);
  const Wide series = hn::Mul(inverse, polynomial(d, hn::Mul(inverse, inverse), kSeries));
  const Wide main = mul_sub(hn::Sub(z, wide(0.5)), log_of(d, z), z);
  return hn::Sub(hn::Add(hn::Add(main, wide(kPairHalfLog2Pi)), series), log_of(d, product));
}

HWY_INLINE Wide digamma(Wide x) {
  const Doubles d;
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12};
  Wide sum = hn::Div(wide(1.0), x);
  for (int k = 1; k < kShifts; ++k) {
    sum = hn::Add(sum, hn::Div(wide(1.0), hn::Add(x, wide(k))));
  }
  const Wide z = hn::Add(x, wide(kShifts));
  const Wide inverse = hn::Div(wide(1.0), z);
  const Wide square = hn::Mul(inverse, inverse);
  const Wide series = hn::Mul(square, polynomial(d, square, kSeries));
  return hn::Sub(hn::Sub(hn::Sub(log_of(d, z), hn::Mul(wide(0.5), inverse)), series), sum);
}

HWY_INLINE Wide trigamma(Wide x) {
  const Doubles d;
  constexpr double kSeries[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                5.0 / 66, -691.0 / 2730, 7.0 / 6};
  Wide sum = hn::Zero(d);
  for (int k = 0; k < kShifts; ++k) {
    const Wide step = hn::Add(x, wide(k));
    sum = hn::Add(sum, hn::Div(wide(1.0), hn::Mul(step, step)));
  }
  const Wide inverse = hn::Div(wide(1.0), hn::Add(x, wide(kShifts)));
  const Wide square = hn::Mul(inverse, inverse);
  const Wide series = hn::Mul(hn::Mul(square, inverse), polynomial(d, square, kSeries));
  return hn::Add(hn::Add(sum, inverse), hn::Add(hn::Mul(wide(0.5), square), series));
}

// NaN stays NaN.
HWY_INLINE Wide between(Wide x, double low, double high) {
  const Wide bounded = hn::IfThenElse(hn::Lt(x, wide(low)), wide(low), x);
  return hn::IfThenElse(hn::Gt(bounded, wide(high)), wide(high), bounded);
}

// A Gaussian, perhaps squashed.
struct Normal {
  Wide mean, log_std, deviation, inverse;
  hn::Mask<Doubles> learns;  // whether log_std lies within its bounds

  HWY_INLINE Normal(const PairShape& shape, Wide first, Wide second)
      : mean(first), log_std(between(second, shape.low, shape.high)) {
    const Doubles d;
    deviation = exp_of(d, log_std);
    inverse = exp_of(d, hn::Neg(log_std));
    learns = hn::Eq(log_std, second);
  }
  HWY_INLINE Wide scaled(Wide x) const { return hn::Mul(hn::Sub(x, mean), inverse); }
  HWY_INLINE Wide log_prob(const PairShape& shape, Wide x) const {
    const Wide z = scaled(x);
    const Wide constant = hn::Add(log_std, wide(kPairHalfLog2Pi));
    const Wide plain = hn::Neg(mul_add(hn::Mul(wide(0.5), z), z, constant));
    return shape.kind == PairKind::kSquashed ? hn::Sub(plain, log_slope_of_tanh(x)) : plain;
  }
};

struct Beta {
  Wide alpha, beta, sum;

  HWY_INLINE Beta(Wide first, Wide second)
      : alpha(hn::Add(wide(1.0), softplus(first))),
        beta(hn::Add(wide(1.0), softplus(second))),
        sum(hn::Add(alpha, beta)) {}
  HWY_INLINE Wide log_normaliser() const {  // log B(alpha, beta)
    return hn::Sub(hn::Add(log_gamma(alpha), log_gamma(beta)), log_gamma(sum));
  }
  // log b and log(1 - b), from x = log(b / (1 - b)).
  HWY_INLINE static Wide log_share(Wide x) { return hn::Neg(softplus(hn::Neg(x))); }
  HWY_INLINE static Wide log_rest(Wide x) { return hn::Neg(softplus(x)); }
  HWY_INLINE Wide log_prob(Wide x) const {
    const Wide left = hn::Mul(hn::Sub(alpha, wide(1.0)), log_share(x));
    const Wide right = hn::Mul(hn::Sub(beta, wide(1.0)), log_rest(x));
    return hn::Sub(hn::Sub(hn::Add(left, right), log_normaliser()), wide(kPairLn2));
  }
};

template <class T>
void pair_log_probs_as(const PairShape& shape, const T* first, const T* second, const T* actions,
                       int rows, T* log_probs) {
  over_columns(rows, [&](int r) HWY_ATTR {
    Wide total = hn::Zero(Doubles());
    for (int i = 0; i < shape.count; ++i) {
      const Wide one = load_wide(first + place(i, r)), two = load_wide(second + place(i, r));
      const Wide x = load_wide(actions + place(i, r));
      total = hn::Add(total, shape.kind == PairKind::kBeta
                                 ? Beta(one, two).log_prob(x)
                                 : Normal(shape, one, two).log_prob(shape, x));
    }
    store_wide(total, log_probs + r);
  });
}

// The derivatives of one dimension, and its entropy.
struct PairSlopes {
  Wide score_first, score_second, entropy_first, entropy_second, entropy;
};

// Points and weights of the expectation over a standard normal number, for +-point each: the roots
// of the Hermite polynomial of degree 16 (Abramowitz and Stegun 1964, 25.4.46).
constexpr double kPoints[] = {0.3867606045005574, 1.1638291005549648, 1.9519803457163334,
                              2.7602450476307014, 3.6008736241715487, 4.492955302520011,
                              5.472225705949343,  6.630878198393129};
constexpr double kWeights[] = {0.286568521238012,     0.1583383727509497,    0.04728475235401406,
                               0.007266937601184749,  0.0005259849265739087, 1.530003216248732e-05,
                               1.309473216286817e-07, 1.4978147231618412e-10};

HWY_INLINE PairSlopes slopes_of(const PairShape& shape, const Normal& normal, Wide x) {
  const Doubles d;
  const Wide zero = hn::Zero(d), one = wide(1.0), z = normal.scaled(x);
  PairSlopes out{hn::Mul(z, normal.inverse), hn::IfThenElseZero(normal.learns, mul_sub(z, z, one)),
                 zero, one, hn::Add(normal.log_std, wide(0.5 + kPairHalfLog2Pi))};
  if (shape.kind == PairKind::kSquashed) {
    for (std::size_t k = 0; k < std::size(kPoints); ++k) {
      for (const double point : {kPoints[k], -kPoints[k]}) {
        const Wide moved = hn::Mul(wide(point), normal.deviation);
        const Wide number = hn::Add(normal.mean, moved);
        const Wide slope = hn::Mul(wide(-2.0 * kWeights[k]), tanh_of(d, number));
        out.entropy = mul_add(wide(kWeights[k]), log_slope_of_tanh(number), out.entropy);
        out.entropy_first = hn::Add(out.entropy_first, slope);
        out.entropy_second = mul_add(slope, moved, out.entropy_second);
      }
    }
  }
  out.entropy_second = hn::IfThenElseZero(normal.learns, out.entropy_second);
  return out;
}

HWY_INLINE PairSlopes slopes_of(const Beta& beta, Wide first, Wide second, Wide x) {
  const Wide one = wide(1.0), of_sum = digamma(beta.sum), bend = trigamma(beta.sum);
  const Wide of_alpha = digamma(beta.alpha), of_beta = digamma(beta.beta);
  const Wide left = hn::Sub(beta.alpha, one), right = hn::Sub(beta.beta, one);
  const Wide both = hn::Add(left, right), by_first = sigmoid(first), by_second = sigmoid(second);
  const Wide shared = hn::Mul(both, bend);
  Wide entropy = hn::Add(hn::Add(beta.log_normaliser(), wide(kPairLn2)), hn::Mul(both, of_sum));
  entropy = hn::Sub(hn::Sub(entropy, hn::Mul(left, of_alpha)), hn::Mul(right, of_beta));
  return {
      hn::Mul(by_first, hn::Add(hn::Sub(Beta::log_share(x), of_alpha), of_sum)),
      hn::Mul(by_second, hn::Add(hn::Sub(Beta::log_rest(x), of_beta), of_sum)),
      hn::Mul(by_first, hn::Sub(shared, hn::Mul(left, trigamma(beta.alpha)))),
      hn::Mul(by_second, hn::Sub(shared, hn::Mul(right, trigamma(beta.beta)))),
      entropy,
  };
}

template <class T>
void pair_terms_as(const PairShape& shape, const T* first, const T* second, const T* actions,
                   int rows, T* terms, T* entropies) {
  over_columns(rows, [&](int r) HWY_ATTR {
    Wide entropy = hn::Zero(Doubles());
    for (int i = 0; i < shape.count; ++i) {
      const Wide one = load_wide(first + place(i, r)), two = load_wide(second + place(i, r));
      const Wide x = load_wide(actions + place(i, r));
      const PairSlopes slopes = shape.kind == PairKind::kBeta
                                    ? slopes_of(Beta(one, two), one, two, x)
                                    : slopes_of(shape, Normal(shape, one, two), x);
      entropy = hn::Add(entropy, slopes.entropy);
      store_wide(slopes.score_first, terms + place(i, r));
      store_wide(slopes.score_second, terms + place(shape.count + i, r));
      store_wide(slopes.entropy_first, terms + place(2 * shape.count + i, r));
      store_wide(slopes.entropy_second, terms + place(3 * shape.count + i, r));
    }
    store_wide(entropy, entropies + r);
  });
}

template <class T>
void pair_backward_as(int count, const T* terms, const T* a, T b, int rows, T* d_first,
                      T* d_second) {
  const hn::ScalableTag<T> d;
  const auto bonus = hn::Set(d, b);
  for (int i = 0; i < count; ++i) {
    for (int r = 0; r < rows; r += static_cast<int>(hn::MaxLanes(d))) {
      const auto weight = hn::LoadU(d, a + r);
      const auto derivative = [&](int score, int entropy) HWY_ATTR {
        return mul_add(weight, hn::LoadU(d, terms + place(score, r)),
                       hn::Mul(bonus, hn::LoadU(d, terms + place(entropy, r))));
      };
      hn::StoreU(derivative(i, 2 * count + i), d, d_first + place(i, r));
      hn::StoreU(derivative(count + i, 3 * count + i), d, d_second + place(i, r));
    }
  }
}

// KL(old || new) of diagonal Gaussians: log(s / s_old) + (s_old^2 + (m_old - m)^2) / (2 s^2) - 1/2.
HWY_INLINE Wide kl_of(const Normal& before, const Normal& after) {
  const Doubles d;
  const Wide off = hn::Mul(hn::Sub(before.mean, after.mean), after.inverse);
  const Wide change = hn::Sub(after.log_std, before.log_std);
  const Wide ratio = exp_of(d, hn::Mul(wide(-2.0), change));
  return hn::Add(change, hn::Mul(wide(0.5), hn::Add(hn::Mul(off, off), hn::Sub(ratio, wide(1.0)))));
}

// log B(new) - log B(old) + (a - a') digamma(a) + (b - b') digamma(b) + (a' + b' - a - b)
// digamma(a + b), with the old a and b.
HWY_INLINE Wide kl_of(const Beta& before, const Beta& after) {
  const Wide left = hn::Sub(before.alpha, after.alpha), right = hn::Sub(before.beta, after.beta);
  const Wide normalisers = hn::Sub(after.log_normaliser(), before.log_normaliser());
  const Wide own =
      hn::Add(hn::Mul(left, digamma(before.alpha)), hn::Mul(right, digamma(before.beta)));
  return hn::Sub(hn::Add(normalisers, own), hn::Mul(hn::Add(left, right), digamma(before.sum)));
}

template <class T>
void pair_kl_as(const PairShape& shape, const T* old_first, const T* old_second, const T* first,
                const T* second, int rows, double* kl) {
  over_columns(rows, [&](int r) HWY_ATTR {
    Wide total = hn::Zero(Doubles());
    for (int i = 0; i < shape.count; ++i) {
      const Wide was = load_wide(old_first + place(i, r)), one = load_wide(first + place(i, r));
      const Wide was_too = load_wide(old_second + place(i, r)),
                 two = load_wide(second + place(i, r));
      total = hn::Add(total, shape.kind == PairKind::kBeta
                                 ? kl_of(Beta(was, was_too), Beta(one, two))
                                 : kl_of(Normal(shape, was, was_too), Normal(shape, one, two)));
    }
    hn::StoreU(total, Doubles(), kl + r);
  });
}

// HWY_EXPORT needs a name of its own per type.
#define BROADLOOM_PAIR_FUNCTIONS(T, S)                                                           \
  void PairLogProbs##S(const PairShape& s, const T* one, const T* two, const T* x, int rows,     \
                       T* out) {                                                                 \
    pair_log_probs_as(s, one, two, x, rows, out);                                                \
  }                                                                                              \
  void PairTerms##S(const PairShape& s, const T* one, const T* two, const T* x, int rows,        \
                    T* terms, T* out) {                                                          \
    pair_terms_as(s, one, two, x, rows, terms, out);                                             \
  }                                                                                              \
  void PairBackward##S(int count, const T* terms, const T* a, T b, int rows, T* one, T* two) {   \
    pair_backward_as(count, terms, a, b, rows, one, two);                                        \
  }                                                                                              \
  void PairKl##S(const PairShape& s, const T* was, const T* was_too, const T* one, const T* two, \
                 int rows, double* kl) {                                                         \
    pair_kl_as(s, was, was_too, one, two, rows, kl);                                             \
  }
BROADLOOM_PAIR_FUNCTIONS(float, F32)
BROADLOOM_PAIR_FUNCTIONS(double, F64)
#undef BROADLOOM_PAIR_FUNCTIONS

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

#define BROADLOOM_PAIR_DISPATCH(T, S)                                                            \
  HWY_EXPORT(PairLogProbs##S);                                                                   \
  HWY_EXPORT(PairTerms##S);                                                                      \
  HWY_EXPORT(PairBackward##S);                                                                   \
  HWY_EXPORT(PairKl##S);                                                                         \
  template <>                                                                                    \
  void pair_log_probs(const PairShape& shape, const T* first, const T* second, const T* actions, \
                      int rows, T* log_probs) {                                                  \
    HWY_DYNAMIC_DISPATCH(PairLogProbs##S)(shape, first, second, actions, rows, log_probs);       \
  }                                                                                              \
  template <>                                                                                    \
  void pair_terms(const PairShape& shape, const T* first, const T* second, const T* actions,     \
                  int rows, T* terms, T* entropies) {                                            \
    HWY_DYNAMIC_DISPATCH(PairTerms##S)(shape, first, second, actions, rows, terms, entropies);   \
  }                                                                                              \
  template <>                                                                                    \
  void pair_backward(int count, const T* terms, const T* a, T b, int rows, T* d_first,           \
                     T* d_second) {                                                              \
    HWY_DYNAMIC_DISPATCH(PairBackward##S)(count, terms, a, b, rows, d_first, d_second);          \
  }                                                                                              \
  template <>                                                                                    \
  void pair_kl(const PairShape& shape, const T* old_first, const T* old_second, const T* first,  \
               const T* second, int rows, double* kl) {                                          \
    HWY_DYNAMIC_DISPATCH(PairKl##S)(shape, old_first, old_second, first, second, rows, kl);      \
  }
BROADLOOM_PAIR_DISPATCH(float, F32)
BROADLOOM_PAIR_DISPATCH(double, F64)
#undef BROADLOOM_PAIR_DISPATCH

}  // namespace broadloom
#endif  // HWY_ONCE
