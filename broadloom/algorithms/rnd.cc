#include "broadloom/algorithms/rnd.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "broadloom/algo/partial_gradients-inl.h"
#include "broadloom/core/random.h"
#include "broadloom/env/random_action.h"
#include "broadloom/math/chained_sum.h"
#include "broadloom/math/random_rows.h"

namespace broadloom {
namespace {

// As the paper's and CleanRL's: +-5 deviations.
constexpr double kClip = 5.0;
// Of rewards nothing is clipped.
constexpr double kFree = 1e30;
// Not the lane of an environment.
constexpr std::uint32_t kSeedLane = 0xffffffffu;

// Environments under actions of nobody's policy, and what they show.
class RandomPlay {
 public:
  RandomPlay(VecEnv& envs, std::uint64_t seed)
      : envs_(envs),
        seed_(seed),
        actions_(count() * static_cast<std::size_t>(envs.spec().action_size())),
        rewards_(count()),
        terminated_(count()),
        truncated_(count()),
        now_(observation_type(envs.spec().observation), count()),
        final_(now_),
        critic_(observation_type(envs.spec().critic_observation), count()),
        final_critic_(critic_) {}

  Status step(std::int64_t at) {
    const Space& space = envs_.spec().action;
    const std::size_t size = static_cast<std::size_t>(envs_.spec().action_size());
    for (std::size_t n = 0; n < count(); ++n) {
      Random random(seed_, Purpose::kRndStart, static_cast<std::uint32_t>(n),
                    static_cast<std::uint64_t>(at));
      draw_action(space, random, &actions_[n * size]);
    }
    return envs_.step(
        0, envs_.num_envs(),
        {actions_.data(), now_.rows(), rewards_.data(), terminated_.data(), truncated_.data(),
         final_.rows(), nullptr, critic_.rows(), final_critic_.rows()});
  }
  const Observations& observations() const { return now_; }

 private:
  std::size_t count() const { return static_cast<std::size_t>(envs_.num_envs()); }

  VecEnv& envs_;
  std::uint64_t seed_;
  std::vector<float> actions_, rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
  Observations now_, final_, critic_, final_critic_;
};

}  // namespace

template class PartialGradients<RndLoss>;

Rnd::Rnd(const RndSettings& settings, int num_envs, int batch_size, int largest_minibatch,
         ThreadPool& pool, Ranks& ranks)
    : seed_(settings.seed),
      network_(settings.shape),
      shards_(num_envs, kTileRows),
      pool_(pool),
      ranks_(ranks),
      update_proportion_(settings.update_proportion),
      start_steps_(settings.start_steps),
      own_statistics_(settings.own_statistics),
      target_(network_.parameter_count()),
      targets_(static_cast<std::size_t>(batch_size) * settings.shape.action_outputs),
      observations_(settings.shape.observation_size, kClip, shards_.count()),
      rewards_(num_envs, settings.int_gamma, kFree, shards_.count()),
      is_drawn_(static_cast<std::size_t>(batch_size)),
      gradients_(network_, {&observations_, targets_.data(), settings.shape.action_outputs},
                 largest_minibatch, settings.shape.observation_size, 1, pool, ranks) {
  network_.initialise(seed_, target_.data(), Purpose::kRndTarget);
  drawn_.reserve(static_cast<std::size_t>(largest_minibatch));
  for (int thread = 0; thread < pool.threads(); ++thread) {
    work_.push_back(network_.make_workspace<float>());
    tile_targets_.emplace_back(work_.back().policy.size());
  }
}

std::size_t Rnd::bytes(const RndSettings& settings, int num_envs, int batch_size,
                       int largest_minibatch, int threads) {
  const ActorCritic network(settings.shape);
  const std::size_t outputs = static_cast<std::size_t>(settings.shape.action_outputs);
  const std::size_t batch = static_cast<std::size_t>(batch_size);
  const std::size_t scratch =
      network.make_workspace<float>().bytes() + kTileRows * outputs * sizeof(float);
  return network.parameter_count() * sizeof(float) + batch * outputs * sizeof(float) + batch +
         static_cast<std::size_t>(largest_minibatch) * sizeof(std::int32_t) +
         static_cast<std::size_t>(num_envs) * sizeof(double) +
         static_cast<std::size_t>(threads) * scratch +
         ObsNormalizer::bytes(settings.shape.observation_size,
                              ShardPlan(num_envs, kTileRows).count()) +
         PartialGradients<RndLoss>::bytes(network, largest_minibatch,
                                          settings.shape.observation_size, 1, threads);
}

Status Rnd::begin_run(const VecEnv& envs, ObsNormalizer* of_policy) {
  ObsNormalizer& statistics = own_statistics_ ? observations_ : *of_policy;
  if (start_steps_ == 0 || statistics.statistics().count() >= 1.0) return {};
  VecEnvOptions options;
  options.num_envs = shards_[shards_.count() - 1].end;
  options.seed = Random(seed_, Purpose::kRndStart, kSeedLane, 0).bits64();
  const std::unique_ptr<VecEnv> others = envs.another(options);
  if (others == nullptr) {
    return invalid(
        "num_iterations_obs_norm_init: the statistics of observations begin with random play of "
        "environments made for that, and these cannot make more of their kind; set it to 0, or "
        "implement VecEnv::another()");
  }
  RandomPlay play(*others, seed_);
  AlignedVector<float>& seen = work_[0].observations;
  for (std::int64_t step = 0; step < start_steps_; ++step) {
    BROADLOOM_TRY(play.step(step));
    for (int first = 0; first < options.num_envs; first += kTileRows) {
      const int rows = std::min(kTileRows, options.num_envs - first);
      play.observations().read(static_cast<std::size_t>(first), static_cast<std::size_t>(rows),
                               seen.data());
      statistics.accumulate(0, seen.data(), rows);
    }
  }
  statistics.commit();
  return {};
}

void Rnd::take_block(const float* predictor, RolloutBlock& block) {
  pool_.run(shards_.count(), [&](int s, int thread) {
    take_rows(s, thread, predictor, block);
    rewards_.accumulate(s, shards_[s].begin, shards_[s].end, block.int_rewards.data(), nullptr,
                        block.T, block.N);
  });
  rewards_.commit();
  mean_reward_ =
      chained_sum(block.size(),
                  [&](std::size_t i) { return static_cast<double>(block.int_rewards[i]); }) /
      static_cast<double>(block.size());
  loss_ = 0.0;
  steps_ = 0;
  is_first_ = true;
}

double Rnd::reward_scale() const { return 1.0 / std::sqrt(rewards_.statistics().var()[0] + 1e-8); }

void Rnd::begin_epoch(std::uint64_t seed, std::int64_t iteration, int epoch) {
  const RandomStream stream{seed, Purpose::kRndMask, static_cast<std::uint32_t>(epoch),
                            static_cast<std::uint64_t>(iteration)};
  constexpr int kBlocks = 64;  // drawn at a time
  std::array<std::uint32_t, 4 * kBlocks> words;
  std::uint32_t block = 0;
  for (std::size_t i = 0; i < is_drawn_.size(); i += words.size(), block += kBlocks) {
    random_words(stream, block, kBlocks, words.data());
    const std::size_t count = std::min(words.size(), is_drawn_.size() - i);
    for (std::size_t k = 0; k < count; ++k) {
      is_drawn_[i + k] = words[k] * 0x1p-32 < update_proportion_;
    }
  }
}

Status Rnd::measure(const RolloutBlock& block, const std::int32_t* indices, int samples,
                    const float* params, std::int64_t version) {
  drawn_.clear();
  for (int s = 0; s < samples; ++s) {
    if (is_drawn_[static_cast<std::size_t>(indices[s])] != 0) drawn_.push_back(indices[s]);
  }
  if (drawn_.empty()) drawn_.push_back(indices[0]);
  const int count = static_cast<int>(drawn_.size());
  measured_ = gradients_.compute({block, drawn_.data(), count, {}, params, nullptr, version});
  BROADLOOM_TRY(ranks_.status());
  const RndSums& sums = measured_.sums;
  if (is_first_ && sums.max_error_change != 0.0) {
    return {ErrorKind::kNumeric,
            fmt::format("the first minibatch has prediction errors off those that the block was "
                        "rewarded with by {}; expected exactly 0. The parameters, observations or "
                        "statistics changed in between, or are not finite.",
                        sums.max_error_change)};
  }
  is_first_ = false;
  loss_ += sums.loss / count;
  steps_ += 1;
  return {};
}

void Rnd::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  observations_.append_state(prefix + ".observations", out);
  rewards_.append_state(prefix + ".rewards", out);
}

