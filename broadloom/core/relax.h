// What a thread does between two looks at something that another one will change.
#pragma once

namespace broadloom {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace broadloom
