// `broadloom audit`: did the policy fail, or was the batch wrong?
#include "cli/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/core/escape.h"
#include "broadloom/record/json.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/policy_isa.h"
#include "cli/progress.h"
#include "research/audit/run_audit.h"

namespace broadloom::cli {
namespace {

// Not error codes, so that a script can tell findings from a failure of the audit.
constexpr int kWarningsExit = 20;
constexpr int kErrorsExit = 21;
constexpr std::size_t kCheckWidth = 9;

struct AuditCommand {
  std::string source;
  AuditOptions options;
  int threads = 0;
  bool json = false, quiet = false, verbose = false;
};

int exit_code(Severity severity) {
  if (severity == Severity::kError) return kErrorsExit;
  return severity == Severity::kWarning ? kWarningsExit : 0;
}

std::string text_of(const AuditFinding& finding) {
  return finding.severity == Severity::kOk ? finding.sentence
                                           : finding.sentence + " " + finding.advice;
}

void print_finding(const AuditFinding& finding) {
  const std::size_t columns = std::clamp<std::size_t>(screen_size(stdout).columns, 60, 100);
  const std::string lines = wrapped(text_of(finding), columns - kCheckWidth, "");
  tell("{:<{}}{}\n", severity_name(finding.severity), kCheckWidth, finding.check);
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) tell("{:{}}{}\n", "", kCheckWidth, line);
}

void print_names(const char* title, const std::vector<const char*>& names) {
  if (names.empty()) return;
  tell("{}\n", wrapped(fmt::format("{}: {}", title, fmt::join(names, ", ")), 100,
                       std::string(kCheckWidth, ' ')));
}

std::string counted(int count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void print_findings(const AuditReport& report, bool verbose) {
  tell("{}, {} x {} blocks, at step {}: {} measured now, {} during training\n", report.env_id,
       report.num_envs, report.num_steps, with_commas(report.global_step),
       counted(report.iterations, "iteration"), report.logged);
  for (const std::string& note : report.notes) tell("Note: {}\n", note);
  int counts[4] = {};
  std::vector<const char*> ok, nothing;
  for (const Severity severity :
       {Severity::kError, Severity::kWarning, Severity::kNote, Severity::kOk}) {
    for (const AuditFinding& finding : report.findings) {
      if (finding.severity != severity) continue;
      if (!finding.measured) {
        nothing.push_back(finding.check);
        continue;
      }
      counts[static_cast<int>(severity)] += 1;
      if (severity != Severity::kOk || verbose) {
        print_finding(finding);
      } else {
        ok.push_back(finding.check);
      }
    }
  }
  print_names("ok", ok);
  print_names("nothing to measure", nothing);
  tell("{}, {}, {}; {} ok, {} had nothing to measure.\n", counted(counts[3], "error"),
       counted(counts[2], "warning"), counted(counts[1], "note"), counted(counts[0], "check"),
       nothing.size());
}

void print_findings_json(const AuditCommand& command, const AuditReport& report) {
  Json checks = Json::array();
  for (const AuditFinding& finding : report.findings) {
    checks.push_back({{"name", finding.check},
                      {"severity", finding.measured ? severity_name(finding.severity) : "none"},
                      {"value", finding.value},
                      {"limit", finding.limit},
                      {"sentence", finding.sentence},
                      {"advice", finding.advice}});
  }
  const Severity severity = worst(report.findings);
  print_json({{"run", command.source},
              {"env_id", report.env_id},
              {"num_envs", report.num_envs},
              {"num_steps", report.num_steps},
              {"global_step", report.global_step},
              {"iterations", report.iterations},
              {"logged", report.logged},
              {"notes", report.notes},
              {"severity", severity_name(severity)},
              {"exit_code", exit_code(severity)},
              {"checks", checks}});
}

Result<AuditReport> run_audit(AuditCommand& command) {
  ShareLine line(command.quiet);
  catch_interrupts();
  command.options.keep_going = [&](int measured, int count) {
    line.show_rest(
        fmt::format("{} of {} iterations measured", with_commas(measured), with_commas(count)),
        static_cast<double>(measured) / count);
    return !was_interrupted();
  };
  Result<AuditReport> report = audit_run(command.source, command.options);
  if (was_interrupted() && report.ok()) {
    report.value().notes.push_back(
        fmt::format("stopped after {} of {} iterations, so checks rest on fewer of them",
                    report.value().iterations, report.value().asked));
  }
  return report;
}

int audit(AuditCommand& command) {
  command.options.threads = resolve_threads(command.threads);
  const Status has_isa = use_isa_of_policy(command.source);
  if (!has_isa.ok()) return report_error(has_isa, command.json);
  const Result<AuditReport> report = run_audit(command);
  const bool is_stopped = was_interrupted();
  release_interrupts();
  if (!report.ok()) return report_error(report.status(), command.json);
  if (command.json) {
    print_findings_json(command, report.value());
  } else if (!command.quiet) {
    print_findings(report.value(), command.verbose);
  }
  return is_stopped ? kInterruptedExit : exit_code(worst(report.value().findings));
}

}  // namespace

void print_live_audit(const std::string& run_dir, const std::string& allow) {
  const Result<AuditReport> report = audit_logs(run_dir);
  if (!report.ok() || report.value().logged == 0) return;
  int shown = 0;
  for (const AuditFinding& finding : report.value().findings) {
    if (finding.severity < Severity::kWarning) continue;
    print_finding(finding);
    ++shown;
  }
  if (shown == 0)
    tell("Audit: no warnings in {}.\n", counted(report.value().logged, "measured iteration"));
  tell("More: {} audit {}{}\n", program_name(), shell_word(run_dir), allow);
}

void add_audit_command(Command root, Context& context) {
  const Command app =
      root.add_subcommand("audit", "Check a run: did the policy fail, or was the batch wrong?");
  const auto command = std::make_shared<AuditCommand>();
  app.add_option("RUN", command->source, "Run folder (its newest checkpoint) or a checkpoint file")
      .required();
  app.add_option("--iterations", command->options.iterations,
                 "K, iterations to continue in memory and measure (default: enough for 1.25 times "
                 "the time limit, at least 5; more than 5 have at most 500000 samples)")
      .range(1, kMostAuditIterations)
      .type_name("INT");
  app.add_option("--threads", command->threads,
                 "Worker threads; findings do not depend on them (default: all)")
      .range(0, 1024)
      .type_name("INT");
  add_machine_flags(app, command->options.machine);
  app.add_flag("--verbose", command->verbose, "Also print the measurements of checks that are ok");
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors; use the exit code");
  app.add_flag("--json", command->json, "Standard output is one JSON object with every check");
  app.footer(
      fmt::format("Exit code: 0 with notes at most, {} with warnings, {} with errors; another "
                  "code\nif the audit itself failed.\n",
                  kWarningsExit, kErrorsExit));
  app.callback([&context, command] { context.action = [command] { return audit(*command); }; });
}

}  // namespace broadloom::cli
