#include "environments.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broadloom/core/aligned_vector.h"
#include "broadloom/core/available_cores.h"
#include "broadloom/core/thread_pool.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/evaluate/planes.h"
#include "buffer.h"
#include "errors.h"
#include "overrides.h"
#include "spec.h"

namespace nb = nanobind;

namespace broadloom::python {
namespace {

// N environments with arrays that Python sees without a copy. An environment is `held` after its
// episode has ended, until Python asks for the next one. The library has begun that one already,
// and steps leave it out.
class Environments {
 public:
  Environments(std::string id, int num_envs, std::uint64_t seed, const nb::dict& options,
               int max_episode_steps, int threads)
      : id_(std::move(id)),
        options_(overrides_from(options)),
        max_episode_steps_(max_episode_steps),
        count_(num_envs) {
    Overrides given = {{"env_id", id_}};
    for (const auto& [name, text] : options_) given.emplace_back("env." + name, text);
    allow_settings(given);
    make(seed);
    threads_ = threads > 0 ? threads : available_cores();
    const auto count = static_cast<std::size_t>(count_);
    const EnvSpec& spec = envs_->spec();
    width_ = static_cast<std::size_t>(spec.observation.size);
    for (AlignedVector<float>* rows : {&floats_, &finals_})
      rows->resize(is_bytes() ? 0 : count * width_);
    for (AlignedVector<std::uint8_t>* rows : {&bytes_, &final_bytes_})
      rows->resize(is_bytes() ? count * width_ : 0);
    indices_.resize(is_discrete() ? count : 0);
    final_indices_.resize(is_discrete() ? count : 0);
    actions_.resize(count * static_cast<std::size_t>(spec.action_size()));
    rewards_f32_.resize(count);
    rewards_.resize(count);
    terminated_.resize(count);
    truncated_.resize(count);
    held_.resize(count);
    show(0, count_);
  }
  ~Environments() { leave_threads_of_parent(); }

  int num_envs() const { return count_; }
  nb::dict spec() const { return spec_to(envs_->spec()); }

  // Makes all environments anew.
  void reset(std::uint64_t seed) {
    make(seed);
    std::fill(held_.begin(), held_.end(), 0);
    has_acted_ = false;
    show(0, count_);
  }

  // Shows the next episodes of held environments. mask: [N] bytes, or None for all of them.
  void release(const nb::object& mask) {
    const auto show_next = [&](std::size_t i) {
      if (held_[i] == 0) return;
      held_[i] = 0;
      show(static_cast<int>(i), static_cast<int>(i) + 1);
    };
    if (mask.is_none()) {
      for (std::size_t i = 0; i < held_.size(); ++i) show_next(i);
      return;
    }
    const Buffer flags(mask, "mask", held_.size(), 1);
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (flags.as<std::uint8_t>()[i] != 0) show_next(i);
    }
  }

  // Steps all environments that are not held. Held ones give a reward of 0 and no end. hold: an
  // environment whose episode ends keeps its last observation and is held; otherwise it shows the
  // next episode's first, and final_observations has the last. Returns whether an episode ended.
  bool step(const nb::object& actions, bool hold) {
    read_actions(actions);
    Status status;
    bool any = false;
    {
      const nb::gil_scoped_release unlocked;
      const int shards = std::min(threads_, (count_ + kShard - 1) / kShard);
      if (shards > 1) {
        leave_threads_of_parent();
        if (pool_ == nullptr) {
          pool_ = std::make_unique<ThreadPool>(threads_);
          process_ = getpid();
        }
      }
      failed_.assign(static_cast<std::size_t>(shards), Status());
      ended_.assign(static_cast<std::size_t>(shards), 0);
      const auto shard = [&](int k) {
        const int begin = static_cast<int>(std::int64_t{count_} * k / shards),
                  end = static_cast<int>(std::int64_t{count_} * (k + 1) / shards);
        failed_[static_cast<std::size_t>(k)] =
            step_range(begin, end, hold, ended_[static_cast<std::size_t>(k)]);
      };
      if (shards > 1)
        pool_->run(shards, shard);
      else
        shard(0);
      for (int k = shards; k-- > 0;) {
        any = any || ended_[static_cast<std::size_t>(k)] != 0;
        if (!failed_[static_cast<std::size_t>(k)].ok())
          status = failed_[static_cast<std::size_t>(k)];
      }
    }
    if (!status.ok()) raise(status);
    has_acted_ = true;
    return any;
  }

