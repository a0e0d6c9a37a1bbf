// Golf-v0: each step shows the distance of a hole and a wind; choose one of three clubs, how hard
// to strike and how far to aim into the wind. The smallest task with hybrid actions, choices beside
// numbers, and its optimum is known.
#pragma once

#include <string>
#include <tuple>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"

namespace broadloom {

struct Golf {
  static constexpr int kClubs = 3;

  struct Params {
    template <class Visitor>
    void visit_fields(Visitor&&) {}
  };
  using Options = Params;
  struct State {
    double distance;  // of the hole, 0 to 3
    double wind;      // -1 to 1
  };
  static constexpr auto members = std::tuple{&State::distance, &State::wind};
  static void state_ranges(const Params&, StateRanges<State>& ranges) {
    ranges.add(&State::distance, 0.0, 3.0);
    ranges.add(&State::wind, -1.0, 1.0);
  }

  static Result<Params> make_params(const Options& options) { return options; }

  static EnvSpec spec(const Params&) {
    EnvSpec spec;
    spec.id = "Golf-v0";
    spec.observation = Space::box({0.0f, -1.0f}, {3.0f, 1.0f});
    spec.action = Space::hybrid({kClubs}, {-1.0f, -1.0f}, {1.0f, 1.0f});
    spec.max_episode_steps = 32;
    spec.set_score_range(3.076726, 32.0);  // both exact
    spec.upstream = "Broadloom";
    spec.summary = "Choose a club, a force and an aim; the actions are a choice and two numbers.";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params&, State& s, Random& random) { show(s, random); }

  // A ball that stops at most 1 away from the hole, forwards and sideways together, earns the rest.
  BROADLOOM_HD static StepResult step(const Params&, State& s, const float* action,
                                      Random& random) {
    const double away = magnitude(landing(action) - s.distance) + magnitude(drift(s, action));
    show(s, random);
    return {away < 1.0 ? 1.0 - away : 0.0, 0};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.distance);
    out[1] = static_cast<float>(s.wind);
  }

  // The hole, and where the chosen strike lands.
  static void draw(const Params&, const State& s, const float* action, Drawing& out) {
    out.view(-0.3, -2.2, 3.6, 2.2);
    out.rectangle(Ink::kPanel, {-0.3, -2.2}, 3.9, 4.4);
    out.circle(Ink::kMuted, {0.0, 0.0}, 0.06);
    out.circle(Ink::kGood, {s.distance, 0.0}, 0.08);
    out.arrow(Ink::kFaint, 0.03, {1.5, 1.8}, {1.5, 1.8 + 0.35 * s.wind});
    if (action == nullptr) return;
    out.line(Ink::kFaint, 0.02, {{0.0, 0.0}, {landing(action), drift(s, action)}});
    out.circle(Ink::kAccent, {landing(action), drift(s, action)}, 0.06);
    out.action = "club " + std::to_string(static_cast<int>(action[0]));
  }

 private:
  // Club k carries the ball from k to k + 1.
  BROADLOOM_HD static double landing(const float* action) {
    return static_cast<double>(action[0]) + 0.5 * (static_cast<double>(action[1]) + 1.0);
  }
  // Sideways. The wind moves a ball of a longer club more; the aim can always undo it.
  BROADLOOM_HD static double drift(const State& s, const float* action) {
    return static_cast<double>(action[2]) + s.wind * (static_cast<double>(action[0]) + 1.0) / 3.0;
  }
  BROADLOOM_HD static double magnitude(double x) { return x < 0.0 ? -x : x; }
  BROADLOOM_HD static void show(State& s, Random& random) {
    s.distance = random.uniform(0.0, 3.0);
    s.wind = random.uniform(-1.0, 1.0);
  }
};
static_assert(Environment<Golf>);

}  // namespace broadloom
