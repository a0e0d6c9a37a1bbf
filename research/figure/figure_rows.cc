#include "research/figure/figure_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "broadloom/core/config_table.h"

namespace broadloom {
namespace {

constexpr double kLargest = 1e100;  // so that spans and their steps are numbers, too

// "8" is "8.0"; words are compared as they stand.
bool same_value(const std::string& a, const std::string& b) {
  double x = 0.0, y = 0.0;
  return a == b || (parse_text(a, x).ok() && parse_text(b, y).ok() && x == y);
}

bool passes(const std::string& cell, const std::vector<std::string>& values) {
  return std::any_of(values.begin(), values.end(),
                     [&](const std::string& value) { return same_value(cell, value); });
}

struct ColumnFilter {
  CsvColumn column;
  const FigureScope::Filter* filter;
};

// The columns of one table that a scope names.
struct Columns {
  CsvColumn x, value;
  std::optional<CsvColumn> y, series, low, high;
  std::vector<ColumnFilter> filters;
};

std::string some_values(const std::set<std::string>& values) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& value : values) {
    if (++count > 8) return text + ", ...";
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", value);
  }
  return text;
}

class RowPicker {
 public:
  RowPicker(const FigureScope& scope, FigureTables& tables, FigureKind kind)
      : scope_(scope), tables_(tables), kind_(kind) {}

  Result<FigureRows> pick() {
    Result<std::vector<std::string>> data = scope_.texts("data");
    if (!data.ok()) return data.status();
    if (data.value().empty()) return missing("data", "the CSV file");
    Result<std::vector<FigureScope::Filter>> filters = scope_.filters();
    if (!filters.ok()) return filters.status();
    filters_ = filters.take();
    for (const std::string& path : data.value()) {
      const Result<const CsvTable*> table = tables_.table(path);
      if (!table.ok()) {
        const Status& why = table.status();
        return Status(why.kind(), scope_.error("data", why.message()).message());
      }
      BROADLOOM_TRY(add(*table.value()));
    }
    if (out_.rows.empty()) return nothing_left(data.value());
    if (empty_ > 0) {
      out_.notes.push_back(fmt::format("{}: {} of {} rows have no '{}' and are left out",
                                       scope_.file(), empty_, empty_ + out_.rows.size(), value_));
    }
    return std::move(out_);
  }

 private:
  Status missing(const char* key, const char* what) const {
    return scope_.error(key, fmt::format("is missing; expected {}", what));
  }

  // The column that a key names. Where none may be absent, `what` says what it is for.
  Status column(const CsvTable& table, const char* key, const char* what, CsvColumn& out) {
    const Result<std::string> name = scope_.text(key);
    if (!name.ok()) return name.status();
    if (name.value().empty()) return missing(key, what);
    Result<CsvColumn> found = CsvColumn::find(table, name.value());
    if (!found.ok()) return scope_.error(key, found.status().message());
    out = found.take();
    return {};
  }

  Status optional_column(const CsvTable& table, const char* key, const std::string& usual,
                         std::optional<CsvColumn>& out) {
    if (scope_.find(key) == nullptr && (usual.empty() || !CsvColumn::exists(table, usual))) {
      return {};
    }
    CsvColumn found;
    if (scope_.find(key) != nullptr) {
      BROADLOOM_TRY(column(table, key, "a column", found));
    } else {
      found = CsvColumn::find(table, usual).take();
    }
    out = found;
    return {};
  }

  Result<Columns> columns_of(const CsvTable& table) {
    Columns columns;
    const bool heat = kind_ == FigureKind::kHeat;
    BROADLOOM_TRY(column(table, "x", "the column along the x axis", columns.x));
    BROADLOOM_TRY(column(table, heat ? "value" : "y", "the column that is drawn", columns.value));
    if (heat) {
      BROADLOOM_TRY(optional_column(table, "y", "", columns.y));
      if (!columns.y) return missing("y", "the column of the heat map's rows");
    } else {
      BROADLOOM_TRY(optional_column(table, "series_by", "", columns.series));
    }
    value_ = columns.value.name();
    BROADLOOM_TRY(optional_column(table, "low", value_ + " low", columns.low));
    BROADLOOM_TRY(optional_column(table, "high", value_ + " high", columns.high));
    for (const FigureScope::Filter& filter : filters_) {
      Result<CsvColumn> found = CsvColumn::find(table, filter.column);
      if (!found.ok()) {
        return toml_error(scope_.file(), filter.line, "where: " + found.status().message());
      }
      columns.filters.push_back({found.take(), &filter});
    }
    return columns;
  }

