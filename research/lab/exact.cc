#include "research/lab/exact.h"

#include <fmt/core.h>

#include <utility>

#include "research/lab/exact_variance.h"

namespace broadloom {
namespace {

// Adds factors[s] pi(a | s) (x[s, a] - baseline[s]) to weights [S, A].
void add_pairs(const ExactChain& chain, const double* factors, const std::vector<double>& x,
               const double* baseline, std::vector<double>& weights) {
  for (int pair = 0; pair < chain.num_pairs(); ++pair) {
    const int s = pair / chain.num_actions;
    const double offset = baseline != nullptr ? baseline[s] : 0.0;
    weights[pair] += factors[s] * chain.policy[pair] * (x[pair] - offset);
  }
}

// [S]: sums of x [n, S] over its rows.
std::vector<double> by_state(const ExactChain& chain, const std::vector<double>& x) {
  std::vector<double> sums(static_cast<std::size_t>(chain.num_states), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % sums.size()] += x[i];
  return sums;
}

// With a limit L, calls f(tau, Q [S, A]) for tau = L - 1 down to 0.
template <class F>
void for_action_values(const ExactChain& chain, double gamma, F&& f) {
  std::vector<double> values(static_cast<std::size_t>(chain.num_states), 0.0);
  for (int tau = chain.max_episode_steps - 1; tau >= 0; --tau) {
    const std::vector<double> q = action_values(chain, gamma, values);
    f(tau, q);
    values = policy_average(chain, q);
  }
}

}  // namespace

Result<std::unique_ptr<ExactGradients>> ExactGradients::create(const TabularModel& model,
                                                               const ActorCritic& network,
                                                               const float* params,
                                                               const ExactSettings& settings) {
  const std::vector<double> wide(params, params + network.parameter_count());
  return create(model, network, wide.data(), settings);
}

Result<std::unique_ptr<ExactGradients>> ExactGradients::create(const TabularModel& model,
                                                               const ActorCritic& network,
                                                               const double* params,
                                                               const ExactSettings& settings) {
  if (network.shape().action_kind != SpaceKind::kDiscrete) {
    return Status(ErrorKind::kMismatch,
                  "the network's actions are not Discrete, which a tabular environment needs");
  }
  if (network.shape().masked) {
    return Status(ErrorKind::kMismatch,
                  "the network's actions have masks, which exact gradients do not know yet");
  }
  ExactPolicy policy(network, params, settings.value_unit);
  Result<ExactChain> chain = make_exact_chain(model, policy, settings.max_episode_steps);
  if (!chain.ok()) return chain.status();
  return std::unique_ptr<ExactGradients>(
      new ExactGradients(std::move(policy), chain.take(), settings));
}

ExactGradients::ExactGradients(ExactPolicy policy, ExactChain chain, const ExactSettings& settings)
    : policy_(std::move(policy)), chain_(std::move(chain)), settings_(settings) {}

std::vector<double> ExactGradients::gradient_of(const std::vector<double>& weights,
                                                double scale) const {
  std::vector<double> all(static_cast<std::size_t>(policy_.num_states()) * policy_.num_actions());
  for (int pair = 0; pair < chain_.num_pairs(); ++pair) {
    const int state = chain_.states[pair / chain_.num_actions];
    all[state * chain_.num_actions + pair % chain_.num_actions] = scale * weights[pair];
  }
  return policy_.weighted_scores(all);
}

std::vector<double> ExactGradients::expected(const ExactCase& exact_case) const {
  std::vector<double> weights(static_cast<std::size_t>(chain_.num_pairs()), 0.0);
  const PositionWeights positions =
      position_weights(chain_, exact_case.num_steps, settings_.synchronised);
  const auto add = [&](Horizon horizon, const std::vector<double>& factors) {
    AdvantageMoments moments(chain_, exact_case, settings_.truncation_mode, horizon);
    for (std::size_t i = 0; i < factors.size(); i += chain_.num_states) {
      moments.advance();
      add_pairs(chain_, factors.data() + i, moments.first(), nullptr, weights);
    }
  };
  add(Horizon::kBlock, positions.beyond);
  add(Horizon::kLimit, positions.limited);
  return gradient_of(weights, -1.0 / exact_case.num_steps);
}

std::vector<double> ExactGradients::reference(int num_steps, double gamma) const {
  const std::vector<double> ages = age_weights(chain_, num_steps, settings_.synchronised);
  std::vector<double> weights(static_cast<std::size_t>(chain_.num_pairs()), 0.0);
  const double* const baseline = chain_.values.data();
  if (chain_.max_episode_steps == 0) {
    const PositionWeights positions = position_weights(chain_, num_steps, settings_.synchronised);
    add_pairs(chain_, by_state(chain_, positions.beyond).data(),
              action_values(chain_, gamma, unlimited_values(chain_, gamma)), baseline, weights);
    return gradient_of(weights, -1.0 / num_steps);
  }
  std::vector<double> factors = episode_occupancy(chain_, static_cast<int>(ages.size()));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] *= ages[i / chain_.num_states];
  if (settings_.continued) {  // Q does not depend on tau
    add_pairs(chain_, by_state(chain_, factors).data(),
              action_values(chain_, gamma, unlimited_values(chain_, gamma)), baseline, weights);
    return gradient_of(weights, -1.0 / num_steps);
  }
  for_action_values(chain_, gamma, [&](std::size_t tau, const std::vector<double>& q) {
    if (tau >= ages.size()) return;
    add_pairs(chain_, factors.data() + tau * chain_.num_states, q, baseline, weights);
  });
  return gradient_of(weights, -1.0 / num_steps);
}

