// Pictures as WebP files, by the library libwebp, which is looked for when it is needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom::mujoco {

struct Picture {
  int width, height;
  std::vector<std::uint8_t> rgb;  // [height, width, 3], the highest row first
};

class WebpEncoder {
 public:
  // The same for all. kNotFound with what was tried and what to do.
  static Result<const WebpEncoder*> find();

  // A file with losses; quality from 0 to 100. Empty where there is no memory.
  std::string encode(const Picture& picture, float quality) const;

 private:
  std::size_t (*encode_rgb_)(const std::uint8_t* rgb, int width, int height, int stride,
                             float quality, std::uint8_t** out) = nullptr;
  void (*free_)(void*) = nullptr;
};

// "data:image/webp;base64,...", which a page may have in the place of an address.
std::string webp_uri(const std::string& file);

}  // namespace broadloom::mujoco
