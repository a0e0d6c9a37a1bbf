// Environments that Python steps, as a VecEnv: what broadloom/_simulators.py adapts.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_simulators(nanobind::module_& m);

}  // namespace broadloom::python
