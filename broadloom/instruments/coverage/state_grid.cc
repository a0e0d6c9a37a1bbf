#include "broadloom/instruments/coverage/state_grid.h"

#include <algorithm>
#include <cmath>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

constexpr std::uint64_t kAxesSeed = 0x67726964ull;

double dot_of(const double* a, const double* b, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

int StateGrid::axes(SpaceKind observation_kind, int observation_size) {
  return observation_kind == SpaceKind::kDiscrete ? 0 : std::min(observation_size, 2);
}

int StateGrid::cells(SpaceKind observation_kind, int observation_size) {
  if (observation_kind == SpaceKind::kDiscrete) return observation_size;
  return axes(observation_kind, observation_size) < 2 ? kSide : kSide * kSide;
}

StateGrid::StateGrid(SpaceKind observation_kind, int observation_size, std::span<const float> probe)
    : kind_(observation_kind),
      size_(static_cast<std::size_t>(observation_size)),
      cells_(cells(observation_kind, observation_size)),
      offsets_(static_cast<std::size_t>(axes(observation_kind, observation_size))) {
  if (kind_ == SpaceKind::kDiscrete) return;
  mean_.assign(size_, 0.0);
  deviation_.assign(size_, 1.0);
  axes_.assign(offsets_.size() * size_, 0.0);
  weights_ = axes_;
  standardise(probe);
  make_axes();
  look_through(nullptr);
}

// A number that does not vary over the probe keeps its own scale.
void StateGrid::standardise(std::span<const float> probe) {
  const std::size_t rows = size_ > 0 ? probe.size() / size_ : 0;
  for (std::size_t d = 0; d < size_ && rows > 0; ++d) {
    double sum = 0.0, squares = 0.0;
    for (std::size_t r = 0; r < rows; ++r) sum += probe[r * size_ + d];
    mean_[d] = sum / static_cast<double>(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      const double off = probe[r * size_ + d] - mean_[d];
      squares += off * off;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(rows));
    if (deviation > 1e-6 * std::max(1.0, std::abs(mean_[d]))) deviation_[d] = deviation;
  }
}

void StateGrid::make_axes() {
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    double* axis = &axes_[k * size_];
    if (size_ <= 2) {
      axis[k] = 1.0;
      continue;
    }
    Random random(kAxesSeed, Purpose::kInstruments, static_cast<std::uint32_t>(k), size_);
    for (std::size_t d = 0; d < size_; ++d) axis[d] = random.normal();
    if (k == 1) {
      const double along = dot_of(axis, axes_.data(), size_);
      for (std::size_t d = 0; d < size_; ++d) axis[d] -= along * axes_[d];
    }
    const double length = std::sqrt(dot_of(axis, axis, size_));
    for (std::size_t d = 0; d < size_; ++d) axis[d] /= length;
  }
}

// With normalised x = (raw - m) / s, the coordinate is the sum over d of a_d (x_d s_d + m_d -
// mean_d) / deviation_d. This gives weights and an offset for x. Clipped observations stay clipped.
void StateGrid::look_through(const ObsNormalizer* normalizer) {
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    offsets_[k] = 0.0;
    for (std::size_t d = 0; d < size_; ++d) {
      const double slope = axes_[k * size_ + d] / deviation_[d];
      double scale = 1.0, middle = 0.0;
      if (normalizer != nullptr && !normalizer->leaves(d)) {
        scale = normalizer->divisor(d);
        middle = normalizer->statistics().mean()[d];
      }
      weights_[k * size_ + d] = slope * scale;
      offsets_[k] += slope * (middle - mean_[d]);
    }
  }
}

double StateGrid::coordinate(std::size_t axis, const float* observation) const {
  const double* weights = &weights_[axis * size_];
  double u = offsets_[axis];
  for (std::size_t d = 0; d < size_; ++d) u += weights[d] * observation[d];
  return u;
}

// Normalisation keeps the hot number of a one-hot row the largest: it becomes (1 - p) / s > 0, and
// all others -p / s.
std::int32_t StateGrid::cell(const float* observation) const {
  if (kind_ == SpaceKind::kDiscrete) {
    return static_cast<std::int32_t>(std::max_element(observation, observation + size_) -
                                     observation);
  }
  std::int32_t cell = 0;
  for (std::size_t k = 0; k < offsets_.size(); ++k) {
    const double u = coordinate(k, observation);
    const double place = 0.5 * (1.0 + u / (1.0 + std::abs(u))) * kSide;
    cell = cell * kSide + std::clamp(static_cast<std::int32_t>(place), 0, kSide - 1);
  }
  return cell;
}

}  // namespace broadloom
