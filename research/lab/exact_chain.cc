#include "research/lab/exact_chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace broadloom {
namespace {

constexpr std::int64_t kMaxPositions = std::int64_t{1} << 25;  // limit times states: 256 MiB each

Status check_outcomes(const TabularModel& model, int state, int action) {
  double sum = 0.0;
  for (const TabularModel::Outcome& o : model.outcomes(state, action)) {
    if (o.next_state < 0 || o.next_state >= model.num_states) {
      return {ErrorKind::kInvalidConfig,
              fmt::format("state {}, action {} leads to state {}; expected 0 to {}", state, action,
                          o.next_state, model.num_states - 1)};
    }
    sum += o.probability;
  }
  if (!(std::abs(sum - 1.0) <= 1e-9)) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("outcomes of state {}, action {} have probability {} in all; expected 1",
                        state, action, sum)};
  }
  return {};
}

Status check_model(const TabularModel& model, const ExactPolicy& policy, int max_episode_steps) {
  if (model.num_states != policy.num_states() || model.num_actions != policy.num_actions()) {
    return {ErrorKind::kMismatch,
            fmt::format("the network takes {} states and gives {} actions; the model has {} and {}",
                        policy.num_states(), policy.num_actions(), model.num_states,
                        model.num_actions)};
  }
  const std::size_t pairs = static_cast<std::size_t>(model.num_states) * model.num_actions;
  if (model.transitions.size() != pairs ||
      model.start.size() != static_cast<std::size_t>(model.num_states)) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("the model lists {} pairs of state and action and {} starts; expected {} "
                        "and {}",
                        model.transitions.size(), model.start.size(), pairs, model.num_states)};
  }
  double sum = 0.0;
  for (const double p : model.start) sum += p;
  if (!(std::abs(sum - 1.0) <= 1e-9)) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("starts have probability {} in all; expected 1", sum)};
  }
  if (max_episode_steps < 0 || std::int64_t{max_episode_steps} * model.num_states > kMaxPositions) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("max_episode_steps is {} with {} states; expected 0 (no limit), or a "
                        "product of at most {}",
                        max_episode_steps, model.num_states, kMaxPositions)};
  }
  for (int s = 0; s < model.num_states; ++s) {
    for (int a = 0; a < model.num_actions; ++a) {
      BROADLOOM_TRY(check_outcomes(model, s, a));
      if (std::isfinite(policy.probabilities()[s * model.num_actions + a] + policy.values()[s])) {
        continue;
      }
      return {ErrorKind::kNumeric,
              fmt::format("the network's policy or value of state {} is not finite", s)};
    }
  }
  return {};
}

// The model's states in which a step can be taken, in order.
std::vector<int> visited_states(const TabularModel& model, const ExactPolicy& policy) {
  std::vector<char> seen(model.start.size(), 0);
  std::vector<int> open;
  const auto see = [&](int s) {
    if (seen[s] == 0) open.push_back(s);
    seen[s] = 1;
  };
  for (int s = 0; s < model.num_states; ++s) {
    if (model.start[s] > 0.0) see(s);
  }
  while (!open.empty()) {
    const int s = open.back();
    open.pop_back();
    for (int a = 0; a < model.num_actions; ++a) {
      if (policy.probabilities()[s * model.num_actions + a] == 0.0) continue;
      for (const TabularModel::Outcome& o : model.outcomes(s, a)) {
        if (o.probability > 0.0 && !o.terminated) see(o.next_state);
      }
    }
  }
  std::vector<int> states;
  for (int s = 0; s < model.num_states; ++s) {
    if (seen[s] != 0) states.push_back(s);
  }
  return states;
}

