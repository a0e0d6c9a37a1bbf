// Trainers with untrained policies, and their watched episodes.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "broadloom/evaluate/watch.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"

namespace broadloom {

inline std::unique_ptr<Trainer> untrained(const Overrides& overrides) {
  const Config config = resolve_config(overrides).take();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 1);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.take();
}

inline WatchedEpisodes watched(const Trainer& trainer, const WatchOptions& options) {
  Result<WatchedEpisodes> result = watch_policy(trainer.policy(), options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.take();
}

// Every frame of an episode as shapes, since indices depend on the order of episodes.
inline std::vector<std::vector<Shape>> drawn_frames(const WatchedEpisodes& seen,
                                                    std::size_t episode) {
  std::vector<std::vector<Shape>> frames;
  for (const std::vector<int>& frame : seen.film.episodes()[episode].frames) {
    frames.emplace_back();
    for (const int index : frame) {
      frames.back().push_back(seen.film.shapes()[static_cast<std::size_t>(index)]);
    }
  }
  return frames;
}

}  // namespace broadloom
