// `broadloom zoo [ID]`: lists tuned settings with their returns, or shows those of one task.
#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/text_table.h"
#include "cli/zoo_entries.h"

namespace broadloom::cli {
namespace {

struct ZooCommand {
  std::string task;
  bool json = false;
};

// Three digits or more: "0.731", "-173", "2,894".
std::string number_text(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::fabs(value);
  if (size >= 1000.0) return with_commas(std::llround(value));
  return fmt::format("{:.{}f}", value, size >= 100.0 ? 0 : size >= 10.0 ? 1 : 2);
}

std::string zoo_return_text(const ZooReturn& value) {
  if (std::isnan(value.low)) return number_text(value.mean);
  return fmt::format("{} [{}, {}]", number_text(value.mean), number_text(value.low),
                     number_text(value.high));
}

// The task's spec; none if this program was built without its simulator.
std::optional<EnvSpec> spec_of(const std::string& task) {
  Result<EnvSpec> spec = env_spec(task, {});
  if (!spec.ok()) return std::nullopt;
  return spec.take();
}

std::string goal_text(const ZooEntry& entry) {
  if (entry.published) return fmt::format("{}: {:g}", entry.published_by, *entry.published);
  const std::optional<EnvSpec> spec = spec_of(entry.task);
  if (!spec) return "-";
  std::string out;
  if (spec->has_reward_threshold) out = fmt::format("threshold {:g}", spec->reward_threshold);
  if (spec->has_score_range) {
    out += fmt::format("{}reference {:.4g}", out.empty() ? "" : ", ", spec->reference_score);
  }
  return out.empty() ? "-" : out;
}

std::string core_seconds_text(double seconds) {
  if (std::isnan(seconds)) return "-";
  return fmt::format("{:.{}f}", seconds, seconds < 10.0 ? 1 : 0);
}

std::string zoo_folder(const ZooEntry& entry) {
  std::string name = entry.task;
  for (char& letter : name) letter = letter == '/' ? '_' : letter;
  return "runs/" + name;
}

Json json_of(const ZooReturn& value) {
  return {{"mean", value.mean}, {"low", value.low}, {"high", value.high}};
}

Json json_of(const ZooEntry& entry) {
  Json out = {{"task", entry.task},
              {"return", json_of(entry.kept)},
              {"episodes", entry.episodes},
              {"over_seeds", json_of(entry.over_seeds)},
              {"seeds", entry.seeds},
              {"goal", goal_text(entry)},
              {"steps", entry.steps},
              {"seconds", entry.seconds},
              {"parameters_hash", entry.parameters_hash},
              {"same_bits_anywhere", entry.same_bits_anywhere},
              {"settings", entry.settings},
              {"trains_here", spec_of(entry.task).has_value()}};
  return out;
}

int list_zoo(const std::vector<ZooEntry>& entries, bool json) {
  if (json) {
    Json all = Json::array();
    for (const ZooEntry& entry : entries) all.push_back(json_of(entry));
    print_json({{"zoo", all}});
    return 0;
  }
  TextTable table;
  table.head = {"TASK", "RETURN", "SETTINGS, OTHER SEEDS", "STEPS", "SECONDS", "GOAL"};
  for (const ZooEntry& entry : entries) {
    table.rows.push_back({entry.task, zoo_return_text(entry.kept),
                          zoo_return_text(entry.over_seeds), with_commas(entry.steps),
                          core_seconds_text(entry.seconds), goal_text(entry)});
  }
  tell_text(stdout, table_text(table, TableForm::kAligned));
  tell(
      "Returns with 95 % intervals, of the kept policy and over training seeds; seconds of one "
      "core.\nOne task's settings and commands: {} zoo {}\n",
      program_name(), entries.front().task);
  return 0;
}

int show_entry(const ZooEntry& entry, bool json) {
  if (json) {
    print_json(json_of(entry));
    return 0;
  }
  const std::string folder = zoo_folder(entry);
  tell("{}\n\n", entry.task);
  tell("  return        {} over {} held-out episodes\n", zoo_return_text(entry.kept),
       with_commas(entry.episodes));
  tell("  other seeds   {} over {} trainings\n", zoo_return_text(entry.over_seeds), entry.seeds);
  tell("  goal          {}\n", goal_text(entry));
  tell("  training      {} steps, {} s of one core\n", with_commas(entry.steps),
       core_seconds_text(entry.seconds));
  tell("  parameters    {}: {}\n\n", entry.parameters_hash,
       entry.same_bits_anywhere ? "the same bits on any processor with fused multiply-add"
                                : "other bits on another processor or C library");
  tell("Settings\n{}\n", entry.settings);
  tell("Train it again:  {} train --zoo {} --out {}\n", program_name(), entry.task, folder);
  tell("Watch it:        {} watch {}\n", program_name(), folder);
  if (!spec_of(entry.task)) {
    tell(
        "This program was built without this task's simulator: `{} env list` says how to get "
        "it.\n",
        program_name());
  }
  return 0;
}

int zoo(const ZooCommand& command) {
  if (command.task.empty()) {
    const Result<std::vector<ZooEntry>> entries = zoo_entries();
    if (!entries.ok()) return report_error(entries.status(), command.json);
    return list_zoo(entries.value(), command.json);
  }
  const Result<ZooEntry> entry = zoo_entry(command.task);
  if (!entry.ok()) return report_error(entry.status(), command.json);
  return show_entry(entry.value(), command.json);
}

}  // namespace

void add_zoo_command(Command root, Context& context) {
  const Command app =
      root.add_subcommand("zoo",
                          "List tuned settings for each task and what they return, or show "
                          "those of one");
  const auto command = std::make_shared<ZooCommand>();
  app.add_option("ID", command->task, "Task, such as CartPole-v1 (default: list all)");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] { context.action = [command] { return zoo(*command); }; });
}

}  // namespace broadloom::cli
