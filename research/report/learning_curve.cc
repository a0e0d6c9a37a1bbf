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

constexpr int kPoints = 300;

double value_at(const Curve& curve, double step) {
  const auto after = std::lower_bound(curve.steps.begin(), curve.steps.end(), step);
  if (after == curve.steps.begin()) return curve.returns.front();
  if (after == curve.steps.end()) return curve.returns.back();
  const std::size_t i = static_cast<std::size_t>(after - curve.steps.begin());
  const double share = (step - curve.steps[i - 1]) / (curve.steps[i] - curve.steps[i - 1]);
  return curve.returns[i - 1] + share * (curve.returns[i] - curve.returns[i - 1]);
}

// A point of the mean and its interval.
struct CurvePoint {
  double step = 0.0, mean = 0.0, low = 0.0, high = 0.0;
};

// The mean and, for at least two runs, its 95 % interval, at steps that all runs have.
std::vector<CurvePoint> band_of(const std::vector<Curve>& curves,
                                const std::vector<double>& steps) {
  std::vector<CurvePoint> band;
  const double count = static_cast<double>(curves.size());
  for (const double step : steps) {
    double mean = 0.0, squares = 0.0;
    for (const Curve& curve : curves) mean += value_at(curve, step) / count;
    for (const Curve& curve : curves) {
      const double difference = value_at(curve, step) - mean;
      squares += difference * difference;
    }
    const double half = curves.size() > 1 ? student_t(static_cast<int>(curves.size()) - 1) *
                                                std::sqrt(squares / (count - 1) / count)
                                          : 0.0;
    band.push_back({step, mean, mean - half, mean + half});
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

CurveAxis return_axis(const std::vector<CurvePoint>& band, double first_pixel, double last_pixel) {
  CurveAxis axis{band.front().low, band.front().high, 1.0, first_pixel, last_pixel};
  for (const CurvePoint& point : band) {
    axis.low = std::min(axis.low, point.low);
    axis.high = std::max(axis.high, point.high);
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

constexpr double kWidth = 720.0, kSide = 14.0, kFrameHeight = 292.0, kRoom = 7.0;

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

std::string drawn_band(const std::vector<CurvePoint>& band, const CurveAxis& x,
                       const CurveAxis& y) {
  std::string mean, high, low;
  for (const CurvePoint& point : band) {
    const double across = x.pixel(point.step);
    mean += fmt::format("{}{:.1f},{:.1f}", mean.empty() ? 'M' : 'L', across, y.pixel(point.mean));
    high += fmt::format("{}{:.1f},{:.1f}", high.empty() ? 'M' : 'L', across, y.pixel(point.high));
    low.insert(0, fmt::format("L{:.1f},{:.1f}", across, y.pixel(point.low)));
  }
  return fmt::format("<path class='band' d='{}{}Z'/>\n<path class='curve' d='{}'/>\n", high, low,
                     mean);
}

constexpr const char* kStyle =
    "text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-size:16px;font-weight:600;"
    "fill:#24292f}.small{font-size:11px}.paper{fill:#fff}.grid{stroke:#8c959f;stroke-opacity:.3}"
    ".frame{stroke:#8c959f}.curve{fill:none;stroke:#0068a8;stroke-width:2;stroke-linejoin:round}"
    ".band{fill:#0068a8;fill-opacity:.2}@media(prefers-color-scheme:dark){text{fill:#9198a1}"
    ".title{fill:#e6edf3}.paper{fill:#0d1117}.curve{stroke:#5aaeff}.band{fill:#5aaeff}}";

std::string picture(const std::string& title, const std::string& note,
                    const std::vector<CurvePoint>& band) {
  double y = 8.0;
  std::string head;
  for (const std::string& words : wrapped(title, 70)) {
    y += 21.0;
    head += text_at(kSide, y - 3.0, "class='title'", words);
  }
  const double top = y + 18.0, bottom = top + kFrameHeight;
  const CurveAxis returns = return_axis(band, bottom - kRoom, top + kRoom);
  std::size_t letters = 0;
  for (const double value : returns.ticks()) {
    letters = std::max(letters, returns.text(value).size());
  }
  const double left = kSide + 28.0 + 7.5 * static_cast<double>(letters);
  const CurveAxis steps = step_axis(band.back().step, left + kRoom, kWidth - kSide - 12.0 - kRoom);
  const double height = bottom + 71.0;
  return fmt::format(
             "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:g} {1:g}' width='{0:g}' "
             "height='{1:g}' role='img'>\n<title>{2}</title>\n<desc>{3}</desc>\n"
             "<style>{4}</style>\n<rect class='paper' width='{0:g}' height='{1:g}'/>\n",
             kWidth, height, xml_text(title), note, kStyle) +
         head + drawn_axes(steps, returns) + drawn_band(band, steps, returns) +
         text_at(kSide, height - 10.0, "class='small'", note) + "</svg>\n";
}

}  // namespace

Result<std::string> learning_curve_svg(const std::string& title, const std::vector<Curve>& curves) {
  if (curves.empty())
    return Status(ErrorKind::kInvalidConfig, "got no runs; expected at least one");
  const Result<std::vector<double>> steps =
      common_steps({static_cast<int>(curves.size()), 1, curves}, kPoints);
  if (!steps.ok()) return steps.status();
  const std::string note =
      curves.size() == 1 ? "1 run" : fmt::format("{} runs, mean and 95 % interval", curves.size());
  return picture(title, note, band_of(curves, steps.value()));
}

}  // namespace broadloom
