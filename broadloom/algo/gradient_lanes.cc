#include "broadloom/algo/gradient_lanes.h"

#include <algorithm>
#include <cmath>

#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

// These are part of the bits contract: they fix how sums over samples are grouped.
constexpr int kMaxLanes = 16;
constexpr std::size_t kCachedParameters = 32768;  // up to which a lane's gradient stays in cache

// Samples from which on a gradient is worth the threads' meetings.
constexpr int kWorthSharing = 16;

int tiles_of(int samples) { return (samples + kTileRows - 1) / kTileRows; }

}  // namespace

// Clearing and adding a lane costs as much as a few per cent of a tile's arithmetic, and several
// times that where its gradient does not stay in cache: so several tiles share one.
int GradientLanes::lane_count(int samples, std::size_t parameters) {
  const int tiles = tiles_of(samples);
  const int tiles_per_lane = parameters <= kCachedParameters ? 2 : 4;
  return std::min({std::max(4, tiles / tiles_per_lane), tiles, kMaxLanes});
}

GradientLanes::GradientLanes(const ActorCritic& network, const PpoCoefficients& loss,
                             int max_samples, int observation_size, int action_size,
                             ThreadPool& pool)
    : network_(network),
      loss_(loss),
      pool_(pool),
      sides_(learnt_sides(network, pool.active())),
      chunks_(parameter_chunks(network, NetworkSide::kBoth)),
      policy_chunks_(static_cast<int>(parameter_chunks(network, NetworkSide::kPolicy).size())),
      squares_(chunks_.size()) {
  const std::size_t parameters = network.parameter_count();
  const std::size_t lanes = static_cast<std::size_t>(lane_count(max_samples, parameters));
  for (std::size_t l = 0; l < lanes; ++l) lanes_.push_back({AlignedVector<float>(parameters), {}});
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_.push_back(
        {TileBatch<float>(observation_size, action_size, network.shape().action_outputs,
                          network.shape().critic_observation_size),
         network.make_workspace<float>(),
         AlignedVector<float>(parameters),
         {}});
  }
}

// As many threads as work now: one alone would read the observations twice for two sides.
void GradientLanes::choose_sides() {
  const std::span<const NetworkSide> sides = learnt_sides(network_, pool_.active());
  if (sides.size() == sides_.size()) return;
  sides_ = sides;
  for (Scratch& scratch : scratch_) scratch.transposed_of.fill(0);
}

GradientResult GradientLanes::compute(const GradientJob& job) {
  choose_sides();
  used_lanes_ = std::min(lane_count(job.samples, network_.parameter_count()),
                         static_cast<int>(lanes_.size()));
  // Side after side, so that neighbouring tasks, which are mostly one thread's, are of one side.
  const int sides = static_cast<int>(sides_.size());
  const bool add_at_once = each_thread_has_a_side();
  for (std::atomic<int>& left : lanes_left_) left.store(used_lanes_, std::memory_order_relaxed);
  const auto run = [&](int task, int thread) {
    const int side = task / used_lanes_;
    run_lane(job, task % used_lanes_, side, scratch_[static_cast<std::size_t>(thread)]);
    if (!add_at_once) return;
    const bool was_last = lanes_left_[side].fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (was_last) add_up_side(side);
  };
  const int tasks = sides * used_lanes_;
  if (job.samples >= kWorthSharing) {
    pool_.run(tasks, run);
  } else {
    for (int task = 0; task < tasks; ++task) run(task, 0);
  }
  if (!add_at_once) {
    pool_.run(static_cast<int>(chunks_.size()), [&](int chunk) { add_up(chunk); });
  }
  GradientResult result;
  result.gradient = lanes_[0].grads;
  for (int l = 0; l < used_lanes_; ++l) {
    for (int side = 0; side < sides; ++side) result.sums.add(lanes_[l].sums[side]);
  }
  double squares = 0.0;
  for (const double square : squares_) squares += square;
  result.norm = std::sqrt(squares);
  return result;
}

