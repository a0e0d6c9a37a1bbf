#include "cli/train_report.h"

#include <fmt/core.h>

#include <cmath>

#include "broadloom/core/escape.h"
#include "broadloom/core/read_file.h"
#include "broadloom/record/json.h"
#include "broadloom/record/run_folder.h"
#include "cli/audit.h"
#include "cli/console.h"
#include "cli/panel_table.h"

namespace broadloom::cli {
namespace {

std::string seconds_text(double seconds) {
  return seconds < 60.0 ? fmt::format("{:.1f} s", seconds) : clock_text(seconds);
}

// "" if the environment defines no success.
std::string success_text(double rate) {
  return std::isnan(rate) ? "" : fmt::format("; {:.0f} % of them succeeded", 100.0 * rate);
}

std::string traffic_text(const RankTraffic& traffic) {
  return fmt::format("Ranks: received {:.1f} MB in {} exchanges, {:.1f} s including waiting",
                     static_cast<double>(traffic.received_bytes) * 1e-6,
                     with_commas(traffic.exchanges), traffic.seconds);
}

void print_zoo(const ZooOutcome& outcome) {
  if (outcome.is_same()) {
    tell("This is the zoo's policy, to the bit: parameters {}\n", outcome.found);
    return;
  }
  tell("Not the zoo's policy: parameters {}, the zoo's are {}{}\n", outcome.found,
       outcome.entry.parameters_hash,
       !outcome.entry.same_bits_anywhere ? ". This task's bits depend on processor and C library"
       : outcome.has_own_bits
           ? ". Instruction sets without fused multiply-add have bits of their own; --isa exact "
             "has the zoo's, slowly"
           : ". This version of Broadloom computes other bits");
}

Json zoo_json(const ZooOutcome& outcome) {
  return {{"task", outcome.entry.task},
          {"parameters_hash", outcome.found},
          {"zoo_hash", outcome.entry.parameters_hash},
          {"same", outcome.is_same()},
          {"same_bits_anywhere", outcome.entry.same_bits_anywhere}};
}

// Prints nothing if no evaluation was made and no return ended the run.
void print_best(const RunSummary& summary) {
  if (!summary.stopped_by.empty()) {
    tell("Stopped by {}: the mean return reached {:.2f}.\n", summary.stopped_by,
         summary.stopped_return);
  }
  if (summary.best_step == 0) return;
  tell(
      "Best evaluation: {:.2f} at step {} (best.safetensors; score it again with eval --best and "
      "a new --seed)\n",
      summary.best_return, with_commas(summary.best_step));
}

}  // namespace

Result<ZooOutcome> zoo_outcome(const std::string& task, const std::string& run_dir) {
  const Result<ZooEntry> entry = zoo_entry(task);
  if (!entry.ok()) return entry.status();
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  const Result<std::string> line = read_file(folder.value().ledger_line_path());
  if (!line.ok()) return line.status();
  const Json record = Json::parse(line.value());
  return ZooOutcome{entry.value(), record["result"]["parameters_hash"].text(),
                    record["machine"]["bits"].text() == "own"};
}

void print_report(const TrainReport& report, const std::string& allow) {
  const RunSummary& summary = report.summary;
  const std::string steps = fmt::format("{} of {} steps", with_commas(summary.global_step),
                                        with_commas(summary.total_timesteps));
  if (report.steps_per_second <= 0.0) {
    tell("Nothing left to train: {} were trained before. Checkpoint and logs are complete.\n",
         steps);
  } else {
    tell("{} {} in {} ({} steps/s).\n", summary.finished ? "Trained" : "Stopped at", steps,
         seconds_text(summary.seconds),
         with_commas(static_cast<std::int64_t>(report.steps_per_second)));
    if (report.ranks.size() > 1) tell("{}\n", traffic_text(report.ranks.traffic()));
    if (std::isnan(summary.mean_return)) {
      tell("Mean return: none, since no episode has ended yet.\n");
    } else {
      const std::int64_t episodes = summary.averaged_episodes;
      tell("Mean return of the last {}: {:.2f}{}\n",
           episodes == 1 ? "episode" : fmt::format("{} episodes", with_commas(episodes)),
           summary.mean_return, success_text(summary.success_rate));
    }
  }
  print_best(summary);
  print_live_audit(summary.run_dir, allow);
  if (report.panel) tell("Panel, all rows: {}\n", overall_text(*report.panel));
  if (report.zoo) print_zoo(*report.zoo);
  tell("Run folder: {}\n", summary.run_dir);
  if (!report.record.empty()) tell("Recorded as: {}\n", report.record);
  if (summary.finished) {
    tell("Next: {} eval {}{}{}\n", program_name(), shell_word(summary.run_dir),
         report.panel ? " --panel " + shell_word(summary.run_dir + "/" + RunFolder::kPanel) : "",
         allow);
  }
}

void print_report_json(const TrainReport& report, const Status& recorded) {
  const RankTraffic& traffic = report.ranks.traffic();
  Json json = Json::object();
  report.summary.visit([&](const char* name, const auto& value) { json[name] = value; });
  json["steps_per_second"] = report.steps_per_second;
  json["ranks"] = {{"count", report.ranks.size()},
                   {"received_bytes", traffic.received_bytes},
                   {"exchanges", traffic.exchanges},
                   {"seconds", traffic.seconds}};
  json["record"] = report.record;
  json["panel"] = report.panel ? Json::parse(panel_record_json(*report.panel)) : Json();
  if (report.zoo) json["zoo"] = zoo_json(*report.zoo);
  if (!recorded.ok()) {
    json["error"] = recorded.message();
    json["exit_code"] = static_cast<int>(recorded.kind());
  }
  print_json(json);
}

}  // namespace broadloom::cli
