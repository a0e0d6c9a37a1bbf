// Rows of dictionaries in a block, whose bytes are stored as bytes: compared with plain rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/register_environment.h"
#include "broadloom/rollout/observations.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

Space mixed() {
  return Space::grouped({{"a", Space::box({0.0f, 0.0f}, {1.0f, 1.0f})},
                         {"image", Space::bytes({3, 2, 1})},
                         {"choice", Space::discrete(3)},
                         {"b", Space::box({0.0f}, {1.0f})},
                         {"last", Space::bits({5})}});
}

// [rows, 17] of the space.
std::vector<float> random_rows(std::uint32_t rows) {
  std::vector<float> out;
  for (std::uint32_t r = 0; r < rows; ++r) {
    Random random(3, Purpose::kUser, r, 0);
    for (int d = 0; d < 17; ++d) {
      const bool is_float = d < 2 || d == 11;
      const auto byte = static_cast<float>(random.below(d < 8 ? 256 : 2));
      out.push_back(is_float ? static_cast<float>(random.normal()) : byte);
    }
  }
  return out;
}

TEST(PackedRows, ReadAsTheyWereWritten) {
  const ObservationType type = observation_type(mixed());
  ASSERT_EQ(type.byte_runs.count, 2u);
  EXPECT_EQ(type.byte_runs.numbers(), 14u);
  constexpr int kT = 4, kN = 3;
  // Three floats, 14 bytes and two zeros.
  EXPECT_EQ(Observations::block_bytes(type, kT, kN), 12u * 28u);
  Observations block(type, 0), plain(type, 12);
  block.resize_block(kT, kN);
  EXPECT_TRUE(block.is_packed());
  const std::vector<float> rows = random_rows(12);
  std::copy(rows.begin(), rows.end(), plain.floats().begin());
  block.write(0, plain, 0, 5);
  block.write(5, plain, 5, 7);
  std::vector<float> seen(rows.size()), scratch(2 * 17);
  block.read(0, 12, seen.data());
  EXPECT_EQ(seen, rows);
  const float* two = block.view(7, 2, scratch.data());
  EXPECT_TRUE(std::equal(two, two + 34, &rows[7 * 17]));
  Observations again(type, 0), whole(type, 12);
  again.resize_block(kT, kN);
  again.write(0, block, 0, 12);
  EXPECT_EQ(again, block);
  whole.write(0, block, 0, 12);
  EXPECT_EQ(whole, plain);
  for (std::size_t r = 0; r < 12; ++r) EXPECT_EQ(block.row_bytes(r).size(), 28u);
  std::vector<float> floats;
  block.visit_floats(4, [&](std::size_t first, std::size_t count, const float* numbers) {
    EXPECT_TRUE(first == 0 || first == 11);
    floats.insert(floats.end(), numbers, numbers + count);
  });
  EXPECT_EQ(floats, (std::vector<float>{rows[68], rows[69], rows[79]}));
}

TEST(PackedRows, AreForFewRunsOfBytes) {
  std::vector<std::pair<std::string, Space>> parts;
  for (int i = 0; i < 9; ++i) {
    parts.emplace_back("x" + std::to_string(i), Space::box({0.0f}, {1.0f}));
    parts.emplace_back("c" + std::to_string(i), Space::discrete(2));
  }
  EXPECT_TRUE(byte_runs(Space::grouped(parts)).empty());
  parts.resize(16);
  EXPECT_EQ(byte_runs(Space::grouped(parts)).count, 8u);
}

// At step 3 it shows half a pixel, or a number that is none.
template <bool kIsNan>
struct Faulty {
  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::int32_t t;
  };
  static constexpr auto members = std::tuple{&State::t};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = kIsNan ? "Nans-v0" : "Halves-v0";
    spec.observation =
        Space::grouped({{"image", Space::bytes({2, 2, 1})}, {"state", Space::box({0.0f}, {1.0f})}});
    spec.action = Space::discrete(2);
    spec.max_episode_steps = 50;
    return spec;
  }
  static void reset(const Params&, State& s, Random&) { s.t = 0; }
  static StepResult step(const Params&, State& s, const float*, Random&) {
    ++s.t;
    return {0.0, 0};
  }
  static void observe(const Params&, const State& s, float* out) {
    std::fill_n(out, 5, 1.0f);
    if (s.t != 3) return;
    out[kIsNan ? 4 : 2] = kIsNan ? std::numeric_limits<float>::quiet_NaN() : 0.5f;
  }
};

std::string fault_of(const std::string& id) {
  const Result<Config> config =
      resolve_config({{"env_id", id}, {"num_envs", "4"}, {"num_steps", "8"}});
  EXPECT_TRUE(config.ok()) << config.status().message();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 1);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  return trainer.value()->iterate().message();
}

TEST(PackedRows, RefuseWhatAreNoBytes) {
  ASSERT_TRUE(register_environment<Faulty<false>>("Halves-v0").ok());
  ASSERT_TRUE(register_environment<Faulty<true>>("Nans-v0").ok());
  EXPECT_EQ(fault_of("Halves-v0"),
            "Halves-v0: observation 'image' of environment 0 is 0.5 at its step 3; expected whole "
            "numbers from 0 to 255, as its group has bytes. Correct observe(), or declare the "
            "group as float32.");
  EXPECT_NE(fault_of("Nans-v0").find("observation 'state' of environment 0 is not finite"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom
