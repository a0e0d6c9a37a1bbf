// The extension broadloom._core. It is small: users call python/broadloom/*.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bridges/bridges.h"
#include "broadloom/core/escape.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "device_steps.h"
#include "environments.h"
#include "errors.h"
#include "importing.h"
#include "movie.h"
#include "policy.h"
#include "simulator.h"
#include "training.h"
#include "xla.h"

NB_MODULE(_core, m) {
  nanobind::set_leak_warnings(false);  // registered environments live as long as the process
  broadloom::register_bridges();
  m.def("add_package_folder", &broadloom::add_package_folder, nanobind::arg("folder"));
  m.def("one_line", &broadloom::one_line, nanobind::arg("text"));
  m.def("same_source_text", &broadloom::same_source_text, nanobind::arg("a"), nanobind::arg("b"));
  m.def("is_whole_ledger_line", [](const nanobind::bytes& line) {
    return broadloom::check_ledger_bytes({line.c_str(), line.size()}).ok();
  });
  broadloom::python::bind_errors(m);
  broadloom::python::bind_environments(m);
  broadloom::python::bind_simulators(m);
  broadloom::python::bind_device_steps(m);
  broadloom::python::bind_xla(m);
  broadloom::python::bind_training(m);
  broadloom::python::bind_policy(m);
  broadloom::python::bind_importing(m);
  broadloom::python::bind_movies(m);
}
