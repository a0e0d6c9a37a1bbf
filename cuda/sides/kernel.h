// How kernels are written and started: once, for the device and for tests on the host.
//
// A kernel is a plain struct of pointers and numbers, with what one thread does:
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
// Block is DeviceBlock under nvcc (device_block.h), and EmulatedBlock on the host
// (emulated_block.h), where the threads of a block are fibers. Both have
//
//   index(), blocks()      this block of the grid, and how many there are
//   thread(), threads()    this thread of the block, and how many there are
//   sync()                 waits until every thread of the block has come here
//   shared<T>()            the block's shared memory, KernelShape::shared_bytes of it, not cleared
//   shuffle_xor(x, mask)   x of the thread of this warp whose number is thread() ^ mask; every
//                          thread of the warp must come here
//   copy_ahead(to, from, is_there)  four floats from multiples of 16 bytes on, from the device's
//                          memory to shared memory, or zeros, while the thread goes on
//   await_copies()         this thread's are there; those of others are after a sync()
//   multiply_add(a, b, sums)  sums += a b by a warp that comes here together, on tensor cores: a is
//                          16 x 8, b 8 x 8, and all of it lies with the threads as TensorLane says;
//                          numbers are those that to_tf32() makes (sides/tf32.h)
//
// A kernel must not depend on the order in which threads run between two sync()s, nor on the grid:
// sums are taken in a fixed order, and nothing is added atomically.
#pragma once

#include <cstddef>

#include "broadloom/core/host_device.h"

// In front of a function that is called, and not repeated wherever it is asked for.
#ifdef __CUDACC__
#define BROADLOOM_CALLED __noinline__
#else
#define BROADLOOM_CALLED
#endif

namespace broadloom::cuda {

inline constexpr int kWarp = 32;
// Shared memory of a block that any device gives unasked.
inline constexpr std::size_t kUsualSharedBytes = 48 * 1024;

struct KernelShape {
  int blocks = 1;
  int threads = kWarp;  // of a block, a multiple of kWarp, at most 1,024
  std::size_t shared_bytes = 0;
};

// What a side (host_side.h, device_side.h) is like, by which work is cut. No bits depend on it, but
// for those of tensor cores, which follow from how many rows of a network a block's shared memory
// holds, and from `rows`.
struct SideShape {
  std::size_t shared_bytes;  // that a block may have
  int multiprocessors;
  int rows = 65536;      // of a minibatch that are worked on at a time
  bool has_tf32 = true;  // tensor cores that multiply such numbers
};

// Memory of a side with a copy of so many numbers.
template <class Side, class T>
T* put_on(Side& side, const T* from, std::size_t count) {
  T* const kept = side.template allocate<T>(count);
  side.copy_in(kept, from, count);
  return kept;
}

// Brings what is there nearer, which is asked for soon.
BROADLOOM_HD inline void fetch_ahead([[maybe_unused]] const void* from) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
#endif
}

// f(column) for all `columns` of each of `rows`, f being what of_row(row) gives; by a team of
// threads: anything with thread() and threads(), a multiple of kWarp. A warp, or as much of one as
// a row takes, takes a strip of a row at a time: to divide by the columns, number for number, is
// more work than what is usually done with one.
template <class Team, class OfRow>
BROADLOOM_HD void over_elements(const Team& team, int rows, int columns, OfRow&& of_row) {
  int shift = 0;
  while (1 << shift < columns && 1 << shift < kWarp) ++shift;
  const int strips = (columns + (1 << shift) - 1) >> shift;
  const int within = team.thread() & ((1 << shift) - 1);
  for (int e = team.thread() >> shift; e < rows * strips; e += team.threads() >> shift) {
    const int row = strips == 1 ? e : e / strips, column = ((e - row * strips) << shift) + within;
    if (column < columns) of_row(row)(column);
  }
}

// Blocks of `threads` for so many rows, one a thread.
inline KernelShape shape_for_rows(int rows, int threads = 128) {
  return {(rows + threads - 1) / threads, threads, 0};
}

}  // namespace broadloom::cuda
