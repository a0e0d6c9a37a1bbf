#include "research/study/study_part.h"

#include <fmt/core.h>

#include <charconv>

#include "broadloom/core/config_table.h"

namespace broadloom {
namespace {

// Appends "4" or "4-9", which must follow all runs of `out`.
bool add_runs(const std::string& item, std::int64_t most, std::vector<std::int64_t>& out) {
  const std::size_t dash = item.find('-');
  std::int64_t first = 0, last = 0;
  if (!parse_text(item.substr(0, dash), first).ok()) return false;
  last = first;
  if (dash != std::string::npos && !parse_text(item.substr(dash + 1), last).ok()) return false;
  if (first < 1 || last < first || last > most) return false;
  if (!out.empty() && first <= out.back()) return false;
  for (std::int64_t run = first; run <= last; ++run) out.push_back(run);
  return true;
}

}  // namespace

std::string part_name(std::int64_t index, std::int64_t count) {
  return count == 1 ? "the whole study" : fmt::format("part {}/{}", index, count);
}

Result<StudyPart> parse_part(const std::string& text) {
  StudyPart part;
  const char* end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, part.index);
  if (error == std::errc() && slash != end && *slash == '/') {
    const auto [rest, fault] = std::from_chars(slash + 1, end, part.count);
    if (fault == std::errc() && rest == end && part.index >= 1 && part.index <= part.count) {
      return part;
    }
  }
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("part: got '{}', expected i/n with 1 <= i <= n, as in 2/4", text));
}

Result<std::vector<std::int64_t>> parse_runs(const std::string& text, std::int64_t most) {
  std::vector<std::string> items;
  std::vector<std::int64_t> runs;
  bool is_right = parse_text(text, items).ok() && !items.empty();
  for (const std::string& item : items) is_right = is_right && add_runs(item, most, runs);
  if (is_right) return runs;
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("runs: got '{}'; expected numbers of this study's runs from 1 to {}, "
                            "ascending, as in 1-3,9",
                            text, most));
}

std::string runs_text(const std::vector<std::int64_t>& runs) {
  std::string text;
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t last = first;
    while (last + 1 < runs.size() && runs[last + 1] == runs[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", runs[first]);
    if (last > first) text += fmt::format("-{}", runs[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace broadloom
