#include "broadloom/train/longer_run.h"

#include <fmt/core.h>

#include <optional>

#include "broadloom/config/config.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {

Status make_longer(StartedRun& run, std::int64_t total_timesteps) {
  const std::int64_t before = run.config.total_timesteps;
  const std::string& dir = run.folder.dir();
  if (total_timesteps < before) {
    return invalid(
        fmt::format("total_timesteps: got {}, but the run '{}' is one of {} steps, and can "
                    "only be made longer; expected at least that",
                    total_timesteps, dir, before));
  }
  if (!run.config.shape_schedule.empty()) {
    return invalid(fmt::format(
        "total_timesteps: got {}, but the shapes of '{}' change at shares of its {} steps "
        "(shape_schedule): a longer run would have changed them elsewhere. Begin a new run with "
        "this one's policy: `broadloom train --init {} --total_timesteps N`, and the run's other "
        "settings",
        total_timesteps, dir, before, dir));
  }
  if (const std::optional<FallingValue> falls = falling_value(run.config)) {
    return invalid(fmt::format(
        "total_timesteps: got {}, but the {} of '{}' falls over its {} steps ({}): a longer run "
        "would have had another one in every block. Begin a new run with this one's policy: "
        "`broadloom train --init {} --total_timesteps N`, and the run's other settings; runs in "
        "which nothing falls, or with lr_schedule = adaptive, can be made longer",
        total_timesteps, falls->words, dir, before, falls->setting, dir));
  }
  const std::int64_t blocks = run.config.num_iterations(), block = run.config.batch_size();
  run.config.total_timesteps = total_timesteps;
  if (run.config.num_iterations() == blocks) {
    return invalid(fmt::format(
        "total_timesteps: got {}, which makes the run '{}' no longer: a run is of whole blocks of "
        "{} steps, and its {} are {}; expected at least {}",
        total_timesteps, dir, block, blocks, blocks * block, (blocks + 1) * block));
  }
  BROADLOOM_TRY(check_config(run.config));
  run.manifest.config = to_overrides(run.config);
  run.manifest.extended_from.push_back(before);
  return {};
}

}  // namespace broadloom