void copy_model(const TabularModel& model, const ExactPolicy& policy, ExactChain& chain) {
  std::vector<int> index(model.start.size(), -1);
  for (int s = 0; s < chain.num_states; ++s) index[chain.states[s]] = s;
  chain.first_outcome.push_back(0);
  for (const int s : chain.states) {
    chain.start.push_back(model.start[s]);
    chain.values.push_back(policy.values()[s]);
    for (int a = 0; a < chain.num_actions; ++a) {
      chain.policy.push_back(policy.probabilities()[s * chain.num_actions + a]);
      for (const TabularModel::Outcome& o : model.outcomes(s, a)) {
        // An action of probability zero may lead out of the visited states.
        if (o.probability == 0.0 || chain.policy.back() == 0.0) continue;
        chain.outcomes.push_back(
            {o.probability, o.reward, o.terminated ? -1 : index[o.next_state]});
      }
      chain.first_outcome.push_back(static_cast<int>(chain.outcomes.size()));
    }
  }
}

// [S] probability that a step from s terminates.
std::vector<double> termination(const ExactChain& chain) {
  std::vector<double> ends(static_cast<std::size_t>(chain.num_states), 0.0);
  for (int pair = 0; pair < chain.num_pairs(); ++pair) {
    chain.for_outcomes(pair, [&](const ExactChain::Outcome& o) {
      if (o.terminated()) ends[pair / chain.num_actions] += chain.policy[pair] * o.probability;
    });
  }
  return ends;
}

// [S, S]: transition probabilities from s to s' within an episode.
std::vector<double> transition_matrix(const ExactChain& chain) {
  std::vector<double> matrix(static_cast<std::size_t>(chain.num_states) * chain.num_states, 0.0);
  for (int pair = 0; pair < chain.num_pairs(); ++pair) {
    const int s = pair / chain.num_actions;
    chain.for_outcomes(pair, [&](const ExactChain::Outcome& o) {
      if (o.terminated()) return;
      matrix[s * chain.num_states + o.next] += chain.policy[pair] * o.probability;
    });
  }
  return matrix;
}

// Whether every state can reach a termination. If not, `stuck` is a state that cannot.
bool always_ends(const ExactChain& chain, int& stuck) {
  std::vector<double> ends = termination(chain);
  const std::vector<double> matrix = transition_matrix(chain);
  bool changed = true;
  while (changed) {
    changed = false;
    for (int s = 0; s < chain.num_states; ++s) {
      for (int next = 0; ends[s] == 0.0 && next < chain.num_states; ++next) {
        if (matrix[s * chain.num_states + next] == 0.0 || ends[next] == 0.0) continue;
        ends[s] = 1.0;
        changed = true;
      }
    }
  }
  const auto none = std::find(ends.begin(), ends.end(), 0.0);
  if (none == ends.end()) return true;
  stuck = chain.states[none - ends.begin()];
  return false;
}

// Solves matrix x = right, by elimination with row exchanges. Not finite if the matrix is singular.
std::vector<double> solve(std::vector<double> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  const auto row = [&](std::size_t i) { return matrix.data() + i * n; };
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(row(i)[k]) > std::abs(row(pivot)[k])) pivot = i;
    }
    std::swap_ranges(row(k), row(k) + n, row(pivot));
    std::swap(right[k], right[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = row(i)[k] / row(k)[k];
      if (factor == 0.0) continue;
      for (std::size_t j = k; j < n; ++j) row(i)[j] -= factor * row(k)[j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) right[k] -= row(k)[j] * right[j];
    right[k] /= row(k)[k];
  }
  return right;
}

// I - gamma P, or its transpose.
std::vector<double> one_minus(const ExactChain& chain, double gamma, bool transposed) {
  const std::vector<double> matrix = transition_matrix(chain);
  const std::size_t n = chain.num_states;
  std::vector<double> result(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      result[i * n + j] = (i == j ? 1.0 : 0.0) - gamma * matrix[transposed ? j * n + i : i * n + j];
    }
  }
  return result;
}

