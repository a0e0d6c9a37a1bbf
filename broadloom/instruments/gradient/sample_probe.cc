#include "broadloom/instruments/gradient/sample_probe.h"

#include <algorithm>
#include <cmath>

#include "broadloom/math/elementwise.h"

namespace broadloom {
namespace {

int rows_seen(const ActorCritic& network) {
  if (!network.is_recurrent()) return SampleProbe::kMostRows;
  const std::size_t fitting = SampleProbe::kMostWhole / network.parameter_count();
  return static_cast<int>(std::clamp<std::size_t>(fitting, 2, SampleProbe::kMostRows));
}

GradientTerms terms_of(const ActorCritic& network) {
  GradientTerms terms;
  if (network.shape().action_values) terms.score = Score::kActionValue;
  return terms;
}

double ratio(double x, double y) { return y > 0.0 ? x / y : SampleNumbers::kNone; }

}  // namespace

SampleProbe::SampleProbe(const InstrumentSetup& setup)
    : most_rows_(rows_seen(setup.network)),
      envs_(std::clamp(most_rows_ / setup.num_steps, 1, setup.num_envs)),
      steps_(std::min(setup.num_steps, most_rows_)),
      maker_(setup.network, terms_of(setup.network)),
      pieces_(setup.network, setup.num_steps, setup.num_envs, setup.sequence),
      mean_(setup.network.parameter_count()),
      sum_(setup.network.parameter_count()),
      workspace_bytes_(setup.network.make_workspace<float>().bytes()) {
  const std::size_t rows = static_cast<std::size_t>(envs_) * steps_;
  observations_.resize(rows * setup.observation_size);
  actions_.resize(rows * setup.action_size);
  if (setup.network.shape().masked) valid_.resize(rows * setup.network.shape().logits());
  advantages_.resize(rows);
  episode_.resize(rows);
  squares_.resize(rows);
  along_mean_.resize(rows);
  if (setup.network.is_recurrent()) {
    states_.reserve(rows * setup.network.state_size());  // a sequence has a step at least
    begins_.resize(rows);
  }
  if (setup.network.shape().action_values) {
    network_rows_ = std::make_unique<NetworkRows>(setup.network, setup.threads);
    carried_.assign(static_cast<std::size_t>(setup.threads),
                    std::vector<float>(pieces_.tile_states()));
    taken_.resize(static_cast<std::size_t>(setup.num_steps) * setup.num_envs);
  }
  maker_.shape(static_cast<int>(rows), factors_);
  std::size_t most = 0;  // size for project() and add_weighted_sum()
  for (const auto& layer : factors_.layers) {
    const std::size_t in = static_cast<std::size_t>(layer.slice.in);
    const std::size_t out = static_cast<std::size_t>(layer.slice.out);
    most = std::max({most, (kTileRows + in) * out, kTileRows * out + in});
  }
  scratch_.reserve(most);
}

std::size_t SampleProbe::bytes(const InstrumentSetup& setup) { return SampleProbe(setup).held(); }

// The maker has a workspace and two vectors of P.
std::size_t SampleProbe::held() const {
  std::size_t numbers = observations_.size() + actions_.size() + advantages_.size() +
                        episode_.size() + squares_.size() + along_mean_.size() +
                        scratch_.capacity() + factors_.extras.size() + 4 * mean_.size();
  for (const auto& layer : factors_.layers) numbers += layer.inputs.size() + layer.deltas.size();
  numbers += states_.capacity() + taken_.size();
  for (const std::vector<float>& states : carried_) numbers += states.size();
  if (network_rows_ != nullptr) numbers += carried_.size() * workspace_bytes_ / sizeof(float);
  return sizeof(float) * numbers + valid_.size() + begins_.size() + workspace_bytes_;
}

SampleNumbers SampleProbe::measure(const InstrumentView& view) {
  if (!view.block.labels.empty()) return {};
  maker_.set_params(view.params.data());
  read(view);
  const int rows = envs_ * steps_;
  NetworkInput<float> input(observations_.data());
  if (!valid_.empty()) input.valid = valid_.data();
  maker_.make(input, actions_.data(), advantages_.data(), nullptr, rows, factors_,
              read_sequences(view.block));
  centre();
  SampleNumbers numbers;
  double squares = 0.0, cosines = 0.0, counted = 0.0;
  for (int r = 0; r < rows; ++r) {
    squares += squares_[r];
    // Compares with the mean of the other samples: a mean that includes the sample resembles it.
    const double along = along_mean_[r] - static_cast<double>(squares_[r]) / rows;
    const double others =
        mean_square_ - 2.0 * along_mean_[r] / rows + static_cast<double>(squares_[r]) / rows / rows;
    if (!(squares_[r] > 0.0f) || !(others > 0.0)) continue;
    cosines += along / std::sqrt(squares_[r] * others);
    counted += 1.0;
  }
  numbers.sample_norm = std::sqrt(squares / rows);
  numbers.mean_cosine = ratio(cosines, counted);
  const Pairs one = pairs_at_lag(1), ten = pairs_at_lag(10), across = pairs_across();
  numbers.abs_cosine_lag_1 = ratio(one.abs_cosine, one.cosines);
  numbers.abs_cosine_lag_10 = ratio(ten.abs_cosine, ten.cosines);
  numbers.abs_cosine_across = ratio(across.abs_cosine, across.cosines);
  numbers.autocovariance_lag_1 = ratio(ratio(one.product, one.count), variance_);
  numbers.autocovariance_lag_10 = ratio(ratio(ten.product, ten.count), variance_);
  numbers.variance_inflation = inflation();
  return numbers;
}

// Reads environment after environment, although the block is time-major.
void SampleProbe::read(const InstrumentView& view) {
  const RolloutBlock& block = view.block;
  if (network_rows_ != nullptr) read_action_values(view);
  const std::size_t D = static_cast<std::size_t>(block.D), A = static_cast<std::size_t>(block.A);
  std::size_t row = 0;
  int episode = 0;
  for (int n = 0; n < envs_; ++n, ++episode) {
    for (int t = 0; t < steps_; ++t, ++row) {
      const std::size_t i = block.index(t, n);
      block.observations.read(i, 1, &observations_[row * D]);
      std::copy_n(&block.actions[i * A], A, &actions_[row * A]);
      block.copy_valid(i, row, valid_);
      advantages_[row] = block.advantages[i];
      if (!taken_.empty()) advantages_[row] += block.values[i] - taken_[i];
      episode_[row] = episode;
      if (block.terminated[i] != 0 || block.truncated[i] != 0) ++episode;
    }
  }
}

SampleSequences<float> SampleProbe::read_sequences(const RolloutBlock& block) {
  if (begins_.empty()) return {};
  const std::size_t size = static_cast<std::size_t>(block.state_size);
  states_.clear();
  std::size_t row = 0;
  for (int n = 0; n < envs_; ++n) {
    for (int t = 0; t < steps_; ++t, ++row) {
      begins_[row] = block.begins_at(t, n) ? 1 : 0;
      if (t % block.sequence_steps() != 0) continue;
      const float* state = &block.states[block.sequence_row(t, n) * size];
      states_.insert(states_.end(), state, state + size);
    }
  }
  return {steps_, block.sequence_steps(), states_.data(), begins_.data()};
}

void SampleProbe::read_action_values(const InstrumentView& view) {
  const RolloutBlock& block = view.block;
  view.pool.run(pieces_.count(), [&](int piece, int thread) {
    std::vector<float>& states = carried_[static_cast<std::size_t>(thread)];
    pieces_.over(piece, block, {&states}, [&](std::size_t first, int count) {
      const NetworkInput<float> x = block.observations.view(first, static_cast<std::size_t>(count),
                                                            network_rows_->tile(thread));
      const TileWorkspace<float>& work = network_rows_->forward(
          thread, view.params.data(), nullptr, x, count, NetworkSide::kBoth, nullptr, &states);
      for (int r = 0; r < count; ++r) {
        const std::size_t i = first + static_cast<std::size_t>(r);
        taken_[i] = work.policy[static_cast<std::size_t>(block.actions[i]) * kTileRows + r];
      }
    });
  });
}

void SampleProbe::centre() {
  const int rows = envs_ * steps_;
  std::fill(mean_.begin(), mean_.end(), 0.0f);
  add_weighted_sum(factors_, static_cast<const float*>(nullptr), 0, rows, mean_.data(), scratch_);
  for (float& g : mean_) g /= static_cast<float>(rows);
  mean_square_ = sum_squares(mean_.data(), mean_.size());
  squared_norms(factors_, squares_.data());
  project(factors_, mean_.data(), along_mean_.data(), scratch_);
  variance_ = 0.0;
  for (int r = 0; r < rows; ++r) variance_ += centred_square(r) / rows;
}

double SampleProbe::centred_square(int row) const {
  return std::max(0.0, squares_[row] - 2.0 * along_mean_[row] + mean_square_);
}

void SampleProbe::add_pair(int i, int j, Pairs& pairs) const {
  const double product = static_cast<double>(inner_product(factors_, i, j)) - along_mean_[i] -
                         along_mean_[j] + mean_square_;
  pairs.count += 1.0;
  pairs.product += product;
  const double squares = centred_square(i) * centred_square(j);
  if (!(squares > 0.0)) return;
  pairs.cosines += 1.0;
  pairs.abs_cosine += std::min(1.0, std::abs(product) / std::sqrt(squares));
}

SampleProbe::Pairs SampleProbe::pairs_at_lag(int lag) const {
  Pairs pairs;
  for (int i = 0; i + lag < envs_ * steps_; ++i) {
    if (episode_[i] == episode_[i + lag]) add_pair(i, i + lag, pairs);
  }
  return pairs;
}

SampleProbe::Pairs SampleProbe::pairs_across() const {
  Pairs pairs;
  for (int i = 0; i + steps_ < envs_ * steps_; ++i) add_pair(i, i + steps_, pairs);
  return pairs;
}

// For an environment's sum s of g over its T steps, |s - T m|^2 = |s|^2 - 2 T <s, m> + T^2 |m|^2.
// With one environment, s is the sum of all samples, and the result would be 0.
double SampleProbe::inflation() {
  if (envs_ < 2 || steps_ < 2) return SampleNumbers::kNone;
  double squares = 0.0;
  for (int n = 0; n < envs_; ++n) {
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    add_weighted_sum(factors_, static_cast<const float*>(nullptr), n * steps_, (n + 1) * steps_,
                     sum_.data(), scratch_);
    squares += sum_squares(sum_.data(), sum_.size()) -
               2.0 * steps_ * dot(sum_.data(), mean_.data(), sum_.size()) +
               static_cast<double>(steps_) * steps_ * mean_square_;
  }
  const double E = envs_;
  return ratio(squares / (E * steps_) * E / (E - 1.0), variance_);
}

}  // namespace broadloom
