#include "broadloom/math/gated_units.h"

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/gated_units.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/unit_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(lanes, i, g) for the vectors of all rows: i is the place in arrays [rows, width], and g
// that in arrays [rows, gates, width].
template <class T, class F>
HWY_INLINE void over_gates(const GatedRows<T>& rows, std::size_t gates, F&& f) {
  const std::size_t width = static_cast<std::size_t>(rows.width);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows.rows); ++r) {
    over_units<T>(width, [&](const UnitLanes<T>& lanes, std::size_t i)
                             HWY_ATTR { f(lanes, r * width + i, r * gates * width + i); });
  }
}

// Derivatives of a gate's argument, from the gate's value and derivative.
template <class D, class V>
HWY_INLINE V through_sigmoid(D d, V gate, V delta) {
  return hn::Mul(delta, hn::Mul(gate, hn::Sub(hn::Set(d, hn::TFromD<D>(1)), gate)));
}
template <class D, class V>
HWY_INLINE V through_tanh(D d, V gate, V delta) {
  return hn::Mul(delta, neg_mul_add(gate, gate, hn::Set(d, hn::TFromD<D>(1))));
}

template <class T>
void gru_as(const GatedRows<T>& rows, T* gates, T* h) {
  const Lanes<T> d;
  const std::size_t width = static_cast<std::size_t>(rows.width);
  over_gates(rows, 3, [&](const UnitLanes<T>& lanes, std::size_t i, std::size_t g) HWY_ATTR {
    const T* const own = rows.gates + g;
    const T* const sums = rows.state_sums + g;
    const auto reset = sigmoid_of(d, hn::Add(lanes.load(own), lanes.load(sums)));
    const auto keep = sigmoid_of(d, hn::Add(lanes.load(own + width), lanes.load(sums + width)));
    const auto fresh =
        tanh_of(d, mul_add(reset, lanes.load(sums + 2 * width), lanes.load(own + 2 * width)));
    lanes.store(reset, gates + g);
    lanes.store(keep, gates + g + width);
    lanes.store(fresh, gates + g + 2 * width);
    lanes.store(mul_add(keep, hn::Sub(lanes.load(rows.before + i), fresh), fresh), h + i);
  });
}

template <class T>
void gru_backward_as(const GatedRows<T>& rows, T* dh, T* d_sums, T* d_state_sums) {
  const Lanes<T> d;
  const auto one = hn::Set(d, T(1));
  const std::size_t width = static_cast<std::size_t>(rows.width);
  over_gates(rows, 3, [&](const UnitLanes<T>& lanes, std::size_t i, std::size_t g) HWY_ATTR {
    const T* const gates = rows.gates + g;
    const auto reset = lanes.load(gates), keep = lanes.load(gates + width);
    const auto fresh = lanes.load(gates + 2 * width), delta = lanes.load(dh + i);
    const auto d_fresh = through_tanh(d, fresh, hn::Mul(delta, hn::Sub(one, keep)));
    const auto d_reset =
        through_sigmoid(d, reset, hn::Mul(d_fresh, lanes.load(rows.state_sums + g + 2 * width)));
    const auto d_keep =
        through_sigmoid(d, keep, hn::Mul(delta, hn::Sub(lanes.load(rows.before + i), fresh)));
    for (T* const out : {d_sums + g, d_state_sums + g}) {
      lanes.store(d_reset, out);
      lanes.store(d_keep, out + width);
    }
    lanes.store(d_fresh, d_sums + g + 2 * width);
    lanes.store(hn::Mul(d_fresh, reset), d_state_sums + g + 2 * width);
    lanes.store(hn::Mul(delta, keep), dh + i);
  });
}

template <class T>
void lstm_as(const GatedRows<T>& rows, T* gates, T* c, T* h) {
  const Lanes<T> d;
  const std::size_t width = static_cast<std::size_t>(rows.width);
  over_gates(rows, 4, [&](const UnitLanes<T>& lanes, std::size_t i, std::size_t g) HWY_ATTR {
    const auto sum = [&](std::size_t k) HWY_ATTR {
      return hn::Add(lanes.load(rows.gates + g + k * width),
                     lanes.load(rows.state_sums + g + k * width));
    };
    const auto enter = sigmoid_of(d, sum(0)), keep = sigmoid_of(d, sum(1));
    const auto fresh = tanh_of(d, sum(2)), output = sigmoid_of(d, sum(3));
    lanes.store(enter, gates + g);
    lanes.store(keep, gates + g + width);
    lanes.store(fresh, gates + g + 2 * width);
    lanes.store(output, gates + g + 3 * width);
    const auto cell = mul_add(keep, lanes.load(rows.before + i), hn::Mul(enter, fresh));
    lanes.store(cell, c + i);
    lanes.store(hn::Mul(output, tanh_of(d, cell)), h + i);
  });
}

