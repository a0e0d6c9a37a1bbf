// The tables of `broadloom report`.
#pragma once

#include <string>
#include <vector>

#include "research/report/report_model.h"

namespace broadloom {

struct ReportTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // one text for each column
  std::string below;                           // a sentence; "" for none
};

// Tables of cells with runs, score and time; rankings; lines of arms, the first ones for each key
// and task; and counts of neighbours' calls. Calls are "leads" or "best", "lower", "no difference
// found", "not called" (not compared, or too few runs).
std::vector<ReportTable> report_tables(const StudyReport& report);

}  // namespace broadloom
