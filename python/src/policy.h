// Policies of runs, which act on NumPy's arrays.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_policy(nanobind::module_& m);

}  // namespace broadloom::python
