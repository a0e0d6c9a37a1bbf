#include "bridges/mujoco/render/webp.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <mutex>
#include <string_view>

#include "bridges/mujoco/look_up.h"

namespace broadloom::mujoco {
namespace {

constexpr char kLibrary[] = "libwebp.so.7";
constexpr char kHowToGet[] = "install it, on Debian `apt-get install libwebp7`";

}  // namespace

Result<const WebpEncoder*> WebpEncoder::find() {
  static std::mutex mutex;
  static WebpEncoder found;
  const std::lock_guard lock(mutex);
  if (found.free_ != nullptr) return &found;
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status(
        ErrorKind::kNotFound,
        fmt::format("the library for WebP pictures was not found: {}; {}", dlerror(), kHowToGet));
  }
  WebpEncoder loaded;
  if (!look_up(handle, "WebPEncodeRGB", loaded.encode_rgb_) ||
      !look_up(handle, "WebPFree", loaded.free_)) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("{} has no WebPEncodeRGB; {}", kLibrary, kHowToGet));
  }
  found = loaded;
  return &found;
}

std::string WebpEncoder::encode(const Picture& picture, float quality) const {
  std::uint8_t* bytes = nullptr;
  const std::size_t size = encode_rgb_(picture.rgb.data(), picture.width, picture.height,
                                       3 * picture.width, quality, &bytes);
  if (bytes == nullptr) return {};
  std::string file(reinterpret_cast<const char*>(bytes), size);
  free_(bytes);
  return file;
}

std::string webp_uri(const std::string& file) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "data:image/webp;base64,";
  out.reserve(out.size() + 4 * (file.size() / 3 + 1));
  for (std::size_t i = 0; i < file.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool there = i + k < file.size();
      bits = bits << 8 | (there ? static_cast<std::uint8_t>(file[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool there = i + k <= file.size();
      out.push_back(there ? kDigits[bits >> (18 - 6 * k) & 63u] : '=');
    }
  }
  return out;
}

}  // namespace broadloom::mujoco
