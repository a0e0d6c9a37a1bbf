// Reads Python arrays by the buffer protocol, which costs least per call.
#pragma once

#include <nanobind/nanobind.h>

#include <fmt/core.h>

#include <cstddef>
#include <string>

namespace broadloom::python {

// A view of a contiguous array of `count` numbers of `item_size` bytes. Throws a Python exception
// for any other object. The GIL must be held during its whole life.
class Buffer {
 public:
  Buffer(nanobind::handle array, const char* what, std::size_t count, std::size_t item_size,
         bool writable = false) {
    if (PyObject_GetBuffer(array.ptr(), &view_, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0)
      throw nanobind::python_error();
    if (static_cast<std::size_t>(view_.len) == count * item_size &&
        static_cast<std::size_t>(view_.itemsize) == item_size)
      return;
    const std::string message =
        fmt::format("{}: got {} bytes in numbers of {}, expected {} numbers of {} bytes", what,
                    view_.len, view_.itemsize, count, item_size);
    PyBuffer_Release(&view_);
    throw nanobind::value_error(message.c_str());
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class Number>
  Number* as() const {
    return static_cast<Number*>(view_.buf);
  }

 private:
  Py_buffer view_;
};

}  // namespace broadloom::python
