#include "broadloom/train/resume_notes.h"

#include <fmt/core.h>

#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"

namespace broadloom {

std::string device_of(const Trainer& trainer) {
  return trainer.device() == nullptr ? "" : trainer.device()->name();
}

bool note_device(StartedRun& run, const Trainer& trainer) {
  const std::string now = device_of(trainer);
  std::vector<Manifest::Change>& changes = run.manifest.device_changes;
  const std::int64_t step = trainer.report().global_step;
  if (now == run.manifest.last_device()) return false;
  if (!changes.empty() && changes.back().step == step) changes.pop_back();  // it did not train
  if (now != run.manifest.last_device()) changes.push_back({step, now});
  return true;
}

bool note_bits(StartedRun& run, const RunHooks& hooks) {
  Manifest& manifest = run.manifest;
  if (manifest.bits != "common") return false;
  if (bits_of(run.config, active_isa(), manifest.simulator) == "common") return false;
  if (hooks.on_note) {
    hooks.on_note(
        fmt::format("this processor has no fused multiply-add: the run continues with the bits of "
                    "{} instead of "
                    "the common bits ({}); its manifest notes this",
                    active_isa(), manifest.isa));
  }
  manifest.bits = "own";
  manifest.isa = active_isa();
  return true;
}

Status record_new_episodes(StartedRun& run, const Trainer& trainer, const RunHooks& hooks) {
  if (trainer.simulator().saves_state || trainer.report().iteration == 0) return {};
  const std::int64_t step = trainer.report().global_step;
  if (hooks.on_note) {
    hooks.on_note(
        fmt::format("the simulator of {} does not save its state: the run continues from step "
                    "{} with new episodes, and its record notes this",
                    run.config.env_id, step));
  }
  run.manifest.new_episodes_at.push_back(step);
  return write_file_atomically(run.folder.manifest_path(), manifest_json(run.manifest));
}

Status record_plugin(StartedRun& run, const Trainer& trainer, const RunHooks& hooks) {
  const EnvPlugin &before = run.manifest.plugin, &now = trainer.spec().plugin;
  if (before == now) return {};
  if (hooks.on_note) {
    hooks.on_note(fmt::format(
        "the plug-in of {} is not the one that the run began with: it was {} {} with the hash {}, "
        "and is {} {} with {}. The run continues with the new one, perhaps with other results; its "
        "manifest notes this",
        run.config.env_id, before.name, before.version, before.hash, now.name, now.version,
        now.hash));
  }
  run.manifest.plugin = now;
  return write_file_atomically(run.folder.manifest_path(), manifest_json(run.manifest));
}

bool note_engine(StartedRun& run, const Trainer& trainer, const RunHooks& hooks) {
  const std::string before = run.manifest.last_engine(), now = trainer.spec().engine;
  if (before.empty() || same_engine(before, now)) return false;  // empty: not recorded
  if (hooks.on_note) {
    hooks.on_note(fmt::format(
        "{} is stepped by '{}', but was stepped by '{}' before: the run continues, perhaps with "
        "other results; its record notes this",
        run.config.env_id, now, before));
  }
  std::vector<Manifest::Change>& changes = run.manifest.engine_changes;
  const std::int64_t step = trainer.report().global_step;
  if (!changes.empty() && changes.back().step == step) changes.pop_back();  // it did not train
  if (!same_engine(run.manifest.last_engine(), now)) changes.push_back({step, now});
  return true;
}

}  // namespace broadloom
