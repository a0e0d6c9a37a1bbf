// RND: compares the predictor's loss with finite differences, and intrinsic rewards, their scale
// and advantages with their definitions. Tests the drawn samples and whole runs.
// sanitizers: address, threads
#include "broadloom/learn/ppo_rnd.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/random.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/lab/gradient_study.h"
#include "tests/learn/finite_differences.h"
#include "tests/learn/trained.h"
#include "tests/support/release_only.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

constexpr int kSize = 5, kOutputs = 6;

NetworkShape predictor_shape() {
  NetworkShape shape;
  shape.observation_size = kSize;
  shape.action_outputs = kOutputs;
  shape.hidden_sizes = {9, 7};
  shape.activation = Activation::kRelu;
  shape.action_values = true;
  return shape;
}

// The agent's part of the loss, both heads of values included, is in tests/learn/ppo_gradient_test.
TEST(RndLoss, EqualsFiniteDifferences) {
  constexpr int kRows = 23;
  const ActorCritic network(predictor_shape());
  Random random(3, Purpose::kUser, 0, 0);
  std::vector<double> params(network.parameter_count());
  for (double& p : params) p = 0.4 * random.normal();
  RndTile<double> tile(kSize, kOutputs);
  tile.rows = kRows;
  for (double& x : tile.observations) x = random.normal();
  for (double& x : tile.targets) x = random.normal();
  const auto loss = [&](const std::vector<double>& parameters, std::vector<double>& grads) {
    std::vector<double> transposed(parameters.size());
    network.refresh_transposed(parameters.data(), transposed.data());
    TileWorkspace<double> work = network.make_workspace<double>();
    RndSums sums;
    rnd_tile_gradient(network, kRows, parameters.data(), transposed.data(), tile, work,
                      grads.data(), sums);
    return sums.loss / kRows;
  };
  expect_gradient_of_differences(params, loss);
}

// A block of random observations with episode ends, which intrinsic rewards ignore.
struct RndScene {
  static constexpr int kSteps = 7, kEnvs = 19, kMinibatch = 67;

  explicit RndScene(double update_proportion = 0.25)
      : settings{.seed = 5,
                 .shape = predictor_shape(),
                 .int_gamma = 0.9,
                 .update_proportion = update_proportion},
        rnd(settings, kEnvs, kSteps * kEnvs, kMinibatch, pool),
        block(BlockSizes{
            .T = kSteps, .N = kEnvs, .D = kSize, .A = 1, .S = 2, .with_intrinsic = true}),
        predictor(rnd.parameter_count()) {
    rnd.initialise(predictor.data());
    refill(11);
  }

  void refill(std::uint32_t lane) {
    Random random(6, Purpose::kUser, lane, 0);
    for (float& x : block.observations.floats()) x = static_cast<float>(random.normal());
    for (float& x : block.last_observations.floats()) x = static_cast<float>(random.normal());
    for (float& x : block.int_values) x = static_cast<float>(random.normal());
    for (float& x : block.last_int_values) x = static_cast<float>(random.normal());
    for (std::uint8_t& end : block.terminated) end = random.uniform() < 0.3;
  }

  const float* next(int t, int n) const {
    const std::size_t first = static_cast<std::size_t>(n) * kSize;
    return t + 1 < kSteps ? &block.observations.floats()[block.index(t + 1, 0) * kSize + first]
                          : &block.last_observations.floats()[first];
  }

  ThreadPool pool{2};
  RndSettings settings;
  Rnd rnd;
  RolloutBlock block;
  AlignedVector<float> predictor;
};

double output(const ActorCritic& network, const std::vector<float>& params,
              const std::vector<double>& x, int o) {
  std::vector<double> wide(params.begin(), params.end());
  TileWorkspace<double> work = network.make_workspace<double>();
  network.forward(wide.data(), x.data(), 1, work, NetworkSide::kPolicy);
  return work.policy[static_cast<std::size_t>(o) * kTileRows];
}

