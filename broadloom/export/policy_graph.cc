#include "broadloom/export/policy_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "broadloom/env/tasks/asked_frames.h"
#include "broadloom/export/graph_draft.h"
#include "broadloom/export/graph_inputs.h"
#include "broadloom/export/graph_layers.h"
#include "broadloom/export/graph_outputs.h"
#include "broadloom/record/manifest.h"

namespace broadloom {
namespace {

std::vector<std::pair<std::string, std::string>> metadata_of(const Policy& policy) {
  const Config& config = policy.config;
  const Space& observation = policy.spec.observation;
  std::vector<std::pair<std::string, std::string>> out{
      {"format", "broadloom-policy-1"},
      {"broadloom_version", version_text()},
      {"env_id", config.env_id},
      {"algorithm", config.algorithm},
      {"run", std::filesystem::path(policy.origin.run_dir).filename().string()},
      {"checkpoint_hash", policy.origin.hash},
      {"global_step", std::to_string(policy.origin.global_step)},
      {"observation", shape_text(observation)},
      {"action", shape_text(policy.spec.action)},
      {"norm_obs", config.norm_obs ? "true" : "false"}};
  if (policy.network.shape().has_box()) {
    out.emplace_back("action_distribution", config.action_distribution);
  }
  const std::string stacks = stacks_text(policy, ":", ",");
  if (observation.frames > 1) out.emplace_back("frame_stack", std::to_string(observation.frames));
  if (!stacks.empty()) out.emplace_back("frame_stack_of", stacks);
  if (observation.frames > 1 || !stacks.empty()) {
    out.emplace_back("frame_padding",
                     observation.frame_padding == FramePadding::kFirst ? "first" : "zero");
  }
  for (const auto& [key, value] : config.env_options) out.emplace_back("env." + key, value);
  return out;
}

template <class T>
const T& named(const std::vector<T>& list, std::string_view name) {
  return *std::find_if(list.begin(), list.end(), [&](const T& item) { return item.name == name; });
}

}  // namespace

std::string stacks_text(const Policy& policy, const char* colon, const char* comma) {
  const std::vector<int> frames =
      group_frames(policy.config.env_id, policy.config.env_options, policy.spec);
  std::string out;
  for (std::size_t g = 0; g < frames.size(); ++g) {
    if (frames[g] == 1) continue;
    out += (out.empty() ? "" : comma) + policy.spec.observation.groups[g].name + colon +
           std::to_string(frames[g]);
  }
  return out;
}

const Operation& PolicyGraph::operation(std::string_view name) const {
  return named(operations, name);
}

const NamedArray& PolicyGraph::array(std::string_view name) const { return named(arrays, name); }

PolicyGraph policy_graph(const Policy& policy, bool with_value) {
  const ActorCritic& network = policy.network;
  const NetworkShape& shape = network.shape();
  const std::string side = shape.action_values ? "q_network" : "actor";
  GraphDraft draft(policy);
  GraphInputs inputs(draft);
  GraphLayers layers(draft, inputs);
  const GraphValue encoded = layers.encoded();
  add_actions(
      draft, side,
      layers.above(side, network.actor(), network.actor_cell(), network.actor_top(), encoded));
  if (with_value && shape.critic_observation_size == 0) add_values(draft, layers, encoded);
  layers.list_next_state();
  inputs.list_groups();
  draft.graph.about = metadata_of(policy);
  return std::move(draft.graph);
}

std::vector<double> numbers_of(const GroupInput& input, const std::vector<double>& rows,
                               std::size_t width) {
  std::vector<double> out;
  const ObservationGroup& group = input.group;
  for (std::size_t first = static_cast<std::size_t>(group.first); first < rows.size();
       first += width) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + group.size;
    if (group.dtype != Dtype::kI64) {
      out.insert(out.end(), begin, end);
    } else {
      out.push_back(static_cast<double>(std::max_element(begin, end) - begin + group.start));
    }
  }
  return out;
}

std::string observation_text(const PolicyGraph& graph) {
  if (graph.groups.empty()) return input_text(graph.observation_dtype, graph.observation_shape);
  std::string text;
  for (const GroupInput& input : graph.groups) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", input.group.name,
                        input_text(input.group.dtype, input.shape()));
  }
  return "{" + text + "}";
}

std::string printable_text(std::string text) {
  std::replace(text.begin(), text.end(), '\\', '/');
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '"' || c < ' '; }, '\'');
  return text;
}

std::string state_text(const PolicyGraph& graph) {
  return fmt::format("float32 [N, {}], {} of the step before; zeros at an episode's first step",
                     graph.state_size, kNextStateName);
}

}  // namespace broadloom
