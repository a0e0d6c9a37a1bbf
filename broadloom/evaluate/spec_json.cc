#include "broadloom/evaluate/spec_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "broadloom/record/json.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostNumbers = std::size_t{1} << 24;  // of a space that a file describes

// JSON has no infinities.
Json number_json(float number) {
  if (std::isfinite(number)) return Json(static_cast<double>(number));
  return number > 0.0f ? "inf" : "-inf";
}

// Bounds as [number, how many in a row, ...]: images have thousands of equal ones.
Json bounds_json(const std::vector<float>& bounds) {
  Json out = Json::array();
  for (std::size_t i = 0; i < bounds.size();) {
    std::size_t end = i;
    while (end < bounds.size() && bounds[end] == bounds[i]) ++end;
    out.push_back(number_json(bounds[i]));
    out.push_back(end - i);
    i = end;
  }
  return out;
}

const char* group_dtype_name(Dtype dtype) {
  if (dtype == Dtype::kU8) return "uint8";
  return dtype == Dtype::kI64 ? "int64" : "float32";
}

Json bare_space_json(const Space& space) {
  if (space.kind == SpaceKind::kDiscrete) {
    Json discrete = Json::object();
    discrete["n"] = space.size;
    discrete["start"] = space.start;
    return discrete;
  }
  if (space.kind == SpaceKind::kMultiDiscrete) {
    Json several = Json::object();
    several["choices"] = space.choices();
    if (!space.shape.empty()) several["shape"] = space.shape;
    return several;
  }
  Json box = Json::object();
  if (space.kind == SpaceKind::kHybrid) box["leading_choices"] = space.leading_choices;
  box["low"] = bounds_json(space.low);
  box["high"] = bounds_json(space.high);
  box["dtype"] = space.dtype == Dtype::kU8 ? "uint8" : "float32";
  if (!space.shape.empty()) box["shape"] = space.shape;
  if (space.frames > 1) {
    box["frames"] = space.frames;
    box["frame_padding"] = space.frame_padding == FramePadding::kZero ? "zero" : "first";
  }
  if (space.groups.empty()) return box;
  box["groups"] = Json::array();
  for (const ObservationGroup& group : space.groups) {
    Json one = Json::object();
    one["name"] = group.name;
    one["shape"] = group.shape;
    one["dtype"] = group_dtype_name(group.dtype);
    if (group.start != 0) one["start"] = group.start;
    one["full_scale"] = static_cast<double>(group.full_scale);
    box["groups"].push_back(one);
  }
  return box;
}

Json space_json(const Space& space) {
  Json out = bare_space_json(space);
  if (!space.structure.empty()) out["structure"] = space.structure;
  return out;
}

// None if these are no bounds.
std::optional<std::vector<float>> bounds_from(const Json& json) {
  std::vector<float> out;
  const Json::Array& parts = json.elements();
  if (!json.is_array() || parts.size() % 2 != 0) return std::nullopt;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    const Json& number = parts[i];
    const bool is_infinite = number == "inf" || number == "-inf";
    if ((!number.is_number() && !is_infinite) || !parts[i + 1].is_unsigned()) return std::nullopt;
    const auto count = parts[i + 1].integer<std::size_t>();
    if (count > kMostNumbers - out.size()) return std::nullopt;
    const float value = is_infinite ? (number == "inf" ? kInfinity : -kInfinity)
                                    : static_cast<float>(number.real());
    out.insert(out.end(), count, value);
  }
  return out;
}

std::optional<Space> several_choices_from(const Json& json) {
  std::vector<int> choices;
  std::int64_t all = 0;
  for (const Json& count : json["choices"].elements()) {
    const auto number = count.is_integer() ? count.integer<std::int64_t>() : 0;
    if (number < 1 || number > static_cast<std::int64_t>(kMostNumbers) - all) return std::nullopt;
    all += number;
    choices.push_back(static_cast<int>(number));
  }
  if (choices.empty()) return std::nullopt;
  Space space = Space::multi_discrete(choices);
  for (const Json& extent : json["shape"].elements()) space.shape.push_back(extent.integer<int>());
  return space;
}

// Whether the first numbers of a Box have the bounds of choices, 0 and a whole number.
bool are_choices(const Space& box, int choices) {
  float all = 0.0f;
  for (std::size_t i = 0; i < static_cast<std::size_t>(choices); ++i) {
    const float most = box.high[i];
    if (box.low[i] != 0.0f || !(most >= 0.0f && most < static_cast<float>(kMostNumbers)) ||
        most != std::floor(most)) {
      return false;
    }
    all += most + 1.0f;
  }
  return all <= static_cast<float>(kMostNumbers);
}

