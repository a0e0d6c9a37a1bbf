#include "broadloom/export/parity.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "broadloom/core/random.h"
#include "broadloom/env/action_scale.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy_outputs.h"
#include "broadloom/export/first_choices.h"
#include "broadloom/export/npz.h"
#include "broadloom/export/replay.h"
#include "broadloom/nn/policy_distribution.h"

namespace broadloom {
namespace {

constexpr int kEpisodes = 4;
constexpr unsigned kSteps = 64;
constexpr std::size_t kRowsOfAnEpisode = 8, kBytesOfAnEpisode = 128 * 1024;

// Observations, and a recurrent network's states before them, [rows, state_size] or empty.
struct SeenRows {
  Observations observations;
  std::vector<float> states;
};

// Keeps the first state of each episode and those after 1, 2, 4, ... steps, so that short episodes
// are included; of large images only the later ones. For one thread.
class StateKeeper final : public EpisodeWatcher {
 public:
  explicit StateKeeper(const Policy& policy)
      : policy_(policy), type_(observation_type(policy.spec.observation)) {
    const std::size_t rows =
        std::clamp<std::size_t>(kBytesOfAnEpisode / type_.row_bytes(), 2, kRowsOfAnEpisode);
    first_kept_ = kSteps >> (rows - 2);
  }

  void see(const SeenState& state) override {
    const unsigned step = steps_[static_cast<std::size_t>(state.episode)]++;
    const bool keeps = step == 0 || (step >= first_kept_ && std::has_single_bit(step));
    if (!keeps && !policy_.network.is_recurrent()) return;
    Observations row(type_, 1);
    state.observation.copy_to(row.rows(), static_cast<std::size_t>(type_.size));
    if (policy_.network.is_recurrent()) {
      std::vector<float>& memory = memories_[static_cast<std::size_t>(state.episode)];
      memory.resize(policy_.network.state_size());
      if (keeps) states_.insert(states_.end(), memory.begin(), memory.end());
      policy_outputs(policy_, row, 1, memory.data());
    }
    if (keeps) kept_.push_back(std::move(row));
  }
  void take(int, double) override {}

  SeenRows all() const {
    SeenRows out{Observations(type_, kept_.size()), states_};
    for (std::size_t r = 0; r < kept_.size(); ++r) out.observations.write(r, kept_[r], 0, 1);
    return out;
  }