// Uses the second block, normalised by the statistics of the first.
TEST(Rnd, RewardsThePredictionsErrorAtTheNextObservation) {
  RndScene scene;
  scene.rnd.take_block(scene.predictor.data(), scene.block);
  scene.rnd.statistics().commit();
  std::vector<double> mean(kSize, 0.0), var(kSize, 1.0);
  for (int d = 0; d < kSize; ++d) {  // Gymnasium's start counts as 1e-4 samples of (0, 1)
    double count = 1e-4, m2 = 1e-4;
    for (int t = 0; t < RndScene::kSteps; ++t) {
      for (int n = 0; n < RndScene::kEnvs; ++n) {
        const double delta = scene.next(t, n)[d] - mean[d];
        count += 1.0;
        mean[d] += delta / count;
        m2 += delta * (scene.next(t, n)[d] - mean[d]);
      }
    }
    var[d] = m2 / count;
  }
  scene.refill(12);
  scene.rnd.take_block(scene.predictor.data(), scene.block);

  const ActorCritic network(predictor_shape());
  std::vector<float> target(network.parameter_count());
  network.initialise(5, target.data(), Purpose::kRndTarget);
  const std::vector<float> predictor(scene.predictor.begin(), scene.predictor.end());
  ASSERT_NE(predictor, target);
  double sum = 0.0;
  for (int t = 0; t < RndScene::kSteps; ++t) {
    for (int n = 0; n < RndScene::kEnvs; ++n) {
      std::vector<double> x(static_cast<std::size_t>(kSize) * kTileRows);
      for (int d = 0; d < kSize; ++d) {
        x[d] = std::clamp((scene.next(t, n)[d] - mean[d]) / std::sqrt(var[d]), -5.0, 5.0);
      }
      double expected = 0.0;
      for (int o = 0; o < kOutputs; ++o) {
        const double error = output(network, predictor, x, o) - output(network, target, x, o);
        expected += 0.5 * error * error;
      }
      const double got = scene.block.int_rewards[scene.block.index(t, n)];
      ASSERT_NEAR(got, expected, 1e-5 * (1.0 + expected)) << t << ", " << n;
      sum += expected;
    }
  }
  EXPECT_NEAR(scene.rnd.statistics().mean_reward(), sum / (RndScene::kSteps * RndScene::kEnvs),
              1e-5);
}

// Discounted sums run on over time, over the ends of episodes and from block to block.
TEST(Rnd, ScalesByTheDeviationOfDiscountedSumsOverTime) {
  RndScene scene;
  std::vector<double> sums(RndScene::kEnvs, 0.0), all;
  for (std::uint32_t block = 0; block < 3; ++block) {
    scene.refill(20 + block);
    scene.rnd.take_block(scene.predictor.data(), scene.block);
    for (int t = 0; t < RndScene::kSteps; ++t) {
      for (int n = 0; n < RndScene::kEnvs; ++n) {
        sums[n] = 0.9 * sums[n] + scene.block.int_rewards[scene.block.index(t, n)];
        all.push_back(sums[n]);
      }
    }
  }
  double mean = 0.0, squares = 0.0;
  for (const double x : all) mean += x / static_cast<double>(all.size());
  for (const double x : all) squares += (x - mean) * (x - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(all.size()));
  EXPECT_NEAR(1.0 / scene.rnd.statistics().reward_scale(), deviation, 1e-4 * deviation);
}

