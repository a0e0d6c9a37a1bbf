// `broadloom eval`: the score of a trained policy, with its interval.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/record/json.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/file_kind.h"
#include "cli/panel_table.h"
#include "cli/policy_isa.h"
#include "cli/progress.h"

namespace broadloom::cli {
namespace {

struct EvalCommand {
  std::string source;  // a run or a checkpoint
  bool best = false;
  std::string actions;  // "": as the run's evaluations
  EvalOptions options;
  int threads = 0;
  std::string panel;
  bool quiet = false;
  bool json = false;
  bool markdown = false;
  bool csv = false;
};

const char* actions_text(EvalActions actions) {
  return actions == EvalActions::kSampled ? "sampled actions, as in training"
                                          : "most likely actions";
}

// Explains a score below training's, which is common early in training.
void explain_difference(const EvalResult& result) {
  if (result.actions == EvalActions::kSampled) return;
  const bool is_less = result.training_return > result.ci_high;  // false if either is not a number
  if (!is_less) return;
  tell(
      "Training reached mean return {:.2f} with sampled actions; eval plays the most likely ones. "
      "Add --actions sampled to explore as training does.\n",
      result.training_return);
}

// Explains the returns of episodes that were cut.
void explain_cut(const EvalCommand& command, const EvalResult& result) {
  for (const EvalResult::Reason& reason : result.reasons) {
    if (reason.name != "unfinished" || reason.count == 0) continue;
    tell(
        "{} of {} episodes were cut after {} steps, and their returns end there; --max_steps sets "
        "this limit.\n",
        reason.count, result.episodes, with_commas(command.options.longest_episode));
  }
}

bool is_partial(const EvalResult& result) { return result.episodes < result.asked; }

void print_returns(const EvalCommand& command, const EvalResult& result) {
  if (result.episodes == 1) {
    tell("Return {:.2f}, length {:.0f} steps, of one episode (seed {}); no interval\n",
         result.mean_return, result.mean_length, command.options.seed);
    return;
  }
  tell("Mean return {:.2f}, 95 % interval {:.2f} to {:.2f}, over {} episodes (seed {})\n",
       result.mean_return, result.ci_low, result.ci_high, result.episodes, command.options.seed);
  tell("Standard deviation {:.2f}, mean length {:.1f} steps\n", result.std_return,
       result.mean_length);
}

void print_result(const EvalCommand& command, const EvalResult& result) {
  tell("{} at step {}, {}\n", command.source, with_commas(result.global_step),
       actions_text(result.actions));
  print_returns(command, result);
  const Estimate& success = result.success_rate;
  if (std::isnan(success.value)) {
    tell("Success: not known, since the environment defines none\n");
  } else {
    tell("Success {:.1f} %, 95 % interval {:.1f} to {:.1f} %\n", 100.0 * success.value,
         100.0 * success.low, 100.0 * success.high);
  }
  const Estimate& failure = result.failure_rate;
  if (!std::isnan(failure.value)) {
    tell("Failure {:.1f} %, 95 % interval {:.1f} to {:.1f} %\n", 100.0 * failure.value,
         100.0 * failure.low, 100.0 * failure.high);
  }
  for (const auto& [measure, mean] : result.measures) {
    tell("{} {:.3f} {}", measure.name, mean.value, measure.unit);
    if (std::isnan(mean.low)) {
      tell("\n");
    } else {
      tell(", 95 % interval {:.3f} to {:.3f}\n", mean.low, mean.high);
    }
  }
  tell("Episodes ended by: {}\n", reasons_text(result));
  explain_cut(command, result);
  explain_difference(result);
  if (!result.note.empty()) tell(stderr, "Note: {}\n", result.note);
}

void print_result_json(const EvalCommand& command, const EvalResult& result) {
  Json reasons = Json::object();
  for (const EvalResult::Reason& reason : result.reasons) reasons[reason.name] = reason.count;
  Json out = {{"run_dir", command.source},
              {"global_step", result.global_step},
              {"episodes", result.episodes},
              {"asked", result.asked},
              {"seed", command.options.seed},
              {"actions", actions_name(result.actions)},
              {"max_steps", command.options.longest_episode},
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
              {"reasons", reasons}};
  if (!result.note.empty()) out["note"] = result.note;
  for (const auto& [measure, mean] : result.measures) {
    out["measures"][measure.name] = {
        {"unit", measure.unit}, {"value", mean.value}, {"low", mean.low}, {"high", mean.high}};
  }
  print_json(out);
}

// file: where the result is stored; "": it is not.
void print_panel(const EvalCommand& command, const PanelResult& result, const std::string& file) {
  if (command.csv || command.markdown) {
    const TableForm form = command.csv ? TableForm::kCsv : TableForm::kMarkdown;
    tell("{}", table_text(panel_table(result, form), form));
    return;
  }
  tell("{} at step {}\n", command.source, with_commas(result.global_step));
  tell("{}\n", panel_line(result.panel, command.panel));
  tell("{}", table_text(panel_table(result, TableForm::kAligned), TableForm::kAligned));
  tell("In brackets: 95 % intervals{}. Failure: ended by the environment, without success.\n",
       no_interval_text(result.panel));
  if (!file.empty()) tell("Written: {}\n", file);
  if (!result.note.empty()) tell(stderr, "Note: {}\n", result.note);
}

// Notes a result that could not be stored. If it was printed, that is no error.
int report_kept(const EvalCommand& command, const Status& kept, const char* not_done) {
  if (kept.ok()) return 0;
  if (command.quiet && !command.json) return report_error(kept, false);
  std::fflush(stdout);
  tell(stderr, "Note: {}: {}\n", not_done, kept.message());
  return 0;
}

Result<PanelResult> play(const EvalCommand& command, const Panel& panel) {
  BROADLOOM_TRY(use_isa_of_policy(command.source));
  ShareLine line(command.quiet);
  catch_interrupts();
  return run_panel(
      command.source, panel, resolve_threads(command.threads),
      [&](std::int64_t played, std::int64_t episodes) { line.show_episodes(played, episodes); },
      was_interrupted);
}

Result<EvalResult> play(const EvalCommand& command) {
  BROADLOOM_TRY(use_isa_of_policy(command.source));
  ShareLine line(command.quiet);
  catch_interrupts();
  EvalOptions options = command.options;
  options.should_stop = was_interrupted;
  options.on_progress = [&](std::int64_t played, std::int64_t episodes) {
    line.show_episodes(played, episodes);
  };
  return evaluate_run(command.source, options);
}

// After Ctrl-C. kept: where the ended episodes are; "": nowhere.
int report_stop(const EvalCommand& command, std::int64_t ended, std::int64_t asked,
                const std::string& kept) {
  std::fflush(stdout);
  if (command.quiet) return kInterruptedExit;
  if (ended == 0) {
    tell(stderr, "Stopped before an episode had ended; nothing is kept\n");
  } else {
    tell(
        stderr,
        "Stopped: {} of {} episodes had ended. Longer ones are missing, so the mean may be off{}\n",
        with_commas(ended), with_commas(asked), kept.empty() ? "" : ". Kept in " + kept);
  }
  return kInterruptedExit;
}

// The same for a panel. Whole rows are scored as they are; a row that is not lacks longer episodes.
int report_stop(const EvalCommand& command, const PanelResult& result, const std::string& kept) {
  const PanelCount count = count_episodes(result);
  const std::size_t rows = result.episodes.size();
  if (rows == 1 || count.ended == 0) return report_stop(command, count.ended, count.asked, kept);
  std::fflush(stdout);
  if (command.quiet) return kInterruptedExit;
  const auto whole = std::count_if(
      result.episodes.begin(), result.episodes.end(), [](const std::vector<EvalEpisode>& row) {
        return std::none_of(row.begin(), row.end(), [](const EvalEpisode& e) { return e.stopped; });
      });
  tell(stderr,
       "Stopped: {} of {} episodes had ended, and {} of {} rows are whole. The others lack longer "
       "episodes or all, so their means may be off, and no score is over several rows{}\n",
       with_commas(count.ended), with_commas(count.asked), whole, rows,
       kept.empty() ? "" : ". Kept in " + kept);
  return kInterruptedExit;
}

// The part of a panel's result that --json prints.
Json written_json(const PanelResult& result, const std::string& file) {
  const bool is_whole = count_episodes(result).is_whole();
  auto object = Json::parse(is_whole ? panel_result_json(result) : partial_panel_json(result));
  object.erase("episodes");
  object["file"] = file.empty() ? Json() : Json(file);
  if (!result.note.empty()) object["note"] = result.note;
  return object;
}

int evaluate_on_panel(const EvalCommand& command) {
  const Result<Panel> panel = read_panel(command.panel);
  if (!panel.ok()) {
    return report_error(explain_kind(panel.status(), command.panel, FileKind::kPanel),
                        command.json);
  }
  const Result<PanelResult> result = play(command, panel.value());
  release_interrupts();
  if (!result.ok()) return report_error(result.status(), command.json);
  const PanelCount count = count_episodes(result.value());
  if (count.ended == 0) return report_stop(command, 0, count.asked, "");
  const Result<std::string> saved = save_panel_result(command.source, result.value());
  const std::string& file = saved.value();  // "" if it is not stored
  if (command.json) {
    print_json(written_json(result.value(), file));
  } else if (!command.quiet) {
    print_panel(command, result.value(), file);
  }
  const int code = report_kept(command, saved.status(), "the result is not stored");
  return count.is_whole() ? code : report_stop(command, result.value(), file);
}

int evaluate(EvalCommand command) {
  const Status named = use_best(command.best, command.source);
  if (!named.ok()) return report_error(named, command.json);
  if (!command.panel.empty()) return evaluate_on_panel(command);
  const Status read = read_actions(command.actions, command.options.actions);
  if (!read.ok()) return report_error(read, command.json);
  command.options.threads = resolve_threads(command.threads);
  const Result<EvalResult> result = play(command);
  release_interrupts();
  if (!result.ok()) return report_error(result.status(), command.json);
  if (command.json) {
    print_result_json(command, result.value());
  } else if (!command.quiet && result.value().episodes > 0) {
    print_result(command, result.value());
  }
  std::fflush(stdout);  // recording may wait for another process
  if (result.value().episodes == 0) return report_stop(command, 0, result.value().asked, "");
  const Status recorded = record_evaluation(command.source, result.value(), command.options);
  const int code = report_kept(command, recorded, "the result is not added to eval_command.jsonl");
  if (!is_partial(result.value())) return code;
  const bool has_folder = std::filesystem::is_directory(command.source);
  return report_stop(command, result.value().episodes, result.value().asked,
                     recorded.ok() && has_folder ? "eval_command.jsonl of the run" : "");
}

}  // namespace

void add_eval_command(Command root, Context& context) {
  const Command app = root.add_subcommand("eval", "Score a trained policy on fresh episodes");
  const auto command = std::make_shared<EvalCommand>();
  app.add_option("RUN", command->source, "Run folder (its newest checkpoint) or a checkpoint file")
      .required();
  app.add_flag(
      "--best", command->best,
      "Use best.safetensors of the run, the checkpoint of its best evaluation in training");
  const Option episodes =
      app.add_option("--episodes", command->options.episodes, "Episodes to play (default 100)")
          .range(1, 10000000)
          .type_name("INT");
  const Option seed =
      app.add_option("--seed", command->options.seed,
                     "Evaluation seed; its episodes are never those of training (default 1)")
          .type_name("INT");
  const Option actions =
      app.add_option("--actions", command->actions,
                     "most_likely, or sampled: drawn from the policy, as training explores "
                     "(default: the run's eval_actions)")
          .type_name("WORD");
  const Option max_steps =
      app.add_option("--max_steps", command->options.longest_episode,
                     "Cut longer episodes after this many steps (default 10000)")
          .range(1, kMostEvalSteps)
          .type_name("INT");
  const Option panel =
      app.add_option("--panel", command->panel,
                     "Held-out panel in TOML: score each of its rows, into panel-<hash>.json in "
                     "the run's folder")
          .type_name("TOML")
          .excludes(episodes)
          .excludes(seed)
          .excludes(actions)
          .excludes(max_steps);
  const Option markdown =
      app.add_flag("--markdown", command->markdown, "The panel's rows as a Markdown table")
          .needs(panel);
  const Option csv =
      app.add_flag("--csv", command->csv, "The panel's rows as CSV, one number per column")
          .needs(panel)
          .excludes(markdown);
  app.add_option("--threads", command->threads,
                 "Worker threads; the result does not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT");
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object")
      .excludes(markdown)
      .excludes(csv);
  app.callback([&context, command] { context.action = [command] { return evaluate(*command); }; });
}

}  // namespace broadloom::cli