  // The picture of environment i: ((left, bottom, right, top), [(kind, ink, strength, numbers)]).
  // None if it has no drawing.
  nb::object drawing(int i) {
    if (i < 0 || i >= count_) raise(invalid("there is no environment " + std::to_string(i)));
    const EnvSpec& spec = envs_->spec();
    Drawing drawing;
    const auto k = static_cast<std::size_t>(i);
    const bool acted = has_acted_ && (terminated_[k] | truncated_[k]) == 0;
    if (const auto* drawable = capability<Drawable>(*envs_)) {
      drawable->draw(i, acted ? &actions_[k * spec.action_size()] : nullptr, drawing);
    }
    if (drawing.empty() && is_small_image(spec.observation))
      draw_planes(spec.observation, &bytes_[k * width_], drawing);
    if (drawing.empty()) return nb::none();
    constexpr const char* kKinds[] = {"line", "polygon", "rectangle", "circle", "text"};
    nb::list shapes;
    for (const Shape& shape : drawing.shapes) {
      const char* kind = kKinds[static_cast<std::size_t>(shape.kind)];
      shapes.append(
          nb::make_tuple(kind, static_cast<int>(shape.ink), shape.strength, shape.numbers));
    }
    return nb::make_tuple(nb::make_tuple(drawing.left, drawing.bottom, drawing.right, drawing.top),
                          shapes);
  }

  // Views of the arrays of the last call. They keep this object alive.
  template <bool final>
  static nb::object observations(nb::handle self) {
    Environments& envs = nb::cast<Environments&>(self);
    if (envs.is_discrete()) return view(self, final ? envs.final_indices_ : envs.indices_, {});
    const std::vector<int> extents = envs.envs_->spec().observation.extents();
    if (envs.is_bytes()) return view(self, final ? envs.final_bytes_ : envs.bytes_, extents);
    return view(self, final ? envs.finals_ : envs.floats_, extents);
  }
  // [N, M], a copy; None without masks.
  nb::object action_masks() const {
    const std::size_t count = held_.size(),
                      width = static_cast<std::size_t>(envs_->spec().action.mask_size());
    if (width == 0) return nb::none();
    auto* kept = new std::vector<std::uint8_t>(count * width);
    const nb::capsule owner(
        kept, [](void* data) noexcept { delete static_cast<std::vector<std::uint8_t>*>(data); });
    capability<ActionMasks>(*envs_)->valid_actions(0, count_, kept->data());
    const std::size_t shape[] = {count, width};
    return nb::cast(nb::ndarray<nb::numpy, bool>(kept->data(), 2, shape, owner));
  }
  static nb::object rewards(nb::handle self) {
    return view(self, nb::cast<Environments&>(self).rewards_, {});
  }
  static nb::object terminated(nb::handle self) {
    return flags(self, nb::cast<Environments&>(self).terminated_);
  }
  static nb::object truncated(nb::handle self) {
    return flags(self, nb::cast<Environments&>(self).truncated_);
  }
  static nb::object held(nb::handle self) {
    return flags(self, nb::cast<Environments&>(self).held_);
  }

 private:
  static constexpr int kShard = 256;  // fewer environments are faster in one thread

  // A forked process has a copy of its parent's pool, but none of its threads to join.
  void leave_threads_of_parent() {
    if (pool_ != nullptr && process_ != getpid()) static_cast<void>(pool_.release());
  }

  bool is_bytes() const { return envs_->spec().observation.dtype == Dtype::kU8; }
  bool is_discrete() const { return envs_->spec().observation.kind == SpaceKind::kDiscrete; }

