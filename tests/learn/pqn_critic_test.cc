// PQN has no critic, so critic observations do not change its runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

constexpr float kAny = std::numeric_limits<float>::infinity();

// A cart that should stay in place in a wind. Its policy sees two numbers.
struct Gusts {
  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    double place, wind;
  };
  static constexpr auto members = std::tuple{&State::place, &State::wind};
  static constexpr int kObservationSize = 2, kActionSize = 1;

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Gusts-v0";
    spec.observation = Space::box({-kAny, -kAny}, {kAny, kAny});
    spec.action = Space::discrete(3);
    spec.max_episode_steps = 9;
    spec.summary = "Keep a cart in place.";
    return spec;
  }
  static void reset(const Params&, State& state, Random& random) {
    state.place = random.uniform(-1.0, 1.0);
    state.wind = random.uniform(-0.1, 0.1);
  }
  static StepResult step(const Params&, State& state, const float* action, Random&) {
    state.place += 0.3 * (static_cast<double>(action[0]) - 1.0) + state.wind;
    return {-state.place * state.place, static_cast<std::uint8_t>(std::abs(state.place) > 1.5)};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.place);
    out[1] = static_cast<float>(state.place * state.place);
  }
};

// Also has critic observations of this size.
template <int kSize>
struct ShownGusts : Gusts {
  static constexpr int kCriticObservationSize = kSize;
  static EnvSpec spec(const Params& params) {
    EnvSpec spec = Gusts::spec(params);
    spec.id = "Gusts" + std::to_string(kSize) + "-v0";
    spec.critic_observation =
        Space::box(std::vector<float>(kSize, -kAny), std::vector<float>(kSize, kAny));
    return spec;
  }
  static void observe_critic(const Params&, const State& state, float* out) {
    std::fill_n(out, kSize, static_cast<float>(1000.0 * state.wind));
  }
};

const char* const kShown[] = {"Gusts1-v0", "Gusts5-v0"};  // narrower and wider than the policy's

Config config_of(const std::string& id, const Overrides& more = {}) {
  static const bool done = register_environment(make_entry<Gusts>()).ok() &&
                           register_environment(make_entry<ShownGusts<1>>()).ok() &&
                           register_environment(make_entry<ShownGusts<5>>()).ok();
  EXPECT_TRUE(done);
  return resolved(add_overrides({{"algorithm", "pqn"},
                                 {"env_id", id},
                                 {"num_envs", "19"},
                                 {"num_steps", "21"},
                                 {"num_minibatches", "3"},
                                 {"hidden_sizes", "16,8"},
                                 {"total_timesteps", "4000"},
                                 {"norm_obs", "true"},
                                 {"hashes", "true"}},
                                more));
}

TEST(PqnWithoutCritic, HasTheBitsOfWhatIsNotShownToOne) {
  const std::unique_ptr<Trainer> plain = trainer_of(config_of("Gusts-v0"), 2);
  run(*plain, 4);
  const RolloutBlock& block = plain->block();
  EXPECT_GT(*std::max_element(block.truncations.begin(), block.truncations.end()), 0);
  for (const char* id : kShown) {
    const std::unique_ptr<Trainer> shown = trainer_of(config_of(id), 2);
    run(*shown, 4);
    EXPECT_EQ(shown->block().values, block.values) << id;
    EXPECT_EQ(shown->block().last_values, block.last_values) << id;
    for (int n = 0; n < block.N; ++n) {
      for (int s = 0; s < block.truncations[n]; ++s) {
        const std::size_t place = block.final_index(n, s);
        EXPECT_EQ(shown->block().final_values[place], block.final_values[place]) << id;
      }
    }
    EXPECT_EQ(bytes_of(*shown), bytes_of(*plain)) << id;
    EXPECT_EQ(shown->hashes()->rows, plain->hashes()->rows) << id;
  }
}

// Its network has one input in every case.
TEST(PqnWithoutCritic, KeepsNothingForOne) {
  const auto contract_of = [](const std::string& id) {
    return make_contract(config_of(id), 2).take();
  };
  const RolloutContract plain = contract_of("Gusts-v0");
  for (const char* id : kShown) {
    const RolloutContract shown = contract_of(id);
    EXPECT_FALSE(shown.critic_observation.has_value()) << id;
    EXPECT_EQ(shown.memory.total(), plain.memory.total()) << id;
    const std::unique_ptr<Trainer> trainer = trainer_of(config_of(id), 1);
    EXPECT_FALSE(trainer->block().has_critic()) << id;
    EXPECT_EQ(trainer->network().shape().critic_observation_size, 0) << id;
    EXPECT_EQ(trainer->critic_normalizer(), nullptr) << id;
  }
  NetworkShape asked;
  asked.observation_size = 2;
  asked.action_outputs = 3;
  asked.critic_observation_size = 5;
  asked.action_values = true;
  EXPECT_EQ(ActorCritic(asked).shape().critic_observation_size, 0);
  // PPO's critic reads its observations.
  const Overrides ppo{{"algorithm", "ppo"}, {"layer_norm", "off"}};
  EXPECT_TRUE(trainer_of(config_of("Gusts5-v0", ppo), 1)->block().has_critic());
}

// Records have settings that are refused because of a critic.
TEST(PqnWithoutCritic, MayHaveWhatACriticOfItsOwnForbids) {
  Config config = config_of("Gusts5-v0");
  config.shared_encoder = true;
  const Result<std::unique_ptr<Trainer>> made = Trainer::create(config, 1);
  EXPECT_TRUE(made.ok()) << made.status().message();
}

TEST(PqnWithoutCritic, LooksAtItsUnitsOnWhatThePolicyReads) {
  const auto numbers = [](const std::string& id) {
    const std::unique_ptr<Trainer> trainer =
        trainer_of(config_of(id, {{"instruments", "plasticity"}, {"instrument_every", "1"}}), 1);
    run(*trainer, 2);
    EXPECT_TRUE(trainer->instruments().measured());
    std::string out;
    trainer->instruments().visit_numbers([&](const NumberInfo& info, double value) {
      out += std::string(info.name) + " " + std::to_string(value) + "\n";
    });
    return out;
  };
  EXPECT_EQ(numbers("Gusts5-v0"), numbers("Gusts-v0"));
}

class PqnCriticFolder : public InFolder {};

TEST_F(PqnCriticFolder, IsPlayedFromItsCheckpoint) {
  const std::unique_ptr<Trainer> trainer = trainer_of(config_of("Gusts5-v0"), 1);
  run(*trainer, 1);
  const std::string path = at("one.safetensors");
  ASSERT_TRUE(save_checkpoint(path, *trainer, {}).ok());
  const Result<Checkpoint> checkpoint = read_checkpoint(path);
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint.value().file.metadata.count("critic_observation"), 0u);
  const Result<std::unique_ptr<LoadedPolicy>> policy =
      LoadedPolicy::load(find_checkpoint(path).take());
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  EXPECT_EQ(policy.value()->view().critic_norm, nullptr);
}

}  // namespace
}  // namespace broadloom
