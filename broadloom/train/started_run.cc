#include "broadloom/train/started_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "broadloom/config/needs.h"
#include "broadloom/config/schedule.h"
#include "broadloom/core/escape.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/json.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

constexpr const char* kRemedy = "restore a copy of it, or train the run again";

std::int64_t bytes_of(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(bytes);
}

// The first line that is not a JSON object or has no end.
std::optional<std::string_view> first_wrong_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() == text.size() || !Json::parse(line).is_object()) return line;
    text.remove_prefix(line.size() + 1);
  }
  return std::nullopt;
}

// Bytes after those of the checkpoint are ignored, because a resume truncates them.
Status check_lines(const std::string& path, std::int64_t bytes) {
  if (bytes == 0) return {};
  const Result<std::string> text = read_file(path);
  if (!text.ok() && text.status().kind() != ErrorKind::kNotFound) return text.status();
  const std::int64_t there = text.ok() ? static_cast<std::int64_t>(text.value().size()) : 0;
  if (there < bytes) return cut_short_error(path, there, bytes);
  const std::string_view kept =
      std::string_view(text.value()).substr(0, static_cast<std::size_t>(bytes));
  const std::optional<std::string_view> wrong = first_wrong_line(kept);
  if (!wrong) return {};
  return {ErrorKind::kCorrupt, fmt::format("'{}' is damaged: it has the bad line '{}'; {}", path,
                                           wrong->substr(0, 60), kRemedy)};
}

}  // namespace

Result<StartedRun> open_started_run(const std::string& run_dir) {
  Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  Result<Manifest> manifest = read_manifest(folder.value().manifest_path());
  if (!manifest.ok()) return manifest.status();
  Result<Config> config = resolve_record(manifest.value().config);
  if (config.status().kind() == ErrorKind::kNotFound) {  // a checkpoint may describe it
    const Result<FoundCheckpoint> newest = find_checkpoint(run_dir);
    if (newest.ok() && read_checkpoint(newest.value()).ok())
      config = resolve_record(manifest.value().config);
  }
  if (!config.ok()) {
    return Status(config.status().kind(), fmt::format("'{}': {}", folder.value().manifest_path(),
                                                      config.status().message()));
  }
  return StartedRun{folder.take(), manifest.take(), config.take()};
}

std::string bits_of(const Config& config, const std::string& isa, const VecEnvTraits& simulator) {
  if (!simulator.deterministic) return "none";
  // A device's run also depends on the CPU's bits: statistics, scaled rewards, evaluations.
  const bool common = config.precision == "fp32" && has_common_bits(isa) && simulator.common_bits;
  return common ? "common" : "own";
}

Status make_longer(StartedRun& run, std::int64_t total_timesteps) {
  const std::int64_t before = run.config.total_timesteps;
  const std::string& dir = run.folder.dir();
  if (total_timesteps < before) {
    return invalid(
        fmt::format("total_timesteps: got {}, but the run '{}' has {} steps and can only be made "
                    "longer; expected at least that many",
                    total_timesteps, dir, before));
  }
  if (!run.config.shape_schedule.empty()) {
    return invalid(fmt::format(
        "total_timesteps: got {}, but the shapes of '{}' change at shares of its {} steps "
        "(shape_schedule), so a longer run would have changed them at other steps. Begin a new run "
        "with this policy: `broadloom train --init {} --total_timesteps N`, and the run's other "
        "settings",
        total_timesteps, dir, before, shell_word(dir)));
  }
  const Config config = run.config;
  const std::int64_t over = config.schedule_timesteps > 0 ? config.schedule_timesteps : before;
  const ScheduledValue* const spent = spent_value(config);
  if (spent != nullptr && total_timesteps > over) {
    return invalid(fmt::format(
        "total_timesteps: got {}, but the {} of '{}' is 0 after its {} steps ({} = linear), so "
        "later steps would learn nothing. Begin a new run with this run's policy and optimiser: "
        "`broadloom train --init {} --init_optimizer --total_timesteps N`, and the run's other "
        "settings. A run can be made longer with constant or adaptive schedules. With a "
        "learning_rate_end above 0 it can be, too, and the rate stays there",
        total_timesteps, spent->words, dir, over, spent->key, shell_word(dir)));
  }
  if (depends_on_total(config)) run.config.schedule_timesteps = before;
  const std::int64_t blocks = run.config.num_iterations(), block = run.config.batch_size();
  run.config.total_timesteps = total_timesteps;
  if (run.config.num_iterations() == blocks) {
    return invalid(
        fmt::format("total_timesteps: got {}, which does not add a block to the run '{}': it has "
                    "whole blocks of "
                    "{} steps, and its {} blocks are {} steps; expected at least {}",
                    total_timesteps, dir, block, blocks, blocks * block, (blocks + 1) * block));
  }
  BROADLOOM_TRY(check_config(run.config));
  run.manifest.config = to_overrides(run.config);
  run.manifest.extended_from.push_back(before);
  return {};
}

