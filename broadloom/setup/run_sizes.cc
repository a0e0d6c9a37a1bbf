#include "broadloom/setup/run_sizes.h"

#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom {

RunSizes::RunSizes(const Config& run_config, const VecEnv& run_envs)
    : config(run_config),
      envs(run_envs),
      spec(envs.spec()),
      network(network_shape(config, spec)),
      companion(companion_size(config, spec)) {
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    phases.push_back(config.of_phase(p));
    blocks.push_back(run_block_sizes(phases.back(), envs));
  }
}

}  // namespace broadloom
