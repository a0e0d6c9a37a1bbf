// The laboratory with other losses than the policy's, and with memory: against the trainer's own
// gradients, on cases whose answer is known, over threads, and refusals.
// sanitizers: none
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/learn/partial_gradients.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/pqn_loss.h"
#include "broadloom/rollout/minibatches.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/trainer.h"
#include "research/lab/bias.h"
#include "research/lab/block_rows.h"
#include "research/lab/gradient_study.h"
#include "research/lab/study_options.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

std::unique_ptr<Trainer> learner_with(const Overrides& more) {
  const Overrides keys = {{"env_id", "CartPole-v1"},   {"num_envs", "8"},
                          {"num_steps", "12"},         {"num_minibatches", "2"},
                          {"max_episode_steps", "20"}, {"hidden_sizes", "6"},
                          {"total_timesteps", "960"}};
  std::unique_ptr<Trainer> trainer = trainer_of(resolved(add_overrides(keys, more)));
  run(*trainer, 3);
  return trainer;
}

// The trainer's gradient of a block, in sequences of `window` steps with memory.
template <class Loss>
std::vector<float> trained_gradient(const Policy& policy, const Loss& loss, FrozenBlock block,
                                    int window, ThreadPool& pool) {
  if (policy.network.is_recurrent()) {
    const std::vector<float> all = block.states;
    const std::size_t line = static_cast<std::size_t>(block.N) * block.state_size;
    block.sequence = window;
    block.states.clear();
    for (int t = 0; t < block.T; t += window) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(t * line);
      block.states.insert(block.states.end(), first, first + static_cast<std::ptrdiff_t>(line));
    }
  }
  const int samples = static_cast<int>(block.size());
  const int steps = policy.network.is_recurrent() ? window : 1;
  Minibatches order(samples, 1, steps, sequences_per_tile(policy.network.shape().recurrent, steps),
                    Shuffle::kOff);
  order.shuffle(0, 0, 0, {}, block.N);
  PartialGradients<Loss> gradients(policy.network, loss, samples, policy.spec.observation_size(),
                                   policy.spec.action_size(), pool);
  const auto gradient =
      gradients.compute({block, order.indices(0), samples, {}, policy.params, 1}).gradient;
  return {gradient.begin(), gradient.end()};
}

struct LossCase {
  std::string name;
  Overrides keys;
  MeasuredLoss loss;
  int window = 12;  // sequence_length, or all steps
};

class Losses : public ::testing::TestWithParam<LossCase> {};

// The mean of a block's samples is minus the gradient that training would take.
TEST_P(Losses, OfSamplesAddUpToTheTrainersGradient) {
  const LossCase& c = GetParam();
  const std::unique_ptr<Trainer> trainer = learner_with(c.keys);
  const Policy policy = trainer->policy();
  ThreadPool pool(2);
  EstimatorSettings settings;
  settings.gamma = policy.config.gamma;
  settings.lambdas = {policy.config.gae_lambda};
  settings.terms.score = score_of(c.loss);
  settings.window = policy.config.sequence_length;
  Result<StartPool> starts = StartPool::create(policy, 1, pool, 32);
  ASSERT_TRUE(starts.ok());
  const auto collected = BlockSource(policy, &starts.value(), 1, pool).collect({5, 12}, 1, 0);
  ASSERT_TRUE(collected.ok());
  FrozenBlock& block = *collected.value();
  const auto weights =
      advantages_by_lambda(block, settings.gamma, settings.lambdas, truncation_mode(policy.config),
                           gae_weights(policy.config));
  BlockRows rows;
  BlockReader(policy, settings).read(block, weights, {5, 12}, 0, rows);
  std::vector<float> mean(policy.network.parameter_count());
  add_weighted_sum(rows.factors[0], rows.weights[0].data(), mean.data());
  PpoCoefficients coefficients;
  coefficients.ent_coef = coefficients.vf_coef = 0.0;
  coefficients.clip_vloss = false;
  std::vector<float> trained;
  if (c.loss == MeasuredLoss::kTd) {
    trained = trained_gradient(policy, PqnLoss(), block, c.window, pool);
  } else {
    trained = trained_gradient(policy, PpoLoss{coefficients}, block, c.window, pool);
  }
  if (c.loss == MeasuredLoss::kValue) {
    coefficients.vf_coef = 1.0;
    const std::vector<float> both =
        trained_gradient(policy, PpoLoss{coefficients}, block, c.window, pool);
    for (std::size_t p = 0; p < trained.size(); ++p) trained[p] = both[p] - trained[p];
  }
  double largest = 0.0;
  for (const float g : trained) largest = std::max(largest, std::abs(static_cast<double>(g)));
  ASSERT_GT(largest, 1e-4);
  for (std::size_t p = 0; p < trained.size(); ++p) {
    ASSERT_NEAR(-mean[p] / 60.0, trained[p], 2e-5 * largest) << p;
  }
}

