// Which instruction set the kernels use.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// "auto" (the widest that this processor has), "avx512", "avx2", "neon", "sse4" or "exact". For the
// whole process: a program calls it before anything runs, and no part of this library does. Results
// have the same bits under all of them but sse4, which has no fused multiply-add; "exact" works
// that out number by number, on any x86-64, and is some 70 times slower. Fails on an unknown name,
// or where the processor lacks the set.
Status set_isa(const std::string& name);

// kMismatch unless `asked`, a name as above, is in use; "auto" is whatever is. For libraries'
// calls, which leave the choice to whoever has the process.
Status check_isa(const std::string& asked);

// Name of the set in use.
std::string active_isa();

// Whether results in fp32 and fp64 have the bits that they have on every processor.
bool has_common_bits(const std::string& isa);

// The set to go on with what asked for `asked` and was made under `used`: what it asked for, else
// what has the same bits, where this processor has it; else "auto".
std::string isa_to_go_on(const std::string& asked, const std::string& used);

// Names that set_isa() takes on this processor, the widest first, without "auto".
std::vector<std::string> supported_isas();

// For loops that the compiler turns into vector instructions: how wide they may be now.
enum class LoopTarget { kPortable, kAvx2, kAvx512 };
LoopTarget loop_target();

}  // namespace broadloom
