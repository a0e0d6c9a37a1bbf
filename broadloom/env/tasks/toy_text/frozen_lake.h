// FrozenLake-v1 of Gymnasium 1.4.0, gymnasium/envs/toy_text/frozen_lake.py: cross slippery ice from
// S to G without falling into a hole.
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/environment.h"
#include "broadloom/env/tabular.h"
#include "broadloom/env/tasks/toy_text/grid_drawing.h"

namespace broadloom {

struct FrozenLake {
  static constexpr int kMaxCells = 1024;
  static constexpr int kActions = 4;  // left, down, right, up

  struct Options {
    std::string map_name = "4x4";
    std::string desc;
    bool is_slippery = true;
    double success_rate = 1.0 / 3.0;

    template <class Visitor>
    void visit_fields(Visitor&& v) {
      v("map_name", map_name, Choices{{"4x4", "8x8"}}, "Built-in map, unless desc is given.");
      last_needs(v, "desc", kIsEmpty);
      v("desc", desc, "Your own map: rows of S, F, H and G, joined by '/'; empty: map_name.");
      v("is_slippery", is_slippery, "Whether moves can slip to either side.");
      v("success_rate", success_rate, Range{0.0, 1.0},
        "Probability that a slippery move keeps its direction.");
      last_needs(v, "is_slippery", "true");
    }
  };
  struct Params {
    int rows, cols;
    int starts;               // number of S cells
    double straight, turned;  // probabilities of the chosen and of each perpendicular direction
    char cells[kMaxCells];    // row-major
  };
  struct State {
    std::int32_t cell;
  };
  static constexpr auto members = std::tuple{&State::cell};
  static void state_ranges(const Params& p, StateRanges<State>& ranges) {
    ranges.add(&State::cell, 0, p.rows * p.cols - 1);
  }

  static constexpr std::array end_reasons{"reached_goal", "fell_in_hole"};

  static Result<Params> make_params(const Options& options) {
    const std::string map = !options.desc.empty()       ? options.desc
                            : options.map_name == "8x8" ? kMap8x8
                                                        : kMap4x4;
    Params p{};
    BROADLOOM_TRY(read_map(map, p));
    p.straight = options.is_slippery ? options.success_rate : 1.0;
    p.turned = options.is_slippery ? (1.0 - options.success_rate) / 2.0 : 0.0;
    return p;
  }

  static EnvSpec spec(const Params& p) {
    EnvSpec spec;
    spec.id = "FrozenLake-v1";
    spec.observation = Space::discrete(p.rows * p.cols);
    spec.action = Space::discrete(kActions);
    spec.max_episode_steps = 100;
    spec.has_reward_threshold = true;
    spec.reward_threshold = 0.70;
    spec.set_score_range(0.01393980, 0.74419029);  // both exact, from table() within 100 steps
    spec.reward_terms = {{"goal", 1.0}};
    spec.upstream = "Gymnasium 1.4.0 toy_text/frozen_lake.py";
    spec.summary = "Cross slippery ice to the goal (4x4 unless map_name or desc say otherwise).";
    return spec;
  }

  BROADLOOM_HD static void reset(const Params& p, State& s, Random& random) {
    int left = static_cast<int>(random.below(static_cast<std::uint32_t>(p.starts)));
    s.cell = 0;
    while (p.cells[s.cell] != 'S' || left-- > 0) ++s.cell;
  }

  // Directions come in upstream's order: a - 1, a, a + 1.
  BROADLOOM_HD static StepResult step(const Params& p, State& s, const float* action,
                                      Random& random) {
    if (ends(p, s.cell)) return {0.0, true};
    int direction = static_cast<int>(action[0]);
    if (p.turned > 0.0) {
      const double u = random.uniform();
      if (u < p.turned) {
        direction += 3;
      } else if (u >= p.turned + p.straight) {
        direction += 1;
      }
    }
    s.cell = move(p, s.cell, direction % kActions);
    return {p.cells[s.cell] == 'G' ? 1.0 : 0.0, ends(p, s.cell)};
  }

  BROADLOOM_HD static void observe(const Params&, const State& s, float* out) {
    out[0] = static_cast<float>(s.cell);
  }

