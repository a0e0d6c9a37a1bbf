// Per-sample gradients of networks with memory: the part of factors.h that goes back through time.
#include <algorithm>

#include "broadloom/instruments/gradient/factors.h"

namespace broadloom {
namespace {

// Copies column r of [outputs, kTileRows], and sets all other columns to 0.
template <class Real>
void keep_column(const std::vector<Real>& source, int r, AlignedVector<Real>& target) {
  std::fill(target.begin(), target.end(), Real(0));
  for (std::size_t i = static_cast<std::size_t>(r); i < target.size(); i += kTileRows) {
    target[i] = source[i];
  }
}

template <class Real>
bool is_zero(const Real* numbers, std::size_t count) {
  return std::all_of(numbers, numbers + count, [](Real x) { return x == Real(0); });
}

}  // namespace

// Runs the network over the piece, one sequence, from the state before it.
template <class Real>
void FactorMaker<Real>::begin_piece(NetworkInput<Real> observations,
                                    const SampleSequences<Real>& sequences, const Real* state,
                                    Piece piece) {
  TileStates<Real>& states = work_.states;
  states.begin(1);
  std::copy_n(sequences.begins + piece.first, piece.rows, states.begins.data());
  std::copy_n(state, network_.state_size(), states.before.data());
  network_.forward(params_, input_from(observations, piece.first), piece.rows, work_, side_);
}

// Goes forward through a window. The workspace then holds the last piece.
template <class Real>
std::vector<typename FactorMaker<Real>::Piece>& FactorMaker<Real>::pieces_of(
    NetworkInput<Real> observations, const SampleSequences<Real>& sequences, int first, int rows,
    const Real* state) {
  const std::size_t size = network_.state_size();
  pieces_.clear();
  between_.assign(static_cast<std::size_t>((rows + kTileRows - 1) / kTileRows + 1) * size, Real(0));
  std::copy_n(state, size, between_.data());
  for (int r = 0; r < rows; r += kTileRows) {
    pieces_.push_back({first + r, std::min(kTileRows, rows - r)});
    Real* const before = &between_[(pieces_.size() - 1) * size];
    begin_piece(observations, sequences, before, pieces_.back());
    network_.copy_state(work_, pieces_.back().rows - 1, before + size, side_);
  }
  return pieces_;
}

// A sample's gradient goes back from its own row through its window, piece by piece.
template <class Real>
void FactorMaker<Real>::make_sequences(NetworkInput<Real> observations, const Real* actions,
                                       const Real* policy_weights, const Real* value_weights,
                                       int rows, GradientFactors<Real>& factors,
                                       const SampleSequences<Real>& sequences) {
  const std::size_t size = network_.state_size();
  const std::size_t deviations = slopes_.size() / kTileRows;
  const bool has_slopes = deviations > 0 && network_.noise_size() == 0;
  const Real* state = sequences.states;
  const auto back = [&](Piece piece, int count) {
    network_.backward(params_, transposed_.data(), input_from(observations, piece.first), count,
                      work_, gradient_.data(), side_);
  };
  const auto sample = [&](std::size_t k, int r) {
    keep_column(kept_policy_delta_, r, work_.policy_delta);
    keep_column(kept_value_delta_, r, work_.values_delta);
    std::fill(gradient_.begin(), gradient_.end(), Real(0));
    std::fill_n(work_.states.delta.data(), size, Real(0));
    back(pieces_[k], r + 1);
    for (std::size_t j = k; j > 0 && !is_zero(work_.states.delta.data(), size); --j) {
      begin_piece(observations, sequences, &between_[(j - 1) * size], pieces_[j - 1]);
      std::fill(work_.policy_delta.begin(), work_.policy_delta.end(), Real(0));
      std::fill(work_.values_delta.begin(), work_.values_delta.end(), Real(0));
      back(pieces_[j - 1], pieces_[j - 1].rows);
    }
    Real* kept = &factors.extras[static_cast<std::size_t>(pieces_[k].first + r) *
                                 static_cast<std::size_t>(factors.extra_size)];
    for (const auto& run : extra_runs_) {
      std::copy_n(&gradient_[run.offset], run.size, kept);
      kept += run.size;
    }
    if (has_slopes) {
      std::copy_n(&slopes_[static_cast<std::size_t>(r) * deviations], deviations,
                  kept - deviations);
    }
  };
  for (int env = 0; env < rows; env += sequences.steps) {
    for (int t = 0; t < sequences.steps; t += sequences.window, state += size) {
      const int length = std::min(sequences.window, sequences.steps - t);
      pieces_of(observations, sequences, env + t, length, state);
      for (std::size_t k = pieces_.size(); k-- > 0;) {
        const Piece piece = pieces_[k];
        begin_piece(observations, sequences, &between_[k * size], piece);
        set_deltas(actions, policy_weights, value_weights, piece.first, piece.rows, slopes_.data(),
                   deviations);
        std::copy(work_.policy_delta.begin(), work_.policy_delta.end(), kept_policy_delta_.begin());
        std::copy(work_.values_delta.begin(), work_.values_delta.end(), kept_value_delta_.begin());
        for (int r = 0; r < piece.rows; ++r) {
          // Earlier pieces replaced this one's activations.
          if (r > 0 && k > 0) begin_piece(observations, sequences, &between_[k * size], piece);
          sample(k, r);
        }
      }
    }
  }
}

template <class Real>
void FactorMaker<Real>::add_sequences(NetworkInput<Real> observations, const Real* actions,
                                      const Real* weights, int rows,
                                      const SampleSequences<Real>& sequences, Real* sum) {
  const std::size_t size = network_.state_size();
  const std::size_t deviations = slopes_.size() / kTileRows;
  const bool has_slopes = deviations > 0 && network_.noise_size() == 0;
  network_.refresh_transposed(params_, transposed_.data());
  const Real* state = sequences.states;
  for (int env = 0; env < rows; env += sequences.steps) {
    for (int t = 0; t < sequences.steps; t += sequences.window, state += size) {
      const int length = std::min(sequences.window, sequences.steps - t);
      pieces_of(observations, sequences, env + t, length, state);
      std::fill_n(work_.states.delta.data(), size, Real(0));
      for (std::size_t k = pieces_.size(); k-- > 0;) {
        const Piece piece = pieces_[k];
        if (k + 1 < pieces_.size()) {
          begin_piece(observations, sequences, &between_[k * size], piece);
        }
        set_deltas(actions, weights, weights, piece.first, piece.rows, slopes_.data(), deviations);
        network_.backward(params_, transposed_.data(), input_from(observations, piece.first),
                          piece.rows, work_, sum, side_);
        for (std::size_t i = 0; has_slopes && i < deviations * piece.rows; ++i) {
          sum[network_.log_std_offset() + i % deviations] += slopes_[i];
        }
      }
    }
  }
}

#define BROADLOOM_INSTANTIATE(Real)                                                             \
  template void FactorMaker<Real>::make_sequences(NetworkInput<Real>, const Real*, const Real*, \
                                                  const Real*, int, GradientFactors<Real>&,     \
                                                  const SampleSequences<Real>&);                \
  template void FactorMaker<Real>::add_sequences(NetworkInput<Real>, const Real*, const Real*,  \
                                                 int, const SampleSequences<Real>&, Real*);
BROADLOOM_INSTANTIATE(float)
BROADLOOM_INSTANTIATE(double)
#undef BROADLOOM_INSTANTIATE

}  // namespace broadloom
