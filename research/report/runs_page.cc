#include "research/report/runs_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "broadloom/core/escape.h"
#include "broadloom/core/estimate.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_curve.h"
#include "broadloom/record/run_folder.h"
#include "report_assets.h"
#include "research/report/learning_curve.h"
#include "research/report/page.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRunsHtml = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Runs</title>
<style>
{{report_css}}
.wide { overflow-x: auto; }
.wide > svg { width: 100%; min-width: 35rem; max-width: 45rem; height: auto; }
.wide :is(th, td) { max-width: 14rem; white-space: normal; overflow-wrap: break-word; }
.wide :is(th[title], td:last-child) { min-width: 9rem; }
.wide tr > th:first-child { text-align: left; }
</style>
</head>
<body>
<main>
<h1>{{title}}</h1>
{{sections}}</main>
</body>
</html>
)";

std::string folder_name(const std::string& run_dir) {
  const fs::path path(run_dir);
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

std::string relative_link(const fs::path& target, const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::relative(target, folder.empty() ? "." : folder, error);
  std::string out;
  for (const char c : (error ? target : path).generic_string()) {
    const bool has_meaning = c == '%' || c == '#' || c == '?' || c == ':' || c == ' ';
    out += has_meaning ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

// The lines that can be drawn; adds a note about each other one, such as a run of one iteration.
std::vector<SeedCurves> drawn_lines(const Curves& curves, std::vector<std::string>& notes) {
  std::vector<SeedCurves> out;
  for (const SeedCurves& line : curves.lines) {
    const Result<std::string> alone = learning_curve_svg(curves.task, {line});
    if (alone.ok()) {
      out.push_back(line);
    } else {
      notes.push_back(
          fmt::format("no line for {}: {}", line.run_dirs.front(), alone.status().message()));
    }
  }
  return out;
}

// A link to the run's folder, and to its pages.
std::string links_of(const std::string& run_dir, const std::string& folder) {
  const fs::path path(run_dir);
  const auto link = [&](const fs::path& target, const std::string& words) {
    return fmt::format("<a href='{}'>{}</a>", xml_text(relative_link(target, folder)),
                       xml_text(words));
  };
  std::string out = link(path, folder_name(run_dir));
  std::error_code error;
  for (const auto& [file, words] : {std::pair{"watch.html", "watch"},
                                    {"learning_curve.svg", "curve"},
                                    {"gradients/gradients.html", "gradients"}}) {
    if (fs::exists(path / file, error)) out += fmt::format(" ({})", link(path / file, words));
  }
  return out;
}

// The line's name as a heading, cut after a setting if it is long; the table below has them all.
std::string heading_of(const SeedCurves& line) {
  constexpr std::size_t kMostLetters = 88;
  std::string name = line.name.empty() ? "all runs" : line.name;
  const std::string whole = name;
  if (name.size() > kMostLetters) {
    const std::size_t cut = name.rfind(' ', kMostLetters);
    name = name.substr(0, cut == std::string::npos ? kMostLetters : cut) + " ...";
  }
  return fmt::format("<th title='{}'>{}</th>", xml_text(whole), xml_text(name));
}

// Returns at the end of training, and their mean over seeds.
std::string returns_table(const Curves& curves, const std::string& folder) {
  std::string out =
      "<h3>Return at the end of training</h3>\n<div class='wide'><table><thead><tr>"
      "<th>setting</th><th>seeds</th><th>mean</th><th>95 % interval</th><th>runs</th></tr></thead>"
      "<tbody>\n";
  for (const SeedCurves& line : curves.lines) {
    std::vector<double> returns;
    std::string runs;
    for (std::size_t i = 0; i < line.curves.size(); ++i) {
      returns.push_back(line.curves[i].returns.back());
      runs += fmt::format("{}{}: {:.2f}", runs.empty() ? "" : "<br>",
                          links_of(line.run_dirs[i], folder), returns.back());
    }
    const Estimate mean = mean_of(returns);
    const std::string interval =
        std::isfinite(mean.low) ? fmt::format("{:.2f} to {:.2f}", mean.low, mean.high) : "-";
    out += fmt::format("<tr>{}<td>{}</td><td>{:.2f}</td><td>{}</td><td>{}</td></tr>\n",
                       heading_of(line), returns.size(), mean.value, interval, runs);
  }
  return out + "</tbody></table></div>\n";
}

// The record of a run; null if it has not ended, or is damaged.
Json record_of(const std::string& run_dir) {
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return nullptr;
  const Result<std::string> line = read_ledger_line(folder.value().ledger_line_path(), 0);
  const bool is_whole = line.ok() && check_ledger_bytes(line.value()).ok();
  return is_whole ? Json::parse(line.value()) : Json();
}

std::string systems_claim(const Json& speed) {
  if (!speed.is_object()) return "-";
  const int threads = speed["threads"].integer<int>();
  return fmt::format("{:.0f} on {} thread{}", speed["steps_per_second"].real(), threads,
                     threads == 1 ? "" : "s");
}

std::string learning_claim(const Json& evaluation) {
  if (!evaluation.is_object()) return "no evaluation";
  if (!evaluation["mean_return"].is_number()) return "not finite";
  const bool known = evaluation["ci_low"].is_number();
  return fmt::format("{:.2f}{} after {} steps", evaluation["mean_return"].real(),
                     known ? fmt::format(" [{:.2f}, {:.2f}]", evaluation["ci_low"].real(),
                                         evaluation["ci_high"].real())
                           : "",
                     evaluation["global_step"].integer<std::int64_t>());
}

// The worst and the best row of the panel. Combined rows are left out.
std::string embodiment_claim(const Json& panel) {
  if (!panel.is_object()) return "no panel";
  if (!panel["rows"].is_object()) return "the panel failed";
  const Json::Object& all = panel["rows"].members();
  const bool has_strata = std::any_of(all.begin(), all.end(), [](const auto& row) {
    return row.second["stratum"].text() != kAllRows;
  });
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, row] : all) {
    const bool is_combined =
        row["perturbation"].text() == kAllRows || (has_strata && row["stratum"].text() == kAllRows);
    if (is_combined) continue;
    if (!row["mean_return"].is_number()) return fmt::format("not finite ({})", xml_text(name));
    rows.emplace_back(row["mean_return"].real(), name);
  }
  if (rows.empty()) return "no row";
  const auto [worst, best] = std::minmax_element(rows.begin(), rows.end());
  return fmt::format("{:.2f} ({}) to {:.2f} ({}), {} rows", worst->first, xml_text(worst->second),
                     best->first, xml_text(best->second), rows.size());
}

// A row for each run, from its record: speed, learning, and worlds beyond training.
std::string claims_table(const Curves& curves) {
  std::string out =
      "<h3>Three claims</h3>\n<div class='wide'><table><thead><tr><th>run</th>"
      "<th>systems: steps a second</th><th>learning: return on held-out seeds</th>"
      "<th>embodiment: return by row of the panel</th></tr></thead><tbody>\n";
  for (const SeedCurves& line : curves.lines) {
    for (const std::string& run_dir : line.run_dirs) {
      const Json record = record_of(run_dir);
      out += fmt::format("<tr><th>{}</th>", xml_text(folder_name(run_dir)));
      out += record.is_null()
                 ? "<td>no record</td><td>no record</td><td>no record</td></tr>\n"
                 : fmt::format("<td>{}</td><td>{}</td><td>{}</td></tr>\n",
                               systems_claim(record["speed"]), learning_claim(record["evaluation"]),
                               embodiment_claim(record["panel"]));
    }
  }
  return out + "</tbody></table></div>\n";
}

std::string value_in(const Overrides& settings, const std::string& key) {
  for (const auto& [name, value] : settings) {
    if (name == key) return value;
  }
  return "";
}

// Rows of keys, a column for each line; `differing`: of keys that differ, else of the others.
std::string settings_rows(const Curves& curves, bool differing, int& count) {
  std::vector<std::string> keys;
  for (const SeedCurves& line : curves.lines) {
    for (const auto& [key, value] : line.settings) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end() && key != "seed") {
        keys.push_back(key);
      }
    }
  }
  std::string out;
  for (const std::string& key : keys) {
    std::string cells;
    bool differs = false;
    for (const SeedCurves& line : curves.lines) {
      const std::string value = value_in(line.settings, key);
      differs = differs || value != value_in(curves.lines.front().settings, key);
      cells += fmt::format("<td>{}</td>", xml_text(value));
    }
    if (differs != differing) continue;
    const char* mark = differs ? "mark" : "span";
    out += fmt::format("<tr><th><{0}>{1}</{0}></th>{2}</tr>\n", mark, xml_text(key), cells);
    ++count;
  }
  return out;
}

