// Distillation: its loss against finite differences, its update against a slow reference, and its
// bits. teacher_test.cc has the teacher's file.
// sanitizers: address, threads
#include "broadloom/learn/distill.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/core/random.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/nn/policy_distribution.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "tests/learn/distilled_runs.h"
#include "tests/learn/finite_differences.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

NetworkShape box_shape() {
  NetworkShape shape;
  shape.observation_size = 4;
  shape.action_kind = SpaceKind::kBox;
  shape.action_outputs = 2;
  shape.hidden_sizes = {7, 5};
  return shape;
}

NetworkShape choices_shape() {
  NetworkShape shape = box_shape();
  shape.action_kind = SpaceKind::kMultiDiscrete;
  shape.action_outputs = 5;
  shape.action_heads = {2, 3};
  shape.masked = true;
  return shape;
}

struct LossCase {
  const char* name;
  NetworkShape shape;
  bool is_huber;
};

std::vector<LossCase> loss_cases() {
  NetworkShape both = box_shape();
  both.action_kind = SpaceKind::kHybrid;
  both.action_outputs = 5;
  both.action_heads = {3};
  return {{"mse", box_shape(), false},
          {"huber", box_shape(), true},
          {"choices", choices_shape(), false},
          {"choices and numbers", both, true}};
}

// A teacher's logits of invalid actions are those of forward().
void fill(DistillTile<double>& tile, const NetworkShape& shape, int rows, Random& random) {
  tile.rows = rows;
  for (double& x : tile.observations) x = random.normal();
  for (double& x : tile.labels) x = 1.5 * random.normal();
  std::fill(tile.valid.begin(), tile.valid.end(), 1);
  if (!shape.masked) return;
  for (int r = 0; r < rows; r += 3) {
    tile.valid[static_cast<std::size_t>(r) * 5 + 4] = 0;
    tile.labels[4 * kTileRows + static_cast<std::size_t>(r)] = kInvalidLogit;
  }
}

TEST(DistillLoss, EqualsFiniteDifferences) {
  constexpr int kRows = 23;
  for (const LossCase& one : loss_cases()) {
    const ActorCritic network(one.shape);
    Random random(3, Purpose::kUser, 0, 0);
    std::vector<double> params(network.parameter_count());
    for (double& p : params) p = 0.6 * random.normal();
    DistillTile<double> tile(one.shape);
    fill(tile, one.shape, kRows, random);
    const auto loss = [&](const std::vector<double>& parameters, std::vector<double>& grads) {
      std::vector<double> transposed(parameters.size());
      network.refresh_transposed(parameters.data(), transposed.data());
      TileWorkspace<double> work = network.make_workspace<double>();
      DistillSums sums;
      distill_tile_gradient(network, {one.is_huber, 3.0}, kRows, false, parameters.data(),
                            transposed.data(), tile, work, grads.data(), sums);
      return 3.0 * sums.loss / kRows;
    };
    SCOPED_TRACE(one.name);
    expect_gradient_of_differences(params, loss);
  }
}

// A block whose student acted in it, with labels that are drawn.
struct Scene {
  static constexpr int kSteps = 6, kEnvs = 5;

  explicit Scene(const NetworkShape& shape)
      : network(shape),
        learner(network.parameter_count()),
        block(BlockSizes{.T = kSteps,
                         .N = kEnvs,
                         .D = 4,
                         .A = shape.action_size(),
                         .policy_outputs = shape.action_outputs,
                         .with_labels = true}) {
    network.initialise(5, learner.params.data());
    learner.learning_rate = 1e-2;
    Random random(11, Purpose::kUser, 0, 0);
    for (float& x : block.observations.floats()) x = static_cast<float>(random.normal());
    for (float& x : block.labels) x = static_cast<float>(random.normal());
    act();
  }

