// The block of kernels on the device; for files that nvcc compiles.
#pragma once

#include <cuda_pipeline.h>

#include <atomic>
#include <cstddef>

#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"

namespace broadloom::cuda {

class DeviceBlock {
 public:
  __device__ int index() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() { __syncthreads(); }
  template <class T>
  __device__ T* shared() {
    extern __shared__ double2 memory[];  // aligned for any type
    return reinterpret_cast<T*>(memory);
  }
  template <class T>
  __device__ T shuffle_xor(T x, int mask) {
    return __shfl_xor_sync(0xffffffffu, x, mask);
  }
  __device__ void copy_ahead(float* target, const float* source, bool is_there = true) {
    __pipeline_memcpy_async(target, source, 16, is_there ? 0 : 16);
  }
  __device__ void await_copies() {
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  __device__ void multiply_add(const TensorA& a, const TensorB& b, float (&sums)[4]) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(__float_as_uint(a.values[0])), "r"(__float_as_uint(a.values[1])),
          "r"(__float_as_uint(a.values[2])), "r"(__float_as_uint(a.values[3])),
          "r"(__float_as_uint(b.values[0])), "r"(__float_as_uint(b.values[1])));
#else
    __trap();  // older devices lack such cores, and are refused before a run
#endif
  }
};

// Threads of a kernel's block, which limit its registers.
template <class Kernel>
constexpr int most_threads() {
  if constexpr (requires { Kernel::kThreads; }) {
    return Kernel::kThreads;
  } else {
    return 256;
  }
}

// Blocks that a multiprocessor should hold at once, which limits registers. 0 leaves it to the
// compiler; 1 would allow all registers.
template <class Kernel>
constexpr int blocks_at_once() {
  if constexpr (requires { Kernel::kBlocksAtOnce; }) {
    return Kernel::kBlocksAtOnce;
  } else {
    return 0;
  }
}

template <class Kernel>
__global__ void __launch_bounds__(most_threads<Kernel>(), blocks_at_once<Kernel>())
    run_on_device(const __grid_constant__ Kernel kernel) {
  DeviceBlock block;
  kernel(block);
}

// Grants as much shared memory as a block may have. The limit belongs to the function, not to the
// launch, and trainers side by side need different amounts.
template <class Function>
cudaError_t grant_shared_memory(Function function) {
  int device = 0, bytes = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  const cudaError_t asked =
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (asked != cudaSuccess) return asked;
  return cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

// Launches a kernel on the stream without waiting.
template <class Kernel>
cudaError_t launch(const Kernel& kernel, const KernelShape& shape, cudaStream_t stream) {
  static_assert(sizeof(Kernel) <= 4096, "what a kernel is given is at most 4 KB before CUDA 12.1");
  if (shape.shared_bytes > kUsualSharedBytes) {
    static std::atomic<bool> is_granted = false;  // for all launches in this process
    if (!is_granted) {
      const cudaError_t error = grant_shared_memory(run_on_device<Kernel>);
      if (error != cudaSuccess) return error;
      is_granted = true;
    }
  }
  run_on_device<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(kernel);
  return cudaGetLastError();
}

}  // namespace broadloom::cuda