Status count_visits(ExactChain& chain) {
  if (chain.max_episode_steps > 0) {
    const std::vector<double> occupancy = episode_occupancy(chain, chain.max_episode_steps);
    chain.visits.assign(static_cast<std::size_t>(chain.num_states), 0.0);
    for (std::size_t i = 0; i < occupancy.size(); ++i) {
      chain.visits[i % chain.num_states] += occupancy[i];
    }
  } else {
    int stuck = 0;
    if (!always_ends(chain, stuck)) {
      return {ErrorKind::kInvalidConfig,
              fmt::format("no episode ends from state {} on; set max_episode_steps", stuck)};
    }
    chain.visits = unlimited_visits(chain, 1.0);
  }
  chain.mean_episode_length = 0.0;
  for (const double visits : chain.visits) chain.mean_episode_length += visits;
  // Elimination loses as many digits as the length has.
  if (!(chain.mean_episode_length >= 1.0 - 1e-9 && chain.mean_episode_length < 1e9)) {
    return {ErrorKind::kNumeric,
            fmt::format("the mean episode length comes out as {}; expected 1 to 1e9: set "
                        "max_episode_steps",
                        chain.mean_episode_length)};
  }
  return {};
}

// Sums of the first 0, 1, ..., n rows of x [n, S]: [n + 1, S].
std::vector<double> running_sums(const std::vector<double>& x, int num_states) {
  std::vector<double> sums(x.size() + num_states, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i + num_states] = sums[i] + x[i];
  return sums;
}

// beyond[h] of position_weights() at tau < limit - h is the sum of u_{T - h - tau} rho_tau.
PositionWeights synchronised_weights(const ExactChain& chain, int num_steps) {
  const std::size_t S = chain.num_states;
  const int limit = chain.max_episode_steps;
  const std::vector<double> rho = episode_occupancy(chain, chain.episode_steps(num_steps));
  const std::vector<double> u = start_probabilities(chain, rho, num_steps);
  PositionWeights weights;
  weights.beyond.assign(num_steps * S, 0.0);
  for (int h = 1; h <= num_steps; ++h) {
    for (int tau = 0; tau <= num_steps - h && (limit == 0 || tau < limit - h); ++tau) {
      for (std::size_t s = 0; s < S; ++s) {
        weights.beyond[(h - 1) * S + s] += u[num_steps - h - tau] * rho[tau * S + s];
      }
    }
  }
  if (limit == 0) return weights;
  weights.limited.assign(chain.episode_steps(num_steps) * S, 0.0);
  double starts = 0.0;  // of episodes with all L steps in the block
  for (int n = 0; n <= num_steps - limit; ++n) starts += u[n];
  if (starts == 0.0) return weights;
  for (int m = 1; m <= limit; ++m) {
    for (std::size_t s = 0; s < S; ++s) {
      weights.limited[(m - 1) * S + s] = starts * rho[(limit - m) * S + s];
    }
  }
  return weights;
}

PositionWeights stationary_weights(const ExactChain& chain, int num_steps) {
  const std::size_t S = chain.num_states;
  const int limit = chain.max_episode_steps;
  const double u = 1.0 / chain.mean_episode_length;
  PositionWeights weights;
  weights.beyond.assign(num_steps * S, 0.0);
  if (limit == 0) {
    for (std::size_t i = 0; i < weights.beyond.size(); ++i) {
      weights.beyond[i] = u * chain.visits[i % S];
    }
    return weights;
  }
  const std::vector<double> rho = episode_occupancy(chain, limit);
  const std::vector<double> sums = running_sums(rho, chain.num_states);
  weights.limited.assign(chain.episode_steps(num_steps) * S, 0.0);
  for (int h = 1; h <= chain.episode_steps(num_steps); ++h) {
    for (std::size_t s = 0; s < S; ++s) {
      weights.beyond[(h - 1) * S + s] = u * sums[(limit - h) * S + s];
      // h steps before the limit and before the block's end, or earlier: T - h + 1 places.
      weights.limited[(h - 1) * S + s] = u * (num_steps - h + 1) * rho[(limit - h) * S + s];
    }
  }
  return weights;
}

}  // namespace

Result<ExactChain> make_exact_chain(const TabularModel& model, const ExactPolicy& policy,
                                    int max_episode_steps) {
  BROADLOOM_TRY(check_model(model, policy, max_episode_steps));
  ExactChain chain;
  chain.max_episode_steps = max_episode_steps;
  chain.states = visited_states(model, policy);
  chain.num_states = static_cast<int>(chain.states.size());
  chain.num_actions = model.num_actions;
  copy_model(model, policy, chain);
  BROADLOOM_TRY(count_visits(chain));
  return chain;
}

