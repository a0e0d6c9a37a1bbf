// A side (host_side.h, device_side.h) that runs and stores nothing. Objects made on it measure how
// much memory they need on another side.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "broadloom/core/status.h"
#include "cuda/sides/kernel.h"

namespace broadloom::cuda {

class CountingSide {
 public:
  // bytes: receives the allocated bytes; it must outlive this object. shape: of the other side.
  CountingSide(std::size_t& bytes, const SideShape& shape) : bytes_(bytes), shape_(shape) {}

  static std::string name() { return "counted"; }
  static Status status() { return {}; }
  static std::size_t free_bytes() { return std::numeric_limits<std::size_t>::max(); }
  std::size_t allocated() const { return bytes_; }
  const SideShape& shape() const { return shape_; }

  // Returns null; nothing reads or writes the memory.
  template <class T>
  T* allocate(std::size_t count) {
    bytes_ += count * sizeof(T);
    return nullptr;
  }
  template <class T>
  void copy_in(T*, const T*, std::size_t) {}
  template <class T>
  void copy_out(T*, const T*, std::size_t) {}
  static void* stream() { return nullptr; }
  static void enter_thread() {}
  static void wait() {}
  static void mark() {}
  static void wait_marked() {}
  template <class Kernel>
  void run(const Kernel&, const KernelShape&) {}
  struct Repeated {};
  template <class Key, class Launches>
  void repeat(Repeated&, const Key&, Launches&&) {}

 private:
  std::size_t& bytes_;
  SideShape shape_;
};

}  // namespace broadloom::cuda
