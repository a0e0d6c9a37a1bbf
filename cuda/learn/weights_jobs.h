// The jobs of the blocks of WeightsKernel and TensorWeightsKernel.
#pragma once

#include <vector>

#include "cuda/learn/tensor_weights_kernel.h"
#include "cuda/learn/weights_kernel.h"

namespace broadloom::cuda {

// The jobs for each partial gradient, the slowest first.
inline std::vector<WeightsJob> weights_jobs(const DeviceNetwork& network) {
  std::vector<WeightsJob> jobs;
  using Kernel = WeightsKernel<PqnSums>;
  using Tensor = TensorWeightsKernel<PqnSums>;
  const auto numbers = [&](WeightsJob::Kind kind, int side, int layer, int count) {
    const bool is_chain = kind == WeightsJob::kConvolution || kind == WeightsJob::kNorm;
    const int of_job = network.is_rounded() && kind != WeightsJob::kImage ? Tensor::kNumbers
                       : is_chain                                         ? Kernel::kChains
                                                                          : Kernel::kThreads;
    for (int i = 0; i < count; i += of_job) jobs.push_back({kind, side, layer, i, 0});
  };
  const auto panels = [&](WeightsJob::Kind kind, int side, int l, int in, int out) {
    for (int i = 0; i < in; i += Kernel::kDown) {
      for (int o = 0; o < out; o += Kernel::kAcross) {
        jobs.push_back({kind, side, l, i, o});
      }
    }
  };
  const auto each = [&](auto&& f) {
    for (int side = 0; side < network.sides(); ++side) {
      const DeviceBody& body = network.body(side);
      for (int l = 0; l < body.layers; ++l) f(side, l, body.hidden[l], body.norms[l]);
    }
  };
  for (int side = 0; side < network.sides(); ++side) {
    const ResidualSections& residual = network.body(side).residual;
    for (int l = 0; l < residual.count * ResidualSection::kConvolutions; ++l) {
      const SameConvolution layer =
          residual.sections[l / ResidualSection::kConvolutions].convolution(
              l % ResidualSection::kConvolutions);
      panels(WeightsJob::kResidual, side, l, layer.patch(), layer.filters);
    }
  }
  each([&](int side, int l, const DeviceLayer& layer, const DeviceNorm&) {
    if (layer.is_dense()) return;
    if (Kernel::takes_patches(layer, l) && !network.is_rounded()) {
      panels(WeightsJob::kPatches, side, l, layer.in, layer.out);
    } else if (network.is_rounded()) {
      numbers(WeightsJob::kImage, side, l, GradientWork<PqnSums>::image_floats(network.body(side)));
    } else {
      numbers(WeightsJob::kConvolution, side, l, (layer.in + 1) * layer.out);
    }
  });
  each([&](int side, int l, const DeviceLayer&, const DeviceNorm& norm) {
    if (network.is_rounded() && network.body(side).is_of_image(l)) return;  // included in kImage
    if (norm.is_there()) numbers(WeightsJob::kNorm, side, l, norm.size);
  });
  for (int side = 0; side < network.sides(); ++side) {
    const DeviceBody& body = network.body(side);
    numbers(WeightsJob::kHead, side, 0, body.head.out * (body.head.in + 1));
    numbers(WeightsJob::kValueHead, side, 0, body.value_head.out * (body.value_head.in + 1));
  }
  each([&](int side, int l, const DeviceLayer& layer, const DeviceNorm&) {
    if (layer.is_dense()) panels(WeightsJob::kDense, side, l, layer.in, layer.out);
  });
  jobs.push_back({WeightsJob::kSums, 0, 0, 0, 0});
  return jobs;
}

}  // namespace broadloom::cuda
