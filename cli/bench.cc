// `broadloom bench`: how fast training configurations run on this machine.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/math/isa.h"
#include "broadloom/math/peak.h"
#include "broadloom/record/files.h"
#include "cli/bench_case.h"
#include "cli/bench_report.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/progress.h"

namespace broadloom::cli {
namespace {

constexpr double kWarmUpSeconds = 0.2;
constexpr int kWarmUpIterations = 2;

struct BenchCommand {
  std::vector<std::string> files;
  std::string json;
  int repeats = 5;
  double seconds = 1.0;
  int threads = 0;
  Overrides flags;
};

// The bench measures one peak, so all cases must use one instruction set.
Status take_isa(const std::string& isa, std::string& common) {
  if (!common.empty() && isa != common) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("the cases have isa '{}' and '{}', expected one for all; give --isa, which "
                        "holds for every case",
                        common, isa)};
  }
  common = isa;
  return set_isa(isa);
}

Result<std::vector<BenchCase>> make_cases(const BenchCommand& command, const Context& context,
                                          int threads) {
  std::vector<BenchCase> cases;
  std::string isa;
  for (const std::string& file : command.files) {
    const Result<Config> config = read_config(file, command.flags, context.env_options);
    if (!config.ok()) return config.status();
    BROADLOOM_TRY(take_isa(config.value().isa, isa));
    Result<BenchCase> made = make_case(file, config.value(), threads);
    if (!made.ok()) return made.status();
    cases.push_back(made.take());
  }
  return cases;
}

std::vector<std::string> first_step_arguments(const BenchCase& bench_case,
                                              const BenchCommand& command, const Context& context,
                                              int threads) {
  std::vector<std::string> out = {bench_case.file, fmt::format("--threads={}", threads)};
  for (const auto& [key, text] : command.flags) out.push_back("--" + key + "=" + text);
  for (const auto& [key, text] : context.env_options) out.push_back("--" + key + "=" + text);
  return out;
}

Status warm_up(const BenchReport& report) {
  for (const BenchCase& bench_case : report.cases) {
    const Result<Measurement> ignored = measure(bench_case, kWarmUpSeconds, kWarmUpIterations);
    if (!ignored.ok()) return ignored.status();
  }
  return {};
}

// Measures every case once.
Status measure_round(const BenchCommand& command, const Context& context, BenchReport& report) {
  report.peak_flops = std::max(report.peak_flops, measure_peak_flops(report.threads));
  for (BenchCase& bench_case : report.cases) {
    const Result<FirstStep> first = run_first_step(
        context.program, first_step_arguments(bench_case, command, context, report.threads));
    if (!first.ok()) return first.status();
    bench_case.first_steps.push_back(first.value());
    const Result<Measurement> repeat = measure(bench_case, report.seconds, 1);
    if (!repeat.ok()) return repeat.status();
    bench_case.repeats.push_back(repeat.value());
  }
  return {};
}

void keep_rounds(int rounds, BenchReport& report) {
  const auto count = static_cast<std::size_t>(rounds);
  report.repeats = rounds;
  for (BenchCase& bench_case : report.cases) {
    if (bench_case.first_steps.size() > count) bench_case.first_steps.resize(count);
    if (bench_case.repeats.size() > count) bench_case.repeats.resize(count);
  }
}

// Measures in rounds, so that other load on the machine affects all cases. Ctrl-C ends it, and the
// whole rounds before it are kept.
Status run_rounds(const BenchCommand& command, const Context& context, BenchReport& report) {
  ShareLine line(false);
  const auto count = static_cast<std::int64_t>(report.cases.size());
  line.show_first(fmt::format("{} case{}, {} round{}", with_commas(count), count == 1 ? "" : "s",
                              report.repeats, report.repeats == 1 ? "" : "s"),
                  static_cast<double>(count) * report.repeats * report.seconds);
  for (int round = 0; round < report.repeats; ++round) {
    line.show_rest(fmt::format("{} of {} rounds measured", round, report.repeats),
                   static_cast<double>(round) / report.repeats);
    const bool was_stopped = was_interrupted();
    const Status status = was_stopped ? Status() : measure_round(command, context, report);
    if (was_interrupted() && (was_stopped || !status.ok())) {
      keep_rounds(round, report);
      return {};
    }
    BROADLOOM_TRY(status);
    if (round == 0) catch_interrupts();  // before, there is nothing to keep
  }
  return {};
}

int bench(const BenchCommand& command, const Context& context) {
  BenchReport report;
  report.threads = resolve_threads(command.threads);
  report.seconds = command.seconds;
  report.repeats = command.repeats;
  Result<std::vector<BenchCase>> cases = make_cases(command, context, report.threads);
  if (!cases.ok()) return report_error(cases.status(), false);
  report.cases = cases.take();
  Status status = command.json.empty() ? Status() : check_room(command.json);
  if (status.ok()) status = warm_up(report);
  if (status.ok()) status = run_rounds(command, context, report);
  const bool is_stopped = was_interrupted();
  release_interrupts();
  if (!status.ok()) return report_error(status, false);
  print_bench(report);
  if (!command.json.empty()) status = write_file_atomically(command.json, bench_json(report));
  if (!status.ok()) return report_error(status, false);
  if (!is_stopped) return 0;
  std::fflush(stdout);
  tell(stderr, "Stopped after {} of {} rounds\n", report.repeats, command.repeats);
  return kInterruptedExit;
}

}  // namespace

void add_bench_command(Command root, Context& context) {
  const Command app = root.add_subcommand("bench", "Time training configurations side by side");
  const auto command = std::make_shared<BenchCommand>();
  app.add_option(
         "CASE", command->files,
         "Configs in TOML, such as those in bench/cases; a config key given as a flag holds "
         "for all of them")
      .required();
  app.add_option("--repeats", command->repeats, "Measurements of each case (default 5)")
      .range(1, 100000)
      .type_name("INT")
      .group("Command");
  app.add_option("--seconds", command->seconds, "Length of one measurement (default 1)")
      .range(0.001, 3600.0)
      .type_name("NUMBER")
      .group("Command");
  app.add_option("--threads", command->threads, "Worker threads (default: all)")
      .range(0, 1024)
      .type_name("INT")
      .group("Command");
  app.add_option("--json", command->json, "Also write the results to this file, as JSON")
      .type_name("FILE")
      .group("Command");
  add_config_flags(app, context, command->flags);
  app.callback([&context, command] {
    context.action = [&context, command] { return bench(*command, context); };
  });
}

}  // namespace broadloom::cli
