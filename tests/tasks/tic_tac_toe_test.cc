// TicTacToe-v0: its optimum by dynamic programming over all boards, and its rules.
#include "broadloom/env/tasks/puzzles/tic_tac_toe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "broadloom/core/random.h"

namespace broadloom {
namespace {

using Board = std::array<int, 9>;  // 0 empty, 1 own, 2 the opponent's

bool wins(const Board& board, int player) {
  constexpr int kLines[8][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6},
                                {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};
  return std::any_of(std::begin(kLines), std::end(kLines), [&](const int(&line)[3]) {
    return std::all_of(std::begin(line), std::end(line),
                       [&](int cell) { return board[static_cast<std::size_t>(cell)] == player; });
  });
}

std::vector<Board> moves(const Board& board, int player) {
  std::vector<Board> out;
  for (std::size_t i = 0; i < board.size(); ++i) {
    if (board[i] != 0) continue;
    out.push_back(board);
    out.back()[i] = player;
  }
  return out;
}

// Mean return from a board where the player is to move, against uniformly random moves.
struct Solver {
  bool plays_best;  // or uniformly random moves
  std::map<Board, double> known = {};

  double value(const Board& board) {
    const auto found = known.find(board);
    if (found != known.end()) return found->second;
    double best = -2.0, sum = 0.0;
    const std::vector<Board> own = moves(board, 1);
    for (const Board& next : own) {
      const double v = wins(next, 1) ? 1.0 : after(next);
      best = std::max(best, v);
      sum += v;
    }
    return known[board] = plays_best ? best : sum / static_cast<double>(own.size());
  }
  double after(const Board& board) {
    const std::vector<Board> replies = moves(board, 2);
    double sum = 0.0;
    for (const Board& next : replies) {
      if (wins(next, 2)) {
        sum -= 1.0;
      } else if (!moves(next, 1).empty()) {
        sum += value(next);
      }
    }
    return replies.empty() ? 0.0 : sum / static_cast<double>(replies.size());
  }
  double game() { return (value(Board{}) + after(Board{})) / 2.0; }
};

TEST(TicTacToe, HasTheScoresOfDynamicProgramming) {
  const EnvSpec spec = TicTacToe::spec({});
  EXPECT_NEAR(Solver{true}.game(), spec.reference_score, 1e-14);
  EXPECT_NEAR(Solver{false}.game(), spec.random_score, 1e-14);
}

// Random games, each move checked against the rules above.
TEST(TicTacToe, FollowsTheRules) {
  std::map<int, int> reasons;
  int begun_by_the_opponent = 0;
  for (std::uint32_t game = 0; game < 2000; ++game) {
    Random random(1, Purpose::kUser, game, 0);
    TicTacToe::State state{};
    TicTacToe::reset({}, state, random);
    begun_by_the_opponent += TicTacToe::empty_cells(state) == 8 ? 1 : 0;
    while (true) {
      Board before{};
      std::copy(state.cells.begin(), state.cells.end(), before.begin());
      std::array<std::uint8_t, 9> valid{};
      TicTacToe::valid_actions({}, state, valid.data());
      const auto cell = random.below(9);
      ASSERT_EQ(valid[cell] != 0, before[cell] == 0);
      if (valid[cell] == 0 && random.below(20) != 0) continue;
      const auto action = static_cast<float>(cell);
      const StepResult result = TicTacToe::step({}, state, &action, random);
      Board after{};
      std::copy(state.cells.begin(), state.cells.end(), after.begin());
      const int reason = result.terminated != 0 ? TicTacToe::end_reason({}, state) : -1;
      if (before[cell] != 0) {
        ASSERT_EQ(after, before);
        ASSERT_EQ(reason, 3);
      } else {
        before[cell] = 1;
        std::vector<Board> allowed = moves(before, 2);
        if (wins(before, 1) || allowed.empty()) allowed = {before};
        ASSERT_NE(std::find(allowed.begin(), allowed.end(), after), allowed.end());
        ASSERT_EQ(reason, wins(after, 1)            ? 0
                          : wins(after, 2)          ? 1
                          : moves(after, 1).empty() ? 2
                                                    : -1);
      }
      ASSERT_EQ(result.reward, reason == 0 ? 1.0 : reason == 1 || reason == 3 ? -1.0 : 0.0);
      if (result.terminated == 0) continue;
      ++reasons[reason];
      break;
    }
  }
  EXPECT_EQ(reasons.size(), 4u);
  EXPECT_NEAR(begun_by_the_opponent, 1000, 112);  // five standard errors
}

}  // namespace
}  // namespace broadloom
