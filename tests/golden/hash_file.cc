#include "tests/golden/hash_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "broadloom/math/isa.h"

namespace broadloom::golden {

std::vector<std::string> golden_isas() {
  std::vector<std::string> isas = supported_isas();
  std::erase_if(isas, [](const std::string& isa) { return !has_common_bits(isa); });
  return isas;
}

std::string line_text(const std::string& configuration, const Line& line) {
  return fmt::format("{:<24} {:<20} {:016x}\n", configuration, line.what, line.hash);
}

Result<std::map<std::string, Lines>> parse_hashes(std::string_view text) {
  std::map<std::string, Lines> hashes;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string configuration, what, more;
    std::uint64_t hash = 0;
    if (!(words >> configuration >> what >> std::hex >> hash) || words >> more) {
      return Status(
          ErrorKind::kCorrupt,
          fmt::format("line {}: got '{}', expected 'configuration number hash'", number, line));
    }
    hashes[configuration].push_back({what, hash});
  }
  return hashes;
}

std::string first_difference(const Lines& expected, const Lines& got) {
  std::string first;
  int differing = 0;
  for (std::size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
    const bool in_both = i < expected.size() && i < got.size();
    if (in_both && expected[i] == got[i]) continue;
    ++differing;
    if (!first.empty()) continue;
    const auto text = [i](const Lines& lines) {
      return i < lines.size() ? fmt::format("{} {:016x}", lines[i].what, lines[i].hash)
                              : std::string("nothing");
    };
    first = fmt::format("got {}, expected {}", text(got), text(expected));
  }
  if (differing == 0) return "";
  return fmt::format("{} ({} of {} numbers differ)", first, differing,
                     std::max(expected.size(), got.size()));
}

}  // namespace broadloom::golden
