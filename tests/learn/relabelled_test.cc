// SAPG's update of a leader and two followers, against an update by hand: networks, targets and
// loss in double precision, one sample after the other, with gradients by differences of the loss.
// sanitizers: none
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/learn/relabelled.h"
#include "broadloom/nn/policy_distribution.h"
#include "finite_differences.h"

// An own name, since other files by hand share the unit.
namespace broadloom::relabelled_by_hand {
namespace {

constexpr int kPolicies = 3, kLeader = 2, kSteps = 5, kEnvs = 6, kTruncations = 2;
constexpr int kSeen = 3, kActions = 2, kVector = 2, kWidth = 5, kUpdates = 3, kEpochs = 2;
constexpr double kClip = 0.05, kRate = 1e-2, kAdamEps = 1e-6, kGamma = 0.9, kLambda = 0.8;
constexpr double kValueWeight = 0.7, kEntropy = 0.03, kFollowerEntropy = 0.2;

struct Case {
  std::string name;
  bool box = false, shared = false, by_paper = false;
  int followers = 2;
};

NetworkShape shape_of(const Case& scene) {
  NetworkShape shape;
  shape.observation_size = kSeen;
  shape.action_kind = scene.box ? SpaceKind::kBox : SpaceKind::kDiscrete;
  shape.action_outputs = scene.box ? 2 * kActions : kActions;
  shape.hidden_sizes = {kWidth};
  shape.shared_encoder = scene.shared;
  shape.log_std_init = -0.3;
  shape.policies = kPolicies;
  shape.policy_vector_size = kVector;
  return shape;
}

using Row = std::array<double, kSeen>;

// The network by hand: tanh(W [x, vector of the policy] + b), then a head.
struct HandNetwork {
  const ActorCritic& network;
  const std::vector<double>& params;

  std::vector<double> features(const Chain& body, const Row& x, int policy) const {
    const LinearSlice vector = network.policy_vectors(body).slice;
    const LinearSlice dense = body.layers().back().slice;
    std::vector<double> in(x.begin(), x.end());
    for (int i = 0; i < kVector; ++i) in.push_back(params[vector.at(policy, i)]);
    std::vector<double> out;
    for (int o = 0; o < kWidth; ++o) {
      double sum = params[dense.bias + static_cast<std::size_t>(o)];
      for (std::size_t i = 0; i < in.size(); ++i) {
        sum += params[dense.at(static_cast<int>(i), o)] * in[i];
      }
      out.push_back(std::tanh(sum));
    }
    return out;
  }
  std::vector<double> head(const LinearSlice& slice, const std::vector<double>& features) const {
    std::vector<double> out;
    for (int o = 0; o < slice.out; ++o) {
      double sum = params[slice.bias + static_cast<std::size_t>(o)];
      for (int i = 0; i < slice.in; ++i) {
        sum += params[slice.at(i, o)] * features[static_cast<std::size_t>(i)];
      }
      out.push_back(sum);
    }
    return out;
  }
  const Chain& actor() const {
    return network.encoder().empty() ? network.actor() : network.encoder();
  }
  const Chain& critic() const {
    return network.encoder().empty() ? network.critic() : network.encoder();
  }

  double value(const Row& x, int policy) const {
    return head(network.value_head(), features(critic(), x, policy))[0];
  }
  // The log-probability of an action, and the entropy.
  std::array<double, 2> log_prob(const Row& x, int policy, const float* action) const {
    const std::vector<double> outputs = head(network.policy_head(), features(actor(), x, policy));
    double log_prob = 0.0, entropy = 0.0;
    if (network.shape().has_box()) {
      for (int a = 0; a < kActions; ++a) {
        const double log_std =
            params[network.log_std_offset() + static_cast<std::size_t>(policy * kActions + a)];
        const double z = (static_cast<double>(action[a]) - outputs[static_cast<std::size_t>(a)]) /
                         std::exp(log_std);
        const double log_root = 0.5 * std::log(2.0 * M_PI);
        log_prob -= 0.5 * z * z + log_std + log_root;
        entropy += 0.5 + log_std + log_root;
      }
      return {log_prob, entropy};
    }
    double sum = 0.0;
    for (const double logit : outputs) sum += std::exp(logit);
    for (const double logit : outputs) {
      entropy -= std::exp(logit) / sum * (logit - std::log(sum));
    }
    return {outputs[static_cast<std::size_t>(action[0])] - std::log(sum), entropy};
  }
};

Row row_of(const Observations& seen, std::size_t row) {
  std::array<float, kSeen> numbers;
  seen.read(row, 1, numbers.data());
  return {numbers[0], numbers[1], numbers[2]};
}

// One sample, as a step of an update needs it.
struct Sample {
  Row seen;
  int policy;
  const float* action;
  double old_log_prob, old_value, target, advantage;
  double middle;  // of the clip range
};

struct ByHand {
  ByHand(const ActorCritic& of_network, const Learner& first, const Case& of_case)
      : network(of_network),
        scene(of_case),
        params(first.params.begin(), first.params.end()),
        m(params.size()),
        v(params.size()) {}

