// The tables that `broadloom report` prints.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

struct ReportTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // one text a column
  std::string below;                           // a sentence on it; "" for none
};

// Cells with runs, score and time; rankings; arms that differ in one key alone, the first such
// lines of each key and task; and how often neighbours are called. Each with its calls: "leads" or
// "best", "lower", "no difference found", "not called" (not compared, or too few runs).
std::vector<ReportTable> report_tables(const StudyReport& report);

}  // namespace broadloom
