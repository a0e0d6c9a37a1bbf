// An environment with image observations. A single image does not show where objects move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "broadloom/core/config_table.h"
#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/tasks/make_entry.h"
#include "broadloom/env/tasks/register_environment.h"

namespace broadloom {

// A ball falls and bounces between two walls. A bat must catch it. The ball starts at the left or
// right and moves in that direction. Cells are squares of `scale` pixels. The first missed ball
// ends the episode.
struct Volley {
  struct Params {
    int rows = 6, cols = 7;
    int scale = 1;
    int channels = 1;
    bool marked = false;
    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("rows", rows, Range{2, 100}, "Cells from top to bottom.");
      v("cols", cols, Range{3, 100}, "Cells from side to side.");
      v("scale", scale, Range{1, 20}, "Pixels of a cell's side.");
      v("channels", channels, Range{1, 8}, "Numbers of a pixel.");
      v("marked", marked, "Whether a corner counts steps, so that no two frames are alike.");
    }
    int height() const { return rows * scale; }
    int width() const { return cols * scale; }
  };
  using Options = Params;
  struct State {
    std::int32_t row, col, way, bat, steps;
  };
  static constexpr auto members =
      std::tuple{&State::row, &State::col, &State::way, &State::bat, &State::steps};

  static Result<Params> make_params(const Options& options) { return options; }
  static EnvSpec spec(const Params& params) {
    EnvSpec spec;
    spec.id = "Volley-v0";
    spec.observation = Space::bytes({params.height(), params.width(), params.channels});
    spec.action = Space::discrete(3);
    spec.max_episode_steps = 60;
    spec.summary = "Meet balls that fly, seen as pixels.";
    return spec;
  }
  static void serve(const Params& params, State& state, Random& random) {
    state.row = 0;
    state.col = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(params.cols)));
    state.way = random.below(2) == 0 ? -1 : 1;
  }
  static void reset(const Params& params, State& state, Random& random) {
    serve(params, state, random);
    state.bat = params.cols / 2;
    state.steps = 0;
  }
  static StepResult step(const Params& params, State& state, const float* action, Random& random) {
    state.bat =
        std::clamp(state.bat + static_cast<std::int32_t>(action[0]) - 1, 0, params.cols - 1);
    state.steps += 1;
    if (state.col + state.way < 0 || state.col + state.way >= params.cols) state.way = -state.way;
    state.col += state.way;
    if (++state.row < params.rows) return {0.0, 0};
    const bool met = state.col == state.bat;
    if (met) serve(params, state, random);
    if (!met) state.row = params.rows - 1;
    return {met ? 1.0 : 0.0, static_cast<std::uint8_t>(!met)};
  }
  static void observe(const Params& params, const State& state, std::uint8_t* out) {
    const int numbers = params.height() * params.width() * params.channels;
    std::fill_n(out, numbers, std::uint8_t{0});
    draw_cell(params, params.rows - 1, state.bat, 100, out);
    draw_cell(params, state.row, state.col, 255, out);
    if (!params.marked) return;
    for (int c = 0; c < params.channels; ++c) {
      out[c] = static_cast<std::uint8_t>(7 * state.steps + 50 * c + 1);
    }
  }
  static void draw_cell(const Params& params, int row, int col, int ink, std::uint8_t* out) {
    for (int y = row * params.scale; y < (row + 1) * params.scale; ++y) {
      for (int x = col * params.scale; x < (col + 1) * params.scale; ++x) {
        std::uint8_t* pixel = out + (y * params.width() + x) * params.channels;
        for (int c = 0; c < params.channels; ++c) pixel[c] = static_cast<std::uint8_t>(ink - 9 * c);
      }
    }
  }
};

inline const Overrides kMarked{{"env.marked", "true"}};
// 84 x 84, the usual size of game images in benchmarks.
inline const Overrides kLarge{{"env.rows", "12"}, {"env.cols", "12"}, {"env.scale", "7"}};

// Registers it once per process.
inline bool register_picture_envs() {
  static const bool done = register_environment(make_entry<Volley>()).ok();
  return done;
}

// Stacks without the declaration, so that blocks store them whole.
class WholeStacks final : public ForwardingVecEnv {
 public:
  explicit WholeStacks(std::unique_ptr<VecEnv> inner)
      : ForwardingVecEnv(std::move(inner)), spec_(this->inner().spec()) {
    spec_.observation.frames = 1;
  }
  const EnvSpec& spec() const override { return spec_; }

 private:
  EnvSpec spec_;
};

}  // namespace broadloom
