#include "broadloom/algo/ppo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "broadloom/math/adam.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

// All are part of the bits contract: they fix how sums over samples are grouped.
constexpr int kMaxLanes = 16;
constexpr std::size_t kChunk = 2048;

// Parameters up to which the gradient of a lane stays in cache.
constexpr std::size_t kCachedParameters = 32768;

int tiles_of(int samples) { return (samples + kTileRows - 1) / kTileRows; }

// As torch's clip_grad_norm_. max_norm 0: never clipped.
double clip_scale(double norm, double max_norm) {
  return max_norm > 0.0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
}

double adapted_learning_rate(double rate, double kl, double desired_kl) {
  if (kl > 2.0 * desired_kl) return std::max(1e-5, rate / 1.5);
  if (kl > 0.0 && kl < 0.5 * desired_kl) return std::min(1e-2, rate * 1.5);
  return rate;
}

Status check(const MinibatchReport& report, std::int64_t iteration) {
  const LossSums& sums = report.sums;
  const bool first = report.epoch == 0 && report.minibatch == 0;
  if (first && (sums.max_ratio_error != 0.0 || sums.approx_kl != 0.0)) {
    return {ErrorKind::kNumeric,
            fmt::format("the first minibatch of iteration {} has a policy ratio off 1 by {} and KL "
                        "{}; expected exactly 1 and 0. The parameters, observations or statistics "
                        "changed between collecting and updating, or are not finite.",
                        iteration, sums.max_ratio_error, sums.approx_kl / report.samples)};
  }
  if (std::isfinite(report.norm) && std::isfinite(sums.policy_loss + sums.value_loss)) return {};
  return {ErrorKind::kNumeric,
          fmt::format("loss or gradient is not finite at iteration {}, epoch {}, minibatch {} "
                      "(policy loss {}, value loss {}, gradient norm {}). Try a smaller "
                      "learning_rate, norm_reward, or norm_obs.",
                      iteration, report.epoch, report.minibatch, sums.policy_loss / report.samples,
                      sums.value_loss / report.samples, report.norm)};
}

// Means are sums until the update is over.
void add_to(UpdateStats& stats, const MinibatchReport& report) {
  const LossSums& sums = report.sums;
  stats.policy_loss += sums.policy_loss / report.samples;
  stats.value_loss += sums.value_loss / report.samples;
  stats.entropy += sums.entropy / report.samples;
  stats.old_approx_kl += sums.old_approx_kl / report.samples;
  stats.approx_kl += sums.approx_kl / report.samples;
  stats.clipfrac += sums.clipped / report.samples;
  stats.grad_norm += report.norm;
  stats.ess += sums.ess_percent(report.samples);
  stats.min_ratio = std::min(stats.min_ratio, sums.min_ratio);
  stats.max_ratio = std::max(stats.max_ratio, sums.max_ratio);
}

}  // namespace

Learner::Learner(std::size_t parameter_count, std::size_t bf16_size)
    : params(parameter_count),
      adam_m(parameter_count),
      adam_v(parameter_count),
      bf16_weights(bf16_size) {}

void Learner::refresh_bf16(const ActorCritic& network, ThreadPool& pool) {
  if (network.bf16_size() == 0) return;
  constexpr int kParts = 8;
  pool.run(kParts, [&](int part) {
    network.refresh_bf16(params.data(), bf16_weights.data(), part, kParts);
  });
}

void Learner::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(params.size())};
  out.push_back({prefix + ".params", Dtype::kF32, shape, params.data()});
  out.push_back({prefix + ".adam_m", Dtype::kF32, shape, adam_m.data()});
  out.push_back({prefix + ".adam_v", Dtype::kF32, shape, adam_v.data()});
  out.push_back({prefix + ".adam_steps", Dtype::kI64, {1}, &adam_steps});
  out.push_back({prefix + ".learning_rate", Dtype::kF64, {1}, &learning_rate});
}

// Clearing and adding a lane costs as much as a few per cent of a tile's arithmetic, and several
// times that where its gradient does not stay in cache: so several tiles share one.
int Ppo::lane_count(int samples, std::size_t parameters) {
  const int tiles = tiles_of(samples);
  const int tiles_per_lane = parameters <= kCachedParameters ? 2 : 4;
  return std::min({std::max(4, tiles / tiles_per_lane), tiles, kMaxLanes});
}

