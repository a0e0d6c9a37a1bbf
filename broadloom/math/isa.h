// The instruction set that the kernels use.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Sets the instruction set for the whole process: "auto" (the widest that this processor has),
// "avx512", "avx2", "neon", "sse4" or "exact". A program calls it before anything runs; this
// library never does. Fails on an unknown name, or if the processor lacks the set.
//
// Results have the same bits under all of them but sse4, which has no fused multiply-add. "exact"
// emulates that number by number on any x86-64, and is some 70 times slower.
Status set_isa(const std::string& name);

// kMismatch unless the instruction set `asked` is in use; "auto" accepts any. For calls of the
// library, which leave the choice to the program.
Status check_isa(const std::string& asked);

// Name of the instruction set in use.
std::string active_isa();

// Whether fp32 and fp64 results under this instruction set have the bits that all sets but sse4
// share.
bool has_common_bits(const std::string& isa);

// The instruction set for resuming a run that asked for `asked` and ran under `used`. `asked`, if
// this processor has it. Otherwise `used`, if it has bits of its own and this processor has it.
// Otherwise "auto".
std::string isa_to_go_on(const std::string& asked, const std::string& used);

// Names that set_isa() accepts on this processor, widest first, without "auto".
std::vector<std::string> supported_isas();

// Vector width for loops that the compiler vectorises, under the instruction set in use.
enum class LoopTarget { kPortable, kAvx2, kAvx512 };
LoopTarget loop_target();

}  // namespace broadloom
