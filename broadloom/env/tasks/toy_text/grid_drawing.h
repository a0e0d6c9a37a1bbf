// Draws worlds of square cells, one unit wide, row 0 on top.
#pragma once

#include "broadloom/env/drawing.h"

namespace broadloom {

struct GridDrawing {
  int rows, cols;
  Drawing& out;

  Point low_corner(int row, int col) const {
    return {static_cast<double>(col), static_cast<double>(rows - 1 - row)};
  }
  Point middle(int row, int col) const {
    const Point low = low_corner(row, col);
    return {low.x + 0.5, low.y + 0.5};
  }

  // Margin for arrows that point out of the world.
  static constexpr double kBeyond = 0.35;
  void ground(Ink ink) const {
    out.view(-kBeyond, -kBeyond, cols + kBeyond, rows + kBeyond);
    out.rectangle(ink, {0.0, 0.0}, cols, rows);
  }
  void fill(int row, int col, Ink ink, double strength = 1.0) const {
    out.rectangle(ink, low_corner(row, col), 1.0, 1.0, strength);
  }
  void lines() const {
    for (int i = 0; i <= rows; ++i) {
      out.line(Ink::kFaint, 0.02, {{0.0, 1.0 * i}, {1.0 * cols, 1.0 * i}});
    }
    for (int i = 0; i <= cols; ++i) {
      out.line(Ink::kFaint, 0.02, {{1.0 * i, 0.0}, {1.0 * i, 1.0 * rows}});
    }
  }
  void letter(int row, int col, Ink ink, const char* word) const {
    out.text(ink, middle(row, col), 0.5, word);
  }
  // The agent, and its chosen move by rows down and columns right.
  void walker(int row, int col) const { out.circle(Ink::kInk, middle(row, col), 0.24); }
  void chosen_move(int row, int col, int down, int right) const {
    const Point tail = middle(row, col);
    out.arrow(Ink::kAccent, 0.07, tail, {tail.x + 0.8 * right, tail.y - 0.8 * down});
  }
};

}  // namespace broadloom