Ppo::Ppo(const ActorCritic& network, const PpoSettings& settings, int batch_size,
         int minibatch_count, int observation_size, int action_size, ThreadPool& pool)
    : network_(network),
      settings_(settings),
      minibatches_(batch_size, minibatch_count),
      pool_(pool) {
  if (pool.threads() > 1 && network.sides_are_apart()) {
    sides_ = {NetworkSide::kPolicy, NetworkSide::kValue};
  } else {
    sides_ = {NetworkSide::kBoth};
  }
  const std::size_t lanes =
      static_cast<std::size_t>(lane_count(minibatches_.max_size(), network.parameter_count()));
  for (std::size_t l = 0; l < lanes; ++l) {
    lanes_.push_back({AlignedVector<float>(network.parameter_count()), {}});
  }
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_.push_back(
        {TileBatch<float>(observation_size, action_size, network.shape().action_outputs),
         network.make_workspace<float>(),
         AlignedVector<float>(network.parameter_count()),
         {}});
  }
  half_is_done_ = std::vector<std::atomic<bool>>(sides_.size() * lanes);
  make_chunks();
}

void Ppo::make_chunks() {
  const auto add_side = [&](NetworkSide side) {
    for (const ParameterRange& range : network_.ranges(side)) {
      for (std::size_t begin = range.begin; begin < range.end; begin += kChunk) {
        chunks_.push_back({{begin, std::min(begin + kChunk, range.end)}, side});
      }
    }
  };
  if (!network_.sides_are_apart()) return add_side(NetworkSide::kBoth);
  add_side(NetworkSide::kPolicy);
  add_side(NetworkSide::kValue);
}

Status Ppo::update(const RolloutBlock& block, std::uint64_t seed, std::int64_t iteration,
                   Learner& learner, UpdateStats& stats) {
  stats = {};
  if (settings_.norm_adv == AdvantageNorm::kBatch) {
    batch_moments_ = advantage_moments(block, nullptr, static_cast<int>(block.size()));
  }
  version_ += 1;
  learner.refresh_bf16(network_, pool_);
  int steps = 0;
  for (int epoch = 0; epoch < settings_.update_epochs; ++epoch) {
    minibatches_.shuffle(seed, iteration, epoch);
    if (epoch == 0 && observer_ != nullptr) report_batch(block, learner);
    double last_kl = 0.0;
    for (int m = 0; m < minibatches_.count(); ++m, ++steps) {
      MinibatchReport report =
          gradient_of(block, minibatches_.indices(m), minibatches_.size(m), learner);
      report.epoch = epoch;
      report.minibatch = m;
      BROADLOOM_TRY(check(report, iteration));
      if (observer_ != nullptr) observer_->on_minibatch(report);
      last_kl = report.sums.approx_kl / report.samples;
      if (settings_.adaptive_lr) {
        learner.learning_rate =
            adapted_learning_rate(learner.learning_rate, last_kl, settings_.desired_kl);
      }
      step(report.norm, learner);
      add_to(stats, report);
    }
    stats.epochs = epoch + 1;
    if (settings_.target_kl > 0.0 && last_kl > settings_.target_kl) break;
  }
  for (double* mean : {&stats.policy_loss, &stats.value_loss, &stats.entropy, &stats.old_approx_kl,
                       &stats.approx_kl, &stats.clipfrac, &stats.grad_norm, &stats.ess}) {
    *mean /= steps;
  }
  return {};
}

// The epoch's minibatches, put together, are the block.
void Ppo::report_batch(const RolloutBlock& block, const Learner& learner) {
  observer_->on_batch(
      gradient_of(block, minibatches_.indices(0), static_cast<int>(block.size()), learner));
}