template <class T>
void lstm_backward_as(const GatedRows<T>& rows, const T* c, const T* dh, T* dc, T* d_sums) {
  const Lanes<T> d;
  const std::size_t width = static_cast<std::size_t>(rows.width);
  over_gates(rows, 4, [&](const UnitLanes<T>& lanes, std::size_t i, std::size_t g) HWY_ATTR {
    const T* const gates = rows.gates + g;
    const auto enter = lanes.load(gates), keep = lanes.load(gates + width);
    const auto fresh = lanes.load(gates + 2 * width), output = lanes.load(gates + 3 * width);
    const auto shown = tanh_of(d, lanes.load(c + i)), delta = lanes.load(dh + i);
    const auto whole = hn::Add(lanes.load(dc + i), through_tanh(d, shown, hn::Mul(delta, output)));
    T* const out = d_sums + g;
    lanes.store(through_sigmoid(d, enter, hn::Mul(whole, fresh)), out);
    lanes.store(through_sigmoid(d, keep, hn::Mul(whole, lanes.load(rows.before + i))), out + width);
    lanes.store(through_tanh(d, fresh, hn::Mul(whole, enter)), out + 2 * width);
    lanes.store(through_sigmoid(d, output, hn::Mul(delta, shown)), out + 3 * width);
    lanes.store(hn::Mul(whole, keep), dc + i);
  });
}

void GruF32(const GatedRows<float>& rows, float* gates, float* h) { gru_as(rows, gates, h); }
void GruF64(const GatedRows<double>& rows, double* gates, double* h) { gru_as(rows, gates, h); }
void GruBackwardF32(const GatedRows<float>& rows, float* dh, float* d_sums, float* d_state_sums) {
  gru_backward_as(rows, dh, d_sums, d_state_sums);
}
void GruBackwardF64(const GatedRows<double>& rows, double* dh, double* d_sums,
                    double* d_state_sums) {
  gru_backward_as(rows, dh, d_sums, d_state_sums);
}
void LstmF32(const GatedRows<float>& rows, float* gates, float* c, float* h) {
  lstm_as(rows, gates, c, h);
}
void LstmF64(const GatedRows<double>& rows, double* gates, double* c, double* h) {
  lstm_as(rows, gates, c, h);
}
void LstmBackwardF32(const GatedRows<float>& rows, const float* c, const float* dh, float* dc,
                     float* d_sums) {
  lstm_backward_as(rows, c, dh, dc, d_sums);
}
void LstmBackwardF64(const GatedRows<double>& rows, const double* c, const double* dh, double* dc,
                     double* d_sums) {
  lstm_backward_as(rows, c, dh, dc, d_sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(GruF32);
HWY_EXPORT(GruF64);
HWY_EXPORT(GruBackwardF32);
HWY_EXPORT(GruBackwardF64);
HWY_EXPORT(LstmF32);
HWY_EXPORT(LstmF64);
HWY_EXPORT(LstmBackwardF32);
HWY_EXPORT(LstmBackwardF64);

void gru(const GatedRows<float>& rows, float* gates, float* h) {
  HWY_DYNAMIC_DISPATCH(GruF32)(rows, gates, h);
}
void gru(const GatedRows<double>& rows, double* gates, double* h) {
  HWY_DYNAMIC_DISPATCH(GruF64)(rows, gates, h);
}
void gru_backward(const GatedRows<float>& rows, float* dh, float* d_sums, float* d_state_sums) {
  HWY_DYNAMIC_DISPATCH(GruBackwardF32)(rows, dh, d_sums, d_state_sums);
}
void gru_backward(const GatedRows<double>& rows, double* dh, double* d_sums, double* d_state_sums) {
  HWY_DYNAMIC_DISPATCH(GruBackwardF64)(rows, dh, d_sums, d_state_sums);
}
void lstm(const GatedRows<float>& rows, float* gates, float* c, float* h) {
  HWY_DYNAMIC_DISPATCH(LstmF32)(rows, gates, c, h);
}
void lstm(const GatedRows<double>& rows, double* gates, double* c, double* h) {
  HWY_DYNAMIC_DISPATCH(LstmF64)(rows, gates, c, h);
}
void lstm_backward(const GatedRows<float>& rows, const float* c, const float* dh, float* dc,
                   float* d_sums) {
  HWY_DYNAMIC_DISPATCH(LstmBackwardF32)(rows, c, dh, dc, d_sums);
}
void lstm_backward(const GatedRows<double>& rows, const double* c, const double* dh, double* dc,
                   double* d_sums) {
  HWY_DYNAMIC_DISPATCH(LstmBackwardF64)(rows, c, dh, dc, d_sums);
}

}  // namespace broadloom
#endif  // HWY_ONCE