TEST(Rnd, AdvantagesOfIntrinsicRewardsKnowNoEnds) {
  constexpr double kGamma = 0.9, kLambda = 0.8, kScale = 1.7;
  RndScene scene;
  RolloutBlock& block = scene.block;
  scene.rnd.take_block(scene.predictor.data(), block);
  compute_intrinsic_advantages(block, 0, 10, kGamma, kLambda, kScale);
  compute_intrinsic_advantages(block, 10, RndScene::kEnvs, kGamma, kLambda, kScale);
  for (int n = 0; n < RndScene::kEnvs; ++n) {
    for (int t = 0; t < RndScene::kSteps; ++t) {
      // The sum over all later steps, as it is defined (Schulman et al. 2016, eq. 16).
      double expected = 0.0;
      for (int k = t; k < RndScene::kSteps; ++k) {
        const std::size_t i = block.index(k, n);
        const double next = k + 1 < RndScene::kSteps ? block.int_values[block.index(k + 1, n)]
                                                     : block.last_int_values[n];
        const double delta = kScale * block.int_rewards[i] + kGamma * next - block.int_values[i];
        expected += std::pow(kGamma * kLambda, k - t) * delta;
      }
      ASSERT_NEAR(block.int_advantages[block.index(t, n)], expected, 1e-4) << t << ", " << n;
    }
  }
}

// Draws different samples in each epoch.
TEST(Rnd, LearnsFromAShareOfTheSamples) {
  constexpr int kCount = 60;
  std::vector<std::int32_t> all(kCount);
  for (std::int32_t i = 0; i < kCount; ++i) all[static_cast<std::size_t>(i)] = i;
  for (const double share : {1.0, 0.25}) {
    for (const std::uint32_t epoch : {0u, 3u}) {
      RndScene scene(share);
      scene.rnd.take_block(scene.predictor.data(), scene.block);
      scene.rnd.begin_epoch(1, 2, static_cast<int>(epoch));
      ASSERT_TRUE(
          scene.rnd.measure(scene.block, all.data(), kCount, scene.predictor.data(), 1).ok());
      Random random(1, Purpose::kRndMask, epoch, 2);
      double sum = 0.0;
      int drawn = 0;
      for (int i = 0; i < kCount; ++i) {
        if (random.bits32() * 0x1p-32 >= share) continue;
        sum += 2.0 * scene.block.int_rewards[i] / kOutputs;
        ++drawn;
      }
      if (share < 1.0) {
        EXPECT_GT(drawn, 5);
        EXPECT_LT(drawn, 30);
      }
      EXPECT_NEAR(scene.rnd.loss(), sum / drawn, 1e-5 * sum / drawn) << share << ", " << epoch;
    }
  }
}

TEST(Rnd, NoticesAPredictorThatIsNotTheBlocks) {
  RndScene scene(1.0);
  scene.rnd.take_block(scene.predictor.data(), scene.block);
  scene.rnd.begin_epoch(1, 2, 0);
  const std::int32_t index[] = {3, 4};
  for (float& p : scene.predictor) p *= 1.001F;
  const Status status = scene.rnd.measure(scene.block, index, 2, scene.predictor.data(), 1);
  EXPECT_NE(status.message().find("prediction errors"), std::string::npos) << status.message();
}

Config rnd_config(const Overrides& overrides) {
  Overrides all{{"algorithm", "ppo_rnd"}, {"env_id", "CartPole-v1"}};
  return resolved(add_overrides(all, overrides));
}

Overrides small_rnd(const Overrides& more = {}) {
  Overrides all{{"num_envs", "37"},          {"num_steps", "13"},      {"hidden_sizes", "16,8"},
                {"total_timesteps", "5000"}, {"num_minibatches", "4"}, {"seed", "7"},
                {"rnd_hidden_sizes", "12"},  {"rnd_outputs", "9"}};
  return add_overrides(all, more);
}

std::string trained_rnd(const Overrides& overrides, int threads) {
  return state_after_training(rnd_config(overrides), threads);
}

TEST(PpoRndRuns, HaveTheSameBitsForAnyThreadsAndInstruments) {
  for (const Overrides& more :
       {Overrides{}, Overrides{{"shared_encoder", "true"}, {"norm_obs", "true"}},
        Overrides{{"env_id", "MountainCarContinuous-v0"}, {"max_episode_steps", "17"}}}) {
    const std::string expected = trained_rnd(small_rnd(more), 1);
    for (const int threads : {2, 5})
      EXPECT_EQ(trained_rnd(small_rnd(more), threads), expected) << threads;
    Overrides watched = more;
    watched.push_back({"instruments", "plasticity,coverage,policy,audit"});
    watched.push_back({"instrument_every", "2"});
    EXPECT_EQ(trained_rnd(small_rnd(watched), 2), expected);
  }
}

