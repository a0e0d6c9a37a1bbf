#include "research/lab/bias.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/math/elementwise.h"
#include "broadloom/setup/settings.h"
#include "research/lab/step_scores.h"

namespace broadloom {
namespace {

constexpr int kGroups = 32;
constexpr std::int64_t kRowsPerRound = 400000;
constexpr double kMostBytes = 8e9;

double ratio(double x, double y) {
  return y > 0.0 ? x / y : std::numeric_limits<double>::quiet_NaN();
}

// Sums of a gradient by group, [kGroups][P].
using GroupSums = std::vector<std::vector<float>>;

// One estimator of (T, lambda, gamma), or the reference of (T, gamma).
struct Case {
  int num_steps;
  double lambda, gamma;
  std::size_t reference;  // index of its reference
};

class BiasStudy {
 public:
  BiasStudy(const Policy& policy, const StartPool* starts, const BiasSettings& settings,
            std::uint64_t seed, const TimeLimit& limit, ThreadPool& pool)
      : policy_(policy),
        settings_(settings),
        source_(policy, starts, seed, pool, limit.longest()),
        pool_(pool),
        limit_(limit) {
    longest_ = *std::max_element(settings.num_steps.begin(), settings.num_steps.end());
    stationary_ = starts != nullptr;
    span_ = stationary_ ? longest_ * ((limit.steps + longest_ - 1) / longest_) : longest_;
    // So that each later step's episode begins within the trajectory.
    history_ = stationary_ && policy.network.is_recurrent() ? limit.steps : 0;
    // Room for the steps beyond each limit that occurs, and for the end of the last episode.
    const int steps = history_ + span_;
    collected_ = steps + limit.steps + limit.beyond * ((steps - 1) / limit.steps + 2);
    envs_per_group_ = static_cast<int>(
        std::max<std::int64_t>(1, std::min(kRowsPerRound, settings.budget) / collected_ / kGroups));
    for (const int T : settings.num_steps) {
      for (const double gamma : settings.gammas) references_.push_back({T, 0.0, gamma, 0});
      for (const double lambda : settings.lambdas) {
        for (std::size_t g = 0; g < settings.gammas.size(); ++g) {
          cases_.push_back(
              {T, lambda, settings.gammas[g], references_.size() - settings.gammas.size() + g});
        }
      }
    }
  }

  double bytes() const {
    return 4.0 * kGroups * static_cast<double>(policy_.network.parameter_count()) *
           static_cast<double>(cases_.size() + references_.size());
  }

  Result<std::vector<BiasResult>> run() {
    const GroupSums zero(kGroups, std::vector<float>(policy_.network.parameter_count()));
    sums_.assign(cases_.size(), zero);
    reference_sums_.assign(references_.size(), zero);
    const std::int64_t per_round = std::int64_t{collected_} * kGroups * envs_per_group_;
    std::vector<BiasResult> results;
    for (std::int64_t next_look = 1;; next_look *= 2) {
      for (; rounds_ < next_look; ++rounds_) {
        if (rounds_ > 0 && (rounds_ + 1) * per_round > settings_.budget) break;
        if (settings_.on_round) {
          BROADLOOM_TRY(settings_.on_round(static_cast<double>(rounds_ * per_round) /
                                           static_cast<double>(settings_.budget)));
        }
        BROADLOOM_TRY(add_round());
      }
      results = look();
      const bool precise = std::all_of(results.begin(), results.end(),
                                       [](const BiasResult& r) { return r.precise; });
      if (precise || rounds_ < next_look) return results;
    }
  }

 private:
  std::size_t history() const { return static_cast<std::size_t>(history_); }
  int used_rows(int num_steps) const {
    return stationary_ ? span_ / num_steps * num_steps : num_steps;
  }

  Status add_round() {
    const BlockShape shape{kGroups * envs_per_group_, collected_};
    Result<std::unique_ptr<FrozenBlock>> block =
        source_.collect(shape, 1, static_cast<std::uint64_t>(rounds_));
    if (!block.ok()) return block.status();
    BROADLOOM_TRY(check_continued(*block.value(), limit_));
    pool_.run(kGroups, [&](int group) { add_group(*block.value(), group); });
    return {};
  }

