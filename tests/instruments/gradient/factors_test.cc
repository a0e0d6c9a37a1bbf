// Per-sample gradients in factored form: against finite differences, against the trainer's own
// backward pass, and their inner products against explicit vectors.
// sanitizers: address, threads
#include "broadloom/instruments/gradient/factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/nn/policy_distribution.h"
#include "research/lab/gram.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

struct Case {
  std::string name;
  SpaceKind kind;
  int outputs;
  bool shared;
  std::vector<int> hidden;
  int critic = 0;  // observation size of the critic alone
  Encoder encoder = Encoder::kMlp;
  Normalisation normalisation = Normalisation::kNone;
  RowShape image = {1, 1, 5};
  std::vector<int> heads = {};  // of MultiDiscrete actions
  ActionDistribution distribution = ActionDistribution::kGaussian;
  StdForm std_form = StdForm::kLog;
};

NetworkShape shape_of(const Case& c) {
  NetworkShape shape;
  shape.observation_size = c.image.size();
  shape.action_kind = c.kind;
  shape.action_outputs = c.outputs;
  shape.action_heads = c.heads;
  shape.action_distribution = c.distribution;
  shape.std_form = c.std_form;
  shape.hidden_sizes = c.hidden;
  shape.shared_encoder = c.shared;
  shape.critic_observation_size = c.critic;
  shape.encoder = c.encoder;
  shape.normalisation = c.normalisation;
  shape.image = c.image;
  return shape;
}

// A policy with random parameters and random samples of it.
template <class Real>
struct Samples {
  Samples(const Case& c, int row_count) : network(shape_of(c)), rows(row_count) {
    const NetworkShape& shape = network.shape();
    action_size = shape.action_size();
    Random random(11, Purpose::kUser, 0, 0);
    params.resize(network.parameter_count());
    for (Real& p : params) p = static_cast<Real>(0.4 * random.normal());
    observations.resize(static_cast<std::size_t>(rows) * c.image.size());
    for (Real& x : observations) x = static_cast<Real>(random.normal());
    critic_observations.resize(static_cast<std::size_t>(rows) * c.critic);
    for (Real& x : critic_observations) x = static_cast<Real>(random.normal());
    actions.resize(static_cast<std::size_t>(rows) * action_size);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const std::size_t place = i % static_cast<std::size_t>(action_size);
      actions[i] = static_cast<Real>(place < shape.heads().size()
                                         ? random.below(static_cast<unsigned>(shape.heads()[place]))
                                         : random.normal());
    }
    advantages.resize(rows);
    for (Real& a : advantages) a = static_cast<Real>(random.normal());
  }

  GradientFactors<Real> factors(const GradientTerms& terms, bool weighted) {
    GradientFactors<Real> out;
    FactorMaker<Real> maker(network, terms);
    maker.set_params(params.data());
    const Real* seen = observations.data();
    maker.make({seen, critic_observations.empty() ? seen : critic_observations.data()},
               actions.data(), weighted ? advantages.data() : nullptr, advantages.data(), rows,
               out);
    return out;
  }

  ActorCritic network;
  int rows, action_size = 1;
  std::vector<Real> params, observations, critic_observations, actions, advantages;
};

template <class Real>
std::vector<Real> explicit_gradient(const GradientFactors<Real>& factors, int row, std::size_t P) {
  std::vector<Real> weights(factors.rows, Real(0)), gradient(P, Real(0));
  weights[row] = Real(1);
  add_weighted_sum(factors, weights.data(), gradient.data());
  return gradient;
}

// The rows of `samples` as a tile of the trainer's loss, at the policy that acted.
TileBatch<double> tile_of(Samples<double>& samples, TileWorkspace<double>& work) {
  const NetworkShape& shape = samples.network.shape();
  TileBatch<double> batch(shape);
  batch.rows = samples.rows;
  std::copy(samples.observations.begin(), samples.observations.end(), batch.observations.begin());
  std::copy(samples.critic_observations.begin(), samples.critic_observations.end(),
            batch.critic_observations.begin());
  samples.network.forward(samples.params.data(), batch.input(), samples.rows, work);
  for (int r = 0; r < samples.rows; ++r) {
    for (int a = 0; a < samples.action_size; ++a) {
      batch.actions[a * kTileRows + r] = samples.actions[r * samples.action_size + a];
    }
    batch.advantages[r] = samples.advantages[r];
    batch.old_values[r] = work.values[r];
    batch.value_targets[r] = work.values[r] + samples.advantages[r];
  }
  const PolicyDistribution policy(shape);
  const PolicyRows<double> rows{.outputs = work.policy.data(),
                                .log_std = work.log_std.data(),
                                .actions = batch.actions.data(),
                                .rows = samples.rows,
                                .terms = batch.terms.data(),
                                .normalisers = batch.normalisers.data(),
                                .head_entropies = batch.head_entropies.data()};
  policy.log_probs(rows, batch.old_log_probs.data());
  policy.entropies(rows, batch.entropies.data());
  return batch;
}

