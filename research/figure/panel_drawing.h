// One panel of a figure: its axes, and lines, points or cells between them.
#pragma once

#include <string>

#include "research/figure/axis.h"
#include "research/figure/figure.h"

namespace broadloom {

// Room around the part of a panel in which data stand, in pixels.
struct PanelMargins {
  double left = 0.0, right = 0.0, top = 0.0, bottom = 0.0;
};

// Where a panel stands in the picture.
struct PanelPlace {
  double x = 0.0, y = 0.0, width = 0.0, height = 0.0;
};

// Axes that hold all that the panel draws, intervals and lines across too; width and height: of the
// part between them, which decide how many ticks there are.
struct PanelAxes {
  Axis x, y;
};
PanelAxes panel_axes(const FigurePanel& panel, double width, double height);

// What the panel needs around it so that nothing is cut; ends: lines are named at their right ends.
PanelMargins margins_of(const FigurePanel& panel, const PanelAxes& axes, double width, bool ends);

std::string draw_panel(const FigurePanel& panel, PanelAxes axes, const PanelPlace& place,
                       const PanelMargins& margins, bool ends);

// The inside of the frame; cells and lines are drawn between these.
struct PanelFrame {
  double left = 0.0, right = 0.0, top = 0.0, bottom = 0.0;
};
std::string draw_series(const FigurePanel& panel, const PanelAxes& axes, const PanelFrame& frame,
                        bool ends);
std::string draw_cells(const FigurePanel& panel, const PanelAxes& axes);

}  // namespace broadloom