  // One environment after another: its scores once, then the weights of every case.
  void add_group(const FrozenBlock& block, int group) {
    const int begin = group * envs_per_group_, end = begin + envs_per_group_;
    std::vector<std::vector<int>> whole, places;  // with and without the history
    for (int n = begin; n < end; ++n) {
      whole.push_back(steps_within(block, n, limit_));
      places.emplace_back(whole.back().begin() + history_, whole.back().end());
    }
    const RolloutBlock trained = as_trained(block, begin, end, places, span_ + 1, limit_);
    const std::vector<RolloutBlock> advantages = cut_advantages(trained);
    StepScores scores(policy_, settings_.score);
    for (int n = 0; n < trained.N; ++n) {
      std::vector<int>& steps = whole[static_cast<std::size_t>(n)];
      steps.resize(history() + static_cast<std::size_t>(span_));
      scores.read(block, begin + n, steps);
      add_cases(block, begin + n, steps, advantages, n, scores, group);
      add_references(block, begin + n, steps, scores, group);
    }
  }

  // Adds environment n of the cut blocks, which is `env` of the block.
  void add_cases(const FrozenBlock& block, int env, const std::vector<int>& steps,
                 const std::vector<RolloutBlock>& advantages, int n, StepScores& scores,
                 int group) {
    std::vector<float> weights(steps.size());
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      const int T = cases_[c].num_steps, rows = used_rows(T);
      const RolloutBlock& cut = advantages[c];
      for (int t = 0; t < span_; ++t) {
        const int column = n * (rows / T) + t / T;
        float& weight = weights[history() + static_cast<std::size_t>(t)];
        weight = 0.0f;
        if (t >= rows) continue;
        const std::size_t i = block.index(steps[history() + static_cast<std::size_t>(t)], env);
        weight = cut.advantages[cut.index(t % T, column)] + block.value_gap(i);
      }
      scores.add(weights, {history_, T, settings_.window}, sums_[c][group].data());
    }
  }

  void add_references(const FrozenBlock& block, int n, const std::vector<int>& steps,
                      StepScores& scores, int group) {
    std::vector<float> weights(steps.size());
    std::vector<double> returns;
    for (std::size_t r = 0; r < references_.size(); ++r) {
      if (r == 0 || references_[r].gamma != references_[r - 1].gamma) {
        returns_to_end(block, n, references_[r].gamma, returns);
      }
      const int rows = used_rows(references_[r].num_steps);
      for (int t = 0; t < span_; ++t) {
        const std::size_t place = history() + static_cast<std::size_t>(t);
        const std::size_t i = block.index(steps[place], n);
        const float value = block.values[i] - block.value_gap(i);
        weights[place] = t < rows ? static_cast<float>(returns[steps[place]] - value) : 0.0f;
      }
      scores.add(weights, {}, reference_sums_[r][group].data());
    }
  }

  // Blocks cut from these environments, with the advantages of every case.
  std::vector<RolloutBlock> cut_advantages(const RolloutBlock& trained) const {
    std::vector<RolloutBlock> out;
    for (const Case& c : cases_) {
      out.push_back(cut_block(trained, 0, trained.N, c.num_steps,
                              used_rows(c.num_steps) / c.num_steps, limit_.steps));
      compute_advantages(out.back(), 0, out.back().N, c.gamma, c.lambda,
                         truncation_mode(policy_.config), gae_weights(policy_.config));
    }
    return out;
  }

  std::vector<BiasResult> look() {
    std::vector<BiasResult> results(cases_.size());
    pool_.run(static_cast<int>(cases_.size()), [&](int c) { results[c] = result(cases_[c], c); });
    return results;
  }

  // Sums over pairs of different groups of inner products of the groups' means.
  struct PairSums {
    double bias = 0.0, expected = 0.0, reference = 0.0, cross = 0.0;
    void add(const PairSums& other, double sign) {
      bias += sign * other.bias;
      expected += sign * other.expected;
      reference += sign * other.reference;
      cross += sign * other.cross;
    }
  };

