// How to write and launch kernels: once, for the device and for tests on the host.
//
// A kernel is a plain struct of pointers and numbers, with the work of one thread:
//
//   struct Double {
//     float* numbers;
//     int count;
//     template <class Block>
//     BROADLOOM_HD void operator()(Block& block) const {
//       const int i = block.index() * block.threads() + block.thread();
//       if (i < count) numbers[i] *= 2.0f;
//     }
//   };
//
// Block is DeviceBlock under nvcc (device_block.h). On the host it is EmulatedBlock
// (emulated_block.h), where the threads of a block are fibers. Both have
//
//   index(), blocks()      this block of the grid, and the number of blocks
//   thread(), threads()    this thread of the block, and the number of threads
//   sync()                 waits until every thread of the block has arrived
//   shared<T>()            the block's shared memory of KernelShape::shared_bytes, not cleared
//   shuffle_xor(x, mask)   x of the warp's thread with number thread() ^ mask; every thread of the
//                          warp must call it
//   copy_ahead(to, from, is_there)  asynchronous copy of four floats, aligned to 16 bytes, from
//                          device memory to shared memory; zeros unless is_there
//   await_copies()         waits for this thread's copies; those of others need a sync() as well
//   multiply_add(a, b, sums)  sums += a b on tensor cores, by a whole warp: a is 16 x 8, b 8 x 8.
//                          TensorLane says which thread holds which number; numbers must come from
//                          to_tf32() (sides/tf32.h)
//
// A kernel must not depend on the order in which threads run between two sync()s, nor on the grid.
// Sums have a fixed order, and nothing is added atomically.
#pragma once

#include <cstddef>

#include "broadloom/core/host_device.h"

// Marks a function that should be called rather than inlined.
#ifdef __CUDACC__
#define BROADLOOM_CALLED __noinline__
#else
#define BROADLOOM_CALLED
#endif

namespace broadloom::cuda {

inline constexpr int kWarp = 32;
// Shared memory of a block that any device gives without a special request.
inline constexpr std::size_t kUsualSharedBytes = 48 * 1024;

struct KernelShape {
  int blocks = 1;
  int threads = kWarp;  // per block: a multiple of kWarp, at most 1,024
  std::size_t shared_bytes = 0;
};

// Properties of a side (host_side.h, device_side.h) by which work is cut. Bits do not depend on
// them, except on tensor cores. There they depend on `rows`, and on how many rows of a network fit
// into a block's shared memory.
struct SideShape {
  std::size_t shared_bytes;  // available to a block
  int multiprocessors;
  int rows = 65536;      // of a minibatch, processed at a time
  bool has_tf32 = true;  // tensor cores for TF32
};

// Allocates memory on a side and copies `count` numbers to it.
template <class Side, class T>
T* put_on(Side& side, const T* source, std::size_t count) {
  T* const kept = side.template allocate<T>(count);
  side.copy_in(kept, source, count);
  return kept;
}

// Prefetches data that will be read soon.
BROADLOOM_HD inline void fetch_ahead([[maybe_unused]] const void* address) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}

// Calls of_row(row)(column) for all columns of each row, by a team of threads. A team is any type
// with thread() and threads(), a multiple of kWarp.
//
// A warp, or the part of it that a row needs, takes a strip of a row at a time. A division by the
// number of columns for each number would cost more than the usual work on it.
template <class Team, class OfRow>
BROADLOOM_HD void over_elements(const Team& team, int rows, int columns, OfRow&& of_row) {
  int shift = 0;
  while (1 << shift < columns && 1 << shift < kWarp) ++shift;
  const int strips = (columns + (1 << shift) - 1) >> shift;
  const int column_in_strip = team.thread() & ((1 << shift) - 1);
  for (int e = team.thread() >> shift; e < rows * strips; e += team.threads() >> shift) {
    const int row = strips == 1 ? e : e / strips,
              column = ((e - row * strips) << shift) + column_in_strip;
    if (column < columns) of_row(row)(column);
  }
}

// Blocks of `threads` threads, one thread per row.
inline KernelShape shape_for_rows(int rows, int threads = 128) {
  return {(rows + threads - 1) / threads, threads, 0};
}

}  // namespace broadloom::cuda
