// What moves through the water of Seaquest, sideways along its row: fish, submarines, divers and
// bullets, in lists whose order matters.
#pragma once

#include <cstdint>

#include "broadloom/env/tasks/minatar/minatar.h"

namespace broadloom::minatar {

// One of them, kept in 16 bits. A column may be up to two beyond the edge until it is noticed.
struct Swimmer {
  int row = 0, column = 0;
  bool to_the_right = false;
  int move_timer = 0;  // until it moves on; of bullets, which move in each step, 0
  int shot_timer = 0;  // until it shoots; of submarines alone

  BROADLOOM_HD static Swimmer from(std::uint16_t code) {
    return {code >> 4 & 15, (code & 15) - kBeyond, (code >> 8 & 1) != 0, code >> 9 & 7,
            code >> 12 & 15};
  }
  BROADLOOM_HD std::uint16_t code() const {
    return static_cast<std::uint16_t>((column + kBeyond) | row << 4 | (to_the_right ? 1 : 0) << 8 |
                                      move_timer << 9 | shot_timer << 12);
  }
  // Of codes in a state: rows down to `lowest`, columns that moving on by one keeps in their bits.
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

// A list of them in the arrays of a state.
class Swimmers {
 public:
  static constexpr int kGone = -1;

  BROADLOOM_HD Swimmers(std::uint16_t* codes, std::int16_t& count, int most)
      : codes_(codes), count_(count), most_(most) {}

  BROADLOOM_HD int size() const { return count_; }
  BROADLOOM_HD Swimmer at(int place) const { return Swimmer::from(codes_[place]); }
  BROADLOOM_HD void set(int place, const Swimmer& swimmer) { codes_[place] = swimmer.code(); }

  // To the end. One too many is left out; the game's bounds say that there is none.
  BROADLOOM_HD void add(const Swimmer& swimmer) {
    if (count_ < most_) codes_[count_++] = swimmer.code();
  }
  BROADLOOM_HD void remove(int place) {
    --count_;
    for (int i = place; i < count_; ++i) codes_[i] = codes_[i + 1];
  }
  // Upstream removes by value while it walks from the last to the first: of several equal ones it
  // is the first that goes, and the one in `place`, which it was about, moves up and is met again.
  // Where that one is afterwards, or kGone.
  BROADLOOM_HD int remove_equal(int place) {
    int first = 0;
    while (codes_[first] != codes_[place]) ++first;
    remove(first);
    return first == place ? kGone : place - 1;
  }
  // The first in a cell, or kGone.
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
