// Runs a fuzz target on a fixed number of mutations of its seeds.
#include <cstdio>
#include <cstdlib>

#include "broadloom/core/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

std::string mutated(std::string text, const std::vector<std::string>& seeds,
                    broadloom::Random& random) {
  const std::uint32_t edits = random.below(6);
  for (std::uint32_t i = 0; i < edits; ++i) {
    const std::size_t place =
        text.empty() ? 0 : random.below(static_cast<std::uint32_t>(text.size()));
    switch (random.below(6)) {
      case 0:  // flip a bit
        if (!text.empty()) text[place] = static_cast<char>(text[place] ^ (1 << random.below(8)));
        break;
      case 1:  // any byte
        if (!text.empty()) text[place] = static_cast<char>(random.below(256));
        break;
      case 2:  // cut short
        text.resize(place);
        break;
      case 3:  // drop a part
        text.erase(place, random.below(8));
        break;
      case 4:  // repeat a part
        text.insert(place, text.substr(place, random.below(16)));
        break;
      default: {  // a part of another seed
        const std::string& other = seeds[random.below(static_cast<std::uint32_t>(seeds.size()))];
        const std::size_t first =
            other.empty() ? 0 : random.below(static_cast<std::uint32_t>(other.size()));
        text.insert(place, other.substr(first, random.below(24)));
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const long inputs = argc > 1 ? std::atol(argv[1]) : 20000;
  const std::vector<std::string> seeds = fuzz_seeds();
  for (long i = 0; i < inputs; ++i) {
    broadloom::Random random(1, broadloom::Purpose::kUser, 0, static_cast<std::uint64_t>(i));
    const std::string text =
        mutated(seeds[static_cast<std::size_t>(i) % seeds.size()], seeds, random);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%ld inputs, %ld of them valid, no crash\n", inputs, fuzz_accepted());
  // All or none valid: then the mutations test nothing.
  return fuzz_accepted() > 0 && fuzz_accepted() < inputs ? 0 : 1;
}
