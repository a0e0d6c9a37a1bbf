// PQN: compares its loss with finite differences, its targets with their definition and its
// optimiser with torch's. Tests whole runs.
// sanitizers: address, threads
#include "broadloom/learn/pqn.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/random.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/learn/optimizer.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/audit/run_audit.h"
#include "research/lab/gradient_study.h"
#include "tests/learn/finite_differences.h"
#include "tests/learn/trained.h"
#include "tests/support/release_only.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

NetworkShape q_network(int actions) {
  NetworkShape shape;
  shape.observation_size = 5;
  shape.action_outputs = actions;
  shape.hidden_sizes = {9, 7};
  shape.normalisation = Normalisation::kChannels;
  shape.action_values = true;
  return shape;
}

TEST(PqnLoss, EqualsFiniteDifferences) {
  constexpr int kRows = 23;
  const ActorCritic network(q_network(4));
  Random random(3, Purpose::kUser, 0, 0);
  std::vector<double> params(network.parameter_count());
  for (double& p : params) p = 0.4 * random.normal();
  PqnTile<double> tile(5);
  tile.rows = kRows;
  for (double& x : tile.observations) x = random.normal();
  for (int r = 0; r < kRows; ++r) {
    tile.actions[r] = random.below(4);
    tile.targets[r] = random.normal();
  }
  const auto loss = [&](const std::vector<double>& parameters, std::vector<double>& grads) {
    std::vector<double> transposed(parameters.size());
    network.refresh_transposed(parameters.data(), transposed.data());
    TileWorkspace<double> work = network.make_workspace<double>();
    PqnSums sums;
    pqn_tile_gradient(network, 1.5, kRows, parameters.data(), transposed.data(), tile, work,
                      grads.data(), sums);
    return 1.5 * sums.td_loss / kRows;
  };
  expect_gradient_of_differences(params, loss);
}

// G_t = r + gamma (1 - terminated) (lambda G_{t+1} + (1 - lambda) max Q(s_{t+1})), backwards.
TEST(PqnTargets, AreThoseOfQLambda) {
  constexpr int kSteps = 6;
  const ActorCritic network(q_network(3));
  ThreadPool pool(1);
  PqnSettings settings;
  settings.gamma = 0.9;
  settings.gae_lambda = 0.65;
  const Pqn pqn(network, settings, kSteps, 1, 5, pool);
  RolloutBlock block(kSteps, 1, 5, 1, 1);
  Random random(4, Purpose::kUser, 0, 0);
  for (int t = 0; t < kSteps; ++t) {
    block.values[t] = static_cast<float>(random.normal());
    block.rewards[t] = static_cast<float>(random.normal());
  }
  block.last_values[0] = 0.7f;
  block.final_values[0] = -1.3f;
  block.terminated[1] = 1;
  block.truncated[3] = 1;
  block.truncations[0] = 1;
  pqn.compute_targets(block, 0, 1);
  double next = 0.0;
  for (int t = kSteps - 1; t >= 0; --t) {
    const double value = t == kSteps - 1 ? block.last_values[0] : block.values[t + 1];
    const double ahead = t == kSteps - 1 ? value : 0.65 * next + 0.35 * value;
    double expected = block.rewards[t] + 0.9 * ahead;
    if (t == 1) expected = block.rewards[t];
    if (t == 3) expected = block.rewards[t] + 0.9 * -1.3;
    EXPECT_NEAR(block.advantages[t] + block.values[t], expected, 1e-6) << t;
    next = expected;
  }
}

// torch.optim.RAdam with lr 0.01 on p = (1, -2, 0.5), whose gradient at step t is
// sin(t + i) (i + 1): after 5, 6 and 12 steps, in float64.
TEST(Radam, StepsAsTorchDoes) {
  const double expected[][3] = {{0.9754227219943254, -2.0188980979045285, 0.5430997601849387},
                                {0.9754654219922021, -2.01887463947308, 0.5430809037326916},
                                {0.9752573630226277, -2.018830180031855, 0.5433490222048483}};
  float p[] = {1.0f, -2.0f, 0.5f}, m[3] = {}, v[3] = {};
  int seen = 0;
  for (int t = 1; t <= 12; ++t) {
    float grad[3];
    for (int i = 0; i < 3; ++i) grad[i] = static_cast<float>(std::sin(t + i) * (i + 1));
    const AdamStep step = optimizer_step(Optimizer::kRadam, 0.01, 1e-8, t);
    EXPECT_EQ(step.is_adaptive, t >= 6) << t;
    adam_update(p, m, v, grad, 3, step);
    if (t != 5 && t != 6 && t != 12) continue;
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(p[i], expected[seen][i], 1e-6) << t << ", " << i;
    ++seen;
  }
  EXPECT_EQ(seen, 3);
}

