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

// Alignment for kernel arrays: loads and stores of whole registers then touch one cache line each.
// Large arrays of a plain vector begin 16 bytes past a line, so each access touched two lines.
template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace broadloom
