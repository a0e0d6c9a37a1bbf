// A function that compiled programs of JAX call on the CPU.
//
// XLA calls foreign functions by a C interface, whose fields keep their places: each struct begins
// with its size, and later versions append (xla/ffi/api/c_api.h of openxla/xla, version 0.3).
// xla.cc declares the part that it reads, so that a wheel of Broadloom works with each jaxlib that
// XLA calls compatible, and needs none to be built.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace broadloom::python {

// An array of a compiled program, in row-major order.
struct XlaArray {
  std::byte* data;
  std::size_t bytes;
};

// Answers the calls of a program while it runs.
class XlaCallee {
 public:
  virtual ~XlaCallee() = default;
  // inputs: read only. output: to be written whole. The call comes from a thread of XLA without the
  // GIL, and must not throw.
  virtual void called(std::span<const XlaArray> inputs, const XlaArray& output) = 0;
};

// A number for a callee, which programs name. JAX runs them in the background: an interrupted
// caller may be gone while its program goes on. The destructor waits for a call under way. Later
// calls with the number write zeros.
class XlaTicket {
 public:
  explicit XlaTicket(XlaCallee& callee);
  ~XlaTicket();
  XlaTicket(const XlaTicket&) = delete;
  XlaTicket& operator=(const XlaTicket&) = delete;

  // The program's first input, uint32 [2]: the two halves of the number, the lower first.
  nanobind::object halves() const;

 private:
  std::uint64_t number_;
};

// m.xla_function(): a capsule for jax.ffi.register_ffi_target().
void bind_xla(nanobind::module_& m);

}  // namespace broadloom::python
