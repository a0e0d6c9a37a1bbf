#include "broadloom/learn/averages.h"

namespace broadloom {

void ParameterAverage::begin(const float* params, std::size_t count) {
  if (weight > 0.0) return;
  allocate(count);
  std::copy_n(params, count, mean.data());
  weight = 1.0;
}

void ParameterAverage::add(const float* params, double decay) {
  const double before = decay * weight;
  weight = before + 1.0;
  const float keep = static_cast<float>(before / weight), take = static_cast<float>(1.0 / weight);
  float* const means = mean.data();
  const std::size_t count = mean.size();
  for (std::size_t i = 0; i < count; ++i) means[i] = keep * means[i] + take * params[i];
}

void ParameterAverage::append_state(const std::string& name, std::vector<TensorRef>& out) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(mean.size())};
  out.push_back({name + ".params", Dtype::kF32, shape, mean.data(), {kFiniteRange}});
  out.push_back({name + ".weight", Dtype::kF64, {1}, &weight, {{0.0, kFiniteRange.high}}});
}

void RunningMoments::add(double mean, double squares, std::int64_t count, double decay) {
  const double samples = static_cast<double>(count);
  const double added[3] = {samples, mean * samples, squares + samples * mean * mean};
  for (int i = 0; i < 3; ++i) sums[i] = decay * sums[i] + added[i];
}

void RunningMoments::append_state(const std::string& name, std::vector<TensorRef>& out) {
  out.push_back({name, Dtype::kF64, {3}, sums, {kFiniteRange}});
}

}  // namespace broadloom