class Factors : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().encoder == Encoder::kImpala) RELEASE_ONLY("smaller networks run the same code");
  }
};

// A log pi + ent_coef H + vf_coef A V of one row, from the loss code's forward pass.
double sample_objective(Samples<double>& s, int row, const std::vector<double>& params,
                        const GradientTerms& terms) {
  Samples<double> moved = s;
  moved.params = params;
  TileWorkspace<double> work = moved.network.make_workspace<double>();
  TileBatch<double> batch = tile_of(moved, work);
  const double entropy = batch.entropies[row];
  const double a = s.advantages[row];
  return a * batch.old_log_probs[row] + (terms.entropy ? terms.ent_coef * entropy : 0.0) +
         (terms.value ? terms.vf_coef * a * work.values[row] : 0.0);
}

class FactorsOfFew : public Factors {  // parameters
 protected:
  void SetUp() override {
    if (GetParam().encoder == Encoder::kMinatar) RELEASE_ONLY("smaller networks run the same code");
  }
};

TEST_P(FactorsOfFew, EqualFiniteDifferencesSampleBySample) {
  Samples<double> samples(GetParam(), 7);
  for (const GradientTerms terms :
       {GradientTerms{}, GradientTerms{true, true, 0.05, 0.5}, GradientTerms{false, true, 0, 2}}) {
    const GradientFactors<double> factors = samples.factors(terms, true);
    for (const int row : {0, 3, 6}) {
      const std::vector<double> gradient = explicit_gradient(factors, row, samples.params.size());
      double largest = 0.0;
      for (const double g : gradient) largest = std::max(largest, std::abs(g));
      ASSERT_GT(largest, 1e-3);
      for (std::size_t i = 0; i < samples.params.size(); ++i) {
        const auto at = [&](double offset) {
          std::vector<double> params = samples.params;
          params[i] += offset;
          return sample_objective(samples, row, params, terms);
        };
        constexpr double h = 2e-4;
        const double numeric = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h);
        ASSERT_NEAR(gradient[i], numeric, 1e-8 * largest) << "row " << row << ", parameter " << i;
      }
    }
  }
}

TEST_P(Factors, MeanIsMinusTheTrainersGradient) {
  Samples<double> samples(GetParam(), 23);
  for (const bool all : {false, true}) {
    const GradientTerms terms = all ? GradientTerms{true, true, 0.05, 0.5} : GradientTerms{};
    PpoCoefficients coefficients;
    coefficients.ent_coef = all ? 0.05 : 0.0;
    coefficients.vf_coef = all ? 0.5 : 0.0;
    coefficients.clip_vloss = false;
    const std::size_t P = samples.params.size();
    TileWorkspace<double> work = samples.network.make_workspace<double>();
    TileBatch<double> batch = tile_of(samples, work);
    std::vector<double> transposed(P), trained(P), mean(P);
    samples.network.refresh_transposed(samples.params.data(), transposed.data());
    PpoSums sums;
    ppo_tile_gradient(samples.network, coefficients, samples.rows, samples.params.data(),
                      transposed.data(), batch, work, trained.data(), sums);
    add_weighted_sum(samples.factors(terms, true), static_cast<const double*>(nullptr),
                     mean.data());
    double largest = 0.0;
    for (const double g : trained) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < P; ++i) {
      ASSERT_NEAR(-mean[i] / samples.rows, trained[i], 1e-12 * largest) << i;
    }
  }
}

// The critic's gradients alone are PPO's with a value term, minus those without it.
TEST_P(Factors, OfTheCriticAreTheValueTerms) {
  Samples<double> samples(GetParam(), 9);
  const std::size_t P = samples.params.size();
  GradientTerms critic;
  critic.score = Score::kValue;
  const auto sum_of = [&](const GradientTerms& terms, bool weighted) {
    std::vector<double> sum(P);
    const auto factors = samples.factors(terms, weighted);
    add_weighted_sum(factors, weighted ? nullptr : samples.advantages.data(), sum.data());
    return sum;
  };
  const std::vector<double> alone = sum_of(critic, false), plain = sum_of({}, true),
                            both = sum_of({false, true, 0.0, 1.0}, true);
  for (std::size_t p = 0; p < P; ++p) ASSERT_NEAR(alone[p], both[p] - plain[p], 1e-11) << p;
}

