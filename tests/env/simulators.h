// Simulators with limited abilities, made from the library's environments.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/simulator_entry.h"

namespace broadloom {

// Wraps environments under a new id, with given traits.
class Simulator : public ForwardingVecEnv, public EnvMaker {
 public:
  Simulator(std::unique_ptr<VecEnv> inner, std::string id, VecEnvTraits traits)
      : ForwardingVecEnv(std::move(inner)), spec_(this->inner().spec()), traits_(traits) {
    spec_.id = std::move(id);
  }
  const EnvSpec& spec() const override { return spec_; }
  VecEnvTraits traits() const override { return traits_; }
  std::unique_ptr<VecEnv> another(const VecEnvOptions&) const override { return nullptr; }

 protected:
  void mask_actions() { spec_.action.masked = true; }
  void group_observations(const std::vector<std::pair<std::string, Space>>& groups) {
    spec_.observation = Space::grouped(groups);
  }

 private:
  EnvSpec spec_;
  VecEnvTraits traits_;
};

// Steps all environments at once and must be called by the thread that made it.
class WholeBatch final : public Simulator {
 public:
  WholeBatch(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {.whole_batch = true}) {}
  void observe(int begin, int end, ObservationRows observations) const override {
    expect_whole(begin, end);
    inner().observe(begin, end, observations);
  }
  Status step(int begin, int end, const StepRows& rows) override {
    expect_whole(begin, end);
    return inner().step(begin, end, rows);
  }

 private:
  void expect_whole(int begin, int end) const {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, num_envs());
    EXPECT_EQ(std::this_thread::get_id(), maker_);
  }
  std::thread::id maker_ = std::this_thread::get_id();
};

// Fails at step `failing_step` of environment 0; 0: never.
class Failing final : public Simulator {
 public:
  Failing(std::unique_ptr<VecEnv> inner, const std::string& id, std::int64_t failing_step,
          bool whole, bool saves_state = true)
      : Simulator(std::move(inner), id, {.whole_batch = whole, .saves_state = saves_state}),
        failing_step_(failing_step) {}
  Status step(int begin, int end, const StepRows& rows) override {
    if (begin == 0 && ++steps_ == failing_step_) return {ErrorKind::kIo, "worker 3 has died"};
    return inner().step(begin, end, rows);
  }

 private:
  std::int64_t failing_step_, steps_ = 0;
};

// Hides its state and serialises it to bytes in capture().
class Serialising final : public Simulator {
 public:
  Serialising(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {}) {
    this->inner().append_state("inner", state_);
    for (const TensorRef& tensor : state_) width_ += tensor.bytes() / rows();
    bytes_.resize(rows() * width_);
  }
  Status capture() override {
    copy([](unsigned char* shown, unsigned char* state, std::size_t size) {
      std::memcpy(shown, state, size);
    });
    return {};
  }
  Status state_restored() override {
    copy([](unsigned char* shown, unsigned char* state, std::size_t size) {
      std::memcpy(state, shown, size);
    });
    return {};
  }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    const std::int64_t width = static_cast<std::int64_t>(width_);
    out.push_back({prefix + ".bytes", Dtype::kU8, {num_envs(), width}, bytes_.data()});
  }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(num_envs()); }
  template <class Copy>
  void copy(Copy copy_bytes) {
    std::size_t place = 0;
    for (const TensorRef& tensor : state_) {
      const std::size_t size = tensor.bytes() / rows();
      for (std::size_t n = 0; n < rows(); ++n) {
        copy_bytes(&bytes_[n * width_ + place], static_cast<unsigned char*>(tensor.data) + n * size,
                   size);
      }
      place += size;
    }
  }

  std::vector<TensorRef> state_;
  std::size_t width_ = 0;
  std::vector<unsigned char> bytes_;
};

