#include "policy.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/policy_outputs.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/evaluate/spec_json.h"
#include "broadloom/export/torch_module.h"
#include "broadloom/rollout/observations.h"
#include "buffer.h"
#include "errors.h"
#include "overrides.h"
#include "spec.h"

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// A NumPy array [rows, columns] that owns its numbers.
nb::object array_of(std::vector<float> numbers, std::size_t rows, std::size_t columns) {
  auto* kept = new std::vector<float>(std::move(numbers));
  const nb::capsule owner(
      kept, [](void* data) noexcept { delete static_cast<std::vector<float>*>(data); });
  const std::size_t shape[] = {rows, columns};
  return nb::cast(nb::ndarray<nb::numpy, float>(kept->data(), 2, shape, owner));
}

// Computes in float32, whatever the training used.
class RunPolicy {
 public:
  explicit RunPolicy(const std::string& run_or_checkpoint) {
    const Status status = load(run_or_checkpoint);
    if (!status.ok()) raise(status);
  }

  explicit RunPolicy(std::unique_ptr<LoadedPolicy> policy) : policy_(std::move(policy)) {}

  // (config as texts, spec_json() or "", {tensor: bytes}, origin): all that from_state() needs.
  nb::tuple state() const {
    const Config& config = policy_->view().config;
    nb::dict keys, tensors;
    for (const auto& [key, text] : to_overrides(config)) keys[nb::cast(key)] = text;
    std::string described;
    if (policy_->changed_spec() != nullptr) {
      described = spec_json(*policy_->changed_spec());
    } else {
      const Result<EnvSpec> own = own_spec(config.env_id, config.env_options);
      if (!own.ok()) raise(own.status());
      if (needs_description(own.value())) described = spec_json(own.value());
    }
    for (const TensorRef& tensor : policy_->state())
      tensors[nb::cast(tensor.name)] = nb::bytes(tensor.data, tensor.bytes());
    return nb::make_tuple(keys, described, tensors, origin());
  }
  static std::unique_ptr<RunPolicy> from_state(const nb::dict& keys, const std::string& described,
                                               const nb::dict& tensors) {
    Result<std::unique_ptr<LoadedPolicy>> made =
        LoadedPolicy::make(overrides_from(keys), described);
    if (!made.ok()) raise(made.status());
    for (const TensorRef& tensor : made.value()->state()) {
      const nb::str name(tensor.name.c_str());
      const nb::bytes bytes =
          tensors.contains(name) ? nb::cast<nb::bytes>(tensors[name]) : nb::bytes("", 0);
      if (bytes.size() != tensor.bytes()) {
        raise({ErrorKind::kMismatch, tensor.name + ": got " + std::to_string(bytes.size()) +
                                         " bytes, expected " + std::to_string(tensor.bytes())});
      }
      const auto* data = static_cast<const std::byte*>(bytes.data());
      if (const Status values = check_values(tensor, data); !values.ok()) raise(values);
      std::memcpy(tensor.data, data, tensor.bytes());
    }
    made.value()->state_restored();
    return std::make_unique<RunPolicy>(made.take());
  }

