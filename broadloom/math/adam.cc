#include "broadloom/math/adam.h"

#include <cmath>

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/adam.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/fused-inl.h"
#include "broadloom/math/tail-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void AdamF32(float* params, float* m, float* v, const float* grad, std::size_t n,
             const AdamStep& step) {
  const hn::ScalableTag<float> d;
  const auto set = [&](double x) { return hn::Set(d, static_cast<float>(x)); };
  const auto scale = set(step.grad_scale);
  const auto keep1 = set(step.beta1);
  const auto take1 = set(1.0 - step.beta1);
  const auto keep2 = set(step.beta2);
  const auto take2 = set(1.0 - step.beta2);
  const auto rate = set(step.learning_rate / step.correction1);
  const auto inverse_root2 = set(1.0 / std::sqrt(step.correction2));
  const auto eps = set(step.eps);
  const auto update = [&](auto load, auto store, std::size_t i) {
    const auto g = load(grad + i) * scale;
    const auto new_m = mul_add(keep1, load(m + i), take1 * g);
    const auto new_v = mul_add(keep2, load(v + i), take2 * (g * g));
    const auto momentum = rate * new_m;
    const auto change =
        step.is_adaptive ? momentum / mul_add(hn::Sqrt(new_v), inverse_root2, eps) : momentum;
    store(new_m, m + i);
    store(new_v, v + i);
    store(load(params + i) - change, params + i);
  };
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    update([d](const float* source) { return hn::LoadU(d, source); },
           [d](auto value, float* target) { hn::StoreU(value, d, target); }, i);
  }
  if (i == n) return;
  const std::size_t tail = n - i;
  update([=](const float* source) { return load_tail(d, source, tail); },
         [=](auto value, float* target) { store_tail(d, value, target, tail); }, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(AdamF32);

void adam_update(float* params, float* m, float* v, const float* grad, std::size_t n,
                 const AdamStep& step) {
  HWY_DYNAMIC_DISPATCH(AdamF32)(params, m, v, grad, n, step);
}

}  // namespace broadloom
#endif  // HWY_ONCE
