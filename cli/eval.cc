// `broadloom eval`: the score of a trained policy, with its interval.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

// Those that came up, most frequent first.
std::string reasons_text(const EvalResult& result) {
  std::vector<EvalResult::Reason> reasons = result.reasons;
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string out;
  for (const EvalResult::Reason& reason : reasons) {
    if (reason.count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", reason.name, reason.count);
  }
  return out;
}

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
  fmt::print("Episodes ended by: {}\n", reasons_text(result));
}

void print_result_json(const EvalCommand& command, const EvalResult& result) {
  nlohmann::ordered_json reasons = nlohmann::ordered_json::object();
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
              {"reasons", reasons}});
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
