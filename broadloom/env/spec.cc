#include "broadloom/env/spec.h"

#include <fmt/format.h>

namespace broadloom {

std::string shape_text(const Space& space) {
  if (space.size == 0) return "none";
  return fmt::format("{}({}{})", space.kind == SpaceKind::kDiscrete ? "Discrete" : "Box",
                     fmt::join(space.extents(), ", "), space.dtype == Dtype::kU8 ? "; uint8" : "");
}

bool same_shape(const Space& a, const Space& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.extents() == b.extents();
}

}  // namespace broadloom
