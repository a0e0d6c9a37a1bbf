// State of every number type is saved and restored exactly.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/env/batched_env.h"
#include "broadloom/record/safetensors.h"

namespace broadloom {
namespace {

constexpr int kEnvs = 5;

// One counter per type, large enough to need all bytes. Each observation says whether a counter has
// the value expected after the same number of steps.
struct Counters {
  struct Params {};
  using Options = Params;
  struct State {
    bool odd;
    char letter;
    signed char i8;
    unsigned char u8;
    short i16;
    unsigned short u16;
    int i32;
    unsigned int u32;
    long i64;
    unsigned long u64;
    long long ill;
    unsigned long long ull;
    wchar_t wide;
    char16_t c16;
    char32_t c32;
    float f32;
    double f64;
  };
  static constexpr auto members =
      std::tuple{&State::odd,  &State::letter, &State::i8,  &State::u8,  &State::i16, &State::u16,
                 &State::i32,  &State::u32,    &State::i64, &State::u64, &State::ill, &State::ull,
                 &State::wide, &State::c16,    &State::c32, &State::f32, &State::f64};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Counters";
    spec.observation = Space::box(std::vector<float>(17, 0.0F), std::vector<float>(17, 1.0F));
    spec.action = Space::discrete(2);
    return spec;
  }
  static State after(int steps) {
    const auto count_from = [&](auto least) { return static_cast<decltype(least)>(least + steps); };
    return {steps % 2 != 0,
            static_cast<char>('a' + steps),
            count_from(std::numeric_limits<signed char>::min()),
            count_from(static_cast<unsigned char>(200)),
            count_from(std::numeric_limits<short>::min()),
            count_from(static_cast<unsigned short>(60000)),
            count_from(std::numeric_limits<int>::min()),
            count_from(4000000000U),
            count_from(std::numeric_limits<long>::min()),
            count_from(0xfedcba9876543210UL),
            count_from(std::numeric_limits<long long>::min()),
            count_from(0xf0e1d2c3b4a59687ULL),
            count_from(static_cast<wchar_t>(0x10000)),
            count_from(static_cast<char16_t>(0xf000)),
            count_from(static_cast<char32_t>(0xf0000000)),
            16777216.0F - static_cast<float>(steps),
            9007199254740992.0 - steps};
  }
  static void reset(const Params&, State& state, Random&) { state = after(0); }
  static StepResult step(const Params&, State& state, const float*, Random&) {
    state = {!state.odd,
             static_cast<char>(state.letter + 1),
             static_cast<signed char>(state.i8 + 1),
             static_cast<unsigned char>(state.u8 + 1),
             static_cast<short>(state.i16 + 1),
             static_cast<unsigned short>(state.u16 + 1),
             state.i32 + 1,
             state.u32 + 1,
             state.i64 + 1,
             state.u64 + 1,
             state.ill + 1,
             state.ull + 1,
             static_cast<wchar_t>(state.wide + 1),
             static_cast<char16_t>(state.c16 + 1),
             static_cast<char32_t>(state.c32 + 1),
             state.f32 - 1.0F,
             state.f64 - 1.0};
    return {1.0, false};
  }
  static void observe(const Params&, const State& state, float* out) {
    const State expected = after(state.u8 - 200);
    int d = 0;
    std::apply(
        [&](auto... member) {
          ((out[d++] = state.*member == expected.*member ? 1.0F : 0.0F), ...);
        },
        members);
  }
};

std::unique_ptr<VecEnv> make_counters() {
  return std::make_unique<BatchedEnv<Counters>>(Counters::Params{}, Counters::spec({}),
                                                VecEnvOptions{.num_envs = kEnvs});
}

void take_steps(VecEnv& envs, int steps) {
  std::vector<float> actions(kEnvs), observations(kEnvs * 17), rewards(kEnvs), finals(kEnvs * 17);
  std::vector<std::uint8_t> terminated(kEnvs), truncated(kEnvs);
  const StepRows rows{actions.data(),   observations.data(), rewards.data(), terminated.data(),
                      truncated.data(), finals.data(),       nullptr};
  for (int i = 0; i < steps; ++i) ASSERT_TRUE(envs.step(0, kEnvs, rows).ok());
}

TEST(StateTypes, EveryMemberIsSavedWhole) {
  const std::unique_ptr<VecEnv> saved = make_counters();
  take_steps(*saved, 7);
  std::vector<TensorRef> state;
  saved->append_state("envs", state);
  int members = 0;
  std::size_t bytes = 0;
  for (const TensorRef& tensor : state) {
    if (tensor.name.rfind("envs.state", 0) != 0) continue;
    bytes += tensor.bytes();
    ++members;
  }
  EXPECT_EQ(members, 17);
  EXPECT_EQ(bytes, kEnvs * (4 * 1 + 3 * 2 + 5 * 4 + 5 * 8));

  // Through a file, into environments that were elsewhere.
  const std::string path =
      (std::filesystem::temp_directory_path() / ("broadloom_types_" + std::to_string(::getpid())))
          .string();
  ASSERT_TRUE(write_safetensors(path, state, {}).ok());
  const Result<SafetensorsFile> read = read_safetensors(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  std::filesystem::remove(path);
  const std::unique_ptr<VecEnv> restored = make_counters();
  take_steps(*restored, 3);
  std::vector<TensorRef> places;
  restored->append_state("envs", places);
  ASSERT_TRUE(load_into(read.value(), places).ok());
  std::vector<float> observed(kEnvs * 17);
  for (const VecEnv* envs : {saved.get(), restored.get()}) {
    envs->observe(0, kEnvs, observed.data());
    EXPECT_EQ(observed, std::vector<float>(kEnvs * 17, 1.0F));
  }
}

// A State with an array, and a number that an episode leaves to the next one.
struct Shelf {
  struct Params {};
  using Options = Params;
  struct State {
    std::int32_t steps;
    std::array<std::uint16_t, 3> places;
    std::int32_t episodes;
  };
  static constexpr auto members = std::tuple{&State::steps, &State::places, &State::episodes};
  static constexpr auto kept = std::tuple{&State::episodes};
  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Shelf";
    spec.observation = Space::box(std::vector<float>(5, 0.0F), std::vector<float>(5, 9999.0F));
    spec.action = Space::discrete(2);
    spec.max_episode_steps = 4;
    return spec;
  }
  static void reset(const Params&, State& state, Random&) {
    const bool is_new = state.steps == 0 && state.places == std::array<std::uint16_t, 3>{};
    state.episodes += is_new ? 1 : 1000;
  }
  static StepResult step(const Params&, State& state, const float*, Random&) {
    state.places[static_cast<std::size_t>(++state.steps % 3)] += 300;
    return {1.0, 0};
  }
  static void observe(const Params&, const State& state, float* out) {
    out[0] = static_cast<float>(state.steps);
    for (const std::uint16_t number : state.places) *++out = static_cast<float>(number);
    *++out = static_cast<float>(state.episodes);
  }
};

std::unique_ptr<VecEnv> make_shelf() {
  return std::make_unique<BatchedEnv<Shelf>>(Shelf::Params{}, Shelf::spec({}),
                                             VecEnvOptions{.num_envs = kEnvs});
}

std::vector<float> seen(const VecEnv& envs) {
  std::vector<float> observed(kEnvs * 5);
  envs.observe(0, kEnvs, observed.data());
  return observed;
}

// A reset sees only the kept members of the previous episode.
TEST(StateTypes, KeepAndSaveArrays) {
  const std::unique_ptr<VecEnv> envs = make_shelf();
  take_steps(*envs, 10);  // 4, 4 and 2
  std::vector<float> expected;
  for (int i = 0; i < kEnvs; ++i) expected.insert(expected.end(), {2, 0, 300, 300, 3});
  EXPECT_EQ(seen(*envs), expected);

  std::vector<TensorRef> source, target;
  envs->append_state("envs", source);
  EXPECT_EQ(source.at(1).dtype, Dtype::kU16);
  EXPECT_EQ(source.at(1).shape, (std::vector<std::int64_t>{kEnvs, 3}));
  EXPECT_EQ(source.at(1).bytes(), kEnvs * 6U);
  const std::unique_ptr<VecEnv> other = make_shelf();
  other->append_state("envs", target);
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::memcpy(target[i].data, source[i].data, source[i].bytes());
  }
  take_steps(*envs, 7);
  take_steps(*other, 7);
  EXPECT_EQ(seen(*other), seen(*envs));
  EXPECT_EQ(seen(*envs).at(4), 5.0F);
}

// The compiler finds members missing from `members`.
struct Whole {
  struct State {
    double x;
    bool flag;
    std::int8_t count = 0;
  };
  static constexpr auto members = std::tuple{&State::x, &State::flag, &State::count};
};
struct Short {
  using State = Whole::State;
  static constexpr auto members = std::tuple{&State::x, &State::count};
};
static_assert(env_detail::names_every_member<Whole>());
static_assert(!env_detail::names_every_member<Short>());
static_assert(env_detail::member_count<Shelf::State>() == 3);
static_assert(env_detail::member_count<Counters::State>() ==
              std::tuple_size_v<decltype(Counters::members)>);

}  // namespace
}  // namespace broadloom
