// Definitions of PartialGradients, included by the file of each algorithm.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "broadloom/learn/partial_gradients.h"
#include "broadloom/math/elementwise.h"

namespace broadloom {

// Smallest number of samples for which several threads are faster.
inline constexpr int kMinSharedSamples = 16;

template <class Loss>
PartialGradients<Loss>::PartialGradients(const ActorCritic& network, const Loss& loss,
                                         int max_samples, int observation_size, int action_size,
                                         ThreadPool& pool, Ranks& ranks)
    : network_(network),
      loss_(loss),
      pool_(pool),
      ranks_(ranks),
      sides_(learnt_sides(network, pool.active())),
      chunks_(parameter_chunks(network, NetworkSide::kBoth)),
      policy_chunks_(static_cast<int>(parameter_chunks(network, NetworkSide::kPolicy).size())),
      squares_(chunks_.size()),
      max_partials_(partial_gradient_count(max_samples, network.parameter_count())),
      runs_(max_partials_, ranks.size()),
      rank_sums_(ranks, network.parameter_count()) {
  static_assert(std::is_trivially_copyable_v<typename Loss::Sums>, "ranks exchange their bytes");
  const std::size_t parameters = network.parameter_count();
  for (int p = 0; p < std::min(runs_.length, max_partials_); ++p) {
    partials_.push_back({AlignedVector<float>(parameters), {}});
  }
  if (ranks.size() > 1) notes_.resize(2 * static_cast<std::size_t>(max_partials_));
  for (int thread = 0; thread < pool.threads(); ++thread) {
    scratch_.push_back({Loss::make_tile(network, observation_size, action_size),
                        network.make_workspace<float>(),
                        AlignedVector<float>(parameters),
                        {},
                        {}});
  }
}

template <class Loss>
std::size_t PartialGradients<Loss>::bytes(const ActorCritic& network, int max_samples,
                                          int observation_size, int action_size, int threads) {
  const std::size_t parameters = network.parameter_count();
  const std::size_t scratch = parameters * sizeof(float) + network.make_workspace<float>().bytes() +
                              Loss::make_tile(network, observation_size, action_size).bytes();
  return static_cast<std::size_t>(threads) * scratch +
         partial_gradient_count(max_samples, parameters) * parameters * sizeof(float);
}

// Depends on the active threads: a single thread would read the observations twice for two sides.
template <class Loss>
void PartialGradients<Loss>::choose_sides() {
  const std::span<const NetworkSide> sides = learnt_sides(network_, pool_.active());
  if (sides.size() == sides_.size()) return;
  sides_ = sides;
  for (Scratch& scratch : scratch_) scratch.transposed_version.fill(0);
}

template <class Loss>
GradientResult<Loss> PartialGradients<Loss>::compute(const GradientJob<Loss>& job) {
  choose_sides();
  runs_ = {std::min({partial_gradient_count(job.samples, network_.parameter_count()), max_partials_,
                     units_of(job)}),
           ranks_.size()};
  reserve_states(job);
  const int used = own_partials();
  // One side after the other: neighbouring tasks mostly run on one thread, which then has one side.
  const bool add_at_once = each_thread_has_a_side();
  for (std::atomic<int>& left : left_) left.store(used, std::memory_order_relaxed);
  const auto run = [&](int task, int thread) {
    const int side = task / used;
    run_partial(job, task % used, side, scratch_[static_cast<std::size_t>(thread)]);
    if (!add_at_once) return;
    const bool was_last = left_[side].fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (was_last) add_up_side(side);
  };
  const int tasks = static_cast<int>(sides_.size()) * used;
  if (job.samples >= kMinSharedSamples) {
    pool_.run(tasks, run);
  } else {
    for (int task = 0; task < tasks; ++task) run(task, 0);
  }
  if (!add_at_once) {
    pool_.run(static_cast<int>(chunks_.size()), [&](int chunk) { add_up(chunk); });
  }
  if (ranks_.size() > 1) add_ranks();
  return result();
}

// Ranks may differ in whether their threads learn the sides separately.
template <class Loss>
void PartialGradients<Loss>::add_ranks() {
  const int first = runs_.begin(ranks_.rank());
  for (int p = 0; p < own_partials(); ++p) {
    for (std::size_t side = 0; side < 2; ++side) {
      notes_[2 * static_cast<std::size_t>(first + p) + side] =
          side < sides_.size() ? partials_[p].sums[side] : typename Loss::Sums{};
    }
  }
  rank_sums_.add(runs_, partials_[0].grads.data(), reinterpret_cast<std::byte*>(notes_.data()),
                 2 * sizeof(typename Loss::Sums));
  pool_.run(static_cast<int>(chunks_.size()), [&](int chunk) { square(chunk); });
}

template <class Loss>
GradientResult<Loss> PartialGradients<Loss>::result() const {
  GradientResult<Loss> result;
  result.gradient = partials_[0].grads;
  if (ranks_.size() > 1) {
    for (int n = 0; n < 2 * runs_.partials; ++n) result.sums.add(notes_[n]);
  } else {
    for (int p = 0; p < runs_.partials; ++p) {
      for (std::size_t side = 0; side < sides_.size(); ++side) {
        result.sums.add(partials_[p].sums[side]);
      }
    }
  }
  double squares = 0.0;
  for (const double square : squares_) squares += square;
  result.norm = std::sqrt(squares);
  std::array<double, 2> sides{};
  for (std::size_t c = 0; c < squares_.size(); ++c) {
    sides[c < static_cast<std::size_t>(policy_chunks_) ? 0 : 1] += squares_[c];
  }
  result.side_norms = {std::sqrt(sides[0]), std::sqrt(sides[1])};
  return result;
}

template <class Loss>
void PartialGradients<Loss>::run_partial(const GradientJob<Loss>& job, int place, int side,
                                         Scratch& scratch) {
  const NetworkSide network_side = sides_[side];
  refresh_transposed(job, side, scratch);
  Partial& partial = partials_[place];
  for (const ParameterRange& range : network_.ranges(network_side)) {
    std::fill_n(partial.grads.data() + range.begin, range.size(), 0.0f);
  }
  typename Loss::Sums sums;  // local until complete: another thread writes the other side's
  const int units = units_of(job), most_rows = unit_rows(job);
  const int p = runs_.begin(ranks_.rank()) + place;
  const int end = first_tile(p + 1, units, runs_.partials);
  for (int unit = first_tile(p, units, runs_.partials); unit < end; ++unit) {
    const int begin = unit * most_rows, rows = std::min(most_rows, job.samples - begin);
    if (network_.is_recurrent()) {
      run_sequences(job, job.indices + begin, rows / job.block.sequence_steps(), network_side,
                    scratch, partial.grads.data(), sums);
      continue;
    }
    loss_.gather(job.block, job.indices + begin, rows, job.context, network_side, scratch.tile);
    loss_.add_gradient(network_, job.samples, job.params, scratch.transposed.data(), scratch.tile,
                       scratch.work, partial.grads.data(), sums, network_side);
  }
  partial.sums[side] = sums;
}

// Units are tiles, or groups of sequences.
template <class Loss>
int PartialGradients<Loss>::unit_rows(const GradientJob<Loss>& job) const {
  if (!network_.is_recurrent()) return kTileRows;
  const int steps = job.block.sequence_steps();
  return sequences_per_tile(network_.shape().recurrent, steps) * steps;
}

template <class Loss>
int PartialGradients<Loss>::units_of(const GradientJob<Loss>& job) const {
  const int rows = unit_rows(job);
  return (job.samples + rows - 1) / rows;
}

// Allocates when the number of steps changes.
template <class Loss>
void PartialGradients<Loss>::reserve_states(const GradientJob<Loss>& job) {
  if (!network_.is_recurrent()) return;
  const int length = job.block.sequence_steps(), sequences = unit_rows(job) / length;
  const int steps = kTileRows / sequences;
  const auto tiles = static_cast<std::size_t>((length + steps - 1) / steps);
  const std::size_t size = tiles * static_cast<std::size_t>(sequences) * network_.state_size();
  for (Scratch& scratch : scratch_) scratch.between.resize(size);
}

// Gathers `steps` steps of the group, from the row at `indices` on.
template <class Loss>
void PartialGradients<Loss>::gather_steps(const GradientJob<Loss>& job, const std::int32_t* indices,
                                          int sequences, int steps, NetworkSide side,
                                          Scratch& scratch) {
  const int rows = sequences * steps, num_envs = job.block.N;
  loss_.gather(job.block, indices, rows, job.context, side, scratch.tile);
  TileStates<float>& states = scratch.work.states;
  states.sequences = sequences;
  for (int r = 0; r < rows; ++r) {
    const int step = indices[r] / num_envs, env = indices[r] % num_envs;
    states.begins[static_cast<std::size_t>(r)] = job.block.begins_at(step, env) ? 1 : 0;
  }
}

template <class Loss>
void PartialGradients<Loss>::run_sequences(const GradientJob<Loss>& job,
                                           const std::int32_t* indices, int sequences,
                                           NetworkSide side, Scratch& scratch, float* grads,
                                           typename Loss::Sums& sums) {
  const int steps = job.block.sequence_steps(), most_steps = kTileRows / sequences;
  const std::size_t size = network_.state_size(), all = static_cast<std::size_t>(sequences) * size;
  TileStates<float>& states = scratch.work.states;
  for (int s = 0; s < sequences; ++s) {  // the rows of first steps come first
    const std::size_t row =
        job.block.sequence_row(indices[s] / job.block.N, indices[s] % job.block.N);
    std::copy_n(&job.block.states[row * size], size,
                states.before.data() + static_cast<std::size_t>(s) * size);
  }
  const int last_begin = (steps - 1) / most_steps * most_steps;
  const auto between = [&](int t) {
    return scratch.between.data() + static_cast<std::size_t>(t / most_steps) * all;
  };
  for (int t = 0; t < last_begin; t += most_steps) {
    std::copy_n(states.before.data(), all, between(t));
    gather_steps(job, indices + t * sequences, sequences, most_steps, side, scratch);
    if constexpr (requires { scratch.tile.input(); }) {
      network_.forward(job.params, scratch.tile.input(), scratch.tile.rows, scratch.work, side);
    }
    for (int s = 0; s < sequences; ++s) {
      network_.copy_state(scratch.work, (most_steps - 1) * sequences + s,
                          states.before.data() + static_cast<std::size_t>(s) * size, side);
    }
  }
  std::fill_n(states.delta.data(), all, 0.0f);
  for (int t = last_begin; t >= 0; t -= most_steps) {
    if (t < last_begin) std::copy_n(between(t), all, states.before.data());
    gather_steps(job, indices + t * sequences, sequences, std::min(most_steps, steps - t), side,
                 scratch);
    loss_.add_gradient(network_, job.samples, job.params, scratch.transposed.data(), scratch.tile,
                       scratch.work, grads, sums, side);
  }
}

template <class Loss>
void PartialGradients<Loss>::refresh_transposed(const GradientJob<Loss>& job, int side,
                                                Scratch& scratch) {
  if (scratch.transposed_version[side] == job.version) return;
  network_.refresh_transposed(job.params, scratch.transposed.data(), sides_[side]);
  scratch.transposed_version[side] = job.version;
}

// If true, the thread that finishes a side adds up its partial gradients at once: they are mostly
// in its cache, and the threads need not wait for each other again.
template <class Loss>
bool PartialGradients<Loss>::each_thread_has_a_side() const {
  return sides_.size() == 2 && pool_.active() == 2 &&
         network_.parameter_count() <= kCachedParameters;
}

template <class Loss>
void PartialGradients<Loss>::add_up_side(int side) {
  const int begin = side == 0 ? 0 : policy_chunks_;
  const int end = side == 0 ? policy_chunks_ : static_cast<int>(chunks_.size());
  for (int chunk = begin; chunk < end; ++chunk) add_up(chunk);
}

// Pairwise, in a fixed tree.
template <class Loss>
void PartialGradients<Loss>::add_up(int chunk) {
  const ParameterRange& range = chunks_[static_cast<std::size_t>(chunk)];
  const int used = own_partials();
  for (int stride = 1; stride < used; stride *= 2) {
    for (int p = 0; p + stride < used; p += 2 * stride) {
      add_into(&partials_[p].grads[range.begin], &partials_[p + stride].grads[range.begin],
               range.size());
    }
  }
  if (ranks_.size() == 1) square(chunk);
}

template <class Loss>
void PartialGradients<Loss>::square(int chunk) {
  const ParameterRange& range = chunks_[static_cast<std::size_t>(chunk)];
  squares_[static_cast<std::size_t>(chunk)] =
      sum_squares(&partials_[0].grads[range.begin], range.size());
}

}  // namespace broadloom
