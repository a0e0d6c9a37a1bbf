// Where the panels of a figure stand, and what stands around them.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "research/figure/figure.h"
#include "research/figure/panel_drawing.h"
#include "research/figure/svg.h"

namespace broadloom {
namespace {

constexpr double kSide = 14.0, kGap = 16.0;
constexpr double kTitleSize = 16.0, kTitleLine = 21.0, kNoteSize = 11.0, kNoteLine = 15.0;
constexpr double kKeyLine = 20.0;
constexpr double kLeast = 60.0;  // of a panel's inside, across
constexpr double kBold = 1.11;   // how much wider bold letters are

// The names of all series, once each.
std::vector<std::pair<std::string, std::size_t>> names_of(const Figure& figure) {
  std::vector<std::pair<std::string, std::size_t>> names;
  for (const FigurePanel& panel : figure.panels) {
    for (const FigureSeries& series : panel.series) {
      const bool known = std::any_of(names.begin(), names.end(),
                                     [&](const auto& entry) { return entry.first == series.name; });
      if (!known) names.emplace_back(series.name, series.style);
    }
  }
  return names;
}

class Drawing {
 public:
  explicit Drawing(const Figure& figure) : figure_(figure) {
    columns_ = std::clamp(figure.columns, 1, std::max(1, static_cast<int>(figure.panels.size())));
    panel_width_ = (figure.width - 2 * kSide - kGap * (columns_ - 1)) / columns_;
    set_margins();
  }

  std::string picture() {
    std::string body = head();
    body += panels();
    body += note();
    return svg::open(figure_.width, y_ + 8.0, figure_.title, figure_.note) + body + "</svg>\n";
  }

 private:
  bool ends() const { return figure_.labels == FigureLabels::kEnds; }

  // Panels have the same margins, so that their frames stand in line.
  void set_margins() {
    for (const FigurePanel& panel : figure_.panels) {
      const PanelAxes axes = panel_axes(panel, panel_width_ * 0.75, figure_.panel_height * 0.75);
      const PanelMargins own = margins_of(panel, axes, panel_width_, ends());
      margins_.left = std::max(margins_.left, own.left);
      margins_.right = std::max(margins_.right, own.right);
      margins_.top = std::max(margins_.top, own.top);
      margins_.bottom = std::max(margins_.bottom, own.bottom);
    }
    // Names that are too long for the picture are cut, not the lines.
    margins_.right =
        std::min(margins_.right, std::max(12.0, panel_width_ - margins_.left - kLeast));
  }

  std::string head() {
    std::string out;
    y_ = 8.0;
    for (const std::string& words :
         svg::wrapped(figure_.title, kTitleSize * kBold, figure_.width - 2 * kSide)) {
      y_ += kTitleLine;
      out += svg::text(kSide, y_ - 3.0, "start", "title", words);
    }
    if (figure_.labels == FigureLabels::kTop) out += keys();
    y_ += 10.0;
    return out;
  }

  std::string keys() {
    std::string out;
    double x = kSide + 4.0;
    y_ += kKeyLine;
    for (const auto& [name, style] : names_of(figure_)) {
      const double width = svg::text_width(name, 12.0) + 34.0;
      if (x + width > figure_.width - kSide && x > kSide + 4.0) {
        x = kSide + 4.0;
        y_ += kKeyLine;
      }
      out += svg::mark(style, x, y_ - 6.0) + svg::text(x + 9.0, y_ - 2.0, "start", "label", name);
      x += width;
    }
    return out;
  }

  std::string panels() {
    std::string out;
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      const int column = static_cast<int>(i) % columns_, row = static_cast<int>(i) / columns_;
      const PanelPlace place{kSide + column * (panel_width_ + kGap),
                             y_ + row * (figure_.panel_height + kGap), panel_width_,
                             figure_.panel_height};
      const PanelAxes axes =
          panel_axes(figure_.panels[i], panel_width_ - margins_.left - margins_.right,
                     figure_.panel_height - margins_.top - margins_.bottom);
      out += draw_panel(figure_.panels[i], axes, place, margins_, ends());
    }
    const int rows = (static_cast<int>(figure_.panels.size()) + columns_ - 1) / columns_;
    y_ += rows * figure_.panel_height + (rows - 1) * kGap;
    return out;
  }

  std::string note() {
    std::string out;
    if (!figure_.note.empty()) y_ += 8.0;
    for (const std::string& words :
         svg::wrapped(figure_.note, kNoteSize, figure_.width - 2 * kSide)) {
      y_ += kNoteLine;
      out += svg::text(kSide, y_ - 2.0, "start", "small", words);
    }
    return out;
  }

  const Figure& figure_;
  int columns_ = 1;
  double panel_width_ = 0.0, y_ = 0.0;
  PanelMargins margins_;
};

}  // namespace

Status set_styles(Figure& figure) {
  std::map<std::string, std::size_t> styles;
  for (FigurePanel& panel : figure.panels) {
    for (FigureSeries& series : panel.series) {
      series.style = styles.emplace(series.name, styles.size()).first->second;
    }
  }
  if (styles.size() <= kFigureStyles) return {};
  return invalid(fmt::format(
      "got {} names of series, of which at most {} can be told apart; filter them with 'where', or "
      "spread them over panels under the same names",
      styles.size(), kFigureStyles));
}

std::string figure_svg(const Figure& figure) { return Drawing(figure).picture(); }

}  // namespace broadloom
