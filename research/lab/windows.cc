#include "research/lab/windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "broadloom/core/thread_pool.h"
#include "broadloom/learn/partial_gradients.h"
#include "broadloom/learn/ppo_loss.h"
#include "broadloom/learn/pqn_loss.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/rollout/advantages.h"
#include "broadloom/rollout/minibatches.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/settings.h"
#include "research/lab/frozen.h"

namespace broadloom {
namespace {

constexpr int kWindowGroups = 40;

// WindowSums for one length and side, by group of blocks.
struct WindowSums {
  std::vector<std::vector<float>> gradients, directions;  // [groups][P of the side]
  std::vector<double> squares;                            // [groups] of gradients' norms
};

// Inner products of groups' means.
struct WindowProducts {
  std::vector<double> own, whole, mixed, difference, direction;  // [groups, groups]
};

// Mean over pairs of different groups.
double over_pairs(const std::vector<double>& products, int left_out) {
  double sum = 0.0;
  for (int g = 0; g < kWindowGroups; ++g) {
    for (int h = 0; h < kWindowGroups; ++h) {
      if (g != h && g != left_out && h != left_out) sum += products[g * kWindowGroups + h];
    }
  }
  const double used = left_out >= 0 ? kWindowGroups - 1 : kWindowGroups;
  return sum / (used * (used - 1.0));
}

double root_of(double x) { return std::sqrt(std::max(x, 0.0)); }

double quotient_or_none(double x, double y) {
  return y > 0.0 ? x / y : std::numeric_limits<double>::quiet_NaN();
}

template <class Loss>
Loss loss_of(const Policy& policy);

template <>
PpoLoss loss_of<PpoLoss>(const Policy& policy) {
  PpoCoefficients coefficients;
  coefficients.ent_coef = 0.0;
  coefficients.clip_vloss = false;
  coefficients.vf_coef = policy.network.sides_are_apart() ? 1.0 : 0.0;
  return {coefficients};
}

template <>
PqnLoss loss_of<PqnLoss>(const Policy&) {
  return {};
}

// Loss: PpoLoss, or PqnLoss for action values.
template <class Loss>
class WindowStudy {
 public:
  WindowStudy(const Policy& policy, const WindowSettings& settings)
      : policy_(policy),
        settings_(settings),
        pool_(settings.threads),
        source_(policy, nullptr, settings.seed, pool_),
        gradients_(policy.network, loss_of<Loss>(policy), settings.shape.batch(),
                   policy.spec.observation_size(), policy.spec.action_size(), pool_) {
    const ActorCritic& network = policy.network;
    const bool has_values = network.shape().action_values;
    sides_.push_back({has_values ? "values" : "policy", network.ranges(NetworkSide::kPolicy)});
    if (network.sides_are_apart() && policy.value_norm == nullptr)
      sides_.push_back({"critic", network.ranges(NetworkSide::kValue)});
    for (const Side& side : sides_) {
      std::size_t size = 0;
      for (const ParameterRange& range : side.ranges) size += range.size();
      const std::vector<std::vector<float>> zero(kWindowGroups, std::vector<float>(size));
      sums_.emplace_back(settings.lengths.size(),
                         WindowSums{zero, zero, std::vector<double>(kWindowGroups, 0.0)});
    }
  }

  Result<std::vector<WindowResult>> run() {
    for (int b = 0; b < settings_.blocks; ++b) {
      if (settings_.on_block)
        BROADLOOM_TRY(settings_.on_block(static_cast<double>(b) / settings_.blocks));
      Result<std::unique_ptr<FrozenBlock>> block =
          source_.collect(settings_.shape, 1, static_cast<std::uint64_t>(b));
      if (!block.ok()) return block.status();
      measure(*block.value(), b % kWindowGroups);
    }
    std::vector<WindowResult> results;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      for (std::size_t l = 0; l < settings_.lengths.size(); ++l) {
        results.push_back(result(side, l));
      }
    }
    return results;
  }

 private:
  struct Side {
    std::string name;
    std::array<ParameterRange, 2> ranges;
  };

