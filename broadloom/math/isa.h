// Which instruction set the kernels use.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// "auto" (the widest that this processor has), "avx512", "avx2", "sse4" or "portable". For the
// whole process; call it before anything runs. Results have the same bits under one instruction
// set, not across them. Fails on an unknown name, or where the processor lacks the set.
Status set_isa(const std::string& name);

// Name of the set in use: "avx512", "avx2", "sse4", "portable", or Highway's name on other
// processors.
std::string active_isa();

// Names that set_isa() takes on this processor, the widest first, without "auto".
std::vector<std::string> supported_isas();

// For loops that the compiler turns into vector instructions: how wide they may be now.
enum class LoopTarget { kPortable, kAvx2, kAvx512 };
LoopTarget loop_target();

}  // namespace broadloom
