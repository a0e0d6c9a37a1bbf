// Swimmers of Seaquest: fish, submarines, divers and bullets, which move sideways along their rows.
// The order of their lists matters.
#pragma once

#include <cstdint>

#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom::minatar {

// A swimmer, stored in 16 bits. Its column may be up to two beyond the edge before the game removes
// it.
struct Swimmer {
  int row = 0, column = 0;
  bool to_the_right = false;
  int move_timer = 0;  // steps until it moves; 0 for bullets, which always move
  int shot_timer = 0;  // steps until it shoots; submarines only

  BROADLOOM_HD static Swimmer decode(std::uint16_t code) {
    return {code >> 4 & 15, (code & 15) - kBeyond, (code >> 8 & 1) != 0, code >> 9 & 7,
            code >> 12 & 15};
  }
  BROADLOOM_HD std::uint16_t code() const {
    return static_cast<std::uint16_t>((column + kBeyond) | row << 4 | (to_the_right ? 1 : 0) << 8 |
                                      move_timer << 9 | shot_timer << 12);
  }
  // Adds ranges of codes in a state: rows up to `lowest`, and columns whose bits also hold the next
  // move.
  template <class State, class Codes>
  static void add_ranges(Codes State::*codes, int lowest, StateRanges<State>& ranges) {
    ranges.add_bits(codes, 0, 4, 0, kLast + 2 * kBeyond);
    ranges.add_bits(codes, 4, 4, 0, lowest);
  }
  BROADLOOM_HD void move() { column += to_the_right ? 1 : -1; }
  BROADLOOM_HD bool is_out() const { return column < 0 || column > kLast; }
  BROADLOOM_HD bool is_at(int other_row, int other_column) const {
    return row == other_row && column == other_column;
  }

 private:
  static constexpr int kBeyond = 2;
};

// A list of swimmers in the arrays of a state.
class Swimmers {
 public:
  static constexpr int kGone = -1;

  BROADLOOM_HD Swimmers(std::uint16_t* codes, std::int16_t& count, int most)
      : codes_(codes), count_(count), most_(most) {}

  BROADLOOM_HD int size() const { return count_; }
  BROADLOOM_HD Swimmer at(int place) const { return Swimmer::decode(codes_[place]); }
  BROADLOOM_HD void set(int place, const Swimmer& swimmer) { codes_[place] = swimmer.code(); }

  // Appends. Ignores a swimmer beyond the capacity, which the game's bounds rule out.
  BROADLOOM_HD void add(const Swimmer& swimmer) {
    if (count_ < most_) codes_[count_++] = swimmer.code();
  }
  BROADLOOM_HD void remove(int place) {
    --count_;
    for (int i = place; i < count_; ++i) codes_[i] = codes_[i + 1];
  }
  // Removes the first swimmer that equals the one at `place`. Upstream removes by value while it
  // walks from last to first. So if there are equal ones, the one at `place` stays, moves up and is
  // processed again. Returns its new place, or kGone.
  BROADLOOM_HD int remove_equal(int place) {
    int first = 0;
    while (codes_[first] != codes_[place]) ++first;
    remove(first);
    return first == place ? kGone : place - 1;
  }
  // Place of the first swimmer in a cell, or kGone.
  BROADLOOM_HD int find(int row, int column) const {
    for (int i = 0; i < count_; ++i) {
      if (at(i).is_at(row, column)) return i;
    }
    return kGone;
  }

 private:
  std::uint16_t* codes_;
  std::int16_t& count_;
  int most_;
};

}  // namespace broadloom::minatar
