// Flags of other programs that Broadloom has no key for, since it does without or always does it.
#pragma once

#include <string>

namespace broadloom::cli {

// A sentence for those who type one: what is so instead. "" where the flag is nobody's. name:
// without dashes at its head; hyphens, letter case and a leading "no" do not count.
std::string foreign_flag_hint(const std::string& name);

}  // namespace broadloom::cli
