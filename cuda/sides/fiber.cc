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
  self->entry_(self->argument_);
  self->leave();
  std::abort();  // resumed after its end
}

#ifdef BROADLOOM_OWN_FIBERS

void Fiber::begin(void (*entry)(int), int argument) {
  entry_ = entry;
  argument_ = argument;
  // Builds the frame as if run() had been called and had left at once. It holds six registers, the
  // address to resume at, and a null return address, which ends a debugger's walk. On entry, a
  // function's stack pointer is 8 more than a multiple of 16 (3.2.2).
  static_assert(kStackBytes % 16 == 0 && __STDCPP_DEFAULT_NEW_ALIGNMENT__ % 16 == 0);
  void** const frame = reinterpret_cast<void**>(stack_.get() + kStackBytes) - 8;
  for (int i = 0; i < 8; ++i) frame[i] = nullptr;
  frame[6] = reinterpret_cast<void*>(&Fiber::run);
  here_ = frame;
}

void Fiber::resume() {
  beginning_ = this;
  change_stack(&home_, here_);
}

void Fiber::leave() { change_stack(&here_, home_); }

#else

void Fiber::begin(void (*entry)(int), int argument) {
  entry_ = entry;
  argument_ = argument;
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_.get();
  here_.uc_stack.ss_size = kStackBytes;
  here_.uc_link = nullptr;
  makecontext(&here_, &Fiber::run, 0);
}

void Fiber::resume() {
  beginning_ = this;
  swapcontext(&home_, &here_);
}

void Fiber::leave() { swapcontext(&here_, &home_); }

#endif

}  // namespace broadloom::cuda::emulated
