// Vectors that begin at a cache line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace broadloom {

inline constexpr std::size_t kCacheLine = 64;  // bytes; also the widest vector registers'

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kCacheLine}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{kCacheLine}); }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
};

// For what the kernels read and write: loads and stores of whole registers from its start on touch
// one cache line each. (A plain vector's large arrays begin 16 bytes past one, so that each touched
// two.)
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace broadloom
