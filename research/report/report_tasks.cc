#include "research/report/report_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "broadloom/env/strata.h"
#include "broadloom/env/tasks/registry.h"

namespace broadloom {
namespace {

// Options, strata and disturbances that differ from the environment's defaults.
Overrides changed_options(const ResultCell& cell) {
  const Result<std::vector<FieldInfo>> fields = list_env_options(cell.env_id, cell.env_options);
  Overrides changed;
  for (const auto& [key, text] : cell.variations)
    changed.emplace_back(key, plain_strata_text(text));
  for (const auto& option : cell.env_options) {
    const bool is_default =
        fields.ok() &&
        std::any_of(fields.value().begin(), fields.value().end(), [&](const FieldInfo& field) {
          return field.name == option.first && field.default_text == option.second;
        });
    if (!is_default) changed.push_back(option);
  }
  std::sort(changed.begin(), changed.end());
  return changed;
}

std::string name_of(const std::string& env_id, const Overrides& options, int limit) {
  std::string inside;
  const auto add = [&](const std::string& key, const std::string& text) {
    inside += (inside.empty() ? "" : ", ") + key + "=" + text;
  };
  for (const auto& [key, text] : options) add(key, text);
  if (limit > 0) add("max_episode_steps", to_text(limit));
  return inside.empty() ? env_id : env_id + " (" + inside + ")";
}

}  // namespace

ReportTask task_of(const ResultCell& cell) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::string& env_id = cell.env_id;
  const Overrides options = changed_options(cell);
  const Result<EnvSpec> own = env_spec(env_id, cell.env_options), plain = env_spec(env_id, {});
  int limit = cell.max_episode_steps;
  const int own_limit = own.ok() ? own.value().max_episode_steps : 0;
  if (limit == own_limit) limit = 0;
  ReportTask task{name_of(env_id, options, limit), env_id, kNone, kNone, "",
                  limit > 0 ? limit : own_limit};
  if (!own.ok()) {
    task.why_not = own.status().kind() == ErrorKind::kNotFound
                       ? fmt::format("this program does not know the environment '{}'", env_id)
                       : own.status().message();
  } else if (!plain.ok() || !plain.value().has_score_range) {
    task.why_not = fmt::format("{} has no known random and reference scores", env_id);
  } else if (!options.empty()) {
    task.why_not = "its random and reference scores are for other options";
  } else if (limit > 0) {
    task.why_not =
        fmt::format("max_episode_steps is {}, but its random and reference scores are for {}",
                    limit, own.value().max_episode_steps);
  } else {
    task.random_score = own.value().random_score;
    task.reference_score = own.value().reference_score;
  }
  return task;
}

Status keep_task(const std::string& name, std::vector<StudyResults>& results) {
  std::set<std::string> tasks;
  bool found = false;
  for (StudyResults& study : results) {
    std::vector<int> place(study.cells.size(), -1);
    std::vector<ResultCell> cells;
    for (std::size_t c = 0; c < study.cells.size(); ++c) {
      const std::string task = task_of(study.cells[c]).name;
      tasks.insert(task);
      if (task != name) continue;
      place[c] = static_cast<int>(cells.size());
      cells.push_back(std::move(study.cells[c]));
    }
    found = found || !cells.empty();
    study.cells = std::move(cells);
    const auto keep = [&](auto& runs) {
      for (RunEntry& run : runs) run.cell = place[static_cast<std::size_t>(run.cell)];
      std::erase_if(runs, [](const RunEntry& run) { return run.cell < 0; });
    };
    keep(study.runs);
    keep(study.stored);
  }
  std::erase_if(results, [](const StudyResults& study) { return study.cells.empty(); });
  if (found) return {};
  return {ErrorKind::kInvalidConfig,
          fmt::format("task: got '{}'; the stores have {}", name, fmt::join(tasks, ", "))};
}

}  // namespace broadloom
