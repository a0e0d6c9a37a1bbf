#include "errors.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include <utility>

namespace nb = nanobind;

namespace broadloom::python {
namespace {

thread_local KeptException* this_threads = nullptr;  // the innermost
KeptException* commands = nullptr;                   // likewise

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

KeptException::KeptException(Of of) : of_(of), around_(this_threads), command_around_(commands) {
  this_threads = this;
  if (of_ == Of::kCommand) commands = this;
}

KeptException::~KeptException() {
  this_threads = around_;
  if (of_ == Of::kCommand) commands = command_around_;
}

void KeptException::keep(nb::python_error& error) {
  if (!error_) error_.emplace(std::move(error));
}

void KeptException::raise() {
  if (!error_) return;
  nb::python_error error = std::move(*error_);
  error_.reset();
  throw error;
}

nb::object KeptException::value() const {
  if (!error_) return nb::none();
  return nb::borrow(error_->value());
}

Status keep_exception(nb::python_error& error, const std::string& what) {
  const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  KeptException* const call = this_threads != nullptr ? this_threads : commands;
  if (call != nullptr) call->keep(error);
  return {ErrorKind::kIo,
          fmt::format("{} raised {}{}{}", what, type, text.empty() ? "" : ": ", text)};
}

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
