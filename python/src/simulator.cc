#include "simulator.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/block_player.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/episode_waves.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"
#include "broadloom/env/vec_env.h"
#include "buffer.h"
#include "device_steps.h"
#include "errors.h"
#include "spec.h"
#include "xla.h"

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

// The type that NumPy calls so. Throws std::invalid_argument for others.
Dtype dtype_named(const std::string& name) {
  constexpr std::pair<const char*, Dtype> kNames[] = {
      {"bool", Dtype::kBool},   {"int8", Dtype::kI8},     {"uint8", Dtype::kU8},
      {"int16", Dtype::kI16},   {"uint16", Dtype::kU16},  {"int32", Dtype::kI32},
      {"uint32", Dtype::kU32},  {"int64", Dtype::kI64},   {"uint64", Dtype::kU64},
      {"float32", Dtype::kF32}, {"float64", Dtype::kF64},
  };
  for (const auto& [known, dtype] : kNames) {
    if (name == known) return dtype;
  }
  throw std::invalid_argument("no number type '" + name + "'");
}

// Steps all N environments by one call of Python, in the thread that called the library
// (whole_batch).
class PythonEnvs final : public VecEnv,
                         public ActionMasks,
                         public EnvMaker,
                         public EpisodeWaves,
                         public BlockPlayer,
                         public PythonDeviceSteps {
 public:
  // simulator: a broadloom._adapter.Simulator after a reset. The GIL must be held.
  PythonEnvs(EnvSpec spec, nb::object simulator, Shared factory)
      : spec_(std::move(spec)), factory_(std::move(factory)) {
    count_ = nb::cast<int>(simulator.attr("num_envs"));
    deterministic_ = nb::cast<bool>(simulator.attr("deterministic"));
    has_final_observations_ = nb::cast<bool>(simulator.attr("has_final_observations"));
    filler_rows_ = nb::cast<bool>(simulator.attr("filler_rows"));
    common_bits_ = nb::cast<bool>(simulator.attr("common_bits"));
    truncates_at_limit_ = nb::cast<bool>(simulator.attr("truncates_at_limit"));
    plays_blocks_ = nb::cast<bool>(simulator.attr("plays_blocks"));
    saves_state_ = nb::cast<bool>(simulator.attr("saves_state"));
    spec_.set_time_limit(nb::cast<int>(simulator.attr("max_episode_steps")));
    spec_.engine = nb::cast<std::string>(simulator.attr("engine"));
    set_device(simulator.attr("on_device"), spec_, count_);
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
    if (saves_state_ && state_.empty()) make_state();
    read_shown();
    std::fill(age_.begin(), age_.end(), 0);
    std::fill(next_is_filler_.begin(), next_is_filler_.end(), 0);
  }
  void read_shown() override {
    const nb::object rows = simulator().attr("observations");
    const Buffer buffer(rows, "observations", count_ * numbers_, item_size_);
    std::memcpy(current_.data(), buffer.as<std::byte>(), current_.size());
    check_indices();
    if (!critic_.empty()) keep_critic(simulator().attr("critic_observations"));
    keep_masks();
  }
  void count_step(int env, bool has_ended) override {
    std::int64_t& age = age_[static_cast<std::size_t>(env)];
    age = has_ended ? 0 : age + 1;
  }

  // Closes the environments. Python may never free their files, processes and windows.
  ~PythonEnvs() override {
    if (simulator_ == nullptr || !Py_IsInitialized()) {
      forget_device();
      return;
    }
    const nb::gil_scoped_acquire gil;
    forget_device();
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
            .saves_state = saves_state_,
            .has_final_observations = has_final_observations_,
            .filler_rows = filler_rows_,
            .common_bits = common_bits_};
  }
  // An environment may also truncate by itself, before its limit, so each step has a place.
  int max_truncations(int num_steps) const override {
    const int limit = spec_.max_episode_steps;
    const bool few = limit > 0 && truncates_at_limit_;
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

  bool can_play() const override { return plays_blocks_; }
  Status play(int num_steps, const Ask& ask) override {
    const nb::gil_scoped_acquire gil;
    Turns turns(*this, num_steps, ask);
    const XlaTicket ticket(turns);
    try {
      simulator().attr("play")(ticket.halves(), num_steps);
      return turns.status();
    } catch (nb::python_error& error) {
      return keep_exception(error, "playing " + spec_.id);
    } catch (const std::exception& error) {
      return {ErrorKind::kIo, "playing " + spec_.id + ": " + error.what()};
    }
  }

  // The simulator's own arrays, and those that no call of it gives again.
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    if (!saves_state_) return;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      SavedArray& array = state_[i];
      out.push_back(
          {fmt::format("{}.state{}", prefix, i), array.dtype, array.shape, array.numbers.data()});
    }
    const Dtype dtype = is_discrete() ? Dtype::kI64 : spec_.observation.dtype;
    const std::vector<ValueRange> indices{{0.0, spec_.observation.size - 1.0}};
    out.push_back({prefix + ".observations",
                   dtype,
                   {count_, static_cast<std::int64_t>(numbers_)},
                   current_.data(),
                   is_discrete() ? indices : std::vector<ValueRange>{}});
    if (!critic_.empty())
      out.push_back({prefix + ".critic_observations",
                     Dtype::kF32,
                     {count_, spec_.critic_observation.size},
                     critic_.data()});
    if (!masks_.empty())
      out.push_back({prefix + ".masks",
                     Dtype::kU8,
                     {count_, spec_.action.mask_size()},
                     masks_.data(),
                     {{0.0, 1.0}}});
    out.push_back({prefix + ".steps", Dtype::kI64, {count_}, age_.data(), {kCountRange}});
  }
  Status capture() override {
    if (!saves_state_) return {};
    const nb::gil_scoped_acquire gil;
    try {
      const nb::list arrays = nb::cast<nb::list>(simulator().attr("state")());
      for (std::size_t i = 0; i < state_.size(); ++i) {
        std::vector<std::byte>& numbers = state_[i].numbers;
        const std::size_t size = dtype_size(state_[i].dtype);
        const Buffer buffer(arrays[i], "state", numbers.size() / size, size);
        std::memcpy(numbers.data(), buffer.as<std::byte>(), numbers.size());
      }
      return {};
    } catch (nb::python_error& error) {
      return keep_exception(error, "reading the state of " + spec_.id);
    } catch (const std::exception& error) {
      return {ErrorKind::kIo, "reading the state of " + spec_.id + ": " + error.what()};
    }
  }
  Status state_restored() override {
    if (!saves_state_) return {};
    const nb::gil_scoped_acquire gil;
    try {
      nb::list arrays;
      for (const SavedArray& array : state_)
        arrays.append(nb::bytes(array.numbers.data(), array.numbers.size()));
      simulator().attr("restore")(arrays);
      return {};
    } catch (nb::python_error& error) {
      return keep_exception(error, "setting the state of " + spec_.id);
    } catch (const std::exception& error) {
      return {ErrorKind::kIo, "setting the state of " + spec_.id + ": " + error.what()};
    }
  }

  bool can_begin_anew() const override { return true; }
  Status begin_anew(std::uint64_t seed) override { return reset("reset", seed); }
  Status begin_wave(int first) override {
    return reset("begin_wave", static_cast<std::uint64_t>(first));
  }

  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    if (options.stagger_starts) return nullptr;  // they cannot begin within an episode
    VecEnvOptions limited = options;
    if (limited.max_episode_steps == 0) limited.max_episode_steps = spec_.max_episode_steps;
    Result<std::unique_ptr<VecEnv>> made = [&] {
      if (limited.num_envs == count_) return make(spec_, factory_, limited);
      const nb::gil_scoped_acquire gil;
      const KeptException dropped;  // the second try keeps its own
      return make(spec_, factory_, limited);
    }();
    if (!made.ok() && limited.num_envs != count_) {
      limited.num_envs = count_;  // a simulator of fixed size
      made = make(spec_, factory_, limited);
    }
    return made.ok() ? made.take() : nullptr;
  }

  static Result<std::unique_ptr<VecEnv>> make(const EnvSpec& spec, const Shared& factory,
                                              const VecEnvOptions& options) {
    if (options.stagger_starts) {
      return invalid(fmt::format(
          "{}: stagger_starts starts environments while others are in the middle of an episode, "
          "which only environments of Broadloom can do; leave it out",
          spec.id));
    }
    const nb::gil_scoped_acquire gil;
    try {
      nb::dict request;
      request["num_envs"] = options.num_envs;
      request["seed"] = options.seed;
      request["streams"] = streams_word(options.streams);
      request["max_episode_steps"] = options.max_episode_steps;
      request["families"] = options.seed_families;
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

  // An array of the simulator's state, [N, ...].
  struct SavedArray {
    Dtype dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> numbers;
  };

  void make_state() {
    for (const nb::handle type : nb::cast<nb::list>(simulator().attr("state_types"))) {
      SavedArray array{dtype_named(nb::cast<std::string>(type[0])),
                       nb::cast<std::vector<std::int64_t>>(type[1]),
                       {}};
      const TensorRef sized{"", array.dtype, array.shape};
      array.numbers.resize(sized.bytes());
      state_.push_back(std::move(array));
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
    if (!spec_.action.has_box()) {
      const Buffer buffer(array, "actions", numbers, sizeof(std::int64_t), true);
      std::copy_n(actions, numbers, buffer.as<std::int64_t>());
    } else {
      const Buffer buffer(array, "actions", numbers, sizeof(float), true);
      std::copy_n(actions, numbers, buffer.as<float>());
    }
  }

  // Results of a step, [N, ...] each. Only final rows and successes of ended episodes count.
  struct Returned {
    const std::byte* observations;
    const std::uint8_t *terminated, *truncated;
    const std::byte* finals;              // or null
    const float *critic, *critic_finals;  // or null
    const std::int8_t* successes = nullptr;
  };

  // The turns of a compiled program: its calls of the function for actions.
  class Turns final : public XlaCallee {
   public:
    Turns(PythonEnvs& envs, int num_steps, const Ask& ask)
        : envs_(envs), num_steps_(num_steps), ask_(ask) {}

    // inputs: step, observations, rewards, terminated, truncated, final observations; also critic
    // observations and final ones. In the first turn only the step counts.
    void called(std::span<const XlaArray> inputs, const XlaArray& actions) override {
      std::memset(actions.data, 0, actions.bytes);
      if (has_failed_ || !status_.ok()) return;
      try {
        answer(inputs, actions);
      } catch (const std::exception& error) {
        status_ = {ErrorKind::kIo, "playing " + envs_.spec_.id + ": " + error.what()};
      }
    }
    // After the program: kIo if it was not as the environments need it, or did not ask every time.
    Status status() const {
      if (has_failed_ || !status_.ok() || turns_ == num_steps_ + 1) return status_;
      return {ErrorKind::kIo, fmt::format("playing {}: the program ended after {} of {} steps",
                                          envs_.spec_.id, std::max(turns_ - 1, 0), num_steps_)};
    }

   private:
    void answer(std::span<const XlaArray> inputs, const XlaArray& actions) {
      const auto count = static_cast<std::size_t>(envs_.count_);
      const std::size_t row = envs_.numbers_ * envs_.item_size_ * count;
      const std::size_t critic = envs_.critic_.size();
      const std::size_t expected[] = {
          sizeof(std::int32_t), row, count * sizeof(float), count, count, row, critic, critic};
      const std::size_t arrays = critic == 0 ? 6 : 8;
      if (inputs.size() != arrays)
        throw std::invalid_argument(
            fmt::format("got {} arrays, expected {}", inputs.size(), arrays));
      for (std::size_t i = 0; i < arrays; ++i) {
        if (inputs[i].bytes == expected[i]) continue;
        throw std::invalid_argument(fmt::format(
            "array {} of the program: got {} bytes, expected {}", i, inputs[i].bytes, expected[i]));
      }
      std::int32_t step = 0;
      std::memcpy(&step, inputs[0].data, sizeof(step));
      if (step != turns_++)
        throw std::invalid_argument(fmt::format("got step {}, expected {}", step, turns_ - 1));
      if (step > 0) {
        std::memcpy(rows_.rewards, inputs[2].data, inputs[2].bytes);
        envs_.keep_step({.observations = inputs[1].data,
                         .terminated = flags(inputs[3]),
                         .truncated = flags(inputs[4]),
                         .finals = inputs[5].data,
                         .critic = critic == 0 ? nullptr : numbers(inputs[6]),
                         .critic_finals = critic == 0 ? nullptr : numbers(inputs[7])},
                        rows_);
      }
      has_failed_ = !ask_(step, rows_);
      if (!has_failed_ && step < num_steps_)
        std::memcpy(actions.data, rows_.actions, actions.bytes);
    }
    static const std::uint8_t* flags(const XlaArray& array) {
      return reinterpret_cast<const std::uint8_t*>(array.data);
    }
    static const float* numbers(const XlaArray& array) {
      return reinterpret_cast<const float*>(array.data);
    }

    PythonEnvs& envs_;
    int num_steps_, turns_ = 0;
    const Ask& ask_;
    bool has_failed_ = false;  // whether `ask` said so
    StepRows rows_{};
    Status status_;
  };

  // step: (observations, rewards, terminated, truncated, final observations or None, critic
  // observations or None, final critic observations or None, successes or None).
  void take(const nb::tuple& step, const StepRows& rows) {
    const auto count = static_cast<std::size_t>(count_);
    const std::size_t critic = critic_.size() / sizeof(float);
    const Buffer observations(step[0], "observations", count * numbers_, item_size_),
        rewards(step[1], "rewards", count, sizeof(double)),
        terminated(step[2], "terminations", count, 1), truncated(step[3], "truncations", count, 1);
    std::optional<Buffer> finals, critic_rows, critic_finals, successes;
    if (!step[4].is_none())
      finals.emplace(step[4], "final observations", count * numbers_, item_size_);
    if (critic > 0) critic_rows.emplace(step[5], "critic observations", critic, sizeof(float));
    if (!step[6].is_none())
      critic_finals.emplace(step[6], "final critic observations", critic, sizeof(float));
    if (spec_.names_success && !step[7].is_none())
      successes.emplace(step[7], "successes", count, 1);
    std::copy_n(rewards.as<double>(), count, rows.rewards);
    keep_masks();
    keep_step({.observations = observations.as<std::byte>(),
               .terminated = terminated.as<std::uint8_t>(),
               .truncated = truncated.as<std::uint8_t>(),
               .finals = finals ? finals->as<std::byte>() : nullptr,
               .critic = critic_rows ? critic_rows->as<float>() : nullptr,
               .critic_finals = critic_finals ? critic_finals->as<float>() : nullptr,
               .successes = successes ? successes->as<std::int8_t>() : nullptr},
              rows);
  }

  // Keeps a step whose rewards are in `rows` already.
  void keep_step(const Returned& step, const StepRows& rows) {
    const auto count = static_cast<std::size_t>(count_);
    std::memcpy(current_.data(), step.observations, current_.size());
    check_indices();
    observe(0, count_, rows.observations);
    for (std::size_t i = 0; i < count; ++i) {
      const bool counts = next_is_filler_[i] == 0;
      if (!counts) rows.rewards[i] = 0.0f;
      rows.terminated[i] = counts && step.terminated[i] != 0;
      rows.truncated[i] = counts && rows.terminated[i] == 0 && step.truncated[i] != 0;
    }
    if (!critic_.empty()) {
      std::memcpy(critic_.data(), step.critic, critic_.size());
      if (rows.critic_observations) observe_critic(0, count_, rows.critic_observations);
    }
    end_episodes(step, rows);
  }

  void end_episodes(const Returned& step, const StepRows& rows) {
    const auto width = static_cast<std::size_t>(spec_.observation.size),
               critic_width = static_cast<std::size_t>(spec_.critic_observation.size);
    for (int i = 0; i < count_; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const bool ended = (rows.terminated[i] | rows.truncated[i]) != 0;
      age_[k] = ended || next_is_filler_[k] != 0 ? 0 : age_[k] + 1;
      next_is_filler_[k] = filler_rows_ && ended;
      if (!ended) continue;
      if (rows.ends != nullptr)
        rows.ends[i] = {.reason = static_cast<std::int8_t>(rows.truncated[i])};
      if (step.successes != nullptr && rows.ends != nullptr)
        rows.ends[i].success = step.successes[k];
      if (step.finals != nullptr) {
        const std::byte* last = step.finals + k * numbers_ * item_size_;
        check_index(last, "final observation", i);
        write(last, 1, rows.final_observations.offset_by(k * width));
      }
      if (step.critic_finals != nullptr && rows.final_critic_observations) {
        std::copy_n(step.critic_finals + k * critic_width, critic_width,
                    rows.final_critic_observations.floats() + k * critic_width);
      }
    }
  }

  EnvSpec spec_;
  Shared simulator_, factory_;
  int count_ = 0;
  bool deterministic_ = false, has_final_observations_ = false, filler_rows_ = false;
  bool common_bits_ = true, plays_blocks_ = false, saves_state_ = false;
  bool truncates_at_limit_ = false;  // and nowhere else
  std::size_t item_size_ = 0;        // bytes of a number in Python's array
  std::size_t numbers_ = 0;          // numbers of an observation in Python's array
  std::vector<std::byte> current_, critic_;
  std::vector<SavedArray> state_;
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