  // Draws nothing: the actions are the means.
  void act() {
    TileWorkspace<float> work = network.make_workspace<float>();
    const PolicyDistribution policy(network.shape());
    const std::size_t actions = static_cast<std::size_t>(block.A);
    const auto terms_of = static_cast<std::size_t>(PolicyDistribution::term_rows(network.shape()));
    std::vector<float> best(actions * kTileRows), terms(terms_of * kTileRows),
        normalisers(best.size()), log_prob(kTileRows);
    for (std::size_t i = 0; i < block.size(); ++i) {
      network.forward(learner.params.data(), &block.observations.floats()[i * 4], 1, work);
      policy.best(work.policy.data(), 1, best.data());
      policy.log_probs({.outputs = work.policy.data(),
                        .log_std = work.log_std.data(),
                        .actions = best.data(),
                        .rows = 1,
                        .terms = terms.data(),
                        .normalisers = normalisers.data(),
                        .head_entropies = nullptr},
                       log_prob.data());
      for (std::size_t a = 0; a < actions; ++a) {
        block.actions[i * actions + a] = best[a * kTileRows];
      }
      block.log_probs[i] = log_prob[0];
    }
  }

  Status update(const DistillSettings& settings, int threads, int minibatches) {
    ThreadPool pool(threads);
    Distill distill(network, settings, kSteps * kEnvs, minibatches, 4, block.A, pool);
    const Status status = distill.update(block, 1, 1, learner);
    distill.visit_numbers([&](const NumberInfo& info, double value) {
      if (info.name == std::string("behavior_loss")) behavior_loss = value;
    });
    return status;
  }

  ActorCritic network;
  Learner learner;
  RolloutBlock block;
  double behavior_loss = 0.0;
};

// The mean loss of one time step over all environments, one row at a time.
double step_loss(const Scene& scene, const std::vector<double>& params, int t, bool is_huber) {
  TileWorkspace<double> work = scene.network.make_workspace<double>();
  double sum = 0.0;
  for (int n = 0; n < Scene::kEnvs; ++n) {
    const std::size_t i = scene.block.index(t, n);
    std::vector<double> seen(4);
    for (std::size_t d = 0; d < 4; ++d) {
      std::vector<float> row(4);
      scene.block.observations.read(i, 1, row.data());
      seen[d] = static_cast<double>(row[d]);
    }
    scene.network.forward(params.data(), seen.data(), 1, work, NetworkSide::kPolicy);
    for (std::size_t a = 0; a < 2; ++a) {
      const double error =
          work.policy[a * kTileRows] - static_cast<double>(scene.block.labels[i * 2 + a]);
      const double far = std::abs(error);
      sum += (is_huber ? (far < 1.0 ? 0.5 * error * error : far - 0.5) : error * error) / 2.0;
    }
  }
  return sum / Scene::kEnvs;
}

// Sums of time steps' losses, differentiated numerically; Adam by its definition.
TEST(DistillUpdate, IsThatOfItsDefinition) {
  for (const bool is_huber : {false, true}) {
    Scene scene(box_shape());
    const std::size_t count = scene.learner.params.size();
    std::vector<double> p(scene.learner.params.begin(), scene.learner.params.end()), m(count),
        v(count);
    double mean = 0.0;
    constexpr int kLength = 3;
    for (int chunk = 0; chunk < 2; ++chunk) {
      const auto loss = [&](const std::vector<double>& params) {
        double sum = 0.0;
        for (int t = chunk * kLength; t < (chunk + 1) * kLength; ++t) {
          sum += step_loss(scene, params, t, is_huber);
        }
        return sum;
      };
      mean += loss(p) / 6.0;
      std::vector<double> gradient(count);
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> up = p, down = p;
        up[i] += 1e-6;
        down[i] -= 1e-6;
        gradient[i] = (loss(up) - loss(down)) / 2e-6;
      }
      for (std::size_t i = 0; i < count; ++i) {
        m[i] = 0.9 * m[i] + 0.1 * gradient[i];
        v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
        const double unbiased = m[i] / (1.0 - std::pow(0.9, chunk + 1));
        const double scale = std::sqrt(v[i] / (1.0 - std::pow(0.999, chunk + 1)));
        if (std::abs(gradient[i]) > 1e-7) p[i] -= 1e-2 * unbiased / (scale + 1e-8);
      }
    }
    DistillSettings settings;
    settings.loss = {is_huber, kLength};
    const Status status = scene.update(settings, 1, 2);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_NEAR(scene.behavior_loss, mean, 1e-6);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(scene.learner.params[i], p[i], 2e-5) << i << " " << is_huber;
    }
  }
}

