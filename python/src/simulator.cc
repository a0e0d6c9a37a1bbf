#include "simulator.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "broadloom/env/vec_env.h"
#include "buffer.h"
#include "errors.h"
#include "spec.h"

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// A Python object that any thread may release.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  ~Held() {
    if (!Py_IsInitialized()) {
      object_.release();  // the interpreter and its objects are gone
      return;
    }
    const nb::gil_scoped_acquire gil;
    object_.reset();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  const nb::object& get() const { return object_; }

 private:
  nb::object object_;
};
using Shared = std::shared_ptr<Held>;

const char* streams_word(StreamSet streams) {
  return streams == StreamSet::kTraining     ? "training"
         : streams == StreamSet::kEvaluation ? "evaluation"
                                             : "panel";
}

// Steps all N environments by one call of Python, in the thread that called the library
// (whole_batch).
class PythonEnvs final : public VecEnv, public ActionMasks, public EnvMaker, public EpisodeWaves {
 public:
  // simulator: a broadloom._adapter.Simulator after a reset. The GIL must be held.
  PythonEnvs(EnvSpec spec, nb::object simulator, Shared factory)
      : spec_(std::move(spec)), factory_(std::move(factory)) {
    count_ = nb::cast<int>(simulator.attr("num_envs"));
    deterministic_ = nb::cast<bool>(simulator.attr("deterministic"));
    has_final_observations_ = nb::cast<bool>(simulator.attr("has_final_observations"));
    filler_rows_ = nb::cast<bool>(simulator.attr("filler_rows"));
    spec_.set_time_limit(nb::cast<int>(simulator.attr("max_episode_steps")));
    simulator_ = std::make_shared<Held>(std::move(simulator));
    const auto count = static_cast<std::size_t>(count_);
    const Space& space = spec_.observation;
    item_size_ = is_discrete() ? sizeof(std::int64_t) : dtype_size(space.dtype);
    numbers_ = is_discrete() ? 1 : static_cast<std::size_t>(space.size);
    current_.resize(count * numbers_ * item_size_);
    critic_.resize(count * static_cast<std::size_t>(spec_.critic_observation.size) * sizeof(float));
    masks_.resize(count * static_cast<std::size_t>(spec_.action.mask_size()));
    age_.assign(count, 0);
    next_is_filler_.assign(count, 0);
  }

  // Copies the simulator's observations after a reset. The GIL must be held.
  void read_reset() {
    const nb::object rows = simulator().attr("observations");
    const Buffer buffer(rows, "observations", count_ * numbers_, item_size_);
    std::memcpy(current_.data(), buffer.as<std::byte>(), current_.size());
    check_indices();
    if (!critic_.empty()) keep_critic(simulator().attr("critic_observations"));
    keep_masks();
    std::fill(age_.begin(), age_.end(), 0);
    std::fill(next_is_filler_.begin(), next_is_filler_.end(), 0);
  }

  // Closes the environments. Python may never free their files, processes and windows.
  ~PythonEnvs() override {
    if (simulator_ == nullptr || !Py_IsInitialized()) return;
    const nb::gil_scoped_acquire gil;
    try {
      simulator().attr("close")();
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // the next check sees it
    }
  }
  PythonEnvs(const PythonEnvs&) = delete;
  PythonEnvs& operator=(const PythonEnvs&) = delete;

  const EnvSpec& spec() const override { return spec_; }
  int num_envs() const override { return count_; }
  VecEnvTraits traits() const override {
    return {.whole_batch = true,
            .deterministic = deterministic_,
            .saves_state = false,
            .has_final_observations = has_final_observations_,
            .filler_rows = filler_rows_};
  }
  // An environment may also truncate by itself, before its limit. For small observations there is a
  // place for each step. For images there are as many as the time limit allows; a run that needs
  // more ends with an error.
  int max_truncations(int num_steps) const override {
    constexpr std::size_t kPicture = 4096;
    const int limit = spec_.max_episode_steps;
    const bool few = limit > 0 && numbers_ * item_size_ >= kPicture;
    return few ? std::min(num_steps, num_steps / limit + 1) : num_steps;
  }
  std::int64_t episode_step(int env) const override { return age_[static_cast<std::size_t>(env)]; }
  bool next_is_filler(int env) const override {
    return next_is_filler_[static_cast<std::size_t>(env)] != 0;
  }

