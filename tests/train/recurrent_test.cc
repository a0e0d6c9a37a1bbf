// Runs of recurrent policies: their bits, the states that blocks carry, and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/train/trainer.h"
#include "tests/env/next_step.h"
#include "tests/learn/a2c.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config recurrent_config(const Overrides& overrides) {
  return resolved(add_overrides({{"env_id", "CartPole-v1"},
                                 {"num_envs", "37"},
                                 {"num_steps", "13"},
                                 {"num_minibatches", "3"},
                                 {"update_epochs", "2"},
                                 {"total_timesteps", "20000"},
                                 {"hidden_sizes", "16,8"},
                                 {"recurrent", "mingru"}},
                                overrides));
}

// Several environments share a tile; an environment takes several; many truncations in a block.
const std::vector<Overrides>& recurrent_cases() {
  static const std::vector<Overrides> all = {
      {{"max_episode_steps", "9"}, {"norm_obs", "true"}},
      {{"env_id", "Pendulum-v1"},
       {"max_episode_steps", "31"},
       {"num_steps", "130"},
       {"num_envs", "7"},
       {"shared_encoder", "true"}},
      {{"max_episode_steps", "20"}, {"num_steps", "70"}, {"num_envs", "5"}},
      {{"max_episode_steps", "9"}, {"recurrent", "lstm"}},
      {{"max_episode_steps", "20"}, {"num_steps", "70"}, {"num_envs", "5"}, {"recurrent", "gru"}},
      {{"max_episode_steps", "10"}, {"num_steps", "12"}, {"sequence_length", "4"}},
      {{"env_id", "Pendulum-v1"},
       {"max_episode_steps", "31"},
       {"num_steps", "150"},
       {"num_envs", "3"},
       {"num_minibatches", "4"},
       {"shared_encoder", "true"},
       {"recurrent", "lstm"},
       {"sequence_length", "75"}},
      {{"max_episode_steps", "9"}, {"recurrent", "gru"}, {"sequence_length", "1"}},
      {{"max_episode_steps", "9"}, {"recurrent", "lstm"}, {"recurrent_units", "11"}},
      {{"max_episode_steps", "20"},
       {"num_steps", "70"},
       {"num_envs", "5"},
       {"recurrent", "gru"},
       {"recurrent_units", "6"}},
      {{"algorithm", "pqn"}, {"max_episode_steps", "20"}, {"num_steps", "70"}, {"num_envs", "5"}},
      {{"algorithm", "pqn"},
       {"max_episode_steps", "10"},
       {"num_steps", "12"},
       {"recurrent", "gru"},
       {"sequence_length", "4"}},
  };
  return all;
}

class Recurrent : public ::testing::TestWithParam<int> {
 protected:
  static Config config(const Overrides& more = {}) {
    return recurrent_config(
        add_overrides(recurrent_cases()[static_cast<std::size_t>(GetParam())], more));
  }
};

TEST_P(Recurrent, BitsAreTheSameForAnyNumberOfThreadsAndWithEvaluations) {
  std::string expected;
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<Trainer> trainer = trainer_of(config(), threads);
    for (int i = 0; i < 3; ++i) {
      run(*trainer, 1);
      if (threads != 2) continue;
      ASSERT_TRUE(evaluate_policy(trainer->policy(), {.episodes = 3, .seed = 1}).ok());
    }
    if (threads == 1) expected = bytes_of(*trainer);
    EXPECT_EQ(bytes_of(*trainer), expected) << threads << " threads";
  }
}

TEST_P(Recurrent, BitsAreTheSameAfterARestoreAtAnyIteration) {
  const std::unique_ptr<Trainer> whole = trainer_of(config());
  run(*whole, 3);
  const std::string expected = bytes_of(*whole);
  for (int cut = 0; cut < 3; ++cut) {
    const std::unique_ptr<Trainer> before = trainer_of(config());
    run(*before, cut);
    const std::unique_ptr<Trainer> after = trainer_of(config());
    const std::vector<TensorRef> source = before->state(), target = after->state();
    ASSERT_EQ(source.size(), target.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      ASSERT_EQ(source[i].name, target[i].name);
      std::memcpy(target[i].data, source[i].data, source[i].bytes());
    }
    ASSERT_TRUE(after->state_restored().ok());
    run(*after, 3 - cut);
    EXPECT_EQ(bytes_of(*after), expected) << "restored after iteration " << cut;
  }
}

