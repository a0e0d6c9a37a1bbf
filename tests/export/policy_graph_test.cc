// The operations of every kind of policy reproduce its network.
#include "broadloom/export/policy_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "broadloom/evaluate/policy_outputs.h"
#include "broadloom/export/first_choices.h"
#include "broadloom/export/replay.h"
#include "tests/export/networks.h"

namespace broadloom {
namespace {

using export_tests::discrete_from;
using export_tests::Kind;
using export_tests::UntrainedPolicy;

constexpr int kRows = 3;

// The largest difference of two lists, relative to large numbers.
double apart(const std::vector<float>& expected, const std::vector<double>& got) {
  double largest = expected.size() == got.size() ? 0.0 : 1e30;
  for (std::size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    const double size = std::max(1.0, std::abs(static_cast<double>(expected[i])));
    largest = std::max(largest, std::abs(got[i] - expected[i]) / size);
  }
  return largest;
}

std::vector<float> column(const std::vector<float>& rows, std::size_t width, std::size_t place) {
  std::vector<float> out;
  for (std::size_t i = place; i < rows.size(); i += width) out.push_back(rows[i]);
  return out;
}

void expect_the_network(const Kind& kind) {
  SCOPED_TRACE(kind.name());
  const UntrainedPolicy untrained(kind);
  const Policy policy = untrained.view();
  const PolicyGraph graph = policy_graph(policy);
  const std::vector<double> shown = untrained.observations(kRows);
  // Without a value, a graph's states are the policy's share, which comes first.
  std::vector<float> states(kRows * policy.network.state_size());
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = 0.1f * static_cast<float>(i % 7);
  const auto share = [&] {
    std::vector<float> out;
    for (int i = 0; i < kRows * graph.state_size; ++i) {
      out.push_back(
          states[static_cast<std::size_t>(i / graph.state_size) * policy.network.state_size() +
                 static_cast<std::size_t>(i % graph.state_size)]);
    }
    return out;
  };
  const std::vector<float> before = share();
  const PolicyOutputs found =
      policy_outputs(policy, untrained.stored(shown, kRows), kRows, states.data());
  const std::map<std::string, std::vector<double>> got =
      replay(graph, shown, kRows, {}, {before.begin(), before.end()});
  EXPECT_EQ(got.count("next_state"), policy.network.is_recurrent() ? 1u : 0u);
  if (policy.network.is_recurrent()) EXPECT_LT(apart(share(), got.at("next_state")), 1e-5);

  const bool is_discrete = kind.action.kind != SpaceKind::kBox;
  const std::string outputs = !is_discrete              ? "mean"
                              : kind.algorithm == "pqn" ? "action_values"
                                                        : "logits";
  EXPECT_LT(apart(found.outputs, got.at(outputs)), 1e-5);
  const std::vector<int> choices = kind.action.choices();
  const std::size_t width = found.outputs.size() / kRows;
  for (std::size_t r = 0; r < kRows; ++r) {
    const float* row = found.outputs.data() + r * width;
    for (std::size_t a = 0; a < width && !is_discrete; ++a) {
      EXPECT_NEAR(got.at("action")[r * width + a],
                  std::clamp(row[a], kind.action.low[a], kind.action.high[a]), 1e-5);
    }
    for (std::size_t a = 0; a < choices.size(); row += choices[a++]) {
      const auto best = std::max_element(row, row + choices[a]) - row;
      EXPECT_EQ(got.at("action")[r * choices.size() + a], best + kind.action.start);
    }
  }
  if (kind.critic_observation.size > 0) {
    EXPECT_EQ(got.count("value"), 0u);
    return;
  }
  const std::size_t values = found.values.size() / kRows;
  EXPECT_LT(apart(column(found.values, values, 0), got.at("value")), 1e-5);
  EXPECT_EQ(got.count("intrinsic_value"), kind.algorithm == "ppo_rnd" ? 1u : 0u);
  if (values == 2) {
    EXPECT_LT(apart(column(found.values, values, 1), got.at("intrinsic_value")), 1e-5);
  }
}

TEST(PolicyGraph, OfEveryNetworkIsExact) {
  const Space box = Space::box({-0.2f, -0.3f}, {0.2f, 0.1f});
  for (const std::string encoder : {"mlp", "minatar", "nature", "impala"}) {
    for (const std::string norm : {"off", "channels", "all"}) {
      if (encoder == "impala" && norm != "off") continue;
      Kind kind{.encoder = encoder, .layer_norm = norm};
      if (encoder != "mlp") kind.observation = Space::bytes({36, 37, 2});
      if (encoder == "minatar") kind.observation = Space::bits({10, 9, 3});
      if (encoder == "impala") kind.observation = Space::bytes({11, 12, 3});
      for (const std::string algorithm : {"ppo", "pqn", "ppo_rnd"}) {
        kind.algorithm = algorithm;
        kind.shared_encoder = algorithm == "ppo_rnd" || norm == "all";
        kind.activation = algorithm == "ppo" ? "tanh" : algorithm == "pqn" ? "relu" : "elu";
        kind.action = algorithm == "ppo" && norm != "channels" ? box : Space::discrete(4);
        expect_the_network(kind);
      }
    }
  }
}

TEST(PolicyGraph, ChoicesOfAnActionCountFromTheirStarts) {
  const std::vector<std::int64_t> starts{5, -2};
  EXPECT_EQ(first_choices(export_tests::choices_from_starts()), starts);
  EXPECT_EQ(first_choices(discrete_from(-1, 4)), (std::vector<std::int64_t>{-1}));
  EXPECT_TRUE(first_choices(Space::multi_discrete({3, 2})).empty());
  Space outside = Space::multi_discrete({3, 2});  // such a file may come from somebody else
  outside.structure = R"({"tuple": [{"at": 1, "start": [7, 8, 9]}, {"at": 99, "start": 3}]})";
  EXPECT_EQ(first_choices(outside), (std::vector<std::int64_t>{0, 7}));

  Kind kind{.action = export_tests::choices_from_starts()};
  const UntrainedPolicy counted(kind);
  kind.action.structure.clear();
  const UntrainedPolicy from_0(kind);
  const std::vector<double> rows = counted.observations(kRows);
  const auto play = [&](const UntrainedPolicy& untrained) {
    return replay(policy_graph(untrained.view()), rows, kRows).at("action");
  };
  const std::vector<double> actions = play(counted), indices = play(from_0);
  ASSERT_EQ(actions.size(), indices.size());
  for (std::size_t i = 0; i < actions.size(); ++i) {
    EXPECT_EQ(actions[i], indices[i] + static_cast<double>(starts[i % 2]));
  }
}

// Running statistics clip the critic's outputs.
TEST(PolicyGraph, GivesNormalisedValuesInUnitsOfRewards) {
  for (const char* norm : {"running", "popart"}) {
    for (const char* recurrent : {"none", "gru"}) {
      expect_the_network({.recurrent = recurrent, .norm_value = norm});
      expect_the_network({.norm_value = norm, .shared_encoder = true});
    }
  }
  const UntrainedPolicy untrained({.norm_value = "running"});
  const PolicyGraph graph = policy_graph(untrained.view());
  const ValueUnit unit = untrained.view().value_norm->unit();
  EXPECT_FLOAT_EQ(graph.array("value_low").numbers[0], unit.value(-5.0f));
  EXPECT_FLOAT_EQ(graph.array("value_high").numbers[0], unit.value(5.0f));
}

// action: what the formulas of pair_distributions.h make of a row's outputs, in [-1, 1].
template <class Formula>
void expect_scaled(const Kind& kind, Formula&& action) {
  SCOPED_TRACE(kind.name());
  const UntrainedPolicy untrained(kind);
  const Policy policy = untrained.view();
  const std::vector<double> shown = untrained.observations(kRows);
  const PolicyOutputs found = policy_outputs(policy, untrained.stored(shown, kRows), kRows);
  const std::map<std::string, std::vector<double>> got = replay(policy_graph(policy), shown, kRows);
  const std::size_t size = kind.action.low.size(), width = found.outputs.size() / kRows;
  ASSERT_EQ(got.at("action").size(), kRows * size);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t a = 0; a < size; ++a) {
      const float* const row = &found.outputs[r * width + a];
      const double low = kind.action.low[a], high = kind.action.high[a];
      EXPECT_NEAR(got.at("action")[r * size + a],
                  low + 0.5 * (high - low) * (1.0 + action(row[0], row[width - size])), 1e-6);
      if (kind.std_form == "state_dependent") {
        EXPECT_NEAR(got.at("log_std")[r * size + a], row[width - size], 1e-6);
      }
    }
  }
}