std::map<std::string, double> numbers_of(const Trainer& trainer) {
  std::map<std::string, double> numbers;
  for (const UpdateNumber& number : trainer.report().update) {
    numbers[number.info.name] = number.value;
  }
  return numbers;
}

// With int_coef 0, the policy is the same as PPO's. The predictor shares gradient clipping and the
// critic's body, which have no effect here.
TEST(PpoRndRuns, WithoutIntrinsicRewardsAreRunsOfPpo) {
  const Overrides same{{"env_id", "CartPole-v1"},   {"num_envs", "37"},
                       {"num_steps", "13"},         {"hidden_sizes", "16,8"},
                       {"total_timesteps", "5000"}, {"seed", "7"},
                       {"max_grad_norm", "1e9"},    {"vf_coef", "0"},
                       {"norm_obs", "false"},       {"norm_reward", "false"},
                       {"learning_rate", "1e-3"}};
  const auto actions = [&](const char* algorithm) {
    Overrides all = same;
    all.push_back({"algorithm", algorithm});
    if (std::string(algorithm) == "ppo_rnd") {
      all.insert(all.end(), {{"ext_coef", "1"}, {"int_coef", "0"}});
    }
    const auto trainer = Trainer::create(resolve_config(all).take(), 2).take();
    std::vector<float> out;
    while (!trainer->finished()) {
      EXPECT_TRUE(trainer->iterate().ok());
      out.insert(out.end(), trainer->block().actions.begin(), trainer->block().actions.end());
    }
    return out;
  };
  const std::vector<float> ppo = actions("ppo");
  ASSERT_GT(ppo.size(), 4000u);
  EXPECT_EQ(actions("ppo_rnd"), ppo);
}

// The learning rate is 0, so that the network is the one that collected the block.
TEST(PpoRndRuns, HaveTheSecondValueOfEveryObservation) {
  for (const char* shared : {"false", "true"}) {
    const auto trainer =
        Trainer::create(rnd_config(small_rnd({{"shared_encoder", shared}, {"learning_rate", "0"}})),
                        2)
            .take();
    ASSERT_TRUE(trainer->iterate().ok());
    const RolloutBlock& block = trainer->block();
    const ActorCritic& network = trainer->network();
    TileWorkspace<float> work = network.make_workspace<float>();
    const auto second_value = [&](const float* observation) {
      network.forward(trainer->params(), observation, 1, work);
      return work.values[kTileRows];
    };
    double spread = 0.0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      ASSERT_EQ(block.int_values[i], second_value(&block.observations.floats()[i * 4])) << i;
      spread += std::abs(block.int_values[i] - block.values[i]);
    }
    EXPECT_GT(spread, 1.0);
    for (std::size_t n = 0; n < static_cast<std::size_t>(block.N); ++n) {
      ASSERT_EQ(block.last_int_values[n], second_value(&block.last_observations.floats()[n * 4]));
    }
    const PpoCoefficients both{.ext_coef = 2.0, .int_coef = 0.5};
    EXPECT_EQ(learnt_advantage(block, both, 5),
              2.0F * block.advantages[5] + 0.5F * block.int_advantages[5]);
  }
}

// Also where each frame of a stack is stored once.
TEST(PpoRndRuns, GoOnWithWhatFollowedTheBlock) {
  for (const Overrides& more :
       {Overrides{{"norm_obs", "false"}},
        Overrides{{"env_id", "MinAtar/Breakout-v1"}, {"env.frame_stack", "3"}}}) {
    const auto trainer = Trainer::create(rnd_config(small_rnd(more)), 2).take();
    ASSERT_TRUE(trainer->iterate().ok());
    const auto rows = [&](const Observations& observations) {
      std::vector<float> out(static_cast<std::size_t>(trainer->block().N) * trainer->block().D);
      observations.read(0, static_cast<std::size_t>(trainer->block().N), out.data());
      return out;
    };
    const std::vector<float> followed = rows(trainer->block().last_observations);
    EXPECT_NE(followed, rows(trainer->block().observations));
    ASSERT_TRUE(trainer->iterate().ok());
    EXPECT_EQ(rows(trainer->block().observations), followed);
  }
}

