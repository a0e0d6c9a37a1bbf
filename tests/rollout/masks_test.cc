// Action masks from the environment to the block: no invalid action, and log-probabilities of the
// valid ones alone.
// sanitizers: address, threads
#include "broadloom/env/action_masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/tasks/puzzles/dials.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/rollout/collector.h"

namespace broadloom {
namespace {

// Dials of which each step allows only every second number, and the number shown.
struct StiffDials : Dials {
  static void valid_actions(const Params&, const State& s, std::uint8_t* out) {
    for (int dial = 0; dial < kDials; ++dial) {
      const int shown = s.shown[static_cast<std::size_t>(dial)];
      for (int n = 0; n < numbers(dial); ++n) *out++ = (n - shown) % 2 == 0 ? 1 : 0;
    }
  }
};

std::unique_ptr<VecEnv> make_masked(const std::string& id, int num_envs) {
  static const bool registered = register_environment<StiffDials>("StiffDials-v0").ok();
  EXPECT_TRUE(registered);
  Result<std::unique_ptr<VecEnv>> envs = make_vec_env(id, {}, {.num_envs = num_envs, .seed = 2});
  EXPECT_TRUE(envs.ok()) << envs.status().message();
  return envs.take();
}

ActorCritic network_for(const EnvSpec& spec, bool shared_encoder) {
  NetworkShape shape;
  shape.observation_size = spec.observation_size();
  shape.action_kind = spec.action.kind;
  shape.action_outputs = spec.action.mask_size();
  if (spec.action.kind == SpaceKind::kMultiDiscrete) shape.action_heads = spec.action.choices();
  shape.masked = true;
  shape.hidden_sizes = {12};
  shape.shared_encoder = shared_encoder;
  return ActorCritic(shape);
}

struct Collected {
  Collected(VecEnv& envs, const ActorCritic& network, int threads)
      : params(network.parameter_count()), block(block_sizes(envs, 9, envs.num_envs())) {
    network.initialise(3, params.data());
    for (float& p : params) p *= 4.0f;  // far from uniform
    ThreadPool pool(threads);
    const PolicySampler sampler(network);
    Collector collector(envs, network, sampler, nullptr, pool, 5);
    status = collector.collect(params.data(), 0, block);
  }
  std::vector<float> params;
  RolloutBlock block;
  Status status;
};

// sb3-contrib's MaskableCategorical (common/maskable/distributions.py) in double precision: logits
// of invalid choices become -1e8 before the softmax. Each part's logits [count], the choice taken.
double masked_log_prob(const std::vector<double>& logits, const std::uint8_t* valid, int choice) {
  double sum = 0.0, top = -1e8;
  std::vector<double> masked = logits;
  for (std::size_t i = 0; i < masked.size(); ++i) {
    if (valid[i] == 0) masked[i] = -1e8;
    top = std::max(top, masked[i]);
  }
  for (const double logit : masked) sum += std::exp(logit - top);
  return masked[static_cast<std::size_t>(choice)] - top - std::log(sum);
}

class Masks : public ::testing::TestWithParam<std::pair<const char*, bool>> {};

TEST_P(Masks, KeepInvalidActionsOut) {
  const auto& [id, shared_encoder] = GetParam();
  const std::unique_ptr<VecEnv> envs = make_masked(id, 70);
  const ActorCritic network = network_for(envs->spec(), shared_encoder);
  const Collected got(*envs, network, 2);
  ASSERT_TRUE(got.status.ok()) << got.status.message();
  const RolloutBlock& block = got.block;
  const std::vector<int> choices = envs->spec().action.choices();
  TileWorkspace<float> work = network.make_workspace<float>();
  int invalid = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    network.forward(got.params.data(), &block.observations.floats()[i * block.D], 1, work);
    double log_prob = 0.0;
    const std::uint8_t* valid = block.valid_row(i);
    std::size_t output = 0;
    for (std::size_t head = 0; head < choices.size(); ++head) {
      const int choice = static_cast<int>(block.actions[i * block.A + head]);
      std::vector<double> logits;
      for (int c = 0; c < choices[head]; ++c) logits.push_back(work.policy[output++ * kTileRows]);
      ASSERT_EQ(valid[choice], 1) << "row " << i;
      log_prob += masked_log_prob(logits, valid, choice);
      for (int c = 0; c < choices[head]; ++c) invalid += valid[c] == 0 ? 1 : 0;
      valid += choices[head];
    }
    EXPECT_NEAR(block.log_probs[i], log_prob, 1e-5) << "row " << i;
  }
  EXPECT_GT(invalid, 100);
}

TEST_P(Masks, AreTheSameForAnyNumberOfThreads) {
  const auto& [id, shared_encoder] = GetParam();
  std::vector<RolloutBlock> blocks;
  for (const int threads : {1, 3}) {
    const std::unique_ptr<VecEnv> envs = make_masked(id, 70);
    blocks.push_back(Collected(*envs, network_for(envs->spec(), shared_encoder), threads).block);
  }
  EXPECT_EQ(blocks[0].valid_actions, blocks[1].valid_actions);
  EXPECT_EQ(blocks[0].actions, blocks[1].actions);
  EXPECT_EQ(blocks[0].log_probs, blocks[1].log_probs);
}

INSTANTIATE_TEST_SUITE_P(Environments, Masks,
                         ::testing::Values(std::pair{"TicTacToe-v0", false},
                                           std::pair{"TicTacToe-v0", true},
                                           std::pair{"StiffDials-v0", false}));

// Without a valid second number for environment 40 after 5 steps.
class Blocked final : public ForwardingVecEnv, public ActionMasks {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  Status step(int begin, int end, const StepRows& rows) override {
    if (begin <= 40 && 40 < end) ++steps_;
    return inner().step(begin, end, rows);
  }
  void valid_actions(int begin, int end, std::uint8_t* flags) const override {
    capability<ActionMasks>(inner())->valid_actions(begin, end, flags);
    // Only the thread of environment 40 reads the count.
    if (begin <= 40 && 40 < end && steps_ == 5) std::fill_n(flags + (40 - begin) * 12 + 3, 4, 0);
  }