  void make(std::uint64_t seed) {
    VecEnvOptions options;
    options.num_envs = count_;
    options.seed = seed;
    options.max_episode_steps = max_episode_steps_;
    Result<std::unique_ptr<VecEnv>> made = make_vec_env(id_, options_, options);
    if (!made.ok()) raise(made.status());
    if (made.value()->traits().whole_batch)
      raise(invalid("env_id: got " + id_ +
                    ", which Python steps, expected an environment of Broadloom; make it with its "
                    "own library"));
    envs_ = made.take();
  }

  ObservationRows rows(AlignedVector<float>& floats, AlignedVector<std::uint8_t>& bytes,
                       int begin) {
    const std::size_t offset = static_cast<std::size_t>(begin) * width_;
    return is_bytes() ? ObservationRows(bytes.data() + offset)
                      : ObservationRows(floats.data() + offset);
  }

  void show(int begin, int end) {
    envs_->observe(begin, end, rows(floats_, bytes_, begin));
    find_indices(floats_, indices_, begin, end);
  }

  // Turns the library's one-hot rows of Discrete observations into indices.
  void find_indices(const AlignedVector<float>& rows, AlignedVector<std::int64_t>& indices,
                    int begin, int end) const {
    if (!is_discrete()) return;
    for (int i = begin; i < end; ++i) {
      const float* row = rows.data() + static_cast<std::size_t>(i) * width_;
      indices[static_cast<std::size_t>(i)] = std::max_element(row, row + width_) - row;
    }
  }

  // Discrete: int64 [N] of 0 to n - 1; MultiDiscrete: int64 [N, A]; else float32 [N, A], choices
  // and then numbers, which are clipped to the bounds.
  void read_actions(const nb::object& actions) {
    const Space& space = envs_->spec().action;
    const std::size_t size = actions_.size() / held_.size();
    if (!space.has_box()) {
      const Buffer buffer(actions, "actions", actions_.size(), sizeof(std::int64_t));
      for (std::size_t i = 0; i < held_.size(); ++i) {
        for (std::size_t a = 0; a < size; ++a) {
          const std::int64_t action = buffer.as<std::int64_t>()[i * size + a];
          check_choice(i, a, action);
          actions_[i * size + a] = static_cast<float>(action);
        }
      }
      return;
    }
    const Buffer buffer(actions, "actions", actions_.size(), sizeof(float));
    const auto width = static_cast<std::size_t>(space.size);
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const float action = buffer.as<float>()[i];
      if (!std::isfinite(action) && held_[i / width] == 0) {
        raise(invalid("actions[" + std::to_string(i / width) + "]: got " + std::to_string(action) +
                      ", expected finite numbers"));
      }
      const std::size_t a = i % width;
      if (a < static_cast<std::size_t>(space.choice_count()) && held_[i / width] == 0) {
        constexpr float kLargest = 1e9f;  // no choice
        check_choice(i / width, a,
                     static_cast<std::int64_t>(std::clamp(action, -kLargest, kLargest)));
      }
      actions_[i] = std::clamp(action, space.low[a], space.high[a]);
    }
  }

  void check_choice(std::size_t env, std::size_t a, std::int64_t choice) const {
    const auto most = static_cast<std::int64_t>(envs_->spec().action.most(a));
    if ((choice >= 0 && choice <= most) || held_[env] != 0) return;
    raise(invalid("actions[" + std::to_string(env) + "]: got " + std::to_string(choice) +
                  ", expected 0 to " + std::to_string(most)));
  }

  // Steps each run of neighbours that are not held.
  Status step_range(int begin, int end, bool hold, std::uint8_t& ended) {
    for (int first = begin; first < end;) {
      const bool is_held = held_[static_cast<std::size_t>(first)] != 0;
      int stop = first + 1;
      while (stop < end && (held_[static_cast<std::size_t>(stop)] != 0) == is_held) ++stop;
      if (is_held) {
        for (int i = first; i < stop; ++i) {
          const auto k = static_cast<std::size_t>(i);
          rewards_[k] = 0.0;
          terminated_[k] = truncated_[k] = 0;
        }
      } else {
        BROADLOOM_TRY(step_run(first, stop, hold, ended));
      }
      first = stop;
    }
    return {};
  }

