// Lines with their intervals, points, and the names at the lines' ends.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "research/figure/panel_drawing.h"
#include "research/figure/svg.h"

namespace broadloom {
namespace {

constexpr double kLabelHeight = 14.0;

// So that bars of several series at one x stand beside each other. Points may lie anywhere between
// two categories, but not between two numbers.
double dodge_of(const FigurePanel& panel, std::size_t i) {
  const bool apart = panel.kind == FigureKind::kPoints;
  if (apart && panel.x.scale != FigureScale::kCategories) return 0.0;
  if (!apart && (panel.intervals != FigureIntervals::kBars || panel.series.size() > 4)) return 0.0;
  const double middle = (static_cast<double>(panel.series.size()) - 1.0) / 2.0;
  return (apart ? 11.0 : 3.0) * (static_cast<double>(i) - middle);
}

std::string corner(bool first, double x, double y) {
  return fmt::format("{}{:.1f},{:.1f}", first ? "M" : "L", x, y);
}

std::string band(const FigureSeries& series, const PanelAxes& axes) {
  std::string path;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const FigurePoint& point = series.points[i];
    path += corner(i == 0, axes.x.at(point.x), axes.y.at(point.y.high));
  }
  for (std::size_t i = series.points.size(); i-- > 0;) {
    const FigurePoint& point = series.points[i];
    path += corner(false, axes.x.at(point.x), axes.y.at(point.y.low));
  }
  return fmt::format("<path class='band f{}' d='{}Z'/>\n", series.style, path);
}

std::string bars(const FigureSeries& series, const PanelAxes& axes, double dodge) {
  std::string out;
  for (const FigurePoint& point : series.points) {
    if (!point.y.has_interval()) continue;
    const double x = axes.x.at(point.x) + dodge;
    out += svg::line(x, axes.y.at(point.y.low), x, axes.y.at(point.y.high),
                     fmt::format("bar s{}", series.style));
  }
  return out;
}

std::string curve(const FigureSeries& series, const PanelAxes& axes, double dodge) {
  std::string path;
  for (const FigurePoint& point : series.points) {
    path += corner(path.empty(), axes.x.at(point.x) + dodge, axes.y.at(point.y.value));
  }
  return fmt::format("<path class='curve s{}' d='{}'/>\n", series.style, path);
}

std::string marks(const FigureSeries& series, const PanelAxes& axes, double dodge, bool faint) {
  std::string out = faint ? "<g class='faint'>" : "<g>";
  for (const FigurePoint& point : series.points) {
    out += svg::mark(series.style, axes.x.at(point.x) + dodge, axes.y.at(point.y.value));
  }
  return out + "</g>\n";
}

struct EndLabel {
  const FigureSeries* series = nullptr;
  double x = 0.0, y = 0.0;  // of the line's end
  double place = 0.0;       // of the label
};

// Moves labels apart where lines end close together: groups that touch stand centred on their
// lines' mean.
void part_labels(std::vector<EndLabel>& labels, double top, double bottom) {
  std::stable_sort(labels.begin(), labels.end(),
                   [](const EndLabel& a, const EndLabel& b) { return a.y < b.y; });
  struct Group {
    std::size_t first, count;
    double middle;
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    groups.push_back({i, 1, labels[i].y});
    while (groups.size() > 1) {
      Group& below = groups[groups.size() - 1];
      Group& above = groups[groups.size() - 2];
      const double apart = below.middle - above.middle;
      if (apart >= kLabelHeight * static_cast<double>(above.count + below.count) / 2.0) break;
      const double both = static_cast<double>(above.count + below.count);
      above.middle = (above.middle * static_cast<double>(above.count) +
                      below.middle * static_cast<double>(below.count)) /
                     both;
      above.count += below.count;
      groups.pop_back();
    }
  }
  for (const Group& group : groups) {
    const double half = kLabelHeight * (static_cast<double>(group.count) - 1.0) / 2.0;
    const double middle = std::clamp(group.middle, top + half, std::max(top + half, bottom - half));
    for (std::size_t i = 0; i < group.count; ++i) {
      labels[group.first + i].place = middle - half + kLabelHeight * static_cast<double>(i);
    }
  }
}

std::string end_labels(const FigurePanel& panel, const PanelAxes& axes, const PanelFrame& frame) {
  std::vector<EndLabel> labels;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const FigureSeries& series = panel.series[i];
    if (series.points.empty()) continue;
    const FigurePoint& last = series.points.back();
    const double y = axes.y.at(last.y.value);
    labels.push_back({&series, axes.x.at(last.x) + dodge_of(panel, i), y, y});
  }
  part_labels(labels, frame.top, frame.bottom);
  std::string out;
  for (const EndLabel& label : labels) {
    const double x = frame.right + 10.0;
    if (std::abs(label.place - label.y) > 3.0 || x - label.x > 24.0) {
      out += svg::line(label.x + 5.0, label.y, x - 5.0, label.place, "lead");
    }
    out += svg::mark(label.series->style, x, label.place);
    out += svg::text(x + 8.0, label.place + 4.0, "start", "label", label.series->name);
  }
  return out;
}

}  // namespace

std::string draw_series(const FigurePanel& panel, const PanelAxes& axes, const PanelFrame& frame,
                        bool ends) {
  const bool lines = panel.kind == FigureKind::kLines;
  const bool as_band = panel.intervals == FigureIntervals::kBand;
  std::string out;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const FigureSeries& series = panel.series[i];
    const double dodge = dodge_of(panel, i);
    if (as_band) out += band(series, axes);
    if (panel.intervals == FigureIntervals::kBars) out += bars(series, axes, dodge);
    if (lines) out += curve(series, axes, dodge);
    if (!as_band) out += marks(series, axes, dodge, !lines);
  }
  if (ends && panel.series.size() > 1) out += end_labels(panel, axes, frame);
  return out;
}

}  // namespace broadloom
