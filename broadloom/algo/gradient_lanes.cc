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
    : network_(network), loss_(loss), pool_(pool), sides_(learnt_sides(network, pool.threads())) {
  make_chunks();
  const std::size_t parameters = network.parameter_count();
  const std::size_t lanes = static_cast<std::size_t>(lane_count(max_samples, parameters));
  for (std::size_t l = 0; l < lanes; ++l) lanes_.push_back({AlignedVector<float>(parameters), {}});
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_.push_back(
        {TileBatch<float>(observation_size, action_size, network.shape().action_outputs),
         network.make_workspace<float>(),
         AlignedVector<float>(parameters),
         {}});
  }
  half_is_done_ = std::vector<std::atomic<bool>>(sides_.size() * lanes);
}

void GradientLanes::make_chunks() {
  for (const NetworkSide side : sides_) {
    for (const ParameterRange& range : parameter_chunks(network_, side)) {
      chunks_.push_back({range, side});
    }
  }
}

GradientResult GradientLanes::compute(const GradientJob& job) {
  used_lanes_ = std::min(lane_count(job.samples, network_.parameter_count()),
                         static_cast<int>(lanes_.size()));
  shared_stride_ = first_shared_stride();
  // Side after side, so that neighbouring tasks, which are mostly one thread's, are of one side.
  const auto run = [&](int task, int thread) {
    const int side = task / used_lanes_;
    const int lane = task % used_lanes_;
    run_lane(job, lane, side, scratch_[static_cast<std::size_t>(thread)]);
    add_up(lane, side);
  };
  const int tasks = side_count() * used_lanes_;
  if (job.samples >= kWorthSharing) {
    pool_.run(tasks, run);
  } else {
    for (int task = 0; task < tasks; ++task) run(task, 0);
  }
  if (shared_stride_ < used_lanes_) {
    pool_.run(static_cast<int>(chunks_.size()), [&](int i) { add_the_rest(chunks_[i]); });
  }
  GradientResult result;
  result.gradient = lanes_[0].grads;
  for (int l = 0; l < used_lanes_; ++l) {
    for (int side = 0; side < side_count(); ++side) result.sums.add(lanes_[l].sums[side]);
  }
  double squares = 0.0;
  for (const Chunk& chunk : chunks_) squares += chunk.squares;
  result.norm = std::sqrt(squares);
  return result;
}

void GradientLanes::run_lane(const GradientJob& job, int l, int side, Scratch& scratch) {
  const NetworkSide network_side = sides_[side];
  job.step.take(side);
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
    // Rows are short: a plain loop beats a call of memcpy.
    const float* seen = &block.observations[i * block.D];
    float* observation = &batch.observations[static_cast<std::size_t>(r) * block.D];
    for (int d = 0; d < block.D; ++d) observation[d] = seen[d];
    if (side != NetworkSide::kValue) {
      for (int a = 0; a < block.A; ++a) {
        batch.actions[static_cast<std::size_t>(a) * kTileRows + r] = block.actions[i * block.A + a];
      }
      batch.old_log_probs[r] = block.log_probs[i];
      batch.advantages[r] = (block.advantages[i] - job.advantages.mean) * job.advantages.scale;
    }
    if (side != NetworkSide::kPolicy) {
      batch.old_values[r] = block.values[i];
      batch.value_targets[r] = block.advantages[i] + block.values[i];
    }
  }
}

// Lanes are added into lane 0 pairwise in a fixed tree, so who adds them is open. The levels below
// this stride are added up where the lanes are made: pairs there are mostly one thread's, and small
// enough to be in its cache. Where those are all levels, the sum is squared there, too.
int GradientLanes::first_shared_stride() const {
  const int threads = pool_.active();
  if (threads == 1 || network_.parameter_count() > kCachedParameters) return 1;
  int stride = 1;
  const auto stays_with_one_thread = [&] {
    return threads <= side_count() || 2 * stride * threads <= side_count() * used_lanes_;
  };
  while (stride < used_lanes_ && stays_with_one_thread()) stride *= 2;
  return stride;
}

// Adds a side of a finished lane and its neighbour, level by level, where the neighbour is done
// before it.
void GradientLanes::add_up(int lane, int side) {
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

void GradientLanes::add_the_rest(Chunk& chunk) {
  const std::size_t begin = chunk.range.begin;
  for (int stride = shared_stride_; stride < used_lanes_; stride *= 2) {
    for (int l = 0; l + stride < used_lanes_; l += 2 * stride) {
      add_into(&lanes_[l].grads[begin], &lanes_[l + stride].grads[begin], chunk.range.size());
    }
  }
  square(chunk);
}

void GradientLanes::square(Chunk& chunk) {
  chunk.squares = sum_squares(&lanes_[0].grads[chunk.range.begin], chunk.range.size());
}

}  // namespace broadloom