 private:
  int steps_ = 0;
};

TEST(Masks, NameTheEnvironmentWithoutAValidAction) {
  for (const int threads : {1, 3}) {
    Blocked envs(make_masked("StiffDials-v0", 70));
    const Collected got(envs, network_for(envs.spec(), false), threads);
    EXPECT_NE(got.status.message().find("environment 40 has no valid action at its step 5"),
              std::string::npos)
        << got.status.message();
  }
}

TEST(Masks, LeaveUniformDrawsAmongValidChoices) {
  const Space space = Space::multi_discrete({3, 4});
  const std::array<std::uint8_t, 7> valid{1, 0, 1, 0, 0, 1, 0};
  const std::array<std::uint8_t, 7> all{1, 1, 1, 1, 1, 1, 1};
  int first = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    std::array<float, 2> action{}, free{}, unmasked{};
    Random one(1, Purpose::kUser, i, 0), two = one, three = one;
    draw_action(space, one, action.data(), valid.data());
    draw_action(space, two, free.data(), all.data());
    draw_action(space, three, unmasked.data());
    EXPECT_EQ(free, unmasked);
    EXPECT_TRUE(action[0] == 0.0f || action[0] == 2.0f);
    EXPECT_EQ(action[1], 2.0f);
    first += action[0] == 0.0f ? 1 : 0;
  }
  EXPECT_NEAR(first, 500, 80);  // five standard errors
}

TEST(Masks, RefuseDisturbancesOfActions) {
  for (const char* key : {"disturb.action_delay", "disturb.push_interval"}) {
    const Status refused = make_vec_env("TicTacToe-v0", {{key, "2"}}, {}).status();
    EXPECT_NE(refused.message().find(key), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find("action masks"), std::string::npos) << refused.message();
  }
}

}  // namespace
}  // namespace broadloom
