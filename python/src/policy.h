// Policies of runs, for NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_policy(nanobind::module_& m);

}  // namespace broadloom::python
