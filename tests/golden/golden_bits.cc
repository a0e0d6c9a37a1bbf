// Prints tests/golden/hashes.txt as an instruction set makes it.
//   golden_bits [--isa NAME] [CONFIGURATION ...]
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "broadloom/math/isa.h"
#include "tests/golden/configurations.h"
#include "tests/golden/hash_file.h"

namespace broadloom::golden {
namespace {

constexpr char kHead[] =
    "# What every processor must come to: tests/golden/configurations.cc, docs/bits.md.\n"
    "# Written by: build/release/tests/golden/golden_bits > tests/golden/hashes.txt\n";

bool wanted(const std::vector<std::string>& names, const std::string& name) {
  if (names.empty()) return true;
  for (const std::string& other : names) {
    if (other == name) return true;
  }
  return false;
}

bool is_configuration(const std::string& name) {
  const std::vector<Configuration> all = configurations();
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
}

int print(const std::string& isa, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (is_configuration(name)) continue;
    std::fprintf(stderr, "golden_bits: got '%s', expected [--isa NAME] [CONFIGURATION ...]\n",
                 name.c_str());
    return 2;
  }
  const Status status = set_isa(isa);
  if (!status.ok()) {
    std::fprintf(stderr, "golden_bits: %s\n", status.message().c_str());
    return 1;
  }
  std::fputs(kHead, stdout);
  for (const Configuration& configuration : configurations()) {
    if (!wanted(names, configuration.name)) continue;
    const Result<Lines> lines = configuration.measure(isa);
    if (!lines.ok()) {
      std::fprintf(stderr, "golden_bits: %s: %s\n", configuration.name.c_str(),
                   lines.status().message().c_str());
      return 1;
    }
    for (const Line& line : lines.value()) {
      std::fputs(line_text(configuration.name, line).c_str(), stdout);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace broadloom::golden

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string isa;
  if (words.size() >= 2 && words[0] == "--isa") {
    isa = words[1];
    words.erase(words.begin(), words.begin() + 2);
  } else {
    const std::vector<std::string> isas = broadloom::golden::golden_isas();
    if (isas.empty()) {
      std::fputs("golden_bits: no instruction set of this processor has the golden bits\n", stderr);
      return 1;
    }
    isa = isas.front();
  }
  return broadloom::golden::print(isa, words);
}
