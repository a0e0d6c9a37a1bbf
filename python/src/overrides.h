// Settings from a Python dict.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "broadloom/core/config_table.h"

namespace broadloom::python {

// Values must be texts of a config file, or objects whose str() is one.
inline Overrides overrides_from(const nanobind::dict& keys) {
  Overrides out;
  for (const auto& [key, value] : keys) {
    out.emplace_back(nanobind::cast<std::string>(key),
                     nanobind::cast<std::string>(nanobind::str(value)));
  }
  return out;
}

}  // namespace broadloom::python
