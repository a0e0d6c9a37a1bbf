// Errors between the two languages: a Status becomes a Python exception, and a Python exception
// that ended a run comes out of the call that started it.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "broadloom/core/status.h"

namespace broadloom::python {

// Throws what Python sees as broadloom.Error, with the message and `kind`, a word as in
// docs/reference/exit_codes.md. The GIL must be held.
[[noreturn]] void raise(const Status& status);

// The status of a call of Python that failed: says what was called, and keeps the exception for
// raise_kept(). The GIL must be held.
Status keep_exception(nanobind::python_error& error, const std::string& what);

// Throws the exception that was kept, if there is one, with the traceback that it had. The GIL must
// be held.
void raise_kept();

// Forgets it: what is called next begins anew.
void forget_kept();

void bind_errors(nanobind::module_& m);

}  // namespace broadloom::python