  nb::dict spec() const { return spec_to(policy_->view().spec); }
  // Names of the groups of observations that a side reads, "policy" or "critic".
  std::vector<std::string> groups_of(const std::string& side) const {
    const Policy policy = policy_->view();
    std::vector<std::string> names;
    const std::vector<GroupShape>& shapes = policy.network.shape().groups;
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      if (side == "critic" ? !shapes[g].critic : !shapes[g].policy) continue;
      names.push_back(policy.spec.observation.groups[g].name);
    }
    return names;
  }
  nb::dict origin() const {
    const Policy policy = policy_->view();
    nb::dict out;
    out["run_dir"] = policy.origin.run_dir;
    out["checkpoint"] = policy.origin.checkpoint;
    out["hash"] = policy.origin.hash;
    out["global_step"] = policy.origin.global_step;
    return out;
  }
  std::size_t state_size() const { return policy_->view().network.state_size(); }
  bool has_action_values() const { return policy_->view().network.shape().action_values; }
  nb::object log_std() const {
    const Policy policy = policy_->view();
    if (!policy.network.shape().has_log_std()) return nb::none();
    const auto size = static_cast<std::size_t>(policy.network.shape().box_size());
    std::vector<float> log_std(size);
    policy.network.log_std(policy.params, log_std.data());
    return array_of(log_std, 1, size);
  }

  // How a Box's outputs are read: (distribution, least and largest log deviation), the bounds for
  // std_form = state_dependent.
  nb::tuple distribution() const {
    const Policy policy = policy_->view();
    const StdBounds bounds(policy.network.shape());
    return nb::make_tuple(policy.config.action_distribution, bounds.low, bounds.high);
  }

  // (logits, means or action values [n, outputs], the critic's values [n, V]). Values are None if
  // the critic reads observations of its own. observations: n rows in the space's dtype, int64 for
  // Discrete. states: [n, state_size] float32; the third result are the states after these rows.
  nb::tuple forward(const nb::object& observations, std::size_t count, const nb::object& states) {
    const Policy policy = policy_->view();
    const Space& space = policy.spec.observation;
    Observations raw(observation_type(space), count);
    fill(raw, observations, count, space);
    const std::size_t state_size = policy.network.state_size();
    const Buffer before(states, "state", count * state_size, sizeof(float));
    std::vector<float> after(before.as<float>(), before.as<float>() + count * state_size);
    PolicyOutputs found;
    {
      const nb::gil_scoped_release unlocked;
      found = policy_outputs(policy, raw, count, after.data());
    }
    const NetworkShape& shape = policy.network.shape();
    const auto outputs = static_cast<std::size_t>(shape.action_outputs);
    const bool has_values = shape.critic_observation_size == 0;
    const auto values = static_cast<std::size_t>(shape.action_values ? 1 : shape.value_outputs);
    return nb::make_tuple(
        array_of(std::move(found.outputs), count, outputs),
        has_values ? array_of(std::move(found.values), count, values) : nb::none(),
        array_of(std::move(after), count, state_size));
  }

  // [(return, steps)] of the first episodes of an evaluation with this seed and number of episodes.
  // Raises an exception of environments of Python as it is.
  std::vector<std::pair<double, int>> play(int episodes, std::uint64_t seed,
                                           const std::string& actions, int max_steps) const {
    KeptException kept(KeptException::Scope::kThread);
    std::optional<EvalActions> chosen;
    if (const Status read = read_actions(actions, chosen); !read.ok()) raise(read);
    Result<std::vector<EvalEpisode>> played = [&] {
      const nb::gil_scoped_release unlocked;
      return play_episodes(
          policy_->view(),
          {.episodes = episodes, .seed = seed, .actions = chosen, .longest_episode = max_steps});
    }();
    kept.raise();
    if (!played.ok()) raise(played.status());
    std::vector<std::pair<double, int>> results;
    for (const EvalEpisode& episode : played.value())
      results.emplace_back(episode.episode_return, episode.length);
    return results;
  }

  // (source of a PyTorch module, its state dict as flat arrays {name: (numbers [1, n], shape)}).
  nb::tuple torch_module(bool with_value) const {
    PolicyGraph graph = policy_graph(policy_->view(), with_value);
    nb::dict state;
    for (NamedArray& array : graph.arrays) {
      const std::size_t size = array.numbers.size();
      state[nb::cast(array.name)] =
          nb::make_tuple(array_of(std::move(array.numbers), 1, size), nb::cast(array.shape));
    }
    return nb::make_tuple(broadloom::torch_module(graph), state);
  }

 private:
  Status load(const std::string& run_or_checkpoint) {
    const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
    if (!found.ok()) return found.status();
    Result<std::unique_ptr<LoadedPolicy>> loaded =
        LoadedPolicy::load(found.value(), PolicySpaces::kTrained);
    if (!loaded.ok()) return loaded.status();
    policy_ = loaded.take();
    return {};
  }

  static void fill(Observations& raw, const nb::object& observations, std::size_t count,
                   const Space& space) {
    const auto width = static_cast<std::size_t>(space.size);
    if (space.kind == SpaceKind::kDiscrete) {
      const Buffer buffer(observations, "observations", count, sizeof(std::int64_t));
      float* rows = raw.rows().floats();
      std::fill_n(rows, count * width, 0.0f);
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t index = buffer.as<std::int64_t>()[i];
        if (index < 0 || index >= space.size) {
          raise(invalid("observations[" + std::to_string(i) + "]: got " + std::to_string(index) +
                        ", expected 0 to " + std::to_string(space.size - 1)));
        }
        rows[i * width + static_cast<std::size_t>(index)] = 1.0f;
      }
      return;
    }
    const Buffer buffer(observations, "observations", count * width, dtype_size(space.dtype));
    if (space.dtype == Dtype::kU8)
      std::memcpy(raw.rows().bytes(), buffer.as<std::uint8_t>(), count * width);
    else
      std::memcpy(raw.rows().floats(), buffer.as<float>(), count * width * sizeof(float));
  }

  std::unique_ptr<LoadedPolicy> policy_;
};

}  // namespace

nb::object copy_of(const Policy& policy) {
  return nb::cast(std::make_unique<RunPolicy>(LoadedPolicy::copy(policy)));
}

void bind_policy(nb::module_& m) {
  nb::class_<RunPolicy>(m, "Policy")
      .def(nb::init<const std::string&>(), nb::arg("run_or_checkpoint"))
      .def_static("from_state", &RunPolicy::from_state, nb::arg("keys"), nb::arg("described"),
                  nb::arg("tensors"))
      .def("state", &RunPolicy::state)
      .def_prop_ro("spec", &RunPolicy::spec)
      .def_prop_ro("origin", &RunPolicy::origin)
      .def("groups_of", &RunPolicy::groups_of, nb::arg("side"))
      .def_prop_ro("state_size", &RunPolicy::state_size)
      .def_prop_ro("has_action_values", &RunPolicy::has_action_values)
      .def_prop_ro("log_std", &RunPolicy::log_std)
      .def_prop_ro("distribution", &RunPolicy::distribution)
      .def("forward", &RunPolicy::forward, nb::arg("observations"), nb::arg("count"),
           nb::arg("states"))
      .def("play", &RunPolicy::play, nb::arg("episodes"), nb::arg("seed"), nb::arg("actions"),
           nb::arg("max_steps"))
      .def("torch_module", &RunPolicy::torch_module, nb::arg("with_value"));
}

}  // namespace broadloom::python
