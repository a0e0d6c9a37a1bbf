#include "cuda/sides/fiber.h"

#include <cstdlib>

namespace broadloom::cuda::emulated {

thread_local Fiber* Fiber::beginning_ = nullptr;

#ifdef BROADLOOM_OWN_FIBERS
// Saves the callee-saved registers (System V ABI for x86-64, 3.2.1) on the present stack, whose
// pointer goes to *left. Restores those of `next`. Floating-point modes stay, because no kernel
// changes them.
[[gnu::naked, gnu::noinline]] static void change_stack(void** /*left*/, void* /*next*/) {
  asm(R"(
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
  )");
}
#endif

// Never returns, so sanitizer marks in its frame would remain for the next use of the stack.
__attribute__((no_sanitize("address"))) void Fiber::run() {
  Fiber* const self = beginning_;
  change(*self, self->entry_(self->argument_));
  std::abort();  // resumed after its end
}

void Fiber::begin(Fiber& (*entry)(int), int argument) {
  if (stack_ == nullptr) stack_ = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  entry_ = entry;
  argument_ = argument;
  // Large allocations begin at the same place of a page. Tops at one place would share few lines
  // of the cache, and a third of an emulated update would be spent on misses.
  std::byte* const top = stack_.get() + kStackBytes - argument * 13 % 64 * 64;
#ifdef BROADLOOM_OWN_FIBERS
  // Builds the frame as if run() had been called and had left at once. It holds six registers, the
  // address to resume at, and a null return address, which ends a debugger's walk. On entry, a
  // function's stack pointer is 8 more than a multiple of 16 (3.2.2).
  static_assert(kStackBytes % 16 == 0 && __STDCPP_DEFAULT_NEW_ALIGNMENT__ % 16 == 0);
  void** const frame = reinterpret_cast<void**>(top) - 8;
  for (int i = 0; i < 8; ++i) frame[i] = nullptr;
  frame[6] = reinterpret_cast<void*>(&Fiber::run);
  here_ = frame;
#else
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_.get();
  here_.uc_stack.ss_size = static_cast<std::size_t>(top - stack_.get());
  here_.uc_link = nullptr;
  makecontext(&here_, &Fiber::run, 0);
#endif
}

void Fiber::change(Fiber& running, Fiber& other) {
  beginning_ = &other;
#ifdef BROADLOOM_OWN_FIBERS
  change_stack(&running.here_, other.here_);
#else
  swapcontext(&running.here_, &other.here_);
#endif
}

}  // namespace broadloom::cuda::emulated
