// Writes policies of other libraries as checkpoints.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_importing(nanobind::module_& m);

}  // namespace broadloom::python