  Status step_run(int begin, int end, bool hold, std::uint8_t& ended) {
    const auto offset = static_cast<std::size_t>(begin);
    const auto action_size = static_cast<std::size_t>(envs_->spec().action_size());
    BROADLOOM_TRY(
        step_simulator(*envs_, begin, end,
                       {actions_.data() + offset * action_size, rows(floats_, bytes_, begin),
                        rewards_f32_.data() + offset, terminated_.data() + offset,
                        truncated_.data() + offset, rows(finals_, final_bytes_, begin)}));
    find_indices(floats_, indices_, begin, end);
    for (int i = begin; i < end; ++i) {
      const auto k = static_cast<std::size_t>(i);
      rewards_[k] = rewards_f32_[k];
      if ((terminated_[k] | truncated_[k]) == 0) continue;
      ended = 1;
      find_indices(finals_, final_indices_, i, i + 1);
      if (!hold) continue;
      held_[k] = 1;
      rows(finals_, final_bytes_, i).copy_to(rows(floats_, bytes_, i), width_);
      if (is_discrete()) indices_[k] = final_indices_[k];
    }
    return {};
  }

  template <class Vector>
  static nb::object view(nb::handle self, Vector& numbers, const std::vector<int>& extents) {
    std::vector<std::size_t> shape{static_cast<std::size_t>(nb::cast<Environments&>(self).count_)};
    shape.insert(shape.end(), extents.begin(), extents.end());
    return nb::cast(nb::ndarray<nb::numpy, typename Vector::value_type>(
        numbers.data(), shape.size(), shape.data(), self));
  }
  static nb::object flags(nb::handle self, AlignedVector<std::uint8_t>& bytes) {
    const std::size_t shape[] = {bytes.size()};
    return nb::cast(nb::ndarray<nb::numpy, bool>(bytes.data(), 1, shape, self));
  }

  std::string id_;
  Overrides options_;
  int max_episode_steps_, count_, threads_ = 1;
  bool has_acted_ = false;  // since the last reset
  std::unique_ptr<VecEnv> envs_;
  std::unique_ptr<ThreadPool> pool_;
  pid_t process_ = 0;  // the process that made the pool
  std::size_t width_ = 0;
  AlignedVector<float> floats_, finals_, actions_, rewards_f32_;
  AlignedVector<std::uint8_t> bytes_, final_bytes_, terminated_, truncated_, held_;
  AlignedVector<std::int64_t> indices_, final_indices_;
  AlignedVector<double> rewards_;
  std::vector<Status> failed_;
  std::vector<std::uint8_t> ended_;
};

nb::list env_specs() {
  nb::list out;
  for (const EnvSpec& spec : list_envs()) out.append(spec_to(spec));
  return out;
}

}  // namespace

void bind_environments(nb::module_& m) {
  nb::class_<Environments>(m, "Environments")
      .def(nb::init<std::string, int, std::uint64_t, const nb::dict&, int, int>(),
           nb::arg("env_id"), nb::arg("num_envs"), nb::arg("seed"), nb::arg("options"),
           nb::arg("max_episode_steps"), nb::arg("threads"))
      .def_prop_ro("num_envs", &Environments::num_envs)
      .def_prop_ro("spec", &Environments::spec)
      .def("reset", &Environments::reset, nb::arg("seed"))
      .def("release", &Environments::release, nb::arg("mask").none())
      .def("drawing", &Environments::drawing, nb::arg("env"))
      .def("action_masks", &Environments::action_masks)
      .def("step", &Environments::step, nb::arg("actions"), nb::arg("hold"))
      .def_prop_ro("observations",
                   [](nb::handle self) { return Environments::observations<false>(self); })
      .def_prop_ro("final_observations",
                   [](nb::handle self) { return Environments::observations<true>(self); })
      .def_prop_ro("rewards", &Environments::rewards)
      .def_prop_ro("terminated", &Environments::terminated)
      .def_prop_ro("truncated", &Environments::truncated)
      .def_prop_ro("held", &Environments::held);
  m.def("list_envs", &env_specs);
}

}  // namespace broadloom::python