  void measure(RolloutBlock& block, int group) {
    const Config& config = policy_.config;
    compute_advantages(block, 0, block.N, config.gamma, config.gae_lambda, truncation_mode(config),
                       gae_weights(config));
    const std::vector<float> each_step = block.states;  // [T, N, state_size]
    for (std::size_t l = 0; l < settings_.lengths.size(); ++l) {
      add(block, each_step, settings_.lengths[l], l, group);
    }
  }

  // Takes the block as sequences of `length` steps.
  void add(RolloutBlock& block, const std::vector<float>& each_step, int length, std::size_t l,
           int group) {
    const std::size_t line = static_cast<std::size_t>(block.N) * block.state_size;
    block.sequence = length;
    block.states.clear();
    for (int t = 0; t < block.T; t += length) {
      const auto first = each_step.begin() + static_cast<std::ptrdiff_t>(t * line);
      block.states.insert(block.states.end(), first, first + static_cast<std::ptrdiff_t>(line));
    }
    const int samples = static_cast<int>(block.size());
    Minibatches order(samples, 1, length,
                      sequences_per_tile(policy_.network.shape().recurrent, length), Shuffle::kOff);
    order.shuffle(0, 0, 0, {}, block.N);
    const std::span<const float> gradient =
        gradients_.compute({block, order.indices(0), samples, {}, policy_.params, 1}).gradient;
    for (std::size_t side = 0; side < sides_.size(); ++side) {
      add_side(gradient, sides_[side], sums_[side][l], static_cast<std::size_t>(group));
    }
  }

  static void add_side(std::span<const float> gradient, const Side& side, WindowSums& sums,
                       std::size_t group) {
    double squares = 0.0;
    for (const ParameterRange& range : side.ranges) {
      squares += sum_squares(&gradient[range.begin], range.size());
    }
    sums.squares[group] += squares;
    const double scale = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
    std::size_t place = 0;
    for (const ParameterRange& range : side.ranges) {
      for (std::size_t p = range.begin; p < range.end; ++p, ++place) {
        sums.gradients[group][place] += gradient[p];
        sums.directions[group][place] += static_cast<float>(scale * gradient[p]);
      }
    }
  }

  double blocks_of(int group) const {
    const int blocks = (settings_.blocks - group + kWindowGroups - 1) / kWindowGroups;
    return blocks;
  }

  WindowProducts products(const WindowSums& sums, const WindowSums& whole) const {
    const auto mean_product = [&](const std::vector<std::vector<float>>& x, int g,
                                  const std::vector<std::vector<float>>& y, int h) {
      double sum = 0.0;
      for (std::size_t p = 0; p < x[g].size(); ++p) sum += static_cast<double>(x[g][p]) * y[h][p];
      return sum / (blocks_of(g) * blocks_of(h));
    };
    WindowProducts products;
    std::vector<std::vector<float>> differences = sums.gradients;
    for (std::size_t g = 0; g < differences.size(); ++g) {
      for (std::size_t p = 0; p < differences[g].size(); ++p) {
        differences[g][p] -= whole.gradients[g][p];
      }
    }
    for (int g = 0; g < kWindowGroups; ++g) {
      for (int h = 0; h < kWindowGroups; ++h) {
        products.own.push_back(mean_product(sums.gradients, g, sums.gradients, h));
        products.whole.push_back(mean_product(whole.gradients, g, whole.gradients, h));
        products.mixed.push_back(mean_product(sums.gradients, g, whole.gradients, h));
        products.difference.push_back(mean_product(differences, g, differences, h));
        products.direction.push_back(mean_product(sums.directions, g, whole.gradients, h));
      }
    }
    return products;
  }

  // Tr Cov of one block's gradient.
  double variance(const WindowSums& sums, const std::vector<double>& products, int left_out) const {
    double squares = 0.0, blocks = 0.0;
    for (int g = 0; g < kWindowGroups; ++g) {
      if (g == left_out) continue;
      squares += sums.squares[static_cast<std::size_t>(g)];
      blocks += blocks_of(g);
    }
    return squares / blocks - over_pairs(products, left_out);
  }

