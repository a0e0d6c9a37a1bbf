#include "research/study/store_views.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

namespace broadloom {
namespace {

// Keys that the axes set, in the order of first use, and whether all their values are numbers.
constexpr char kAxes[] = R"sql(
WITH axes AS (
  SELECT e.key AS name, min(cells.id * 10000 + e.id) AS place FROM cells, json_each(changes) e
  WHERE e.key NOT IN ('env_id', 'num_envs', 'num_steps') GROUP BY e.key
)
SELECT name,
  (SELECT min(CASE WHEN json_valid(e.value) THEN json_type(e.value) IN ('integer', 'real') ELSE 0 END)
   FROM cells, json_each(config) e WHERE e.key = axes.name) AS numbers
FROM axes ORDER BY place
)sql";

constexpr char kLearningCurves[] = R"sql(
SELECT s.cell, runs.seed, points.environment_steps, points.seconds, metrics.key, metrics.value,
  s.cell_id{}
FROM runs
JOIN settings s ON s.cell_id = runs.cell_id
JOIN metrics ON metrics.run_id = runs.id
JOIN points ON points.run_id = runs.id AND points.point = metrics.point
WHERE runs.status = 'finished')sql";

constexpr char kLearningCurvesByTime[] = R"sql(
WITH RECURSIVE grid (i, seconds) AS (
  SELECT 1, (SELECT max(seconds) FROM points) / (SELECT points FROM study)
  UNION ALL
  SELECT i + 1, (i + 1) * (SELECT max(seconds) FROM points) / (SELECT points FROM study)
  FROM grid WHERE i < (SELECT points FROM study)
)
SELECT s.cell, runs.seed, grid.seconds, metrics.key, metrics.value, s.cell_id{}
FROM grid
JOIN runs ON runs.status = 'finished'
JOIN settings s ON s.cell_id = runs.cell_id
JOIN metrics ON metrics.run_id = runs.id AND metrics.point =
  (SELECT max(p.point) FROM points p WHERE p.run_id = runs.id AND p.seconds <= grid.seconds))sql";

constexpr char kScores[] = R"sql(
SELECT runs.id AS run_id, s.cell_id, s.cell, runs.seed,
  (SELECT value FROM metrics m WHERE m.run_id = runs.id AND m.key = 'episodic_return'
   ORDER BY point DESC LIMIT 1) AS training_return,
  (SELECT mean_return FROM evaluations e WHERE e.run_id = runs.id
   ORDER BY global_step DESC LIMIT 1) AS evaluation_return{}
FROM runs JOIN settings s ON s.cell_id = runs.cell_id
WHERE runs.status = 'finished')sql";

// The text in SQL quotation marks; marks inside are doubled.
std::string quoted(const std::string& text, char mark) {
  std::string out(1, mark);
  for (const char c : text) out.append(c == mark ? 2 : 1, c);
  return out + mark;
}

struct Setting {
  std::string name;   // of the column, quoted
  std::string value;  // expression for a row of cells
};

Result<std::vector<Setting>> settings_of(Database& database) {
  std::vector<Setting> all = {{"env_id", "json_extract(config, '$.env_id')"},
                              {"num_envs", "num_envs"},
                              {"num_steps", "num_steps"}};
  Result<Statement> axes = database.prepare(kAxes);
  if (!axes.ok()) return axes.status();
  while (true) {
    const Result<bool> more = axes.value().next();
    if (!more.ok()) return more.status();
    if (!more.value()) return all;
    const std::string name = axes.value().text(0);
    const std::string text =
        fmt::format("json_extract(config, {})", quoted("$.\"" + name + '"', '\''));
    const bool numbers = axes.value().integer(1) == 1;
    all.push_back({quoted(name, '"'), numbers ? fmt::format("CAST({} AS NUMERIC)", text) : text});
  }
}

std::string settings_view(const std::vector<Setting>& settings) {
  std::string columns;
  for (const Setting& s : settings) columns += fmt::format(",\n  {} AS {}", s.value, s.name);
  return fmt::format("\nSELECT id AS cell_id, name AS cell{}\nFROM cells", columns);
}

}  // namespace

Status drop_views(Database& database) {
  for (const char* name : {"scores", "learning_curves_by_time", "learning_curves", "settings"}) {
    BROADLOOM_TRY(database.run(fmt::format("DROP VIEW IF EXISTS {}", name)));
  }
  return {};
}

Status make_views(Database& database) {
  const Result<std::vector<Setting>> settings = settings_of(database);
  if (!settings.ok()) return settings.status();
  std::string columns;
  for (const Setting& s : settings.value()) columns += ", s." + s.name;
  const std::pair<const char*, std::string> views[] = {
      {"settings", settings_view(settings.value())},
      {"learning_curves", fmt::format(kLearningCurves, columns)},
      {"learning_curves_by_time", fmt::format(kLearningCurvesByTime, columns)},
      {"scores", fmt::format(kScores, columns)}};
  for (const auto& [name, query] : views) {
    BROADLOOM_TRY(database.run(fmt::format("CREATE VIEW {} AS{}", name, query)));
  }
  return {};
}

}  // namespace broadloom
