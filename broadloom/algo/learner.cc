#include "broadloom/algo/learner.h"

namespace broadloom {

Learner::Learner(std::size_t parameter_count, std::size_t bf16_size)
    : params(parameter_count),
      adam_m(parameter_count),
      adam_v(parameter_count),
      bf16_weights(bf16_size) {}

void Learner::take_step(const AdamStep& adam, const float* gradient, const ActorCritic& network,
                        std::span<const ParameterRange> chunks, ThreadPool& pool) {
  pool.run(static_cast<int>(chunks.size()), [&](int i) {
    const ParameterRange& chunk = chunks[static_cast<std::size_t>(i)];
    const std::size_t begin = chunk.begin;
    adam_update(&params[begin], &adam_m[begin], &adam_v[begin], gradient + begin, chunk.size(),
                adam);
  });
  refresh_bf16(network, pool);
}

void Learner::refresh_bf16(const ActorCritic& network, ThreadPool& pool) {
  if (network.bf16_size() == 0) return;
  pool.run(kBf16Parts, [&](int part) {
    network.refresh_bf16(params.data(), bf16_weights.data(), part, kBf16Parts);
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

}  // namespace broadloom
