#include "research/report/page.h"

#include <fmt/core.h>

#include <algorithm>

namespace broadloom {

Result<std::string> fill_page(std::string_view page, const PageParts& parts) {
  std::string out;
  std::size_t position = 0;
  while (true) {
    const std::size_t open = page.find("{{", position);
    out += page.substr(position, open - position);
    if (open == std::string_view::npos) return out;
    const std::size_t close = page.find("}}", open);
    if (close == std::string_view::npos) {
      return Status(ErrorKind::kMismatch, "the page template has '{{' without '}}' after it");
    }
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const auto& candidate) { return candidate.first == name; });
    if (part == parts.end()) {
      return Status(
          ErrorKind::kMismatch,
          fmt::format("the page template asks for the part '{}', which is missing", name));
    }
    out += part->second;
    position = close + 2;
  }
}

std::string json_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    // In JSON, '<' occurs only inside strings, where an escape may replace it. This removes both
    // "</script" and "<!--".
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace broadloom
