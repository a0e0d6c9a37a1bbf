// A function that compiled programs of JAX call on the CPU.
//
// XLA calls foreign functions by a C interface, whose fields keep their places: each struct begins
// with its size, and later versions append (xla/ffi/api/c_api.h of openxla/xla, version 0.3).
// xla.cc declares the part that it reads, so that a wheel of Broadloom works with each jaxlib that
// XLA calls compatible, and needs none to be built.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

namespace broadloom::python {

// An array of a compiled program, in row-major order.
struct XlaArray {
  std::byte* data;
  std::size_t bytes;
};

// Who answers the calls of a program while it runs.
class XlaCallee {
 public:
  virtual ~XlaCallee() = default;
  // inputs: read only. output: to be written whole. The call comes from a thread of XLA without the
  // GIL, and must not throw.
  virtual void called(std::span<const XlaArray> inputs, const XlaArray& output) = 0;
};

// The program's first input, uint32 [2]: the two halves of the callee's address, the lower first.
nanobind::object xla_address(XlaCallee& callee);

// m.xla_function(): a capsule for jax.ffi.register_ffi_target().
void bind_xla(nanobind::module_& m);

}  // namespace broadloom::python
