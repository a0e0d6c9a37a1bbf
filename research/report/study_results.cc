#include "research/report/study_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "broadloom/config/config.h"
#include "broadloom/record/json.h"
#include "research/study/sqlite.h"
#include "research/study/study_spec.h"
#include "research/study/study_store.h"

namespace broadloom {
namespace {

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

Status corrupt(const std::string& path, const std::string& what) {
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged: {}; restore a copy of it, or run the study again into "
                      "another file",
                      path, what)};
}

// Calls visit(row) for every row, until one returns an error.
template <class Visit>
Status each_row(Database& database, const char* sql, const Visit& visit) {
  Result<Statement> query = database.prepare(sql);
  if (!query.ok()) return query.status();
  while (true) {
    const Result<bool> more = query.value().next();
    if (!more.ok()) return more.status();
    if (!more.value()) return {};
    BROADLOOM_TRY(visit(query.value()));
  }
}

// Reads a flat JSON object of texts.
Status take_texts(const std::string& text, const std::string& path, Overrides& out) {
  const auto json = Json::parse(text);
  if (!json.is_object()) return corrupt(path, "a cell's settings are not a JSON object");
  for (const auto& [key, value] : json.members()) {
    if (!value.is_string()) return corrupt(path, "a cell's setting " + key + " is not a text");
    out.emplace_back(key, value.text());
  }
  return {};
}

Status parse_settings(const std::string& path, ResultCell& cell) {
  for (const auto& [key, text] : cell.settings) {
    const std::string_view name = key;
    if (name.starts_with("env.")) cell.env_options.emplace_back(name.substr(4), text);
    if (name.starts_with("strata.") || name.starts_with("disturb.")) {
      cell.variations.emplace_back(key, text);
    }
  }
  cell.env_id = cell.settings["env_id"];
  const auto parse = [&](const char* key, auto& out) -> Status {
    const Status status = parse_text(cell.settings[key], out);
    if (status.ok()) return {};
    return corrupt(path, fmt::format("cell {} has {}: {}", cell.name, key, status.message()));
  };
  BROADLOOM_TRY(parse("max_episode_steps", cell.max_episode_steps));
  BROADLOOM_TRY(parse("total_timesteps", cell.total_timesteps));
  BROADLOOM_TRY(parse("eval_episodes", cell.eval_episodes));
  BROADLOOM_TRY(parse("target_kl", cell.target_kl));
  return parse("shape_schedule", cell.shape_schedule);
}

class StoreReader {
 public:
  StoreReader(Database& database, const std::string& path) : database_(database) {
    out_.store = path;
  }

  Result<StudyResults> read() {
    BROADLOOM_TRY(read_study());
    BROADLOOM_TRY(read_cells());
    BROADLOOM_TRY(read_runs());
    BROADLOOM_TRY(read_points());
    BROADLOOM_TRY(read_metrics());
    BROADLOOM_TRY(read_evaluations());
    for (ResultRun& run : out_.runs) {
      run.training_return = last_return(run);
      out_.stored.push_back(static_cast<const RunEntry&>(run));
    }
    return std::move(out_);
  }

 private:
  Status read_study() {
    int rows = 0;
    BROADLOOM_TRY(each_row(database_,
                           "SELECT name, hash, definition, matched, points, evaluations, shard,"
                           " shards, version, revision, created FROM study",
                           [&](const Statement& row) -> Status {
                             ++rows;
                             out_.name = row.text(0);
                             out_.hash = row.text(1);
                             out_.definition = row.text(2);
                             out_.matched = row.text(3);
                             out_.points = static_cast<int>(row.integer(4));
                             out_.evaluations = static_cast<int>(row.integer(5));
                             out_.part = static_cast<int>(row.integer(6));
                             out_.parts = static_cast<int>(row.integer(7));
                             if (out_.points < 1 || out_.points > kMostScoredPoints) {
                               return corrupt(out_.store, "its number of points is out of range");
                             }
                             out_.version = row.text(8);
                             out_.revision = row.text(9);
                             out_.created = row.text(10);
                             return {};
                           }));
    if (rows == 1) return {};
    return corrupt(out_.store, fmt::format("it describes {} studies; expected 1", rows));
  }

  Status read_cells() {
    return each_row(
        database_,
        "SELECT id, name, changes, config, num_envs, num_steps, batch_size, minibatch_count,"
        " minibatch_size, update_epochs, iterations, environment_steps, gradient_steps,"
        " samples_per_gradient, note FROM cells ORDER BY id",
        [&](const Statement& row) -> Status {
          ResultCell cell;
          cell.name = row.text(1);
          BROADLOOM_TRY(take_texts(row.text(2), out_.store, cell.changes));
          Overrides config;
          BROADLOOM_TRY(take_texts(row.text(3), out_.store, config));
          cell.settings = default_settings();
          for (auto& [key, text] : config) cell.settings[key] = std::move(text);
          BROADLOOM_TRY(parse_settings(out_.store, cell));
          std::int64_t* numbers[] = {
              &cell.num_envs,        &cell.num_steps,         &cell.batch_size,
              &cell.minibatch_count, &cell.minibatch_size,    &cell.update_epochs,
              &cell.iterations,      &cell.environment_steps, &cell.gradient_steps};
          int column = 4;
          for (std::int64_t* number : numbers) {
            *number = row.integer(column++);
            if (*number < 1) {
              return corrupt(out_.store, "cell " + cell.name + " has a size below 1");
            }
          }
          cell.samples_per_gradient = row.real(13);
          cell.note = row.text(14);
          cell_index_[row.integer(0)] = static_cast<int>(out_.cells.size());
          out_.cells.push_back(std::move(cell));
          return {};
        });
  }

