// Many streams at once against the same streams one by one, on every instruction set.
#include "broadloom/math/random_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/math/isa.h"

namespace broadloom {
namespace {

constexpr std::size_t kStride = 64;

class RandomRowsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_TRUE(set_isa(GetParam()).ok()); }
  void TearDown() override { ASSERT_TRUE(set_isa("auto").ok()); }
};

TEST_P(RandomRowsTest, WordsAreThoseOfEachStream) {
  for (const std::uint64_t seed : {0ull, 7ull, ~0ull}) {
    for (const std::uint64_t index : {0ull, 5ull, (1ull << 56) - 1}) {
      for (const std::uint32_t first : {0u, 3u, 0xfffffff0u}) {
        for (const int rows : {1, 4, 17, 64}) {
          const RandomRows streams{seed, Purpose::kAction, first, index, rows};
          std::vector<std::uint32_t> words(4 * kStride);
          for (std::uint32_t block = 0; block < 3; ++block) {
            random_words(streams, block, words.data(), kStride);
            for (int r = 0; r < rows; ++r) {
              Random one(seed, Purpose::kAction, first + static_cast<std::uint32_t>(r), index);
              for (std::uint32_t skip = 0; skip < 4 * block; ++skip) one.bits32();
              for (int w = 0; w < 4; ++w) ASSERT_EQ(words[w * kStride + r], one.bits32());
            }
          }
        }
      }
    }
  }
}

TEST_P(RandomRowsTest, WordsOfOneStreamAreItsDrawsInOrder) {
  for (const std::uint32_t first_block : {0u, 16u, 1000u}) {
    for (const int blocks : {16, 64}) {
      std::vector<std::uint32_t> words(4 * static_cast<std::size_t>(blocks));
      random_words({~7ull, Purpose::kShuffle, 3, (1ull << 40) + 9}, first_block, blocks,
                   words.data());
      Random one(~7ull, Purpose::kShuffle, 3, (1ull << 40) + 9);
      for (std::uint32_t skip = 0; skip < 4 * first_block; ++skip) one.bits32();
      for (const std::uint32_t word : words) ASSERT_EQ(word, one.bits32());
    }
  }
}

TEST_P(RandomRowsTest, UniformsAndNormalsFollowTheirFormulas) {
  const RandomRows streams{11, Purpose::kAction, 40, 9, 37};
  constexpr int kCount = 7;
  std::vector<float> uniforms(kCount * kStride), normals(kCount * kStride);
  random_uniforms(streams, kCount, uniforms.data(), kStride);
  random_normals(streams, kCount, normals.data(), kStride);
  for (int r = 0; r < streams.rows; ++r) {
    Random one(11, Purpose::kAction, 40u + static_cast<std::uint32_t>(r), 9);
    std::vector<std::uint32_t> words(8);
    for (std::uint32_t& word : words) word = one.bits32();
    for (int i = 0; i < kCount; ++i) {
      EXPECT_EQ(uniforms[i * kStride + r], static_cast<float>(words[i] >> 8) * 0x1.0p-24f);
      const double u = ((words[i / 2 * 2] >> 1) + 0.5) * 0x1.0p-31;
      const double angle = 6.283185307179586 * (words[i / 2 * 2 + 1] >> 8) * 0x1.0p-24;
      const double expected =
          std::sqrt(-2.0 * std::log(u)) * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
      EXPECT_NEAR(normals[i * kStride + r], expected, 2e-5);
    }
  }
}

// Five standard errors of each moment; the seed is fixed.
TEST_P(RandomRowsTest, NormalsHaveTheirMoments) {
  std::vector<float> normals(2 * kStride);
  double mean = 0.0, square = 0.0, fourth = 0.0, product = 0.0;
  constexpr int kSteps = 2000;
  const double count = 2.0 * kSteps * kStride;
  for (int step = 0; step < kSteps; ++step) {
    random_normals({3, Purpose::kUser, 0, static_cast<std::uint64_t>(step), kStride}, 2,
                   normals.data(), kStride);
    for (std::size_t r = 0; r < kStride; ++r) {
      product += normals[r] * normals[kStride + r] / (count / 2);
    }
    for (const float z : normals) {
      ASSERT_LT(std::abs(z), 6.7f);
      mean += z / count;
      square += static_cast<double>(z) * z / count;
      fourth += std::pow(z, 4) / count;
    }
  }
  EXPECT_NEAR(mean, 0.0, 5.0 / std::sqrt(count));
  EXPECT_NEAR(square, 1.0, 5.0 * std::sqrt(2.0 / count));
  EXPECT_NEAR(fourth, 3.0, 5.0 * std::sqrt(96.0 / count));
  EXPECT_NEAR(product, 0.0, 5.0 / std::sqrt(count / 2));
}

INSTANTIATE_TEST_SUITE_P(Isa, RandomRowsTest, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace broadloom
