#include "broadloom/report/learning_curve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "broadloom/stats/estimate.h"

namespace broadloom {
namespace {

constexpr int kPoints = 300;
constexpr double kWidth = 720, kHeight = 400;
constexpr double kLeft = 72, kRight = 24, kTop = 48, kBottom = 56;

struct Band {
  std::vector<double> steps, mean, low, high;
};

double value_at(const Curve& curve, double step) {
  const auto after = std::lower_bound(curve.steps.begin(), curve.steps.end(), step);
  if (after == curve.steps.begin()) return curve.returns.front();
  if (after == curve.steps.end()) return curve.returns.back();
  const std::size_t i = static_cast<std::size_t>(after - curve.steps.begin());
  const double share = (step - curve.steps[i - 1]) / (curve.steps[i] - curve.steps[i - 1]);
  return curve.returns[i - 1] + share * (curve.returns[i] - curve.returns[i - 1]);
}

Band band_of(const std::vector<Curve>& curves) {
  double first = curves.front().steps.front();
  double last = curves.front().steps.back();
  for (const Curve& curve : curves) {
    first = std::max(first, curve.steps.front());
    last = std::min(last, curve.steps.back());
  }
  Band band;
  const double count = static_cast<double>(curves.size());
  for (int i = 0; i < kPoints; ++i) {
    const double step = first + (last - first) * i / (kPoints - 1);
    double mean = 0.0, squares = 0.0;
    for (const Curve& curve : curves) mean += value_at(curve, step) / count;
    for (const Curve& curve : curves) {
      const double off = value_at(curve, step) - mean;
      squares += off * off;
    }
    const double half = curves.size() > 1 ? student_t(static_cast<int>(curves.size()) - 1) *
                                                std::sqrt(squares / (count - 1) / count)
                                          : 0.0;
    band.steps.push_back(step);
    band.mean.push_back(mean);
    band.low.push_back(mean - half);
    band.high.push_back(mean + half);
  }
  return band;
}

// A step of 1, 2 or 5 times a power of ten that gives about `count` ticks over the span.
double tick_step(double span, int count) {
  const double raw = std::max(span, 1e-12) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10.0 * power;
}

std::string number_text(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (std::abs(value) >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

std::string escaped(const std::string& text) {
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

// From data to picture coordinates.
class Frame {
 public:
  Frame(double x_max, double y_min, double y_max)
      : x_max_(x_max), y_step_(tick_step(y_max - y_min, 5)) {
    y_min_ = std::floor(y_min / y_step_) * y_step_;
    y_max_ = std::ceil(y_max / y_step_ - 1e-9) * y_step_;
    if (y_max_ <= y_min_) y_max_ = y_min_ + y_step_;
  }
  double x(double step) const { return kLeft + step / x_max_ * (kWidth - kLeft - kRight); }
  double y(double value) const {
    return kTop + (y_max_ - value) / (y_max_ - y_min_) * (kHeight - kTop - kBottom);
  }
  std::string grid() const {
    std::string out;
    const int rows = static_cast<int>(std::lround((y_max_ - y_min_) / y_step_));
    for (int i = 0; i <= rows; ++i) {
      const double v = y_min_ + i * y_step_;
      out += fmt::format("<line class='grid' x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}'/>", kLeft,
                         kWidth - kRight, y(v), y(v));
      out += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{}</text>\n", kLeft - 8,
                         y(v) + 4, number_text(v));
    }
    // A run that stops just short of a round number, as whole blocks do, still shows it.
    const double x_step = tick_step(x_max_, 6);
    const int columns = static_cast<int>(std::floor(x_max_ / x_step + 0.02));
    for (int i = 0; i <= columns; ++i) {
      out += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n",
                         x(std::min(i * x_step, x_max_)), kHeight - kBottom + 20,
                         number_text(i * x_step));
    }
    return out;
  }

 private:
  double x_max_, y_step_;
  double y_min_ = 0.0, y_max_ = 1.0;
};

std::string path_of(const Frame& frame, const Band& band) {
  std::string line, area;
  for (std::size_t i = 0; i < band.steps.size(); ++i) {
    line += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "M" : "L", frame.x(band.steps[i]),
                        frame.y(band.mean[i]));
    area += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "M" : "L", frame.x(band.steps[i]),
                        frame.y(band.high[i]));
  }
  for (std::size_t i = band.steps.size(); i-- > 0;) {
    area += fmt::format("L{:.1f},{:.1f}", frame.x(band.steps[i]), frame.y(band.low[i]));
  }
  return fmt::format("<path class='band' d='{}Z'/>\n<path class='mean' d='{}'/>\n", area, line);
}

constexpr const char* kStyle =
    "<style>text{font:13px system-ui,sans-serif;fill:#57606a}.title{font-size:16px;font-weight:600;"
    "fill:#24292f}.grid{stroke:#8c959f;stroke-opacity:.3}.mean{fill:none;stroke:#0969da;stroke-"
    "width:2}"
    ".band{fill:#0969da;fill-opacity:.2;stroke:none}@media(prefers-color-scheme:dark){text{fill:#"
    "9198a1}"
    ".title{fill:#e6edf3}.mean{stroke:#58a6ff}.band{fill:#58a6ff}}</style>\n";

}  // namespace

Result<std::string> learning_curve_svg(const std::string& title, const std::vector<Curve>& curves) {
  if (curves.empty())
    return Status(ErrorKind::kInvalidConfig, "got no runs; expected at least one");
  const Band band = band_of(curves);
  const Frame frame(band.steps.back(), *std::min_element(band.low.begin(), band.low.end()),
                    *std::max_element(band.high.begin(), band.high.end()));
  const std::string runs =
      curves.size() == 1 ? "1 run" : fmt::format("{} runs, mean and 95 % interval", curves.size());
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "role='img'>\n",
      kWidth, kHeight);
  svg += kStyle;
  svg += fmt::format("<text class='title' x='{}' y='26'>{}</text>\n", kLeft, escaped(title));
  svg += fmt::format("<text x='{}' y='26' text-anchor='end'>{}</text>\n", kWidth - kRight, runs);
  svg += frame.grid() + path_of(frame, band);
  svg += fmt::format("<text x='{:.0f}' y='{}' text-anchor='middle'>environment steps</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 12);
  svg += fmt::format(
      "<text transform='translate(18,{:.0f}) rotate(-90)' text-anchor='middle'>return, mean of "
      "100 episodes</text>\n</svg>\n",
      (kTop + kHeight - kBottom) / 2);
  return svg;
}

}  // namespace broadloom
