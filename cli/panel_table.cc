#include "cli/panel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "broadloom/record/json.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

// "97.5 [94.3, 98.9]", in percent.
std::string percent_text(const Estimate& rate) {
  if (std::isnan(rate.value)) return "not known";
  return fmt::format("{:5.1f} [{:.1f}, {:.1f}]", 100.0 * rate.value, 100.0 * rate.low,
                     100.0 * rate.high);
}

std::string trimmed(const std::string& text) {
  return text.substr(std::min(text.size(), text.find_first_not_of(' ')));
}

std::string return_text(const EvalResult& score) {
  if (std::isnan(score.ci_low)) return fmt::format("{:7.2f}", score.mean_return);
  return fmt::format("{:7.2f} [{:.2f}, {:.2f}]", score.mean_return, score.ci_low, score.ci_high);
}

// With its sign; a star if the interval does not contain 0.
std::string difference_text(const Estimate& difference, double scale, int decimals) {
  if (std::isnan(difference.value)) return "not known";
  std::string value = fmt::format("{:+{}.{}f}", scale * difference.value, 5 + decimals, decimals);
  if (std::isnan(difference.low)) return value;
  return fmt::format("{} [{:+.{}f}, {:+.{}f}]{}", value, scale * difference.low, decimals,
                     scale * difference.high, decimals, difference.holds(0.0) ? "" : " *");
}

// The shortest text that reads back as the same number; "" for NaN.
std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string measure_text(const Estimate& mean) {
  if (std::isnan(mean.low)) return fmt::format("{:.3f}", mean.value);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", mean.value, mean.low, mean.high);
}

void add_score(std::vector<std::string>& row, const EvalResult& score) {
  for (const Estimate* rate : {&score.success_rate, &score.failure_rate}) {
    for (const double x : {rate->value, rate->low, rate->high}) row.push_back(number(x));
  }
  for (const double x :
       {score.mean_return, score.ci_low, score.ci_high, score.std_return, score.mean_length}) {
    row.push_back(number(x));
  }
}

const std::vector<std::string> kScoreColumns = {
    "success_rate", "success_low", "success_high", "failure_rate", "failure_low", "failure_high",
    "mean_return",  "ci_low",      "ci_high",      "std_return",   "mean_length"};

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Episodes of the group, ended or not.
std::int64_t row_episodes(const PanelResult& result, const PanelGroup& group) {
  std::size_t count = 0;
  for (const std::size_t row : group.rows) count += result.episodes[row].size();
  return static_cast<std::int64_t>(count);
}

TextTable panel_csv(const PanelResult& result) {
  TextTable table{joined({"stratum", "perturbation", "episodes"}, kScoreColumns), {}};
  const bool is_whole = count_episodes(result).is_whole();
  for (const PanelGroup& group : panel_groups(result.panel)) {
    if (episodes_of(result, group).empty()) continue;  // the play was stopped
    const EvalResult score = score_of(result, group);
    std::vector<std::string> row{group.stratum, group.perturbation, to_text(score.episodes)};
    add_score(row, score);
    for (const EvalResult::Reason& reason : score.reasons) row.push_back(to_text(reason.count));
    for (const auto& [measure, mean] : score.measures) {
      for (const double x : {mean.value, mean.low, mean.high}) row.push_back(number(x));
    }
    if (!is_whole) row.push_back(to_text(row_episodes(result, group)));
    table.rows.push_back(std::move(row));
  }
  for (const std::string& reason : result.spec.end_reasons) table.head.push_back(reason);
  table.head.push_back("unfinished");
  for (const Measure& measure : result.spec.measures) {
    for (const char* end : {"", "_low", "_high"}) table.head.push_back(measure.name + end);
  }
  if (!is_whole) table.head.emplace_back("asked");
  return table;
}

