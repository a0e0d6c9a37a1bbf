#include "broadloom/env/one_hot.h"

#include <fmt/core.h>

namespace broadloom {

Status invalid_index(const char* function, const std::string& id, float index, int env, int n) {
  return {ErrorKind::kIo,
          fmt::format("{}() of {} gave the index {} for environment {}; expected a whole number "
                      "from 0 to {}",
                      function, id, index, env, n - 1)};
}

}  // namespace broadloom