// 4,000 rows of 4 actions of which the second is best.
TEST(EpsilonGreedy, DrawsAsOftenAsItSays) {
  constexpr int kActions = 4, kBlocks = 4000;
  const EpsilonGreedy actor(kActions, {0.3, 0.3, 1.0});
  std::vector<float> outputs(kActions * kTileRows, 0.0f);
  std::fill_n(outputs.begin() + kTileRows, kTileRows, 1.0f);
  std::vector<float> actions(kTileRows), log_probs(kTileRows), draws(kTileRows), terms(kTileRows);
  double counts[kActions] = {};
  for (int block = 0; block < kBlocks; ++block) {
    actor.act({nullptr,
               outputs.data(),
               {5, Purpose::kAction, 0, static_cast<std::uint64_t>(block), kTileRows},
               actions.data(),
               log_probs.data(),
               draws.data(),
               terms.data()});
    for (int r = 0; r < kTileRows; ++r) {
      counts[static_cast<int>(actions[r])] += 1.0;
      EXPECT_NEAR(log_probs[r], std::log(actions[r] == 1.0f ? 0.775 : 0.075), 1e-6);
    }
  }
  const double total = kBlocks * kTileRows;
  for (int a = 0; a < kActions; ++a) {
    const double p = a == 1 ? 0.775 : 0.075;
    EXPECT_NEAR(counts[a] / total, p, 6.0 * std::sqrt(p * (1.0 - p) / total)) << a;
  }
}

Config pqn_config(const Overrides& overrides) {
  Overrides all{{"algorithm", "pqn"}, {"env_id", "CartPole-v1"}};
  return resolved(add_overrides(all, overrides));
}

Overrides small_pqn(const Overrides& more = {}) {
  Overrides all{{"num_envs", "37"},          {"num_steps", "13"},      {"hidden_sizes", "16,8"},
                {"total_timesteps", "5000"}, {"num_minibatches", "4"}, {"seed", "7"}};
  return add_overrides(all, more);
}

std::string trained_pqn(const Overrides& overrides, int threads) {
  return state_after_training(pqn_config(overrides), threads);
}

TEST(PqnRuns, HaveTheSameBitsForAnyThreadsAndInstruments) {
  const std::string expected = trained_pqn(small_pqn(), 1);
  for (const int threads : {2, 5})
    EXPECT_EQ(trained_pqn(small_pqn(), threads), expected) << threads;
  EXPECT_EQ(trained_pqn(
                small_pqn({{"instruments", "plasticity,coverage"}, {"instrument_every", "2"}}), 2),
            expected);
}

// The update's rewards are scaled, reported returns are not.
TEST(PqnRuns, LearnFromScaledRewards) {
  const auto after_one = [](const char* scale) {
    auto trainer = Trainer::create(pqn_config(small_pqn({{"reward_scale", scale}})), 1).take();
    EXPECT_TRUE(trainer->iterate().ok());
    return trainer;
  };
  const auto plain = after_one("1"), scaled = after_one("0.5");
  for (std::size_t i = 0; i < plain->block().rewards.size(); ++i) {
    ASSERT_EQ(scaled->block().rewards[i], 0.5f * plain->block().rewards[i]);
  }
  EXPECT_EQ(scaled->report().mean_return, plain->report().mean_return);
}

TEST(PqnRuns, LetEpsilonFall) {
  std::unique_ptr<Trainer> trainer =
      Trainer::create(pqn_config(small_pqn({{"eps_decay", "0.5"}, {"eps_finish", "0.1"}})), 1)
          .take();
  std::vector<double> epsilons;
  while (!trainer->finished()) {
    ASSERT_TRUE(trainer->iterate().ok());
    for (const UpdateNumber& number : trainer->report().update) {
      if (std::string(number.info.name) == "epsilon") epsilons.push_back(number.value);
    }
  }
  ASSERT_GE(epsilons.size(), 8u);
  EXPECT_EQ(epsilons.front(), 1.0);
  EXPECT_NEAR(epsilons[2], 1.0 - 0.9 * 2.0 / (0.5 * static_cast<double>(epsilons.size())), 1e-9);
  EXPECT_EQ(epsilons.back(), 0.1);
}

class PqnFolders : public InFolder {};

TEST_F(PqnFolders, ArePlayedAsFarAsTheyHaveCome) {
  const Config config = pqn_config(small_pqn({{"eps_finish", "0"}, {"eps_decay", "0.5"}}));
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  const auto loaded = LoadedPolicy::load(find_policy(at("run")).take()).take();
  const auto lengths = [&](EvalActions actions, std::int64_t global_step) {
    Policy policy = loaded->view();
    policy.origin.global_step = global_step;
    std::vector<int> out;
    for (const EvalEpisode& episode :
         play_episodes(policy, {.episodes = 40, .actions = actions}).take()) {
      out.push_back(episode.length);
    }
    return out;
  };
  const std::int64_t end = loaded->view().origin.global_step;
  const std::vector<int> best = lengths(EvalActions::kMostLikely, end);
  EXPECT_EQ(lengths(EvalActions::kSampled, end), best);
  EXPECT_NE(lengths(EvalActions::kSampled, 0), best);
}

TEST_F(PqnFolders, CanBeAudited) {
  ASSERT_TRUE(start_run(pqn_config(small_pqn()), at("run"), 1, {}).ok());
  const Result<AuditReport> report = audit_run(at("run"), {.iterations = 2});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().iterations, 2);
}