TEST_P(Factors, ScoresTimesAdvantagesAreTheGradients) {
  Samples<double> samples(GetParam(), 9);
  const auto scores = samples.factors({}, false), gradients = samples.factors({}, true);
  const std::size_t P = samples.params.size();
  std::vector<double> a(P), b(P);
  add_weighted_sum(scores, samples.advantages.data(), a.data());
  add_weighted_sum(gradients, static_cast<const double*>(nullptr), b.data());
  for (std::size_t i = 0; i < P; ++i) ASSERT_NEAR(a[i], b[i], 1e-12);
}

// Whole tiles and a part of one.
TEST_P(Factors, InnerProductsEqualExplicitOnes) {
  Samples<float> samples(GetParam(), GetParam().encoder == Encoder::kImpala ? 70 : 200);
  const GradientTerms terms{true, true, 0.05, 0.5};
  const GradientFactors<float> factors = samples.factors(terms, true);
  const std::size_t P = samples.params.size();
  std::vector<std::vector<float>> explicit_rows;
  for (int r = 0; r < samples.rows; ++r) explicit_rows.push_back(explicit_gradient(factors, r, P));
  const auto product = [&](const std::vector<float>& x, const std::vector<float>& y) {
    double sum = 0.0;
    for (std::size_t i = 0; i < P; ++i) sum += static_cast<double>(x[i]) * y[i];
    return sum;
  };
  std::vector<float> gram(static_cast<std::size_t>(samples.rows) * samples.rows);
  ThreadPool pool(2);
  gram_matrix(factors, pool, gram.data());
  std::vector<float> squares(samples.rows), projected(samples.rows);
  squared_norms(factors, squares.data());
  project(factors, explicit_rows[17].data(), projected.data());
  std::vector<double> norms;
  for (const auto& row : explicit_rows) norms.push_back(std::sqrt(product(row, row)));
  for (int i = 0; i < samples.rows; ++i) {
    ASSERT_NEAR(squares[i], norms[i] * norms[i], 1e-5 * norms[i] * norms[i]);
    for (int j = 0; j <= i; ++j) {
      const double expected = product(explicit_rows[i], explicit_rows[j]);
      ASSERT_NEAR(gram[i * samples.rows + j], expected, 1e-5 * norms[i] * norms[j])
          << i << ' ' << j;
      ASSERT_EQ(gram[i * samples.rows + j], gram[j * samples.rows + i]);
    }
    const double expected = product(explicit_rows[i], explicit_rows[17]);
    ASSERT_NEAR(projected[i], expected, 1e-5 * norms[i] * norms[17]);
    ASSERT_NEAR(inner_product(factors, i, 17), expected, 1e-5 * norms[i] * norms[17]);
  }
}

TEST_P(Factors, GramHasTheSameBitsForAnyThreads) {
  Samples<float> samples(GetParam(), 150);
  const GradientFactors<float> factors = samples.factors({}, false);
  std::vector<float> one(150 * 150), three(150 * 150);
  ThreadPool single(1), many(3);
  gram_matrix(factors, single, one.data());
  gram_matrix(factors, many, three.data());
  EXPECT_EQ(one, three);
}

TEST(ScoredParameterCount, CountsWhatTheScoreMoves) {
  const ActorCritic separate(
      shape_of({"", SpaceKind::kBox, 2, false, {7, 6}}));  // 5-7-6-2, log_std
  EXPECT_EQ(scored_parameter_count(separate), 5u * 7 + 7 + 7 * 6 + 6 + 6 * 2 + 2 + 2);
  const ActorCritic shared(shape_of({"", SpaceKind::kDiscrete, 3, true, {7, 6}}));
  EXPECT_EQ(scored_parameter_count(shared), 5u * 7 + 7 + 7 * 6 + 6 + 6 * 3 + 3);
  EXPECT_EQ(scored_parameter_count(separate, Score::kValue), 5u * 7 + 7 + 7 * 6 + 6 + 6 + 1);
  EXPECT_EQ(scored_parameter_count(shared, Score::kValue), 5u * 7 + 7 + 7 * 6 + 6 + 6 + 1);
}