  BiasResult result(const Case& c, int index) const {
    const GroupSums& expected = sums_[index];
    const GroupSums& reference = reference_sums_[c.reference];
    const std::int64_t per_group = rounds_ * std::int64_t{envs_per_group_} * used_rows(c.num_steps);
    const double scale = 1.0 / (static_cast<double>(per_group) * static_cast<double>(per_group));
    GroupSums bias = expected;
    for (int g = 0; g < kGroups; ++g) {
      for (std::size_t p = 0; p < bias[g].size(); ++p) bias[g][p] -= reference[g][p];
    }
    const auto product = [scale](const std::vector<float>& x, const std::vector<float>& y) {
      return scale * dot(x.data(), y.data(), x.size());
    };
    PairSums all;
    std::vector<PairSums> group_sums(kGroups);
    const auto noise_of = [&](const GroupSums& sums) {
      std::vector<double> products(static_cast<std::size_t>(kGroups) * kGroups);
      for (int g = 0; g < kGroups; ++g) {
        for (int h = 0; h <= g; ++h) {
          products[g * kGroups + h] = products[h * kGroups + g] = product(sums[g], sums[h]);
        }
      }
      return noise_error(products, kGroups);
    };
    for (int g = 0; g < kGroups; ++g) {
      for (int h = 0; h < g; ++h) {
        const PairSums pair{
            2.0 * product(bias[g], bias[h]), 2.0 * product(expected[g], expected[h]),
            2.0 * product(reference[g], reference[h]),
            product(expected[g], reference[h]) + product(expected[h], reference[g])};
        all.add(pair, 1.0);
        group_sums[g].add(pair, 1.0);
        group_sums[h].add(pair, 1.0);
      }
    }
    const auto estimate = [&](auto&& quantity) {
      return jackknife(kGroups, kGroups * per_group, [&](int left_out) {
        PairSums sums = all;
        if (left_out >= 0) sums.add(group_sums[left_out], -1.0);
        const double groups = left_out >= 0 ? kGroups - 1 : kGroups;
        return quantity(sums, groups * (groups - 1.0));
      });
    };
    const auto root = [](Estimate e) {
      for (double* x : {&e.value, &e.low, &e.high}) *x = *x < 0.0 ? 0.0 : std::sqrt(*x);
      return e;
    };
    BiasResult r;
    r.num_steps = c.num_steps;
    r.lambda = c.lambda;
    r.gamma = c.gamma;
    r.groups = kGroups;
    r.samples = kGroups * per_group;
    const auto squared = [&](double PairSums::*sum, const GroupSums& sums) {
      return at_least(estimate([sum](const PairSums& s, double pairs) { return s.*sum / pairs; }),
                      noise_of(sums), kGroups);
    };
    r.bias_squared = squared(&PairSums::bias, bias);
    const Estimate reference_squared = squared(&PairSums::reference, reference);
    r.bias_norm = root(r.bias_squared);
    r.expected_norm = root(squared(&PairSums::expected, expected));
    r.reference_norm = root(reference_squared);
    // Noise of |bias|^2 carries over to the two quantities derived from it.
    const double noise = ratio(noise_of(bias), reference_squared.value);
    r.relative_bias = root(
        at_least(estimate([](const PairSums& s, double) { return ratio(s.bias, s.reference); }),
                 noise, kGroups));
    r.cosine = at_least(estimate([](const PairSums& s, double) {
                          return s.expected > 0.0
                                     ? ratio(s.cross, std::sqrt(s.expected * s.reference))
                                     : std::numeric_limits<double>::quiet_NaN();
                        }),
                        0.5 * noise, kGroups);
    for (double* x : {&r.cosine.value, &r.cosine.low, &r.cosine.high}) {
      if (std::isfinite(*x)) *x = std::clamp(*x, -1.0, 1.0);  // noise may exceed 1
    }
    // A gradient that is not significantly different from zero has no direction, and no ratio to it
    // is defined.
    const Estimate none = without_interval(std::numeric_limits<double>::quiet_NaN(), 0);
    if (!(r.reference_norm.low > 0.0)) r.relative_bias = none;
    if (!(r.reference_norm.low > 0.0) || !(r.expected_norm.low > 0.0)) r.cosine = none;
    const double error =
        (r.bias_squared.high - r.bias_squared.low) / (2.0 * student_t(kGroups - 1));
    // The error of a root is the error of its square over twice the root.
    r.precise =
        r.bias_squared.value > 0.0 && error <= 2.0 * settings_.precision * r.bias_squared.value;
    return r;
  }