TEST(PolicyGraph, ScalesSquashedAndBetaActions) {
  const Space box = Space::box({-0.2f, 5.0f}, {0.2f, 35.0f});
  const auto squashed = [](double mean, double) { return std::tanh(mean); };
  expect_scaled({.action_distribution = "squashed", .action = box}, squashed);
  expect_scaled({.action_distribution = "squashed", .std_form = "state_dependent", .action = box},
                squashed);
  expect_scaled({.action_distribution = "beta", .action = box}, [](double one, double two) {
    const double alpha = 1.0 + std::log1p(std::exp(one)), beta = 1.0 + std::log1p(std::exp(two));
    return 2.0 * alpha / (alpha + beta) - 1.0;
  });
}

// The network without names of policies acts as the leader, whose vector joins the biases.
TEST(PolicyGraph, OfSeveralPoliciesIsTheLeaders) {
  expect_the_network({.norm_obs = true, .sapg_policies = 3});
  expect_the_network({.shared_encoder = true, .hidden_sizes = {}, .sapg_policies = 2});
  expect_the_network({.encoder = "minatar",
                      .layer_norm = "all",
                      .observation = Space::bits({10, 9, 3}),
                      .sapg_policies = 4});
  expect_the_network({.critic_observation = Space::box({0.0f}, {1.0f}), .sapg_policies = 3});
  const Space box = Space::box({-0.2f, 5.0f}, {0.2f, 35.0f});
  expect_scaled({.action_distribution = "squashed", .action = box, .sapg_policies = 3},
                [](double mean, double) { return std::tanh(mean); });
  const UntrainedPolicy untrained({.action = box, .sapg_policies = 3});
  const Policy policy = untrained.view();
  const PolicyGraph graph = policy_graph(policy);
  const float* const leader = policy.params + policy.network.log_std_offset() + 4;
  EXPECT_EQ(graph.array("log_std").numbers, std::vector<float>(leader, leader + 2));
}

