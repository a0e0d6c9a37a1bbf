// Encodes pictures as WebP files with libwebp, which is loaded at run time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom::mujoco {

struct Picture {
  int width, height;
  std::vector<std::uint8_t> rgb;  // [height, width, 3], top row first
};

class WebpEncoder {
 public:
  // The encoder, loaded once. kNotFound if the library is missing.
  static Result<const WebpEncoder*> find();

  // A lossy file. quality: 0 to 100. Empty without memory.
  std::string encode(const Picture& picture, float quality) const;

 private:
  std::size_t (*encode_rgb_)(const std::uint8_t* rgb, int width, int height, int stride,
                             float quality, std::uint8_t** out) = nullptr;
  void (*free_)(void*) = nullptr;
};

// The file as a data URI, "data:image/webp;base64,...".
std::string webp_uri(const std::string& file);

}  // namespace broadloom::mujoco
