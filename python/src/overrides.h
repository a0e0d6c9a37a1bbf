// Settings by their names, as Python has them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "broadloom/core/config_table.h"

namespace broadloom::python {

// Values as a config file or flag has them, or what str() makes such.
inline Overrides overrides_from(const nanobind::dict& keys) {
  Overrides out;
  for (const auto& [key, value] : keys) {
    out.emplace_back(nanobind::cast<std::string>(key),
                     nanobind::cast<std::string>(nanobind::str(value)));
  }
  return out;
}

}  // namespace broadloom::python