// With the limit as an end, lambda 1 and blocks that are whole episodes, nothing is bootstrapped
// and no window cuts: both gradients are one. Pendulum's episodes all have the same length.
TEST_P(Losses, AreWithoutBiasInWholeEpisodes) {
  LossCase c = GetParam();
  if (c.loss == MeasuredLoss::kTd) GTEST_SKIP() << "Pendulum's actions are no choices";
  if (c.window < 12) GTEST_SKIP() << "windows cut episodes";
  for (const auto& [key, value] : Overrides{{"env_id", "Pendulum-v1"},
                                            {"max_episode_steps", "8"},
                                            {"truncation_mode", "as_termination"}}) {
    c.keys.emplace_back(key, value);
  }
  const std::unique_ptr<Trainer> trainer = learner_with(c.keys);
  ThreadPool pool(2);
  BiasSettings settings{{8, 2}, {1.0}, {0.9}, 0.1, 20000};
  settings.score = score_of(c.loss);
  const auto results = study_bias(trainer->policy(), nullptr, settings, 1, pool);
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_LT(std::abs(results.value()[0].bias_squared.value),
            1e-5 * std::abs(results.value()[1].bias_squared.value));
}

TEST_P(Losses, DoNotDependOnThreads) {
  const LossCase& c = GetParam();
  const std::unique_ptr<Trainer> trainer = learner_with(c.keys);
  GradientStudyOptions options;
  options.loss = c.loss;
  options.shapes = {{4, 12}};
  options.blocks = 40;
  options.bias_budget = 4000;
  options.start_envs = 32;
  const auto one = study_gradients(trainer->policy(), options, {});
  options.threads = 3;
  const auto three = study_gradients(trainer->policy(), options, {});
  ASSERT_TRUE(one.ok()) << one.status().message();
  ASSERT_TRUE(three.ok());
  const GradientStudyReport &a = one.value(), &b = three.value();
  EXPECT_EQ(a.loss, loss_name(c.loss));
  ASSERT_EQ(a.variance->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const VarianceResult &x = (*a.variance)[i], &y = (*b.variance)[i];
    EXPECT_TRUE(x.parts_agree);
    EXPECT_EQ(x.total.value, y.total.value);
    EXPECT_EQ(x.variance_inflation.high, y.variance_inflation.high);
    EXPECT_EQ((*a.bias)[i].bias_squared.high, (*b.bias)[i].bias_squared.high);
    EXPECT_GT((*a.bias)[i].bias_squared.value, 0.0);
  }
  const std::size_t kinds = c.loss == MeasuredLoss::kPolicy ? 2 : 1;
  ASSERT_EQ(a.agreement->size() % (3 * kinds), 0u);
  for (std::size_t i = 0; i < a.agreement->size(); ++i) {
    const double value = (*a.agreement)[i].agreement.value;
    if (std::isfinite(value)) EXPECT_EQ(value, (*b.agreement)[i].agreement.value);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Losses,
    ::testing::Values(LossCase{"value", {}, MeasuredLoss::kValue},
                      LossCase{"value_shared", {{"shared_encoder", "true"}}, MeasuredLoss::kValue},
                      LossCase{"td", {{"algorithm", "pqn"}}, MeasuredLoss::kTd},
                      LossCase{"mingru", {{"recurrent", "mingru"}}, MeasuredLoss::kPolicy},
                      LossCase{"gru_windows",
                               {{"recurrent", "gru"}, {"sequence_length", "4"}},
                               MeasuredLoss::kPolicy,
                               4},
                      LossCase{"lstm_value", {{"recurrent", "lstm"}}, MeasuredLoss::kValue},
                      LossCase{
                          "td_gru",
                          {{"algorithm", "pqn"}, {"recurrent", "gru"}, {"sequence_length", "6"}},
                          MeasuredLoss::kTd,
                          6}),
    [](const auto& info) { return info.param.name; });

void expect_study_refused(const Policy& policy, const GradientStudyOptions& options,
                          const std::string& words) {
  const auto report = study_gradients(policy, options, {});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().message().find(words), std::string::npos) << report.status().message();
}

