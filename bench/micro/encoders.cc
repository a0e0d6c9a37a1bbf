// Whole bodies of networks, forward and backward, beside the peak that one core has; one tile of
// images at a time, as training takes them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/nn/flops.h"

namespace broadloom {
namespace {

NetworkShape shape_of(Encoder encoder, Normalisation normalisation, RowShape image) {
  NetworkShape shape;
  shape.encoder = encoder;
  shape.normalisation = normalisation;
  shape.image = image;
  shape.observation_size = image.size();
  shape.hidden_sizes = published_hidden_sizes(encoder);
  shape.activation = Activation::kRelu;
  shape.shared_encoder = true;
  shape.action_outputs = 6;
  return shape;
}

class Network {
 public:
  explicit Network(const NetworkShape& shape)
      : network_(shape),
        params_(network_.parameter_count()),
        transposed_(params_.size()),
        grads_(params_.size()),
        work_(network_.make_workspace<float>()) {
    network_.initialise(1, params_.data());
    network_.refresh_transposed(params_.data(), transposed_.data());
    Random random(1, Purpose::kUser, 0, 0);
    for (float& x : work_.observations) x = static_cast<float>(random.uniform());
  }
  void forward() { network_.forward(params_.data(), work_.observations.data(), kTileRows, work_); }
  void backward() {
    std::fill(work_.policy_delta.begin(), work_.policy_delta.end(), 0.01f);
    std::fill(work_.values_delta.begin(), work_.values_delta.end(), 0.01f);
    network_.backward(params_.data(), transposed_.data(), work_.observations.data(), kTileRows,
                      work_, grads_.data());
  }
  NetworkFlops flops() const { return count_flops(network_); }

 private:
  ActorCritic network_;
  AlignedVector<float> params_, transposed_, grads_;
  TileWorkspace<float> work_;
};

void report(benchmark::State& state, double flops_of_row) {
  using benchmark::Counter;
  state.counters["GFLOP/s"] =
      Counter(flops_of_row * kTileRows * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["us/image"] =
      Counter(kTileRows * 1e-6, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void run(benchmark::State& state, const NetworkShape& shape, bool with_backward) {
  Network network(shape);
  for (auto _ : state) {
    network.forward();
    if (with_backward) network.backward();
    benchmark::ClobberMemory();
  }
  const NetworkFlops flops = network.flops();
  report(state, flops.forward + (with_backward ? flops.weight_grads + flops.input_grads : 0.0));
}

const int kEncodersRegistered = [] {
  const struct {
    const char* name;
    Encoder encoder;
    Normalisation normalisation;
    RowShape image;
  } bodies[] = {
      {"nature", Encoder::kNature, Normalisation::kNone, {84, 84, 4}},
      {"impala", Encoder::kImpala, Normalisation::kNone, {84, 84, 4}},
      {"minatar_c4", Encoder::kMinatar, Normalisation::kNone, {10, 10, 4}},
      {"minatar_c10", Encoder::kMinatar, Normalisation::kNone, {10, 10, 10}},
      {"minatar_c4_norm", Encoder::kMinatar, Normalisation::kChannels, {10, 10, 4}},
  };
  for (const auto& body : bodies) {
    const NetworkShape shape = shape_of(body.encoder, body.normalisation, body.image);
    for (const bool backward : {false, true}) {
      const std::string name =
          std::string(backward ? "BM_ForwardBackward/" : "BM_ForwardBody/") + body.name;
      benchmark::RegisterBenchmark(name.c_str(), [shape, backward](benchmark::State& state) {
        run(state, shape, backward);
      });
    }
  }
  return 0;
}();

}  // namespace
}  // namespace broadloom
