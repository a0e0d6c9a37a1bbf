// The library's environments for Python. broadloom/envs.py adapts them to Gymnasium.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_environments(nanobind::module_& m);

}  // namespace broadloom::python
