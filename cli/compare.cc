// `broadloom compare`: runs side by side on one held-out panel.
#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/evaluate/panel_compare.h"
#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/evaluate/run_path.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/file_kind.h"
#include "cli/panel_table.h"
#include "cli/progress.h"

namespace broadloom::cli {
namespace {

struct CompareCommand {
  std::vector<std::string> runs;
  std::string panel;
  int threads = 0;
  bool quiet = false;
  bool json = false;
  bool markdown = false;
  bool csv = false;
};

bool is_result_file(const std::string& name) {
  std::error_code error;
  return std::filesystem::is_regular_file(name, error);
}

Result<PanelResult> result_of(const std::string& run, const std::optional<Panel>& panel,
                              const CompareCommand& command) {
  if (is_result_file(run)) return read_panel_result(run);
  if (panel) {
    ShareLine line(command.quiet);
    return run_panel(
        run, *panel, resolve_threads(command.threads),
        [&](std::int64_t played, std::int64_t episodes) { line.show_episodes(played, episodes); },
        was_interrupted);
  }
  const Result<FoundCheckpoint> found = find_policy(run);
  if (!found.ok()) return found.status();
  return Status(ErrorKind::kInvalidConfig,
                fmt::format("'{}' is a run, and no panel is given to play it on; add --panel FILE, "
                            "or name results (panel-<hash>.json) instead of runs",
                            run));
}

// A stored result must be of the panel that --panel names.
Status check_panel(const PanelResult& result, const std::optional<Panel>& panel,
                   const CompareCommand& command, const std::string& run) {
  if (!panel || panel_hash(result.panel) == panel_hash(*panel)) return {};
  return {ErrorKind::kMismatch,
          fmt::format("'{}' is a result on panel {}, but '{}' is panel {}; name the run's folder "
                      "instead, to play it on this panel",
                      run, panel_hash(result.panel).substr(0, 8), command.panel,
                      panel_hash(*panel).substr(0, 8))};
}

Status same_policy_error(const std::string& a, const std::string& b) {
  return invalid(fmt::format(
      "'{}' and '{}' are the same policy (equal checkpoint bytes), so every difference would be 0; "
      "leave one out",
      a, b));
}

// Checks before any episode is played.
Status check_different_names(const std::vector<std::string>& runs) {
  std::error_code error;
  for (std::size_t b = 1; b < runs.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const bool same = runs[a] == runs[b] || std::filesystem::equivalent(runs[a], runs[b], error);
      if (same) return same_policy_error(runs[a], runs[b]);
    }
  }
  return {};
}

// Finds a run beside its own result, or beside a copy.
Status check_different_policies(const std::vector<PanelResult>& results,
                                const std::vector<std::string>& names) {
  for (std::size_t b = 1; b < results.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (results[a].checkpoint_hash == results[b].checkpoint_hash) {
        return same_policy_error(names[a], names[b]);
      }
    }
  }
  return {};
}

Result<std::vector<PanelResult>> all_results(const CompareCommand& command) {
  BROADLOOM_TRY(check_different_names(command.runs));
  std::optional<Panel> panel;
  if (!command.panel.empty()) {
    Result<Panel> read = read_panel(command.panel);
    if (!read.ok()) return explain_kind(read.status(), command.panel, FileKind::kPanel);
    panel = read.take();
  }
  std::vector<PanelResult> results;
  for (const std::string& run : command.runs) {
    Result<PanelResult> result = result_of(run, panel, command);
    if (!result.ok()) {
      const Status& status = result.status();
      const bool named = status.message().find("'" + run) != std::string::npos;
      return Status(status.kind(), named ? status.message() : run + ": " + status.message());
    }
    BROADLOOM_TRY(check_panel(result.value(), panel, command, run));
    results.push_back(result.take());
    if (!count_episodes(results.back()).is_whole()) return results;  // after Ctrl-C
  }
  BROADLOOM_TRY(check_different_policies(results, command.runs));
  return results;
}

void print_comparison(const CompareCommand& command, const PanelComparison& comparison,
                      const std::vector<PanelResult>& results) {
  const TableForm form = command.csv        ? TableForm::kCsv
                         : command.markdown ? TableForm::kMarkdown
                                            : TableForm::kAligned;
  const std::string table = table_text(comparison_table(comparison, command.runs, form), form);
  if (form != TableForm::kAligned) {
    tell("{}", table);
    return;
  }
  const Panel& panel = results.front().panel;
  tell("{}\n{}", panel_line(panel, command.panel.empty() ? "of the results" : command.panel),
       table);
  tell(
      "Differences are to {}, over paired episodes. In brackets: 95 % intervals{}. A * marks "
      "intervals without 0.\nRank: by success rate, then by mean return.\n",
      command.runs.front(), no_interval_text(panel));
}

// After Ctrl-C. Keeps with each run what was played on it; the last result is a part.
int report_stop(const CompareCommand& command, const std::vector<PanelResult>& results) {
  std::string kept, whole;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_result_file(command.runs[i]) || count_episodes(results[i]).ended == 0) continue;
    const Result<std::string> saved = save_panel_result(command.runs[i], results[i]);
    if (!saved.ok()) tell(stderr, "Note: the result is not stored: {}\n", saved.status().message());
    if (saved.ok() && !saved.value().empty()) kept += (kept.empty() ? "" : ", ") + saved.value();
    if (i + 1 < results.size()) whole = ". You can name whole results in place of their runs";
  }
  if (command.quiet) return kInterruptedExit;
  tell(stderr, "Stopped: {} of {} runs were played{}\n", results.size() - 1, command.runs.size(),
       kept.empty() ? "; nothing is kept" : ". Kept: " + kept + whole);
  return kInterruptedExit;
}

int compare_command(CompareCommand command) {
  std::erase_if(command.runs, is_beside_runs);
  if (command.runs.size() < 2) {
    return report_error(invalid("got fewer than two runs or results, expected at least two"),
                        command.json);
  }
  catch_interrupts();
  const Result<std::vector<PanelResult>> results = all_results(command);
  release_interrupts();
  if (!results.ok()) return report_error(results.status(), command.json);
  if (!count_episodes(results.value().back()).is_whole())
    return report_stop(command, results.value());
  const Result<PanelComparison> comparison = compare_panel_results(results.value());
  if (!comparison.ok()) return report_error(comparison.status(), command.json);
  if (command.json) {
    print_json(comparison_json(comparison.value(), command.runs, results.value()));
  } else if (!command.quiet) {
    print_comparison(command, comparison.value(), results.value());
  }
  return 0;
}

}  // namespace

void add_compare_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "compare",
      "Score runs on the same held-out panel, episode by episode (exit code 6: cannot "
      "be compared)");
  const auto command = std::make_shared<CompareCommand>();
  app.add_option("RUN", command->runs,
                 "Run folders, or results that `broadloom eval --panel` stored; differences are to "
                 "the first")
      .required()
      .at_least(2);
  app.add_option("--panel", command->panel, "Held-out panel to play the run folders on")
      .type_name("TOML");
  app.add_option("--threads", command->threads,
                 "Worker threads; the result does not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT");
  const Option markdown = app.add_flag("--markdown", command->markdown, "A Markdown table");
  const Option csv =
      app.add_flag("--csv", command->csv, "CSV: one number per column, one line per row and run")
          .excludes(markdown);
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object")
      .excludes(markdown)
      .excludes(csv);
  app.callback(
      [&context, command] { context.action = [command] { return compare_command(*command); }; });
}

}  // namespace broadloom::cli