// Cannot save its state. If it can begin anew, it makes new environments then.
class Unsaved final : public Simulator {
 public:
  Unsaved(std::unique_ptr<VecEnv> inner, const std::string& id, bool can_begin)
      : Simulator(std::move(inner), id, {.saves_state = false}), can_begin_(can_begin) {}
  bool can_begin_anew() const override { return can_begin_; }
  Status begin_anew(std::uint64_t seed) override {
    if (!can_begin_) return VecEnv::begin_anew(seed);
    seeds().push_back(seed);
    VecEnvOptions options;
    options.num_envs = num_envs();
    options.seed = seed;
    anew_ = make_another(inner(), options);
    return {};
  }
  void observe(int begin, int end, ObservationRows observations) const override {
    (anew_ != nullptr ? *anew_ : inner()).observe(begin, end, observations);
  }
  Status step(int begin, int end, const StepRows& rows) override {
    return (anew_ != nullptr ? *anew_ : inner()).step(begin, end, rows);
  }
  std::int64_t episode_step(int env) const override {
    return (anew_ != nullptr ? *anew_ : inner()).episode_step(env);
  }
  void append_state(const std::string&, std::vector<TensorRef>&) override {}
  static std::vector<std::uint64_t>& seeds() {
    static std::vector<std::uint64_t> all;
    return all;
  }

 private:
  bool can_begin_;
  std::unique_ptr<VecEnv> anew_;
};

// Fails as a C++ program may: by an exception, or by an error without a message.
class Throwing final : public Simulator {
 public:
  Throwing(std::unique_ptr<VecEnv> inner, const std::string& id, std::int64_t failing_step,
           bool whole, bool throws)
      : Simulator(std::move(inner), id, {.whole_batch = whole}),
        failing_step_(failing_step),
        throws_(throws) {}
  Status step(int begin, int end, const StepRows& rows) override {
    if (end != num_envs() || ++steps_ != failing_step_) return inner().step(begin, end, rows);
    if (throws_) throw std::runtime_error("socket closed");
    return {ErrorKind::kIo, ""};
  }

 private:
  std::int64_t failing_step_, steps_ = 0;
  bool throws_;
};

// Fails in one of the functions that return no Status, from its n-th call on. With "valid_actions"
// its two actions have masks.
class ThrowingElsewhere final : public Simulator, public ActionMasks {
 public:
  ThrowingElsewhere(std::unique_ptr<VecEnv> inner, const std::string& id, std::string function,
                    int calls, bool whole)
      : Simulator(std::move(inner), id, {.whole_batch = whole}),
        function_(std::move(function)),
        left_(calls) {
    if (function_ == "valid_actions") mask_actions();
  }
  void throw_from_now_on() { left_ = 0; }
  void observe(int begin, int end, ObservationRows rows) const override {
    may_throw("observe");
    inner().observe(begin, end, rows);
  }
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    may_throw("append_state");
    inner().append_state(prefix, out);
  }
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    may_throw("another");
    return make_another(inner(), options);
  }
  void valid_actions(int begin, int end, std::uint8_t* flags) const override {
    may_throw("valid_actions");
    std::fill_n(flags, 2 * (end - begin), std::uint8_t{1});
  }

 private:
  void may_throw(const char* function) const {
    if (function == function_ && --left_ < 0) throw std::runtime_error("socket closed");
  }
  std::string function_;
  mutable std::atomic<int> left_;
};

// Changes how its episodes ended. change: null: it does not say how.
class Ending final : public Simulator {
 public:
  using Change = void (*)(EpisodeEnd&);
  Ending(std::unique_ptr<VecEnv> inner, const std::string& id, Change change)
      : Simulator(std::move(inner), id, {}), change_(change) {}
  Status step(int begin, int end, const StepRows& rows) override {
    StepRows asked = rows;
    if (change_ == nullptr) asked.ends = nullptr;
    BROADLOOM_TRY(inner().step(begin, end, asked));
    for (int k = 0; change_ != nullptr && rows.ends != nullptr && k < end - begin; ++k) {
      if ((rows.terminated[k] | rows.truncated[k]) != 0) change_(rows.ends[k]);
    }
    return {};
  }

