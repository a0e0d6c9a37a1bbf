// Times gathering a tile of 84 x 84 x 4 observations, from frames stored once and from whole
// stacks. Rows are spread over the block, as in minibatches.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/random.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/rollout/block.h"

namespace broadloom {
namespace {

constexpr int kSteps = 64, kEnvs = 32;  // the block of stacks is 58 MB: in no cache
constexpr float kScale = 255.0f;

struct Image {
  int pixels, frames, channels;
};

RolloutBlock random_block(const Image& image, bool once) {
  const int size = image.pixels * image.frames * image.channels;
  BlockSizes sizes{.T = kSteps,
                   .N = kEnvs,
                   .D = size,
                   .A = 1,
                   .dtype = Dtype::kU8,
                   .full_scale = image.channels == 1 ? kScale : 1.0f};
  if (once) sizes.frames = {image.frames, image.channels, FramePadding::kFirst};
  RolloutBlock block(sizes);
  Observations row(sizes.observation(), kEnvs);
  Random random(1, Purpose::kUser, 0, 0);
  std::uint8_t* bytes = row.rows().bytes();
  for (int t = 0; t < kSteps; ++t) {
    const std::size_t count = static_cast<std::size_t>(kEnvs) * static_cast<std::size_t>(size);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + t);
    block.observations.write(block.index(t, 0), row, 0, kEnvs, block.ends_before(t, 0));
    for (int n = 0; n < kEnvs; ++n) block.terminated[block.index(t, n)] = random.below(50) == 0;
  }
  return block;
}

void gather(benchmark::State& state, const Image& image, bool once) {
  const RolloutBlock block = random_block(image, once);
  const std::size_t width = static_cast<std::size_t>(block.D);
  AlignedVector<float> tile(static_cast<std::size_t>(kTileRows) * width);
  std::size_t row = 0;
  for (auto _ : state) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(kTileRows); ++r) {
      row = (row + 787) % block.size();
      block.observations.read(row, 1, &tile[r * width]);
    }
    benchmark::ClobberMemory();
  }
  using benchmark::Counter;
  state.counters["us/row"] =
      Counter(kTileRows * 1e-6, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// The collector's work on the rows of a step.
void keep(benchmark::State& state, const Image& image, bool once) {
  RolloutBlock block = random_block(image, once);
  const Observations rows(block.observation(), kEnvs);
  int t = 0;
  for (auto _ : state) {
    t = t % (kSteps - 1) + 1;
    block.observations.write(block.index(t, 0), rows, 0, kEnvs, block.ends_before(t, 0));
    benchmark::ClobberMemory();
  }
  using benchmark::Counter;
  state.counters["us/row"] =
      Counter(kEnvs * 1e-6, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// An environment's cost of frames: its stack moves on.
void push(benchmark::State& state, const Image& image) {
  const FrameLayout layout{image.frames, image.channels, FramePadding::kFirst};
  const std::size_t frame = static_cast<std::size_t>(image.pixels * image.channels);
  std::vector<std::uint8_t> frames(frame), stack(frame * static_cast<std::size_t>(image.frames));
  for (auto _ : state) {
    push_frame(layout, stack.size(), frames.data(), stack.data());
    benchmark::ClobberMemory();
  }
}

const int kFramesRegistered = [] {
  const struct {
    const char* name;
    Image image;
  } kinds[] = {{"84x84x4", {84 * 84, 4, 1}},
               {"10x10x12 of 3", {100, 3, 4}},
               {"64x64x9 of 3", {64 * 64, 3, 3}}};
  for (const auto& kind : kinds) {
    for (const bool once : {false, true}) {
      const std::string name = std::string(kind.name) + (once ? "/frames" : "/stacks");
      benchmark::RegisterBenchmark(("gather/" + name).c_str(), [image = kind.image,
                                                                once](benchmark::State& state) {
        gather(state, image, once);
      })->Unit(benchmark::kMicrosecond);
      benchmark::RegisterBenchmark(("keep/" + name).c_str(), [image = kind.image,
                                                              once](benchmark::State& state) {
        keep(state, image, once);
      })->Unit(benchmark::kMicrosecond);
    }
    benchmark::RegisterBenchmark(
        (std::string("push/") + kind.name).c_str(),
        [image = kind.image](benchmark::State& state) { push(state, image); })
        ->Unit(benchmark::kMicrosecond);
  }
  return 0;
}();

}  // namespace
}  // namespace broadloom
