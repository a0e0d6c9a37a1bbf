// Compares MinAtar's games with recorded results of MinAtar 1.0.15 from PyPI: 20,000 steps of
// random actions, with draws from one stream in upstream's order. (tests/oracle runs the package
// itself.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/tasks/minatar_play.h"
#include "tests/tasks/sha256.h"

namespace broadloom {
namespace {

struct Trajectory {
  std::string pictures;  // first 16 digits of their SHA-256, eight cells per byte
  int score, episodes;
  bool operator==(const Trajectory&) const = default;
};

void PrintTo(const Trajectory& t, std::ostream* out) {
  *out << t.pictures << " " << t.score << " " << t.episodes;
}

// Packs eight cells per byte, the first in the highest bit.
template <class Game>
std::vector<std::uint8_t> packed_picture(const typename Game::State& state) {
  constexpr std::size_t kSize = minatar::Picture<Game::kPlanes>::kSize;
  std::array<std::uint8_t, kSize> picture;
  picture.fill(77);  // observe() must write every cell
  Game::observe({}, state, picture.data());
  std::vector<std::uint8_t> bytes((kSize + 7) / 8, 0);
  EXPECT_LE(*std::max_element(picture.begin(), picture.end()), 1);
  for (std::size_t i = 0; i < kSize; ++i) {
    bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | picture[i] << (7 - i % 8));
  }
  return bytes;
}

template <class Game>
Trajectory play() {
  const typename Game::Params params{};
  ScriptedDraws draws(12345), actions(99);
  typename Game::State state{};
  Game::reset(params, state, draws);
  Trajectory out{"", 0, 0};
  Sha256 sum;
  for (int t = 0; t < 20000; ++t) {
    const float action = static_cast<float>(actions.below(6));
    const StepResult result = Game::step(params, state, &action, draws);
    out.score += static_cast<int>(result.reward);
    sum.add(packed_picture<Game>(state));
    if (!result.terminated) continue;
    ++out.episodes;
    Game::reset(params, state, draws);
  }
  out.pictures = sum.finish().substr(0, 16);
  return out;
}

TEST(Sha256, MatchesKnownTexts) {
  Sha256 abc, nothing;
  const std::array<std::uint8_t, 3> bytes{'a', 'b', 'c'};
  abc.add(bytes);
  EXPECT_EQ(abc.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(nothing.finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(MinAtarGolden, Breakout) {
  EXPECT_EQ(play<Breakout>(), (Trajectory{"4f973c093aa145be", 902, 1796}));
}
TEST(MinAtarGolden, Asterix) {
  EXPECT_EQ(play<Asterix>(), (Trajectory{"8128d0c799b836b7", 136, 300}));
}
TEST(MinAtarGolden, Freeway) { EXPECT_EQ(play<Freeway>(), (Trajectory{"07c612c982a23626", 0, 7})); }
TEST(MinAtarGolden, Seaquest) {
  EXPECT_EQ(play<Seaquest>(), (Trajectory{"5720b8484cbed930", 71, 651}));
}
TEST(MinAtarGolden, SpaceInvaders) {
  EXPECT_EQ(play<SpaceInvaders>(), (Trajectory{"9e75056c6f4d4895", 1144, 393}));
}

}  // namespace
}  // namespace broadloom
