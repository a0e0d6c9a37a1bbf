// Dependence between the gradients of single samples of one block, measured during training.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/instruments/instrument.h"
#include "broadloom/instruments/network_rows.h"

namespace broadloom {

// Statistics of g = A grad log pi at the parameters that collected the block. A are the advantages
// as they are, m is the mean of g over the samples read. With action values, g is minus the
// gradient of a sample's TD loss, (target - Q) grad Q. With memory, gradients go back through the
// steps of a sequence, as in training. A block with a teacher's labels has no advantages that are
// learnt from: all numbers are NaN.
//
// All are estimates from one block: average them over iterations. The block's own mean makes
// autocovariances low by about variance_inflation / B. Undefined numbers are NaN: a block of one
// step has no lag.
struct SampleNumbers {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double sample_norm = kNone;           // root of the mean of |g|^2
  double mean_cosine = kNone;           // mean of cos(g, mean of the others)
  double abs_cosine_lag_1 = kNone;      // mean |cos| of g_t - m and g_{t+1} - m in one episode
  double abs_cosine_lag_10 = kNone;     // likewise ten steps apart
  double abs_cosine_across = kNone;     // likewise of neighbouring environments at the same step
  double autocovariance_lag_1 = kNone;  // mean <g_t - m, g_{t+1} - m> / mean |g - m|^2
  double autocovariance_lag_10 = kNone;
  // Variance inflation due to pairs within one environment. With E environments and their sums s of
  // g - m over steps, it is the sum of |s|^2 over the sum of |g - m|^2, times E / (E - 1).
  double variance_inflation = kNone;

  template <class Visitor>
  void visit(Visitor&& v) const;
};

// Reads whole environments, up to kMostRows samples. If one environment exceeds that, it reads only
// its first steps. Cost: a forward and a backward pass over the samples, and 4 P operations per
// row. With memory, gradients are stored whole, so there are at most kMostWhole / P samples, and
// each costs a backward pass through its sequence.
class SampleProbe {
 public:
  static constexpr int kMostRows = 1024;
  static constexpr std::size_t kMostWhole = std::size_t{1} << 25;  // numbers

  explicit SampleProbe(const InstrumentSetup& setup);
  // Constructs a probe to measure its size.
  static std::size_t bytes(const InstrumentSetup& setup);

  SampleNumbers measure(const InstrumentView& view);

 private:
  struct Pairs {
    double count = 0.0, product = 0.0, cosines = 0.0, abs_cosine = 0.0;
  };
  std::size_t held() const;
  void read(const InstrumentView& view);
  SampleSequences<float> read_sequences(const RolloutBlock& block);
  void read_action_values(const InstrumentView& view);
  void centre();
  double centred_square(int row) const;
  void add_pair(int i, int j, Pairs& pairs) const;
  Pairs pairs_at_lag(int lag) const;
  Pairs pairs_across() const;
  double inflation();

  int most_rows_, envs_, steps_;
  FactorMaker<float> maker_;
  GradientFactors<float> factors_;
  std::vector<float> observations_, actions_, advantages_;  // [rows, ..]
  std::vector<std::uint8_t> valid_;                         // [rows, M] or empty
  std::vector<int> episode_;                                // [rows] equal within one episode
  std::vector<float> states_;                               // [windows, S] with memory
  std::vector<std::uint8_t> begins_;                        // [rows] with memory
  // With action values: those of the block's actions, [T, N].
  std::unique_ptr<NetworkRows> network_rows_;
  BlockPieces pieces_;
  std::vector<std::vector<float>> carried_;  // [threads][kTileRows, S]
  std::vector<float> taken_;
  std::vector<float> squares_, along_mean_;  // [rows] |g|^2, <g, m>
  std::vector<float> mean_, sum_, scratch_;  // [P], [P]
  std::size_t workspace_bytes_;
  double mean_square_ = 0.0;  // |m|^2
  double variance_ = 0.0;     // mean of |g - m|^2
};

template <class Visitor>
void SampleNumbers::visit(Visitor&& v) const {
  v(NumberInfo{"grad/sample_norm", "Size of single samples' gradients"}, sample_norm);
  v(NumberInfo{"grad/mean_cosine", "Cosine of a sample's gradient and the others' mean"},
    mean_cosine);
  v(NumberInfo{"grad/abs_cosine_lag_1", "Size of the cosine of samples one step apart"},
    abs_cosine_lag_1);
  v(NumberInfo{"grad/abs_cosine_lag_10", "Size of the cosine of samples ten steps apart"},
    abs_cosine_lag_10);
  v(NumberInfo{"grad/abs_cosine_across", "Size of the cosine of neighbouring environments"},
    abs_cosine_across);
  v(NumberInfo{"grad/autocovariance_lag_1", "Autocovariance of samples one step apart"},
    autocovariance_lag_1);
  v(NumberInfo{"grad/autocovariance_lag_10", "Autocovariance of samples ten steps apart"},
    autocovariance_lag_10);
  v(NumberInfo{"grad/variance_inflation", "Variance inflation of the block's mean"},
    variance_inflation);
}

}  // namespace broadloom
