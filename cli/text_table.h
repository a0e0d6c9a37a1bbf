// Tables of text: aligned for people, Markdown and CSV for papers and tools.
#pragma once

#include <string>
#include <vector>

namespace broadloom::cli {

struct TextTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;  // each as wide as the head
};

enum class TableForm { kAligned, kMarkdown, kCsv };

// Lines end in a newline. Cells are escaped for Markdown and CSV (core/escape.h).
std::string table_text(const TextTable& table, TableForm form);

}  // namespace broadloom::cli