// Repeated observations lose their novelty.
TEST(PpoRndRuns, LessIsNewAsTimeGoesOn) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  const auto trainer = Trainer::create(rnd_config({{"env_id", "FrozenLake8x8-v1"},
                                                   {"total_timesteps", "60000"},
                                                   {"num_envs", "16"},
                                                   {"num_steps", "64"}}),
                                       2)
                           .take();
  ASSERT_TRUE(trainer->iterate().ok());
  const double first = numbers_of(*trainer)["int_reward_raw"];
  while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
  std::map<std::string, double> last = numbers_of(*trainer);
  EXPECT_GT(first, 0.0);
  EXPECT_LT(last["int_reward_raw"], 0.2 * first);
  EXPECT_LT(last["rnd_loss"], 0.2 * 2.0 * first / 64.0);
  EXPECT_GT(last["int_explained_variance"], 0.0);
}

// The predictor's statistics begin with random play; the training environments do not change.
TEST(PpoRndRuns, BeginWithRandomPlayElsewhere) {
  const auto after_one = [](const char* blocks, const char* norm_obs) {
    auto trainer = Trainer::create(rnd_config(small_rnd({{"num_iterations_obs_norm_init", blocks},
                                                         {"norm_obs", norm_obs}})),
                                   1)
                       .take();
    EXPECT_TRUE(trainer->iterate().ok());
    return trainer;
  };
  const auto count_of = [](Trainer& trainer, const std::string& statistics) {
    for (const TensorRef& tensor : trainer.state()) {
      if (tensor.name == statistics + ".count") return *static_cast<const double*>(tensor.data);
    }
    return -1.0;
  };
  const auto with_play = after_one("3", "false"), without_play = after_one("0", "false");
  EXPECT_NEAR(count_of(*with_play, "algorithm.observations"), 4 * 37 * 13 + 1e-4, 1e-9);
  EXPECT_NEAR(count_of(*without_play, "algorithm.observations"), 37 * 13 + 1e-4, 1e-9);
  EXPECT_EQ(with_play->block().actions, without_play->block().actions);
  EXPECT_EQ(with_play->block().rewards, without_play->block().rewards);
  EXPECT_NE(with_play->block().int_rewards, without_play->block().int_rewards);
  // Shared statistics of policy and predictor also begin with random play.
  const auto one = after_one("3", "true");
  EXPECT_NEAR(count_of(*one, "obs_normalizer"), 4 * 37 * 13, 1e-9);
  EXPECT_EQ(count_of(*one, "algorithm.observations"), 1e-4);
}

// 26 moves between holes, with a reward only at the end. Random play does not reach it, so PPO
// learns nothing (experiments/rnd).
TEST(PpoRndRuns, FindTheEndOfACorridor) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  const auto final_return = [](const char* algorithm) {
    const Result<Config> config =
        resolve_config({{"env_id", "FrozenLake-v1"},
                        {"algorithm", algorithm},
                        {"env.desc", "SFFFFF/HHHHHF/FFFFFF/FHHHHH/FFFFFF/HHHHHF/GFFFFF"},
                        {"env.is_slippery", "false"},
                        {"total_timesteps", "400000"},
                        {"num_envs", "32"},
                        {"num_steps", "128"},
                        {"learning_rate", "1e-3"},
                        {"seed", "1"}});
    EXPECT_TRUE(config.ok()) << config.status().message();
    const auto trainer = Trainer::create(config.value(), 2).take();
    while (!trainer->finished()) EXPECT_TRUE(trainer->iterate().ok());
    return evaluate_policy(trainer->policy(), {20, 11, 2}).take().mean_return;
  };
  EXPECT_GE(final_return("ppo_rnd"), 0.9);
  EXPECT_EQ(final_return("ppo"), 0.0);
}

