#include "broadloom/setup/group_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"

namespace broadloom {
namespace {

constexpr int kWidest = 1 << 20;

// An entry of group_encoders: "image:nature/256".
struct GroupLayers {
  std::string group, word;
  std::vector<int> widths;
};

// False if the text has another form.
bool parse_layers(const std::string& text, GroupLayers& out) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  out.group = text.substr(0, colon);
  std::string_view rest = std::string_view(text).substr(colon + 1);
  const std::size_t end = std::min(rest.find('/'), rest.size());
  out.word = std::string(rest.substr(0, end));
  rest.remove_prefix(end);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::size_t next = std::min(rest.find('/'), rest.size());
    int width = 0;
    if (!parse_text(rest.substr(0, next), width).ok() || width < 1 || width > kWidest) return false;
    out.widths.push_back(width);
    rest.remove_prefix(next);
  }
  const bool is_image = out.word == "minatar" || out.word == "nature" || out.word == "impala";
  return is_image || (out.word == "straight" && out.widths.empty()) ||
         (out.word == "mlp" && !out.widths.empty());
}

// Height, width and channels; a vector has one place.
RowShape row_shape(const ObservationGroup& group) {
  if (!group.is_image()) return {1, 1, group.size};
  return {group.shape[0], group.shape[1], group.shape.size() == 3 ? group.shape[2] : 1};
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

std::string names_of(const Space& space) {
  std::string text;
  for (const ObservationGroup& group : space.groups) {
    text += (text.empty() ? "" : ", ") + group.name;
  }
  return text;
}

Status check_names(const char* key, const std::vector<std::string>& list, const EnvSpec& spec) {
  for (auto name = list.begin(); name != list.end(); ++name) {
    const std::vector<ObservationGroup>& groups = spec.observation.groups;
    const bool is_there =
        std::any_of(groups.begin(), groups.end(),
                    [&](const ObservationGroup& group) { return group.name == *name; });
    if (!is_there) {
      return invalid(fmt::format("{}: got '{}', but the groups of {} are {}; name one of them", key,
                                 *name, spec.id, names_of(spec.observation)));
    }
    if (std::find(list.begin(), name, *name) == name) continue;
    return invalid(fmt::format("{}: got '{}' twice; name it once", key, *name));
  }
  return {};
}

Status check_layers(const Config& config, const EnvSpec& spec) {
  std::vector<std::string> named;
  for (const std::string& text : config.group_encoders) {
    GroupLayers layers;
    if (!parse_layers(text, layers)) {
      return invalid(fmt::format(
          "group_encoders: got '{}', expected a group's name and its layers: name:straight, "
          "name:mlp/64/64, or name:minatar, name:nature or name:impala with widths of dense "
          "layers, such as image:nature/256",
          text));
    }
    named.push_back(layers.group);
  }
  BROADLOOM_TRY(check_names("group_encoders", named, spec));
  const std::vector<GroupShape> shapes = group_shapes(config, spec);
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const ObservationGroup& group = spec.observation.groups[g];
    const GroupShape& shape = shapes[g];
    if (shape.encoder == Encoder::kMlp) continue;
    const auto refuse = [&](const std::string& what) {
      const bool is_own = std::find(named.begin(), named.end(), group.name) != named.end();
      return invalid(fmt::format("{}: group '{}' of {} {}", is_own ? "group_encoders" : "encoder",
                                 group.name, spec.id, what));
    };
    if (!group.is_image()) {
      return refuse(fmt::format(
          "is no image of bytes, which this encoder needs; give it {}:straight or {}:mlp/64",
          group.name, group.name));
    }
    const std::vector<LayerPlan> plan =
        body_plan(shape.encoder, Normalisation::kNone, shape.widths);
    if (fits(plan, shape.shape.height, shape.shape.width)) continue;
    const int side = least_side(plan);
    return refuse(
        fmt::format("is {} x {} pixels, expected at least {} x {}; set group_encoders = {}:{}",
                    shape.shape.height, shape.shape.width, side, side, group.name,
                    shape.shape.height >= 3 && shape.shape.width >= 3 ? "minatar" : "impala"));
  }
  return {};
}

