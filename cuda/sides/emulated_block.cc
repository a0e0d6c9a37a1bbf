#include "cuda/sides/emulated_block.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>

#include "broadloom/core/random.h"
#include "cuda/sides/fiber.h"

namespace broadloom::cuda::emulated {
namespace {

constexpr std::size_t kMostSharedBytes = 227 * 1024;  // maximum of any device

// The reason why a fiber waits.
enum class Wait : std::uint8_t { kNone, kBlock, kWarp, kEnded };

// A thread's numbers for its warp. A thread may offer again while others still take, hence two. It
// offers a third time only when the whole warp has come to the second, and so has taken the first.
struct Offer {
  std::uint64_t bits = 0;       // to shuffle_xor()
  double a[4] = {}, b[2] = {};  // to multiply_add(), as TensorA and TensorB
};
struct Thread {
  Offer offers[2];
  int turn = 0;  // of the two
};

// Kept between kernels, because stacks cost more than most kernels.
thread_local std::vector<std::unique_ptr<Fiber>> fibers;

}  // namespace

void fault(const char* what) {
  std::fprintf(stderr, "emulated kernel: %s\n", what);
  std::abort();
}

// Schedules the threads of one block.
class Scheduler {
 public:
  Scheduler(const KernelShape& shape, FiberOrder order, std::uint64_t seed,
            const std::function<void(EmulatedBlock&)>& body)
      : shape_(shape), order_(order), random_(seed, Purpose::kInit, 0, 0), body_(body) {
    if (shape.threads < 1 || shape.threads > 1024 || shape.threads % kWarp != 0) {
      fault("a block has 32, 64, ... or 1,024 threads");
    }
    if (shape.blocks < 1) fault("a grid has at least one block; start none for no rows");
    if (shape.shared_bytes > kMostSharedBytes) fault("a block has at most 227 KB of shared memory");
    threads_.resize(static_cast<std::size_t>(shape.threads));
    waits_.resize(threads_.size());
    in_warp_.resize(threads_.size() / kWarp);
    while (fibers.size() < threads_.size()) fibers.push_back(std::make_unique<Fiber>());
    turns_.resize(threads_.size());
    std::iota(turns_.begin(), turns_.end(), 0);
    if (order == FiberOrder::kReversed) std::reverse(turns_.begin(), turns_.end());
    shared_.resize(shape.shared_bytes / sizeof(double) + 1);
  }

  void run_block(int index) {
    index_ = index;
    // A poison value: kernels must not rely on the initial contents.
    std::fill(shared_.begin(), shared_.end(), -7.0e77);
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      waits_[t] = Wait::kNone;
      fibers[t]->begin(&Scheduler::enter, static_cast<int>(t));
    }
    if (running != nullptr) fault("a kernel starts no other kernel");
    running = this;
    ended_ = 0;
    begin_round();
    Fiber::change(home_, next());
    running = nullptr;
  }

  void wait_for_block(int thread) {
    ++in_block_;
    wait(thread, Wait::kBlock);
  }
  void wait_for_warp(int thread) {
    ++in_warp_[static_cast<std::size_t>(thread / kWarp)];
    wait(thread, Wait::kWarp);
  }

  std::byte* shared() { return reinterpret_cast<std::byte*>(shared_.data()); }

  std::uint64_t exchange(int thread, std::uint64_t bits, int mask) {
    if (mask < 0 || mask >= kWarp) fault("a shuffle stays within a warp: its mask is below 32");
    const int turn = offer_of(thread);
    threads_[static_cast<std::size_t>(thread)].offers[turn].bits = bits;
    wait_for_warp(thread);
    return threads_[static_cast<std::size_t>(thread ^ mask)].offers[turn].bits;
  }

  // Products are exact in double, and the sum of all eight is rounded. Tensor cores keep about as
  // much; their own bits follow no standard.
  void multiply_add(int thread, const TensorA& a, const TensorB& b, float (&sums)[4]) {
    const int turn = offer_of(thread);
    Offer& own = threads_[static_cast<std::size_t>(thread)].offers[turn];
    std::copy_n(a.values, 4, own.a);
    std::copy_n(b.values, 2, own.b);
    wait_for_warp(thread);
    const TensorLane lane(thread);
    const int first = thread / kWarp * kWarp;
    const Thread* const warp = &threads_[static_cast<std::size_t>(first)];
    double exact[4] = {sums[0], sums[1], sums[2], sums[3]};
    for (int k = 0; k < 8; ++k) {
      const double* const of_a = &warp[lane.group * 4 + k % 4].offers[turn].a[k / 4 * 2];
      for (int column = 0; column < 2; ++column) {
        const Offer& other = warp[(2 * lane.within + column) * 4 + k % 4].offers[turn];
        for (int row = 0; row < 2; ++row) exact[2 * row + column] += of_a[row] * other.b[k / 4];
      }
    }
    for (int c = 0; c < 4; ++c) sums[c] = static_cast<float>(exact[c]);
  }

