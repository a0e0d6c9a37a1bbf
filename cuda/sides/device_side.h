// The side of the device: kernels and memory on one stream, in order. For files that nvcc compiles.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "cuda/sides/device_block.h"
#include "cuda/sides/repeated_key.h"

namespace broadloom::cuda {

// Does nothing; compiled as all other kernels are.
struct NoKernel {
  template <class Block>
  __device__ void operator()(Block&) const {}
};

class DeviceSide {
 public:
  // rank_here: of several ranks, this one's index on its machine. They take the machine's devices
  // in turn. Below 0: the thread's present device.
  explicit DeviceSide(int rank_here = -1) {
    int devices = 0;
    if (rank_here >= 0 && keep(cudaGetDeviceCount(&devices)))
      keep(cudaSetDevice(rank_here % devices));
    keep(cudaGetDevice(&device_));
    // Non-blocking: it does not wait for other streams of the process.
    if (keep(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking))) {
      keep(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    }
  }
  ~DeviceSide() {
    for (void* memory : memory_) cudaFree(memory);
    cudaFreeHost(staging_);
    if (event_ != nullptr) cudaEventDestroy(event_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  DeviceSide(const DeviceSide&) = delete;
  DeviceSide& operator=(const DeviceSide&) = delete;

  // Before another thread uses this side: CUDA has a present device for each thread.
  void enter_thread() { keep(cudaSetDevice(device_)); }

  // The device's name.
  std::string name() {
    cudaDeviceProp properties{};
    return keep(cudaGetDeviceProperties(&properties, device_)) ? properties.name : "";
  }

  // The first error, in CUDA's words, with advice if there is any. Nothing runs after it.
  Status status() const {
    if (error_ == cudaSuccess) return {};
    const std::string words = std::string("CUDA says: ") + cudaGetErrorString(error_);
    if (is_not_compiled_for_it(error_)) {
      return invalid(
          words +
          "; build for this machine's GPU (-DBROADLOOM_CUDA_ARCHITECTURES: docs/gpu.md), "
          "or update its driver");
    }
    if (error_ != cudaErrorMemoryAllocation || asked_ == 0) return {ErrorKind::kIo, words};
    if (pages_asked_ > 0) {
      return {ErrorKind::kIo, words + ", of the host's memory, where copies ask for " +
                                  in_mb(pages_asked_) +
                                  " that stay in their place; end what else runs on this machine, "
                                  "or make num_envs or num_steps smaller"};
    }
    return invalid(words + ", where a run asks for " + in_mb(asked_) +
                   " and perhaps more; make num_envs or num_steps smaller");
  }

  // Free memory of the device, and the bytes allocated here.
  std::size_t free_bytes() {
    std::size_t free = 0, all = 0;
    keep(cudaMemGetInfo(&free, &all));
    return free;
  }
  std::size_t allocated() const { return asked_; }
  SideShape shape() {
    return {.shared_bytes =
                static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
            .multiprocessors = attribute(cudaDevAttrMultiProcessorCount),
            .has_tf32 = attribute(cudaDevAttrComputeCapabilityMajor) >= 8 && compiled_for() >= 80};
  }

  // Zeroed memory that lives as long as this object; null for count 0.
  template <class T>
  T* allocate(std::size_t count) {
    void* memory = nullptr;
    if (count == 0) return nullptr;
    asked_ += count * sizeof(T);
    if (!keep(cudaMalloc(&memory, count * sizeof(T)))) return nullptr;
    memory_.push_back(memory);
    keep(cudaMemsetAsync(memory, 0, count * sizeof(T), stream_));
    return static_cast<T*>(memory);
  }
  // `source` may be freed as soon as this returns. The copy goes through pinned pages, so nobody
  // waits for it.
  template <class T>
  void copy_in(T* target, const T* source, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    std::byte* const place = staged(bytes);
    if (place == nullptr) return;
    std::memcpy(place, source, bytes);
    keep(cudaMemcpyAsync(target, place, bytes, cudaMemcpyHostToDevice, stream_));
  }
  // The data has arrived when wait() returns.
  template <class T>
  void copy_out(T* target, const T* source, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    std::byte* const place = staged(bytes);
    if (place == nullptr) return;
    keep(cudaMemcpyAsync(place, source, bytes, cudaMemcpyDeviceToHost, stream_));
    arrivals_.push_back({target, place, bytes});
  }
  // The stream of all work, for simulators.
  void* stream() { return stream_; }
  // Waits for all that was started.
  void wait() {
    if (error_ == cudaSuccess) keep(cudaStreamSynchronize(stream_));
    arrive(arrivals_.size());
    used_ = 0;
  }
  // wait_marked() waits for all that was started before mark().
  void mark() {
    if (error_ == cudaSuccess) keep(cudaEventRecord(event_, stream_));
    marked_ = arrivals_.size();
  }
  void wait_marked() {
    if (error_ == cudaSuccess) keep(cudaEventSynchronize(event_));
    arrive(marked_);
  }
  template <class Kernel>
  void run(const Kernel& kernel, const KernelShape& shape) {
    if (error_ == cudaSuccess) keep(launch(kernel, shape, stream_));
  }

  // A recorded sequence of launches, as a CUDA graph.
  class Repeated {
   public:
    Repeated() = default;
    ~Repeated() { reset(); }
    Repeated(Repeated&& other) noexcept { *this = std::move(other); }
    Repeated& operator=(Repeated&& other) noexcept {
      std::swap(key_, other.key_);
      std::swap(graph_, other.graph_);
      return *this;
    }

   private:
    friend class DeviceSide;
    void reset() {
      if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
      graph_ = nullptr;
    }
    RepeatedKey key_;
    cudaGraphExec_t graph_ = nullptr;  // null: not recorded yet
  };
  // Runs the launches of launches(), which must do nothing else. They may depend only on `key` and
  // on constants. A second call with the same key records them for reuse.
  template <class Key, class Launches>
  void repeat(Repeated& repeated, const Key& key, Launches&& launches) {
    if (!repeated.key_.is_again(key)) {
      repeated.reset();
      return launches();
    }
    if (repeated.graph_ == nullptr) record(repeated, launches);
    if (repeated.graph_ == nullptr) return launches();  // for lack of memory, say
    if (error_ == cudaSuccess) keep(cudaGraphLaunch(repeated.graph_, stream_));
  }

 private:
  // A failed recording is not an error of the run, for example if another part of the process
  // interferes. The launches then run without a graph, and report errors of their own.
  template <class Launches>
  void record(Repeated& repeated, Launches&& launches) {
    if (error_ != cudaSuccess) return;
    // Other threads may use their streams during the capture.
    if (went_well(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal))) {
      cudaGraph_t graph = nullptr;
      launches();
      const bool is_whole = went_well(cudaStreamEndCapture(stream_, &graph));
      if (!is_whole || error_ != cudaSuccess ||
          !went_well(cudaGraphInstantiate(&repeated.graph_, graph, 0))) {
        repeated.graph_ = nullptr;
      }
      if (graph != nullptr) cudaGraphDestroy(graph);
    }
    error_ = cudaSuccess;
  }
  // CUDA keeps an error until someone reads this thread's last error. Reading it here hides it from
  // the next launch, perhaps of another run. Fatal errors persist.
  static bool went_well(cudaError_t error) {
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess;
  }
  bool keep(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
    return went_well(error);
  }
  static bool is_not_compiled_for_it(cudaError_t error) {
    return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
           error == cudaErrorUnsupportedPtxVersion || error == cudaErrorInvalidPtx ||
           error == cudaErrorJitCompilerNotFound;
  }
  static std::string in_mb(std::size_t bytes) { return std::to_string(bytes / 1000000) + " MB"; }
  // The architecture that the kernels' code was compiled for; 80 means 8.0.
  int compiled_for() {
    cudaFuncAttributes attributes{};
    keep(cudaFuncGetAttributes(&attributes, run_on_device<NoKernel>));
    return attributes.ptxVersion;
  }
  int attribute(cudaDeviceAttr attr) {
    int value = 1;
    keep(cudaDeviceGetAttribute(&value, attr, device_));
    return value;
  }

  struct Arrival {
    void* target;
    const std::byte* place;
    std::size_t bytes;
  };

  void arrive(std::size_t count) {
    for (std::size_t i = 0; i < count && error_ == cudaSuccess; ++i) {
      std::memcpy(arrivals_[i].target, arrivals_[i].place, arrivals_[i].bytes);
    }
    arrivals_.erase(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(count));
    marked_ = 0;
  }

  // Pinned memory for a copy until the next wait(). Null after an error, or for 0 bytes. It grows
  // to the largest use between two waits, plus a quarter.
  std::byte* staged(std::size_t bytes) {
    if (error_ != cudaSuccess || bytes == 0) return nullptr;
    const std::size_t taken = (bytes + 255) / 256 * 256;
    if (used_ + taken > staging_bytes_) {
      const std::size_t more = (used_ + taken) / 4 * 5;  // avoids many small growths
      wait();
      keep(cudaFreeHost(staging_));
      staging_ = nullptr;
      staging_bytes_ = 0;
      if (!keep(cudaMallocHost(&staging_, more))) {
        pages_asked_ = more;
        return nullptr;
      }
      staging_bytes_ = more;
    }
    std::byte* const place = static_cast<std::byte*>(staging_) + used_;
    used_ += taken;
    return place;
  }

  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;  // for mark()
  cudaError_t error_ = cudaSuccess;
  std::vector<void*> memory_;
  std::size_t asked_ = 0;  // bytes of all allocations, including failed ones
  void* staging_ = nullptr;
  std::size_t staging_bytes_ = 0, used_ = 0;
  std::size_t pages_asked_ = 0;  // bytes of staging that could not be allocated
  std::vector<Arrival> arrivals_;
  std::size_t marked_ = 0;  // number of arrivals before mark()
};

}  // namespace broadloom::cuda
