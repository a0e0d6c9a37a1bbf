// describe(), make() and close() of plug-ins are called one at a time.
#pragma once

#include <mutex>

namespace broadloom {

std::mutex& plugin_mutex();

}  // namespace broadloom
