// `broadloom rerun`: trains a run again from its record, and compares the two.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "broadloom/core/escape.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/machine.h"
#include "broadloom/train/rerun.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/file_kind.h"
#include "cli/ledger.h"
#include "cli/progress.h"
#include "cli/run_dir.h"

namespace broadloom::cli {
namespace {

struct RerunCommand {
  std::string place;
  std::string out;
  std::string init;
  std::string teacher;
  int threads = 0;
  Overrides machine;
  bool quiet = false;
  bool json = false;
};

Result<std::string> run_dir_of(const RerunCommand& command, const Config& config,
                               FoldersToFill& folders, const std::string& base) {
  if (!command.out.empty()) return command.out;
  return default_run_dir(fmt::format("rerun__{}__{}", config.env_id, config.seed), folders, base);
}

const char* rule_name(FieldRule rule) {
  switch (rule) {
    case FieldRule::kExact:
      return "exact";
    case FieldRule::kStatistic:
      return "statistic";
    case FieldRule::kNoted:
      return "noted";
    case FieldRule::kRatio:
      return "ratio";
  }
  return "";
}

// Shortens long values that agree.
std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 100;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

void print_field(const FieldComparison& field) {
  if (field.rule == FieldRule::kRatio) {
    const std::string ratio = std::isnan(field.ratio) ? "-" : fmt::format("x {:.2f}", field.ratio);
    tell("  {:<10} {:<28} {} | {}\n", ratio, field.name, field.recorded, field.rerun);
  } else if (field.rule == FieldRule::kStatistic) {
    tell("  {:<10} {:<28} {} | {}\n", field.agrees ? "overlaps" : "DIFFERS", field.name,
         field.recorded, field.rerun);
  } else if (field.agrees) {
    tell("  {:<10} {:<28} {}\n", "agrees", field.name, shortened(field.recorded));
  } else {
    tell("  {:<10} {:<28} {} | {}\n", "DIFFERS", field.name, field.recorded, field.rerun);
  }
}

bool has_prefix(const FieldComparison& field, const char* prefix) {
  return field.name.starts_with(prefix);
}

void print_count(const char* part, int count, const char* what) {
  if (count > 0) tell("  {:<10} {:<28} {} {}\n", "agrees", part, count, what);
}

// Config keys and panel numbers are many: prints those that differ, and counts the others.
void print_fields(const std::vector<FieldComparison>& fields) {
  tell("Recorded | this rerun\n");
  int config_keys = 0, panel_numbers = 0;
  for (const FieldComparison& field : fields) {
    if (has_prefix(field, "config.") && field.agrees) {
      ++config_keys;
    } else if (has_prefix(field, "panel.") && field.agrees && field.rule == FieldRule::kExact) {
      ++panel_numbers;
    } else {
      print_field(field);
    }
  }
  print_count("config", config_keys, "keys");
  print_count("panel", panel_numbers, "values");
}

// There is one run on each side: the intervals are over episodes, not over training runs.
void print_statistics(const RerunReport& report) {
  if (!report.by_statistics) return;
  int means = 0, apart = 0;
  for (const FieldComparison& field : report.fields) {
    if (field.rule != FieldRule::kStatistic) continue;
    ++means;
    if (!field.agrees) ++apart;
  }
  tell(
      "The recorded run cannot be repeated bit for bit: its simulator is not deterministic, or a "
      "resume began new episodes.\n");
  if (means == 0) {
    tell("The recorded run was not evaluated, so there is no mean to compare.\n");
    return;
  }
  tell(
      "{} of {} means have overlapping 95 % intervals. These intervals are over episodes; to "
      "measure differences between training runs, use `{} study` with several seeds.\n",
      means - apart, means, program_name());
}

void print_verdict(const RerunReport& report) {
  print_statistics(report);
  int exact = 0, differ = 0;
  std::string noted;
  for (const FieldComparison& field : report.fields) {
    if (field.rule == FieldRule::kExact || field.rule == FieldRule::kStatistic) {
      ++exact;
      if (!field.agrees) ++differ;
    }
    if (field.rule == FieldRule::kNoted && !field.agrees) {
      noted += (noted.empty() ? "" : ", ") + field.name;
    }
  }
  if (differ == 0) {
    tell("All {} fields that must agree do agree.\n", exact);
    if (!noted.empty()) tell("Other differences of program, engine or machine: {}.\n", noted);
  } else {
    tell("{} of {} fields that must agree differ.\n", differ, exact);
    const std::vector<std::string> reasons = report.possible_reasons();
    tell("{}\n", reasons.empty()
                     ? "Program, engine and machine are the same, so they are not the cause."
                     : fmt::format("Possible causes: different {}.", fmt::join(reasons, ", ")));
  }
  tell("Run folder: {}\n", report.run.run_dir);
}

void print_json_report(const RerunCommand& command, const RerunReport& report) {
  Json fields = Json::array();
  for (const FieldComparison& field : report.fields) {
    Json object = {{"name", field.name},
                   {"rule", rule_name(field.rule)},
                   {"recorded", Json::parse(field.recorded)},
                   {"rerun", Json::parse(field.rerun)},
                   {"agrees", field.agrees}};
    if (field.rule == FieldRule::kRatio) object["ratio"] = field.ratio;
    fields.push_back(std::move(object));
  }
  print_json({{"ledger", command.place},
              {"run_dir", report.run.run_dir},
              {"finished", report.run.finished},
              {"agrees", report.agrees()},
              {"by_statistics", report.by_statistics},
              {"fields", fields}});
}

int report_rerun(const RerunCommand& command, const RerunReport& report) {
  if (command.json) {
    print_json_report(command, report);
  } else if (report.run.finished && !command.quiet) {
    print_fields(report.fields);
    print_verdict(report);
  }
  if (!report.run.finished) {
    tell(stderr,
         "Stopped before the end, so there is nothing to compare. `{} train --resume {}` completes "
         "it; to compare, start it again with another --out.\n",
         program_name(), shell_word(report.run.run_dir));
    return kInterruptedExit;
  }
  return report.agrees() ? 0 : static_cast<int>(ErrorKind::kMismatch);
}

// Names the line; says so if it is the last one because the call gave no number.
std::string place_text(const LedgerPlace& place) {
  if (place.line > 0) return fmt::format("{}:{}", place.path, place.line);
  const Result<std::int64_t> lines = count_ledger_lines(place.path);
  if (!lines.ok()) return place.path;
  return fmt::format("{}:{} (the last line)", place.path, lines.value());
}

Result<RerunReport> run_again(const RerunCommand& command, const LedgerPlace& place,
                              const std::string& line) {
  std::error_code error;  // environments in Python may change the folder later
  const std::string base = std::filesystem::current_path(error).string();
  Result<RerunPlan> plan = plan_rerun(line, command.init, command.teacher, place.run_dir);
  if (!plan.ok()) return plan.status();
  BROADLOOM_TRY(set_machine(plan.value().config, command.machine));
  FoldersToFill folders;
  const Result<std::string> run_dir = run_dir_of(command, plan.value().config, folders, base);
  if (!run_dir.ok()) return run_dir.status();
  const std::string& out = run_dir.value();
  BROADLOOM_TRY(RunFolder::check_free(out));  // by that name
  const int threads = command.threads > 0 ? command.threads : plan.value().threads;
  std::FILE* stream = command.json ? stderr : stdout;
  if (!command.quiet) {
    tell(stream, "Training {} again, from {}, into {}\n", plan.value().config.env_id,
         place_text(place), out);
    std::fflush(stream);
  }
  ProgressLine progress(stream, command.quiet);
  RunHooks hooks;
  hooks.named_dir = out;
  hooks.on_iteration = [&](const Progress& now) { progress.show(now); };
  hooks.should_stop = was_interrupted;
  ShareLine episodes(command.quiet);
  hooks.on_panel = panel_progress(progress, episodes);
  catch_interrupts();
  BROADLOOM_TRY(set_isa(plan.value().config.isa));
  Result<RerunReport> report = rerun(line, plan.value(), whole_path(base, out), threads, hooks);
  progress.finish();
  return report;
}

int rerun_command(const RerunCommand& command) {
  const Result<LedgerPlace> place = parse_ledger_place(command.place);
  if (!place.ok()) return report_error(place.status(), command.json);
  const Result<std::string> line = read_place(place.value());
  if (!line.ok()) {
    return report_error(explain_kind(line.status(), place.value().path, FileKind::kLedger),
                        command.json);
  }
  const Result<RerunReport> report = run_again(command, place.value(), line.value());
  if (!report.ok()) return report_error(report.status(), command.json);
  return report_rerun(command, report.value());
}

}  // namespace

void add_rerun_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "rerun", "Train a recorded run again and compare the two (exit code 6: they differ)");
  const auto command = std::make_shared<RerunCommand>();
  app.add_option("LEDGER", command->place,
                 "LEDGER:LINE, as in runs/ledger.jsonl:3; without a line, the last one; or the "
                 "folder of a run")
      .required();
  app.add_option("--out", command->out,
                 "Folder of the rerun (default runs/rerun__<env_id>__<seed>__<unix time>)")
      .type_name("DIR");
  app.add_option(
         "--init", command->init,
         "Run or checkpoint with the run's initial policy (default: the file named in the record)")
      .type_name("RUN");
  app.add_option(
         "--teacher", command->teacher,
         "Run or checkpoint of the student's teacher (default: the copy in the run's folder)")
      .type_name("RUN");
  app.add_option("--threads", command->threads,
                 "Worker threads; the result does not depend on them (default: the record's)")
      .range(0, 1024)
      .type_name("INT");
  add_machine_flags(app, command->machine);
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback(
      [&context, command] { context.action = [command] { return rerun_command(*command); }; });
}

}  // namespace broadloom::cli