TEST(DistillUpdate, LeavesCriticAndDeviationsAsTheyAre) {
  Scene scene(box_shape());
  const AlignedVector<float> before = scene.learner.params;
  ASSERT_TRUE(scene.update({}, 2, 2).ok());
  for (const ParameterRange& range : scene.network.ranges(NetworkSide::kValue)) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      EXPECT_EQ(scene.learner.params[i], before[i]) << i;
    }
  }
  const std::size_t first = scene.network.log_std_offset();
  EXPECT_EQ(scene.learner.params[first], before[first]);
  EXPECT_NE(scene.learner.params[0], before[0]);
}

TEST(DistillUpdate, FailsIfTheBlockIsOfOtherParameters) {
  Scene scene(box_shape());
  scene.block.log_probs[7] += 0.5f;
  const Status status = scene.update({}, 1, 2);
  EXPECT_EQ(status.kind(), ErrorKind::kNumeric);
  EXPECT_NE(status.message().find("log-probabilities"), std::string::npos);
}

// The teacher reads the critic's observation where numbers are hidden from the student.
TEST_F(DistilledRuns, LabelsAreTheTeachersOutputs) {
  const std::string source = teacher("t");
  for (const bool hides : {false, true}) {
    Overrides more;
    if (hides) more = {{"env.hide_obs", "1,3"}, {"env.hide_from", "policy"}, {"norm_obs", "false"}};
    if (!hides) more = {{"norm_obs", "false"}};
    const std::unique_ptr<Trainer> trainer = trainer_of(resolved(student_keys(source, more)), 2);
    ASSERT_NE(trainer, nullptr);
    EXPECT_EQ(trainer->teacher()->reads_critic, hides);
    run(*trainer, 1);
    const std::unique_ptr<LoadedPolicy> loaded =
        LoadedPolicy::load(find_policy(source).value()).take();
    const Policy policy = loaded->view();
    TileWorkspace<float> work = policy.network.make_workspace<float>();
    const RolloutBlock& block = trainer->block();
    const Observations& seen = hides ? block.critic_observations : block.observations;
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::vector<float> row(4);
      seen.read(i, 1, row.data());
      policy.obs_norm->normalize(row.data(), 1, row.data());
      policy.network.forward(policy.params, row.data(), 1, work, NetworkSide::kPolicy);
      EXPECT_EQ(block.labels[2 * i], work.policy[0]);
      EXPECT_EQ(block.labels[2 * i + 1], work.policy[kTileRows]);
    }
  }
}

// The policy of SAPG's leader also gives log deviations, which are no labels.
TEST_F(DistilledRuns, LearnFromALeadersMeans) {
  const std::string source = teacher("t", {{"env_id", "Pendulum-v1"}, {"sapg_policies", "2"}});
  const std::unique_ptr<Trainer> trainer =
      trainer_of(resolved(student_keys(source, {{"env_id", "Pendulum-v1"}})), 2);
  ASSERT_NE(trainer, nullptr);
  run(*trainer, 1);
  const std::unique_ptr<LoadedPolicy> loaded =
      LoadedPolicy::load(find_policy(source).value()).take();
  const Policy policy = loaded->view();
  TileWorkspace<float> work = policy.network.make_workspace<float>();
  const RolloutBlock& block = trainer->block();
  ASSERT_EQ(block.labels.size(), block.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::vector<float> row(3);
    block.observations.read(i, 1, row.data());
    policy.obs_norm->normalize(row.data(), 1, row.data());
    policy.network.forward(policy.params, row.data(), 1, work, NetworkSide::kPolicy);
    EXPECT_EQ(block.labels[i], work.policy[0]) << i;
  }
}