TextTable comparison_csv(const PanelComparison& comparison, const std::vector<std::string>& names) {
  TextTable table{
      joined(joined({"stratum", "perturbation", "run", "rank", "episodes"}, kScoreColumns),
             {"success_difference", "success_difference_low", "success_difference_high",
              "return_difference", "return_difference_low", "return_difference_high"}),
      {}};
  for (const PanelComparison::Row& line : comparison.rows) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const PanelStanding& run = line.runs[i];
      std::vector<std::string> row{line.stratum, line.perturbation, names[i], to_text(run.rank),
                                   to_text(run.score.episodes)};
      add_score(row, run.score);
      for (const Estimate* e : {&run.success_difference, &run.return_difference}) {
        for (const double x : {e->value, e->low, e->high}) row.push_back(number(x));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Json estimate_json(const Estimate& e) {
  const auto or_null = [](double x) { return std::isnan(x) ? Json() : Json(x); };
  return {{"value", or_null(e.value)}, {"low", or_null(e.low)}, {"high", or_null(e.high)}};
}

}  // namespace

std::string panel_line(const Panel& panel, const std::string& name) {
  const std::size_t rows = panel_rows(panel).size();
  const std::int64_t episodes =
      std::int64_t{panel.episodes} * static_cast<std::int64_t>(panel.seeds.size());
  return fmt::format("Panel {} ({}): {}, {} row{} of {} episodes (seed{} {})", name,
                     panel_hash(panel).substr(0, 8), panel.env_id, rows, rows == 1 ? "" : "s",
                     with_commas(episodes), panel.seeds.size() == 1 ? "" : "s",
                     fmt::join(panel.seeds, ", "));
}

std::string no_interval_text(const Panel& panel) {
  const bool is_one = panel.episodes == 1 && panel.seeds.size() == 1;
  return is_one ? " (the return of one episode has none)" : "";
}

std::string reasons_text(const EvalResult& result) {
  std::vector<EvalResult::Reason> reasons = result.reasons;
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string out;
  for (const EvalResult::Reason& reason : reasons) {
    if (reason.count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", reason.name, reason.count);
  }
  return out;
}

std::string overall_text(const PanelResult& result) {
  const EvalResult score = score_of(result, panel_groups(result.panel).back());
  const std::string success =
      std::isnan(score.success_rate.value)
          ? "success not known"
          : fmt::format("success {} %", trimmed(percent_text(score.success_rate)));
  return fmt::format("{}, return {}, {} episodes", success, trimmed(return_text(score)),
                     with_commas(score.episodes));
}

TextTable panel_table(const PanelResult& result, TableForm form) {
  if (form == TableForm::kCsv) return panel_csv(result);
  TextTable table{{"stratum", "perturbation", "success %", "failure %", "return", "length",
                   "episodes ended by"},
                  {}};
  for (const Measure& measure : result.spec.measures)
    table.head.push_back(fmt::format("{}, {}", measure.name, measure.unit));
  const bool is_whole = count_episodes(result).is_whole();
  if (!is_whole) table.head.emplace_back("episodes");
  for (const PanelGroup& group : panel_groups(result.panel)) {
    if (episodes_of(result, group).empty()) continue;
    const EvalResult score = score_of(result, group);
    table.rows.push_back({group.stratum, group.perturbation, percent_text(score.success_rate),
                          percent_text(score.failure_rate), return_text(score),
                          fmt::format("{:6.1f}", score.mean_length), reasons_text(score)});
    for (const auto& [measure, mean] : score.measures)
      table.rows.back().push_back(measure_text(mean));
    if (is_whole) continue;
    table.rows.back().push_back(fmt::format("{} of {}", with_commas(score.episodes),
                                            with_commas(row_episodes(result, group))));
  }
  return table;
}

TextTable comparison_table(const PanelComparison& comparison, const std::vector<std::string>& names,
                           TableForm form) {
  if (form == TableForm::kCsv) return comparison_csv(comparison, names);
  TextTable table{
      {"stratum", "perturbation", "rank", "run", "success %", "difference", "return", "difference"},
      {}};
  for (const PanelComparison::Row& row : comparison.rows) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const PanelStanding& run = row.runs[i];
      const bool first = i == 0;
      const bool repeats = !first && form == TableForm::kAligned;
      table.rows.push_back({repeats ? "" : row.stratum, repeats ? "" : row.perturbation,
                            to_text(run.rank), names[i], percent_text(run.score.success_rate),
                            first ? "" : difference_text(run.success_difference, 100.0, 1),
                            return_text(run.score),
                            first ? "" : difference_text(run.return_difference, 1.0, 2)});
    }
  }
  return table;
}

Json comparison_json(const PanelComparison& comparison, const std::vector<std::string>& names,
                     const std::vector<PanelResult>& results) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Json whole = Json::parse(panel_record_json(results[i]));
    runs.push_back({{"run", names[i]},
                    {"checkpoint", results[i].checkpoint},
                    {"checkpoint_hash", results[i].checkpoint_hash},
                    {"global_step", results[i].global_step},
                    {"episodes_hash", whole["episodes_hash"]},
                    {"rows", whole["rows"]}});
  }
  Json rows = Json::object();
  for (const PanelComparison::Row& row : comparison.rows) {
    Json standings = Json::array();
    for (const PanelStanding& run : row.runs) {
      standings.push_back({{"rank", run.rank},
                           {"success_difference", estimate_json(run.success_difference)},
                           {"return_difference", estimate_json(run.return_difference)}});
    }
    rows[row.stratum + "/" + row.perturbation] = std::move(standings);
  }
  const PanelResult& first = results.front();
  return {{"panel", Json::parse(panel_record_json(first))["definition"]},
          {"panel_hash", panel_hash(first.panel)},
          {"program",
           {{"version", first.version},
            {"revision", first.revision},
            {"binary_hash", first.binary_hash},
            {"isa", first.isa}}},
          {"runs", runs},
          {"differences", rows}};
}

}  // namespace broadloom::cli
