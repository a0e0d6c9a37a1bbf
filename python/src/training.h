// Runs from Python: training, and every command of the program.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_training(nanobind::module_& m);

}  // namespace broadloom::python
