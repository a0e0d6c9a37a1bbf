// Parameters with their Adam moments on a side (host_side.h, device_side.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/learn/step_kernels.h"

namespace broadloom::cuda {

template <class Side>
class DeviceParameters {
 public:
  DeviceParameters(Side& side, std::size_t count) : side_(side), count_(count) {
    for (float** array : {&params_, &m_, &v_}) *array = side_.template allocate<float>(count);
  }

  std::size_t count() const { return count_; }
  float* on_side() const { return params_; }

  // Arrays of the host, [count]; what is brought is there once the side has waited.
  void set(const float* from) { side_.copy_in(params_, from, count_); }
  void set_moments(const float* m, const float* v) {
    side_.copy_in(m_, m, count_);
    side_.copy_in(v_, v, count_);
  }
  void bring(float* to) { side_.copy_out(to, params_, count_); }
  void bring_moments(float* m, float* v) {
    side_.copy_out(m, m_, count_);
    side_.copy_out(v, v_, count_);
  }

  // One step, whose factors are on the side. norms: gets those of the gradient; null: nobody asks.
  void take_step(const AdamFactors* factors, double max_grad_norm, const ClippedLength& length,
                 const float* gradient, GradientNorms* norms, const std::uint64_t* fault) {
    const int count = static_cast<int>(count_);
    side_.run(
        AdamKernel{factors, max_grad_norm, length, count, gradient, params_, m_, v_, norms, fault},
        shape_for_rows(count));
  }

 private:
  Side& side_;
  std::size_t count_;
  float *params_ = nullptr, *m_ = nullptr, *v_ = nullptr;
};

}  // namespace broadloom::cuda
