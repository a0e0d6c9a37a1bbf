#include "cli/zoo_entries.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/config/config.h"
#include "cli/console.h"
#include "zoo_files.h"

namespace broadloom::cli {
namespace {

const std::string_view kSettings[] = {
#include "zoo_names.inc"
};

std::vector<std::string> split(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(between);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Status corrupt(const std::string& what) {
  return {ErrorKind::kCorrupt, "configs/zoo: " + what + "; make it again: experiments/zoo/run.sh"};
}

// A line of results.csv, by the names of its head.
class CsvRow {
 public:
  CsvRow(const std::vector<std::string>& head, std::string_view line)
      : head_(head), cells_(split(line, ',')) {}

  bool is_whole() const { return cells_.size() == head_.size(); }
  std::string text(std::string_view name) const {
    const auto found = std::find(head_.begin(), head_.end(), name);
    return found == head_.end() ? "" : cells_[static_cast<std::size_t>(found - head_.begin())];
  }
  double number(std::string_view name) const {  // not a number for an empty cell
    double value = std::numeric_limits<double>::quiet_NaN();
    return parse_text(text(name), value).ok() ? value : std::numeric_limits<double>::quiet_NaN();
  }
  std::int64_t count(std::string_view name) const {
    std::int64_t value = 0;
    return parse_text(text(name), value).ok() ? value : 0;
  }
  ZooReturn mean(const std::string& name) const {
    return {number(name), number(name + "_low"), number(name + "_high")};
  }

 private:
  const std::vector<std::string>& head_;
  std::vector<std::string> cells_;
};

Result<std::string> task_of(std::string_view settings) {
  const Result<Overrides> keys = parse_toml_overrides(settings, "configs/zoo");
  if (!keys.ok()) return keys.status();
  for (const auto& [key, text] : keys.value()) {
    if (key == "env_id") return text;
  }
  return corrupt("settings without env_id");
}

ZooEntry entry_of(const CsvRow& row) {
  ZooEntry entry;
  entry.task = row.text("task");
  entry.parameters_hash = row.text("parameters_hash");
  entry.same_bits_anywhere = row.text("bits") == "any";
  entry.kept = row.mean("return");
  entry.episodes = row.count("episodes");
  entry.over_seeds = row.mean("seeds_return");
  entry.seeds = row.count("seeds");
  entry.steps = row.count("steps");
  entry.seconds = row.number("cpu_seconds");
  const double published = row.number("published");
  if (!std::isnan(published)) entry.published = published;
  entry.published_by = row.text("published_by");
  return entry;
}

}  // namespace

Result<std::vector<ZooEntry>> zoo_entries() {
  const std::vector<std::string> lines = split(assets::kZooResults, '\n');
  const std::vector<std::string> head = split(lines.front(), ',');
  std::vector<ZooEntry> entries;
  for (std::size_t i = 1; i < lines.size() && !lines[i].empty(); ++i) {
    const CsvRow row(head, lines[i]);
    if (!row.is_whole()) return corrupt(fmt::format("line {} of results.csv", i + 1));
    entries.push_back(entry_of(row));
  }
  for (const std::string_view settings : kSettings) {
    const Result<std::string> task = task_of(settings);
    if (!task.ok()) return task.status();
    const auto entry = std::find_if(entries.begin(), entries.end(),
                                    [&](const ZooEntry& one) { return one.task == task.value(); });
    if (entry == entries.end()) return corrupt(task.value() + " is not in results.csv");
    entry->settings = settings;
  }
  for (const ZooEntry& entry : entries) {
    if (entry.settings.empty()) return corrupt(entry.task + " has no settings");
  }
  return entries;
}

Result<ZooEntry> zoo_entry(const std::string& task) {
  const Result<std::vector<ZooEntry>> entries = zoo_entries();
  if (!entries.ok()) return entries.status();
  std::vector<std::string> tasks;
  for (const ZooEntry& entry : entries.value()) {
    if (entry.task == task) return entry;
    tasks.push_back(entry.task);
  }
  const std::string near = nearest_key(task, tasks);
  return Status(
      ErrorKind::kNotFound,
      fmt::format("got '{}', which is not in the zoo; {}`{} zoo` lists its tasks", task,
                  near.empty() ? "" : fmt::format("did you mean '{}'? ", near), program_name()));
}

Result<Overrides> zoo_keys(const ZooEntry& entry) {
  return parse_toml_overrides(entry.settings, "configs/zoo");
}

}  // namespace broadloom::cli
