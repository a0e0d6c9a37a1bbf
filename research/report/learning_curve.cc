#include "research/report/learning_curve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "broadloom/core/escape.h"
#include "broadloom/core/estimate.h"
#include "broadloom/core/number_text.h"
#include "research/stats/sample_efficiency.h"

namespace broadloom {
namespace {

constexpr int kPoints = 200;
constexpr int kRunsForInterval = 5;
constexpr std::size_t kLineColours = 6, kMostCurves = 2 * kLineColours, kMostNameLetters = 88;

double value_at(const Curve& curve, double step) {
  const auto after = std::lower_bound(curve.steps.begin(), curve.steps.end(), step);
  if (after == curve.steps.begin()) return curve.returns.front();
  if (after == curve.steps.end()) return curve.returns.back();
  const std::size_t i = static_cast<std::size_t>(after - curve.steps.begin());
  const double share = (step - curve.steps[i - 1]) / (curve.steps[i] - curve.steps[i - 1]);
  return curve.returns[i - 1] + share * (curve.returns[i] - curve.returns[i - 1]);
}

// A point of the mean and its interval.
struct BandPoint {
  double step = 0.0, mean = 0.0, low = 0.0, high = 0.0;
};

struct DrawnLine {
  std::string words;  // its name and number of runs
  std::size_t place = 0;
  std::vector<BandPoint> band;
};

// The lowest and highest run at a step.
BandPoint with_range(const std::vector<Curve>& curves, BandPoint point) {
  point.low = point.high = value_at(curves.front(), point.step);
  for (const Curve& curve : curves) {
    point.low = std::min(point.low, value_at(curve, point.step));
    point.high = std::max(point.high, value_at(curve, point.step));
  }
  return point;
}

Result<std::vector<BandPoint>> band_of(const std::vector<Curve>& curves) {
  const RunCurves runs{static_cast<int>(curves.size()), 1, curves};
  const Result<std::vector<double>> steps = common_steps(runs, kPoints);
  if (!steps.ok()) return steps.status();
  const Result<EfficiencyCurve> found = sample_efficiency(runs, steps.value());
  if (!found.ok()) return found.status();
  std::vector<BandPoint> band;
  for (std::size_t i = 0; i < steps.value().size(); ++i) {
    const Estimate& iqm = found.value().iqm[i];
    const BandPoint point{steps.value()[i], iqm.value, iqm.low, iqm.high};
    band.push_back(runs.runs < kRunsForInterval ? with_range(curves, point) : point);
  }
  return band;
}

// A step of 1, 2 or 5 times a power of ten that divides the span into about `count` parts. Powers
// by multiplication have the same bits with every C library.
double tick_step(double span, int count) {
  const double raw = span / count;
  double power = 1.0;
  while (power > raw) power /= 10.0;
  while (power * 10.0 <= raw) power *= 10.0;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

// Maps values to pixels; there is a tick at each multiple of `step`.
struct CurveAxis {
  double low = 0.0, high = 1.0, step = 1.0;
  double first_pixel = 0.0, last_pixel = 1.0;  // of low and high; for y they fall
  double pixel(double value) const {
    return first_pixel + (value - low) / (high - low) * (last_pixel - first_pixel);
  }

  std::vector<double> ticks() const {
    std::vector<double> values;
    const double last = std::floor(high / step + 1e-9);
    for (double i = std::ceil(low / step - 1e-9); i <= last; ++i) values.push_back(i * step);
    return values;
  }

  // The value with the axis's unit (k, M) and decimals.
  std::string text(double value) const {
    const double largest = std::max(std::abs(low), std::abs(high));
    const double unit = largest >= 1e6 ? 1e6 : largest >= 1e4 ? 1e3 : 1.0;
    const char* letter = largest >= 1e6 ? "M" : largest >= 1e4 ? "k" : "";
    int decimals = 0;
    for (double digit = step / unit; digit < 1 - 1e-9; digit *= 10.0) ++decimals;
    if (std::abs(value) < step * 1e-6) return "0";
    if (unit == 1.0 && decimals == 0) return with_commas(std::llround(value));
    return fmt::format("{:.{}f}{}", value / unit, decimals, letter);
  }
};

CurveAxis step_axis(double last_step, double first_pixel, double last_pixel) {
  CurveAxis axis{0.0, last_step,
                 tick_step(last_step, static_cast<int>((last_pixel - first_pixel) / 72.0)),
                 first_pixel, last_pixel};
  // Extends the axis to a round number that the last whole block just misses.
  const double round = std::ceil(last_step / axis.step) * axis.step;
  if (round - last_step < 0.02 * axis.step) axis.high = round;
  return axis;
}

CurveAxis return_axis(const std::vector<DrawnLine>& lines, double first_pixel, double last_pixel) {
  const BandPoint& first = lines.front().band.front();
  CurveAxis axis{first.low, first.high, 1.0, first_pixel, last_pixel};
  for (const DrawnLine& line : lines) {
    for (const BandPoint& point : line.band) {
      axis.low = std::min(axis.low, point.low);
      axis.high = std::max(axis.high, point.high);
    }
  }
  // A single value, apart from rounding, is put into the middle.
  const double size = std::max(std::abs(axis.low), std::abs(axis.high));
  if (!(axis.high - axis.low > std::max(1e-9 * size, 1e-12))) {
    axis.low -= std::max(0.1 * size, 1e-9);
    axis.high += std::max(0.1 * size, 1e-9);
  }
  axis.step = tick_step(axis.high - axis.low, static_cast<int>((first_pixel - last_pixel) / 34.0));
  axis.low = std::floor(axis.low / axis.step + 1e-9) * axis.step;
  axis.high = std::ceil(axis.high / axis.step - 1e-9) * axis.step;
  return axis;
}

// Lines of at most `letters` characters, broken at spaces.
std::vector<std::string> wrapped(const std::string& text, std::size_t letters) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= letters) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

std::string text_at(double x, double y, const char* attributes, std::string_view words) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' {}>{}</text>\n", x, y, attributes,
                     xml_text(words));
}

