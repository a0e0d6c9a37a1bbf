// Kernels emulated on the host, so that machines without a device test the source that ships.
//
// Blocks run one after another. A block's threads are fibers of the calling thread, which switch
// when one waits for the others. The caller chooses the order within each round. A kernel that
// lacks a sync(), or in which two threads write to one place, gives different numbers in another
// order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "cuda/sides/kernel.h"
#include "cuda/sides/tf32.h"

namespace broadloom::cuda {

enum class FiberOrder { kForward, kReversed, kShuffled };

class EmulatedBlock;

namespace emulated {

// Ends the process with the fault of a kernel or of its launch.
[[noreturn]] void fault(const char* what);

// Calls body(block) for each thread of each block. kShuffled: another order each round, from
// `seed`. body() must not call this function.
//
// If a thread ends while others wait at a sync(), a device would hang. Here the process ends with a
// message.
void run(const KernelShape& shape, FiberOrder order, std::uint64_t seed,
         const std::function<void(EmulatedBlock&)>& body);

class Scheduler;

}  // namespace emulated

class EmulatedBlock {
 public:
  EmulatedBlock(emulated::Scheduler& scheduler, int index, int blocks, int thread, int threads)
      : scheduler_(scheduler), index_(index), blocks_(blocks), thread_(thread), threads_(threads) {}

  int index() const { return index_; }
  int blocks() const { return blocks_; }
  int thread() const { return thread_; }
  int threads() const { return threads_; }
  void sync();
  template <class T>
  T* shared() {
    return reinterpret_cast<T*>(shared_memory());
  }
  template <class T>
  T shuffle_xor(T x, int mask) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(T));
    bits = exchange(bits, mask);
    std::memcpy(&x, &bits, sizeof(T));
    return x;
  }
  // Data arrives only at await_copies(), as on a device.
  void copy_ahead(float* target, const float* source, bool is_there = true) {
    for (const float* place : {static_cast<const float*>(target), source}) {
      if (reinterpret_cast<std::uintptr_t>(place) % 16 == 0) continue;
      emulated::fault("what is copied ahead begins at a multiple of 16 bytes, on both sides");
    }
    copies_.push_back({target, is_there ? source : nullptr});
  }
  void await_copies() {
    for (const Copy& copy : copies_) {
      if (copy.source != nullptr) {
        std::copy_n(copy.source, 4, copy.target);
      } else {
        std::fill_n(copy.target, 4, 0.0f);
      }
    }
    copies_.clear();
  }
  void multiply_add(const TensorA& a, const TensorB& b, float (&sums)[4]);

 private:
  struct Copy {
    float* target;
    const float* source;  // null: zeros
  };
  std::byte* shared_memory();
  std::uint64_t exchange(std::uint64_t bits, int mask);

  emulated::Scheduler& scheduler_;
  int index_, blocks_, thread_, threads_;
  std::vector<Copy> copies_;
};

// Runs a kernel to its end.
template <class Kernel>
void emulate(const Kernel& kernel, const KernelShape& shape,
             FiberOrder order = FiberOrder::kForward, std::uint64_t seed = 1) {
  emulated::run(shape, order, seed, [&](EmulatedBlock& block) { kernel(block); });
}

}  // namespace broadloom::cuda
