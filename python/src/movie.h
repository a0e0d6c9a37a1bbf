// Writes pictures of Python environments as GIF or MP4.
#pragma once

#include <nanobind/nanobind.h>

namespace broadloom::python {

void bind_movies(nanobind::module_& m);

}  // namespace broadloom::python