  static TabularModel table(const Params& p) {
    TabularModel model;
    model.num_states = p.rows * p.cols;
    model.num_actions = kActions;
    for (int s = 0; s < model.num_states; ++s) {
      model.start.push_back(p.cells[s] == 'S' ? 1.0 / p.starts : 0.0);
      for (int a = 0; a < kActions; ++a) model.transitions.push_back(outcomes(p, s, a));
    }
    return model;
  }

  BROADLOOM_HD static int end_reason(const Params& p, const State& last) {
    return p.cells[last.cell] == 'G' ? 0 : 1;
  }
  BROADLOOM_HD static bool success(const Params& p, const State& last, bool, bool) {
    return p.cells[last.cell] == 'G';
  }

  // The arrow shows the chosen move. On slippery ice, the result may differ.
  static void draw(const Params& p, const State& s, const float* action, Drawing& out) {
    const GridDrawing grid{p.rows, p.cols, out};
    grid.ground(Ink::kPanel);
    for (int cell = 0; cell < p.rows * p.cols; ++cell) {
      const int row = cell / p.cols, col = cell % p.cols;
      if (p.cells[cell] == 'H') out.circle(Ink::kMuted, grid.middle(row, col), 0.36);
      if (p.cells[cell] == 'G') grid.fill(row, col, Ink::kGood, 0.3);
      if (p.cells[cell] == 'G') grid.letter(row, col, Ink::kGood, "G");
      if (p.cells[cell] == 'S') grid.letter(row, col, Ink::kMuted, "S");
    }
    grid.lines();
    const int row = s.cell / p.cols, col = s.cell % p.cols;
    grid.walker(row, col);
    if (action == nullptr) return;
    constexpr std::array kWords{"left", "down", "right", "up"};
    constexpr std::array kDown{0, 1, 0, -1}, kRight{-1, 0, 1, 0};
    const std::size_t a = static_cast<std::size_t>(action[0]) % kActions;
    out.action = kWords[a];
    grid.chosen_move(row, col, kDown[a], kRight[a]);
  }

 private:
  static constexpr const char* kMap4x4 = "SFFF/FHFH/FFFH/HFFG";
  static constexpr const char* kMap8x8 =
      "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG";

  static Status read_map(const std::string& map, Params& p) {
    const auto wrong = [&](const std::string& what) {
      return Status(
          ErrorKind::kInvalidConfig,
          "FrozenLake map '" + map + "': " + what +
              "; expected equally long rows of S, F, H and G joined by '/', with an S, of at "
              "most " +
              std::to_string(kMaxCells) + " cells");
    };
    int count = 0;
    int col = 0;
    p.rows = 1;
    for (const char c : map + "/") {
      if (c == '/') {
        if (p.cols == 0) p.cols = col;
        if (col == 0 || col != p.cols) {
          return wrong("row " + std::to_string(p.rows) + " has " + std::to_string(col) + " cells");
        }
        p.rows += 1;
        col = 0;
        continue;
      }
      if (c != 'S' && c != 'F' && c != 'H' && c != 'G') {
        return wrong(std::string("cell '") + c + "'");
      }
      if (count == kMaxCells) return wrong("too large");
      p.starts += c == 'S' ? 1 : 0;
      p.cells[count++] = c;
      ++col;
    }
    p.rows -= 1;
    return p.starts > 0 ? Status() : wrong("no S");
  }

  BROADLOOM_HD static bool ends(const Params& p, int cell) {
    return p.cells[cell] == 'G' || p.cells[cell] == 'H';
  }

  BROADLOOM_HD static int move(const Params& p, int cell, int direction) {
    int row = cell / p.cols;
    int col = cell % p.cols;
    if (direction == 0 && col > 0) --col;
    if (direction == 1 && row + 1 < p.rows) ++row;
    if (direction == 2 && col + 1 < p.cols) ++col;
    if (direction == 3 && row > 0) --row;
    return row * p.cols + col;
  }

  static std::vector<TabularModel::Outcome> outcomes(const Params& p, int s, int a) {
    if (ends(p, s)) return {{1.0, s, 0.0, true}};
    std::vector<TabularModel::Outcome> list;
    for (int turn = -1; turn <= 1; ++turn) {
      const double probability = turn == 0 ? p.straight : p.turned;
      if (probability == 0.0) continue;
      const int next = move(p, s, (a + turn + kActions) % kActions);
      list.push_back({probability, next, p.cells[next] == 'G' ? 1.0 : 0.0, ends(p, next)});
    }
    return list;
  }
};
static_assert(Environment<FrozenLake>);

}  // namespace broadloom
