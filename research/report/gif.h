// Encodes animations as GIF (version 89a of its specification).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "research/report/picture.h"

namespace broadloom {

// Chooses 256 colours for many pictures: the boxes of colours with most pixels are halved where
// they are widest, at their median. Colours are told apart by 5 bits a channel.
class GifPalette {
 public:
  void add(const Raster& picture);
  void choose();  // after the last picture

  // The index of the nearest chosen colour.
  std::uint8_t index_of(const std::uint8_t* rgb) const { return index_[bin_of(rgb)]; }
  const std::array<std::array<std::uint8_t, 3>, 256>& colours() const { return colours_; }

 private:
  static std::size_t bin_of(const std::uint8_t* rgb) {
    return std::size_t(rgb[0] >> 3) << 10 | std::size_t(rgb[1] >> 3) << 5 | rgb[2] >> 3;
  }

  struct Bin {
    std::uint64_t count = 0;
    std::array<std::uint64_t, 3> sum{};  // of the channels of its pixels
  };
  std::vector<Bin> bins_ = std::vector<Bin>(1 << 15);
  std::vector<std::uint8_t> index_ = std::vector<std::uint8_t>(1 << 15);
  std::array<std::array<std::uint8_t, 3>, 256> colours_{};
};

class GifEncoder {
 public:
  GifEncoder(int width, int height, const GifPalette& palette);
  // hundredths: how long it is shown. Keeps the part that differs from the picture before.
  void add(const Raster& picture, int hundredths);
  std::string file();  // the whole file

 private:
  void add_number(int number);  // 16 bits, the lower byte first
  void add_compressed(const std::vector<std::uint8_t>& pixels);

  int width_, height_;
  const GifPalette& palette_;
  std::string out_;
  std::vector<std::uint8_t> before_;  // [height, width]; empty: no picture yet
};

}  // namespace broadloom
