#include "broadloom/learn/learner.h"

#include <limits>

namespace broadloom {

Learner::Learner(std::size_t parameter_count)
    : params(parameter_count),
      adam_m(parameter_count),
      adam_v(parameter_count),
      network_size(parameter_count) {}

std::size_t Learner::bytes(const ActorCritic& network) {
  return 3 * network.parameter_count() * sizeof(float);
}

void Learner::add_companion(std::size_t parameter_count) {
  for (AlignedVector<float>* array : {&params, &adam_m, &adam_v}) {
    array->resize(network_size + parameter_count);
  }
}

void Learner::take_step(const AdamStep& adam, const float* gradient,
                        std::span<const ParameterRange> chunks, ThreadPool& pool) {
  step_range(0, adam, gradient, chunks, pool);
}

void Learner::take_companion_step(const AdamStep& adam, const float* gradient,
                                  std::span<const ParameterRange> chunks, ThreadPool& pool) {
  step_range(network_size, adam, gradient, chunks, pool);
}

void Learner::step_range(std::size_t first, const AdamStep& adam, const float* gradient,
                         std::span<const ParameterRange> chunks, ThreadPool& pool) {
  pool.run(static_cast<int>(chunks.size()), [&](int i) {
    const ParameterRange& chunk = chunks[static_cast<std::size_t>(i)];
    const std::size_t begin = first + chunk.begin;
    adam_update(&params[begin], &adam_m[begin], &adam_v[begin], gradient + chunk.begin,
                chunk.size(), adam);
  });
}

void Learner::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  // A finite gradient may have an infinite square; then the parameter does not change.
  constexpr ValueRange kSquares{0.0, std::numeric_limits<double>::infinity()};
  const auto append = [&](const std::string& name, std::size_t begin, std::size_t end) {
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(end - begin)};
    out.push_back({name + ".params", Dtype::kF32, shape, params.data() + begin, {kFiniteRange}});
    out.push_back({name + ".adam_m", Dtype::kF32, shape, adam_m.data() + begin, {kFiniteRange}});
    out.push_back({name + ".adam_v", Dtype::kF32, shape, adam_v.data() + begin, {kSquares}});
  };
  append(prefix, 0, network_size);
  if (params.size() > network_size) append(prefix + ".companion", network_size, params.size());
  if (!proximal.mean.empty()) proximal.append_state(prefix + ".proximal", out);
  if (has_advantages) advantages.append_state(prefix + ".advantages", out);
  out.push_back({prefix + ".adam_steps", Dtype::kI64, {1}, &adam_steps, {kCountRange}});
  out.push_back(
      {prefix + ".learning_rate", Dtype::kF64, {1}, &learning_rate, {{0.0, kFiniteRange.high}}});
}

}  // namespace broadloom
