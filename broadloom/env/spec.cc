#include "broadloom/env/spec.h"

#include <fmt/format.h>

namespace broadloom {

namespace {

std::string dtype_text(const Space& space) {
  const std::string frames = space.frames > 1 ? fmt::format("{} frames", space.frames) : "";
  if (space.dtype != Dtype::kU8) return frames.empty() ? "" : "; " + frames;
  std::string text = "; uint8";
  if (space.full_scale() != 255.0f) text += fmt::format(" to {:g}", space.full_scale());
  return frames.empty() ? text : text + ", " + frames;
}

}  // namespace

std::string shape_text(const Space& space) {
  if (space.size == 0) return "none";
  const char* const masked = space.masked ? "; masked" : "";
  if (space.kind == SpaceKind::kMultiDiscrete) {
    return fmt::format("MultiDiscrete({}{})", fmt::join(space.choices(), ", "), masked);
  }
  if (space.kind == SpaceKind::kHybrid) {
    return fmt::format("Hybrid({}; {} numbers{})", fmt::join(space.choices(), ", "),
                       space.box_count(), masked);
  }
  return fmt::format("{}({}{}{})", space.kind == SpaceKind::kDiscrete ? "Discrete" : "Box",
                     fmt::join(space.extents(), ", "), dtype_text(space), masked);
}

bool same_shape(const Space& a, const Space& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.full_scale() == b.full_scale() &&
         a.extents() == b.extents() && a.frames == b.frames && a.choices() == b.choices();
}

}  // namespace broadloom
