// Steps one game of MinAtar by commands on standard input, to compare it with the package.
//   reset GAME SEED             -> state... | cells...
//   step GAME SEED ACTION state... -> reward terminated state... | cells...
//   spec ID                     -> rows columns planes actions
// SEED is that of scripted draws (tests/tasks/minatar_play.h). A state is the numbers of all
// members in their order.
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "tests/tasks/minatar_play.h"

namespace broadloom {
namespace {

// f(number) on each number of a member, which is one or an array.
template <class Member, class F>
void each_number(Member& member, F&& f) {
  if constexpr (std::is_arithmetic_v<std::remove_const_t<Member>>) {
    f(member);
  } else {
    for (auto& number : member) f(number);
  }
}

template <class Game>
typename Game::State read_state(std::istream& words) {
  typename Game::State state{};
  const auto read = [&](auto& number) {
    std::string word;
    words >> word;
    using Number = std::remove_reference_t<decltype(number)>;
    number = std::is_signed_v<Number> ? static_cast<Number>(std::stoll(word))
                                      : static_cast<Number>(std::stoull(word));
  };
  std::apply([&](auto... member) { (each_number(state.*member, read), ...); }, Game::members);
  return state;
}

template <class Game>
void print_state(const typename Game::State& state) {
  const auto print = [](const auto& number) {
    if constexpr (std::is_signed_v<std::remove_cvref_t<decltype(number)>>) {
      std::printf(" %lld", static_cast<long long>(number));
    } else {
      std::printf(" %llu", static_cast<unsigned long long>(number));
    }
  };
  std::apply([&](auto... member) { (each_number(state.*member, print), ...); }, Game::members);
  std::array<std::uint8_t, minatar::Picture<Game::kPlanes>::kSize> picture;
  Game::observe({}, state, picture.data());
  std::printf(" | ");
  for (const std::uint8_t cell : picture) std::printf("%d", cell);
  std::printf("\n");
}

template <class Game>
void reset(std::istream& words) {
  std::uint64_t seed = 0;
  words >> seed;
  ScriptedDraws draws(seed);
  typename Game::State state{};
  Game::reset({}, state, draws);
  print_state<Game>(state);
}

template <class Game>
void step(std::istream& words) {
  std::uint64_t seed = 0;
  float action = 0.0f;
  words >> seed >> action;
  typename Game::State state = read_state<Game>(words);
  ScriptedDraws draws(seed);
  const StepResult result = Game::step({}, state, &action, draws);
  std::printf("%g %d", result.reward, result.terminated);
  print_state<Game>(state);
}

int spec(const std::string& id) {
  const Result<EnvSpec> found = env_spec(id, {});
  if (!found.ok()) return std::fprintf(stderr, "%s\n", found.status().message().c_str()), 1;
  for (const int extent : found.value().observation.extents()) std::printf("%d ", extent);
  std::printf("%d\n", found.value().action.size);
  return 0;
}

int serve() {
  using Call = void (*)(std::istream&);
  const std::map<std::string, Call> calls{{"reset breakout", reset<Breakout>},
                                          {"step breakout", step<Breakout>},
                                          {"reset asterix", reset<Asterix>},
                                          {"step asterix", step<Asterix>},
                                          {"reset freeway", reset<Freeway>},
                                          {"step freeway", step<Freeway>},
                                          {"reset seaquest", reset<Seaquest>},
                                          {"step seaquest", step<Seaquest>},
                                          {"reset space_invaders", reset<SpaceInvaders>},
                                          {"step space_invaders", step<SpaceInvaders>}};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, name;
    words >> what >> name;
    if (what == "spec") {
      if (spec(name) != 0) return 1;
      continue;
    }
    const auto call = calls.find(what + " " + name);
    if (call == calls.end()) return std::fprintf(stderr, "not understood: %s\n", line.c_str()), 1;
    call->second(words);
  }
  return 0;
}

}  // namespace
}  // namespace broadloom

int main() { return broadloom::serve(); }
