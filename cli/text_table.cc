#include "cli/text_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "broadloom/core/escape.h"

namespace broadloom::cli {
namespace {

using Row = std::vector<std::string>;

std::string aligned(const Row& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < row.size(); ++c) {
    line += fmt::format("{}{:<{}}", c == 0 ? "" : "  ", row[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string markdown(const Row& row) {
  std::string line = "|";
  for (const std::string& cell : row) {
    const std::size_t begin = std::min(cell.size(), cell.find_first_not_of(' '));
    line += fmt::format(" {} |", markdown_cell(cell.substr(begin)));
  }
  return line + "\n";
}

std::string csv(const Row& row) {
  std::string line;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (c > 0) line += ',';
    line += csv_field(row[c]);
  }
  return line + "\n";
}

}  // namespace

std::string table_text(const TextTable& table, TableForm form) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.head.size(); ++c) {
    widths.push_back(table.head[c].size());
    for (const Row& row : table.rows) widths[c] = std::max(widths[c], row[c].size());
  }
  const auto line = [&](const Row& row) {
    if (form == TableForm::kMarkdown) return markdown(row);
    return form == TableForm::kCsv ? csv(row) : aligned(row, widths);
  };
  std::string out = line(table.head);
  if (form == TableForm::kMarkdown) out += line(Row(table.head.size(), "---"));
  for (const Row& row : table.rows) out += line(row);
  return out;
}

}  // namespace broadloom::cli
