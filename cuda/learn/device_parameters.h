// Parameters and their Adam moments on a side (cuda/sides).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/learn/step_kernels.h"
#include "cuda/tile/packed_weights.h"

namespace broadloom::cuda {

template <class Side>
class DeviceParameters {
 public:
  // Parameters of a network, with packed copies for tensor cores if it uses them.
  DeviceParameters(Side& side, const DeviceNetwork& network)
      : side_(side),
        count_(static_cast<std::size_t>(network.parameters)),
        of_critic_{network.critic.begin, network.critic.end},
        packed_(network) {
    params_ = side_.template allocate<float>(packed_.floats);
    for (float** array : {&m_, &v_}) *array = side_.template allocate<float>(count_);
  }

  std::size_t count() const { return count_; }
  float* on_side() const { return params_; }

  // Copies from and to host arrays [count]. Copies to the host are complete once the side has
  // waited.
  void set(const float* source) {
    side_.copy_in(params_, source, count_);
    if (packed_.count == 0) return;
    const int count = static_cast<int>(count_);
    side_.run(PackKernel{packed_, count, params_}, shape_for_rows(count));
  }
  void set_moments(const float* m, const float* v) {
    side_.copy_in(m_, m, count_);
    side_.copy_in(v_, v, count_);
  }
  void bring(float* target) { side_.copy_out(target, params_, count_); }
  void bring_moments(float* m, float* v) {
    side_.copy_out(m, m_, count_);
    side_.copy_out(v, v_, count_);
  }

  // One Adam step; its factors are on the side. norms: receives the gradient's norms; may be null.
  void take_step(const AdamFactors* factors, double max_grad_norm, const ClippedLength& length,
                 const float* gradient, GradientNorms* norms, const std::uint64_t* fault) {
    const AdamKernel kernel{factors,    max_grad_norm, length,  static_cast<int>(count_),
                            of_critic_, gradient,      params_, m_,
                            v_,         packed_,       norms,   fault};
    side_.run(kernel, kernel.shape());
  }

 private:
  Side& side_;
  std::size_t count_;
  DeviceChunk of_critic_;
  PackedWeights packed_;
  float *params_ = nullptr, *m_ = nullptr, *v_ = nullptr;
};

}  // namespace broadloom::cuda