 private:
  const Policy& policy_;
  ObservationType type_;
  unsigned first_kept_;
  std::vector<unsigned> steps_ = std::vector<unsigned>(kEpisodes);
  std::vector<Observations> kept_;
  std::vector<std::vector<float>> memories_ = std::vector<std::vector<float>>(kEpisodes);
  std::vector<float> states_;  // before the kept rows
};

constexpr std::size_t kDrawnRows = 32;
constexpr float kWideBound = 1000.0f;  // such bounds say nothing of what is seen

Observations drawn_rows(Space space) {
  Observations out(observation_type(space), kDrawnRows);
  const auto size = static_cast<std::size_t>(space.size);
  for (float& low : space.low) low = std::abs(low) < kWideBound ? low : -1.0f;
  for (float& high : space.high) high = std::abs(high) < kWideBound ? high : 1.0f;
  std::vector<float> row(size);
  for (std::size_t r = 0; r < kDrawnRows; ++r) {
    Random random(1, Purpose::kUser, r, 0);
    draw_action(space, random, row.data());
    if (space.kind == SpaceKind::kDiscrete) {
      const auto index = static_cast<std::size_t>(row[0]);
      std::fill(row.begin(), row.end(), 0.0f);
      row[index] = 1.0f;
    }
    for (const ObservationGroup& group : space.groups) {
      const auto begin = row.begin() + group.first;
      if (group.dtype == Dtype::kF32) continue;
      if (group.dtype == Dtype::kI64) *std::max_element(begin, begin + group.size) = 1.0f;
      std::transform(begin, begin + group.size, begin, [](float x) { return std::floor(x); });
    }
    if (space.dtype == Dtype::kU8) {
      std::transform(row.begin(), row.end(), out.rows(r).bytes(),
                     [](float number) { return static_cast<std::uint8_t>(number); });
    } else {
      std::copy(row.begin(), row.end(), out.rows(r).floats());
    }
  }
  return out;
}

// The states of one episode of drawn rows.
SeenRows drawn(const Policy& policy) {
  SeenRows out{drawn_rows(policy.spec.observation), {}};
  std::vector<float> memory(policy.network.state_size());
  Observations row(observation_type(policy.spec.observation), 1);
  for (std::size_t r = 0; r < kDrawnRows && policy.network.is_recurrent(); ++r) {
    row.write(0, out.observations, r, 1);
    out.states.insert(out.states.end(), memory.begin(), memory.end());
    policy_outputs(policy, row, 1, memory.data());
  }
  return out;
}

// The graph's share of states [rows, S], which comes first.
std::vector<double> graph_states(const std::vector<float>& states, std::size_t rows,
                                 const PolicyGraph& graph) {
  std::vector<double> out;
  for (std::size_t r = 0; r < rows && graph.state_size > 0; ++r) {
    const auto row = states.begin() + static_cast<std::ptrdiff_t>(r * (states.size() / rows));
    out.insert(out.end(), row, row + graph.state_size);
  }
  return out;
}

// As the environment gives them: bytes undivided, and indices for one-hot rows.
std::vector<double> as_shown(Observations& rows, std::size_t count, const Space& space) {
  const auto size = static_cast<std::size_t>(space.size);
  std::vector<double> out;
  if (space.dtype == Dtype::kU8) {
    const std::uint8_t* bytes = rows.rows().bytes();
    out.assign(bytes, bytes + count * size);
    return out;
  }
  const float* floats = rows.rows().floats();
  if (space.kind == SpaceKind::kBox) {
    out.assign(floats, floats + count * size);
    return out;
  }
  for (std::size_t r = 0; r < count; ++r) {
    const float* row = floats + r * size;
    out.push_back(static_cast<double>(std::max_element(row, row + size) - row + space.start));
  }
  return out;
}

std::vector<double> column(const std::vector<float>& rows, std::size_t width, std::size_t place) {
  std::vector<double> out;
  for (std::size_t i = place; i < rows.size(); i += width) out.push_back(rows[i]);
  return out;
}

// Indices of the largest of each head's logits, and the environment's first index added.
void add_choices(const Policy& policy, const float* logits, std::vector<double>& out) {
  const std::vector<std::int64_t> starts = first_choices(policy.spec.action);
  std::size_t number = 0;
  for (const int choices : policy.network.shape().heads()) {
    const float* const best = std::max_element(logits, logits + choices);
    const std::int64_t start = starts.empty() ? 0 : starts[number++];
    out.push_back(static_cast<double>(best - logits + start));
    logits += choices;
  }
}

// Random flags of valid actions, [rows, M], and outputs of invalid ones as the network gives them.
// The first row's are all valid, and each number of an action has a valid choice.
std::vector<double> draw_masks(const NetworkShape& shape, std::vector<float>& outputs) {
  const auto width = static_cast<std::size_t>(shape.logits());
  const auto row = static_cast<std::size_t>(shape.action_outputs);
  std::vector<double> masks(shape.masked ? outputs.size() / row * width : 0, 1.0);
  for (std::size_t first = width; first < masks.size();) {
    for (const int choices : shape.heads()) {
      Random random(2, Purpose::kUser, static_cast<std::uint32_t>(first), 0);
      for (int i = 0; i < choices; ++i) masks[first + i] = random.below(2);
      masks[first + random.below(static_cast<std::uint32_t>(choices))] = 1.0;
      first += static_cast<std::size_t>(choices);
    }
  }
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] == 0.0) outputs[i / width * row + i % width] = kInvalidLogit;
  }
  return masks;
}

// The action of an evaluation: outputs are a row's of the network.
void add_numbers(const Policy& policy, const float* outputs, std::vector<double>& out) {
  const Space& space = policy.spec.action;
  const NetworkShape& shape = policy.network.shape();
  const PolicyDistribution distribution(shape);
  std::vector<float> tile(static_cast<std::size_t>(shape.action_outputs) * kTileRows);
  std::vector<float> best(tile.size());
  for (std::size_t o = 0; o < tile.size() / kTileRows; ++o) tile[o * kTileRows] = outputs[o];
  distribution.best(tile.data(), 1, best.data());
  const std::vector<std::int64_t> starts = first_choices(space);
  for (std::size_t a = 0; a < space.low.size(); ++a) {
    const double start = a < starts.size() ? static_cast<double>(starts[a]) : 0.0;
    out.push_back(start + own_action(space, a, distribution.played(a, best[a * kTileRows], space)));
  }
}