std::string line(double x1, double y1, double x2, double y2, const char* css) {
  return fmt::format("<line class='{}' x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}'/>\n", css,
                     x1, x2, y1, y2);
}

constexpr double kWidth = 720.0, kSide = 14.0, kFrameHeight = 292.0, kRoom = 7.0, kRow = 18.0;

// Both axes with their titles.
std::string drawn_axes(const CurveAxis& x, const CurveAxis& y) {
  const double left = x.first_pixel - kRoom, right = x.last_pixel + kRoom;
  const double top = y.last_pixel - kRoom, bottom = y.first_pixel + kRoom;
  std::string out;
  for (const double value : y.ticks()) {
    out += line(left, y.pixel(value), right, y.pixel(value), "grid");
    out += text_at(left - 7.0, y.pixel(value) + 4.0, "text-anchor='end'", y.text(value));
  }
  out += line(left, bottom, right, bottom, "frame");
  for (const double value : x.ticks()) {
    out += line(x.pixel(value), bottom, x.pixel(value), bottom + 4.0, "frame");
    out += text_at(x.pixel(value), bottom + 16.0, "text-anchor='middle'", x.text(value));
  }
  out += text_at((left + right) / 2, bottom + 36.0, "text-anchor='middle'", "environment steps");
  return out + fmt::format(
                   "<text transform='translate({:.1f},{:.1f}) rotate(-90)' "
                   "text-anchor='middle'>return, mean over episodes</text>\n",
                   kSide + 12.0, (top + bottom) / 2);
}

std::string css_of(const DrawnLine& line) {
  return fmt::format("c{}{}", line.place % kLineColours,
                     line.place < kLineColours ? "" : " dashed");
}

std::string drawn_line(const DrawnLine& line, const CurveAxis& x, const CurveAxis& y) {
  std::string mean, high, low;
  for (const BandPoint& point : line.band) {
    const double across = x.pixel(point.step);
    mean += fmt::format("{}{:.1f},{:.1f}", mean.empty() ? 'M' : 'L', across, y.pixel(point.mean));
    high += fmt::format("{}{:.1f},{:.1f}", high.empty() ? 'M' : 'L', across, y.pixel(point.high));
    low.insert(0, fmt::format("L{:.1f},{:.1f}", across, y.pixel(point.low)));
  }
  return fmt::format(
      "<g class='{}'><path class='band' d='{}{}Z'/>\n<path class='curve' d='{}'/></g>\n",
      css_of(line), high, low, mean);
}

// A row for each line: its colour and its name.
std::string drawn_key(const std::vector<DrawnLine>& lines, double y) {
  std::string out;
  for (const DrawnLine& line : lines) {
    out += fmt::format("<g class='{}'><path class='curve' d='M{:.1f},{:.1f}h24'/></g>\n",
                       css_of(line), kSide, y - 4.0);
    out += text_at(kSide + 32.0, y, "class='name'", line.words);
    y += kRow;
  }
  return out;
}

