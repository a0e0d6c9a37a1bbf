// A comma-separated file (RFC 4180, one header line) as text cells that know their lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct CsvRow {
  unsigned line = 0;  // where it begins in the file, from 1
  std::vector<std::string> cells;
};

struct CsvTable {
  std::string path;
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;  // as many cells each as there are columns
};

// `path` stands for the file in messages. kInvalidConfig, "path:line: ...": no header, two columns
// of one name, a row with more or fewer cells than the header, a quote that is not closed.
Result<CsvTable> parse_csv(std::string_view text, const std::string& path);

// The same from a file. kNotFound or kIo as well.
Result<CsvTable> read_csv(const std::string& path);

// What picks a cell of each row: a column, or by "column/key" the word after "key=" in the cells of
// a column that lists settings, as in "gae_lambda=0.9 stagger_starts=true".
class CsvColumn {
 public:
  // kInvalidConfig: no such column (the nearest is named), or no row has the key.
  static Result<CsvColumn> find(const CsvTable& table, const std::string& name);
  static bool exists(const CsvTable& table, const std::string& name);

  std::string text(const CsvRow& row) const;
  const std::string& name() const { return name_; }

 private:
  std::string name_, key_;
  std::size_t column_ = 0;
};

}  // namespace broadloom
