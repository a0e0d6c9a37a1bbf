// The library's environments for Python: what broadloom/env/tasks.py makes Gymnasium's of.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_environments(nanobind::module_& m);

}  // namespace broadloom::python
