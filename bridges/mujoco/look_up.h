// Functions of libraries loaded at run time.
#pragma once

#include <dlfcn.h>

namespace broadloom::mujoco {

// Looks up a symbol. False if the library does not have it.
template <class Function>
bool look_up(void* handle, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  return out != nullptr;
}

}  // namespace broadloom::mujoco
