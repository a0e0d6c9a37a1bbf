// `broadloom train`: starts a run, or resumes one.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "broadloom/config/config.h"
#include "broadloom/config/keys.h"
#include "broadloom/core/escape.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/machine.h"
#include "broadloom/train/ranked_run.h"
#include "broadloom/train/run.h"
#include "broadloom/train/teacher_policy.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/ledger.h"
#include "cli/panel_table.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/run_dir.h"
#include "cli/train_report.h"
#include "cli/zoo_entries.h"

namespace broadloom::cli {
namespace {

constexpr const char* kTotal = "total_timesteps";
constexpr const char* kStop = "stop_at_return";

struct TrainOptions {
  std::string file;
  std::string zoo;  // a task of the zoo
  std::string out;
  std::string resume;
  std::string ledger;
  std::string panel;
  std::string init;
  bool init_optimizer = false;
  std::int64_t more_timesteps = 0;
  int threads = 0;
  bool quiet = false;
  bool json = false;
  Overrides flags;
  RankFlags ranks;
};

Result<std::string> run_dir_of(const TrainOptions& options, const Config& config,
                               FoldersToFill& folders) {
  if (!options.out.empty()) return options.out;
  return default_run_dir(fmt::format("{}__{}__{}", config.env_id, config.algorithm, config.seed),
                         folders);
}

Status check_resume(const TrainOptions& options, const Context& context) {
  std::string extra;
  for (const auto& [key, text] : options.flags) {
    if (key != kTotal || options.more_timesteps == 0) continue;
    return invalid(
        fmt::format("got --more_timesteps {} and --total_timesteps {}, expected one of them: "
                    "the first adds steps, the second sets the total",
                    options.more_timesteps, text));
  }
  if (!options.file.empty()) extra = "'" + options.file + "'";
  if (!options.zoo.empty()) extra = "--zoo";
  if (!options.out.empty()) extra = "--out";
  if (!options.panel.empty()) extra = "--panel";
  if (!options.init.empty()) extra = "--init";
  for (const auto& [key, text] : options.flags) {
    if (key != kTotal && key != kStop && !is_machine_key(key)) extra = "--" + key;
  }
  if (!context.env_options.empty()) extra = "--" + context.env_options.front().first;
  if (extra.empty()) return {};
  return {ErrorKind::kInvalidConfig,
          "--resume keeps the run's own config and panel, got " + extra +
              "; leave it out, or start a new run (with --init to begin with this run's policy). "
              "You may give --more_timesteps or --total_timesteps (to make the run longer), "
              "--stop_at_return, and flags of the machine, such as --device cpu"};
}

Status use_isa_of(const std::string& run_dir) {
  const Result<std::string> isa = isa_of_run(run_dir);
  return isa.ok() ? set_isa(isa.value()) : isa.status();
}

// total_timesteps from the flags; 0: keep the run's own.
Result<std::int64_t> new_total(const TrainOptions& options) {
  if (options.more_timesteps != 0) return total_with_more(options.resume, options.more_timesteps);
  Config config;
  config.total_timesteps = 0;
  for (const auto& [key, text] : options.flags) {
    if (key == kTotal) BROADLOOM_TRY(set_config(config, kTotal, text));
  }
  return config.total_timesteps;
}

// Keys that replace the run's own.
Overrides changed_keys(const TrainOptions& options) {
  Overrides out;
  for (const auto& flag : options.flags) {
    if (flag.first == kStop || is_machine_key(flag.first)) out.push_back(flag);
  }
  return out;
}

// The finished run's result on its own panel. None if it has no panel, or if the result was deleted
// (the record keeps its numbers).
Result<std::optional<PanelResult>> own_panel_result(const std::string& run_dir) {
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  if (!std::filesystem::exists(folder.value().panel_path())) return std::optional<PanelResult>();
  const Result<Panel> panel = read_panel(folder.value().panel_path());
  if (!panel.ok()) return panel.status();
  Result<PanelResult> result = read_panel_result(panel_result_path(folder.value(), panel.value()));
  if (result.status().kind() == ErrorKind::kNotFound) return std::optional<PanelResult>();
  if (!result.ok()) return result.status();
  return std::optional<PanelResult>(result.take());
}

// A GPU has bits of its own.
bool changes_parameters(const std::string& key) {
  const Role role = role_of(key);
  return key == "device" ||
         (role != Role::kMeasure && role != Role::kRecord && role != Role::kMachine);
}

// Whether the run has exactly the zoo's settings, its seed included.
bool is_as_in_zoo(const TrainOptions& options, const Overrides& env_options) {
  return !options.zoo.empty() && env_options.empty() && options.init.empty() &&
         std::none_of(options.flags.begin(), options.flags.end(),
                      [](const auto& flag) { return changes_parameters(flag.first); });
}

// A run that passed all checks and can start.
struct ReadyRun {
  std::string heading, ledger, allow;
  std::function<Result<RunSummary>(const RunHooks&)> run;
};

int report_run(const TrainOptions& options, const Context& context, const RunSummary& summary,
               double steps_per_second, const ReadyRun& run, const Ranks& ranks) {
  TrainReport report{summary, ranks, steps_per_second};
  Status recorded;
  if (summary.finished) {
    Result<std::optional<PanelResult>> scored = own_panel_result(summary.run_dir);
    if (!scored.ok()) return report_error(scored.status(), options.json);
    report.panel = scored.take();
    if (is_as_in_zoo(options, context.env_options)) {
      Result<ZooOutcome> found = zoo_outcome(options.zoo, summary.run_dir);
      if (!found.ok()) return report_error(found.status(), options.json);
      report.zoo = found.take();
    }
    const Result<std::string> place = record_in_ledger(run.ledger, summary.run_dir);
    recorded = place.status();
    if (place.ok()) report.record = place.value();
  }
  // The summary is printed even if the ledger could not be written.
  if (options.json) {
    print_report_json(report, recorded);
  } else if (!options.quiet) {
    print_report(report, run.allow);
  }
  std::fflush(stdout);
  if (!recorded.ok()) return report_error(recorded, false);
  if (!summary.panel_failure.empty()) {
    return report_error({ErrorKind::kNumeric,
                         fmt::format("the panel has no scores: {}. The run is finished and its "
                                     "record says so",
                                     summary.panel_failure)},
                        false);
  }
  if (summary.finished) return 0;
  if (!options.quiet) {
    std::fflush(stdout);
    tell(stderr, "Saved. To continue: {} train --resume {}{}\n", program_name(),
         shell_word(summary.run_dir), run.allow);
  }
  return kInterruptedExit;
}

Result<std::optional<Panel>> read_requested_panel(const TrainOptions& options) {
  if (options.panel.empty()) return std::optional<Panel>();
  Result<Panel> panel = read_panel(options.panel);
  if (!panel.ok()) return explain_kind(panel.status(), options.panel, FileKind::kPanel);
  return std::optional<Panel>(panel.take());
}

Result<std::optional<InitialPolicy>> read_requested_policy(const TrainOptions& options) {
  if (options.init.empty()) return std::optional<InitialPolicy>();
  Result<InitialPolicy> policy = read_initial_policy(options.init, options.init_optimizer);
  if (!policy.ok()) return policy.status();
  return std::optional<InitialPolicy>(policy.take());
}

// options and ranks must outlive the result.
Result<ReadyRun> ready_to_resume(const TrainOptions& options, const Context& context, int threads,
                                 Ranks& ranks) {
  BROADLOOM_TRY(check_resume(options, context));
  const Result<std::int64_t> total = new_total(options);
  if (!total.ok()) return total.status();
  const std::string ledger = ledger_of_run(options.ledger, options.resume);
  BROADLOOM_TRY(check_ledger_file(ledger));
  BROADLOOM_TRY(use_isa_of(options.resume));
  const auto run = [&options, &ranks, threads, total = total.value()](const RunHooks& hooks) {
    return resume_run(options.resume, threads, hooks, total, changed_keys(options), ranks);
  };
  std::string allow;
  for (const std::string& code : context.allowed) allow += " --allow_plugin " + shell_word(code);
  return ReadyRun{"Resuming " + options.resume, ledger, allow, run};
}

std::string heading_of(const TrainOptions& options, const Config& config,
                       const std::string& run_dir, const std::optional<Panel>& panel,
                       const std::optional<InitialPolicy>& init, const std::string& teacher) {
  std::string heading = fmt::format("Training {} into {}", config.env_id, run_dir);
  if (panel) heading += "\n" + panel_line(*panel, options.panel) + ", at the end";
  if (init) {
    heading += fmt::format("\nInitial policy{}: {} (step {})",
                           init->takes_optimizer ? " and optimiser" : "", init->source.file,
                           with_commas(init->source.global_step));
  }
  return heading + teacher;
}

// The line about it; "" without a teacher.
Result<std::string> teacher_line(const Config& config, const std::optional<TeacherFile>& file) {
  if (!file) return std::string();
  const Result<EnvSpec> spec = env_spec(config.env_id, config.env_options);
  if (!spec.ok()) return spec.status();
  const Result<std::unique_ptr<TeacherPolicy>> teacher = make_teacher(config, spec.value(), file);
  if (!teacher.ok()) return teacher.status();
  const PolicySource& source = teacher.value()->source;
  return fmt::format("\nTeacher: {} (step {}), observation of the {}", source.file,
                     with_commas(source.global_step), teacher.value()->side());
}

Result<Config> requested_config(const TrainOptions& options, const Context& context) {
  if (options.zoo.empty()) return read_config(options.file, options.flags, context.env_options);
  const Result<ZooEntry> entry = zoo_entry(options.zoo);
  if (!entry.ok()) return entry.status();
  const Result<Overrides> keys = zoo_keys(entry.value());
  if (!keys.ok()) return keys.status();
  return make_config(keys.value(), options.flags, context.env_options);
}

// ranks must outlive the result. folders: the run's, if it has no --out.
Result<ReadyRun> ready_to_start(const TrainOptions& options, const Context& context, int threads,
                                Ranks& ranks, FoldersToFill& folders) {
  const Result<Config> config = requested_config(options, context);
  if (!config.ok()) return config.status();
  BROADLOOM_TRY(set_isa(config.value().isa));
  const Result<std::string> made = run_dir_of(options, config.value(), folders);
  if (!made.ok()) return made.status();
  const std::string& run_dir = made.value();
  BROADLOOM_TRY(RunFolder::check_free(run_dir));  // before errors about its ledger
  const std::string ledger = ledger_of_run(options.ledger, run_dir);
  BROADLOOM_TRY(check_ledger_file(ledger));
  const Result<std::optional<Panel>> panel = read_requested_panel(options);
  if (!panel.ok()) return panel.status();
  const Result<std::optional<InitialPolicy>> init = read_requested_policy(options);
  if (!init.ok()) return init.status();
  const Result<std::optional<TeacherFile>> teacher = read_teacher_file(config.value());
  if (!teacher.ok()) return teacher.status();
  const Result<std::string> line = teacher_line(config.value(), teacher.value());
  if (!line.ok()) return line.status();
  const auto run = [config = config.value(), run_dir, threads, panel = panel.value(),
                    init = init.value(), teacher = teacher.value(), &ranks](const RunHooks& hooks) {
    return start_run(config, run_dir, threads, hooks, panel, init, ranks, "", teacher);
  };
  return ReadyRun{
      heading_of(options, config.value(), run_dir, panel.value(), init.value(), line.value()),
      ledger, allow_flag(config.value().env_id), run};
}

// The first rank's part, or that of a single process. Only it reads, writes and prints. The other
// ranks wait for its run, or for its error.
int lead(const TrainOptions& options, const Context& context, Ranks& ranks) {
  const int threads = threads_per_rank(options.threads, ranks);
  FoldersToFill folders;
  const Result<ReadyRun> ready = options.resume.empty()
                                     ? ready_to_start(options, context, threads, ranks, folders)
                                     : ready_to_resume(options, context, threads, ranks);
  if (!ready.ok()) return report_error(ranks.agree(ready.status()), options.json);
  catch_interrupts();
  std::FILE* const stream = options.json ? stderr : stdout;
  ProgressLine line(stream, options.quiet);
  ShareLine episodes(options.quiet);
  double steps_per_second = 0.0;
  RunHooks hooks;
  hooks.on_iteration = [&](const Progress& progress) {
    steps_per_second = progress.steps_per_second;
    line.show(progress);
  };
  hooks.should_stop = was_interrupted;
  hooks.on_panel = panel_progress(line, episodes);
  if (!options.quiet) {
    hooks.on_note = [](const std::string& note) { tell(stderr, "Note: {}\n", note); };
    hooks.on_contract = [&](const RolloutContract& contract) {
      tell(stream, "{}\n{}", ready.value().heading, contract_text(contract));
      std::fflush(stream);
    };
  }
  const Result<RunSummary> summary = ready.value().run(hooks);
  line.finish();
  episodes.clear();
  if (!summary.ok()) return report_error(summary.status(), options.json);
  return report_run(options, context, summary.value(), steps_per_second, ready.value(), ranks);
}

// The other ranks' part. The first rank prints errors, unless the connection to it is lost.
int follow(const TrainOptions& options, Ranks& ranks) {
  catch_interrupts();
  const auto trained = [&]() -> Status {
    const Result<std::optional<RankedRun>> run = join_run(ranks);
    if (!run.ok() || !run.value()) return run.status();
    const Status has_isa = set_isa(run.value()->isa);
    if (!has_isa.ok()) return ranks.agree(has_isa);
    return follow_run(*run.value(), threads_per_rank(options.threads, ranks), ranks,
                      was_interrupted);
  };
  const Status status = trained();
  if (!ranks.status().ok()) {
    // The first rank may be the one that hangs, so this one prints, too.
    const std::string text = ranks.status().message() +
                             ". Checkpoints of the run stay saved, and train --resume continues "
                             "from the last one";
    return report_error({ranks.status().kind(), text}, false);
  }
  return static_cast<int>(status.kind());
}

int train(const TrainOptions& options, const Context& context) {
  const Result<std::unique_ptr<Ranks>> made = make_requested_ranks(options.ranks);
  if (!made.ok()) return report_error(made.status(), options.json);
  Ranks& ranks = made.value() ? *made.value() : Ranks::alone();
  const Status same = check_same_program(ranks);
  if (!same.ok() && ranks.is_first()) return report_error(same, options.json);
  if (!same.ok()) return static_cast<int>(same.kind());
  return ranks.is_first() ? lead(options, context, ranks) : follow(options, ranks);
}

}  // namespace

void add_train_command(Command root, Context& context) {
  const Command command =
      root.add_subcommand("train", "Train a policy; every config key is a flag");
  const auto options = std::make_shared<TrainOptions>();
  const Option file = command.add_option("FILE", options->file, "Config in TOML; flags win over it")
                          .type_name("TOML");
  command
      .add_option("--zoo", options->zoo,
                  "In place of FILE: the tuned settings of this task; `broadloom zoo` lists them")
      .type_name("ID")
      .group("Command")
      .excludes(file);
  command
      .add_option("--out", options->out,
                  "Run folder (default runs/<env_id>__<algorithm>__<seed>__<unix time>)")
      .type_name("DIR")
      .group("Command");
  const Option resume = command
                            .add_option("--resume", options->resume,
                                        "Resume the run in this folder, as if it had never "
                                        "stopped. --more_timesteps makes it "
                                        "longer, --device changes where it trains")
                            .type_name("RUN")
                            .group("Command");
  command
      .add_option("--more_timesteps", options->more_timesteps,
                  "Make the resumed run this many environment steps longer than its own "
                  "total_timesteps")
      .range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max())
      .type_name("INT")
      .group("Command")
      .needs(resume);
  command
      .add_option("--ledger", options->ledger,
                  "Append the finished run's record to this file; none: to no file (default: "
                  "ledger.jsonl beside the run folder)")
      .type_name("FILE")
      .group("Command");
  command
      .add_option("--panel", options->panel,
                  "Score the final policy on this held-out panel, for the record")
      .type_name("TOML")
      .group("Command");
  const Option init = command
                          .add_option("--init", options->init,
                                      "Begin with the policy of this run or checkpoint: its "
                                      "parameters and, if both have one, "
                                      "its observation normaliser")
                          .type_name("RUN")
                          .group("Command");
  command
      .add_flag("--init_optimizer", options->init_optimizer,
                "Also take the optimiser's state, and the statistics that scale rewards")
      .group("Command")
      .needs(init);
  command
      .add_option("--threads", options->threads,
                  "Worker threads; the result does not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT")
      .group("Command");
  add_allow_flag(command, context).group("Command");
  add_rank_flags(command, options->ranks);
  command.add_flag("--quiet", options->quiet, "Print nothing but errors").group("Command");
  command.add_flag("--json", options->json, "Standard output is one JSON object").group("Command");
  add_config_flags(command, context, options->flags);
  command.callback([&context, options] {
    context.action = [&context, options] { return train(*options, context); };
  });
}

}  // namespace broadloom::cli
