// Serialises calls of describe(), make() and close() of plug-ins.
#pragma once

#include <mutex>

namespace broadloom {

inline std::mutex& plugin_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace broadloom
