// Dials-v0: each step shows a number for each of three dials; turn all dials to their numbers. The
// smallest task with MultiDiscrete actions, and its optimum is known.
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct Dials {
  static constexpr int kDials = 3, kNumbers = 12;  // 12 = 3 + 4 + 5
  // The numbers of dial i are 0 to i + 2.
  BROADLOOM_HD static constexpr int numbers(int dial) { return dial + 3; }

  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    std::array<std::int32_t, kDials> shown;
  };
  static constexpr auto members = std::tuple{&State::shown};
  // One range for all dials. A number that a dial lacks is not shown and matches nothing.
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::shown, 0, numbers(kDials - 1) - 1);
  }

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Dials-v0";
    spec.observation =
        Space::box(std::vector<float>(kNumbers, 0.0f), std::vector<float>(kNumbers, 1.0f));
    spec.action = Space::multi_discrete({numbers(0), numbers(1), numbers(2)});
    spec.max_episode_steps = 32;
    spec.set_score_range(32.0 * (1.0 / 3.0 + 1.0 / 4.0 + 1.0 / 5.0) / 3.0, 32.0);  // both exact
    spec.reward_terms = {{"dial_matches", 1.0 / 3.0}};
    spec.upstream = "Broadloom";
    spec.summary = "Turn three dials to the numbers shown; the actions are MultiDiscrete.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) { show(s, random); }

  BROADLOOM_HD static StepResult step(const Params&, State& s, const float* action,
                                      Random& random) {
    int matches = 0;
    for (int i = 0; i < kDials; ++i) matches += static_cast<int>(action[i]) == s.shown[i] ? 1 : 0;
    show(s, random);
    return {matches / 3.0, 0};
  }

  // One-hot, dial after dial.
  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    int first = 0;
    for (int i = 0; i < kDials; ++i) {
      for (int n = 0; n < numbers(i); ++n) out[first + n] = s.shown[i] == n ? 1.0f : 0.0f;
      first += numbers(i);
    }
  }

  // A row per dial; the number shown is filled, and the dial's own number has a disc.
  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    const GridDrawing grid{kDials, numbers(kDials - 1), out};
    grid.ground(Ink::kPanel);
    for (int i = 0; i < kDials; ++i) {
      grid.fill(i, s.shown[static_cast<std::size_t>(i)], Ink::kGood, 0.3);
      for (int n = numbers(i); n < grid.cols; ++n) grid.fill(i, n, Ink::kFaint);
    }
    grid.lines();
    if (action == nullptr) return;
    for (int i = 0; i < kDials; ++i) {
      const int turned = static_cast<int>(action[i]);
      grid.walker(i, turned);
      out.action += (i > 0 ? " " : "") + std::to_string(turned);
    }
  }

 private:
  BROADLOOM_HD static void show(State& s, Random& random) {
    for (int i = 0; i < kDials; ++i) {
      s.shown[i] = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(numbers(i))));
    }
  }
};
static_assert(Environment<Dials>);

}  // namespace broadloom
