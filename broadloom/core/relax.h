// A hint to the processor between two polls of a value that another thread will change.
#pragma once

namespace broadloom {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace broadloom
