// Small runs: settings, trainers, and all state that the next iteration depends on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "broadloom/config/config.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

inline Overrides add_overrides(Overrides base, const Overrides& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

inline Config resolved(const Overrides& overrides) {
  Result<Config> config = resolve_config(overrides);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.take();
}

inline std::string all_instruments() {
  std::string names;
  for (const std::string& name : instrument_names()) names += (names.empty() ? "" : ",") + name;
  return names;
}

inline std::unique_ptr<VecEnv> envs_of(const Config& config) {
  return make_vec_env(config.env_id, config.env_options, vec_env_options(config)).take();
}

// A trainer whose threads all work in every iteration.
inline std::unique_ptr<Trainer> trainer_of(const Config& config, int threads = 1) {
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, threads);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  if (!trainer.ok()) return nullptr;
  trainer.value()->hold_threads(threads);
  return trainer.take();
}

inline std::unique_ptr<Trainer> trainer_on(const Config& config, std::unique_ptr<VecEnv> envs,
                                           int threads = 1) {
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, threads, std::move(envs));
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  if (!trainer.ok()) return nullptr;
  trainer.value()->hold_threads(threads);
  return trainer.take();
}

inline void run(Trainer& trainer, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    const Status status = trainer.iterate();
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

// Names and bytes of its state.
inline std::string bytes_of(Trainer& trainer) {
  std::string bytes;
  for (const TensorRef& tensor : trainer.state()) {
    bytes += tensor.name;
    bytes.append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  return bytes;
}

}  // namespace broadloom
