// Compares a block that stores each frame once with whole stacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/rollout/block.h"

namespace broadloom {
namespace {

struct Stacked {
  int T, N, k, channels;
  int pixels;
  FramePadding padding;
  float full_scale;
};

std::string name_of_case(const ::testing::TestParamInfo<Stacked>& info) {
  const Stacked& c = info.param;
  return "T" + std::to_string(c.T) + "_N" + std::to_string(c.N) + "_k" + std::to_string(c.k) +
         "_C" + std::to_string(c.channels) + "_" + std::to_string(c.pixels) + "_" +
         (c.padding == FramePadding::kZero ? "zero" : "first") + "_to" +
         std::to_string(static_cast<int>(c.full_scale));
}

// Recorded environments: [T, N, D] bytes and the end flags of each step.
class Shown {
 public:
  explicit Shown(const Stacked& c)
      : case_(c),
        layout_{c.k, c.channels, c.padding},
        width_(static_cast<std::size_t>(c.pixels * c.channels * c.k)),
        stacks(static_cast<std::size_t>(c.T * c.N) * width_),
        terminated(static_cast<std::size_t>(c.T * c.N)),
        truncated(terminated.size()) {
    std::vector<std::vector<std::uint8_t>> now(static_cast<std::size_t>(c.N));
    for (int n = 0; n < c.N; ++n) {
      now[n].resize(width_);
      if (n % 3 == 0) {  // in the middle of an episode
        for (int i = 0; i < c.k; ++i) push_frame(layout_, width_, frame().data(), now[n].data());
      } else {
        begin_stack(layout_, width_, frame().data(), now[n].data());
      }
    }
    for (std::size_t i = 0; i < terminated.size(); ++i) {
      std::vector<std::uint8_t>& stack = now[i % now.size()];
      std::copy(stack.begin(), stack.end(), &stacks[i * width_]);
      const std::uint32_t end = random_.below(5);
      terminated[i] = end == 0;
      truncated[i] = end == 1;
      if (end < 2) {
        begin_stack(layout_, width_, frame().data(), stack.data());
      } else {
        push_frame(layout_, width_, frame().data(), stack.data());
      }
    }
  }

  std::size_t width() const { return width_; }
  ObservationType type() const {
    return {static_cast<int>(width_), Dtype::kU8, case_.full_scale, layout_};
  }
  BlockSizes sizes() const {
    return {.T = case_.T,
            .N = case_.N,
            .D = static_cast<int>(width_),
            .A = 1,
            .dtype = Dtype::kU8,
            .full_scale = case_.full_scale,
            .frames = layout_};
  }

 private:
  std::vector<std::uint8_t> frame() {
    std::vector<std::uint8_t> out(width_ / static_cast<std::size_t>(case_.k));
    for (std::uint8_t& x : out) x = static_cast<std::uint8_t>(random_.below(256));
    return out;
  }

  Stacked case_;
  FrameLayout layout_;
  std::size_t width_;
  Random random_{17, Purpose::kUser, 0, 0};

