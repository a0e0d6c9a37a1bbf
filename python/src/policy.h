// Policies of runs, for NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>

#include "broadloom/evaluate/policy.h"

namespace broadloom::python {

// A copy of a policy that may change, as an object of _core.Policy. The GIL must be held.
nanobind::object copy_of(const Policy& policy);

void bind_policy(nanobind::module_& m);

}  // namespace broadloom::python