// Whole tiles over as many steps as fit, as the collector asks its critic.
void Rnd::take_rows(int s, int thread, const float* predictor, RolloutBlock& block) {
  const Shard shard = shards_[s];
  TileWorkspace<float>& work = work_[static_cast<std::size_t>(thread)];
  AlignedVector<float>& targets = tile_targets_[static_cast<std::size_t>(thread)];
  const std::size_t rows = static_cast<std::size_t>(shard.size());
  const std::size_t width = static_cast<std::size_t>(block.D);
  const int outputs = network_.shape().action_outputs;
  float* const seen = work.observations.data();
  std::array<float, kTileRows> errors;
  const int most_steps = kTileRows / shard.size();
  for (int t = 0; t < block.T; t += most_steps) {
    const int steps = std::min(most_steps, block.T - t);
    const int all = steps * shard.size();
    for (int k = 0; k < steps; ++k) {
      read_next(block, block.index(t + k, shard.begin), rows,
                seen + static_cast<std::size_t>(k) * rows * width);
    }
    if (own_statistics_) observations_.accumulate(s, seen, all);
    observations_.normalize(seen, all, seen);
    network_.forward(target_.data(), seen, all, work, NetworkSide::kPolicy);
    targets = work.policy;
    network_.forward(predictor, seen, all, work, NetworkSide::kPolicy);
    rnd_errors(work.policy.data(), targets.data(), outputs, all, errors.data());
    for (int k = 0; k < steps; ++k) {
      const std::size_t first = block.index(t + k, shard.begin);
      const std::size_t from = static_cast<std::size_t>(k) * rows;
      std::copy_n(&errors[from], rows, &block.int_rewards[first]);
      keep_targets(targets, from, rows, first);
    }
  }
}

// From [outputs, kTileRows] to a row a sample.
void Rnd::keep_targets(const AlignedVector<float>& tile, std::size_t from, std::size_t rows,
                       std::size_t to) {
  const std::size_t outputs = static_cast<std::size_t>(network_.shape().action_outputs);
  for (std::size_t r = 0; r < rows; ++r) {
    float* out = &targets_[(to + r) * outputs];
    for (std::size_t o = 0; o < outputs; ++o) out[o] = tile[o * kTileRows + from + r];
  }
}

}  // namespace broadloom
