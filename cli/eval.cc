// `broadloom eval`: the score of a trained policy, with its interval.
#include <fmt/core.h>

#include <cmath>
#include <string>

#include "broadloom/record/json.h"
#include "broadloom/train/run.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/panel_table.h"
#include "cli/progress.h"

namespace broadloom::cli {
namespace {

struct EvalCommand {
  std::string run_dir;
  EvalOptions options;
  int threads = 0;
  std::string panel;
  bool quiet = false;
  bool json = false;
  bool markdown = false;
  bool csv = false;
};

void print_result(const EvalCommand& command, const EvalResult& result) {
  fmt::print("{} at step {}\n", command.run_dir, with_commas(result.global_step));
  fmt::print("Mean return {:.2f}, 95 % interval {:.2f} to {:.2f}, over {} episodes (seed {})\n",
             result.mean_return, result.ci_low, result.ci_high, result.episodes,
             command.options.seed);
  fmt::print("Standard deviation {:.2f}, mean length {:.1f} steps\n", result.std_return,
             result.mean_length);
  const Estimate& success = result.success_rate;
  if (std::isnan(success.value)) {
    fmt::print("Success: not known, the environment does not say what it is\n");
  } else {
    fmt::print("Success {:.1f} %, 95 % interval {:.1f} to {:.1f} %\n", 100.0 * success.value,
               100.0 * success.low, 100.0 * success.high);
  }
  const Estimate& failure = result.failure_rate;
  if (!std::isnan(failure.value)) {
    fmt::print("Failure {:.1f} %, 95 % interval {:.1f} to {:.1f} %\n", 100.0 * failure.value,
               100.0 * failure.low, 100.0 * failure.high);
  }
  fmt::print("Episodes ended by: {}\n", reasons_text(result));
}

void print_result_json(const EvalCommand& command, const EvalResult& result) {
  Json reasons = Json::object();
  for (const EvalResult::Reason& reason : result.reasons) reasons[reason.name] = reason.count;
  print_json({{"run_dir", command.run_dir},
              {"global_step", result.global_step},
              {"episodes", result.episodes},
              {"seed", command.options.seed},
              {"mean_return", result.mean_return},
              {"ci_low", result.ci_low},
              {"ci_high", result.ci_high},
              {"std_return", result.std_return},
              {"mean_length", result.mean_length},
              {"success_rate", result.success_rate.value},
              {"success_low", result.success_rate.low},
              {"success_high", result.success_rate.high},
              {"failure_rate", result.failure_rate.value},
              {"failure_low", result.failure_rate.low},
              {"failure_high", result.failure_rate.high},
              {"reasons", reasons}});
}

void print_panel(const EvalCommand& command, const PanelResult& result, const std::string& saved) {
  if (command.csv || command.markdown) {
    const TableForm form = command.csv ? TableForm::kCsv : TableForm::kMarkdown;
    fmt::print("{}", table_text(panel_table(result, form), form));
    return;
  }
  fmt::print("{} at step {}\n", command.run_dir, with_commas(result.global_step));
  fmt::print("{}\n", panel_line(result.panel, command.panel));
  fmt::print("{}", table_text(panel_table(result, TableForm::kAligned), TableForm::kAligned));
  fmt::print("In brackets: 95 % intervals. Failure: ended by the environment, without success.\n");
  fmt::print("Written: {}\n", saved);
}

Result<PanelResult> play(const EvalCommand& command, const Panel& panel) {
  ShareLine line(command.quiet);
  return run_panel(
      command.run_dir, panel, resolve_threads(command.threads), "",
      [&](std::int64_t played, std::int64_t episodes) { line.show_episodes(played, episodes); });
}

Result<EvalResult> play(const EvalCommand& command) {
  ShareLine line(command.quiet);
  EvalOptions options = command.options;
  options.threads = resolve_threads(command.threads);
  options.on_progress = [&](std::int64_t played, std::int64_t episodes) {
    line.show_episodes(played, episodes);
  };
  return evaluate_run(command.run_dir, options);
}

int evaluate_on_panel(const EvalCommand& command) {
  const Result<Panel> panel = read_panel(command.panel);
  if (!panel.ok()) return report_error(panel.status(), command.json);
  const Result<PanelResult> result = play(command, panel.value());
  if (!result.ok()) return report_error(result.status(), command.json);
  const Result<std::string> saved = save_panel_result(command.run_dir, result.value());
  if (!saved.ok()) return report_error(saved.status(), command.json);
  if (command.json) {
    auto object = Json::parse(panel_result_json(result.value()));
    object.erase("episodes");
    object["file"] = saved.value();
    print_json(object);
  } else if (!command.quiet) {
    print_panel(command, result.value(), saved.value());
  }
  return 0;
}

int evaluate(const EvalCommand& command) {
  if (!command.panel.empty()) return evaluate_on_panel(command);
  const Result<EvalResult> result = play(command);
  if (!result.ok()) return report_error(result.status(), command.json);
  if (command.json) {
    print_result_json(command, result.value());
  } else if (!command.quiet) {
    print_result(command, result.value());
  }
  return 0;
}

}  // namespace

void add_eval_command(Command root, Context& context) {
  const Command app = root.add_subcommand("eval", "Score a trained policy on fresh episodes");
  const auto command = std::make_shared<EvalCommand>();
  app.add_option("RUN", command->run_dir, "Run folder that `broadloom train` wrote").required();
  const Option episodes =
      app.add_option("--episodes", command->options.episodes, "Episodes to play (default 100)")
          .range(1, 10000000)
          .type_name("INT");
  const Option seed = app.add_option("--seed", command->options.seed,
                                     "Evaluation seed; never one that training saw (default 1)")
                          .type_name("INT");
  const Option panel =
      app.add_option("--panel", command->panel,
                     "Held-out panel in TOML: score each of its rows, into panel-<hash>.json in "
                     "the run's folder")
          .type_name("TOML")
          .excludes(episodes)
          .excludes(seed);
  const Option markdown =
      app.add_flag("--markdown", command->markdown, "The panel's rows as a Markdown table")
          .needs(panel);
  app.add_flag("--csv", command->csv, "The panel's rows as CSV, one number a column")
      .needs(panel)
      .excludes(markdown);
  app.add_option("--threads", command->threads,
                 "Worker threads; the result does not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT");
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] { context.action = [command] { return evaluate(*command); }; });
}

}  // namespace broadloom::cli