  WindowResult result(std::size_t side, std::size_t l) const {
    const WindowSums& sums = sums_[side][l];
    const WindowSums& whole = sums_[side].back();
    const WindowProducts pairs = products(sums, whole);
    const auto estimate = [&](auto&& statistic) {
      return jackknife(kWindowGroups, settings_.blocks, statistic);
    };
    WindowResult result{sides_[side].name, settings_.lengths[l], {}, {}, {}, {}};
    result.relative_bias = estimate([&](int out) {
      return quotient_or_none(root_of(over_pairs(pairs.difference, out)),
                              root_of(over_pairs(pairs.whole, out)));
    });
    // The jackknife does not know the noise of a bias near 0.
    const double bias = result.relative_bias.value;
    const double error = noise_error(pairs.difference, kWindowGroups) / over_pairs(pairs.whole, -1);
    result.relative_bias = at_least(
        result.relative_bias, bias > 0.0 ? error / (2.0 * bias) : root_of(error), kWindowGroups);
    result.cosine = estimate([&](int out) {
      return quotient_or_none(
          over_pairs(pairs.mixed, out),
          root_of(over_pairs(pairs.own, out)) * root_of(over_pairs(pairs.whole, out)));
    });
    result.agreement = estimate([&](int out) {
      return quotient_or_none(over_pairs(pairs.direction, out),
                              root_of(over_pairs(pairs.whole, out)));
    });
    result.variance = estimate([&](int out) {
      return quotient_or_none(variance(sums, pairs.own, out), variance(whole, pairs.whole, out));
    });
    return result;
  }

  const Policy policy_;
  const WindowSettings& settings_;
  ThreadPool pool_;
  BlockSource source_;
  PartialGradients<Loss> gradients_;
  std::vector<Side> sides_;
  std::vector<std::vector<WindowSums>> sums_;  // [sides][lengths]
};

Status complete_settings(const Policy& policy, WindowSettings& settings) {
  if (!policy.network.is_recurrent()) {
    return invalid(
        "recurrent = none: windows cut the gradient of a policy with memory; take a run with "
        "recurrent = mingru, gru or lstm");
  }
  if (learns_from_teacher(policy.config) ||
      (!draws_from_policy(policy.config) && !learns_action_values(policy.config))) {
    return invalid("algorithm = " + policy.config.algorithm +
                   ": windows cut the gradient of PPO's or of PQN's loss; take a run of "
                   "algorithm = ppo or pqn");
  }
  BlockShape& shape = settings.shape;
  if (shape.num_envs == 0) shape.num_envs = policy.config.num_envs;
  if (shape.num_steps == 0) shape.num_steps = policy.config.num_steps;
  std::vector<int>& lengths = settings.lengths;
  if (lengths.empty()) {
    for (int length = 1; length < shape.num_steps; length *= 2) {
      if (shape.num_steps % length == 0) lengths.push_back(length);
    }
  }
  for (const int length : lengths) {
    if (length >= 1 && shape.num_steps % length == 0) continue;
    return invalid(fmt::format("windows: got {}, expected divisors of the blocks' {} steps", length,
                               shape.num_steps));
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.back() != shape.num_steps) lengths.push_back(shape.num_steps);
  if (settings.blocks >= 2 * kWindowGroups) return {};
  return invalid(fmt::format("blocks: got {}, expected at least {}, 2 for each of {} groups",
                             settings.blocks, 2 * kWindowGroups, kWindowGroups));
}

}  // namespace

Result<std::vector<WindowResult>> study_windows(const Policy& policy,
                                                const WindowSettings& settings) {
  WindowSettings completed = settings;
  BROADLOOM_TRY(complete_settings(policy, completed));
  if (learns_action_values(policy.config)) return WindowStudy<PqnLoss>(policy, completed).run();
  return WindowStudy<PpoLoss>(policy, completed).run();
}

}  // namespace broadloom
