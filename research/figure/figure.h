// A figure as data: panels of lines, points or cells, and what stands at their axes. Who draws it
// (figure_svg) asks nobody else; who makes it (figure_file, the learning curve) knows no pixels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

enum class FigureScale { kLinear, kLog2, kLog10, kCategories };

struct FigureAxis {
  std::string title;  // with its unit
  FigureScale scale = FigureScale::kLinear;
  std::vector<std::string> categories;  // of kCategories: a value is an index into these
  std::vector<double> include;          // values that the axis must reach
};

// Without an interval low and high are the value.
struct FigureEstimate {
  double value = 0.0, low = 0.0, high = 0.0;
  bool has_interval() const { return low < value || value < high; }
};

struct FigurePoint {
  double x = 0.0;
  FigureEstimate y;
};

struct FigureSeries {
  std::string name;
  std::size_t style = 0;            // colour and mark; one a name, the same in all panels
  std::vector<FigurePoint> points;  // of lines: by rising x
};

struct FigureLine {  // across the panel
  bool vertical = false;
  double at = 0.0;
  std::string label;
};

struct FigureCell {  // of a heat map; column and row: categories of the axes
  std::size_t column = 0, row = 0;
  FigureEstimate value;
  bool best = false;   // of its group
  bool level = false;  // its interval and that of the best overlap
};

enum class FigureKind { kLines, kPoints, kHeat };
enum class FigureIntervals { kBars, kBand, kNone };

struct FigurePanel {
  std::string title;
  FigureKind kind = FigureKind::kLines;
  FigureIntervals intervals = FigureIntervals::kBars;
  FigureAxis x, y;
  std::vector<FigureSeries> series;
  std::vector<FigureLine> lines;
  std::vector<FigureCell> cells;
  int digits = 0;  // of the numbers in cells
};

// kEnds: at the right end of each line. kTop: once, under the title.
enum class FigureLabels { kEnds, kTop, kNone };

struct Figure {
  std::string title;  // the sentence that the figure shows
  std::string note;   // small, below: what marks and bars are, from how many runs
  int columns = 3;    // panels side by side
  double width = 900.0, panel_height = 260.0;
  FigureLabels labels = FigureLabels::kEnds;
  std::vector<FigurePanel> panels;
};

// Colours and marks that can be told apart.
constexpr std::size_t kFigureStyles = 8;

// Gives every name of a series its style, in the order in which names come. kInvalidConfig: more
// names than kFigureStyles.
Status set_styles(Figure& figure);

// The picture, readable on light and dark pages; the same figure gives the same bytes on any
// machine.
std::string figure_svg(const Figure& figure);

}  // namespace broadloom
