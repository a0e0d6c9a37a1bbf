// Numbers formatted for people.
#pragma once

#include <cstdint>
#include <string>

namespace broadloom {

std::string with_commas(std::int64_t value);  // 500,000

}  // namespace broadloom
