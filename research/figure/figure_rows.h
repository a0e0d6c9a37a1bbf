// Rows of a figure's data files that pass its filters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "research/figure/csv_table.h"
#include "research/figure/figure.h"
#include "research/figure/figure_spec.h"

namespace broadloom {

// Tables by path, each read once. Paths are relative to the folder of the TOML file.
class FigureTables {
 public:
  explicit FigureTables(const std::string& spec_path);
  // Lives as long as this object.
  Result<const CsvTable*> table(const std::string& path);

 private:
  std::string folder_;
  std::map<std::string, CsvTable> tables_;
};

// One row as a figure has use of it.
struct FigureRow {
  std::string x, y;      // cells as they stand; y of a heat map alone
  std::string series;    // cell of series_by
  FigureEstimate value;  // of 'y', in a heat map of 'value'
  std::string file;
  unsigned line = 0;
};

struct FigureRows {
  std::vector<FigureRow> rows;
  std::vector<std::string> notes;
};

// The rows that 'data' and 'where' of the scope pick. A row whose value is empty is left out and
// noted; columns "<value> low" and "<value> high" give the interval where 'low' and 'high' name no
// others.
Result<FigureRows> pick_rows(const FigureScope& scope, FigureTables& tables, FigureKind kind);

// The number in a cell. kInvalidConfig, "file:line: column: ...".
Result<double> cell_number(const std::string& cell, const std::string& column,
                           const std::string& file, unsigned line);

}  // namespace broadloom
