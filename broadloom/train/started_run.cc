#include "broadloom/train/started_run.h"

#include <utility>

#include "broadloom/math/isa.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {

Result<StartedRun> open_started_run(const std::string& run_dir) {
  Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  Result<Manifest> manifest = read_manifest(folder.value().manifest_path());
  if (!manifest.ok()) return manifest.status();
  Result<Config> config = resolve_config(manifest.value().config);
  if (!config.ok()) return config.status();
  return StartedRun{folder.take(), manifest.take(), config.take()};
}

std::string bits_of(const Config& config, const std::string& isa, const VecEnvTraits& simulator) {
  if (!simulator.deterministic) return "none";
  // The host's part of a device's run is in it, too: statistics, scaled rewards, evaluations.
  const bool common = config.precision == "fp32" && has_common_bits(isa) && simulator.common_bits;
  return common ? "common" : "own";
}

}  // namespace broadloom
