#include "research/report/picture.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace broadloom {
namespace {

// The inks in their order, then the colours; python/broadloom/render.py has the same.
constexpr std::array<std::uint32_t, static_cast<std::size_t>(Ink::kFirstColour) + kColours> kRgb{
    0x1c2128, 0x59636e, 0xd1d9e0, 0xf6f8fa, 0xffffff, 0x0b5cad, 0x0072b2,
    0xc2410c, 0x0072b2, 0xd55e00, 0x008a65, 0xa3538a, 0xb57b00, 0x4c4c4c,
    0x3b3aa8, 0x1d7a3c, 0x8b1e5a, 0x3a9fbf, 0x8a7a1f, 0xc04a63};

int even_pixels(double length) {
  return std::max(2, 2 * static_cast<int>(std::lround(length / 2)));
}

double length_of(double x, double y) { return std::sqrt(x * x + y * y); }

double to_segment(double x, double y, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
  const double share =
      square > 0.0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / square, 0.0, 1.0) : 0.0;
  return length_of(x - a.x - share * dx, y - a.y - share * dy);
}

double to_line(double x, double y, const std::vector<Point>& points) {
  double nearest = to_segment(x, y, points.front(), points.front());
  for (std::size_t i = 1; i < points.size(); ++i) {
    nearest = std::min(nearest, to_segment(x, y, points[i - 1], points[i]));
  }
  return nearest;
}

// Negative inside.
double to_polygon(double x, double y, const std::vector<Point>& corners) {
  double nearest = std::numeric_limits<double>::infinity();
  bool inside = false;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point a = corners[i], b = corners[(i + 1) % corners.size()];
    nearest = std::min(nearest, to_segment(x, y, a, b));
    if ((a.y > y) != (b.y > y) && x < (b.x - a.x) * (y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside ? -nearest : nearest;
}

std::vector<std::uint8_t> decoded_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) break;  // "=" at the end
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  return out;
}

// The library that encoded the picture decodes it, too.
Result<Raster> decoded_webp(const std::vector<std::uint8_t>& file) {
  using Decode = std::uint8_t* (*)(const std::uint8_t*, std::size_t, int*, int*);
  using Free = void (*)(void*);
  static void* const library = dlopen("libwebp.so.7", RTLD_NOW | RTLD_LOCAL);
  const auto decode =
      library == nullptr ? nullptr : reinterpret_cast<Decode>(dlsym(library, "WebPDecodeRGB"));
  const auto release =
      library == nullptr ? nullptr : reinterpret_cast<Free>(dlsym(library, "WebPFree"));
  if (decode == nullptr || release == nullptr) {
    return Status(ErrorKind::kNotFound,
                  "the library for WebP pictures, libwebp.so.7, was not found; install it, on "
                  "Debian `apt-get install libwebp7`, or use --view drawn");
  }
  Raster picture;
  const std::unique_ptr<std::uint8_t, Free> rgb(
      decode(file.data(), file.size(), &picture.width, &picture.height), release);
  if (rgb == nullptr) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("got a picture of {} bytes, expected one in WebP", file.size()));
  }
  picture.rgb.assign(rgb.get(), rgb.get() + std::size_t{3} * picture.width * picture.height);
  return picture;
}

}  // namespace

Painter::Painter(const Drawing& view, int side)
    : left_(view.left),
      top_(view.top),
      scale_(side / std::max(view.right - view.left, view.top - view.bottom)) {
  picture_.width = even_pixels((view.right - view.left) * scale_);
  picture_.height = even_pixels((view.top - view.bottom) * scale_);
  picture_.rgb.resize(std::size_t{3} * picture_.width * picture_.height);
}

void Painter::clear() { std::fill(picture_.rgb.begin(), picture_.rgb.end(), std::uint8_t{255}); }

Point Painter::pixel(double x, double y) const {
  return {(x - left_) * scale_, (top_ - y) * scale_};
}

// The numbers from `first` on as points.
std::vector<Point> Painter::points(const Shape& shape, std::size_t first) const {
  std::vector<Point> out;
  for (std::size_t i = first; i + 1 < shape.numbers.size(); i += 2) {
    out.push_back(pixel(shape.numbers[i], shape.numbers[i + 1]));
  }
  return out;
}