class PpoRndFolders : public InFolder {};

TEST_F(PpoRndFolders, AreRecordedResumedAndPlayed) {
  const Config config = rnd_config(small_rnd({{"checkpoint_interval", "3"}}));
  ASSERT_TRUE(start_run(config, at("whole"), 2, {}).ok());
  int left = 4;
  RunHooks stop;
  stop.should_stop = [&] { return --left == 0; };
  const Result<RunSummary> stopped = start_run(config, at("stopped"), 2, stop);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  ASSERT_FALSE(stopped.value().finished);
  ASSERT_TRUE(resume_run(at("stopped"), 1, {}).ok());
  const auto last = [&](const std::string& run) { return find_policy(at(run)).take().path; };
  const Result<SafetensorsFile> whole = parse_safetensors(read_file(last("whole")).take(), "whole");
  const Result<SafetensorsFile> again =
      parse_safetensors(read_file(last("stopped")).take(), "stopped");
  ASSERT_TRUE(whole.ok() && again.ok());
  EXPECT_EQ(whole.value().tensors.count("learner.companion.adam_v"), 1u);
  EXPECT_TRUE(whole.value().data == again.value().data);

  const Json line = Json::parse(read_ledger_line(at("whole") + "/ledger_line.json", 1).take());
  EXPECT_EQ(line["seeds"]["training"]["streams"]["rnd_mask"].integer<int>(), 26);

  const auto policy = LoadedPolicy::load(find_policy(at("whole")).take());
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  const Result<EvalResult> played = evaluate_policy(policy.value()->view(), {3, 11, 1});
  ASSERT_TRUE(played.ok()) << played.status().message();
  EXPECT_GT(played.value().mean_return, 0.0);
}

TEST(PpoRndConfig, TheContractSaysWhatIsPlayedBeside) {
  const auto contract_of = [](const char* blocks) {
    const Config config = rnd_config(small_rnd({{"num_iterations_obs_norm_init", blocks}}));
    return contract_text(make_contract(config, 1).take());
  };
  EXPECT_NE(contract_of("3").find("1,443 random steps"), std::string::npos) << contract_of("3");
  EXPECT_EQ(contract_of("0").find("random steps"), std::string::npos);
}

TEST(PpoRndConfig, RefusesWhatItCannot) {
  const auto refused = [](Overrides overrides) {
    overrides.push_back({"algorithm", "ppo_rnd"});
    Result<Config> config = resolve_config(overrides);
    if (!config.ok()) return config.status().message();
    return Trainer::create(config.value(), 1).status().message();
  };
  EXPECT_NE(refused({{"shape_schedule", "8x64 @ 0"}}).find("block to block"), std::string::npos);
  EXPECT_NE(refused({{"instruments", "gradient"}}).find("one value"), std::string::npos);
  EXPECT_NE(refused({{"rnd_hidden_sizes", "0"}}).find("rnd_hidden_sizes"), std::string::npos);
  const auto trainer = Trainer::create(rnd_config(small_rnd()), 1).take();
  EXPECT_NE(study_gradients(trainer->policy(), GradientStudyOptions(), {})
                .status()
                .message()
                .find("intrinsic rewards"),
            std::string::npos);
}

// Otherwise later rows would hide it.
TEST(RndSums, KeepAChangeThatIsNotANumber) {
  RndSums sums;
  sums.keep_change(0.5);
  sums.keep_change(std::numeric_limits<double>::quiet_NaN());
  sums.keep_change(2.0);
  EXPECT_TRUE(std::isnan(sums.max_error_change));
  RndSums all;
  all.add(sums);
  all.add(RndSums{.max_error_change = 3.0});
  EXPECT_TRUE(std::isnan(all.max_error_change));
}

}  // namespace
}  // namespace broadloom
