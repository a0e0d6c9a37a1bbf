#include "cli/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "broadloom/math/isa.h"
#include "broadloom/record/json.h"
#include "broadloom/record/manifest.h"
#include "broadloom/train/device.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

Manifest machine_of(const BenchReport& report) {
  return make_manifest({}, 0, report.threads, active_isa());
}

std::string rounded(double value) { return with_commas(std::llround(value)); }

std::string speed_text(const Spread& speed) {
  return fmt::format("{} ({} .. {})", padded(rounded(speed.median), -10), rounded(speed.min),
                     rounded(speed.max));
}

int name_width(const BenchReport& report) {
  std::size_t width = 4;
  for (const BenchCase& bench_case : report.cases) width = std::max(width, bench_case.name.size());
  return static_cast<int>(width);
}

void print_head(const BenchReport& report) {
  const Manifest machine = machine_of(report);
  tell("broadloom {}, {}; {}, {} cores\n", version_text(), machine.build_type, machine.cpu,
       machine.cores);
  tell("Peak of {} thread{} with {}: {:.1f} GFLOP/s\n", report.threads,
       report.threads == 1 ? "" : "s", machine.isa, report.peak_flops * 1e-9);
  for (const BenchCase& c : report.cases) {
    const Device* const device = c.trainer->device();
    if (device == nullptr) continue;
    tell("{} on {}, using {:.0f} MB of its memory\n", c.name, device->name(),
         static_cast<double>(device->memory_bytes()) * 1e-6);
  }
  tell("{} repeat{} of {:g} s for each case, cases in turn; no run is recorded\n\n", report.repeats,
       report.repeats == 1 ? "" : "s", report.seconds);
}

// Share of the CPU's peak; none for a case on another device.
std::optional<double> share_of_peak(const BenchCase& bench_case, double peak_flops) {
  if (bench_case.trainer->device() != nullptr) return std::nullopt;
  return bench_case.flops_per_second() / peak_flops;
}

void print_speeds(const BenchReport& report) {
  constexpr const char* kRow = "{:<{}}  {:>7}  {:<36}  {:>10}  {:>7}  {:>7}  {:>13}  {:>9}\n";
  const int width = name_width(report);
  tell(kRow, "case", width, "threads", "steps/s median (min .. max)", "kFLOP/step", "GFLOP/s",
       "of peak", "first step ms", "memory MB");
  for (const BenchCase& c : report.cases) {
    const std::optional<double> share = share_of_peak(c, report.peak_flops);
    tell(kRow, c.name, width, report.threads, speed_text(c.steps_per_second()),
         fixed_text(c.flops_per_step() * 1e-3, 1), fixed_text(c.flops_per_second() * 1e-9, 1),
         share ? fmt::format("{:.1f} %", 100.0 * *share) : "-",
         fixed_text(c.first_step_seconds().median * 1e3, 1),
         fixed_text(c.peak_memory_bytes() * 1e-6, 1));
  }
}

void print_stages(const BenchReport& report) {
  const int width = std::max(name_width(report), 13);
  tell("\n{:<{}}", "share of time", width);
  for (const StageField& stage : kStages) tell("  {:>11}", stage.name);
  tell("\n");
  for (const BenchCase& bench_case : report.cases) {
    const StageSeconds shares = bench_case.stage_shares();
    tell("{:<{}}", bench_case.name, width);
    for (const StageField& stage : kStages) {
      tell("  {:>9.1f} %", 100.0 * shares.*stage.seconds);
    }
    tell("\n");
  }
}

Json spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Json stages_json(const StageSeconds& stages) {
  Json out = Json::object();
  for (const StageField& stage : kStages) out[stage.name] = stages.*stage.seconds;
  return out;
}

Json repeat_json(const Measurement& repeat) {
  return {{"iterations", repeat.iterations},
          {"steps", repeat.steps},
          {"epochs", repeat.epochs},
          {"seconds", repeat.seconds},
          {"steps_per_second", repeat.steps_per_second()},
          {"stage_seconds", stages_json(repeat.stages)}};
}

Json case_json(const BenchCase& bench_case, double peak_flops) {
  Json out = {{"name", bench_case.name},
              {"file", bench_case.file},
              {"steps_per_second", spread_json(bench_case.steps_per_second())},
              {"flops_per_step", bench_case.flops_per_step()},
              {"flops_per_second", bench_case.flops_per_second()},
              {"first_step_seconds", spread_json(bench_case.first_step_seconds())},
              {"peak_memory_bytes", bench_case.peak_memory_bytes()},
              {"parameters", bench_case.trainer->network().parameter_count()},
              {"shared_bytes_per_env", bench_case.shared_bytes_per_env},
              {"stage_shares", stages_json(bench_case.stage_shares())}};
  const std::optional<double> share = share_of_peak(bench_case, peak_flops);
  out["share_of_peak"] = share ? Json(*share) : Json(nullptr);
  if (const Device* const device = bench_case.trainer->device()) {
    out["device"] = {{"name", device->name()}, {"memory_bytes", device->memory_bytes()}};
  }
  for (const Measurement& repeat : bench_case.repeats)
    out["repeats"].push_back(repeat_json(repeat));
  for (const FirstStep& step : bench_case.first_steps) {
    out["first_steps"].push_back(
        {{"seconds", step.seconds}, {"peak_memory_bytes", step.peak_memory_bytes}});
  }
  for (const auto& [key, text] : to_overrides(bench_case.trainer->config())) {
    out["config"][key] = text;
  }
  return out;
}

}  // namespace

void print_bench(const BenchReport& report) {
  print_head(report);
  print_speeds(report);
  print_stages(report);
}

std::string bench_json(const BenchReport& report) {
  const Manifest machine = machine_of(report);
  Json out = {
      {"format", 1},
      {"created", machine.created},
      {"version", machine.version},
      {"revision", machine.revision},
      {"compiler", machine.compiler},
      {"build_type", machine.build_type},
      {"isa", machine.isa},
      {"threads", report.threads},
      {"hardware",
       {{"cpu", machine.cpu}, {"cores", machine.cores}, {"memory_bytes", machine.memory_bytes}}},
      {"seconds", report.seconds},
      {"repeats", report.repeats},
      {"recorder", false},
      {"peak_flops_per_second", report.peak_flops}};
  for (const BenchCase& bench_case : report.cases) {
    out["cases"].push_back(case_json(bench_case, report.peak_flops));
  }
  return out.dump(2) + "\n";
}

}  // namespace broadloom::cli
