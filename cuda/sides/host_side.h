// The side of tests: kernels run and keep their data on the host, in emulation. device_side.h is
// the same for the device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "cuda/sides/emulated_block.h"
#include "cuda/sides/repeated_key.h"

namespace broadloom::cuda {

// Limits of the emulated device, and where to note its use.
struct HostLimits {
  std::size_t free_bytes = std::numeric_limits<std::size_t>::max();
  std::size_t shared_bytes = kUsualSharedBytes;  // of a block
  int rows = 65536;                              // at a time
  int multiprocessors = 2;                       // few, because each block costs its fibers
  bool has_tf32 = true;                          // tensor cores
  std::uint64_t launches = std::numeric_limits<std::uint64_t>::max();  // then the device is lost
  // Receives the most bytes in flight between two waits, for which a device needs pinned memory;
  // null: not measured.
  std::size_t* most_under_way = nullptr;
};

class HostSide {
 public:
  explicit HostSide(FiberOrder order = FiberOrder::kForward, const HostLimits& limits = {})
      : order_(order), limits_(limits) {}

  // The device's name.
  static std::string name() { return "emulated on the host"; }
  Status status() const {
    if (launches_ <= limits_.launches) return {};
    return {ErrorKind::kIo, "the emulated device is lost, as a test asks for"};
  }

  // Free memory, and the bytes allocated here.
  std::size_t free_bytes() const { return limits_.free_bytes; }
  std::size_t allocated() const { return allocated_; }
  SideShape shape() const {
    return {limits_.shared_bytes, limits_.multiprocessors, limits_.rows, limits_.has_tf32};
  }

  // Zeroed memory that lives as long as this object.
  template <class T>
  T* allocate(std::size_t count) {
    allocated_ += count * sizeof(T);
    memory_.push_back(std::make_shared<std::vector<T>>(count));
    return static_cast<std::vector<T>*>(memory_.back().get())->data();
  }
  // `source` may be freed as soon as this returns.
  template <class T>
  void copy_in(T* target, const T* source, std::size_t count) {
    pass(count * sizeof(T));
    std::copy_n(source, count, target);
  }
  // Copies the present data; it arrives when wait() returns, as on a device.
  template <class T>
  void copy_out(T* target, const T* source, std::size_t count) {
    pass(count * sizeof(T));
    arrivals_.push_back([target, copy = std::vector<T>(source, source + count)] {
      std::copy(copy.begin(), copy.end(), target);
    });
  }
  // The stream of all work, for simulators. The host has none: work is done at once.
  static void* stream() { return nullptr; }
  static void enter_thread() {}
  void wait() {
    arrive(arrivals_.size());
    under_way_ = 0;
  }
  // wait_marked() waits for all that was started before mark().
  void mark() { marked_ = arrivals_.size(); }
  void wait_marked() { arrive(marked_); }
  template <class Kernel>
  void run(const Kernel& kernel, const KernelShape& shape) {
    if (recorded_ != nullptr) {
      recorded_->push_back([this, kernel, shape] { start(kernel, shape); });
    } else {
      start(kernel, shape);
    }
  }

  // As on a device: repeats the launches that were recorded.
  struct Repeated {
    RepeatedKey key;
    std::vector<std::function<void()>> launches;
  };
  template <class Key, class Launches>
  void repeat(Repeated& repeated, const Key& key, Launches&& launches) {
    if (!repeated.key.is_again(key)) {
      repeated.launches.clear();
      return launches();
    }
    if (repeated.launches.empty()) {
      recorded_ = &repeated.launches;
      launches();
      recorded_ = nullptr;
    }
    for (const std::function<void()>& launch : repeated.launches) launch();
    ++repeats_;
  }
  // Number of repeated runs.
  int repeats() const { return repeats_; }

 private:
  template <class Kernel>
  void start(const Kernel& kernel, const KernelShape& shape) {
    if (++launches_ <= limits_.launches) emulate(kernel, shape, order_, launches_);
  }
  void pass(std::size_t bytes) {
    if (recorded_ != nullptr)
      emulated::fault("between launches that are repeated nothing is copied");
    under_way_ += bytes;
    if (limits_.most_under_way == nullptr) return;
    *limits_.most_under_way = std::max(*limits_.most_under_way, under_way_);
  }
  void arrive(std::size_t count) {
    for (std::size_t i = 0; i < count && launches_ <= limits_.launches; ++i) arrivals_[i]();
    arrivals_.erase(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(count));
    marked_ = 0;
  }

  FiberOrder order_;
  HostLimits limits_;
  std::size_t allocated_ = 0, under_way_ = 0;
  std::uint64_t launches_ = 0;                              // also the seed of shuffled orders
  std::vector<std::function<void()>>* recorded_ = nullptr;  // recorded launches do not run
  int repeats_ = 0;
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<std::function<void()>> arrivals_;
  std::size_t marked_ = 0;  // number of arrivals before mark()
};

}  // namespace broadloom::cuda
