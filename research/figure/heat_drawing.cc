// The cells of a heat map: a colour, the number, its interval, and which is best.
#include <fmt/core.h>

#include <algorithm>

#include "research/figure/panel_drawing.h"
#include "research/figure/svg.h"

namespace broadloom {
namespace {

std::string number(double value, int digits) {
  const std::string text = fmt::format("{:.{}f}", value, digits);
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return zero && text[0] == '-' ? text.substr(1) : text;
}

std::string frame_of(const FigureCell& cell, const std::string& ink, double x, double y,
                     double width, double height) {
  if (!cell.best && !cell.level) return "";
  return fmt::format(
      "<rect class='{} edge-{}' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}'/>\n",
      cell.best ? "best" : "level", ink, x + 2.5, y + 2.5, width - 5.0, height - 5.0);
}

std::string draw_cell(const FigureCell& cell, int digits, double share, const PanelAxes& axes) {
  const double width = axes.x.slot(), height = axes.y.slot();
  const double x = axes.x.at(static_cast<double>(cell.column));
  const double y = axes.y.at(static_cast<double>(cell.row));
  const svg::Colour colour = svg::heat_colour(share);
  const std::string ink = colour.dark_letters ? "on-light" : "on-dark";
  std::string out = fmt::format(
      "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'/>\n",
      x - width / 2 + 1.0, y - height / 2 + 1.0, width - 2.0, height - 2.0, colour.fill);
  const bool between = cell.value.has_interval();
  out += svg::text(x, y + (between ? -1.0 : 4.0), "middle", "value " + ink,
                   number(cell.value.value, digits));
  if (between) {
    out += svg::text(
        x, y + 12.0, "middle", "between " + ink,
        fmt::format("[{}, {}]", number(cell.value.low, digits), number(cell.value.high, digits)));
  }
  return out + frame_of(cell, ink, x - width / 2, y - height / 2, width, height);
}

}  // namespace

std::string draw_cells(const FigurePanel& panel, const PanelAxes& axes) {
  AxisRange range;
  for (const FigureCell& cell : panel.cells) range.add(cell.value.value);
  const double span = range.high - range.low;
  std::string out;
  for (const FigureCell& cell : panel.cells) {
    const double share = span > 0.0 ? (cell.value.value - range.low) / span : 0.5;
    out += draw_cell(cell, panel.digits, share, axes);
  }
  return out;
}

}  // namespace broadloom