Result<bool> change_stop(StartedRun& run, const OptionalNumber& stop) {
  const OptionalNumber before = run.config.stop_at_return;
  if (stop == before) return false;
  if (!before.value || (stop.value && *stop.value < *before.value)) {
    return invalid(fmt::format(
        "stop_at_return: got {}, but the run '{}' has {}, and may have passed that return before; "
        "expected {}; stop it with Ctrl-C, or begin a new run with its policy (--init)",
        to_text(stop), run.folder.dir(), before.value ? to_text(before) : "none",
        before.value ? "a higher one, or none" : "to leave it out"));
  }
  run.config.stop_at_return = stop;
  run.manifest.config = to_overrides(run.config);
  return true;
}

Status with_new_run_advice(const Status& status, const RunFolder& folder) {
  if (status.kind() != ErrorKind::kCorrupt) return status;
  return {
      ErrorKind::kCorrupt,
      fmt::format("{}; to continue without it, begin a new run with its policy: `broadloom train "
                  "--init {}`, and its other settings",
                  status.message(), shell_word(folder.dir()))};
}

Status check_kept_logs(const RunFolder& folder, const LogBytes& logs) {
  BROADLOOM_TRY(with_new_run_advice(check_lines(folder.metrics_path(), logs.metrics), folder));
  return with_new_run_advice(check_lines(folder.eval_path(), logs.eval), folder);
}

Status check_kept_hashes(const RunFolder& folder, std::int64_t iterations) {
  if (iterations == 0) return {};  // the run may have been killed before it began the file
  if (bytes_of(folder.hashes_path()) == 0) {
    return with_new_run_advice(
        {ErrorKind::kCorrupt, fmt::format("'{}' is gone; {}", folder.hashes_path(), kRemedy)},
        folder);
  }
  Result<HashReader> hashes = HashReader::open(folder.hashes_path());
  if (!hashes.ok()) return with_new_run_advice(hashes.status(), folder);
  for (std::int64_t i = 0; i < iterations; ++i) {
    const Result<bool> is_there = hashes.value().next();
    if (!is_there.ok()) return with_new_run_advice(is_there.status(), folder);
    if (is_there.value()) continue;
    return with_new_run_advice(
        {ErrorKind::kCorrupt,
         fmt::format("'{}' has the hashes of {} iterations, but the run made {}; {}",
                     folder.hashes_path(), i, iterations, kRemedy)},
        folder);
  }
  return {};
}

std::int64_t lost_log_bytes(const RunFolder& folder, const LogBytes& logs) {
  return std::max<std::int64_t>(0, logs.metrics - bytes_of(folder.metrics_path())) +
         std::max<std::int64_t>(0, logs.eval - bytes_of(folder.eval_path()));
}

}  // namespace broadloom