Status check_readers(const Config& config, const EnvSpec& spec) {
  BROADLOOM_TRY(check_names("policy_groups", config.policy_groups, spec));
  BROADLOOM_TRY(check_names("critic_groups", config.critic_groups, spec));
  const bool has_one_body = config.shared_encoder || learns_action_values(config);
  for (const ObservationGroup& group : spec.observation.groups) {
    const bool policy = names(config.policy_groups, group.name);
    const bool critic = names(config.critic_groups, group.name);
    if (!policy && !critic) {
      return invalid(fmt::format(
          "policy_groups, critic_groups: no one reads group '{}' of {}; name it in one of them, or "
          "leave it out of the observations (in Python by observation_keys)",
          group.name, spec.id));
    }
    if (policy == critic || !has_one_body) continue;
    return invalid(fmt::format(
        "policy_groups, critic_groups: only the {} reads group '{}' of {}, but {} gives both one "
        "body; {}",
        policy ? "policy" : "critic", group.name, spec.id,
        config.shared_encoder ? "shared_encoder = true" : "algorithm = pqn",
        config.shared_encoder ? "set shared_encoder = false" : "leave these keys out"));
  }
  return {};
}

}  // namespace

std::vector<GroupShape> group_shapes(const Config& config, const EnvSpec& spec) {
  std::vector<GroupShape> shapes;
  for (const ObservationGroup& group : spec.observation.groups) {
    GroupShape shape{.shape = row_shape(group),
                     .first = group.first,
                     .divisor = group.full_scale,
                     .policy = names(config.policy_groups, group.name),
                     .critic = names(config.critic_groups, group.name)};
    if (group.is_image()) shape.encoder = encoder_of(config.encoder);
    for (const std::string& text : config.group_encoders) {
      GroupLayers layers;
      if (!parse_layers(text, layers) || layers.group != group.name) continue;
      shape.encoder = encoder_of(layers.word);
      shape.widths = layers.widths;
    }
    shapes.push_back(shape);
  }
  return shapes;
}

std::string layers_text(const GroupShape& group) {
  std::string text = group.encoder == Encoder::kMinatar  ? "minatar"
                     : group.encoder == Encoder::kNature ? "nature"
                     : group.encoder == Encoder::kImpala ? "impala"
                     : group.widths.empty()              ? "straight"
                                                         : "mlp";
  for (const int width : group.widths) text += fmt::format("/{}", width);
  return text;
}

Status check_groups(const Config& config, const EnvSpec& spec) {
  if (spec.observation.groups.empty()) return {};
  if (config.algorithm == "ppo_rnd") {
    return invalid(fmt::format(
        "algorithm = ppo_rnd: its predictor reads one array, but observations of {} are groups, "
        "{}; set algorithm = ppo, or let the environment give one array",
        spec.id, shape_text(spec.observation)));
  }
  if (critic_space(config, spec).size > 0) {
    return invalid(fmt::format(
        "the critic of {} has observations of its own, {}, beside groups, {}; make them a group, "
        "and name it in critic_groups",
        spec.id, shape_text(spec.critic_observation), shape_text(spec.observation)));
  }
  const bool has_image = std::any_of(spec.observation.groups.begin(), spec.observation.groups.end(),
                                     [](const auto& group) { return group.is_image(); });
  if (config.encoder != "mlp" && !has_image) {
    return invalid(fmt::format(
        "encoder = {}: expected an image among the groups of {}, got {}; set encoder = mlp",
        config.encoder, spec.id, shape_text(spec.observation)));
  }
  if (config.encoder == "impala" && config.layer_norm != "off") {
    return invalid(
        fmt::format("layer_norm = {}: encoder = impala has no layer normalisation, as published; "
                    "set layer_norm = off, or use another encoder",
                    config.layer_norm));
  }
  BROADLOOM_TRY(check_readers(config, spec));
  return check_layers(config, spec);
}

std::string group_advice(const Config& config, const EnvSpec& spec) {
  if (config.encoder != "mlp") return {};
  const std::vector<GroupShape> shapes = group_shapes(config, spec);
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const ObservationGroup& group = spec.observation.groups[g];
    const bool is_named =
        std::any_of(config.group_encoders.begin(), config.group_encoders.end(),
                    [&](const std::string& text) { return text.starts_with(group.name + ":"); });
    if (!group.is_image() || is_named) continue;
    const RowShape& image = shapes[g].shape;
    const bool large =
        fits(body_plan(Encoder::kNature, Normalisation::kNone, {}), image.height, image.width);
    return fmt::format(
        "group '{}' of {} is an image, but encoder = mlp reads it as {} numbers and ignores "
        "positions; encoder = {} reads it as an image",
        group.name, spec.id, group.size, large ? "nature" : "minatar");
  }
  return {};
}

}  // namespace broadloom
