// `broadloom gradients`: bias, variance and correlation of a policy's gradient by block shape.
#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

#include "broadloom/config/shapes.h"
#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/gradients_table.h"
#include "cli/gradients_windows.h"
#include "cli/policy_isa.h"
#include "cli/progress.h"
#include "research/lab/gradient_study.h"
#include "research/report/gradients_json.h"
#include "research/report/gradients_page.h"

namespace broadloom::cli {
namespace {

struct GradientsCommand {
  std::string source;
  std::vector<std::string> shapes;
  std::vector<std::string> studies;
  std::string starts = "stationary";
  std::string time_limit = "as_trained";
  std::string loss;
  std::string out;
  GradientStudyOptions options;
  std::vector<int> windows;
  int threads = 0;
  bool quiet = false;
};

bool studies_windows(const GradientsCommand& command) {
  return command.studies == std::vector<std::string>{"windows"};
}

Status take_studies(const std::vector<std::string>& studies, GradientStudyOptions& options) {
  if (studies.empty()) return {};
  options.agreement = options.correlation = options.variance = options.bias = options.exact = false;
  for (const std::string& study : studies) {
    if (study == "agreement")
      options.agreement = true;
    else if (study == "correlation")
      options.correlation = true;
    else if (study == "variance")
      options.variance = true;
    else if (study == "bias")
      options.bias = true;
    else if (study == "exact")
      options.exact = true;
    else if (study == "windows")
      return invalid("study: got windows beside others, expected windows alone");
    else
      return unknown_key_error(
          "study", study, {"agreement", "correlation", "variance", "bias", "exact", "windows"});
  }
  return {};
}

Status take_limit(const std::string& name, GradientStudyOptions& options) {
  if (name == "as_trained")
    options.at_limit = AtLimit::kAsTrained;
  else if (name == "end")
    options.at_limit = AtLimit::kEnd;
  else if (name == "continued")
    options.at_limit = AtLimit::kContinued;
  else
    return invalid(
        fmt::format("--time_limit: got '{}', expected as_trained, end or continued", name));
  return {};
}

Status take_loss(const std::string& name, GradientStudyOptions& options) {
  if (name.empty()) return {};
  if (name == "policy")
    options.loss = MeasuredLoss::kPolicy;
  else if (name == "value")
    options.loss = MeasuredLoss::kValue;
  else if (name == "td")
    options.loss = MeasuredLoss::kTd;
  else
    return invalid(fmt::format("--loss: got '{}', expected policy, value or td", name));
  return {};
}

Status take_options(GradientsCommand& command) {
  if (!studies_windows(command)) {
    BROADLOOM_TRY(take_studies(command.studies, command.options));
    BROADLOOM_TRY(take_loss(command.loss, command.options));
    if (!command.windows.empty())
      return invalid("windows: they are of --study windows; give that, or leave them out");
  }
  if (studies_windows(command) && !command.loss.empty()) {
    return invalid("loss: --study windows measures every side of the network; leave it out");
  }
  for (const std::string& text : command.shapes) {
    const Result<BlockShape> shape = parse_shape(text, "--shapes");
    if (!shape.ok()) return shape.status();
    command.options.shapes.push_back(shape.value());
  }
  if (command.starts != "stationary" && command.starts != "synchronised") {
    return invalid(
        fmt::format("--starts: got '{}', expected stationary or synchronised", command.starts));
  }
  BROADLOOM_TRY(take_limit(command.time_limit, command.options));
  command.options.synchronised = command.starts == "synchronised";
  command.options.threads = resolve_threads(command.threads);
  return {};
}

// In the run's folder; for a checkpoint alone, in the current folder.
std::string default_folder(const std::string& source) {
  return std::filesystem::is_directory(source) ? source + "/gradients" : "gradients";
}

// The results' path without its ending. A stopped study leaves earlier results as they are.
std::string results_path(const GradientStudyReport& report, const std::string& folder) {
  const std::string path = folder + "/gradients";
  return report.stopped && std::filesystem::exists(path + ".json") ? path + ".partial" : path;
}

Status write(const GradientStudyReport& report, const std::string& path) {
  const Manifest program = make_manifest({}, 0, report.threads, "");
  const std::string json =
      gradients_json(report, program.created, program.version, program.revision);
  BROADLOOM_TRY(write_file_atomically(path + ".json", json));
  const Result<std::string> page = gradients_page(json);
  if (!page.ok()) return page.status();
  return write_file_atomically(path + ".html", page.value());
}

// is_stopped: becomes whether the study was told to stop.
Result<GradientStudyReport> measure(GradientsCommand& command, bool& is_stopped) {
  BROADLOOM_TRY(use_isa_of_policy(command.source));
  catch_interrupts();
  command.options.should_stop = [&is_stopped] { return is_stopped = was_interrupted(); };
  ShareLine line(command.quiet);
  bool begun = false;
  return study_gradients(
      command.source, command.options, [&](const std::string& what, double share) {
        // The first estimate may come after many seconds.
        if (!begun) {
          const char* const flag = what == kBurnIn ? "--start_envs" : "--blocks";
          StatusLine(stderr, command.quiet, {})
              .write(fmt::format("  0 %  {}; fewer {} take less time", what, flag));
        }
        begun = true;
        line.show_phase(what, share);
      });
}

Result<int> run_windows(const GradientsCommand& command,
                        const std::vector<std::string>& arguments) {
  WindowsCommand windows{command.source, command.out, arguments, {}, command.quiet};
  const GradientStudyOptions& options = command.options;
  if (options.shapes.size() > 1) {
    return invalid(
        fmt::format("shapes: got {}, expected one for --study windows", options.shapes.size()));
  }
  if (!options.shapes.empty()) windows.settings.shape = options.shapes[0];
  windows.settings.lengths = command.windows;
  if (options.blocks > 0) windows.settings.blocks = options.blocks;
  windows.settings.seed = options.seed;
  windows.settings.threads = options.threads;
  return measure_windows(windows);
}

// The exit code.
Result<int> run(GradientsCommand& command, const std::vector<std::string>& arguments) {
  BROADLOOM_TRY(take_options(command));
  if (command.out.empty()) command.out = default_folder(command.source);
  FoldersToFill folders;
  BROADLOOM_TRY(folders.make(command.out));
  if (studies_windows(command)) return run_windows(command, arguments);
  BROADLOOM_TRY(check_room(command.out + "/gradients.html"));  // before hours of work
  bool is_stopped = false;
  Result<GradientStudyReport> report = measure(command, is_stopped);
  release_interrupts();
  if (!report.ok() && is_stopped) {  // otherwise an error, also after Ctrl-C
    if (!command.quiet) {
      tell(stderr, "Stopped before the first shape was measured; nothing is kept\n");
    }
    return kInterruptedExit;
  }
  if (!report.ok()) return report.status();
  report.value().command = arguments;
  // Prints before it writes: a full disk must not lose the findings.
  if (!command.quiet) {
    print_gradients(report.value());
    std::fflush(stdout);
  }
  const std::string path = results_path(report.value(), command.out);
  BROADLOOM_TRY(write(report.value(), path));
  if (!command.quiet) tell("\nWritten: {0}.json, {0}.html\n", path);
  if (!report.value().stopped) return 0;
  std::fflush(stdout);
  if (!command.quiet) tell(stderr, "{} Kept: {}.json\n", report.value().notes.back(), path);
  return kInterruptedExit;
}

}  // namespace

void add_gradients_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "gradients",
      "Measure a policy's gradient: its variance, bias and correlation by block shape");
  const auto command = std::make_shared<GradientsCommand>();
  GradientStudyOptions& o = command->options;
  app.add_option("RUN", command->source, "Run folder (its newest checkpoint) or a checkpoint file")
      .required();
  app.add_option(
         "--out", command->out,
         "Folder for the results (default: gradients in the run's folder; for a checkpoint file, "
         "here)")
      .type_name("DIR");
  app.add_option(
         "--study", command->studies,
         "Any of agreement, correlation, variance, bias (default: these four), and exact, which "
         "includes variance and bias; or windows alone, of a policy with memory")
      .delimiter(',')
      .type_name("LIST");
  app.add_option("--loss", command->loss,
                 "Whose gradient to measure: the policy's loss (policy, the default of PPO), the "
                 "critic's (value), or PQN's (td, its default)")
      .type_name("TEXT");
  app.add_option("--batch", o.batch,
                 "B: measures every shape with N x T = B (default 1024; with sequence_length, a "
                 "multiple of it)")
      .range(1, 1 << 20)
      .type_name("INT");
  app.add_option("--shapes", command->shapes, "Only these shapes, as in 4x256,16x64")
      .delimiter(',')
      .type_name("LIST");
  app.add_option("--lambdas", o.lambdas, "GAE lambdas (default: 0, the run's, 1)")
      .delimiter(',')
      .type_name("LIST");
  app.add_option("--gammas", o.gammas, "Discounts of the bias study (default: the run's)")
      .delimiter(',')
      .type_name("LIST");
  app.add_option("--blocks", o.blocks,
                 "R, independent blocks of each shape (default 1000; for correlation 200)")
      .range(1, 1 << 30)
      .type_name("INT");
  app.add_option(
         "--starts", command->starts,
         "Where blocks begin: stationary (default), in all phases of episodes; synchronised, "
         "all at reset")
      .type_name("TEXT");
  app.add_option(
         "--start_envs", o.start_envs,
         "Number of environments whose states stationary blocks begin in, 64 states of each. They "
         "first play six time limits; use fewer if steps are slow (default 4096)")
      .range(32, 1 << 20)
      .type_name("INT");
  app.add_option("--time_limit", command->time_limit,
                 "How the true gradient's returns treat a time limit: end; continued; as_trained "
                 "(default): continued if the run bootstraps there")
      .type_name("TEXT");
  app.add_option("--lags", o.lags, "Lags of the correlation study (default 1 to 200)")
      .delimiter(',')
      .type_name("LIST");
  app.add_option("--bias_steps", o.bias_steps, "T of the bias study (default: T of the shapes)")
      .delimiter(',')
      .type_name("LIST");
  app.add_option("--bias_precision", o.bias_precision,
                 "Target standard error, as a share of the bias (default 0.1)")
      .range(1e-3, 1.0)
      .type_name("NUMBER");
  app.add_option("--bias_budget", o.bias_budget,
                 "Largest number of transitions for each of: the bias study, the agreement's true "
                 "gradient, its refitted critic. At least 32 trajectories are played (default "
                 "2000000)")
      .range(std::int64_t{1}, std::int64_t{1} << 40)
      .type_name("INT");
  app.add_option("--windows", command->windows,
                 "Steps of the windows, which divide T (default: powers of two, and T)")
      .delimiter(',')
      .type_name("LIST");
  app.add_flag("--norm_adv", o.norm_adv, "Normalise advantages within each block");
  app.add_flag("--value_term", o.value_term, "Include the value loss's gradient");
  app.add_flag("--entropy_term", o.entropy_term, "Include the entropy bonus's gradient");
  app.add_option("--seed", o.seed, "Seed of all random numbers (default 1)").type_name("INT");
  app.add_option("--threads", command->threads,
                 "Worker threads; results do not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT");
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.callback([&context, command] {
    context.action = [&context, command] {
      const Result<int> code = run(*command, context.arguments);
      return code.ok() ? code.value() : report_error(code.status(), false);
    };
  });
}

}  // namespace broadloom::cli
