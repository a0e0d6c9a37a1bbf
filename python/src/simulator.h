// Environments that Python steps, as a VecEnv. broadloom/_adapter.py has the Python side.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_simulators(nanobind::module_& m);

}  // namespace broadloom::python
