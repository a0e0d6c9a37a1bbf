// Where kernels run and keep their numbers on the device: one stream, in which all goes in order.
// For files that nvcc compiles.
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

// Which does nothing, and is compiled as all others.
struct NoKernel {
  template <class Block>
  __device__ void operator()(Block&) const {}
};

class DeviceSide {
 public:
  DeviceSide() {
    // Which waits for nothing that others of the process have their streams do.
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

  // What computes, as it calls itself.
  std::string name() {
    int device = 0;
    cudaDeviceProp properties{};
    if (!keep(cudaGetDevice(&device)) || !keep(cudaGetDeviceProperties(&properties, device))) {
      return "";
    }
    return properties.name;
  }

  // The first thing that went wrong, in CUDA's words, and what to do where that is known; nothing
  // runs after it.
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

  // Memory that there is to be had, and what was asked for.
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

  // Of zeros; it lives as long as this. Null for none.
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
  // What is copied may be gone when the caller goes on, and goes by way of pages that stay where
  // they are, so that nobody waits for it.
  template <class T>
  void copy_in(T* to, const T* from, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    std::byte* const place = staged(bytes);
    if (place == nullptr) return;
    std::memcpy(place, from, bytes);
    keep(cudaMemcpyAsync(to, place, bytes, cudaMemcpyHostToDevice, stream_));
  }
  // There once wait() comes back.
  template <class T>
  void copy_out(T* to, const T* from, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    std::byte* const place = staged(bytes);
    if (place == nullptr) return;
    keep(cudaMemcpyAsync(place, from, bytes, cudaMemcpyDeviceToHost, stream_));
    arrivals_.push_back({to, place, bytes});
  }
  // For all that was started.
  void wait() {
    if (error_ == cudaSuccess) keep(cudaStreamSynchronize(stream_));
    arrive(arrivals_.size());
    used_ = 0;
  }
  // What was started so far is what wait_marked() waits for.
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

  // Launches that are the same again and again, as a graph.
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
    cudaGraphExec_t graph_ = nullptr;  // null: not yet
  };
  // Runs what launches() runs, which may do nothing else, and follows from `key` and from what
  // stays as it is. Launches that come a second time alike are kept.
  template <class Key, class Launches>
  void repeat(Repeated& of, const Key& key, Launches&& launches) {
    if (!of.key_.is_again(key)) {
      of.reset();
      return launches();
    }
    if (of.graph_ == nullptr) record(of, launches);
    if (of.graph_ == nullptr) return launches();  // there was no memory for one, say
    if (error_ == cudaSuccess) keep(cudaGraphLaunch(of.graph_, stream_));
  }

 private:
  // What goes wrong here, such as something of the process's that is no part of a graph, is no
  // fault of the run: what would have been the graph is launched, and says by itself what is wrong
  // with it.
  template <class Launches>
  void record(Repeated& of, Launches&& launches) {
    if (error_ != cudaSuccess) return;
    // What other threads do with their streams meanwhile is their business.
    if (went_well(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal))) {
      cudaGraph_t graph = nullptr;
      launches();
      const bool is_whole = went_well(cudaStreamEndCapture(stream_, &graph));
      if (!is_whole || error_ != cudaSuccess ||
          !went_well(cudaGraphInstantiate(&of.graph_, graph, 0))) {
        of.graph_ = nullptr;
      }
      if (graph != nullptr) cudaGraphDestroy(graph);
    }
    error_ = cudaSuccess;
  }
  // CUDA keeps an error for whoever asks this thread's last one, and that is the next launch,
  // perhaps of another run: it is asked here. Those that nothing goes on after stay.
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
  // The architecture, 80 being 8.0, whose code the device's kernels are or were made from.
  int compiled_for() {
    cudaFuncAttributes attributes{};
    keep(cudaFuncGetAttributes(&attributes, run_on_device<NoKernel>));
    return attributes.ptxVersion;
  }
  int attribute(cudaDeviceAttr which) {
    int device = 0, value = 1;
    keep(cudaGetDevice(&device));
    keep(cudaDeviceGetAttribute(&value, which, device));
    return value;
  }

  struct Arrival {
    void* to;
    const std::byte* place;
    std::size_t bytes;
  };

  void arrive(std::size_t count) {
    for (std::size_t i = 0; i < count && error_ == cudaSuccess; ++i) {
      std::memcpy(arrivals_[i].to, arrivals_[i].place, arrivals_[i].bytes);
    }
    arrivals_.erase(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(count));
    marked_ = 0;
  }

  // Room for a copy under way, until the next wait(); null where nothing goes on, or for nothing.
  // It grows to what is under way at a time, and a quarter more, and then stays.
  std::byte* staged(std::size_t bytes) {
    if (error_ != cudaSuccess || bytes == 0) return nullptr;
    const std::size_t taken = (bytes + 255) / 256 * 256;
    if (used_ + taken > staging_bytes_) {
      const std::size_t more = (used_ + taken) / 4 * 5;  // and does not grow for little
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

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;  // of mark()
  cudaError_t error_ = cudaSuccess;
  std::vector<void*> memory_;
  std::size_t asked_ = 0;  // bytes of all that was allocated, or was to be
  void* staging_ = nullptr;
  std::size_t staging_bytes_ = 0, used_ = 0;
  std::size_t pages_asked_ = 0;  // bytes of staging that was not to be had
  std::vector<Arrival> arrivals_;
  std::size_t marked_ = 0;  // of them
};

}  // namespace broadloom::cuda