// Mixes the shape's colour into the pixels from low to high. distance: of a pixel's middle from the
// shape, negative inside.
template <class Distance>
void Painter::cover(const Shape& shape, Point low, Point high, const Distance& distance) {
  const auto bound = [](double x, int most) {
    return static_cast<int>(std::clamp(x, 0.0, static_cast<double>(most)));
  };
  const int x_end = bound(std::ceil(high.x) + 1.0, picture_.width);
  const int y_end = bound(std::ceil(high.y) + 1.0, picture_.height);
  const std::uint32_t ink = kRgb[static_cast<std::size_t>(shape.ink)];
  for (int y = bound(std::floor(low.y) - 1.0, picture_.height); y < y_end; ++y) {
    for (int x = bound(std::floor(low.x) - 1.0, picture_.width); x < x_end; ++x) {
      const double share = std::clamp(0.5 - distance(x + 0.5, y + 0.5), 0.0, 1.0) * shape.strength;
      if (share <= 0.0) continue;
      std::uint8_t* const rgb =
          &picture_.rgb[std::size_t{3} * (std::size_t(y) * picture_.width + x)];
      for (int c = 0; c < 3; ++c) {
        const double colour = ink >> (16 - 8 * c) & 0xff;
        rgb[c] = static_cast<std::uint8_t>(std::lround(rgb[c] + share * (colour - rgb[c])));
      }
    }
  }
}

Status Painter::add(const Shape& shape) {
  const std::vector<double>& n = shape.numbers;
  if (shape.kind == Shape::Kind::kText) return {};
  if (shape.kind == Shape::Kind::kImage) return add_image(shape);
  if (shape.kind == Shape::Kind::kCircle) {
    const Point middle = pixel(n[0], n[1]);
    const double radius = n[2] * scale_;
    cover(shape, {middle.x - radius, middle.y - radius}, {middle.x + radius, middle.y + radius},
          [&](double x, double y) { return length_of(x - middle.x, y - middle.y) - radius; });
    return {};
  }
  if (shape.kind == Shape::Kind::kRectangle) {
    const Point low = pixel(n[0], n[1] + n[3]), high = pixel(n[0] + n[2], n[1]);
    cover(shape, low, high, [&](double x, double y) {
      return std::max({low.x - x, x - high.x, low.y - y, y - high.y});
    });
    return {};
  }
  const bool is_line = shape.kind == Shape::Kind::kLine;
  const std::vector<Point> corners = points(shape, is_line ? 1 : 0);
  if (corners.empty()) return {};
  const double reach = is_line ? std::max(0.5 * n[0] * scale_, 0.5) : 0.0;
  Point low = corners.front(), high = low;
  for (const Point p : corners) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  cover(shape, {low.x - reach, low.y - reach}, {high.x + reach, high.y + reach},
        [&](double x, double y) {
          return is_line ? to_line(x, y, corners) - reach : to_polygon(x, y, corners);
        });
  return {};
}

Status Painter::add_image(const Shape& shape) {
  const std::string_view uri = shape.text;
  const Result<Raster> image = decoded_webp(decoded_base64(uri.substr(uri.find(',') + 1)));
  if (!image.ok()) return image.status();
  const std::vector<double>& n = shape.numbers;
  const Point low = pixel(n[0], n[1] + n[3]), high = pixel(n[0] + n[2], n[1]);
  const auto nearest = [](double x, double first, double last, int count) {
    return std::clamp(static_cast<int>((x - first) / (last - first) * count), 0, count - 1);
  };
  for (int y = 0; y < picture_.height; ++y) {
    for (int x = 0; x < picture_.width; ++x) {
      const double mx = x + 0.5, my = y + 0.5;
      if (mx < low.x || mx > high.x || my < low.y || my > high.y) continue;
      const int column = nearest(mx, low.x, high.x, image.value().width);
      const int row = nearest(my, low.y, high.y, image.value().height);
      std::copy_n(
          &image.value().rgb[std::size_t{3} * (std::size_t(row) * image.value().width + column)], 3,
          &picture_.rgb[std::size_t{3} * (std::size_t(y) * picture_.width + x)]);
    }
  }
  return {};
}

}  // namespace broadloom
