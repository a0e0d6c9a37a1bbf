// Results of panels as tables and as JSON.
#pragma once

#include <string>
#include <vector>

#include "broadloom/evaluate/panel_compare.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/json.h"
#include "cli/text_table.h"

namespace broadloom::cli {

// "Panel p.toml (1a2b3c4d): CartPole-v1, 6 rows of 200 episodes (seeds 1, 2)".
std::string panel_line(const Panel& panel, const std::string& name);

// A note that rows of one episode have no interval of their return; "" if rows have more.
std::string no_interval_text(const Panel& panel);

// Reasons that occurred, most frequent first: "pole_fell 93, time_limit 7".
std::string reasons_text(const EvalResult& result);

// "success 26.4 [24.7, 28.2] %, return 331.19 [324.67, 337.71], 2,400 episodes", over all rows.
std::string overall_text(const PanelResult& result);

// Percentages with intervals for people and papers; one number per column as CSV.
TextTable panel_table(const PanelResult& result, TableForm form);

// One line per row of the panel and run. names: of the runs.
TextTable comparison_table(const PanelComparison& comparison, const std::vector<std::string>& names,
                           TableForm form);
Json comparison_json(const PanelComparison& comparison, const std::vector<std::string>& names,
                     const std::vector<PanelResult>& results);

}  // namespace broadloom::cli