// Their loss has no entropy and no gradient of advantages, which the instruments would measure.
TEST_F(DistilledRuns, LeaveOutTheInstrumentsNumbersOfPpo) {
  const std::string source = teacher("t");
  const std::unique_ptr<Trainer> trainer =
      trainer_of(resolved(student_keys(
                     source, {{"instruments", "audit,gradient"}, {"instrument_every", "1"}})),
                 2);
  ASSERT_NE(trainer, nullptr);
  run(*trainer, 2);
  int found = 0;
  trainer->instruments().visit_numbers([&](const NumberInfo& info, double value) {
    const std::string name = info.name;
    if (name == "audit/relative_entropy" || name == "grad/sample_norm") {
      EXPECT_TRUE(std::isnan(value)) << name;
      ++found;
    }
    if (name == "grad/full_norm") EXPECT_GT(value, 0.0);
  });
  EXPECT_EQ(found, 2);
}

TEST_F(DistilledRuns, HaveTheSameBitsForAnyThreads) {
  const std::string source = teacher("t");
  for (const Overrides& more : {Overrides{}, Overrides{{"recurrent", "gru"},
                                                       {"env.hide_obs", "1,3"},
                                                       {"env.hide_from", "policy"},
                                                       {"update_epochs", "2"}}}) {
    std::string first;
    for (const int threads : {1, 2, 5}) {
      const std::unique_ptr<Trainer> trainer =
          trainer_of(resolved(student_keys(source, more)), threads);
      ASSERT_NE(trainer, nullptr);
      run(*trainer, 4);
      if (first.empty()) first = bytes_of(*trainer);
      EXPECT_EQ(bytes_of(*trainer), first) << threads;
    }
  }
}

// The scratch of choices and numbers is larger than an action.
TEST_F(DistilledRuns, LearnChoicesBesideNumbers) {
  const std::string source = teacher("t", {{"env_id", "Golf-v0"}});
  std::string first;
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<Trainer> trainer =
        trainer_of(resolved(student_keys(source, {{"env_id", "Golf-v0"}})), threads);
    ASSERT_NE(trainer, nullptr);
    run(*trainer, 3);
    if (first.empty()) first = bytes_of(*trainer);
    EXPECT_EQ(bytes_of(*trainer), first) << threads;
  }
}

// A student acts for itself: no teacher is needed to evaluate it, or to begin PPO with it.
TEST_F(DistilledRuns, GiveAPolicyOfTheirOwn) {
  const std::string source = teacher("t");
  start("student", resolved(student_keys(source)));
  std::filesystem::remove_all(source);
  const Result<std::unique_ptr<LoadedPolicy>> policy =
      LoadedPolicy::load(find_policy(at("student")).value());
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  const Config ppo = resolved({{"env_id", "CartPole-v1"},
                               {"num_envs", "8"},
                               {"num_steps", "16"},
                               {"total_timesteps", "256"},
                               {"hidden_sizes", "6,5"},
                               {"norm_obs", "true"}});
  const Result<InitialPolicy> init = read_initial_policy(at("student"));
  ASSERT_TRUE(init.ok()) << init.status().message();
  const Result<RunSummary> run = start_run(ppo, at("ppo"), 1, {}, {}, init.value());
  EXPECT_TRUE(run.ok()) << run.status().message();
}

// The student copies a teacher closely on Pendulum: 30,000 steps leave a mean squared distance of
// at most a tenth of the first.
TEST_F(DistilledRuns, ComeNearTheTeacher) {
  RELEASE_ONLY("it trains for a while");
  const std::string source =
      teacher("t", {{"env_id", "Pendulum-v1"}, {"total_timesteps", "20480"}});
  for (const char* loss : {"mse", "huber"}) {
    const std::unique_ptr<Trainer> trainer =
        trainer_of(resolved(student_keys(source, {{"env_id", "Pendulum-v1"},
                                                  {"distill_loss", loss},
                                                  {"num_steps", "60"},
                                                  {"gradient_length", "15"},
                                                  {"hidden_sizes", "32,32"},
                                                  {"total_timesteps", "30000"}})));
    ASSERT_NE(trainer, nullptr);
    const auto distance = [&] { return trainer->report().update[0].value; };
    run(*trainer, 1);
    const double first = distance();
    while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
    EXPECT_LT(distance(), 0.1 * first) << loss;
  }
}

}  // namespace
}  // namespace broadloom
