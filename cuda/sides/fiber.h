// One emulated thread's stack, and the switch from one to another.
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

// Belongs to the thread that made it. An entry must not throw. It must have returned before begin()
// is called again or the fiber is destroyed, because objects left on its stack are not destroyed.
// A fiber that never begins stands for the thread's own stack.
class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The first change to this calls entry(argument), which returns the fiber to go on with.
  void begin(Fiber& (*entry)(int), int argument);
  // Leaves the running fiber for another. Returns when another comes back to it.
  static void change(Fiber& running, Fiber& other);

 private:
  static constexpr std::size_t kStackBytes = 128 * 1024;

  [[noreturn]] static void run();

  static thread_local Fiber* beginning_;

  std::unique_ptr<std::byte[]> stack_;
  Fiber& (*entry_)(int) = nullptr;
  int argument_ = 0;
#ifdef BROADLOOM_OWN_FIBERS
  void* here_ = nullptr;  // the stack pointer while another runs
#else
  ucontext_t here_{};
#endif
};

}  // namespace broadloom::cuda::emulated