// The network, played one row at a time from the block's first states on.
class SlowPlay {
 public:
  explicit SlowPlay(const Trainer& trainer)
      : network_(trainer.network()),
        params_(trainer.params()),
        block_(trainer.block()),
        work_(network_.make_workspace<float>()),
        state_(network_.state_size()) {}

  void begin(const float* state) { std::copy_n(state, state_.size(), state_.begin()); }
  // The value of row `row` of these observations; the state goes on if it `advances`.
  float value(const Observations& observations, std::size_t row, bool advances) {
    work_.states.begin(1);
    std::copy(state_.begin(), state_.end(), work_.states.before.begin());
    const std::size_t width = static_cast<std::size_t>(observations.type().size);
    network_.forward(params_, &observations.floats()[row * width], 1, work_);
    if (advances) network_.copy_state(work_, 0, state_.data());
    return work_.values[0];
  }
  void expect_environment(int n) {
    begin(&block_.states[n * state_.size()]);
    const int length = block_.sequence > 0 ? block_.sequence : block_.T;
    int slot = 0;
    for (int t = 0; t < block_.T; ++t) {
      if (t % length == 0) {
        const std::size_t kept = static_cast<std::size_t>(t / length * block_.N + n);
        for (std::size_t k = 0; k < state_.size(); ++k) {
          ASSERT_EQ(state_[k], block_.states[kept * state_.size() + k]) << "before step " << t;
        }
      }
      const std::size_t i = block_.index(t, n);
      ASSERT_EQ(value(block_.observations, i, true), block_.values[i]) << "step " << t;
      if (block_.truncated[i] != 0) {
        const std::size_t place = block_.final_index(n, slot++);
        ASSERT_EQ(value(block_.final_observations, place, false), block_.final_values[place]);
      }
      if (block_.ends_at(i)) std::fill(state_.begin(), state_.end(), 0.0f);
    }
    for (std::size_t k = 0; k < state_.size(); ++k) {
      ASSERT_EQ(state_[k], block_.next_states[n * state_.size() + k]);
    }
  }

 private:
  const ActorCritic& network_;
  const float* params_;
  const RolloutBlock& block_;
  TileWorkspace<float> work_;
  std::vector<float> state_;
};

// Without learning, so that the parameters are those that collected. The bootstrap looks at the
// observation with which the next block begins, and must leave the state for it.
TEST_P(Recurrent, BlocksAreThoseOfEnvironmentsPlayedStepByStep) {
  const Config still = config({{"learning_rate", "0"}, {"norm_obs", "false"}});
  const std::unique_ptr<Trainer> trainer = trainer_of(still, 2);
  std::vector<float> last_values, next_states;
  for (int i = 0; i < 3; ++i) {
    run(*trainer, 1);
    const RolloutBlock& block = trainer->block();
    if (i > 0) {
      ASSERT_TRUE(std::equal(next_states.begin(), next_states.end(), block.states.begin()));
      ASSERT_TRUE(std::equal(last_values.begin(), last_values.end(), block.values.begin()));
    }
    SlowPlay play(*trainer);
    for (int n = 0; n < block.N; ++n) play.expect_environment(n);
    last_values = block.last_values;
    next_states = block.next_states;
  }
  ASSERT_GT(std::count(trainer->block().truncated.begin(), trainer->block().truncated.end(), 1), 0);
  ASSERT_NE(std::count(next_states.begin(), next_states.end(), 0.0f),
            static_cast<std::ptrdiff_t>(next_states.size()));
}

