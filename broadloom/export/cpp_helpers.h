// Operations of an exported policy as functions of C++17, for cpp_header().
#pragma once

#include <span>

namespace broadloom {

struct CppHelper {
  const char* name;  // of the operation
  const char* code;
};

std::span<const CppHelper> cpp_helpers();

}  // namespace broadloom
