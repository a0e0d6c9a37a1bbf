#include "research/figure/panel_drawing.h"

#include <fmt/core.h>

#include <algorithm>

#include "research/figure/svg.h"

namespace broadloom {
namespace {

constexpr double kInset = 7.0;      // so that no mark at the end of an axis is cut by the frame
constexpr double kTickSize = 12.0;  // of letters
constexpr double kSlope = 0.643;    // sine of the 40 degrees by which crowded categories turn

double widest(const std::vector<std::string>& texts) {
  double width = 0.0;
  for (const std::string& text : texts) width = std::max(width, svg::text_width(text, kTickSize));
  return width;
}

bool turned(const FigurePanel& panel, const Axis& axis, double width) {
  const double slot = width / static_cast<double>(std::max<std::size_t>(axis.texts().size(), 1));
  return panel.x.scale == FigureScale::kCategories && widest(axis.texts()) + 4.0 > slot;
}

void add_lines(const FigurePanel& panel, AxisRange& x, AxisRange& y) {
  for (const FigureLine& line : panel.lines) (line.vertical ? x : y).add(line.at);
}

std::string x_ticks(const Axis& axis, const PanelFrame& frame, bool turn, bool rules) {
  std::string out;
  const double y = frame.bottom + 16.0;
  for (const AxisTick& tick : axis.ticks()) {
    if (rules) {
      out += svg::line(tick.at, frame.bottom, tick.at, frame.bottom + 4.0, "frame");
    }
    if (turn) {
      out += fmt::format(
          "<text transform='translate({:.1f},{:.1f}) rotate(-40)' text-anchor='end'>{}</text>\n",
          tick.at + 4.0, y - 3.0, svg::escaped(tick.text));
    } else {
      out += svg::text(tick.at, y, "middle", "", tick.text);
    }
  }
  return out;
}

std::string y_ticks(const Axis& axis, const PanelFrame& frame, bool rules) {
  std::string out;
  for (const AxisTick& tick : axis.ticks()) {
    if (rules) out += svg::line(frame.left, tick.at, frame.right, tick.at, "grid");
    out += svg::text(frame.left - 7.0, tick.at + 4.0, "end", "", tick.text);
  }
  return out;
}

std::string titles(const FigurePanel& panel, const PanelPlace& place, const PanelFrame& frame) {
  std::string out;
  if (!panel.title.empty()) {
    out += svg::text(frame.left, place.y + 14.0, "start", "panel", panel.title);
  }
  if (!panel.x.title.empty()) {
    out += svg::text((frame.left + frame.right) / 2, place.y + place.height - 4.0, "middle", "",
                     panel.x.title);
  }
  if (!panel.y.title.empty()) {
    out += fmt::format(
        "<text transform='translate({:.1f},{:.1f}) rotate(-90)' text-anchor='middle'>{}</text>\n",
        place.x + 12.0, (frame.top + frame.bottom) / 2, svg::escaped(panel.y.title));
  }
  return out;
}

std::string rules_across(const FigurePanel& panel, const PanelAxes& axes, const PanelFrame& frame) {
  std::string out;
  for (const FigureLine& line : panel.lines) {
    if (line.vertical) {
      const double x = axes.x.at(line.at);
      out += svg::line(x, frame.top, x, frame.bottom, "rule");
      out += svg::text(x + 4.0, frame.top + 12.0, "start", "small", line.label);
    } else {
      const double y = axes.y.at(line.at);
      out += svg::line(frame.left, y, frame.right, y, "rule");
      out += svg::text(frame.left + 4.0, y - 4.0, "start", "small", line.label);
    }
  }
  return out;
}

}  // namespace

PanelAxes panel_axes(const FigurePanel& panel, double width, double height) {
  AxisRange x, y;
  for (const FigureSeries& series : panel.series) {
    for (const FigurePoint& point : series.points) {
      x.add(point.x);
      y.add(point.y.value);
      if (panel.intervals == FigureIntervals::kNone) continue;
      y.add(point.y.low);
      y.add(point.y.high);
    }
  }
  add_lines(panel, x, y);
  const bool log = panel.x.scale == FigureScale::kLog2 || panel.x.scale == FigureScale::kLog10;
  const int columns = std::max(2, static_cast<int>(width / (log ? 34.0 : 72.0)));
  const int rows = std::max(2, static_cast<int>(height / 34.0));
  return {Axis(panel.x, x, columns, false), Axis(panel.y, y, rows, true)};
}

PanelMargins margins_of(const FigurePanel& panel, const PanelAxes& axes, double width, bool ends) {
  PanelMargins margins;
  margins.left = widest(axes.y.texts()) + 10.0 + (panel.y.title.empty() ? 0.0 : 18.0);
  margins.right = 12.0;
  if (ends && panel.series.size() > 1) {
    for (const FigureSeries& series : panel.series) {
      margins.right = std::max(margins.right, svg::text_width(series.name, kTickSize) + 26.0);
    }
  }
  margins.top = panel.title.empty() ? 8.0 : 24.0;
  const double inside = width - margins.left - margins.right;
  margins.bottom = turned(panel, axes.x, inside) ? widest(axes.x.texts()) * kSlope + 14.0 : 22.0;
  if (!panel.x.title.empty()) margins.bottom += 18.0;
  return margins;
}

std::string draw_panel(const FigurePanel& panel, PanelAxes axes, const PanelPlace& place,
                       const PanelMargins& margins, bool ends) {
  const PanelFrame frame{place.x + margins.left, place.x + place.width - margins.right,
                         place.y + margins.top, place.y + place.height - margins.bottom};
  const bool heat = panel.kind == FigureKind::kHeat;
  axes.x.set_pixels(frame.left, frame.right, kInset);
  if (panel.y.scale == FigureScale::kCategories) {
    axes.y.set_pixels(frame.top, frame.bottom, kInset);  // read from the top
  } else {
    axes.y.set_pixels(frame.bottom, frame.top, kInset);
  }
  std::string out = titles(panel, place, frame);
  out += y_ticks(axes.y, frame, !heat);
  out += x_ticks(axes.x, frame, turned(panel, axes.x, frame.right - frame.left), !heat);
  if (heat) return out + draw_cells(panel, axes);
  out += svg::line(frame.left, frame.bottom, frame.right, frame.bottom, "frame");
  out += rules_across(panel, axes, frame);
  return out + draw_series(panel, axes, frame, ends);
}

}  // namespace broadloom