 private:
  int offer_of(int thread) {
    int& turn = threads_[static_cast<std::size_t>(thread)].turn;
    turn = 1 - turn;
    return turn;
  }
  static Fiber& enter(int thread) {
    Scheduler* const self = running;
    {
      EmulatedBlock block(*self, self->index_, self->shape_.blocks, thread, self->shape_.threads);
      self->body_(block);
    }
    self->waits_[static_cast<std::size_t>(thread)] = Wait::kEnded;
    ++self->ended_;
    return self->next();
  }

  void wait(int thread, Wait wait) {
    waits_[static_cast<std::size_t>(thread)] = wait;
    Fiber &own = *fibers[static_cast<std::size_t>(thread)], &other = next();
    if (&other != &own) Fiber::change(own, other);
  }

  // Each round goes once to each thread that waits for nothing. After the last, goes home.
  Fiber& next() {
    for (;;) {
      while (place_ < turns_.size()) {
        const std::size_t t = static_cast<std::size_t>(turns_[place_++]);
        if (waits_[t] == Wait::kNone) return *fibers[t];
      }
      if (ended_ == threads_.size()) return home_;
      if (!release()) fault("some threads wait at a sync() or shuffle that others never come to");
      begin_round();
    }
  }

  void begin_round() {
    if (order_ == FiberOrder::kShuffled) shuffle();
    place_ = 0;
  }

  // Releases threads once all have arrived: a whole warp for shuffles, otherwise the whole block.
  bool release() {
    bool released = false;
    if (in_block_ == threads_.size()) {
      std::fill(waits_.begin(), waits_.end(), Wait::kNone);
      in_block_ = 0;
      released = true;
    }
    for (std::size_t warp = 0; warp < in_warp_.size(); ++warp) {
      if (in_warp_[warp] != kWarp) continue;
      std::fill_n(waits_.begin() + static_cast<std::ptrdiff_t>(warp * kWarp), kWarp, Wait::kNone);
      in_warp_[warp] = 0;
      released = true;
    }
    return released;
  }

  void shuffle() {
    for (std::size_t i = turns_.size(); i > 1; --i) {
      std::swap(turns_[i - 1], turns_[random_.below(static_cast<std::uint32_t>(i))]);
    }
  }

  static thread_local Scheduler* running;

  const KernelShape& shape_;
  FiberOrder order_;
  Random random_;
  const std::function<void(EmulatedBlock&)>& body_;
  int index_ = 0;
  Fiber home_;  // the stack of run_block()
  std::vector<Thread> threads_;
  std::vector<Wait> waits_;   // of each thread; apart, since each round reads all of them
  std::vector<int> in_warp_;  // threads that wait for their warp
  std::size_t in_block_ = 0, ended_ = 0;
  std::vector<int> turns_;  // the order of a round
  std::size_t place_ = 0;   // in it
  std::vector<double> shared_;
};

thread_local Scheduler* Scheduler::running = nullptr;

void run(const KernelShape& shape, FiberOrder order, std::uint64_t seed,
         const std::function<void(EmulatedBlock&)>& body) {
  Scheduler scheduler(shape, order, seed, body);
  const bool backwards = order == FiberOrder::kReversed;
  for (int b = 0; b < shape.blocks; ++b) {
    scheduler.run_block(backwards ? shape.blocks - 1 - b : b);
  }
}

}  // namespace broadloom::cuda::emulated

namespace broadloom::cuda {

void EmulatedBlock::sync() { scheduler_.wait_for_block(thread_); }
std::byte* EmulatedBlock::shared_memory() { return scheduler_.shared(); }
std::uint64_t EmulatedBlock::exchange(std::uint64_t bits, int mask) {
  return scheduler_.exchange(thread_, bits, mask);
}
void EmulatedBlock::multiply_add(const TensorA& a, const TensorB& b, float (&sums)[4]) {
  scheduler_.multiply_add(thread_, a, b, sums);
}

}  // namespace broadloom::cuda