// As in training, blocks are whole sequences; the usual shapes are, too.
TEST(ShapesWithMemory, AreWholeSequences) {
  const std::unique_ptr<Trainer> trainer =
      learner_with({{"recurrent", "gru"}, {"sequence_length", "6"}});
  GradientStudyOptions options;
  options.shapes = {{3, 8}};
  expect_study_refused(trainer->policy(), options, "shapes: got 3x8 with T = 8");
  // The batch of shapes alone is not the user's.
  options.shapes = {{4, 16}};
  expect_study_refused(trainer->policy(), options, "shapes: got 4x16 with T = 16");
  options.shapes = {{2, 12}};
  options.bias_steps = {12, 10};
  expect_study_refused(trainer->policy(), options, "bias_steps: got 10");
  options = {};
  options.batch = 1024;
  expect_study_refused(trainer->policy(), options,
                       "batch: got 1024, which the run's sequence_length = 6 does not divide; "
                       "expected a multiple of 6, such as 1026");
  options = {};
  std::vector<std::string> notes;
  const Status status = complete(trainer->policy(), options, notes);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(options.batch, 768);
  EXPECT_EQ(options.shapes.front(), (BlockShape{1, 768}));
  EXPECT_EQ(options.shapes.back(), (BlockShape{128, 6}));
  for (const BlockShape& shape : options.shapes) {
    EXPECT_EQ(shape.batch(), 768);
    EXPECT_EQ(shape.num_steps % 6, 0) << shape.num_steps;
  }
}

// The same policy as if it had been trained with other weights, which lambda = 0 does not have.
TEST(Studies, FollowTheRunsGaeWeights) {
  const std::unique_ptr<Trainer> trainer = learner_with({});
  const Policy own = trainer->policy();
  GradientStudyOptions options;
  options.shapes = {{4, 12}};
  options.blocks = 40;
  options.bias_budget = 4000;
  options.start_envs = 32;
  options.lambdas = {0.0, 0.9};
  const auto report_of = [&](const std::string& weights) {
    Config config = own.config;
    config.gae_weights = weights;
    return study_gradients({config, own.spec, own.network, own.params, own.obs_norm}, options, {});
  };
  const auto one = report_of("geometric"), other = report_of("normalised");
  ASSERT_TRUE(one.ok() && other.ok()) << other.status().message();
  const GradientStudyReport &a = one.value(), &b = other.value();
  EXPECT_EQ(a.notes.size() + 1, b.notes.size());
  for (std::size_t l = 0; l < 2; ++l) {
    const bool same = options.lambdas[l] == 0.0;
    EXPECT_EQ((*a.variance)[l].total.value == (*b.variance)[l].total.value, same);
    EXPECT_EQ(
        (*a.correlation)[l].across.uncentred.value == (*b.correlation)[l].across.uncentred.value,
        same);
    EXPECT_EQ((*a.bias)[l].bias_squared.value == (*b.bias)[l].bias_squared.value, same);
  }
  for (std::size_t i = 0; i < a.agreement->size(); ++i) {
    const AgreementResult &x = (*a.agreement)[i], &y = (*b.agreement)[i];
    if (std::isnan(x.agreement.value)) continue;
    EXPECT_EQ(x.agreement.value == y.agreement.value, x.lambda == 0.0) << x.critic;
  }
}

TEST(LossesOfOthers, AreRefusedWithWords) {
  const std::unique_ptr<Trainer> ppo = learner_with({{"recurrent", "gru"}}),
                                 pqn = learner_with({{"algorithm", "pqn"}}),
                                 scaled = learner_with({{"norm_value", "running"}}),
                                 other = learner_with({{"gae_weights", "normalised"}});
  GradientStudyOptions options;
  options.loss = MeasuredLoss::kTd;
  expect_study_refused(ppo->policy(), options, "loss: got td for a run of algorithm = ppo");
  options.loss = MeasuredLoss::kPolicy;
  expect_study_refused(pqn->policy(), options, "loss: got policy for a run of algorithm = pqn");
  options.loss = MeasuredLoss::kValue;
  expect_study_refused(scaled->policy(), options, "leave loss = value out");
  options.norm_adv = true;
  expect_study_refused(ppo->policy(), options, "loss: got value with norm_adv");
  options = {};
  options.exact = true;
  expect_study_refused(ppo->policy(), options, "recurrent = gru: the exact study");
  expect_study_refused(other->policy(), options, "gae_weights = normalised: the exact study");
  options = {};
  options.batch = 1 << 20;
  expect_study_refused(ppo->policy(), options, "recurrent = gru) are kept whole");
  Config copies = ppo->config();
  copies.algorithm = "distill";
  const Policy own = ppo->policy();
  expect_study_refused({copies, own.spec, own.network, own.params, own.obs_norm}, {},
                       "algorithm = distill learns from a teacher's outputs");
}

}  // namespace
}  // namespace broadloom
