// A whole run, and all state that the next iteration depends on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "broadloom/train/trainer.h"

namespace broadloom {

inline std::string state_after_training(const Config& config, int threads) {
  std::unique_ptr<Trainer> trainer = Trainer::create(config, threads).take();
  trainer->hold_threads(threads);
  while (!trainer->finished()) EXPECT_TRUE(trainer->iterate().ok());
  std::string bytes;
  for (const TensorRef& tensor : trainer->state()) {
    bytes.append(static_cast<const char*>(tensor.data), tensor.bytes());
  }
  return bytes;
}

}  // namespace broadloom