void GradientLanes::run_lane(const GradientJob& job, int l, int side, Scratch& scratch) {
  const NetworkSide network_side = sides_[side];
  refresh_transposed(job, side, scratch);
  Lane& lane = lanes_[l];
  for (const ParameterRange& range : network_.ranges(network_side)) {
    std::fill_n(lane.grads.data() + range.begin, range.size(), 0.0f);
  }
  LossSums sums;  // not in the lane's until it is whole: the other side's thread has its own there
  scratch.work.bf16_weights = job.bf16_weights;
  const int tiles = tiles_of(job.samples);
  for (int tile = l * tiles / used_lanes_; tile < (l + 1) * tiles / used_lanes_; ++tile) {
    gather(job, tile * kTileRows, network_side, scratch.batch);
    ppo_tile_gradient(network_, loss_, job.samples, job.params, scratch.transposed.data(),
                      scratch.batch, scratch.work, lane.grads.data(), sums, network_side);
  }
  lane.sums[side] = sums;
}

void GradientLanes::refresh_transposed(const GradientJob& job, int side, Scratch& scratch) {
  if (scratch.transposed_of[side] == job.version) return;
  network_.refresh_transposed(job.params, scratch.transposed.data(), sides_[side]);
  scratch.transposed_of[side] = job.version;
}

// One tile: what a side needs of the samples from `begin` on.
void GradientLanes::gather(const GradientJob& job, int begin, NetworkSide side,
                           TileBatch<float>& batch) {
  const RolloutBlock& block = job.block;
  const std::int32_t* indices = job.indices + begin;
  batch.rows = std::min(kTileRows, job.samples - begin);
  for (int r = 0; r < batch.rows; ++r) {
    const std::size_t i = static_cast<std::size_t>(indices[r]);
    const std::size_t row = static_cast<std::size_t>(r);
    block.observations.read(i, 1, &batch.observations[row * block.D]);
    if (side != NetworkSide::kValue) {
      for (int a = 0; a < block.A; ++a) {
        batch.actions[static_cast<std::size_t>(a) * kTileRows + r] = block.actions[i * block.A + a];
      }
      batch.old_log_probs[r] = block.log_probs[i];
      batch.advantages[r] = (block.advantages[i] - job.advantages.mean) * job.advantages.scale;
    }
    if (side != NetworkSide::kPolicy) {
      if (block.has_critic()) {
        block.critic_observations.read(i, 1, &batch.critic_observations[row * block.critic.size]);
      }
      batch.old_values[r] = block.values[i];
      batch.value_targets[r] = block.advantages[i] + block.values[i];
    }
  }
}

// Then a side's lanes are mostly in the cache of who makes the last of them: added there and then,
// they do not take another meeting of the threads.
bool GradientLanes::each_thread_has_a_side() const {
  return sides_.size() == 2 && pool_.active() == 2 &&
         network_.parameter_count() <= kCachedParameters;
}

void GradientLanes::add_up_side(int side) {
  const int begin = side == 0 ? 0 : policy_chunks_;
  const int end = side == 0 ? policy_chunks_ : static_cast<int>(chunks_.size());
  for (int chunk = begin; chunk < end; ++chunk) add_up(chunk);
}

// Pairwise, in a fixed tree.
void GradientLanes::add_up(int chunk) {
  const ParameterRange& range = chunks_[static_cast<std::size_t>(chunk)];
  for (int stride = 1; stride < used_lanes_; stride *= 2) {
    for (int l = 0; l + stride < used_lanes_; l += 2 * stride) {
      add_into(&lanes_[l].grads[range.begin], &lanes_[l + stride].grads[range.begin], range.size());
    }
  }
  squares_[static_cast<std::size_t>(chunk)] =
      sum_squares(&lanes_[0].grads[range.begin], range.size());
}

}  // namespace broadloom