std::vector<double> actions_of(const Policy& policy, const std::vector<float>& outputs) {
  const NetworkShape& shape = policy.network.shape();
  const auto size = static_cast<std::size_t>(shape.action_outputs);
  std::vector<double> out;
  for (std::size_t first = 0; first < outputs.size(); first += size) {
    const float* row = outputs.data() + first;
    if (!shape.has_box()) {
      add_choices(policy, row, out);
    } else {
      add_numbers(policy, row, out);
    }
  }
  return out;
}

std::map<std::string, std::vector<double>> expected_of(const Policy& policy,
                                                       const PolicyGraph& graph,
                                                       const PolicyOutputs& found) {
  const NetworkShape& shape = policy.network.shape();
  const auto values = static_cast<std::size_t>(shape.action_values ? 1 : shape.value_outputs);
  const auto numbers = static_cast<std::size_t>(shape.box_size());
  const auto logits = static_cast<std::size_t>(shape.logits());
  // `count` outputs from index `first` on.
  const auto columns = [&](std::size_t first, std::size_t count) {
    std::vector<double> out;
    for (std::size_t row = first; row < found.outputs.size();
         row += static_cast<std::size_t>(shape.action_outputs)) {
      out.insert(out.end(), &found.outputs[row], &found.outputs[row] + count);
    }
    return out;
  };
  const auto part = [&](std::size_t first) { return columns(logits + first, numbers); };
  std::map<std::string, std::vector<double>> out;
  for (const std::string& name : graph.outputs) {
    if (name == kNextStateName) continue;
    if (name == "action") {
      out[name] = actions_of(policy, found.outputs);
    } else if (name == "mean" || name == "alpha") {
      out[name] = part(0);
    } else if (name == "beta") {
      out[name] = part(numbers);
    } else if (name == "log_std" && shape.has_pairs() && !shape.has_policy_stds()) {
      const StdBounds bounds(shape);
      for (const double number : part(numbers)) {
        out[name].push_back(std::clamp(number, bounds.low, bounds.high));
      }
    } else if (name == "log_std") {
      std::vector<float> log_std(numbers);
      policy.network.log_std(policy.params, log_std.data());
      out[name].assign(log_std.begin(), log_std.end());
    } else if (name == "value" || name == "intrinsic_value") {
      out[name] = column(found.values, values, name == "value" ? 0 : 1);
    } else {
      out[name] = columns(0, logits);
    }
  }
  return out;
}

// NaN if either number is NaN. Indices are skipped, as they follow from other outputs.
double largest_difference(const PolicyGraph& graph,
                          const std::map<std::string, std::vector<double>>& expected,
                          const std::map<std::string, std::vector<double>>& got) {
  double largest = 0.0;
  for (const auto& [name, numbers] : expected) {
    if (is_index(graph.operation(name))) continue;
    const std::vector<double>& others = got.at(name);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double difference =
          std::abs(others[i] - numbers[i]) / std::max(1.0, std::abs(numbers[i]));
      if (std::isnan(difference)) return difference;
      largest = std::max(largest, difference);
    }
  }
  return largest;
}

NpyArray array_of(const std::string& name, const std::string& dtype, std::vector<int> shape,
                  const std::vector<double>& numbers) {
  NpyArray out{name, dtype, std::move(shape), {}};
  const auto convert_to = [&]<class Number>(Number) {
    out.bytes = bytes_of(std::vector<Number>(numbers.begin(), numbers.end()));
  };
  if (dtype == "uint8") {
    out.dtype = "|u1";
    convert_to(std::uint8_t{});
  } else if (dtype == "bool") {
    out.dtype = "|b1";
    convert_to(std::uint8_t{});
  } else if (dtype == "int64") {
    out.dtype = "<i8";
    convert_to(std::int64_t{});
  } else {
    out.dtype = "<f4";
    convert_to(float{});
  }
  return out;
}

}  // namespace

