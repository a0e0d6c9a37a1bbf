// Every kernel for every environment, compiled for the device.
#include "cuda/advantages_kernel.h"
#include "cuda/device_block.h"
#include "cuda/device_rollout.h"
#include "cuda/device_side.h"
#include "cuda/device_update.h"
#include "cuda/env_kernels.h"
#include "cuda/env_list.h"

namespace broadloom::cuda {

#define BROADLOOM_LAUNCH(Kernel) \
  template cudaError_t launch(const Kernel&, const KernelShape&, cudaStream_t);
#define BROADLOOM_ENV_KERNELS(Env)   \
  BROADLOOM_LAUNCH(BeginKernel<Env>) \
  BROADLOOM_LAUNCH(StepKernel<Env>)  \
  BROADLOOM_LAUNCH(ObserveKernel<Env>)

BROADLOOM_EACH_ENV(BROADLOOM_ENV_KERNELS)
BROADLOOM_LAUNCH(AdvantagesKernel)

#define BROADLOOM_COLLECTOR(Env)                                                              \
  template class DeviceCollector<Env, DeviceSide>;                                            \
  template void DeviceCollector<Env, DeviceSide>::collect(const PolicyActing&, const float*,  \
                                                          std::int64_t);                      \
  template void DeviceCollector<Env, DeviceSide>::collect(const EpsilonActing&, const float*, \
                                                          std::int64_t);
BROADLOOM_EACH_VECTOR_ENV(BROADLOOM_COLLECTOR)
template class DeviceUpdate<DeviceSide, PpoKernelLoss>;
template class DeviceUpdate<DeviceSide, PqnKernelLoss>;

}  // namespace broadloom::cuda
