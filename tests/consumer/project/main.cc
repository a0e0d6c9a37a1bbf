// Another project that uses an installed Broadloom: makes environments by name and trains on them
// for a few iterations.
#include <cstdio>
#include <memory>

#include "broadloom/config/config.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/train/trainer.h"

int main() {
  const auto spec = broadloom::env_spec("CartPole-v1", {});
  if (!spec.ok()) {
    std::fprintf(stderr, "%s\n", spec.status().message().c_str());
    return 1;
  }
  broadloom::Config config = broadloom::default_config(spec.value());
  config.total_timesteps = 4 * config.batch_size();
  auto trainer = broadloom::Trainer::create(config, 2);
  if (!trainer.ok()) {
    std::fprintf(stderr, "%s\n", trainer.status().message().c_str());
    return 1;
  }
  while (!trainer.value()->finished()) {
    const broadloom::Status status = trainer.value()->iterate();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  }
  const auto& report = trainer.value()->report();
  std::printf("%lld steps, mean return %.1f\n", static_cast<long long>(report.global_step),
              report.mean_return);
  return report.global_step == config.total_timesteps && report.mean_return > 0.0 ? 0 : 1;
}