// The colours of report.css, whose hues are the same on light and dark pages.
constexpr const char* kStyle =
    "text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-size:16px;font-weight:600}"
    ".title,.name{fill:#24292f}.small{font-size:11px}.paper{fill:#fff}"
    ".grid{stroke:#8c959f;stroke-opacity:.3}.frame{stroke:#8c959f}"
    ".curve{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}"
    ".dashed .curve{stroke-dasharray:7 3}.band{fill:currentColor;fill-opacity:.18}"
    ".c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#008a65}.c3{color:#a3538a}.c4{color:#b57b00}"
    ".c5{color:#4c4c4c}@media(prefers-color-scheme:dark){text{fill:#9198a1}"
    ".title,.name{fill:#e6edf3}.paper{fill:#0d1117}.c0{color:#56b4e9}.c1{color:#ff8b4d}"
    ".c2{color:#2fc79b}.c3{color:#dd92be}.c4{color:#f0c244}.c5{color:#c4c4c4}}";

// Says what lines and bands are.
std::string note_of(const std::vector<SeedCurves>& lines) {
  std::size_t most = 0;
  bool interval = false, range = false;
  for (const SeedCurves& line : lines) {
    most = std::max(most, line.curves.size());
    const bool enough = line.curves.size() >= kRunsForInterval;
    interval = interval || enough;
    range = range || (!enough && line.curves.size() > 1);
  }
  if (most == 1) return lines.size() == 1 ? "1 run" : "1 run a line";
  const std::string start = lines.size() == 1 ? fmt::format("{} runs; ", most) : "";
  return start + "line: interquartile mean over seeds; band: " +
         (interval ? "95 % bootstrap interval" : "") + (interval && range ? ", or " : "") +
         (range ? "lowest to highest run" : "") + (interval && range ? " of fewer than five" : "");
}

std::string picture(const std::string& title, const std::string& note,
                    const std::vector<DrawnLine>& lines) {
  double y = 8.0;
  std::string head;
  for (const std::string& words : wrapped(title, 70)) {
    y += 21.0;
    head += text_at(kSide, y - 3.0, "class='title'", words);
  }
  if (lines.size() > 1) {
    head += drawn_key(lines, y + kRow);
    y += kRow * static_cast<double>(lines.size()) + 4.0;
  }
  const double top = y + 18.0, bottom = top + kFrameHeight;
  const CurveAxis returns = return_axis(lines, bottom - kRoom, top + kRoom);
  std::size_t letters = 0;
  for (const double value : returns.ticks()) {
    letters = std::max(letters, returns.text(value).size());
  }
  double last_step = 0.0;
  for (const DrawnLine& line : lines) last_step = std::max(last_step, line.band.back().step);
  const double left = kSide + 28.0 + 7.5 * static_cast<double>(letters);
  const CurveAxis steps = step_axis(last_step, left + kRoom, kWidth - kSide - 12.0 - kRoom);
  const double height = bottom + 71.0;
  std::string drawn;
  for (const DrawnLine& line : lines) drawn += drawn_line(line, steps, returns);
  return fmt::format(
             "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:g} {1:g}' width='{0:g}' "
             "height='{1:g}' role='img'>\n<title>{2}</title>\n<desc>{3}</desc>\n"
             "<style>{4}</style>\n<rect class='paper' width='{0:g}' height='{1:g}'/>\n",
             kWidth, height, xml_text(title), note, kStyle) +
         head + drawn_axes(steps, returns) + drawn +
         text_at(kSide, height - 10.0, "class='small'", note) + "</svg>\n";
}

}  // namespace

Result<std::string> learning_curve_svg(const std::string& title,
                                       const std::vector<SeedCurves>& lines) {
  if (lines.empty() || lines.size() > kMostCurves) {
    return invalid(fmt::format(
        "the runs have {} different settings, expected 1 to {}, as a picture can tell apart; draw "
        "fewer runs, or compare them as a study",
        lines.size(), kMostCurves));
  }
  std::vector<DrawnLine> drawn;
  for (const SeedCurves& line : lines) {
    Result<std::vector<BandPoint>> band = band_of(line.curves);
    if (!band.ok()) return band.status();
    const std::size_t runs = line.curves.size();
    const std::string name = line.name.size() <= kMostNameLetters
                                 ? line.name
                                 : line.name.substr(0, kMostNameLetters - 3) + "...";
    drawn.push_back(
        {fmt::format("{}, {} run{}", name, runs, runs == 1 ? "" : "s"), drawn.size(), band.take()});
  }
  return picture(title, note_of(lines), drawn);
}

}  // namespace broadloom
