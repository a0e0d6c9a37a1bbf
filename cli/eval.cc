// `broadloom eval`: the score of a trained policy, with its interval.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "broadloom/train/run.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

struct EvalCommand {
  std::string run_dir;
  EvalOptions options;
  int threads = 0;
  bool quiet = false;
  bool json = false;
};

void print_result(const EvalCommand& command, const EvalResult& result) {
  fmt::print("{} at step {}\n", command.run_dir, with_commas(result.global_step));
  fmt::print("Mean return {:.2f}, 95 % interval {:.2f} to {:.2f}, over {} episodes (seed {})\n",
             result.mean_return, result.ci_low, result.ci_high, result.episodes,
             command.options.seed);
  fmt::print("Standard deviation {:.2f}, mean length {:.1f} steps\n", result.std_return,
             result.mean_length);
}

void print_result_json(const EvalCommand& command, const EvalResult& result) {
  print_json({{"run_dir", command.run_dir},
              {"global_step", result.global_step},
              {"episodes", result.episodes},
              {"seed", command.options.seed},
              {"mean_return", result.mean_return},
              {"ci_low", result.ci_low},
              {"ci_high", result.ci_high},
              {"std_return", result.std_return},
              {"mean_length", result.mean_length}});
}

int evaluate(EvalCommand command) {
  command.options.threads = resolve_threads(command.threads);
  const Result<EvalResult> result = evaluate_run(command.run_dir, command.options);
  if (!result.ok()) return report_error(result.status(), command.json);
  if (command.json) {
    print_result_json(command, result.value());
  } else if (!command.quiet) {
    print_result(command, result.value());
  }
  return 0;
}

}  // namespace

void add_eval_command(CLI::App& root, Context& context) {
  CLI::App* app = root.add_subcommand("eval", "Score a trained policy on fresh episodes");
  const auto command = std::make_shared<EvalCommand>();
  app->add_option("RUN", command->run_dir, "Run folder that `broadloom train` wrote")->required();
  app->add_option("--episodes", command->options.episodes, "Episodes to play (default 100)")
      ->check(CLI::Range(1, 10000000))
      ->type_name("INT");
  app->add_option("--seed", command->options.seed,
                  "Evaluation seed; never one that training saw (default 1)")
      ->type_name("INT");
  app->add_option("--threads", command->threads,
                  "Worker threads; the result does not depend on them (default: all)")
      ->check(CLI::Range(0, 1024))
      ->type_name("INT");
  app->add_flag("--quiet", command->quiet, "Print nothing but errors");
  app->add_flag("--json", command->json, "Standard output is one JSON object");
  app->callback([&context, command] { context.action = [command] { return evaluate(*command); }; });
}

}  // namespace broadloom::cli