TEST_F(PqnFolders, AreRecordedAndResumed) {
  const Config config = pqn_config(small_pqn({{"checkpoint_interval", "3"}}));
  ASSERT_TRUE(start_run(config, at("whole"), 2, {}).ok());
  int left = 4;
  RunHooks stop;
  stop.should_stop = [&] { return --left == 0; };
  const Result<RunSummary> stopped = start_run(config, at("stopped"), 2, stop);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  ASSERT_FALSE(stopped.value().finished);
  ASSERT_TRUE(resume_run(at("stopped"), 1, {}).ok());
  const auto hash = [&](const std::string& run) {
    const Json line = Json::parse(read_file(at(run) + "/ledger_line.json").take());
    return line["result"]["parameters_hash"].text();
  };
  EXPECT_EQ(hash("whole"), hash("stopped"));
}

// Random play has a return of 22; the maximum is 500.
TEST(PqnRuns, LearnCartPole) {
  RELEASE_ONLY("learns until a bar is reached: the same code many times over");
  std::unique_ptr<Trainer> trainer =
      Trainer::create(pqn_config({{"reward_scale", "0.1"}, {"hidden_sizes", "64,64"}}), 2).take();
  while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
  const Result<EvalResult> played = evaluate_policy(trainer->policy(), {50, 11, 2});
  ASSERT_TRUE(played.ok()) << played.status().message();
  EXPECT_GE(played.value().mean_return, 400.0);
}

// A run that was as long from the start would have explored more at each step: the longer one keeps
// to what it was.
TEST_F(PqnFolders, MadeLongerExploreAsTheyCameTo) {
  const Config config = pqn_config(small_pqn({{"lr_schedule", "constant"}}));
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  EXPECT_TRUE(depends_on_total(config));
  const std::int64_t total = config.total_timesteps;
  ASSERT_TRUE(resume_run(at("run"), 1, {}, total + 2 * config.batch_size()).ok());
  Config whole = config;
  whole.total_timesteps = total + 2 * config.batch_size();
  whole.schedule_timesteps = total;
  ASSERT_TRUE(start_run(whole, at("whole"), 1, {}).ok());
  const auto params = [&](const char* name) {
    return read_initial_policy(at(name)).take().source.parameters_hash;
  };
  EXPECT_EQ(params("run"), params("whole"));
  EXPECT_FALSE(
      depends_on_total(pqn_config(small_pqn({{"lr_schedule", "constant"}, {"eps_finish", "1"}}))));
}

// Draws are the same as in the run's next block.
TEST(PqnRuns, ArePlayedAsTheyExplore) {
  const auto lengths = [](double epsilon, EvalActions actions) {
    const std::string text = std::to_string(epsilon);
    const auto trainer =
        Trainer::create(
            pqn_config({{"hidden_sizes", "8"}, {"eps_start", text}, {"eps_finish", text}}), 1)
            .take();
    const auto played = play_episodes(trainer->policy(), {.episodes = 40, .actions = actions});
    EXPECT_TRUE(played.ok()) << played.status().message();
    std::vector<int> out;
    for (const EvalEpisode& episode : played.value()) out.push_back(episode.length);
    return out;
  };
  const std::vector<int> best = lengths(0.0, EvalActions::kMostLikely);
  EXPECT_EQ(lengths(0.0, EvalActions::kSampled), best);
  EXPECT_EQ(lengths(1.0, EvalActions::kMostLikely), best);
  EXPECT_NE(lengths(1.0, EvalActions::kSampled), best);
}

// The laboratory needs unscaled returns.
TEST(PqnConfig, TheLaboratorySaysWhatItCannotStudy) {
  const auto refused = [](const Overrides& more) {
    Overrides all{{"env_id", "CartPole-v1"}, {"hidden_sizes", "8"}};
    all.insert(all.end(), more.begin(), more.end());
    const auto trainer = Trainer::create(resolve_config(all).take(), 1).take();
    return study_gradients(trainer->policy(), GradientStudyOptions(), {}).status().message();
  };
  EXPECT_NE(refused({{"reward_scale", "0.5"}}).find("reward_scale = 0.5"), std::string::npos);
}

TEST(PqnConfig, RefusesWhatItHasNot) {
  const auto refused = [](const Overrides& overrides) {
    Result<Config> config = resolve_config(overrides);
    if (!config.ok()) return config.status().message();
    return Trainer::create(config.value(), 1).status().message();
  };
  EXPECT_NE(refused({{"algorithm", "pqn"}, {"env_id", "Pendulum-v1"}}).find("Discrete"),
            std::string::npos);
  EXPECT_NE(refused({{"algorithm", "pqn"}, {"target_kl", "0.1"}}).find("algorithm = pqn"),
            std::string::npos);
  EXPECT_NE(
      refused({{"algorithm", "pqn"}, {"truncation_mode", "zero"}}).find("truncation_mode = zero"),
      std::string::npos);
  EXPECT_NE(refused({{"encoder", "nature"}}).find("nature"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