TEST(PolicyGraph, OfEveryCellIsExact) {
  for (const std::string cell : {"mingru", "gru", "lstm"}) {
    expect_the_network({.recurrent = cell, .norm_obs = true});
    expect_the_network({.recurrent = cell, .critic_observation = Space::box({0.0f}, {1.0f})});
    expect_the_network({.encoder = "minatar",  // units are pixels and channels
                        .recurrent = cell,
                        .shared_encoder = true,
                        .observation = Space::bits({4, 5, 2}),
                        .hidden_sizes = {}});
    if (cell == "mingru") continue;
    expect_the_network({.recurrent = cell, .norm_obs = true, .recurrent_units = 5});
    expect_the_network({.encoder = "minatar",
                        .recurrent = cell,
                        .observation = Space::bits({4, 5, 2}),
                        .recurrent_units = 5});
  }
}

TEST(PolicyGraph, CountsFromTheSpacesStart) {
  const Kind kind{.observation = export_tests::discrete_from(3, 9),
                  .action = export_tests::discrete_from(-1, 4)};
  expect_the_network(kind);
  const UntrainedPolicy untrained(kind);
  EXPECT_EQ(policy_graph(untrained.view()).outputs.front(), "action");
}

TEST(PolicyGraph, NamesTheDistributionOfNumbers) {
  const auto named = [](const Kind& kind) {
    for (const auto& [key, value] : policy_graph(UntrainedPolicy(kind).view()).about) {
      if (key == "action_distribution") return value;
    }
    return std::string();
  };
  EXPECT_EQ(named({.action_distribution = "beta", .action = Space::box({-1.0f}, {1.0f})}), "beta");
  EXPECT_EQ(named({.action = Space::box({-1.0f}, {1.0f})}), "gaussian");
  EXPECT_EQ(named({.action = Space::discrete(3)}), "");
}

TEST(PolicyGraph, ChoosesEachNumberOfAnAction) {
  const Kind kind{.action = Space::multi_discrete({3, 1, 4})};
  expect_the_network(kind);
  const PolicyGraph graph = policy_graph(UntrainedPolicy(kind).view());
  EXPECT_EQ(output_text(graph.operation("action")), "int64 [N, 3]");
  EXPECT_EQ(output_text(graph.operation("logits")), "float32 [N, 8]");
}