namespace {

// Observations that the policy meets, or draws of their space.
Result<SeenRows> seen_rows(const Policy& policy, std::string& unplayed) {
  StateKeeper keeper(policy);
  const Result<std::vector<EvalEpisode>> played = play_episodes(
      policy,
      {.episodes = kEpisodes, .longest_episode = static_cast<int>(kSteps), .watcher = &keeper});
  if (played.ok()) return keeper.all();
  // A file may be missing, or the code of a plug-in not allowed.
  const ErrorKind kind = played.status().kind();
  const bool is_absent = kind == ErrorKind::kNotFound ||
                         (kind == ErrorKind::kInvalidConfig && needs_description(policy.spec));
  if (!is_absent) return played.status();
  unplayed = played.status().message();
  return drawn(policy);
}

}  // namespace

Result<Parity> play_parity(const Policy& policy, const PolicyGraph& graph) {
  std::string unplayed;
  Result<SeenRows> seen = seen_rows(policy, unplayed);
  if (!seen.ok()) return seen.status();
  Observations& rows = seen.value().observations;
  std::vector<float>& states = seen.value().states;
  const std::size_t count = rows.size() / static_cast<std::size_t>(policy.spec.observation.size);
  std::vector<double> before = graph_states(states, count, graph);
  PolicyOutputs found =
      policy_outputs(policy, rows, count, states.empty() ? nullptr : states.data());
  std::vector<double> masks = draw_masks(policy.network.shape(), found.outputs);
  Parity parity{
      static_cast<int>(count), std::move(unplayed), as_shown(rows, count, policy.spec.observation),
      std::move(masks),        std::move(before),   expected_of(policy, graph, found)};
  if (graph.state_size > 0) parity.expected[kNextStateName] = graph_states(states, count, graph);
  parity.difference = largest_difference(
      graph, parity.expected,
      replay(graph, parity.observations, parity.rows, parity.masks, parity.states));
  if (!std::isfinite(parity.difference)) {
    return Status{
        ErrorKind::kNumeric,
        fmt::format("the policy's outputs in states that it plays are not finite, as after a "
                    "diverged training (step {}); nothing was written",
                    policy.origin.global_step)};
  }
  if (parity.difference > kMostDifference) {
    return Status{
        ErrorKind::kNumeric,
        fmt::format("the exported operations and the network differ by {:.1e} in states that the "
                    "policy plays, more than float32 explains (limit {:.0e}): its parameters are "
                    "too large for a reliable export, or this is a fault of Broadloom; nothing was "
                    "written",
                    parity.difference, kMostDifference)};
  }
  parity.tolerance = std::max(kParityTolerance, 4.0 * parity.difference);
  return parity;
}

Result<std::string> parity_file(const Parity& parity, const PolicyGraph& graph) {
  const auto with_rows = [&](std::vector<int> shape) {
    shape.insert(shape.begin(), parity.rows);
    return shape;
  };
  std::vector<NpyArray> arrays;
  const std::size_t width = static_cast<std::size_t>(row_size(graph.observation_shape));
  for (const GroupInput& input : graph.groups) {
    arrays.push_back(array_of(input.name, dtype_name(input.group.dtype), with_rows(input.shape()),
                              numbers_of(input, parity.observations, width)));
  }
  if (graph.groups.empty()) {
    arrays.push_back(array_of(kObservationName, dtype_name(graph.observation_dtype),
                              with_rows(graph.observation_shape), parity.observations));
  }
  if (graph.mask_size > 0) {
    arrays.push_back(array_of(kMaskName, "bool", with_rows({graph.mask_size}), parity.masks));
  }
  if (graph.state_size > 0) {
    arrays.push_back(array_of(kStateName, "float32", with_rows({graph.state_size}), parity.states));
  }
  for (const std::string& name : graph.outputs) {
    const Operation& operation = graph.operation(name);
    const bool has_rows = operation.kind != OperationKind::kConstant;
    arrays.push_back(array_of(name, output_dtype(operation),
                              has_rows ? with_rows(operation.shape) : operation.shape,
                              parity.expected.at(name)));
  }
  arrays.push_back({"tolerance", "<f8", {}, bytes_of(std::vector<double>{parity.tolerance})});
  return npz_file(arrays);
}

}  // namespace broadloom