  static int policy_of(int n) { return n / (kEnvs / kPolicies); }

  // V of what follows step t of environment n, for a policy; 0 after a termination.
  double next_value(const HandNetwork& now, const RolloutBlock& block, int t, int n, int policy,
                    int slot) const {
    const std::size_t i = block.index(t, n);
    if (block.terminated[i] != 0) return 0.0;
    if (block.truncated[i] != 0) {
      return now.value(row_of(block.final_observations, block.final_index(n, slot)), policy);
    }
    if (t + 1 == kSteps) {
      return now.value(row_of(block.last_observations, static_cast<std::size_t>(n)), policy);
    }
    return now.value(row_of(block.observations, block.index(t + 1, n)), policy);
  }

  void add_samples(const RolloutBlock& block, int n, bool relabelled) {
    const HandNetwork now{network, params};
    const int own = policy_of(n), policy = relabelled ? kLeader : own;
    int slot = block.truncations[static_cast<std::size_t>(n)];
    double next_advantage = 0.0;
    for (int t = kSteps - 1; t >= 0; --t) {
      const std::size_t i = block.index(t, n);
      if (block.truncated[i] != 0) --slot;
      Sample sample{row_of(block.observations, i),
                    policy,
                    &block.actions[i * static_cast<std::size_t>(block.A)],
                    0,
                    0,
                    0,
                    0,
                    1.0};
      sample.old_value = now.value(sample.seen, policy);
      const double error =
          block.rewards[i] + kGamma * next_value(now, block, t, n, policy, slot) - sample.old_value;
      const bool ended = block.terminated[i] != 0 || block.truncated[i] != 0;
      const bool sums = !relabelled && !ended;
      sample.advantage = error + (sums ? kGamma * kLambda * next_advantage : 0.0);
      next_advantage = sample.advantage;
      sample.target = sample.advantage + sample.old_value;
      sample.old_log_prob = now.log_prob(sample.seen, own, sample.action)[0];
      if (relabelled && scene.by_paper) {
        sample.middle =
            std::exp(now.log_prob(sample.seen, policy, sample.action)[0] - sample.old_log_prob);
      }
      samples.push_back(sample);
    }
  }

  double loss(const std::vector<double>& weights) {
    const HandNetwork now{network, weights};
    double sum = 0.0;
    for (const Sample& s : samples) {
      const auto [log_prob, entropy] = now.log_prob(s.seen, s.policy, s.action);
      const double ratio = std::exp(log_prob - s.old_log_prob);
      const double kept = std::clamp(ratio, s.middle * (1.0 - kClip), s.middle * (1.0 + kClip));
      const double free = -s.advantage * ratio, limited = -s.advantage * kept;
      clipped += limited > free;
      const double value = now.value(s.seen, s.policy);
      const double near = s.old_value + std::clamp(value - s.old_value, -kClip, kClip);
      const double errors[2] = {value - s.target, near - s.target};
      const double coefficient = kEntropy + kFollowerEntropy * (kLeader - s.policy) / kLeader;
      sum += std::max(free, limited) - coefficient * entropy +
             kValueWeight * 0.5 * std::max(errors[0] * errors[0], errors[1] * errors[1]);
    }
    return sum / static_cast<double>(samples.size());
  }

