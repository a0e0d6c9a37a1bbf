// One axis of a picture: from values to pixels, and the numbers beside it.
#pragma once

#include <string>
#include <vector>

#include "research/figure/figure.h"

namespace broadloom {

struct AxisTick {
  double at = 0.0;  // in pixels
  std::string text;
};

struct AxisRange {
  double low = 0.0, high = 0.0;
  bool empty = true;
  void add(double value);
};

// About `count` ticks at 1, 2 or 5 times a power of ten on a linear axis; at powers on a
// logarithmic one, every n-th where they are more than that; at each category.
class Axis {
 public:
  // range: of all that is drawn, in values; not positive values on a logarithmic axis are left out
  // of it. round_ends: the axis begins and ends at ticks. Pixels may fall (from > to), as those of
  // y do; nothing comes nearer to the ends than `inset`.
  Axis(const FigureAxis& axis, AxisRange range, int count, bool round_ends);
  void set_pixels(double from, double to, double inset);

  double at(double value) const;
  std::vector<AxisTick> ticks() const;
  std::vector<std::string> texts() const;  // of the ticks
  // Between neighbouring categories, in pixels.
  double slot() const;

 private:
  double place(double value) const;  // on the axis' own scale
  void set_linear_ticks(int count, bool round_ends);
  void set_log_ticks(int count);

  FigureScale scale_;
  double low_ = 0.0, high_ = 1.0;  // on the axis' own scale
  double from_ = 0.0, to_ = 1.0, inset_ = 0.0;
  std::vector<double> values_;  // of the ticks
  std::vector<std::string> texts_;
};

// A step of 1, 2 or 5 times a power of ten that gives about `count` ticks over the span, and how
// many decimals, and how many zeros at the end, its multiples have.
struct TickStep {
  double step = 1.0;
  int decimals = 0, zeros = 0;
};
TickStep tick_step(double span, int count);

// Numbers of one axis, written alike: as many decimals, one unit (k, M).
std::vector<std::string> tick_texts(const std::vector<double>& values, const TickStep& step);

}  // namespace broadloom