  Status read_runs() {
    return each_row(
        database_,
        "SELECT id, cell_id, seed, status, error, version, revision, isa, hardware, seconds,"
        " parameters_hash FROM runs ORDER BY id",
        [&](const Statement& row) -> Status {
          const auto cell = cell_index_.find(row.integer(1));
          if (cell == cell_index_.end()) return corrupt(out_.store, "a run has no cell");
          ResultRun run;
          run.cell = cell->second;
          run.seed = static_cast<std::uint64_t>(row.integer(2));
          run.cell_name = out_.cells[static_cast<std::size_t>(run.cell)].name;
          run.status = row.text(3);
          run.error = row.text(4);
          run.version = row.text(5);
          run.revision = row.text(6);
          run.isa = row.text(7);
          run.hardware = row.text(8);
          run.seconds = row.real(9);
          run.parameters_hash = row.text(10);
          run.training_return = run.evaluation_return = kNoScore;
          run_index_[row.integer(0)] = out_.runs.size();
          out_.runs.push_back(std::move(run));
          return {};
        });
  }

  // The run of a row if it is finished, else nullptr.
  ResultRun* finished_run(std::int64_t id) {
    const auto found = run_index_.find(id);
    if (found == run_index_.end() || !out_.runs[found->second].finished()) return nullptr;
    return &out_.runs[found->second];
  }

  Status read_points() {
    return each_row(database_,
                    "SELECT run_id, point, environment_steps, global_step, seconds FROM points"
                    " ORDER BY run_id, point",
                    [&](const Statement& row) -> Status {
                      ResultRun* run = finished_run(row.integer(0));
                      if (run == nullptr) return {};
                      const auto steps = static_cast<double>(row.integer(2));
                      if (!run->steps.empty() && steps <= run->steps.back()) {
                        return corrupt(out_.store, "the steps of a learning curve do not ascend");
                      }
                      point_index_[{row.integer(0), row.integer(1)}] = run->steps.size();
                      run->steps.push_back(steps);
                      run->reported.push_back(static_cast<double>(row.integer(3)));
                      run->elapsed.push_back(row.real(4));
                      return {};
                    });
  }

  Status read_metrics() {
    return each_row(database_,
                    "SELECT run_id, key, point, value FROM metrics ORDER BY run_id, key, point",
                    [&](const Statement& row) -> Status {
                      ResultRun* run = finished_run(row.integer(0));
                      if (run == nullptr) return {};
                      const auto point = point_index_.find({row.integer(0), row.integer(2)});
                      if (point == point_index_.end())
                        return corrupt(out_.store, "a metric has no point");
                      std::vector<double>& values = run->values[row.text(1)];
                      if (values.empty()) values.assign(run->steps.size(), kNoScore);
                      values[point->second] = row.real(3);
                      return {};
                    });
  }

  Status read_evaluations() {
    return each_row(database_,
                    "SELECT run_id, global_step, mean_return FROM evaluations"
                    " ORDER BY run_id, global_step",
                    [&](const Statement& row) -> Status {
                      ResultRun* run = finished_run(row.integer(0));
                      if (run == nullptr) return {};
                      run->evaluation_return = row.real(2);
                      if (!std::isfinite(row.real(2))) return {};
                      run->evaluated_at.push_back(static_cast<double>(row.integer(1)));
                      run->evaluations.push_back(row.real(2));
                      return {};
                    });
  }

  static double last_return(const ResultRun& run) {
    const auto returns = run.values.find("episodic_return");
    if (returns == run.values.end()) return kNoScore;
    for (auto value = returns->second.rbegin(); value != returns->second.rend(); ++value) {
      if (std::isfinite(*value)) return *value;
    }
    return kNoScore;
  }

  Database& database_;
  StudyResults out_;
  std::map<std::int64_t, int> cell_index_;
  std::map<std::int64_t, std::size_t> run_index_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> point_index_;
};

// A kill before the first commit leaves an empty file.
Status check_begun(Database& database, const std::string& path) {
  const Result<std::int64_t> tables = database.integer("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  if (tables.value() > 0) return {};
  return {
      ErrorKind::kMismatch,
      fmt::format("'{}' is empty: its study has not begun; run it, or name another store", path)};
}

}  // namespace

int TunedChoice::place(std::uint64_t seed) const {
  const auto found = std::lower_bound(seeds.begin(), seeds.end(), seed);
  return found == seeds.end() || *found != seed ? -1 : static_cast<int>(found - seeds.begin());
}

std::string ResultCell::setting(const std::string& key) const {
  const auto found = settings.find(key);
  return found == settings.end() ? "" : found->second;
}

const std::map<std::string, std::string>& default_settings() {
  static const std::map<std::string, std::string> kDefaults = [] {
    std::map<std::string, std::string> texts;
    for (const FieldInfo& field : list_fields(Config{})) {
      const char* const before = field.facts.before;
      texts[field.name] = before ? before : field.value_text;
    }
    return texts;
  }();
  return kDefaults;
}

Result<StudyResults> read_study_results(const std::string& path) {
  Result<Database> opened = Database::open(path, Access::kRead);
  if (!opened.ok()) return opened.status();
  Database& database = opened.value();
  BROADLOOM_TRY(check_begun(database, path));
  BROADLOOM_TRY(check_format(database, path));
  // One transaction reads the store's state at one moment.
  BROADLOOM_TRY(database.run("BEGIN"));
  Result<StudyResults> results = StoreReader(database, path).read();
  database.rollback();
  return results;
}

}  // namespace broadloom