  void update(const RolloutBlock& block, const std::vector<int>& followers) {
    samples.clear();
    for (int n = 0; n < kEnvs; ++n) add_samples(block, n, false);
    for (int n = 0; n < kEnvs; ++n) {
      if (std::count(followers.begin(), followers.end(), policy_of(n)) > 0) {
        add_samples(block, n, true);
      }
    }
    const double count = static_cast<double>(samples.size());
    double mean = 0.0, squares = 0.0;
    for (const Sample& s : samples) mean += s.advantage / count;
    for (const Sample& s : samples) squares += (s.advantage - mean) * (s.advantage - mean);
    const double deviation = std::sqrt(squares / (count - 1.0)) + 1e-8;
    for (Sample& s : samples) s.advantage = (s.advantage - mean) / deviation;
    for (int epoch = 0; epoch < kEpochs; ++epoch) step();
  }

  void step() {
    std::vector<double> gradient(params.size());
    for (std::size_t i = 0; i < params.size(); ++i) {
      constexpr double h = 1e-6;
      std::vector<double> moved = params;
      moved[i] = params[i] + h;
      const double up = loss(moved);
      moved[i] = params[i] - h;
      gradient[i] = (up - loss(moved)) / (2.0 * h);
    }
    steps += 1;
    for (std::size_t i = 0; i < params.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      params[i] -= kRate * m[i] / (1.0 - std::pow(0.9, steps)) /
                   (std::sqrt(v[i] / (1.0 - std::pow(0.999, steps))) + kAdamEps);
    }
  }

