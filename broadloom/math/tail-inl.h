// Loads and stores of the first `count` lanes of a vector that never touch memory past them.
//
// On targets without masked memory access, Highway's masked operations may touch whole vectors.
// There, these functions go through a local array. Included once per target, hence the guard.
#if defined(BROADLOOM_MATH_TAIL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BROADLOOM_MATH_TAIL_INL_H_
#undef BROADLOOM_MATH_TAIL_INL_H_
#else
#define BROADLOOM_MATH_TAIL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {

template <class D, class T>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_tail(D d, const T* source, std::size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
  std::memcpy(lanes, source, count * sizeof(T));
  return hwy::HWY_NAMESPACE::Load(d, lanes);
#else
  return hwy::HWY_NAMESPACE::MaskedLoad(hwy::HWY_NAMESPACE::FirstN(d, count), d, source);
#endif
}

template <class D, class T>
HWY_INLINE void store_tail(D d, hwy::HWY_NAMESPACE::Vec<D> value, T* target, std::size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hwy::HWY_NAMESPACE::Store(value, d, lanes);
  std::memcpy(target, lanes, count * sizeof(T));
#else
  hwy::HWY_NAMESPACE::BlendedStore(value, hwy::HWY_NAMESPACE::FirstN(d, count), d, target);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
