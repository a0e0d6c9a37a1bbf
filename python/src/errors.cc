#include "errors.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <utility>

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// All of it only where the GIL is held, which is the lock. Never freed: the interpreter may be
// gone.
std::optional<nb::python_error>& kept() {
  static auto* error = new std::optional<nb::python_error>;
  return *error;
}

nb::handle& error_type() {
  static nb::handle type;
  return type;
}

const char* word(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOk:
      return "ok";
    case ErrorKind::kInvalidConfig:
      return "invalid_config";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kCorrupt:
      return "corrupt";
    case ErrorKind::kMismatch:
      return "mismatch";
    case ErrorKind::kNumeric:
      return "numeric";
  }
  return "";
}

}  // namespace

void raise(const Status& status) {
  const nb::object error = error_type()(status.message());
  error.attr("kind") = word(status.kind());
  PyErr_SetObject(error_type().ptr(), error.ptr());
  throw nb::python_error();
}

Status keep_exception(nb::python_error& error, const std::string& what) {
  const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  if (!kept()) kept().emplace(std::move(error));
  return {ErrorKind::kIo,
          fmt::format("{} raised {}{}{}", what, type, text.empty() ? "" : ": ", text)};
}

void raise_kept() {
  if (!kept()) return;
  nb::python_error error = std::move(*kept());
  kept().reset();
  throw error;
}

void forget_kept() { kept().reset(); }

void bind_errors(nb::module_& m) {
  // Made as a class of Python's: it carries `kind`, and is caught as a RuntimeError by who knows
  // nothing of us.
  const nb::object error = nb::borrow(PyErr_NewExceptionWithDoc(
      "broadloom.Error",
      "What Broadloom could not do: the message says what was got, what was expected and what to "
      "do; `kind` is one of invalid_config, not_found, io, corrupt, mismatch, numeric.",
      PyExc_RuntimeError, nullptr));
  m.attr("Error") = error;
  error_type() = error;
  error.inc_ref();
}

}  // namespace broadloom::python
