#include "spec.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace broadloom::python {
namespace {

void add_groups(const nb::list& groups, Space& box) {
  int first = 0;
  for (const nb::handle item : groups) {
    const nb::dict group = nb::cast<nb::dict>(item);
    const std::string dtype = nb::cast<std::string>(group["dtype"]);
    ObservationGroup one;
    one.name = nb::cast<std::string>(group["name"]);
    one.shape = nb::cast<std::vector<int>>(group["shape"]);
    one.dtype = dtype == "uint8" ? Dtype::kU8 : dtype == "int64" ? Dtype::kI64 : Dtype::kF32;
    one.full_scale = nb::cast<float>(group["full_scale"]);
    one.start = nb::cast<std::int64_t>(group["start"]);
    one.first = first;
    one.size = 1;
    for (const int extent : one.shape) one.size *= extent;
    first += one.size;
    box.groups.push_back(std::move(one));
  }
  box.shape.clear();
}

Space unmasked_space_from(const nb::dict& space) {
  if (nb::cast<std::string>(space["kind"]) == "discrete") {
    Space discrete = Space::discrete(nb::cast<int>(space["n"]));
    discrete.start = nb::cast<std::int64_t>(space["start"]);
    return discrete;
  }
  if (nb::cast<std::string>(space["kind"]) == "multi_discrete") {
    Space choices = Space::multi_discrete(nb::cast<std::vector<int>>(space["choices"]));
    choices.shape = nb::cast<std::vector<int>>(space["shape"]);
    return choices;
  }
  if (nb::cast<std::string>(space["kind"]) == "hybrid") {
    return Space::hybrid(nb::cast<std::vector<int>>(space["choices"]),
                         nb::cast<std::vector<float>>(space["low"]),
                         nb::cast<std::vector<float>>(space["high"]));
  }
  Space box = Space::box(nb::cast<std::vector<float>>(space["low"]),
                         nb::cast<std::vector<float>>(space["high"]));
  box.shape = nb::cast<std::vector<int>>(space["shape"]);
  if (nb::cast<std::string>(space["dtype"]) == "uint8") box.dtype = Dtype::kU8;
  if (space.contains("groups")) add_groups(nb::cast<nb::list>(space["groups"]), box);
  return box;
}

Space space_from(const nb::dict& space) {
  Space out = unmasked_space_from(space);
  out.masked = space.contains("masked") && nb::cast<bool>(space["masked"]);
  if (space.contains("structure")) out.structure = nb::cast<std::string>(space["structure"]);
  return out;
}

// Bounds of the numbers of a Box, without those of choices before them.
std::vector<float> box_bounds(const Space& space, const std::vector<float>& bounds) {
  return {bounds.begin() + (bounds.empty() ? 0 : space.choice_count()), bounds.end()};
}

nb::dict space_to(const Space& space) {
  nb::dict out;
  if (space.masked) out["masked"] = true;
  if (!space.structure.empty()) out["structure"] = space.structure;
  if (space.kind == SpaceKind::kDiscrete) {
    out["kind"] = "discrete";
    out["n"] = space.size;
    out["start"] = space.start;
    return out;
  }
  if (space.kind == SpaceKind::kMultiDiscrete) {
    out["kind"] = "multi_discrete";
    out["choices"] = nb::cast(space.choices());
    out["shape"] = nb::cast(space.extents());
    return out;
  }
  out["kind"] = space.has_choices() ? "hybrid" : "box";
  if (space.has_choices()) out["choices"] = nb::cast(space.choices());
  out["low"] = nb::cast(box_bounds(space, space.low));
  out["high"] = nb::cast(box_bounds(space, space.high));
  out["shape"] = nb::cast(space.extents());
  out["dtype"] = space.dtype == Dtype::kU8 ? "uint8" : "float32";
  if (!space.groups.empty()) {
    nb::list groups;
    for (const ObservationGroup& one : space.groups) {
      nb::dict group;
      group["name"] = one.name;
      group["shape"] = nb::cast(one.shape);
      group["dtype"] = one.dtype == Dtype::kU8    ? "uint8"
                       : one.dtype == Dtype::kI64 ? "int64"
                                                  : "float32";
      group["full_scale"] = one.full_scale;
      group["start"] = one.start;
      groups.append(group);
    }
    out["groups"] = groups;
  }
  if (!space.own_low.empty()) {
    out["own_low"] = nb::cast(box_bounds(space, space.own_low));
    out["own_high"] = nb::cast(box_bounds(space, space.own_high));
  }
  return out;
}

}  // namespace

EnvSpec spec_from(const nb::dict& spec) {
  EnvSpec out;
  out.id = nb::cast<std::string>(spec["id"]);
  const nb::dict observation = nb::cast<nb::dict>(spec["observation"]);
  out.observation = space_from(observation);
  if (observation.contains("given"))
    out.observation.structure = nb::cast<std::string>(observation["given"]);
  if (!spec["critic_observation"].is_none()) {
    out.critic_observation = space_from(nb::cast<nb::dict>(spec["critic_observation"]));
  }
  out.action = space_from(nb::cast<nb::dict>(spec["action"]));
  out.max_episode_steps = nb::cast<int>(spec["max_episode_steps"]);
  out.has_reward_threshold = !spec["reward_threshold"].is_none();
  if (out.has_reward_threshold) out.reward_threshold = nb::cast<double>(spec["reward_threshold"]);
  out.names_success = nb::cast<bool>(spec["names_success"]);
  out.upstream = nb::cast<std::string>(spec["upstream"]);
  out.summary = nb::cast<std::string>(spec["summary"]);
  if (spec.contains("engine")) out.engine = nb::cast<std::string>(spec["engine"]);
  return out;
}

nb::dict spec_to(const EnvSpec& spec) {
  nb::dict out;
  out["id"] = spec.id;
  Space observation = spec.observation;
  const std::string given = std::exchange(observation.structure, {});
  nb::dict shown = space_to(observation);
  if (!given.empty()) shown["given"] = given;
  out["observation"] = shown;
  out["critic_observation"] =
      spec.has_critic_observation() ? nb::object(space_to(spec.critic_observation)) : nb::none();
  out["action"] = space_to(spec.action);
  out["max_episode_steps"] = spec.max_episode_steps;
  out["reward_threshold"] =
      spec.has_reward_threshold ? nb::object(nb::float_(spec.reward_threshold)) : nb::none();
  out["upstream"] = spec.upstream;
  out["summary"] = spec.summary;
  return out;
}

}  // namespace broadloom::python
