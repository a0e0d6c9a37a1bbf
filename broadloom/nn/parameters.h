// One flat array for all parameters, and the offsets of layers in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/purpose.h"

namespace broadloom {

// One linear layer y = x W + b in the flat array. W is row-major [in, out], b is [out]. A head
// stores W as [out, in], because its kernels read it so.
struct LinearSlice {
  int in = 0;
  int out = 0;
  std::size_t weight = 0;  // offset of W
  std::size_t bias = 0;    // offset of b
  bool head = false;

  // Offset of W's element from input i to output o.
  std::size_t at(int i, int o) const {
    return weight +
           (head ? static_cast<std::size_t>(o) * in + i : static_cast<std::size_t>(i) * out + o);
  }
};

// Assigns offsets in the flat parameter array, in the order of the calls.
class ParameterLayout {
 public:
  LinearSlice add_linear(int in, int out, bool head = false) {
    LinearSlice slice{in, out, size_, 0, head};
    size_ += static_cast<std::size_t>(in) * static_cast<std::size_t>(out);
    slice.bias = size_;
    size_ += static_cast<std::size_t>(out);
    return slice;
  }
  std::size_t add_vector(int size) {
    const std::size_t offset = size_;
    size_ += static_cast<std::size_t>(size);
    return offset;
  }
  std::size_t size() const { return size_; }  // P

 private:
  std::size_t size_ = 0;
};

// Fills W with `gain` times a (semi-)orthogonal matrix and b with zeros, as torch's orthogonal_
// does (Saxe et al. 2014). |W|_F = gain * sqrt(min(in, out)). Draws from Random(seed, purpose,
// tensor, 0). Cost: in * out * min(in, out) operations.
void init_orthogonal(const LinearSlice& layer, double gain, std::uint64_t seed,
                     std::uint32_t tensor, float* params, Purpose purpose = Purpose::kInit);

// Fills W with truncated normal numbers of variance scale / in, and b with zeros. The normal is cut
// at two of its own standard deviations. scale = 2 is JAX's he_normal (He et al. 2015), and 1 is
// lecun_normal. Draws from Random(seed, purpose, tensor, 0).
void init_truncated_normal(const LinearSlice& layer, double scale, std::uint64_t seed,
                           std::uint32_t tensor, float* params, Purpose purpose = Purpose::kInit);

// Fills W, and b if with_bias, with uniform numbers within +- sqrt(scale / in); else b with zeros.
// scale = 1 with biases is torch's nn.Linear (kaiming_uniform_ with a = sqrt(5)), and scale = 3 is
// JAX's lecun_uniform. Draws W, then b, from Random(seed, purpose, tensor, 0).
void init_uniform(const LinearSlice& layer, double scale, bool with_bias, std::uint64_t seed,
                  std::uint32_t tensor, float* params, Purpose purpose = Purpose::kInit);

}  // namespace broadloom