std::vector<double> episode_occupancy(const ExactChain& chain, int steps) {
  const std::size_t S = chain.num_states;
  std::vector<double> rho(steps * S, 0.0);
  std::copy(chain.start.begin(), chain.start.end(), rho.begin());
  for (int tau = 0; tau + 1 < steps; ++tau) {
    for (int pair = 0; pair < chain.num_pairs(); ++pair) {
      const double mass = rho[tau * S + pair / chain.num_actions] * chain.policy[pair];
      if (mass == 0.0) continue;
      chain.for_outcomes(pair, [&](const ExactChain::Outcome& o) {
        if (!o.terminated()) rho[(tau + 1) * S + o.next] += mass * o.probability;
      });
    }
  }
  return rho;
}

std::vector<double> start_probabilities(const ExactChain& chain,
                                        const std::vector<double>& occupancy, int steps) {
  const std::size_t S = chain.num_states;
  const std::vector<double> ends = termination(chain);
  const int longest = chain.episode_steps(steps);
  std::vector<double> of_length(static_cast<std::size_t>(longest) + 1, 0.0);
  for (int k = 1; k <= longest; ++k) {
    const bool at_limit = k == chain.max_episode_steps;
    for (std::size_t s = 0; s < S; ++s) {
      of_length[k] += occupancy[(k - 1) * S + s] * (at_limit ? 1.0 : ends[s]);
    }
  }
  std::vector<double> u(static_cast<std::size_t>(steps), 0.0);
  u[0] = 1.0;
  for (int n = 1; n < steps; ++n) {
    for (int k = 1; k <= std::min(n, longest); ++k) u[n] += of_length[k] * u[n - k];
  }
  return u;
}

PositionWeights position_weights(const ExactChain& chain, int num_steps, bool synchronised) {
  return synchronised ? synchronised_weights(chain, num_steps)
                      : stationary_weights(chain, num_steps);
}

std::vector<double> age_weights(const ExactChain& chain, int num_steps, bool synchronised) {
  if (!synchronised) {
    const int ages = chain.max_episode_steps > 0 ? chain.max_episode_steps : num_steps;
    return std::vector<double>(static_cast<std::size_t>(ages),
                               num_steps / chain.mean_episode_length);
  }
  const int ages = chain.episode_steps(num_steps);
  const std::vector<double> u =
      start_probabilities(chain, episode_occupancy(chain, ages), num_steps);
  std::vector<double> starts(static_cast<std::size_t>(num_steps) + 1, 0.0);
  for (int n = 0; n < num_steps; ++n) starts[n + 1] = starts[n] + u[n];
  std::vector<double> weights(static_cast<std::size_t>(ages));
  for (int tau = 0; tau < ages; ++tau) weights[tau] = starts[num_steps - tau];
  return weights;
}

std::vector<double> action_values(const ExactChain& chain, double gamma,
                                  const std::vector<double>& next_values) {
  std::vector<double> q(static_cast<std::size_t>(chain.num_pairs()), 0.0);
  for (int pair = 0; pair < chain.num_pairs(); ++pair) {
    chain.for_outcomes(pair, [&](const ExactChain::Outcome& o) {
      const double after = o.terminated() ? 0.0 : gamma * next_values[o.next];
      q[pair] += o.probability * (o.reward + after);
    });
  }
  return q;
}

std::vector<double> policy_average(const ExactChain& chain, const std::vector<double>& x) {
  std::vector<double> average(static_cast<std::size_t>(chain.num_states), 0.0);
  for (int pair = 0; pair < chain.num_pairs(); ++pair) {
    average[pair / chain.num_actions] += chain.policy[pair] * x[pair];
  }
  return average;
}

std::vector<double> unlimited_values(const ExactChain& chain, double gamma) {
  const std::vector<double> nothing(static_cast<std::size_t>(chain.num_states), 0.0);
  return solve(one_minus(chain, gamma, false),
               policy_average(chain, action_values(chain, gamma, nothing)));
}

std::vector<double> unlimited_visits(const ExactChain& chain, double gamma) {
  return solve(one_minus(chain, gamma, true), chain.start);
}

}  // namespace broadloom