// Adds the groups of a dictionary. Registration checks that they fill the space.
void add_groups(const Json& json, Space& box) {
  int first = 0;
  for (const Json& one : json.elements()) {
    ObservationGroup group;
    group.name = one["name"].text();
    if (one["dtype"] == "uint8") group.dtype = Dtype::kU8;
    if (one["dtype"] == "int64") group.dtype = Dtype::kI64;
    if (one["start"].is_integer()) group.start = one["start"].integer<std::int64_t>();
    if (one["full_scale"].is_number()) {
      group.full_scale = static_cast<float>(one["full_scale"].real());
    }
    std::int64_t size = 1;
    for (const Json& extent : one["shape"].elements()) {
      group.shape.push_back(extent.integer<int>());
      size = std::clamp<std::int64_t>(size * group.shape.back(), 0, kMostNumbers);
    }
    group.first = first;
    group.size = static_cast<int>(std::min<std::int64_t>(size, box.size - first));
    first += group.size;
    box.groups.push_back(std::move(group));
  }
}

std::optional<Space> bare_space_from(const Json& json) {
  if (json["n"].is_integer()) {
    const auto n = json["n"].integer<std::int64_t>();
    if (n < 1 || n > static_cast<std::int64_t>(kMostNumbers)) return std::nullopt;
    Space discrete = Space::discrete(static_cast<int>(n));
    discrete.start = json["start"].integer<std::int64_t>();
    return discrete;
  }
  if (json["choices"].is_array()) return several_choices_from(json);
  std::optional<std::vector<float>> low = bounds_from(json["low"]);
  std::optional<std::vector<float>> high = bounds_from(json["high"]);
  if (!low || !high || low->size() != high->size()) return std::nullopt;
  Space box = Space::box(std::move(*low), std::move(*high));
  if (json.contains("leading_choices")) {
    const int choices =
        json["leading_choices"].is_integer() ? json["leading_choices"].integer<int>() : 0;
    if (choices < 1 || choices >= box.size || !are_choices(box, choices)) return std::nullopt;
    box.kind = SpaceKind::kHybrid;
    box.leading_choices = choices;
  }
  if (json["dtype"] == "uint8") box.dtype = Dtype::kU8;
  for (const Json& extent : json["shape"].elements()) box.shape.push_back(extent.integer<int>());
  if (json["frames"].is_integer()) box.frames = json["frames"].integer<int>();
  if (json["frame_padding"] == "zero") box.frame_padding = FramePadding::kZero;
  add_groups(json["groups"], box);
  return box;
}

std::optional<Space> space_from(const Json& json) {
  std::optional<Space> space = bare_space_from(json);
  if (space && json["structure"].is_string()) space->structure = json["structure"].text();
  return space;
}

}  // namespace

std::string spec_json(const EnvSpec& spec) {
  Json out = Json::object();
  out["id"] = spec.id;
  out["observation"] = space_json(spec.observation);
  if (spec.has_critic_observation()) {
    out["critic_observation"] = space_json(spec.critic_observation);
  }
  out["action"] = space_json(spec.action);
  if (spec.action.masked) out["action"]["masked"] = true;
  out["max_episode_steps"] = spec.max_episode_steps;
  if (spec.has_reward_threshold) out["reward_threshold"] = spec.reward_threshold;
  out["end_reasons"] = spec.end_reasons;
  out["names_success"] = spec.names_success;
  if (!spec.strata.empty()) out["strata"] = spec.strata;
  out["upstream"] = spec.upstream;
  if (!spec.engine.empty()) out["engine"] = spec.engine;
  out["summary"] = spec.summary;
  return out.dump();
}

Result<EnvSpec> parse_spec(const std::string& text) {
  const Json json = Json::parse(text);
  const std::optional<Space> observation = space_from(json["observation"]);
  const std::optional<Space> action = space_from(json["action"]);
  const bool has_critic = json.contains("critic_observation");
  const std::optional<Space> critic = has_critic ? space_from(json["critic_observation"]) : Space{};
  if (!json["id"].is_string() || !observation || !action || !critic) {
    return Status(ErrorKind::kCorrupt, "its metadata 'spec' describes no environment");
  }
  EnvSpec spec;
  spec.id = json["id"].text();
  spec.observation = *observation;
  spec.critic_observation = *critic;
  spec.action = *action;
  spec.action.masked = json["action"]["masked"].boolean();
  spec.max_episode_steps = json["max_episode_steps"].integer<int>();
  spec.has_reward_threshold = json["reward_threshold"].is_number();
  if (spec.has_reward_threshold) spec.reward_threshold = json["reward_threshold"].real();
  if (json["end_reasons"].is_array()) spec.end_reasons.clear();
  for (const Json& reason : json["end_reasons"].elements()) {
    spec.end_reasons.push_back(reason.text());
  }
  spec.names_success = json["names_success"].boolean();
  for (const Json& name : json["strata"].elements()) spec.strata.push_back(name.text());
  spec.upstream = json["upstream"].text();
  spec.engine = json["engine"].text();
  spec.summary = json["summary"].text();
  return spec;
}

}  // namespace broadloom