  void observe(int begin, int end, ObservationRows rows) const override {
    const std::size_t row = numbers_ * item_size_;
    write(current_.data() + begin * row, static_cast<std::size_t>(end - begin), rows);
  }
  void observe_critic(int begin, int end, ObservationRows rows) const override {
    const std::size_t row = static_cast<std::size_t>(spec_.critic_observation.size) * sizeof(float);
    std::memcpy(rows.floats(), critic_.data() + begin * row, (end - begin) * row);
  }

  void valid_actions(int begin, int end, std::uint8_t* flags) const override {
    const std::size_t row = masks_.size() / static_cast<std::size_t>(count_);
    std::copy_n(masks_.data() + begin * row, (end - begin) * row, flags);
  }

  Status step(int, int, const StepRows& rows) override {
    const nb::gil_scoped_acquire gil;
    try {
      give_actions(rows.actions);
      take(nb::cast<nb::tuple>(simulator().attr("step")()), rows);
      return {};
    } catch (nb::python_error& error) {
      return keep_exception(error, "step() of " + spec_.id);
    } catch (const std::exception& error) {
      return {ErrorKind::kIo, "step() of " + spec_.id + ": " + error.what()};
    }
  }

  void append_state(const std::string&, std::vector<TensorRef>&) override {}

  Status begin_anew(std::uint64_t seed) override { return reset("reset", seed); }
  Status begin_wave(int first) override {
    return reset("begin_wave", static_cast<std::uint64_t>(first));
  }

  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    if (options.stagger_starts) return nullptr;  // they cannot begin within an episode
    VecEnvOptions limited = options;
    if (limited.max_episode_steps == 0) limited.max_episode_steps = spec_.max_episode_steps;
    Result<std::unique_ptr<VecEnv>> made = make(spec_, factory_, limited);
    return made.ok() ? made.take() : nullptr;
  }

  static Result<std::unique_ptr<VecEnv>> make(const EnvSpec& spec, const Shared& factory,
                                              const VecEnvOptions& options) {
    const nb::gil_scoped_acquire gil;
    try {
      nb::dict request;
      request["num_envs"] = options.num_envs;
      request["seed"] = options.seed;
      request["streams"] = streams_word(options.streams);
      request["max_episode_steps"] = options.max_episode_steps;
      request["families"] = options.seed_families;
      request["stagger_starts"] = options.stagger_starts;
      request["joining"] = options.joining.size() > 1;  // a single group joins no other
      request["only_described"] = options.only_described;
      auto envs = std::make_unique<PythonEnvs>(spec, factory->get()(request), factory);
      if (!options.only_described) envs->read_reset();
      return std::unique_ptr<VecEnv>(std::move(envs));
    } catch (nb::python_error& error) {
      return keep_exception(error, "making environments of " + spec.id);
    } catch (const std::exception& error) {
      return Status(ErrorKind::kIo, "making environments of " + spec.id + ": " + error.what());
    }
  }

 private:
  bool is_discrete() const { return spec_.observation.kind == SpaceKind::kDiscrete; }
  const nb::object& simulator() const { return simulator_->get(); }

  // method: of the simulator, which begins new episodes everywhere.
  Status reset(const char* method, std::uint64_t argument) {
    const nb::gil_scoped_acquire gil;
    try {
      simulator().attr(method)(argument);
      read_reset();
      return {};
    } catch (nb::python_error& error) {
      return keep_exception(error, "reset() of " + spec_.id);
    } catch (const std::exception& error) {
      return {ErrorKind::kIo, "reset() of " + spec_.id + ": " + error.what()};
    }
  }

  void keep_critic(const nb::handle& array) {
    const Buffer buffer(array, "critic observations", critic_.size() / sizeof(float),
                        sizeof(float));
    std::memcpy(critic_.data(), buffer.as<std::byte>(), critic_.size());
  }

  void keep_masks() {
    if (masks_.empty()) return;
    const Buffer masks(simulator().attr("masks"), "action masks", masks_.size(), 1);
    std::copy_n(masks.as<std::uint8_t>(), masks_.size(), masks_.begin());
  }

  // Writes `count` observations to the library's rows; Discrete ones as one-hot.
  void write(const std::byte* source, std::size_t count, ObservationRows rows) const {
    if (!is_discrete()) {
      const bool is_u8 = rows.dtype() == Dtype::kU8;
      void* target = is_u8 ? static_cast<void*>(rows.bytes()) : rows.floats();
      std::memcpy(target, source, count * numbers_ * item_size_);
      return;
    }
    const auto width = static_cast<std::size_t>(spec_.observation.size);
    std::fill_n(rows.floats(), count * width, 0.0f);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t index = 0;
      std::memcpy(&index, source + i * sizeof(index), sizeof(index));
      rows.floats()[i * width + static_cast<std::size_t>(index)] = 1.0f;
    }
  }

  // Throws if a Discrete observation [int64] is outside its space.
  void check_index(const std::byte* row, const char* what, int env) const {
    if (!is_discrete()) return;
    std::int64_t index = 0;
    std::memcpy(&index, row, sizeof(index));
    if (index >= 0 && index < spec_.observation.size) return;
    const std::int64_t start = spec_.observation.start;
    throw std::out_of_range(fmt::format("{} of environment {}: got {}, expected {} to {}", what,
                                        env, start + index, start,
                                        start + spec_.observation.size - 1));
  }
  void check_indices() const {
    for (int i = 0; i < count_; ++i)
      check_index(&current_[i * numbers_ * item_size_], "observation", i);
  }

  void give_actions(const float* actions) {
    const auto count = static_cast<std::size_t>(count_);
    const nb::object array = simulator().attr("actions");
    const std::size_t numbers = count * static_cast<std::size_t>(spec_.action_size());
    if (spec_.action.kind != SpaceKind::kBox) {
      const Buffer buffer(array, "actions", numbers, sizeof(std::int64_t), true);
      std::copy_n(actions, numbers, buffer.as<std::int64_t>());
    } else {
      const Buffer buffer(array, "actions", numbers, sizeof(float), true);
      std::copy_n(actions, numbers, buffer.as<float>());
    }
  }

  // step: (observations, rewards, terminated, truncated, final observations or None, critic
  // observations or None, final critic observations or None, successes or None). Only final rows
  // and successes of ended episodes count.
  void take(const nb::tuple& step, const StepRows& rows) {
    const auto count = static_cast<std::size_t>(count_);
    {
      const Buffer observations(step[0], "observations", count * numbers_, item_size_);
      std::memcpy(current_.data(), observations.as<std::byte>(), current_.size());
      check_indices();
    }
    observe(0, count_, rows.observations);
    const Buffer rewards(step[1], "rewards", count, sizeof(double));
    std::copy_n(rewards.as<double>(), count, rows.rewards);
    const Buffer terminated(step[2], "terminations", count, 1),
        truncated(step[3], "truncations", count, 1);
    for (std::size_t i = 0; i < count; ++i) {
      const bool counts = next_is_filler_[i] == 0;
      if (!counts) rows.rewards[i] = 0.0f;
      rows.terminated[i] = counts && terminated.as<std::uint8_t>()[i] != 0;
      rows.truncated[i] = counts && rows.terminated[i] == 0 && truncated.as<std::uint8_t>()[i] != 0;
    }
    if (!critic_.empty()) {
      keep_critic(step[5]);
      if (rows.critic_observations) observe_critic(0, count_, rows.critic_observations);
    }
    keep_masks();
    end_episodes(step, rows);
  }

  void end_episodes(const nb::tuple& step, const StepRows& rows) {
    const auto ended = [&](int i) { return (rows.terminated[i] | rows.truncated[i]) != 0; };
    bool any = false;
    for (int i = 0; i < count_; ++i) {
      any = any || ended(i);
      const auto k = static_cast<std::size_t>(i);
      age_[k] = ended(i) || next_is_filler_[k] != 0 ? 0 : age_[k] + 1;
      next_is_filler_[k] = filler_rows_ && ended(i);
      if (ended(i) && rows.ends != nullptr)
        rows.ends[i] = {.reason = static_cast<std::int8_t>(rows.truncated[i])};
    }
    if (!any) return;
    if (spec_.names_success && rows.ends != nullptr) {
      const Buffer successes(step[7], "successes", static_cast<std::size_t>(count_), 1);
      for (int i = 0; i < count_; ++i) {
        if (ended(i)) rows.ends[i].success = successes.as<std::int8_t>()[i];
      }
    }
    if (!step[4].is_none()) {
      const Buffer finals(step[4], "final observations", count_ * numbers_, item_size_);
      const auto width = static_cast<std::size_t>(spec_.observation.size);
      for (int i = 0; i < count_; ++i) {
        if (!ended(i)) continue;
        const std::byte* last = finals.as<std::byte>() + i * numbers_ * item_size_;
        check_index(last, "final observation", i);
        write(last, 1, rows.final_observations.offset_by(i * width));
      }
    }
    if (!step[6].is_none() && rows.final_critic_observations) {
      const auto width = static_cast<std::size_t>(spec_.critic_observation.size);
      const Buffer finals(step[6], "final critic observations", count_ * width, sizeof(float));
      for (int i = 0; i < count_; ++i) {
        if (ended(i))
          std::copy_n(finals.as<float>() + i * width, width,
                      rows.final_critic_observations.floats() + i * width);
      }
    }
  }

  EnvSpec spec_;
  Shared simulator_, factory_;
  int count_ = 0;
  bool deterministic_ = false, has_final_observations_ = false, filler_rows_ = false;
  std::size_t item_size_ = 0;  // bytes of a number in Python's array
  std::size_t numbers_ = 0;    // numbers of an observation in Python's array
  std::vector<std::byte> current_, critic_;
  std::vector<std::uint8_t> masks_;  // [N, M] of current_, or empty
  std::vector<std::int64_t> age_;
  std::vector<std::uint8_t> next_is_filler_;
};

