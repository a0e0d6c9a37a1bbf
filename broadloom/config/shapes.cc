#include "broadloom/config/shapes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace broadloom {
namespace {

constexpr int kMaxExtentOfShape = 1 << 20;  // of environments and of steps, as in Config

bool in_range(std::int64_t n) { return n >= 1 && n <= kMaxExtentOfShape; }

Status add(std::int64_t num_envs, std::int64_t num_steps, std::vector<BlockShape>& out) {
  if (!in_range(num_envs) || !in_range(num_steps)) {
    return invalid(fmt::format("shapes: got {}x{}; expected 1 to {} environments and 1 to {} steps",
                               num_envs, num_steps, kMaxExtentOfShape, kMaxExtentOfShape));
  }
  const BlockShape shape{static_cast<int>(num_envs), static_cast<int>(num_steps)};
  if (std::find(out.begin(), out.end(), shape) == out.end()) out.push_back(shape);
  return {};
}

Status add_list(const ShapeRules& rules, std::vector<BlockShape>& out) {
  BROADLOOM_TRY(check_distinct(rules.list));
  for (const BlockShape& shape : rules.list) {
    const std::int64_t batch = std::int64_t{shape.num_envs} * shape.num_steps;
    if (rules.batch != 0 && batch != rules.batch) {
      return invalid(
          fmt::format("shapes: {} makes a batch of {}, but batch is {}; every listed "
                      "shape must have N * T = batch (leave batch out to mix them)",
                      shape_text(shape), batch, rules.batch));
    }
    BROADLOOM_TRY(add(shape.num_envs, shape.num_steps, out));
  }
  return {};
}

Status add_ladder(const ShapeRules& rules, std::vector<BlockShape>& out) {
  if (!rules.ladder) return {};
  const std::int64_t batch = rules.batch;
  if (batch < 1 || batch > kMaxExtentOfShape || (batch & (batch - 1)) != 0) {
    return invalid(
        fmt::format("shapes: a ladder has all powers of two with N * T = batch, but batch is {}; "
                    "expected a power of two up to {}, such as 1024{}",
                    batch, kMaxExtentOfShape, batch == 0 ? " (none was given)" : ""));
  }
  for (std::int64_t n = 1; n <= batch; n *= 2) BROADLOOM_TRY(add(n, batch / n, out));
  return {};
}

Status add_doubled(const ShapeRules& rules, std::vector<BlockShape>& out) {
  if (rules.doublings < 1 || rules.doublings > 20) {
    return invalid(fmt::format("shapes: doublings is {}; expected 1 to 20", rules.doublings));
  }
  BROADLOOM_TRY(check_distinct(rules.doubled));
  for (const BlockShape& shape : rules.doubled) {
    BROADLOOM_TRY(add(shape.num_envs, shape.num_steps, out));
    for (int i = 1; i <= rules.doublings; ++i) {
      BROADLOOM_TRY(add(std::int64_t{shape.num_envs} << i, shape.num_steps, out));
      BROADLOOM_TRY(add(shape.num_envs, std::int64_t{shape.num_steps} << i, out));
    }
  }
  return {};
}

Status add_env_counts(const ShapeRules& rules, std::vector<BlockShape>& out) {
  if (rules.max_envs == 0) return {};
  if (!in_range(rules.max_envs) || !in_range(rules.num_steps)) {
    return invalid(fmt::format(
        "shapes: got max_envs {} and num_steps {}; N = 1, 2, 4, ... up to max_envs needs "
        "num_steps, and both must be 1 to {}",
        rules.max_envs, rules.num_steps, kMaxExtentOfShape));
  }
  for (std::int64_t n = 1; n <= rules.max_envs; n *= 2) {
    BROADLOOM_TRY(add(n, rules.num_steps, out));
  }
  return {};
}

}  // namespace

std::string shape_text(const BlockShape& shape) {
  return fmt::format("{}x{}", shape.num_envs, shape.num_steps);
}

Result<BlockShape> parse_shape(const std::string& text, const std::string& name) {
  BlockShape shape;
  const char* end = text.data() + text.size();
  const auto [cross, error] = std::from_chars(text.data(), end, shape.num_envs);
  if (error == std::errc() && cross != end && *cross == 'x') {
    const auto [rest, fault] = std::from_chars(cross + 1, end, shape.num_steps);
    if (fault == std::errc() && rest == end && shape.num_envs >= 1 && shape.num_steps >= 1) {
      return shape;
    }
  }
  return invalid(
      fmt::format("{}: got '{}'; expected num_envs x num_steps, as in 16x64", name, text));
}

Status check_distinct(const std::vector<BlockShape>& list) {
  for (auto shape = list.begin(); shape != list.end(); ++shape) {
    if (std::find(list.begin(), shape, *shape) != shape) {
      return invalid(fmt::format("shapes: got {} twice; remove one of them", shape_text(*shape)));
    }
  }
  return {};
}

Result<std::vector<BlockShape>> make_shapes(const ShapeRules& rules) {
  std::vector<BlockShape> shapes;
  if (rules.batch != 0 && !rules.ladder && rules.list.empty()) {
    return invalid(fmt::format(
        "shapes: got batch {}, but no ladder and no list of shapes; set the ladder, or list "
        "shapes, such as 8x128",
        rules.batch));
  }
  if (rules.doublings != 1 && rules.doubled.empty()) {
    return invalid(
        fmt::format("shapes: got doublings {}, but no shape to double; list shapes in doubled, "
                    "such as 8x128, or leave doublings out",
                    rules.doublings));
  }
  BROADLOOM_TRY(add_list(rules, shapes));
  BROADLOOM_TRY(add_ladder(rules, shapes));
  BROADLOOM_TRY(add_doubled(rules, shapes));
  BROADLOOM_TRY(add_env_counts(rules, shapes));
  return shapes;
}

}  // namespace broadloom
