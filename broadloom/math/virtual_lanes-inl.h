// Sums over a fixed number of virtual lanes, whatever the processor's vector width. The lanes take
// 64 bytes: 16 floats or 8 doubles, in one vector of AVX-512, two of AVX2, four of NEON.
//
// Element i belongs to virtual lane i % kVirtualLanes. The lanes are then added in a fixed tree, so
// a sum has the same bits everywhere. Included once per target, hence the guard.
#if defined(BROADLOOM_MATH_VIRTUAL_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_VIRTUAL_LANES_INL_H_
#undef BROADLOOM_MATH_VIRTUAL_LANES_INL_H_
#else
#define BROADLOOM_MATH_VIRTUAL_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

template <class T>
constexpr std::size_t kVirtualLanes = 64 / sizeof(T);

// A full vector of T. Part p of kParts holds virtual lanes [p * MaxLanes, (p + 1) * MaxLanes).
template <class T>
using Lanes = hwy::HWY_NAMESPACE::ScalableTag<T>;
template <class T>
constexpr std::size_t kParts = kVirtualLanes<T> / hwy::HWY_NAMESPACE::MaxLanes(Lanes<T>());

// A running sum.
template <class T>
struct LaneSums {
  hwy::HWY_NAMESPACE::Vec<Lanes<T>> part[kParts<T>];

  HWY_INLINE LaneSums() {
    for (auto& p : part) p = hwy::HWY_NAMESPACE::Zero(Lanes<T>());
  }
  // Adds lane k and lane k + half of the lanes, halving until one is left.
  HWY_INLINE T total() const {
    namespace hn = hwy::HWY_NAMESPACE;
    hn::Vec<Lanes<T>> parts[kParts<T>];
    for (std::size_t p = 0; p < kParts<T>; ++p) parts[p] = part[p];
#pragma GCC unroll 4
    for (std::size_t half = kParts<T> / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
      for (std::size_t p = 0; p < half; ++p) parts[p] = hn::Add(parts[p], parts[p + half]);
    }
    return fold(Lanes<T>(), parts[0]);
  }

 private:
  template <class D>
  static HWY_INLINE T fold(D, hwy::HWY_NAMESPACE::Vec<D> lanes) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET != HWY_SCALAR  // a vector of one lane has no halves
    if constexpr (hn::MaxLanes(D()) > 1) {
      const hn::Half<D> half;
      return fold(half, hn::Add(hn::LowerHalf(half, lanes), hn::UpperHalf(half, lanes)));
    }
#endif
    return hn::GetLane(lanes);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