// The gradient of some samples, in lane 0, with their sums. More samples than a minibatch's are
// spread over the lanes that there are.
MinibatchReport Ppo::gradient_of(const RolloutBlock& block, const std::int32_t* indices,
                                 int samples, const Learner& learner) {
  GradientJob job{block, indices, samples, learner, {}};
  if (settings_.norm_adv == AdvantageNorm::kMinibatch)
    job.norm = advantage_moments(block, indices, samples);
  if (settings_.norm_adv == AdvantageNorm::kBatch) job.norm = batch_moments_;
  used_lanes_ =
      std::min(lane_count(samples, network_.parameter_count()), static_cast<int>(lanes_.size()));
  shared_stride_ = first_shared_stride();
  // Side by side, so that neighbouring tasks, which are mostly one thread's, are of one side.
  pool_.run(side_count() * used_lanes_, [&](int task, int thread) {
    const int side = task / used_lanes_;
    const int lane = task % used_lanes_;
    run_lane(job, lane, side, scratch_[static_cast<std::size_t>(thread)]);
    add_up(lane, side);
  });
  MinibatchReport report;
  report.samples = samples;
  for (int l = 0; l < used_lanes_; ++l) {
    for (int side = 0; side < side_count(); ++side) report.sums.add(lanes_[l].sums[side]);
  }
  report.norm = reduce_gradient();
  report.gradient = lanes_[0].grads;
  return report;
}

void Ppo::run_lane(const GradientJob& job, int l, int side, Scratch& scratch) {
  const NetworkSide network_side = sides_[side];
  refresh_transposed(side, job.learner, scratch);
  Lane& lane = lanes_[l];
  for (const ParameterRange& range : network_.ranges(network_side)) {
    std::fill_n(lane.grads.data() + range.begin, range.size(), 0.0f);
  }
  lane.sums[side] = {};
  scratch.work.bf16_weights = job.learner.bf16_weights.data();
  const int tiles = tiles_of(job.samples);
  for (int tile = l * tiles / used_lanes_; tile < (l + 1) * tiles / used_lanes_; ++tile) {
    gather(job, tile * kTileRows, network_side, scratch.batch);
    ppo_tile_gradient(network_, settings_.loss, job.samples, job.learner.params.data(),
                      scratch.transposed.data(), scratch.batch, scratch.work, lane.grads.data(),
                      lane.sums[side], network_side);
  }
}

// One tile: what a side needs of the samples from `begin` on.
void Ppo::gather(const GradientJob& job, int begin, NetworkSide side,
                 TileBatch<float>& batch) const {
  const RolloutBlock& block = job.block;
  const std::int32_t* indices = job.indices + begin;
  batch.rows = std::min(kTileRows, job.samples - begin);
  for (int r = 0; r < batch.rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    // Rows are short: a plain loop beats a call of memcpy.
    const float* seen = &block.observations[i * block.D];
    float* observation = &batch.observations[static_cast<std::size_t>(r) * block.D];
    for (int d = 0; d < block.D; ++d) observation[d] = seen[d];
    if (side != NetworkSide::kValue) {
      for (int a = 0; a < block.A; ++a) {
        batch.actions[static_cast<std::size_t>(a) * kTileRows + r] = block.actions[i * block.A + a];
      }
      batch.old_log_probs[r] = block.log_probs[i];
      batch.advantages[r] = (block.advantages[i] - job.norm.mean) * job.norm.scale;
    }
    if (side != NetworkSide::kPolicy) {
      batch.old_values[r] = block.values[i];
      batch.value_targets[r] = block.advantages[i] + block.values[i];
    }
  }
}

// Mean and 1 / (sample standard deviation + 1e-8), as CleanRL. A single sample has no deviation and
// is left as it is. indices null: the whole block in order.
Ppo::Moments Ppo::advantage_moments(const RolloutBlock& block, const std::int32_t* indices,
                                    int samples) const {
  if (samples < 2) return {};
  const float* advantages = block.advantages.data();
  const auto sum_of = [&](auto term) {
    double chains[4] = {};
    const auto add = [&](int i, int chain) {
      chains[chain] += term(advantages[indices ? indices[i] : i]);
    };
    int i = 0;
    for (; i + 4 <= samples; i += 4) {
      for (int chain = 0; chain < 4; ++chain) add(i + chain, chain);
    }
    for (; i < samples; ++i) add(i, i % 4);
    return (chains[0] + chains[1]) + (chains[2] + chains[3]);
  };
  const double mean = sum_of([](double x) { return x; }) / samples;
  const double squares = sum_of([mean](double x) { return (x - mean) * (x - mean); });
  return {static_cast<float>(mean),
          static_cast<float>(1.0 / (std::sqrt(squares / (samples - 1)) + 1e-8))};
}