// Instruments go through sequences, too, and change nothing.
TEST_P(Recurrent, AreTheSameWithInstrumentsForAnyNumberOfThreads) {
  Config plain_config = config({});
  const std::unique_ptr<Trainer> plain = trainer_of(plain_config, 1);
  run(*plain, 2);
  plain_config.instruments = instrument_names();
  plain_config.instrument_every = 1;
  std::map<std::string, double> numbers;
  for (const int threads : {1, 3}) {
    const std::unique_ptr<Trainer> watched = trainer_of(plain_config, threads);
    run(*watched, 2);
    EXPECT_EQ(bytes_of(*watched), bytes_of(*plain)) << threads;
    watched->instruments().visit_numbers([&](const NumberInfo& info, double value) {
      if (threads == 1) numbers[info.name] = value;
      const double expected = numbers.at(info.name);
      EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << info.name;
    });
  }
  EXPECT_GT(numbers.at("grad/sample_norm"), 0.0);
  if (plain->network().shape().action_values) return;
  EXPECT_GT(numbers.at("policy/kl"), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Runs, Recurrent, ::testing::Range(0, 12));

void expect_refusal(const Overrides& overrides, const std::string& words) {
  const Result<Config> config = resolve_config(
      add_overrides({{"env_id", "CartPole-v1"}, {"recurrent", "mingru"}}, overrides));
  ASSERT_FALSE(config.ok()) << words;
  EXPECT_NE(config.status().message().find(words), std::string::npos) << config.status().message();
}

TEST(RecurrentKeys, AreRefusedWithWordsWhereTheyCannotAct) {
  expect_refusal({{"algorithm", "ppo_rnd"}},
                 "algorithm = ppo_rnd; it needs algorithm = ppo or pqn or distill");
  expect_refusal({{"device", "cuda"}}, "device = cuda; it needs device = cpu");
  expect_refusal({{"num_minibatches", "5"}}, "num_minibatches: got 5");
  expect_refusal({{"minibatch_size", "100"}}, "multiple of num_steps (128)");
  expect_refusal({{"sequence_length", "48"}},
                 "sequence_length: got 48, which does not divide num_steps = 128; expected a "
                 "divisor, such as 32");
  expect_refusal({{"sequence_length", "256"}}, "sequence_length: got 256, which does not divide");
  expect_refusal({{"sequence_length", "64"}, {"num_minibatches", "9"}},
                 "num_minibatches: got 9 with recurrent = mingru, whose minibatches are sequences; "
                 "expected at most their number (8)");
  expect_refusal({{"sequence_length", "64"}, {"minibatch_size", "96"}},
                 "expected a multiple of sequence_length (64)");
  expect_refusal({{"shape_schedule", "4x128 @ 0, 8x64 @ 0.5"}}, "with shape_schedule");
}

TEST(RecurrentKeys, CountMinibatchesInWholeEnvironments) {
  Config by_size = recurrent_config({});
  by_size.minibatch_size = 52;  // 4 environments
  EXPECT_TRUE(validate(by_size).ok());
  EXPECT_EQ(by_size.minibatch_count(), 10);
  EXPECT_EQ(by_size.largest_minibatch(), 4 * 13);
  EXPECT_EQ(recurrent_config({}).largest_minibatch(), 13 * 13);  // of 37 in three
}

TEST(RecurrentKeys, CountMinibatchesInSequences) {
  EXPECT_EQ(recurrent_config({{"num_steps", "12"}, {"sequence_length", "4"}}).largest_minibatch(),
            37 * 4);  // of 111 sequences in three
}

// A sequence as long as a block is a whole environment.
TEST(RecurrentRuns, LearnTheSameFromWholeEnvironmentsBothWays) {
  const std::unique_ptr<Trainer> whole = trainer_of(recurrent_config({}));
  const std::unique_ptr<Trainer> sequences =
      trainer_of(recurrent_config({{"sequence_length", "13"}}));
  run(*whole, 2);
  run(*sequences, 2);
  EXPECT_EQ(bytes_of(*whole), bytes_of(*sequences));
}

TEST(RecurrentRuns, RefuseAnAlgorithmThatLearnsFromSingleSteps) {
  static const bool is_known = register_algorithm(A2c::entry()).ok();
  ASSERT_TRUE(is_known);
  Config config = recurrent_config({});
  config.algorithm = "a2c";
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 1);
  ASSERT_FALSE(trainer.ok());
  EXPECT_NE(trainer.status().message().find("algorithm = a2c, which learns from single steps"),
            std::string::npos)
      << trainer.status().message();
}

TEST(RecurrentRuns, RefuseFillerRows) {
  const Config config = recurrent_config({});
  std::unique_ptr<VecEnv> envs =
      std::make_unique<NextStep>(envs_of(config), config.env_id, true, false);
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config, 1, std::move(envs));
  ASSERT_FALSE(trainer.ok());
  EXPECT_NE(trainer.status().message().find("recurrent: got mingru"), std::string::npos)
      << trainer.status().message();
}

}  // namespace
}  // namespace broadloom
