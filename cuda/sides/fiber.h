// One emulated thread's stack, and the switch to it and back.
//
// ucontext would suffice, but its swapcontext() makes a system call for the signal mask at every
// switch. These calls took two thirds of an emulated update. So on x86-64, the switch is a few
// instructions of our own.
#pragma once

// Not with shadow stacks (CET), which treat a return without a call as an attack.
#if defined(__x86_64__) && defined(__LP64__) && !(defined(__CET__) && (__CET__ & 2))
#define BROADLOOM_OWN_FIBERS
#else
#include <ucontext.h>
#endif

#include <cstddef>
#include <memory>

namespace broadloom::cuda::emulated {

// Belongs to the thread that made it. entry() must not throw. It must have returned before begin()
// is called again or the fiber is destroyed, because objects left on its stack are not destroyed.
class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The first resume() after this calls entry(argument).
  void begin(void (*entry)(int), int argument);
  // Continues in the fiber until it leaves or its entry returns.
  void resume();
  // From within the fiber: continues after the call of resume().
  void leave();

 private:
  static constexpr std::size_t kStackBytes = 128 * 1024;

  [[noreturn]] static void run();

  static thread_local Fiber* beginning_;

  std::unique_ptr<std::byte[]> stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  void (*entry_)(int) = nullptr;
  int argument_ = 0;
#ifdef BROADLOOM_OWN_FIBERS
  void* here_ = nullptr;  // the fiber's stack pointer while it is suspended
  void* home_ = nullptr;  // the stack pointer of resume() while the fiber runs
#else
  ucontext_t here_{}, home_{};
#endif
};

}  // namespace broadloom::cuda::emulated
