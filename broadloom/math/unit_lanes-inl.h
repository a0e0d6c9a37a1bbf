// Vectors of a recurrent cell's units, for a row of any width. Included once per target, hence the
// guard.
#if defined(BROADLOOM_MATH_UNIT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_UNIT_LANES_INL_H_
#undef BROADLOOM_MATH_UNIT_LANES_INL_H_
#else
#define BROADLOOM_MATH_UNIT_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "broadloom/math/functions-inl.h"
#include "broadloom/math/tail-inl.h"
#include "broadloom/math/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads and stores of a row's units from i on.
template <class T>
struct UnitLanes {
  std::size_t count;  // units among the lanes

  HWY_INLINE hn::Vec<Lanes<T>> load(const T* source) const {
    const Lanes<T> d;
    return count >= hn::MaxLanes(d) ? hn::LoadU(d, source) : load_tail(d, source, count);
  }
  HWY_INLINE void store(hn::Vec<Lanes<T>> value, T* target) const {
    const Lanes<T> d;
    if (count >= hn::MaxLanes(d)) {
      hn::StoreU(value, d, target);
    } else {
      store_tail(d, value, target, count);
    }
  }
};

template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const auto one = hn::Set(d, hn::TFromD<D>(1));
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}

// Calls f(lanes, i) for the vectors of a row of units.
template <class T, class F>
HWY_INLINE void over_units(std::size_t width, F&& f) {
  constexpr std::size_t kLanes = hn::MaxLanes(Lanes<T>());
  for (std::size_t i = 0; i < width; i += kLanes) f(UnitLanes<T>{width - i}, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
