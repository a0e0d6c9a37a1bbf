// Passes errors between C++ and Python. A Status becomes a Python exception. A Python exception
// that ended a run comes out of the call that started the run.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom::python {

// Throws broadloom.Error with the message and `kind` (docs/reference/exit_codes.md). The GIL must
// be held.
[[noreturn]] void raise(const Status& status);

// Keeps the first Python exception during a call of the library. Create and destroy it in the
// calling thread; nested calls have nested objects. The GIL must be held for all members.
class KeptException {
 public:
  // A command also keeps exceptions of threads without a call, such as workers of a study. Only one
  // command runs at a time.
  enum class Scope { kThread, kCommand };

  explicit KeptException(Scope scope = Scope::kThread);
  ~KeptException();
  KeptException(const KeptException&) = delete;
  KeptException& operator=(const KeptException&) = delete;

  void keep(nanobind::python_error& error);
  // Throws the exception, if there is one, with its traceback.
  void raise();
  // The exception with its traceback, or None.
  nanobind::object value() const;

 private:
  Scope scope_;
  KeptException *outer_, *outer_command_;
  std::optional<nanobind::python_error> error_;
};

// Returns the Status of a failed call of Python, and keeps its exception in the current call.
// action: what failed, for the message. The GIL must be held.
Status keep_exception(nanobind::python_error& error, const std::string& action);

void bind_errors(nanobind::module_& m);

}  // namespace broadloom::python