  const Policy& policy_;
  const BiasSettings& settings_;
  BlockSource source_;
  ThreadPool& pool_;
  TimeLimit limit_;
  int longest_ = 1, span_ = 1, history_ = 0, collected_ = 1, envs_per_group_ = 1;
  bool stationary_ = true;
  std::int64_t rounds_ = 0;
  std::vector<Case> cases_, references_;
  std::vector<GroupSums> sums_, reference_sums_;
};

}  // namespace

RolloutBlock as_trained(const FrozenBlock& block, int begin, int end,
                        const std::vector<std::vector<int>>& places, int steps,
                        const TimeLimit& limit) {
  RolloutBlock out(steps, end - begin, 0, 0, (steps - 1) / limit.steps + 1);
  for (int n = begin; n < end; ++n) {
    int age = block.ages[static_cast<std::size_t>(n)], slot = 0, t = 0;
    for (int place = 0; t < steps; ++place, ++age) {
      const std::size_t source = block.index(place, n), target = out.index(t, n - begin);
      const bool ended = block.terminated[source] != 0 || block.truncated[source] != 0;
      if (places[static_cast<std::size_t>(n - begin)][static_cast<std::size_t>(t)] == place) {
        out.values[target] = block.values[source];
        out.rewards[target] = block.rewards[source];
        out.terminated[target] = block.terminated[source];
        out.truncated[target] = block.terminated[source] == 0 &&
                                (block.truncated[source] != 0 || age + 1 == limit.steps);
        if (out.truncated[target] !=
            0) {  // the next value is the final observation's, or another's
          out.final_values[out.final_index(n - begin, out.truncations[n - begin]++)] =
              block.truncated[source] == 0 ? block.values[block.index(place + 1, n)]
                                           : block.final_values[block.final_index(n, slot)];
        }
        ++t;
      }
      if (block.truncated[source] != 0) ++slot;
      if (ended) age = -1;
    }
  }
  return out;
}

RolloutBlock cut_block(const RolloutBlock& whole, int begin, int end, int num_steps, int segments,
                       int limit) {
  const int slots = limit > 0 ? (num_steps - 1) / limit + 1 : 0;
  RolloutBlock cut(num_steps, (end - begin) * segments, 0, 0, slots);
  for (int n = begin; n < end; ++n) {
    int slot = 0;
    for (int t = 0; t < segments * num_steps; ++t) {
      const int column = (n - begin) * segments + t / num_steps;
      const std::size_t target = cut.index(t % num_steps, column), source = whole.index(t, n);
      cut.values[target] = whole.values[source];
      cut.rewards[target] = whole.rewards[source];
      cut.terminated[target] = whole.terminated[source];
      cut.truncated[target] = whole.truncated[source];
      if (whole.truncated[source] != 0) {
        cut.final_values[cut.final_index(column, cut.truncations[column]++)] =
            whole.final_values[whole.final_index(n, slot++)];
      }
      if ((t + 1) % num_steps == 0) cut.last_values[column] = whole.values[whole.index(t + 1, n)];
    }
  }
  return cut;
}

Result<std::vector<BiasResult>> study_bias(const Policy& policy, const StartPool* starts,
                                           const BiasSettings& settings, std::uint64_t seed,
                                           ThreadPool& pool) {
  const Result<EnvSpec> spec = env_spec(policy.config.env_id, policy.config.env_options);
  if (!spec.ok()) return spec.status();
  const int limit = policy.config.max_episode_steps > 0 ? policy.config.max_episode_steps
                                                        : spec.value().max_episode_steps;
  if (limit <= 0) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("the bias study compares with complete episodes, but {} has no time "
                              "limit, so episodes need not end; train with max_episode_steps, or "
                              "leave the study out",
                              policy.config.env_id));
  }
  BiasStudy study(policy, starts, settings, seed, {limit, settings.beyond}, pool);
  if (study.bytes() > kMostBytes) {
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("the bias study would take {:.1f} GB ({} groups of gradients with {} "
                              "parameters); give fewer values of T, lambda or gamma",
                              study.bytes() * 1e-9, kGroups, policy.network.parameter_count()));
  }
  return study.run();
}

}  // namespace broadloom