 private:
  Change change_;
};

// Changes the list of its state, or fails to restore it.
class Restoring final : public Simulator {
 public:
  using Change = void (*)(std::vector<TensorRef>&);
  Restoring(std::unique_ptr<VecEnv> inner, const std::string& id, Change change, Status restored)
      : Simulator(std::move(inner), id, {}), change_(change), restored_(std::move(restored)) {}
  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    std::vector<TensorRef> own;
    inner().append_state(prefix, own);
    if (change_ != nullptr) change_(own);
    out.insert(out.end(), own.begin(), own.end());
  }
  Status state_restored() override { return restored_.ok() ? inner().state_restored() : restored_; }

 private:
  Change change_;
  Status restored_;
};

class WithoutFinals final : public Simulator {
 public:
  WithoutFinals(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {.whole_batch = true, .has_final_observations = false}),
        lost_(static_cast<std::size_t>(num_envs()) * spec().observation_size()) {}
  Status step(int begin, int end, const StepRows& rows) override {
    StepRows others = rows;
    others.final_observations = lost_.data();
    return inner().step(begin, end, others);
  }

 private:
  std::vector<float> lost_;
};

// Every instance behaves differently.
class Varying final : public Simulator {
 public:
  Varying(std::unique_ptr<VecEnv> inner, const std::string& id)
      : Simulator(std::move(inner), id, {.deterministic = false}) {}
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    static std::atomic<int> calls{0};
    rows.rewards[0] += 1e-3f * static_cast<float>(++calls % 17);
    return {};
  }
};

// Writes a NaN once at each place: into the reward of a step, the observation after it, or the
// final observation.
class NotFinite final : public Simulator {
 public:
  enum class What { kReward, kObservation, kLast };
  struct Place {
    int env;
    std::int64_t step;
    What what;
  };
  NotFinite(std::unique_ptr<VecEnv> inner, const std::string& id, std::vector<Place> places,
            bool whole)
      : Simulator(std::move(inner), id, {.whole_batch = whole}),
        places_(std::move(places)),
        whole_(whole),
        steps_(static_cast<std::size_t>(num_envs())) {}
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    for (const Place& place : places_) {
      if (place.env < begin || place.env >= end) continue;
      if (steps_[static_cast<std::size_t>(place.env)] != place.step) continue;
      const std::size_t row = static_cast<std::size_t>(place.env - begin);
      const std::size_t first = row * static_cast<std::size_t>(spec().observation_size());
      float* const number = place.what == What::kReward ? rows.rewards + row
                            : place.what == What::kLast ? rows.final_observations.floats() + first
                                                        : rows.observations.floats() + first;
      *number = std::numeric_limits<float>::quiet_NaN();
    }
    for (int n = begin; n < end; ++n) ++steps_[static_cast<std::size_t>(n)];
    return {};
  }
  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    return std::make_unique<NotFinite>(make_another(inner(), options), spec().id, places_, whole_);
  }

 private:
  std::vector<Place> places_;
  bool whole_;
  std::vector<std::int64_t> steps_;  // [N] steps so far
};

// Registers CartPole-v1 wrapped by `wrap`.
template <class Wrap>
void register_simulator(const std::string& id, Wrap wrap, bool masked = false) {
  EnvSpec spec = env_spec("CartPole-v1", {}).take();
  spec.id = id;
  spec.action.masked = masked;
  const Status status = register_environment(simulator_entry(
      spec, [wrap](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
        Result<std::unique_ptr<VecEnv>> inner = make_vec_env("CartPole-v1", {}, options);
        if (!inner.ok()) return inner;
        return std::unique_ptr<VecEnv>(wrap(inner.take()));
      }));
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace broadloom