std::vector<Case> dense() {
  return {
      {"discrete", SpaceKind::kDiscrete, 3, false, {7, 6}},
      {"discrete_shared", SpaceKind::kDiscrete, 4, true, {7, 6}},
      {.name = "several_choices",
       .kind = SpaceKind::kMultiDiscrete,
       .outputs = 9,
       .shared = false,
       .hidden = {7, 6},
       .heads = {4, 2, 3}},
      {"gaussian", SpaceKind::kBox, 2, false, {7, 6}},
      {"gaussian_shared", SpaceKind::kBox, 1, true, {8, 5}},
      {"linear", SpaceKind::kBox, 3, false, {}},
      {"wider_critic", SpaceKind::kDiscrete, 3, false, {7, 6}, 8},
      {"linear_critic", SpaceKind::kBox, 2, false, {}, 3},
      {"normalised", SpaceKind::kBox, 2, false, {7, 6}, 0, Encoder::kMlp, Normalisation::kChannels},
      {.name = "squashed",
       .kind = SpaceKind::kBox,
       .outputs = 2,
       .shared = false,
       .hidden = {7, 6},
       .distribution = ActionDistribution::kSquashed},
      {.name = "state_dependent",
       .kind = SpaceKind::kBox,
       .outputs = 4,
       .shared = true,
       .hidden = {7, 6},
       .std_form = StdForm::kStateDependent},
      {.name = "sde",  // a difference would show the derivative of hidden features, too
       .kind = SpaceKind::kBox,
       .outputs = 4,
       .shared = false,
       .hidden = {},
       .std_form = StdForm::kSde},
      {.name = "hybrid",
       .kind = SpaceKind::kHybrid,
       .outputs = 3 + 2 + 2,
       .shared = true,
       .hidden = {7, 6},
       .heads = {3, 2}},
      {.name = "beta",
       .kind = SpaceKind::kBox,
       .outputs = 4,
       .shared = false,
       .hidden = {7, 6},
       .distribution = ActionDistribution::kBeta}};
}

std::vector<Case> convolutional() {
  const RowShape tiny{3, 4, 2}, small{5, 6, 3};
  return {
      {"minatar", SpaceKind::kBox, 2, false, {4}, 0, Encoder::kMinatar, Normalisation::kNone, tiny},
      {"minatar_shared",
       SpaceKind::kDiscrete,
       3,
       true,
       {5},
       0,
       Encoder::kMinatar,
       Normalisation::kNone,
       tiny},
      {"minatar_channels",
       SpaceKind::kDiscrete,
       3,
       false,
       {4},
       0,
       Encoder::kMinatar,
       Normalisation::kChannels,
       tiny},
      {"minatar_all",
       SpaceKind::kBox,
       1,
       true,
       {5},
       0,
       Encoder::kMinatar,
       Normalisation::kAll,
       tiny},
      {"impala_shared",
       SpaceKind::kDiscrete,
       3,
       true,
       {5},
       0,
       Encoder::kImpala,
       Normalisation::kNone,
       small}};
}

std::vector<Case> of_few() {
  std::vector<Case> cases = dense(), more = convolutional();
  cases.insert(cases.end(), more.begin(), more.end() - 1);
  return cases;
}

std::vector<Case> all() {
  std::vector<Case> cases = dense(), more = convolutional();
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Networks, Factors, ::testing::ValuesIn(all()), kName);
INSTANTIATE_TEST_SUITE_P(Networks, FactorsOfFew, ::testing::ValuesIn(of_few()), kName);

TEST(WholeCount, IsOfConvolutionsNormalisationsAndDeviations) {
  const RowShape image{5, 5, 2};
  const ActorCritic apart(shape_of(
      {"", SpaceKind::kBox, 3, false, {7}, 0, Encoder::kMinatar, Normalisation::kChannels, image}));
  const std::size_t convolution = 9 * 2 * 16 + 16, norms = 2 * 16 + 2 * 7;
  GradientTerms both, critic;
  both.value = true;
  critic.score = Score::kValue;
  EXPECT_EQ(whole_count(apart, {}), convolution + norms + 3);
  EXPECT_EQ(whole_count(apart, both), 2 * (convolution + norms) + 3);
  EXPECT_EQ(whole_count(apart, critic), convolution + norms);
  const ActorCritic dense(shape_of({"", SpaceKind::kDiscrete, 3, true, {7}}));
  EXPECT_EQ(whole_count(dense, both), 0u);
}

}  // namespace
}  // namespace broadloom