std::vector<double> ExactGradients::state_values(double gamma) const {
  std::vector<double> values;
  if (!ends_at_limit()) {
    values = unlimited_values(chain_, gamma);
  } else {
    values.assign(static_cast<std::size_t>(chain_.num_states), 0.0);
    const std::vector<double> rho = episode_occupancy(chain_, chain_.max_episode_steps);
    for_action_values(chain_, gamma, [&](std::size_t tau, const std::vector<double>& q) {
      const std::vector<double> now = policy_average(chain_, q);
      for (int s = 0; s < chain_.num_states; ++s) {
        values[s] += rho[tau * chain_.num_states + s] * now[s];
      }
    });
    for (int s = 0; s < chain_.num_states; ++s) {
      if (chain_.visits[s] > 0.0) values[s] /= chain_.visits[s];
    }
  }
  std::vector<double> all(static_cast<std::size_t>(policy_.num_states()), 0.0);
  for (int s = 0; s < chain_.num_states; ++s) all[chain_.states[s]] = values[s];
  return all;
}

double ExactGradients::objective(double gamma) const {
  std::vector<double> values;
  if (chain_.max_episode_steps == 0) {
    values = unlimited_values(chain_, gamma);
  } else {
    for_action_values(chain_, gamma, [&](int tau, const std::vector<double>& q) {
      if (tau == 0) values = policy_average(chain_, q);
    });
  }
  double sum = 0.0;
  for (int s = 0; s < chain_.num_states; ++s) sum += chain_.start[s] * values[s];
  return sum;
}

std::vector<double> ExactGradients::policy_gradient(double gamma) const {
  std::vector<double> weights(static_cast<std::size_t>(chain_.num_pairs()), 0.0);
  if (chain_.max_episode_steps == 0) {
    add_pairs(chain_, unlimited_visits(chain_, gamma).data(),
              action_values(chain_, gamma, unlimited_values(chain_, gamma)), nullptr, weights);
    return gradient_of(weights, 1.0);
  }
  std::vector<double> factors = episode_occupancy(chain_, chain_.max_episode_steps);
  double discount = 1.0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (i > 0 && i % chain_.num_states == 0) discount *= gamma;
    factors[i] *= discount;
  }
  for_action_values(chain_, gamma, [&](int tau, const std::vector<double>& q) {
    add_pairs(chain_, factors.data() + tau * chain_.num_states, q, nullptr, weights);
  });
  return gradient_of(weights, 1.0);
}

Result<ExactVariance> ExactGradients::variance(const ExactCase& exact_case, int num_envs) {
  const ExactWork work = second_moment_work(chain_, exact_case.num_steps);
  if (work.operations > kMaxOperations || work.bytes > kMaxBytes) {
    return Status(
        ErrorKind::kInvalidConfig,
        fmt::format("the exact variance of {} states, {} actions and {} steps would take {:.1e} "
                    "operations and {:.1e} bytes; at most {:.0e} and {:.0e} are allowed: ask for "
                    "fewer steps, or for the sampled variance",
                    chain_.num_states, chain_.num_actions, exact_case.num_steps, work.operations,
                    work.bytes, kMaxOperations, kMaxBytes));
  }
  if (score_products_.empty()) score_products_ = policy_.score_products(chain_.states);
  const SecondMoment moment = second_moment(chain_, score_products_, exact_case,
                                            settings_.truncation_mode, settings_.synchronised);
  const double steps = exact_case.num_steps;
  ExactVariance variance;
  for (const double g : expected(exact_case)) variance.squared_norm += g * g;
  variance.sample_variance = moment.same_step / steps - variance.squared_norm;
  variance.total = (moment.total() / (steps * steps) - variance.squared_norm) / num_envs;
  variance.individual = variance.sample_variance / (num_envs * steps);
  variance.within = variance.total - variance.individual;
  return variance;
}

}  // namespace broadloom