std::string settings_table(const Curves& curves) {
  std::string head = "<div class='wide'><table><thead><tr><th>key</th>";
  for (const SeedCurves& line : curves.lines) head += heading_of(line);
  head += "</tr></thead><tbody>\n";
  const std::string tail = "</tbody></table></div>\n";
  int differing = 0, equal = 0;
  const std::string marked = settings_rows(curves, true, differing);
  const std::string others = settings_rows(curves, false, equal);
  std::string out = "<h3>Settings</h3>\n";
  out += differing > 0 ? head + marked + tail : "<p>All runs have the same settings.</p>\n";
  return out + fmt::format("<details><summary>{} settings that are equal</summary>\n", equal) +
         head + others + tail + "</details>\n";
}

}  // namespace

Result<RunsPage> runs_page(const std::vector<std::string>& run_dirs, const std::string& folder) {
  const Result<DistinctRuns> distinct = distinct_runs(run_dirs);
  if (!distinct.ok()) return distinct.status();
  const std::size_t count = distinct.value().run_dirs.size();
  const Result<std::vector<std::vector<std::string>>> tasks =
      runs_by_task(distinct.value().run_dirs);
  if (!tasks.ok()) return tasks.status();
  RunsPage out;
  std::string sections;
  for (const std::string& note : distinct.value().notes) {
    sections += fmt::format("<p>{}.</p>\n", xml_text(note));
    out.notes.push_back(note);
  }
  for (const std::vector<std::string>& runs : tasks.value()) {
    const Result<Curves> curves = read_curves(runs);
    if (!curves.ok()) {
      const std::string note = "no section for " + runs.front() + ": " + curves.status().message();
      sections += fmt::format("<p>{}.</p>\n", xml_text(note));
      out.notes.push_back(note);
      continue;
    }
    std::vector<std::string> notes = curves.value().notes;
    const std::vector<SeedCurves> lines = drawn_lines(curves.value(), notes);
    const Result<std::string> svg =
        learning_curve_svg(curves.value().task + ": return while training",
                           lines.empty() ? curves.value().lines : lines);
    // Too many lines for one figure; the tables hold them.
    const std::string figure =
        svg.ok() ? fmt::format("<div class='wide'>{}</div>\n", svg.value())
                 : fmt::format("<p>No figure: {}.</p>\n", xml_text(svg.status().message()));
    sections += fmt::format("<h2>{}</h2>\n{}", xml_text(curves.value().task), figure);
    for (const std::string& note : notes) {
      sections += fmt::format("<p>{}.</p>\n", xml_text(note));
      out.notes.push_back(note);
    }
    sections += returns_table(curves.value(), folder) + claims_table(curves.value()) +
                settings_table(curves.value());
  }
  const std::string title = fmt::format("{} run{}", count, count == 1 ? "" : "s");
  Result<std::string> html = fill_page(
      kRunsHtml, {{"report_css", assets::kReportCss}, {"title", title}, {"sections", sections}});
  if (!html.ok()) return html.status();
  out.html = html.take();
  return out;
}

}  // namespace broadloom