 public:
  std::vector<std::uint8_t> stacks;
  std::vector<std::uint8_t> terminated, truncated;
};

// Fills the block like the collector: all steps of one group of environments, then of the next.
void fill(const Shown& shown, int group, RolloutBlock& block) {
  Observations scratch(shown.type(), static_cast<std::size_t>(group));
  for (int begin = 0; begin < block.N; begin += group) {
    const std::size_t count = static_cast<std::size_t>(std::min(group, block.N - begin));
    for (int t = 0; t < block.T; ++t) {
      const std::size_t row = block.index(t, begin);
      std::copy_n(&shown.stacks[row * shown.width()], count * shown.width(),
                  scratch.rows().bytes());
      block.observations.write(row, scratch, 0, count, block.ends_before(t, begin));
      std::copy_n(&shown.terminated[row], count, &block.terminated[row]);
      std::copy_n(&shown.truncated[row], count, &block.truncated[row]);
    }
  }
}

class Frames : public ::testing::TestWithParam<Stacked> {};

TEST_P(Frames, AreReadAsTheStacksThatWereSeen) {
  const Shown shown(GetParam());
  const std::size_t width = shown.width();
  std::vector<float> expected;
  for (const std::uint8_t x : shown.stacks) {
    expected.push_back(static_cast<float>(x) / GetParam().full_scale);
  }
  RolloutBlock block(shown.sizes());
  for (const int group : {GetParam().N, 2, 1}) {
    fill(shown, group, block);
    std::vector<float> out(expected.size(), -1.0f), scratch(expected.size());
    block.observations.read(0, block.size(), out.data());
    ASSERT_TRUE(out == expected);
    for (std::size_t row = 0; row < block.size(); ++row) {
      std::fill(out.begin(), out.end(), -1.0f);
      const std::size_t count = std::min<std::size_t>(1 + row % 3, block.size() - row);
      const float* seen = block.observations.view(row, count, scratch.data());
      ASSERT_TRUE(std::equal(seen, seen + count * width, &expected[row * width])) << row;
      block.observations.read(row, count, out.data());
      ASSERT_TRUE(std::equal(seen, seen + count * width, out.data())) << row;
    }
  }
}

TEST_P(Frames, AreCopiedOutAsStacks) {
  const Shown shown(GetParam());
  RolloutBlock block(shown.sizes());
  fill(shown, block.N, block);
  Observations whole(shown.type(), block.size() + 1);
  whole.write(1, block.observations, 0, block.size());
  EXPECT_TRUE(std::equal(shown.stacks.begin(), shown.stacks.end(), whole.rows(1).bytes()));
}

TEST_P(Frames, TakeTheMemoryOfFrames) {
  const Shown shown(GetParam());
  const Stacked c = GetParam();
  const std::size_t frame = static_cast<std::size_t>(c.pixels * c.channels);
  const std::size_t rows = static_cast<std::size_t>(c.T * c.N);
  const std::size_t frames = static_cast<std::size_t>((c.T + c.k - 1) * c.N);
  EXPECT_EQ(Observations::block_bytes(shown.type(), c.T, c.N),
            c.T > 1 ? frames * frame + rows : shown.stacks.size());
}

constexpr FramePadding kFirst = FramePadding::kFirst, kZero = FramePadding::kZero;

INSTANTIATE_TEST_SUITE_P(
    Shapes, Frames,
    ::testing::Values(Stacked{13, 5, 4, 1, 35, kFirst, 255}, Stacked{13, 5, 4, 1, 35, kZero, 255},
                      Stacked{26, 3, 2, 1, 12, kFirst, 1}, Stacked{26, 3, 3, 2, 12, kZero, 15},
                      Stacked{2, 7, 4, 1, 20, kFirst, 255}, Stacked{3, 4, 6, 3, 9, kZero, 255},
                      Stacked{1, 6, 4, 1, 20, kFirst, 255}, Stacked{9, 1, 5, 1, 7, kFirst, 255},
                      Stacked{40, 2, 64, 1, 5, kFirst, 255}, Stacked{6, 2, 4, 1, 7056, kFirst, 255},
                      Stacked{6, 2, 4, 1, 7056, kZero, 255},
                      Stacked{5, 2, 3, 1365, 3, kFirst, 255}),
    name_of_case);

// Reshapes a block in the same memory, as a shape schedule does.
TEST(Frames, AreThoseOfTheBlocksShapeOfNow) {
  const Stacked small{3, 9, 4, 1, 20, kFirst, 255}, large{17, 4, 4, 1, 20, kFirst, 255};
  RolloutBlock block(Shown(large).sizes());
  block.reserve(Shown(small).sizes());
  for (const Stacked& c : {small, large, small}) {
    const Shown shown(c);
    block.reshape(shown.sizes());
    fill(shown, 2, block);
    std::vector<float> out(shown.stacks.size());
    block.observations.read(0, block.size(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], shown.stacks[i] / 255.0f);
  }
}

TEST(Frames, NeedAQuarterOfTheMemoryOfStacks) {
  const Shown shown({2, 1, 4, 1, 84 * 84, kFirst, 255});
  BlockSizes sizes = shown.sizes();
  sizes.T = sizes.N = 128;
  EXPECT_LT(RolloutBlock::bytes(sizes), 130e6);
  sizes.frames = {};
  EXPECT_GT(RolloutBlock::bytes(sizes), 460e6);
}

}  // namespace
}  // namespace broadloom
