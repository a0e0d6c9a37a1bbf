// Updates of other libraries, which scripts of this folder recorded, and ours beside them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "broadloom/learn/learner.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/distributions.h"
#include "broadloom/record/safetensors.h"
#include "broadloom/rollout/block.h"
#include "tests/support/folders.h"

namespace broadloom {

// A file of recorded updates.
class Recorded {
 public:
  explicit Recorded(const std::string& name) {
    Result<SafetensorsFile> file = read_safetensors(source_folder() + "/tests/learn/" + name);
    if (!file.ok()) throw std::runtime_error(file.status().message());
    file_ = file.take();
  }
  std::uint64_t seed() const { return std::stoull(file_.metadata.at("seed")); }
  std::int64_t iteration() const { return std::stoll(file_.metadata.at("iteration")); }
  nlohmann::json cases() const { return nlohmann::json::parse(file_.metadata.at("cases")); }

  template <class T = float>
  std::vector<T> tensor(const std::string& name) const {
    const SafetensorsFile::Entry& entry = file_.tensors.at(name);
    std::vector<T> values((entry.end - entry.begin) / sizeof(T));
    std::memcpy(values.data(), file_.data.data() + entry.begin, entry.end - entry.begin);
    return values;
  }
  std::int64_t columns(const std::string& name) const { return file_.tensors.at(name).shape.at(1); }

 private:
  SafetensorsFile file_;
};

// A learner at recorded parameters.
inline Learner learner_at(const std::vector<float>& params, const ActorCritic& network) {
  if (params.size() != network.parameter_count()) throw std::runtime_error("another network");
  Learner learner(network.parameter_count());
  std::copy(params.begin(), params.end(), learner.params.begin());
  return learner;
}

inline void show(const std::vector<float>& observations, RolloutBlock& block) {
  std::copy(observations.begin(), observations.end(), block.observations.floats().begin());
}

// Values, means where the block has them, and log-probabilities with the bits that an update of a
// Gaussian will compute.
inline void act_gaussian(const ActorCritic& network, const Learner& learner, RolloutBlock& block) {
  TileWorkspace<float> work = network.make_workspace<float>();
  const auto A = static_cast<std::size_t>(block.A);
  std::vector<float> actions(A * kTileRows), scratch(A * kTileRows), log_prob(kTileRows);
  for (std::size_t i = 0; i < block.size(); ++i) {
    network.forward(learner.params.data(), &block.observations.floats()[i * block.D], 1, work);
    for (std::size_t a = 0; a < A; ++a) {
      actions[a * kTileRows] = block.actions[i * A + a];
      if (!block.means.empty()) block.means[i * A + a] = work.policy[a * kTileRows];
    }
    gaussian_log_probs(work.policy.data(), work.log_std.data(), actions.data(), block.A, 1,
                       scratch.data(), log_prob.data());
    block.log_probs[i] = log_prob[0];
    block.values[i] = work.values[0];
  }
}

// Numbers of ours and recorded ones, in float32.
template <class Numbers>
void expect_near(const Numbers& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  std::size_t worst = 0;
  const auto error = [&](std::size_t i) { return std::abs(got[i] - expected[i]); };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(error(i) <= error(worst))) worst = i;
  }
  EXPECT_NEAR(got[worst], expected[worst], 1e-5) << "at " << worst;
}

}  // namespace broadloom
