// The interface of a fuzz target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// libFuzzer's entry point: must return for every input; crashes and sanitizer reports are the
// findings.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Valid inputs to start from.
std::vector<std::string> fuzz_seeds();

// How many inputs the target took for valid so far: the driver checks that both kinds occur.
long fuzz_accepted();
