// Errors between the two languages: a Status becomes a Python exception, and a Python exception
// that ended a run comes out of the call that started it.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom::python {

// Throws what Python sees as broadloom.Error, with the message and `kind`, a word as in
// docs/reference/exit_codes.md. The GIL must be held.
[[noreturn]] void raise(const Status& status);

// While a call of the library's lasts, the first exception of Python's that came in it: made and
// let go in the thread that called, one within another where calls are. All of it only where the
// GIL is held.
class KeptException {
 public:
  // A command also has those that came in threads which are in no call, as the workers of a study:
  // there is one command at a time.
  enum class Of { kThread, kCommand };

  explicit KeptException(Of of = Of::kThread);
  ~KeptException();
  KeptException(const KeptException&) = delete;
  KeptException& operator=(const KeptException&) = delete;

  void keep(nanobind::python_error& error);
  // Throws it, if there is one, with the traceback that it had.
  void raise();
  // It, with its traceback, or None.
  nanobind::object value() const;

 private:
  Of of_;
  KeptException *around_, *command_around_;
  std::optional<nanobind::python_error> error_;
};

// The status of a call of Python that failed: says what was called, and keeps the exception in the
// call that it came in. The GIL must be held.
Status keep_exception(nanobind::python_error& error, const std::string& what);

void bind_errors(nanobind::module_& m);

}  // namespace broadloom::python
