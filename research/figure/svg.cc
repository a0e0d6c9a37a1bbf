#include "research/figure/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "research/figure/figure.h"

namespace broadloom::svg {
namespace {

// Okabe and Ito's colours for all kinds of colour vision, darkened for white paper, lightened for
// black.
constexpr std::array<const char*, kFigureStyles> kOnLight = {
    "#0068a8", "#c74e00", "#007a57", "#a8478a", "#7d6200", "#2f86bd", "#24292f", "#77808a"};
constexpr std::array<const char*, kFigureStyles> kOnDark = {
    "#5aaeff", "#ff9350", "#34c99b", "#e796c6", "#e0c23c", "#a5daf7", "#e6edf3", "#8b949e"};

constexpr const char* kStyle =
    "text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-size:16px;font-weight:600;fill:"
    "#24292f}.panel{font-size:13px;font-weight:600;fill:#24292f}.label{fill:#24292f}.small{font-"
    "size:11px}.paper{fill:#fff}.grid{stroke:#8c959f;stroke-opacity:.3}.frame{stroke:#8c959f;fill:"
    "none}.rule{stroke:#57606a;stroke-dasharray:4 3}.lead{stroke:#8c959f;stroke-width:.8}.curve{"
    "fill:none;stroke-width:2;stroke-linejoin:round}.bar{stroke-width:1.4;fill:none}.band{fill-"
    "opacity:.2;stroke-width:0}.mark{stroke-width:1.4;stroke-linejoin:round}.faint{opacity:.75}."
    "value{"
    "font-size:12px;font-weight:600}.between{font-size:10px}.on-dark{fill:#fff}.on-light{fill:#111}"
    ".best{fill:none;stroke-width:2.5}.level{fill:none;stroke-width:1.3;stroke-dasharray:4 3}.edge-"
    "on-dark{stroke:#fff}.edge-on-light{stroke:#111}";
constexpr const char* kDarkStyle =
    "text{fill:#9198a1}.title,.panel,.label{fill:#e6edf3}.paper{fill:#0d1117}.rule{stroke:#9198a1}"
    ".on-dark{fill:#fff}.on-light{fill:#111}";

std::string series_styles(const std::array<const char*, kFigureStyles>& colours) {
  std::string out;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    out += fmt::format(".s{0}{{stroke:{1}}}.f{0}{{fill:{1};stroke:{1}}}", i, colours[i]);
  }
  return out;
}

// In shares of the size, as wide as in the widest of the usual fonts (DejaVu Sans).
double char_width(char c) {
  if (std::string_view("iljI.,:;'|! ").find(c) != std::string_view::npos) return 0.32;
  if (std::string_view("frt()[]-/").find(c) != std::string_view::npos) return 0.41;
  if (std::string_view("mwMW%@").find(c) != std::string_view::npos) return 0.95;
  if (c >= 'A' && c <= 'Z') return 0.72;
  return 0.62;
}

std::string polygon(std::size_t style, double x, double y, const std::vector<double>& corners) {
  std::string points;
  for (std::size_t i = 0; i + 1 < corners.size(); i += 2) {
    points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x + corners[i], y + corners[i + 1]);
  }
  return fmt::format("<polygon class='mark f{}' points='{}'/>", style, points);
}

// Strokes from corner to corner, two at a time.
std::string strokes(std::size_t style, double x, double y, const std::vector<double>& corners) {
  std::string path;
  for (std::size_t i = 0; i + 1 < corners.size(); i += 2) {
    path +=
        fmt::format("{}{:.1f},{:.1f}", i % 4 == 0 ? "M" : "L", x + corners[i], y + corners[i + 1]);
  }
  return fmt::format("<path class='mark s{}' d='{}'/>", style, path);
}

}  // namespace

std::string open(double width, double height, const std::string& title, const std::string& note) {
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:g} {1:g}' width='{0:g}' "
      "height='{1:g}' role='img'>\n<title>{2}</title>\n",
      width, height, escaped(title));
  if (!note.empty()) out += fmt::format("<desc>{}</desc>\n", escaped(note));
  out += fmt::format("<style>{}{}@media(prefers-color-scheme:dark){{{}{}}}</style>\n", kStyle,
                     series_styles(kOnLight), kDarkStyle, series_styles(kOnDark));
  return out + fmt::format("<rect class='paper' width='{:g}' height='{:g}'/>\n", width, height);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

double text_width(std::string_view text, double size) {
  double width = 0.0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) width += char_width(c);
  }
  return width * size;
}

std::vector<std::string> wrapped(const std::string& text, double size, double width) {
  std::vector<std::string> lines;
  std::string current;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::string longer = current.empty() ? word : current + " " + word;
    if (!current.empty() && text_width(longer, size) > width) {
      lines.push_back(current);
      current = word;
    } else {
      current = longer;
    }
    at = end + 1;
  }
  if (!current.empty()) lines.push_back(current);
  return lines;
}

std::string text(double x, double y, std::string_view anchor, std::string_view css,
                 std::string_view words) {
  const std::string style = css.empty() ? "" : fmt::format(" class='{}'", css);
  const std::string where = anchor == "start" ? "" : fmt::format(" text-anchor='{}'", anchor);
  return fmt::format("<text{} x='{:.1f}' y='{:.1f}'{}>{}</text>\n", style, x, y, where,
                     escaped(words));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view css) {
  return fmt::format("<line class='{}' x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}'/>\n", css,
                     x1, x2, y1, y2);
}

std::string mark(std::size_t style, double x, double y) {
  switch (style % kFigureStyles) {
    case 0:
      return fmt::format("<circle class='mark f0' cx='{:.1f}' cy='{:.1f}' r='3.2'/>", x, y);
    case 1:
      return polygon(1, x, y, {-3, -3, 3, -3, 3, 3, -3, 3});
    case 2:
      return polygon(2, x, y, {0, -3.8, 3.6, 2.8, -3.6, 2.8});
    case 3:
      return polygon(3, x, y, {0, -4.4, 4, 0, 0, 4.4, -4, 0});
    case 4:
      return polygon(4, x, y, {0, 3.8, 3.6, -2.8, -3.6, -2.8});
    case 5:
      return strokes(5, x, y, {-3.2, -3.2, 3.2, 3.2, -3.2, 3.2, 3.2, -3.2});
    case 6:
      return strokes(6, x, y, {-4, 0, 4, 0, 0, -4, 0, 4});
    default:
      return polygon(7, x, y, {-1.6, -4, 1.6, -4, 1.6, 4, -1.6, 4});
  }
}

Colour heat_colour(double share) {
  // Stops of cividis (Nunez, Anderton and Renslow 2018), which reads alike for all kinds of colour
  // vision.
  constexpr std::array<std::array<double, 3>, 6> kStops = {{{0, 34, 78},
                                                            {58, 73, 107},
                                                            {102, 105, 112},
                                                            {149, 143, 120},
                                                            {203, 186, 105},
                                                            {254, 232, 56}}};
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(kStops.size() - 1);
  const std::size_t i = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(i);
  std::array<int, 3> rgb{};
  for (std::size_t c = 0; c < 3; ++c) {
    rgb[c] = static_cast<int>(std::lround(kStops[i][c] + part * (kStops[i + 1][c] - kStops[i][c])));
  }
  return {fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]), share > 0.55};
}

}  // namespace broadloom::svg
