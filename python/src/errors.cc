#include "errors.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include <utility>

namespace nb = nanobind;

namespace broadloom::python {
namespace {

thread_local KeptException* thread_call = nullptr;  // the innermost call of this thread
KeptException* command_call = nullptr;              // the innermost command

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

// The kind that `broadloom_kind` of an exception names: Broadloom's own refusals. kOk: none.
ErrorKind kind_of(const nb::python_error& error) {
  const nb::object named = nb::getattr(error.value(), "broadloom_kind", nb::none());
  if (!nb::isinstance<nb::str>(named)) return ErrorKind::kOk;
  const std::string name = nb::cast<std::string>(named);
  for (const ErrorKind kind : {ErrorKind::kInvalidConfig, ErrorKind::kNotFound, ErrorKind::kIo,
                               ErrorKind::kCorrupt, ErrorKind::kMismatch, ErrorKind::kNumeric}) {
    if (name == word(kind)) return kind;
  }
  return ErrorKind::kOk;
}

}  // namespace

void raise(const Status& status) {
  const nb::object error = error_type()(status.message());
  error.attr("kind") = word(status.kind());
  PyErr_SetObject(error_type().ptr(), error.ptr());
  throw nb::python_error();
}

KeptException::KeptException(Scope scope)
    : scope_(scope), outer_(thread_call), outer_command_(command_call) {
  thread_call = this;
  if (scope_ == Scope::kCommand) command_call = this;
}

KeptException::~KeptException() {
  thread_call = outer_;
  if (scope_ == Scope::kCommand) command_call = outer_command_;
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

Status keep_exception(nb::python_error& error, const std::string& action) {
  const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  const ErrorKind kind = kind_of(error);
  KeptException* const call = thread_call != nullptr ? thread_call : command_call;
  if (call != nullptr) call->keep(error);
  if (kind != ErrorKind::kOk) return {kind, text};
  return {ErrorKind::kIo,
          fmt::format("{} raised {}{}{}", action, type, text.empty() ? "" : ": ", text)};
}

void bind_errors(nb::module_& m) {
  // A Python class, so that it has `kind` and code without broadloom catches it as a RuntimeError.
  nb::dict members;
  members["kind"] = word(ErrorKind::kInvalidConfig);  // unless an error sets its own
  const nb::object error = nb::borrow(PyErr_NewExceptionWithDoc(
      "broadloom.Error",
      "An error of Broadloom. The message has the value it got, the expected one and what to do. "
      "`kind` is one of invalid_config, not_found, io, corrupt, mismatch, numeric.",
      PyExc_RuntimeError, members.ptr()));
  m.attr("Error") = error;
  error_type() = error;
  error.inc_ref();
}

}  // namespace broadloom::python
