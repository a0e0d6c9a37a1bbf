// Functions of libraries that are loaded at run time.
#pragma once

#include <dlfcn.h>

namespace broadloom::mujoco {

// False where the library has nothing of the name.
template <class Function>
bool look_up(void* handle, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  return out != nullptr;
}

}  // namespace broadloom::mujoco
