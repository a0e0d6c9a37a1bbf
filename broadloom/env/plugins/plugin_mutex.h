// describe(), make() and close() of plug-ins are called one at a time.
#pragma once

#include <mutex>

namespace broadloom {

inline std::mutex& plugin_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace broadloom
