#include "broadloom/math/min_gru.h"

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/min_gru.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/unit_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Gates and candidate of a row's units, from their sums.
template <class T>
struct UnitGates {
  using V = hn::Vec<Lanes<T>>;
  V candidate, mix, output;
  V candidate_slope;  // d candidate / d a

  HWY_INLINE UnitGates(const UnitLanes<T>& lanes, const T* sums, std::size_t width) {
    const Lanes<T> d;
    const V one = hn::Set(d, T(1));
    const V a = lanes.load(sums);
    const V low = sigmoid_of(d, a);
    const auto is_low = hn::Lt(a, hn::Zero(d));
    candidate = hn::IfThenElse(is_low, low, hn::Add(a, hn::Set(d, T(0.5))));
    candidate_slope = hn::IfThenElse(is_low, hn::Mul(low, hn::Sub(one, low)), one);
    mix = sigmoid_of(d, lanes.load(sums + width));
    output = sigmoid_of(d, lanes.load(sums + 2 * width));
  }
};

// The states before row r; null: zeros.
template <class T>
const T* states_before(const MinGruRows<T>& rows, const T* states, int r) {
  if (rows.begins[r] != 0) return nullptr;
  if (r < rows.sequences) return rows.before + static_cast<std::size_t>(r) * rows.stride;
  return states +
         static_cast<std::size_t>(r - rows.sequences) * static_cast<std::size_t>(rows.width);
}

template <class T>
void min_gru_as(const MinGruRows<T>& rows, T* states, T* y) {
  const Lanes<T> d;
  const std::size_t width = static_cast<std::size_t>(rows.width);
  for (int r = 0; r < rows.rows; ++r) {
    const T* before = states_before(rows, states, r);
    const std::size_t row = static_cast<std::size_t>(r) * width;
    over_units<T>(width, [&](const UnitLanes<T>& lanes, std::size_t i) HWY_ATTR {
      const UnitGates<T> gates(lanes, rows.sums + 3 * row + i, width);
      const auto x = lanes.load(rows.x + row + i);
      const auto last = before == nullptr ? hn::Zero(d) : lanes.load(before + i);
      const auto state = mul_add(gates.mix, hn::Sub(gates.candidate, last), last);
      lanes.store(state, states + row + i);
      lanes.store(mul_add(gates.output, hn::Sub(state, x), x), y + row + i);
    });
  }
}

template <class T>
void min_gru_backward_as(const MinGruRows<T>& rows, const T* states, T* dy, T* d_sums, T* carried) {
  const Lanes<T> d;
  const auto one = hn::Set(d, T(1));
  const std::size_t width = static_cast<std::size_t>(rows.width);
  for (int r = rows.rows; r-- > 0;) {
    const T* before = states_before(rows, states, r);
    T* d_state = carried + static_cast<std::size_t>(r % rows.sequences) * rows.stride;
    const std::size_t row = static_cast<std::size_t>(r) * width;
    over_units<T>(width, [&](const UnitLanes<T>& lanes, std::size_t i) HWY_ATTR {
      const UnitGates<T> gates(lanes, rows.sums + 3 * row + i, width);
      const auto x = lanes.load(rows.x + row + i);
      const auto state = lanes.load(states + row + i);
      const auto last = before == nullptr ? hn::Zero(d) : lanes.load(before + i);
      const auto delta = lanes.load(dy + row + i);
      const auto slope_of = [&](auto gate) HWY_ATTR { return hn::Mul(gate, hn::Sub(one, gate)); };
      // All of the state's derivative: of later rows and of this output.
      const auto whole = mul_add(gates.output, delta, lanes.load(d_state + i));
      const auto d_mix = hn::Mul(whole, hn::Sub(gates.candidate, last));
      T* const out = d_sums + 3 * row + i;
      lanes.store(hn::Mul(hn::Mul(whole, gates.mix), gates.candidate_slope), out);
      lanes.store(hn::Mul(d_mix, slope_of(gates.mix)), out + width);
      lanes.store(hn::Mul(hn::Mul(delta, hn::Sub(state, x)), slope_of(gates.output)),
                  out + 2 * width);
      lanes.store(hn::Mul(hn::Sub(one, gates.output), delta), dy + row + i);
      lanes.store(before == nullptr ? hn::Zero(d) : hn::Mul(hn::Sub(one, gates.mix), whole),
                  d_state + i);
    });
  }
}

void MinGruF32(const MinGruRows<float>& rows, float* states, float* y) {
  min_gru_as(rows, states, y);
}
void MinGruF64(const MinGruRows<double>& rows, double* states, double* y) {
  min_gru_as(rows, states, y);
}
void MinGruBackwardF32(const MinGruRows<float>& rows, const float* states, float* dy, float* d_sums,
                       float* carried) {
  min_gru_backward_as(rows, states, dy, d_sums, carried);
}
void MinGruBackwardF64(const MinGruRows<double>& rows, const double* states, double* dy,
                       double* d_sums, double* carried) {
  min_gru_backward_as(rows, states, dy, d_sums, carried);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(MinGruF32);
HWY_EXPORT(MinGruF64);
HWY_EXPORT(MinGruBackwardF32);
HWY_EXPORT(MinGruBackwardF64);

void min_gru(const MinGruRows<float>& rows, float* states, float* y) {
  HWY_DYNAMIC_DISPATCH(MinGruF32)(rows, states, y);
}
void min_gru(const MinGruRows<double>& rows, double* states, double* y) {
  HWY_DYNAMIC_DISPATCH(MinGruF64)(rows, states, y);
}
void min_gru_backward(const MinGruRows<float>& rows, const float* states, float* dy, float* d_sums,
                      float* carried) {
  HWY_DYNAMIC_DISPATCH(MinGruBackwardF32)(rows, states, dy, d_sums, carried);
}
void min_gru_backward(const MinGruRows<double>& rows, const double* states, double* dy,
                      double* d_sums, double* carried) {
  HWY_DYNAMIC_DISPATCH(MinGruBackwardF64)(rows, states, dy, d_sums, carried);
}

}  // namespace broadloom
#endif  // HWY_ONCE