  Status add(const CsvTable& table) {
    const Result<Columns> found = columns_of(table);
    if (!found.ok()) return found.status();
    const Columns& columns = found.value();
    for (const ColumnFilter& filter : columns.filters) {
      for (const CsvRow& row : table.rows) {
        seen_[filter.filter->column].insert(filter.column.text(row));
      }
    }
    for (const CsvRow& row : table.rows) {
      const bool kept = std::all_of(columns.filters.begin(), columns.filters.end(),
                                    [&](const ColumnFilter& filter) {
                                      return passes(filter.column.text(row), filter.filter->values);
                                    });
      if (kept) BROADLOOM_TRY(add(table, columns, row));
    }
    return {};
  }

  Status add(const CsvTable& table, const Columns& columns, const CsvRow& row) {
    if (columns.value.text(row).empty()) {
      ++empty_;
      return {};
    }
    FigureRow picked;
    picked.x = columns.x.text(row);
    if (columns.y) picked.y = columns.y->text(row);
    if (columns.series) picked.series = columns.series->text(row);
    picked.file = table.path;
    picked.line = row.line;
    BROADLOOM_TRY(number(columns.value, row, table, picked.value.value));
    picked.value.low = picked.value.high = picked.value.value;
    if (columns.low && !columns.low->text(row).empty()) {
      BROADLOOM_TRY(number(*columns.low, row, table, picked.value.low));
    }
    if (columns.high && !columns.high->text(row).empty()) {
      BROADLOOM_TRY(number(*columns.high, row, table, picked.value.high));
    }
    out_.rows.push_back(picked);
    return {};
  }

  static Status number(const CsvColumn& column, const CsvRow& row, const CsvTable& table,
                       double& out) {
    const Result<double> value = cell_number(column.text(row), column.name(), table.path, row.line);
    if (value.ok()) out = value.value();
    return value.status();
  }

  // Which filter it was, and what there is instead.
  Status nothing_left(const std::vector<std::string>& data) const {
    for (const FigureScope::Filter& filter : filters_) {
      const auto& seen = seen_.at(filter.column);
      const bool any = std::any_of(seen.begin(), seen.end(), [&](const std::string& cell) {
        return passes(cell, filter.values);
      });
      if (any) continue;
      return toml_error(
          scope_.file(), filter.line,
          fmt::format("where: no row of '{}' has '{}' in column '{}'; it has {}", data.front(),
                      filter.values.front(), filter.column, some_values(seen)));
    }
    const char* key = filters_.empty() ? "data" : "where";
    return scope_.error(
        key, fmt::format("no row of '{}' with a '{}' is left; expected at least one", data.front(),
                         value_));
  }

  const FigureScope& scope_;
  FigureTables& tables_;
  FigureKind kind_;
  std::vector<FigureScope::Filter> filters_;
  std::map<std::string, std::set<std::string>> seen_;  // cells of the columns of filters
  std::string value_;
  std::size_t empty_ = 0;
  FigureRows out_;
};

}  // namespace

FigureTables::FigureTables(const std::string& spec_path)
    : folder_(std::filesystem::path(spec_path).parent_path().string()) {}

Result<const CsvTable*> FigureTables::table(const std::string& path) {
  const auto known = tables_.find(path);
  if (known != tables_.end()) return &known->second;
  Result<CsvTable> read = read_csv((std::filesystem::path(folder_) / path).string());
  if (!read.ok()) return read.status();
  return &tables_.emplace(path, read.take()).first->second;
}

Result<FigureRows> pick_rows(const FigureScope& scope, FigureTables& tables, FigureKind kind) {
  return RowPicker(scope, tables, kind).pick();
}

Result<double> cell_number(const std::string& cell, const std::string& column,
                           const std::string& file, unsigned line) {
  double value = 0.0;
  if (!parse_text(cell, value).ok() || !(std::abs(value) <= kLargest)) {
    return invalid(fmt::format("{}:{}: column '{}': got '{}', expected a number of at most {:g}",
                               file, line, column, cell, kLargest));
  }
  return value;
}

}  // namespace broadloom