// factory(options: dict) -> Simulator.
EnvEntry entry_from(const nb::dict& spec, nb::object factory) {
  const EnvSpec made = spec_from(spec);
  const auto shared = std::make_shared<Held>(std::move(factory));
  const FrameStack frames{.frame_stack = nb::cast<int>(spec["frames"]), .frame_padding = "zero"};
  EnvSpec shown = made;
  if (frames.any()) {
    const Status status = describe_frame_stack(frames, shown);
    if (!status.ok()) raise(status);
  }
  return simulator_entry(
      shown,
      [made, shared, frames](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
        Result<std::unique_ptr<VecEnv>> envs = PythonEnvs::make(made, shared, options);
        if (!envs.ok() || !frames.any()) return envs;
        return stack_frames(envs.take(), frames);
      });
}

void register_simulator(const nb::dict& spec, const nb::object& factory) {
  const Status status = replace_environment(entry_from(spec, factory));
  if (!status.ok()) raise(status);
}

// opener(id) -> (spec, factory).
void register_opener(const std::string& name, const nb::object& opener) {
  const auto shared = std::make_shared<Held>(opener);
  const Status status =
      register_namespace(name, [name, shared](const std::string& id) -> Result<EnvEntry> {
        BROADLOOM_TRY(check_namespace_allowed(name));
        const nb::gil_scoped_acquire gil;
        try {
          const nb::tuple opened = nb::cast<nb::tuple>(shared->get()(id));
          return entry_from(nb::cast<nb::dict>(opened[0]), opened[1]);
        } catch (nb::python_error& error) {
          return keep_exception(error, "opening " + id);
        }
      });
  if (!status.ok()) raise(status);
}

}  // namespace

void bind_simulators(nb::module_& m) {
  m.def("register", &register_simulator, nb::arg("spec"), nb::arg("factory"));
  m.def("register_namespace", &register_opener, nb::arg("name"), nb::arg("opener"));
}

}  // namespace broadloom::python