TEST(PolicyGraph, ChoosesValidActions) {
  Kind kind{.action = Space::multi_discrete({3, 2})};
  kind.action.masked = true;
  const UntrainedPolicy untrained(kind);
  const PolicyGraph graph = policy_graph(untrained.view());
  EXPECT_EQ(graph.mask_size, 5);
  const std::vector<double> shown = untrained.observations(1);
  const std::map<std::string, std::vector<double>> got =
      replay(graph, shown, 1, {0.0, 1.0, 0.0, 1.0, 0.0});
  EXPECT_EQ(got.at("action"), (std::vector<double>{1.0, 0.0}));
  const PolicyOutputs found = policy_outputs(untrained.view(), untrained.stored(shown, 1), 1);
  EXPECT_NEAR(got.at("logits")[1], found.outputs[1], 1e-5);
  EXPECT_EQ(got.at("logits")[0], static_cast<double>(kInvalidLogit));
}

// An action is the row that the environment gets: indices, then numbers within their bounds.
TEST(PolicyGraph, JoinsChoicesAndNumbers) {
  for (const char* std_form : {"log", "state_dependent", "sde"}) {
    Kind kind{.std_form = std_form, .action = Space::hybrid({3, 2}, {-0.01f}, {0.01f})};
    kind.action.masked = true;
    const UntrainedPolicy untrained(kind);
    const PolicyGraph graph = policy_graph(untrained.view());
    EXPECT_EQ(output_text(graph.operation("action")), "float32 [N, 3]");
    EXPECT_EQ(output_text(graph.operation("logits")), "float32 [N, 5]");
    EXPECT_EQ(graph.mask_size, 5);
    const std::vector<double> shown = untrained.observations(kRows);
    const PolicyOutputs found =
        policy_outputs(untrained.view(), untrained.stored(shown, kRows), kRows);
    std::vector<double> masks;
    for (int r = 0; r < kRows; ++r) masks.insert(masks.end(), {0.0, 1.0, 0.0, 1.0, 1.0});
    const std::map<std::string, std::vector<double>> got = replay(graph, shown, kRows, masks);
    const std::size_t width = found.outputs.size() / kRows;
    for (std::size_t r = 0; r < kRows; ++r) {
      const float* const row = &found.outputs[r * width];
      EXPECT_EQ(got.at("action")[r * 3], 1.0);
      EXPECT_EQ(got.at("action")[r * 3 + 1], row[4] > row[3] ? 1.0 : 0.0);
      EXPECT_NEAR(got.at("action")[r * 3 + 2], std::clamp(row[5], -0.01f, 0.01f), 1e-6);
      EXPECT_NEAR(got.at("mean")[r], row[5], 1e-6);
      if (width == 7) EXPECT_NEAR(got.at("log_std")[r], row[6], 1e-6);
    }
  }
}

TEST(PolicyGraph, OfEveryObservationIsExact) {
  Space grid = Space::box(std::vector<float>(20, 0.0f), std::vector<float>(20, 40.0f));
  grid.shape = {5, 4};
  Space tensor = Space::box({-9.0f, -9.0f, -9.0f, -9.0f}, {9.0f, 9.0f, 9.0f, 9.0f});
  tensor.shape = {2, 2};
  for (const bool norm_obs : {false, true}) {
    expect_the_network({.norm_obs = norm_obs});
    expect_the_network({.norm_obs = norm_obs, .observation = Space::discrete(9)});
    expect_the_network({.norm_obs = norm_obs, .observation = grid});
    expect_the_network(
        {.encoder = "minatar", .norm_obs = norm_obs, .observation = grid, .action = tensor});
    expect_the_network({.norm_obs = norm_obs, .critic_observation = Space::box({0.0f}, {1.0f})});
    expect_the_network({.norm_obs = norm_obs, .hidden_sizes = {}});
  }
  expect_the_network({.observation = Space::bytes({4, 3, 2})});
  expect_the_network(
      {.encoder = "minatar", .observation = Space::bytes({6, 5}), .hidden_sizes = {}});
}

