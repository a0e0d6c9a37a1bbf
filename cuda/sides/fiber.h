// One emulated thread's stack, and changing to it and back.
//
// ucontext alone would do, but its swapcontext() asks the operating system for the signal
// mask at every change, which was two thirds of what an emulated update took; so on x86-64 the
// change is a few instructions of our own.
#pragma once

// Not with shadow stacks (CET), which hold a return to be an attack where no call was.
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2))
#define BROADLOOM_OWN_FIBERS
#else
#include <ucontext.h>
#endif

#include <cstddef>
#include <memory>

namespace broadloom::cuda::emulated {

// Belongs to the thread that made it. entry() must not throw, and must have returned before
// begin() is called again or the fiber is destroyed: what is left on its stack is not destroyed.
class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The first resume() after this calls entry(argument).
  void begin(void (*entry)(int), int argument);
  // Goes on in the fiber until it leaves or its entry returns.
  void resume();
  // From within: goes on where resume() was called.
  void leave();

 private:
  static constexpr std::size_t kStackBytes = 128 * 1024;

  [[noreturn]] static void run();

  static thread_local Fiber* beginning_;

  std::unique_ptr<std::byte[]> stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  void (*entry_)(int) = nullptr;
  int argument_ = 0;
#ifdef BROADLOOM_OWN_FIBERS
  void* here_ = nullptr;  // the fiber's stack pointer while it is left
  void* home_ = nullptr;  // resume()'s, while it runs
#else
  ucontext_t here_{}, home_{};
#endif
};

}  // namespace broadloom::cuda::emulated
