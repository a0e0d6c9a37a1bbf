#include "research/report/gif.h"

#include <algorithm>

namespace broadloom {
namespace {

constexpr int kColourBits = 8;
constexpr int kMostCodes = 4096;

// Packs codes into bytes, the lowest bits first, and these into blocks of at most 255.
class CodeWriter {
 public:
  explicit CodeWriter(std::string& out) : out_(out) {}
  void write(int code, int bits) {
    held_ |= static_cast<std::uint32_t>(code) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) {
      block_ += static_cast<char>(held_ & 0xff);
      if (block_.size() == 255) flush();
    }
  }
  void end() {
    if (count_ > 0) block_ += static_cast<char>(held_ & 0xff);
    if (!block_.empty()) flush();
    out_ += '\0';
  }

 private:
  void flush() {
    out_ += static_cast<char>(block_.size());
    out_ += block_;
    block_.clear();
  }

  std::string& out_;
  std::string block_;
  std::uint32_t held_ = 0;
  int count_ = 0;
};

// Colours of a box of bins, and the number of their pixels.
struct ColourBox {
  std::vector<std::size_t> bins;
  std::uint64_t pixels = 0;
};

int channel_of(std::size_t bin, int channel) {
  return static_cast<int>(bin >> (10 - 5 * channel) & 31);
}

// The channel in which the box is widest.
int widest_channel(const ColourBox& box) {
  int widest = 0, most = -1;
  for (int c = 0; c < 3; ++c) {
    const auto [low, high] = std::minmax_element(
        box.bins.begin(), box.bins.end(),
        [c](std::size_t a, std::size_t b) { return channel_of(a, c) < channel_of(b, c); });
    const int width = channel_of(*high, c) - channel_of(*low, c);
    if (width > most) widest = c;
    most = std::max(most, width);
  }
  return widest;
}

}  // namespace

void GifPalette::add(const Raster& picture) {
  for (std::size_t i = 0; i + 2 < picture.rgb.size(); i += 3) {
    Bin& bin = bins_[bin_of(&picture.rgb[i])];
    ++bin.count;
    for (std::size_t c = 0; c < 3; ++c) bin.sum[c] += picture.rgb[i + c];
  }
}

void GifPalette::choose() {
  std::vector<ColourBox> boxes(1);
  for (std::size_t b = 0; b < bins_.size(); ++b) {
    if (bins_[b].count == 0) continue;
    boxes.front().bins.push_back(b);
    boxes.front().pixels += bins_[b].count;
  }
  while (boxes.size() < colours_.size()) {
    const auto weight = [](const ColourBox& box) { return box.bins.size() > 1 ? box.pixels : 0; };
    const auto largest = std::max_element(
        boxes.begin(), boxes.end(),
        [&](const ColourBox& a, const ColourBox& b) { return weight(a) < weight(b); });
    if (weight(*largest) == 0) break;  // every colour has its own
    ColourBox &low = *largest, high;
    const int channel = widest_channel(low);
    std::stable_sort(low.bins.begin(), low.bins.end(), [&](std::size_t a, std::size_t b) {
      return channel_of(a, channel) < channel_of(b, channel);
    });
    std::uint64_t before = bins_[low.bins.front()].count;
    std::size_t cut = 1;
    while (cut + 1 < low.bins.size() && before < low.pixels / 2)
      before += bins_[low.bins[cut++]].count;
    high.bins.assign(low.bins.begin() + static_cast<std::ptrdiff_t>(cut), low.bins.end());
    high.pixels = low.pixels - before;
    low.bins.resize(cut);
    low.pixels = before;
    boxes.push_back(std::move(high));
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint64_t sum = 0;
      for (const std::size_t b : boxes[i].bins) sum += bins_[b].sum[c];
      const std::uint64_t pixels = std::max<std::uint64_t>(1, boxes[i].pixels);
      colours_[i][c] = static_cast<std::uint8_t>((sum + pixels / 2) / pixels);
    }
    for (const std::size_t b : boxes[i].bins) index_[b] = static_cast<std::uint8_t>(i);
  }
}

GifEncoder::GifEncoder(int width, int height, const GifPalette& palette)
    : width_(width), height_(height), palette_(palette), out_("GIF89a") {
  add_number(width);
  add_number(height);
  out_ += {static_cast<char>(0xf7), '\0', '\0'};  // a palette of 256 colours
  for (const auto& colour : palette.colours()) {
    for (const std::uint8_t channel : colour) out_ += static_cast<char>(channel);
  }
  out_ += "\x21\xff\x0bNETSCAPE2.0\x03\x01";  // repeat without end
  out_.append(3, '\0');
}

void GifEncoder::add_number(int number) {
  out_ += static_cast<char>(number & 0xff);
  out_ += static_cast<char>(number >> 8 & 0xff);
}

void GifEncoder::add(const Raster& picture, int hundredths) {
  std::vector<std::uint8_t> now(std::size_t(width_) * height_);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = palette_.index_of(&picture.rgb[3 * i]);
  int left = 0, top = 0, right = width_ - 1, bottom = height_ - 1;
  if (!before_.empty()) {
    left = width_ - 1, top = height_ - 1, right = bottom = 0;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const std::size_t i = std::size_t(y) * width_ + x;
        if (now[i] == before_[i]) continue;
        left = std::min(left, x), right = std::max(right, x);
        top = std::min(top, y), bottom = std::max(bottom, y);
      }
    }
    if (right < left) left = right = 0;  // nothing changed: one pixel keeps the time
    if (bottom < top) top = bottom = 0;
  }
  out_ += "\x21\xf9\x04\x04";  // the next picture is drawn over this one
  add_number(hundredths);
  out_.append(2, '\0');
  out_ += '\x2c';
  add_number(left);
  add_number(top);
  add_number(right - left + 1);
  add_number(bottom - top + 1);
  out_ += '\0';
  std::vector<std::uint8_t> part;
  for (int y = top; y <= bottom; ++y) {
    const auto row = now.begin() + std::ptrdiff_t(y) * width_;
    part.insert(part.end(), row + left, row + right + 1);
  }
  add_compressed(part);
  before_ = std::move(now);
}

// Lempel-Ziv-Welch as the specification's appendix F has it: codes grow with the table, and a clear
// code begins a new one when it is full.
void GifEncoder::add_compressed(const std::vector<std::uint8_t>& pixels) {
  constexpr int kClear = 1 << kColourBits, kEnd = kClear + 1;
  out_ += static_cast<char>(kColourBits);
  CodeWriter writer(out_);
  std::vector<std::uint16_t> longer;  // [code, next pixel]; 0: no such code yet
  int next = 0, bits = 0;
  const auto begin = [&] {
    writer.write(kClear, bits == 0 ? kColourBits + 1 : bits);
    longer.assign(std::size_t{kMostCodes} << kColourBits, 0);
    next = kEnd + 1;
    bits = kColourBits + 1;
  };
  begin();
  int code = pixels.front();
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    std::uint16_t& found = longer[std::size_t(code) << kColourBits | pixels[i]];
    if (found != 0) {
      code = found;
      continue;
    }
    writer.write(code, bits);
    if (next < kMostCodes) {
      found = static_cast<std::uint16_t>(next);
      if (next == 1 << bits) ++bits;
      ++next;
    } else {
      begin();
    }
    code = pixels[i];
  }
  writer.write(code, bits);
  // The reader's table has grown once more with that code.
  if (next < kMostCodes && next == 1 << bits) ++bits;
  writer.write(kEnd, bits);
  writer.end();
}

std::string GifEncoder::file() { return out_ + '\x3b'; }

}  // namespace broadloom
