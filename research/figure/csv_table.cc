#include "research/figure/csv_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "broadloom/core/config_table.h"
#include "broadloom/record/files.h"

namespace broadloom {
namespace {

Status csv_error(const std::string& path, unsigned line, const std::string& what) {
  return invalid(fmt::format("{}:{}: {}", path, line, what));
}

// Takes one record after the other from the text.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
  }

  bool at_end() const { return at_ >= text_.size(); }

  Result<CsvRow> next() {
    CsvRow row;
    row.line = line_;
    for (;;) {
      Result<std::string> cell = next_cell();
      if (!cell.ok()) return cell.status();
      row.cells.push_back(cell.take());
      if (at_end()) return row;
      const char c = text_[at_++];
      if (c == ',') continue;
      if (c == '\r' && !at_end() && text_[at_] == '\n') ++at_;
      ++line_;
      return row;
    }
  }

 private:
  static bool ends_cell(char c) { return c == ',' || c == '\n' || c == '\r'; }

  Result<std::string> next_cell() {
    if (!at_end() && text_[at_] == '"') return quoted_cell();
    const std::size_t begin = at_;
    while (!at_end() && !ends_cell(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<std::string> quoted_cell() {
    const unsigned opened = line_;
    std::string cell;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '"') {
        if (text_.substr(at_, 2) != "\"\"") break;
        ++at_;
      }
      if (text_[at_] == '\n') ++line_;
      cell += text_[at_];
    }
    if (at_end()) return csv_error(path_, opened, "a quote opens a cell and none closes it");
    ++at_;
    if (at_end() || ends_cell(text_[at_])) return cell;
    return csv_error(path_, line_, "text follows a closing quote; expected a comma or a new line");
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
};

Status check_header(const CsvTable& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto end = table.columns.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(table.columns.begin(), end, table.columns[i]) != end) {
      return csv_error(
          table.path, 1,
          fmt::format("two columns are called '{}'; expected names that differ", table.columns[i]));
    }
  }
  return {};
}

// The word after "key=" among the words of a cell.
std::optional<std::string> setting(const std::string& cell, const std::string& key) {
  for (std::size_t at = 0; at < cell.size();) {
    const std::size_t end = std::min(cell.find(' ', at), cell.size());
    const std::string word = cell.substr(at, end - at);
    if (word.size() > key.size() && word.compare(0, key.size(), key) == 0 &&
        word[key.size()] == '=') {
      return word.substr(key.size() + 1);
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, const std::string& path) {
  CsvTable table;
  table.path = path;
  CsvReader reader(text, path);
  if (reader.at_end()) {
    return csv_error(path, 1, "the file is empty; expected a line with the names of its columns");
  }
  Result<CsvRow> header = reader.next();
  if (!header.ok()) return header.status();
  table.columns = std::move(header.value().cells);
  BROADLOOM_TRY(check_header(table));
  while (!reader.at_end()) {
    Result<CsvRow> row = reader.next();
    if (!row.ok()) return row.status();
    const std::size_t cells = row.value().cells.size();
    if (cells == 1 && row.value().cells[0].empty() && table.columns.size() > 1) continue;
    if (cells != table.columns.size()) {
      return csv_error(path, row.value().line,
                       fmt::format("got {} cells, expected {}, as many as the header names", cells,
                                   table.columns.size()));
    }
    table.rows.push_back(row.take());
  }
  return table;
}

Result<CsvTable> read_csv(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return text.status();
  return parse_csv(text.value(), path);
}

bool CsvColumn::exists(const CsvTable& table, const std::string& name) {
  return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
}

Result<CsvColumn> CsvColumn::find(const CsvTable& table, const std::string& name) {
  CsvColumn found;
  found.name_ = name;
  std::string column = name;
  const std::size_t slash = name.rfind('/');
  if (!exists(table, name) && slash != std::string::npos) {
    column = name.substr(0, slash);
    found.key_ = name.substr(slash + 1);
  }
  const auto at = std::find(table.columns.begin(), table.columns.end(), column);
  if (at == table.columns.end()) {
    const Status unknown = unknown_key_error("column", column, table.columns);
    return Status(unknown.kind(), table.path + ": " + unknown.message());
  }
  found.column_ = static_cast<std::size_t>(at - table.columns.begin());
  const bool has_key = std::any_of(table.rows.begin(), table.rows.end(), [&](const CsvRow& row) {
    return setting(row.cells[found.column_], found.key_).has_value();
  });
  if (!found.key_.empty() && !has_key) {
    return invalid(
        fmt::format("{}: no cell of column '{}' has a word '{}=...', which '{}' asks for",
                    table.path, column, found.key_, name));
  }
  return found;
}

std::string CsvColumn::text(const CsvRow& row) const {
  const std::string& cell = row.cells[column_];
  return key_.empty() ? cell : setting(cell, key_).value_or("");
}

}  // namespace broadloom