// In float32, as files are run: the rounding of a mean of 1,000 must not matter.
// Each group is an input in its own form; images are divided, vectors normalised, choices one-hot.
TEST(PolicyGraph, OfGroupsIsExact) {
  Kind kind{.activation = "relu"};
  kind.observation = Space::grouped({{"state", Space::box({-1.0f, -2.0f}, {1.0f, 3.0f})},
                                     {"image", Space::bytes({7, 6, 3})},
                                     {"facing", discrete_from(2, 4)},
                                     {"board", Space::bits({5, 4})},
                                     {"speed", Space::box({-1.0f}, {1.0f})}});
  kind.group_encoders = {"image:minatar/5", "state:mlp/4"};
  kind.hidden_sizes = {6};
  for (const std::string norm : {"off", "channels", "all"}) {
    for (const bool is_shared : {false, true}) {
      for (const std::string algorithm : {"ppo", "pqn"}) {
        kind.layer_norm = norm;
        kind.shared_encoder = is_shared && algorithm == "ppo";
        kind.norm_obs = is_shared;
        kind.algorithm = algorithm;
        expect_the_network(kind);
      }
    }
  }
  kind.algorithm = "ppo";
  kind.layer_norm = "off";
  kind.shared_encoder = false;
  kind.recurrent = "lstm";
  kind.group_encoders = {"board:impala"};
  expect_the_network(kind);
  kind.hidden_sizes = {};
  kind.recurrent = "none";
  kind.policy_groups = {"facing", "image"};
  expect_the_network(kind);
  const UntrainedPolicy untrained(kind);
  const PolicyGraph all = policy_graph(untrained.view()),
                    own = policy_graph(untrained.view(), false);
  ASSERT_EQ(all.groups.size(), 5u);
  ASSERT_EQ(own.groups.size(), 2u);
  EXPECT_EQ(own.groups[0].name, "observation.image");
  EXPECT_EQ(observation_text(own), "{\"image\": uint8 [N, 7, 6, 3], \"facing\": int64 [N]}");
}

TEST(PolicyGraph, KeepsTheRestOfAMeanInFloat32) {
  const UntrainedPolicy untrained({.norm_obs = true});
  const Policy policy = untrained.view();
  const PolicyGraph graph = policy_graph(policy);
  const std::vector<double>& mean = policy.obs_norm->statistics().mean();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double kept = static_cast<double>(graph.array("observation_mean").numbers[i]) +
                        graph.array("observation_mean_rest").numbers[i];
    EXPECT_NEAR(kept, mean[i], 1e-12 * std::abs(mean[i]));
    EXPECT_NE(static_cast<double>(graph.array("observation_mean").numbers[i]), mean[i]);
  }
}

TEST(PolicyGraph, NamesLayersAsPyTorchWould) {
  const UntrainedPolicy untrained({.encoder = "nature",
                                   .activation = "relu",
                                   .shared_encoder = true,
                                   .observation = Space::bytes({36, 36, 4}),
                                   .hidden_sizes = {8}});
  std::string names;
  for (const NamedArray& array : policy_graph(untrained.view()).arrays) {
    names += array.name;
    for (const int extent : array.shape) names += " " + std::to_string(extent);
    names += "\n";
    EXPECT_EQ(static_cast<std::size_t>(row_size(array.shape)), array.numbers.size());
  }
  EXPECT_EQ(names,
            "encoder.conv1.weight 32 4 8 8\nencoder.conv1.bias 32\n"
            "encoder.conv2.weight 64 32 4 4\nencoder.conv2.bias 64\n"
            "encoder.conv3.weight 64 64 3 3\nencoder.conv3.bias 64\n"
            "encoder.linear1.weight 8 64\nencoder.linear1.bias 8\n"
            "actor.head.weight 4 8\nactor.head.bias 4\n"
            "critic.head.weight 1 8\ncritic.head.bias 1\n");
}

TEST(PolicyGraph, LeavesTheCriticOutWhenAsked) {
  const UntrainedPolicy untrained({});
  const PolicyGraph graph = policy_graph(untrained.view(), false);
  EXPECT_EQ(graph.outputs, (std::vector<std::string>{"action", "logits"}));
  for (const NamedArray& array : graph.arrays) EXPECT_TRUE(array.name.starts_with("actor."));
}

}  // namespace
}  // namespace broadloom