// Lanes are added into lane 0 pairwise in a fixed tree, so who adds them is open. The levels below
// this stride are added up where the lanes are made: pairs there are mostly one thread's, and small
// enough to be in its cache. Where those are all levels, the sum is squared there, too.
int Ppo::first_shared_stride() const {
  const int threads = pool_.threads();
  if (threads == 1 || network_.parameter_count() > kCachedParameters) return 1;
  int stride = 1;
  const auto is_one_threads = [&] {
    return threads <= side_count() || 2 * stride * threads <= side_count() * used_lanes_;
  };
  while (stride < used_lanes_ && is_one_threads()) stride *= 2;
  return stride;
}

// Adds a side of a finished lane and its neighbour, level by level, where the neighbour is done
// before it.
void Ppo::add_up(int lane, int side) {
  for (int stride = 1; stride < shared_stride_; stride *= 2) {
    lane -= lane % (2 * stride);
    const int right = lane + stride;
    if (right >= used_lanes_) continue;
    std::atomic<bool>& half_is_done =
        half_is_done_[static_cast<std::size_t>(side) * lanes_.size() + right];
    const bool neighbour_is_done = half_is_done.exchange(true, std::memory_order_acq_rel);
    if (!neighbour_is_done) return;
    half_is_done.store(false, std::memory_order_relaxed);  // for the next gradient
    for (const ParameterRange& range : network_.ranges(sides_[side])) {
      add_into(lanes_[lane].grads.data() + range.begin, lanes_[right].grads.data() + range.begin,
               range.size());
    }
  }
  if (shared_stride_ < used_lanes_) return;
  for (Chunk& chunk : chunks_) {
    if (sides_[side] == NetworkSide::kBoth || sides_[side] == chunk.side) square(chunk);
  }
}

void Ppo::square(Chunk& chunk) {
  chunk.squares = sum_squares(&lanes_[0].grads[chunk.range.begin], chunk.range.size());
}

// Adds what is left of the tree, and returns the norm of the sum.
double Ppo::reduce_gradient() {
  if (shared_stride_ < used_lanes_) {
    for_each_chunk([&](Chunk& chunk) {
      const std::size_t begin = chunk.range.begin;
      for (int stride = shared_stride_; stride < used_lanes_; stride *= 2) {
        for (int l = 0; l + stride < used_lanes_; l += 2 * stride) {
          add_into(&lanes_[l].grads[begin], &lanes_[l + stride].grads[begin], chunk.range.size());
        }
      }
      square(chunk);
    });
  }
  double squares = 0.0;
  for (const Chunk& chunk : chunks_) squares += chunk.squares;
  return std::sqrt(squares);
}

// Clips to max_grad_norm and takes the Adam step (Kingma and Ba 2015, arXiv 1412.6980, algorithm
// 1).
void Ppo::step(double grad_norm, Learner& learner) {
  learner.adam_steps += 1;
  AdamStep adam;
  adam.learning_rate = learner.learning_rate;
  adam.eps = settings_.adam_eps;
  adam.correction1 = 1.0 - std::pow(adam.beta1, static_cast<double>(learner.adam_steps));
  adam.correction2 = 1.0 - std::pow(adam.beta2, static_cast<double>(learner.adam_steps));
  adam.grad_scale = clip_scale(grad_norm, settings_.max_grad_norm);
  for_each_chunk([&](const Chunk& chunk) {
    const std::size_t begin = chunk.range.begin;
    adam_update(&learner.params[begin], &learner.adam_m[begin], &learner.adam_v[begin],
                &lanes_[0].grads[begin], chunk.range.size(), adam);
  });
  version_ += 1;
  learner.refresh_bf16(network_, pool_);
}

void Ppo::refresh_transposed(int side, const Learner& learner, Scratch& scratch) {
  if (scratch.transposed_of[side] == version_) return;
  network_.refresh_transposed(learner.params.data(), scratch.transposed.data(), sides_[side]);
  scratch.transposed_of[side] = version_;
}

}  // namespace broadloom
