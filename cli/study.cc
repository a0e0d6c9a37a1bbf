// `broadloom study`: trains a grid of runs into a store; `broadloom study merge` joins stores.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/math/isa.h"
#include "broadloom/record/json.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/run_dir.h"
#include "cli/study_files.h"
#include "cli/study_launch.h"
#include "cli/study_lines.h"
#include "cli/study_options.h"
#include "cli/study_table.h"
#include "research/report/study_report.h"
#include "research/study/launcher.h"
#include "research/study/merge.h"

namespace broadloom::cli {
namespace {

// If runs failed: nearly all do so because a loss is not finite.
constexpr int kFailedRunsExit = static_cast<int>(ErrorKind::kNumeric);

struct StudyCommand {
  StudyFlags flags;
  LaunchFlags launch;
  std::string out, part, runs;
  int jobs = 0;
  int threads = 1;
  bool plan_only = false, retry_failed = false, any_revision = false;
  bool report = true;
  bool quiet = false, json = false;
};

struct MergeCommand {
  std::vector<std::string> stores;
  std::string out;
};

// A study without a file or a name gets the hash of its plan: the same flags find the same store
// again.
std::string default_store(const StudyCommand& command, const StudyPlan& plan,
                          const StudyPart& part) {
  std::string path = "studies/" + file_name(plan.name);
  if (command.flags.file.empty() && command.flags.name.empty())
    path += "__" + plan.hash.substr(0, 8);
  if (part.count > 1) path += fmt::format(".part-{}-of-{}", part.index, part.count);
  return path + ".sqlite";
}

Result<StudyPlan> read_plan(const StudyCommand& command, const Context& context) {
  Result<StudySpec> spec = read_study_flags(command.flags, context.env_options, command.plan_only);
  if (!spec.ok()) return spec.status();
  if (spec.value().name.empty()) {
    spec.value().name = "study";
    for (const auto& [key, text] : spec.value().base) {
      if (key == "env_id") spec.value().name = text;
    }
  }
  return plan_study(spec.value());
}

Result<StudyOptions> options_of(const StudyCommand& command, const StudyPlan& plan) {
  StudyOptions options;
  if (!command.part.empty()) {
    const Result<StudyPart> part = parse_part(command.part);
    if (!part.ok()) return part.status();
    options.part = part.value();
  }
  if (!command.runs.empty()) {
    Result<std::vector<std::int64_t>> runs =
        parse_runs(command.runs, static_cast<std::int64_t>(plan.runs.size()));
    if (!runs.ok()) return runs.status();
    options.part.runs = runs.take();
  }
  options.threads = std::max(1, command.threads);
  options.jobs = command.jobs;
  options.retry_failed = command.retry_failed;
  options.any_revision = command.any_revision;
  options.store = command.out.empty() ? default_store(command, plan, options.part) : command.out;
  return options;
}

// The report of a complete study; an empty report if the study is incomplete or none is wanted.
Result<StudyReport> report_of(const StudyCommand& command, const StudySummary& summary,
                              const StudyOptions& options) {
  if (!command.report || !summary.is_over() || !options.part.is_whole()) return StudyReport();
  StudyReportOptions report_options;
  report_options.threads = resolve_threads(0);
  return make_shown_report({options.store}, report_options, command.quiet);
}

Status write_results(const StudyCommand& command, const StudyPlan& plan,
                     const StudySummary& summary, const StudyOptions& options,
                     const std::vector<std::string>& arguments) {
  const Result<StudyReport> report = report_of(command, summary, options);
  if (!report.ok()) return report.status();
  if (!command.json && !command.quiet) {
    print_study_result(stdout, plan, summary);
    print_report(stdout, report.value());
    tell("\nStore: {}\n", options.store);
    std::fflush(stdout);  // before an error about the report's folder
  }
  std::vector<std::string> written;
  if (!report.value().studies.empty()) {
    const Result<ReportFiles> files =
        write_report(report.value(), default_report_folder({options.store}), arguments);
    if (!files.ok()) return files.status();
    written = files.value().paths;
  }
  if (command.json) {
    Json json = study_json(plan, summary, options);
    json["written"] = written;
    print_json(json);
  } else if (!command.quiet && !written.empty()) {
    tell("Written: {}\n", fmt::join(written, ", "));
  }
  return {};
}

int report_study(const StudyCommand& command, const StudyPlan& plan, const StudySummary& summary,
                 const StudyOptions& options, const std::vector<std::string>& arguments) {
  const Status status = write_results(command, plan, summary, options, arguments);
  std::fflush(stdout);
  const int failed = print_failed_runs(stderr, plan, summary);  // with --quiet, too
  if (!status.ok()) return report_error(status, command.json);
  if (summary.is_over(options.part)) return failed > 0 ? kFailedRunsExit : 0;
  if (!command.quiet) {
    tell(stderr, "Stopped. To continue, run the same command again.\n");
  }
  return kInterruptedExit;
}

Result<LaunchOptions> launch_options_of(const StudyCommand& command, const StudyPlan& plan,
                                        const Launcher& launcher, const Context& context) {
  Result<StudyOptions> study = options_of(command, plan);
  if (!study.ok()) return study.status();
  StudyOptions& options = study.value();
  BROADLOOM_TRY(check_launch_flags(command.launch, launcher, options.part));
  if (!launcher.is_remote() && options.jobs == 0) {
    options.jobs = std::max(1, resolve_threads(0) / options.threads);
  }
  return launch_options(command.launch, launcher, options, context);
}

const std::string& isa_of(const StudyPlan& plan) {
  return plan.cells.front().config.isa;  // all cells have the same one
}

// Prints a launcher's sentence between the lines of progress.
void print_note(std::FILE* stream, const std::string& sentence) {
  tell(stream, "{}\n", wrapped(sentence, screen_size(stream).columns, "  "));
  std::fflush(stream);
}

int plan_alone(const StudyCommand& command, const StudyPlan& plan, Launcher& launcher,
               const LaunchOptions& options, std::FILE* stream) {
  // A remote launcher times blocks here; the plan of local runs needs no such processor.
  const Status has_isa = launcher.is_remote() ? set_isa(isa_of(plan)) : Status();
  if (!has_isa.ok()) return report_error(has_isa, command.json);
  const Result<std::string> words = launcher.describe(plan, options, {});
  if (!words.ok()) return report_error(words.status(), command.json);
  if (!command.quiet) tell(stream, "{}", words.value());
  if (command.json) {
    print_json(study_plan_json(plan, options.study.part, options.study.store, words.value()));
  }
  return 0;
}

int study(const StudyCommand& command, const Context& context) {
  const Result<StudyPlan> made = read_plan(command, context);
  if (!made.ok()) return report_error(made.status(), command.json);
  const StudyPlan& plan = made.value();
  const Result<std::unique_ptr<Launcher>> launcher = make_launcher(command.launch.launcher);
  if (!launcher.ok()) return report_error(launcher.status(), command.json);
  const Result<LaunchOptions> options =
      launch_options_of(command, plan, *launcher.value(), context);
  if (!options.ok()) return report_error(options.status(), command.json);
  const StudyOptions& study_options = options.value().study;
  std::FILE* stream = command.json ? stderr : stdout;
  if (!command.quiet) {
    print_study_plan(stream, plan, study_options.part, command.plan_only);
    std::fflush(stream);
  }
  if (command.plan_only) {
    return plan_alone(command, plan, *launcher.value(), options.value(), stream);
  }
  const Status has_isa = set_isa(isa_of(plan));
  if (!has_isa.ok()) return report_error(has_isa, command.json);
  catch_interrupts();
  StudyLines lines(stream, command.quiet, plan);
  LaunchHooks hooks;
  hooks.study.on_progress = [&](const StudyProgress& progress) { lines.show(progress); };
  hooks.study.should_stop = was_interrupted;
  if (!command.quiet) {
    hooks.on_note = [&](const std::string& sentence) {
      lines.finish();  // later progress begins below the note
      print_note(stream, sentence);
    };
  }
  const Result<StudySummary> summary = launcher.value()->run(plan, options.value(), hooks);
  lines.finish();
  if (!summary.ok()) return report_error(summary.status(), command.json);
  return report_study(command, plan, summary.value(), study_options, context.arguments);
}

int merge(const MergeCommand& command) {
  const Result<MergeSummary> merged = merge_stores(command.stores, command.out);
  if (!merged.ok()) return report_error(merged.status(), false);
  const MergeSummary& m = merged.value();
  tell("{} of {} runs in {}, {} failed\n", with_commas(m.finished), with_commas(m.runs),
       command.out, m.failed);
  if (m.pending() > 0) {
    tell("{} runs are in none of these stores; to train them, call the study with --out {}\n",
         with_commas(m.pending()), command.out);
  }
  return 0;
}

void add_merge_command(Command study_app, Context& context) {
  const Command app = study_app.add_subcommand("merge", "Join the stores of parts");
  const auto command = std::make_shared<MergeCommand>();
  app.add_option("STORE", command->stores, "Stores of one study's parts").required();
  app.add_option("--out", command->out, "The store to make, or to add runs to")
      .type_name("FILE")
      .required();
  app.callback([&context, command] { context.action = [command] { return merge(*command); }; });
}

void add_run_flags(Command app, StudyCommand& command) {
  constexpr const char* kGroup = "Command";
  app.add_option(
         "--out", command.out,
         "Store (default studies/<name>.sqlite; without FILE and --name: of the task's name "
         "and a hash)")
      .type_name("FILE")
      .group(kGroup);
  const Option part = app.add_option("--part", command.part,
                                     "Only every n-th run, from the i-th on, with its own store")
                          .type_name("i/n")
                          .group(kGroup);
  app.add_option("--runs", command.runs, "Only these runs, by number: 1-3,9")
      .type_name("RUNS")
      .excludes(part)
      .group(kGroup);
  app.add_option("--jobs", command.jobs,
                 "Runs at once (default: cores / threads); on a cluster, jobs at once")
      .range(0, 1024)
      .type_name("INT")
      .group(kGroup);
  app.add_option("--threads", command.threads, "Threads of each run (default 1)")
      .range(1, 1024)
      .type_name("INT")
      .group(kGroup);
  app.add_flag("--plan", command.plan_only,
               "Print the whole plan, and the jobs a launcher would submit, then stop")
      .group(kGroup);
  app.add_flag("--retry_failed", command.retry_failed, "Train failed runs again").group(kGroup);
  app.add_flag("--any_revision", command.any_revision,
               "Continue a store that another revision of the program began")
      .group(kGroup);
  app.add_flag("--report", command.report,
               "Write a report beside the store at the end (default; --no_report: write none)")
      .group(kGroup);
  app.add_flag("--quiet", command.quiet, "Print nothing but errors and failed runs").group(kGroup);
  app.add_flag("--json", command.json, "Standard output is one JSON object").group(kGroup);
}

}  // namespace

void add_study_command(Command root, Context& context) {
  const Command app = root.add_subcommand("study", "Train a grid of settings over many seeds");
  const auto command = std::make_shared<StudyCommand>();
  add_run_flags(app, *command);
  add_allow_flag(app, context).group("Command");
  add_launch_flags(app, command->launch);
  add_study_flags(app, context, command->flags);
  add_merge_command(app, context);
  app.callback([&context, command, app] {
    if (app.named_subcommand()) return;  // merge has set its own action
    context.action = [&context, command] { return study(*command, context); };
  });
}

}  // namespace broadloom::cli