  const ActorCritic& network;
  Case scene;
  std::vector<double> params, m, v;
  std::vector<Sample> samples;
  int steps = 0;
  std::int64_t clipped = 0;
};

// A block as the collector leaves it, with ends of both kinds.
void play(const ActorCritic& network, const Learner& learner, int update, RolloutBlock& block) {
  Random random(17, Purpose::kUser, static_cast<std::uint32_t>(update), 0);
  const NetworkShape& shape = network.shape();
  for (Observations* seen :
       {&block.observations, &block.last_observations, &block.final_observations}) {
    for (float& x : seen->floats()) x = static_cast<float>(random.normal());
  }
  for (float& action : block.actions) {
    action = shape.has_box() ? static_cast<float>(random.normal())
                             : static_cast<float>(random.below(kActions));
  }
  std::fill(block.truncations.begin(), block.truncations.end(), 0);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto n = i % kEnvs;
    block.rewards[i] = static_cast<float>(random.normal());
    block.terminated[i] = random.below(6) == 0 ? 1 : 0;
    const bool ends = block.terminated[i] == 0 && random.below(5) == 0;
    block.truncated[i] = ends && block.truncations[n] < kTruncations ? 1 : 0;
    block.truncations[n] += block.truncated[i];
  }
  TileWorkspace<float> work = network.make_workspace<float>();
  TileBatch<float> tile(shape);
  tile.rows = 1;
  const auto forward = [&](const Observations& seen, std::size_t row, std::size_t n) {
    seen.read(row, 1, tile.observations.data());
    tile.policies[0] = block.policy_of(static_cast<int>(n));
    network.forward(learner.params.data(), tile.input(), 1, work);
    return work.values[0];
  };
  for (std::size_t i = 0; i < block.size(); ++i) {
    block.values[i] = forward(block.observations, i, i % kEnvs);
    for (int a = 0; a < block.A; ++a) {
      tile.actions[static_cast<std::size_t>(a) * kTileRows] =
          block.actions[i * static_cast<std::size_t>(block.A) + static_cast<std::size_t>(a)];
    }
    set_log_probs(network, tile, work);
    block.log_probs[i] = tile.log_probs[0];
  }
  for (std::size_t n = 0; n < kEnvs; ++n) {
    block.last_values[n] = forward(block.last_observations, n, n);
    for (std::size_t s = 0; s < kTruncations; ++s) {
      const std::size_t place = n * kTruncations + s;
      block.final_values[place] = forward(block.final_observations, place, n);
    }
  }
}

// New heads give nearly the same policy, whose ratios no limit clips.
void make_policies_differ(const ActorCritic& network, Learner& learner) {
  Random random(41, Purpose::kUser, 0, 0);
  const LinearSlice& head = network.policy_head();
  for (int i = 0; i < head.in * head.out; ++i) {
    learner.params[head.weight + static_cast<std::size_t>(i)] +=
        static_cast<float>(0.7 * random.normal());
  }
}

BlockSizes block_sizes_of(const Case& scene) {
  return {.T = kSteps,
          .N = kEnvs,
          .D = kSeen,
          .A = scene.box ? kActions : 1,
          .S = kTruncations,
          .policies = kPolicies};
}

PpoSettings settings_of(const Case& scene) {
  PpoSettings settings;
  settings.loss.clip_coef = kClip;
  settings.loss.ent_coef = kEntropy;
  settings.loss.vf_coef = kValueWeight;
  settings.loss.follower_entropy = kFollowerEntropy;
  settings.gamma = kGamma;
  settings.gae_lambda = kLambda;
  settings.update_epochs = kEpochs;
  settings.max_grad_norm = 0.0;
  settings.adam_eps = kAdamEps;
  settings.relabel = {scene.followers, scene.by_paper, kGamma, TruncationMode::kBootstrap};
  return settings;
}

class RelabelledUpdate : public ::testing::TestWithParam<Case> {};

TEST_P(RelabelledUpdate, IsTheOneByHand) {
  const Case& scene = GetParam();
  const ActorCritic network(shape_of(scene));
  Learner learner(network.parameter_count());
  network.initialise(7, learner.params.data());
  learner.learning_rate = kRate;
  make_policies_differ(network, learner);
  ByHand expected(network, learner, scene);
  RolloutBlock block(block_sizes_of(scene));
  ThreadPool pool(2);
  const int samples = kSteps * (kEnvs + scene.followers * kEnvs / kPolicies);
  Ppo ppo(network, settings_of(scene), samples, 1, kSeen, block.A, pool);
  ppo.initialise(learner);
  Relabelled drawn(network, settings_of(scene).relabel, pool);
  for (int update = 0; update < kUpdates; ++update) {
    play(network, learner, update, block);
    ppo.compute_targets(block, 0, kEnvs);
    std::vector<int> followers;
    if (scene.followers > 0) {
      drawn.take(block, learner.params.data(), nullptr, 1, update + 1);
      followers.assign(drawn.followers().begin(), drawn.followers().begin() + scene.followers);
    }
    const Status status = ppo.update(block, 1, update + 1, learner);
    ASSERT_TRUE(status.ok()) << status.message();
    expected.clipped = 0;
    expected.update(block, followers);
    EXPECT_EQ(static_cast<int>(expected.samples.size()), samples);
    EXPECT_GT(expected.clipped, 0);
    for (std::size_t i = 0; i < expected.params.size(); ++i) {
      EXPECT_NEAR(learner.params[i], expected.params[i], 5e-5) << update << ", " << i;
    }
    if (::testing::Test::HasFailure()) return;
    // The next update begins where the library is.
    expected.params.assign(learner.params.begin(), learner.params.end());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RelabelledUpdate,
                         ::testing::Values(Case{"choices"},
                                           Case{"choices_by_paper", false, false, true},
                                           Case{"box", true},
                                           Case{"box_by_paper", true, false, true},
                                           Case{"shared", true, true, false, 1},
                                           Case{"shared_by_paper", false, true, true, 1},
                                           Case{"no_followers", true, false, false, 0}),
                         [](const auto& info) { return info.param.name; });

// Own rows and relabelled ones of all policies, in one tile.
struct GradientCase {
  std::string name;
  SpaceKind kind = SpaceKind::kBox;
  ActionDistribution distribution = ActionDistribution::kGaussian;
  StdForm form = StdForm::kLog;
  bool shared = false;
  int critic = 0;
  bool by_paper = false;
  Encoder encoder = Encoder::kMlp;
};

class SeveralPoliciesGradient : public ::testing::TestWithParam<GradientCase> {};

TEST_P(SeveralPoliciesGradient, MatchesDifferences) {
  constexpr int kRows = 13, kOwn = 9;
  const GradientCase& scene = GetParam();
  NetworkShape shape = shape_of({"", true, scene.shared});
  shape.action_kind = scene.kind;
  shape.action_distribution = scene.distribution;
  shape.std_form = scene.form;
  shape.critic_observation_size = scene.critic;
  shape.encoder = scene.encoder;
  if (scene.kind == SpaceKind::kDiscrete) shape.action_outputs = 3;
  if (scene.encoder != Encoder::kMlp) {
    shape.image = {4, 4, 2};
    shape.observation_size = shape.image.size();
  }
  const ActorCritic network(shape);
  Random random(23, Purpose::kUser, 0, 0);
  std::vector<double> params(network.parameter_count());
  for (double& p : params) p = 0.4 * random.normal();
  for (const Chain* body : {&network.encoder(), &network.actor(), &network.critic()}) {
    if (body->empty()) continue;  // biases of vectors do not learn
    const LinearSlice& slice = network.policy_vectors(*body).slice;
    for (int i = 0; i < slice.out; ++i) params[slice.bias + static_cast<std::size_t>(i)] = 0.0;
  }
  TileBatch<double> batch(shape);
  batch.rows = kRows;
  batch.relabelled = kRows - kOwn;
  batch.has_proximal = scene.by_paper;
  for (double& x : batch.observations) x = random.normal();
  for (double& x : batch.critic_observations) x = random.normal();
  for (double& x : batch.actions) {
    x = scene.kind == SpaceKind::kBox ? 0.5 * random.normal() : random.below(3);
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    batch.policies[r] = r < kOwn ? static_cast<int>(r) % kPolicies : kLeader;
    batch.advantages[r] = random.normal();
    batch.old_values[r] = random.normal();
    batch.value_targets[r] = random.normal();
    batch.old_log_probs[r] = -2.0 + random.normal();
    batch.proximal_log_probs[r] = batch.old_log_probs[r] + (r < kOwn ? 0.0 : random.normal());
  }
  PpoCoefficients coefficients;
  coefficients.ent_coef = 0.05;
  coefficients.follower_entropy = 0.3;
  TileWorkspace<double> work = network.make_workspace<double>();
  std::vector<double> transposed(params.size());
  std::set<std::size_t> fixed;
  for (const Chain* body : {&network.encoder(), &network.actor(), &network.critic()}) {
    if (body->empty()) continue;
    const LinearSlice& slice = network.policy_vectors(*body).slice;
    for (int i = 0; i < slice.out; ++i) fixed.insert(slice.bias + static_cast<std::size_t>(i));
  }
  const std::vector<double> first = params;
  expect_gradient_of_differences(
      params, [&](const std::vector<double>& moved, std::vector<double>& grads) {
        std::vector<double> kept = moved;
        for (const std::size_t i : fixed) kept[i] = first[i];
        network.refresh_transposed(kept.data(), transposed.data());
        PpoSums sums;
        ppo_tile_gradient(network, coefficients, kRows, kept.data(), transposed.data(), batch, work,
                          grads.data(), sums);
        EXPECT_EQ(sums.relabelled, kRows - kOwn);
        double bonus = 0.0;
        for (std::size_t r = 0; r < kRows; ++r) {
          bonus += coefficients.entropy_coef(batch.policies[r], kPolicies) * batch.entropies[r];
        }
        return (sums.policy_loss - bonus + coefficients.vf_coef * sums.value_loss) / kRows;
      });
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SeveralPoliciesGradient,
    ::testing::Values(GradientCase{"gaussian"},
                      GradientCase{"gaussian_by_paper", SpaceKind::kBox,
                                   ActionDistribution::kGaussian, StdForm::kLog, false, 0, true},
                      GradientCase{"choices", SpaceKind::kDiscrete},
                      GradientCase{"squashed_shared", SpaceKind::kBox,
                                   ActionDistribution::kSquashed, StdForm::kLog, true},
                      GradientCase{"beta", SpaceKind::kBox, ActionDistribution::kBeta},
                      GradientCase{"state_dependent", SpaceKind::kBox,
                                   ActionDistribution::kGaussian, StdForm::kStateDependent},
                      GradientCase{"critic", SpaceKind::kBox, ActionDistribution::kGaussian,
                                   StdForm::kLog, false, 4},
                      GradientCase{"pixels", SpaceKind::kDiscrete, ActionDistribution::kGaussian,
                                   StdForm::kLog, true, 0, false, Encoder::kMinatar}),
    [](const auto& info) { return info.param.name; });

// The authors' linspace(0.5, 0, M) with a scale of 0.01, added to 0.002.
TEST(SeveralPolicies, EntropyCoefficientsFallEvenlyToTheLeaders) {
  PpoCoefficients coefficients;
  coefficients.ent_coef = 0.002;
  coefficients.follower_entropy = 0.5 * 0.01;
  const double expected[] = {0.007, 0.0045, 0.002};
  for (int policy = 0; policy < 3; ++policy) {
    EXPECT_NEAR(coefficients.entropy_coef(policy, 3), expected[policy], 1e-15);
  }
  EXPECT_EQ(coefficients.entropy_coef(0, 1), 0.002);
}

TEST(SeveralPolicies, WithoutLabelsTheLeaderActs) {
  const ActorCritic network(shape_of({"", true}));
  std::vector<float> params(network.parameter_count());
  network.initialise(3, params.data());
  const float seen[2 * kSeen] = {0.3f, -1.0f, 2.0f, 0.3f, -1.0f, 2.0f};
  const std::int32_t policies[] = {0, kLeader};
  TileWorkspace<float> named = network.make_workspace<float>(), leader = named;
  NetworkInput<float> input(seen);
  network.forward(params.data(), input, 2, leader);
  input.policies = policies;
  network.forward(params.data(), input, 2, named);
  EXPECT_NE(named.policy[0], named.policy[1]);
  EXPECT_NE(named.values[0], named.values[1]);
  for (std::size_t o = 0; o < 2 * kActions; ++o) {
    EXPECT_EQ(named.policy[o * kTileRows + 1], leader.policy[o * kTileRows]);
  }
  EXPECT_EQ(named.values[1], leader.values[0]);
}

TEST(SeveralPolicies, EachUpdateDrawsOtherFollowersButNoneTwice) {
  const Case scene{"", true};
  const ActorCritic network(shape_of(scene));
  Learner learner(network.parameter_count());
  network.initialise(7, learner.params.data());
  RolloutBlock block(block_sizes_of(scene));
  play(network, learner, 0, block);
  ThreadPool pool(1);
  Relabelled one(network, {.followers = 1}, pool), both(network, {.followers = 2}, pool);
  std::array<int, kPolicies> counts{};
  for (int iteration = 1; iteration <= 200; ++iteration) {
    one.take(block, learner.params.data(), nullptr, 5, iteration);
    counts[static_cast<std::size_t>(one.followers()[0])] += 1;
    both.take(block, learner.params.data(), nullptr, 5, iteration);
    EXPECT_NE(both.followers()[0], both.followers()[1]);
    for (std::size_t v = 0; v < one.samples().size(); ++v) {
      EXPECT_EQ(block.policy_of(static_cast<int>(one.source(block, v) % kEnvs)),
                one.followers()[0]);
    }
  }
  EXPECT_EQ(counts[kLeader], 0);
  EXPECT_GT(counts[0], 70);
  EXPECT_GT(counts[1], 70);
}

TEST(SeveralPolicies, FillersOfAFollowerAreNoSamples) {
  const Case scene{"", true, false, false, 2};
  const ActorCritic network(shape_of(scene));
  Learner learner(network.parameter_count());
  network.initialise(7, learner.params.data());
  BlockSizes sizes = block_sizes_of(scene);
  sizes.with_fillers = true;
  RolloutBlock block(sizes);
  play(network, learner, 0, block);
  std::fill(block.fillers.begin(), block.fillers.end(), 0);
  block.fillers[block.index(2, 1)] = block.fillers[block.index(4, 5)] = 1;
  ThreadPool pool(1);
  Relabelled all(network, {.followers = 2}, pool);
  all.take(block, learner.params.data(), nullptr, 5, 1);
  ASSERT_EQ(all.fillers().size(), block.size() + all.samples().size());
  EXPECT_EQ(std::accumulate(all.fillers().begin(), all.fillers().end(), 0), 3);
  for (std::size_t v = 0; v < all.samples().size(); ++v) {
    EXPECT_EQ(all.samples().fillers[v], block.fillers[all.source(block, v)]);
  }
}

}  // namespace
}  // namespace broadloom::relabelled_by_hand
