#include "broadloom/env/plugins/plugin_envs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>

#include "broadloom/core/random.h"
#include "broadloom/env/one_hot.h"
#include "broadloom/env/plugins/plugin_mutex.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/staggered_starts.h"
#include "broadloom/env/streams.h"
#include "broadloom/env/unwritten.h"

namespace broadloom {
namespace {

// Fills float32 rows of environments [begin, end) with NaN, so that the checks for finite numbers
// name rows that the plug-in does not write. Old numbers would train unnoticed. Returns the rows.
void* clear_rows(const Space& space, int begin, int end, ObservationRows rows) {
  if (rows.dtype() == Dtype::kU8) return rows.bytes();
  const auto count = static_cast<std::size_t>(end - begin);
  const auto width = static_cast<std::size_t>(space.size);
  if (space.kind == SpaceKind::kDiscrete) {
    for (std::size_t k = 0; k < count; ++k) rows.floats()[k * width] = unwritten_number();
  } else {
    std::fill_n(rows.floats(), count * width, unwritten_number());
  }
  return rows.floats();
}

// Rows of reasons and successes of one call, between marks. A plug-in that writes to row begin + k
// instead of k would change memory of others.
class EndRows {
 public:
  // envs: all environments. count: those of the call.
  EndRows(std::size_t envs, std::size_t count)
      : count_(count), margin_(envs + kMoreMarks), bytes_(scratch()) {
    bytes_.assign(3 * margin_ + 2 * count, kMark);
    std::fill_n(reasons(), count, std::uint8_t{0});
    std::fill_n(successes(), count, std::uint8_t{0});
  }
  std::uint8_t* reasons() { return bytes_.data() + margin_; }
  std::uint8_t* successes() { return reasons() + count_ + margin_; }
  // Whether all marks are as they were.
  bool hold() {
    const auto marked = [this](const std::uint8_t* first) {
      return std::all_of(first, first + margin_, [](std::uint8_t x) { return x == kMark; });
    };
    return marked(bytes_.data()) && marked(reasons() + count_) && marked(successes() + count_);
  }

 private:
  static constexpr std::size_t kMoreMarks = 64;
  static constexpr std::uint8_t kMark = 165;
  // Kept, so that steps allocate nothing.
  static std::vector<std::uint8_t>& scratch() {
    thread_local std::vector<std::uint8_t> bytes;
    return bytes;
  }

  std::size_t count_, margin_;
  std::vector<std::uint8_t>& bytes_;
};

}  // namespace

template <class Function>
Status PluginEnvs::call(const char* name, int begin, int end, const Function& function) const {
  char error[BROADLOOM_ERROR_SIZE];
  error[0] = error[BROADLOOM_ERROR_SIZE - 1] = '\0';
  int result = BROADLOOM_OK;
  BROADLOOM_TRY(
      call_plugin(described_.spec.id, name, begin, end, [&] { result = function(error); }));
  if (result == BROADLOOM_OK) return {};
  error[BROADLOOM_ERROR_SIZE - 1] = '\0';
  return plugin_status(result, error, described_.spec.id, name);
}

template <class Function>
bool PluginEnvs::call_silent(const char* name, int begin, int end, const Function& function) const {
  Status status = call_plugin(described_.spec.id, name, begin, end, function);
  if (status.ok()) return true;
  keep_fault(begin, std::move(status));
  return false;
}

void PluginEnvs::keep_fault(int env, Status status) const {
  const std::lock_guard lock(faults_mutex_);
  faults_.emplace(env, std::move(status));
  has_faults_ = true;
}

// The first fault in environments [begin, end). Looking only at these makes the failing step
// independent of thread timing.
Status PluginEnvs::find_fault(int begin, int end) const {
  if (!has_faults_) return {};
  const std::lock_guard lock(faults_mutex_);
  const auto first = faults_.lower_bound(begin);
  return first != faults_.end() && first->first < end ? first->second : Status();
}

PluginEnvs::PluginEnvs(const PluginLibrary& library, const broadloom_task& task,
                       const PluginValues& values, PluginSpec described,
                       const VecEnvOptions& options)
    : library_(&library),
      plugin_(library.plugin),
      task_(&task),
      values_(values),
      described_(std::move(described)),
      own_limit_(described_.spec.max_episode_steps),
      options_(options),
      episode_(static_cast<std::size_t>(options.num_envs)),
      age_(episode_.size()),
      choices_(described_.spec.action.kind == SpaceKind::kDiscrete ? episode_.size() : 0),
      reasons_(episode_.size()),
      successes_(episode_.size()) {
  described_.spec.set_time_limit(options.max_episode_steps);
}

PluginEnvs::~PluginEnvs() {
  if (simulator_ == nullptr) return;
  const std::lock_guard lock(plugin_mutex());
  // A destructor cannot return an exception as an error.
  (void)call_plugin(described_.spec.id, "close", 0, 0, [&] { plugin_->close(simulator_); });
}

Result<std::unique_ptr<VecEnv>> PluginEnvs::make(const PluginLibrary& library,
                                                 const broadloom_task& task,
                                                 const PluginValues& values, PluginSpec described,
                                                 const VecEnvOptions& options) {
  const int own = described.spec.max_episode_steps, requested = options.max_episode_steps;
  if (described.has(BROADLOOM_RESETS_ITSELF) && own > 0 && requested > own) {
    return invalid(
        fmt::format("max_episode_steps: got {}, but the simulator of {} truncates episodes after "
                    "{} steps; expected at most that, or 0",
                    requested, described.spec.id, own));
  }
  const auto joins_later = [&](int joined) { return joined < options.num_envs; };
  if (described.has(BROADLOOM_WHOLE_BATCH) &&
      std::any_of(options.joining.begin(), options.joining.end(), joins_later)) {
    return invalid(
        fmt::format("joining: got groups of environments, but the simulator of {} steps all {} at "
                    "once; expected one group",
                    described.spec.id, options.num_envs));
  }
  std::unique_ptr<PluginEnvs> envs(
      new PluginEnvs(library, task, values, std::move(described), options));
  BROADLOOM_TRY(envs->open());
  return std::unique_ptr<VecEnv>(std::move(envs));
}

Status PluginEnvs::open() {
  void* made = nullptr;  // a failed make() may leave a pointer to what it freed
  {
    const std::lock_guard lock(plugin_mutex());
    BROADLOOM_TRY(call("make", 0, num_envs(), [&](char* error) {
      return plugin_->make(task_, values_.data(), num_envs(), &made, error);
    }));
  }
  simulator_ = made;
  if (simulator_ == nullptr) {
    return {ErrorKind::kIo,
            fmt::format("make() of {} returned no simulator and no error; correct the plug-in",
                        described_.spec.id)};
  }
  BROADLOOM_TRY(begin_all());
  // Without saved state, a resumed run begins from these starts, so it needs them, too.
  const bool staggers = traits().saves_state ? options_.staggers_now() : options_.stagger_starts;
  return staggers ? stagger() : Status();
}

VecEnvTraits PluginEnvs::traits() const {
  return {.whole_batch = described_.has(BROADLOOM_WHOLE_BATCH),
          .deterministic = !described_.has(BROADLOOM_NOT_DETERMINISTIC),
          .saves_state = described_.state_size > 0,
          // observe_final() covers only the policy's observation.
          .has_final_observations =
              !resets_itself() ||
              (plugin_->observe_final != nullptr && described_.spec.critic_observation.size == 0),
          .common_bits = described_.has(BROADLOOM_COMMON_BITS)};
}

int PluginEnvs::max_truncations(int num_steps) const {
  if (resets_itself() && own_limit_ == 0)
    return num_steps;  // by limits that only the simulator knows
  const int limit = described_.spec.max_episode_steps;
  return limit > 0 ? (num_steps - 1) / limit + 1 : 0;
}

Status PluginEnvs::begin_all() {
  for (int i = 0; i < num_envs(); ++i) BROADLOOM_TRY(reset(i, 0));
  return check_shown();
}

// Observations before a step cannot fail: their faults would first be NaN, without their reason. So
// this looks for one. Bytes are never NaN.
Status PluginEnvs::check_shown() const {
  const EnvSpec& spec = described_.spec;
  const auto look = [&](const Space& space, const char* function, const auto& observe) -> Status {
    if (space.size == 0 || space.dtype == Dtype::kU8) return {};
    constexpr std::ptrdiff_t kGuards = 64;
    std::vector<float> rows(episode_.size() * static_cast<std::size_t>(space.size) + kGuards,
                            unwritten_number());
    observe(ObservationRows(rows.data()));
    if (std::all_of(rows.end() - kGuards, rows.end(), is_unwritten)) return {};
    return {ErrorKind::kIo,
            fmt::format("{}() of {} wrote outside its rows; row k belongs to environment begin + k",
                        function, spec.id)};
  };
  BROADLOOM_TRY(look(spec.observation, "observe",
                     [&](ObservationRows rows) { observe(0, num_envs(), rows); }));
  BROADLOOM_TRY(look(spec.critic_observation, "observe_critic",
                     [&](ObservationRows rows) { observe_critic(0, num_envs(), rows); }));
  return find_fault(0, num_envs());
}

// The key is a function of the run's seed, the stream set, family and episode.
Status PluginEnvs::reset(int env, std::int64_t episode) {
  const auto family = static_cast<std::uint32_t>(env % options_.families());
  const std::uint64_t key = Random(options_.seed, env_streams(options_.streams).reset, family,
                                   static_cast<std::uint64_t>(episode))
                                .bits64();
  episode_[env] = episode;
  age_[env] = 0;
  return call("reset", env, env + 1,
              [&](char* error) { return plugin_->reset(simulator_, env, key, error); });
}

Status PluginEnvs::stagger() {
  const std::vector<std::int64_t> ages =
      staggered_ages(options_, staggering_limit(described_.spec));
  if (options_.stagger_by == StaggerBy::kAge) {
    age_ = ages;
    return {};
  }
  std::vector<float> actions(episode_.size() *
                             static_cast<std::size_t>(described_.spec.action_size()));
  Status status;
  for_each_joining_group(options_, [&](int begin, int end) {
    if (status.ok()) status = stagger_range(begin, end, ages, actions);
  });
  return status;
}

// Steps all environments together under random actions. Each is reset at the step where its own
// play begins.
Status PluginEnvs::stagger_range(int begin, int end, const std::vector<std::int64_t>& ages,
                                 std::vector<float>& actions) {
  const EnvSpec& spec = described_.spec;
  const auto count = static_cast<std::size_t>(end - begin);
  const auto steps_of = [&](int i) { return ages[static_cast<std::size_t>(i)]; };
  const std::int64_t all = begin < end ? steps_of(end - 1) : 0;
  std::vector<float> rewards(count), shown(count * spec.observation_size());
  std::vector<std::uint8_t> terminated(count), truncated(count), pixels(shown.size());
  const bool bytes = spec.observation.dtype == Dtype::kU8;
  const StepRows rows{
      actions.data(),   bytes ? ObservationRows(pixels.data()) : ObservationRows(shown.data()),
      rewards.data(),   terminated.data(),
      truncated.data(), nullptr};
  MaskRows masks(spec, 1);
  for (std::int64_t s = 0; s < all; ++s) {
    for (int i = begin; i < end; ++i) {
      const std::int64_t own = s - (all - steps_of(i));
      if (own == 0) BROADLOOM_TRY(reset(i, 0));
      Random random(options_.seed, Purpose::kStagger,
                    static_cast<std::uint32_t>(i % options_.families()),
                    static_cast<std::uint64_t>(std::max<std::int64_t>(own, 0)));
      masks.read(*this, i, i + 1);
      draw_action(spec.action, random, actions.data() + (i - begin) * spec.action_size(),
                  masks.row(0));
    }
    BROADLOOM_TRY(step(begin, end, rows));
  }
  for (int i = begin; i < end && steps_of(i) == 0; ++i) BROADLOOM_TRY(reset(i, 0));
  return {};
}

// Expands indices to one-hot rows of environments [begin, end). The step that shows an invalid
// index fails; its row is NaN, since an observation cannot fail.
void PluginEnvs::expand_indices(const char* function, int begin, int end, float* rows) const {
  const int n = described_.spec.observation.size;
  for (int env = begin; env < end; ++env, rows += n) {
    const float index = rows[0];
    if (make_one_hot(rows, n)) continue;
    keep_fault(env, invalid_index(function, described_.spec.id, index, env, n));
  }
}

void PluginEnvs::observe(int begin, int end, ObservationRows rows) const {
  void* target = clear_rows(described_.spec.observation, begin, end, rows);
  const bool done =
      call_silent("observe", begin, end, [&] { plugin_->observe(simulator_, begin, end, target); });
  if (done && described_.spec.observation.kind == SpaceKind::kDiscrete) {
    expand_indices("observe", begin, end, rows.floats());
  }
}

void PluginEnvs::observe_critic(int begin, int end, ObservationRows rows) const {
  void* target = clear_rows(described_.spec.critic_observation, begin, end, rows);
  (void)call_silent("observe_critic", begin, end,
                    [&] { plugin_->observe_critic(simulator_, begin, end, target); });
}

void PluginEnvs::valid_actions(int begin, int end, std::uint8_t* flags) const {
  const auto width = static_cast<std::size_t>(described_.spec.action.mask_size());
  const std::size_t count = static_cast<std::size_t>(end - begin) * width;
  std::fill_n(flags, count, std::uint8_t{0});  // a state without a valid choice is an error
  const bool done = call_silent("valid_actions", begin, end,
                                [&] { plugin_->valid_actions(simulator_, begin, end, flags); });
  if (!done) std::fill_n(flags, count, std::uint8_t{1});
}

void PluginEnvs::context(int env, std::span<double> out) const {
  if (described_.spec.context.empty()) return;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::fill(out.begin(), out.end(), kNone);
  const bool done =
      call_silent("context", env, env + 1, [&] { plugin_->context(simulator_, env, out.data()); });
  if (!done) std::fill(out.begin(), out.end(), kNone);
}

void PluginEnvs::take_step_sums(int env, std::span<double> out) {
  if (described_.spec.counted() == 0) return;
  const bool done = call_silent("take_step_sums", env, env + 1,
                                [&] { plugin_->take_step_sums(simulator_, env, out.data()); });
  if (!done) std::fill(out.begin(), out.end(), 0.0);
}

Status PluginEnvs::move(int begin, int end, const StepRows& rows) {
  const auto count = static_cast<std::size_t>(end - begin);
  std::fill_n(rows.rewards, count, unwritten_number());
  std::fill_n(rows.terminated, count, std::uint8_t{0});
  std::fill_n(rows.truncated, count, std::uint8_t{0});
  EndRows ends(episode_.size(), count);
  broadloom_step step{rows.actions,   nullptr,        rows.rewards,    rows.terminated,
                      rows.truncated, ends.reasons(), ends.successes()};
  if (!choices_.empty()) {
    std::transform(rows.actions, rows.actions + count, choices_.data() + begin,
                   [](float action) { return static_cast<std::int32_t>(action); });
    step.actions = nullptr;
    step.choices = choices_.data() + begin;
  }
  BROADLOOM_TRY(call("step", begin, end, [&](char* error) {
    return plugin_->step(simulator_, begin, end, &step, error);
  }));
  if (!ends.hold()) {
    return {ErrorKind::kMismatch,
            fmt::format("step() of {} wrote outside its rows of reasons or successes; row k "
                        "belongs to environment begin + k",
                        described_.spec.id)};
  }
  std::copy_n(ends.reasons(), count, reasons_.data() + begin);
  std::copy_n(ends.successes(), count, successes_.data() + begin);
  return {};
}

Status PluginEnvs::step(int begin, int end, const StepRows& rows) {
  BROADLOOM_TRY(find_fault(begin, end));
  BROADLOOM_TRY(move(begin, end, rows));
  observe(begin, end, rows.observations);
  if (rows.critic_observations) observe_critic(begin, end, rows.critic_observations);
  for (int i = begin; i < end; ++i) BROADLOOM_TRY(end_step(i, i - begin, rows));
  return find_fault(begin, end);
}

// Counts the step of environment `env` (row k), and truncates its episode at the time limit.
Status PluginEnvs::end_step(int env, int k, const StepRows& rows) {
  const EnvSpec& spec = described_.spec;
  std::uint8_t &terminated = rows.terminated[k], &truncated = rows.truncated[k];
  if (terminated != 0 && truncated != 0) return ended_in_both_ways(spec.id, env);
  terminated = terminated != 0 ? 1 : 0;
  const bool cut_itself = terminated == 0 && truncated != 0;
  age_[env] += 1;
  const bool at_limit = spec.max_episode_steps > 0 && age_[env] >= spec.max_episode_steps;
  if (cut_itself && (!resets_itself() || age_[env] < own_limit_)) {
    const std::string rule = resets_itself()
                                 ? fmt::format("before max_episode_steps = {}", own_limit_)
                                 : "which only simulators with BROADLOOM_RESETS_ITSELF may do";
    return {ErrorKind::kIo,
            fmt::format("step() of {} set truncated after {} steps of environment {}, {}", spec.id,
                        age_[env], env, rule)};
  }
  truncated = terminated == 0 && (cut_itself || at_limit) ? 1 : 0;
  if ((terminated | truncated) == 0) return {};
  const bool by_itself = resets_itself() && (terminated != 0 || cut_itself);
  keep_last(env, k, by_itself, rows);
  BROADLOOM_TRY(end_episode(env, k, rows));
  const std::int64_t next = episode_[env] + 1;
  if (by_itself) {
    episode_[env] = next;
    age_[env] = 0;
    return {};
  }
  BROADLOOM_TRY(reset(env, next));
  const auto width = static_cast<std::size_t>(spec.observation_size());
  const auto critic = static_cast<std::size_t>(spec.critic_observation.size);
  observe(env, env + 1, rows.observations.offset_by(k * width));
  if (rows.critic_observations) {
    observe_critic(env, env + 1, rows.critic_observations.offset_by(k * critic));
  }
  return {};
}

// Stores the episode's last observation, if the caller wants it and the plug-in has it.
void PluginEnvs::keep_last(int env, int k, bool by_itself, const StepRows& rows) const {
  if (!rows.final_observations || !traits().has_final_observations) return;
  const auto width = static_cast<std::size_t>(described_.spec.observation_size());
  const auto critic = static_cast<std::size_t>(described_.spec.critic_observation.size);
  const ObservationRows target = rows.final_observations.offset_by(k * width);
  if (!by_itself) {
    rows.observations.offset_by(k * width).copy_to(target, width);
    if (rows.critic_observations && rows.final_critic_observations) {
      rows.critic_observations.offset_by(k * critic)
          .copy_to(rows.final_critic_observations.offset_by(k * critic), critic);
    }
    return;
  }
  void* row = clear_rows(described_.spec.observation, env, env + 1, target);
  const bool done = call_silent("observe_final", env, env + 1,
                                [&] { plugin_->observe_final(simulator_, env, row); });
  if (done && described_.spec.observation.kind == SpaceKind::kDiscrete)
    expand_indices("observe_final", env, env + 1, target.floats());
}

Status PluginEnvs::end_episode(int env, int k, const StepRows& rows) {
  const EnvSpec& spec = described_.spec;
  const int own_reasons = static_cast<int>(spec.end_reasons.size()) - 1;
  const int reason = rows.terminated[k] != 0 ? reasons_[env] : own_reasons;
  if (rows.terminated[k] != 0 && reason >= own_reasons) {
    return {ErrorKind::kIo, fmt::format("step() of {} gave reason {} for the end of environment "
                                        "{}'s episode; expected an index below its {} end_reasons",
                                        spec.id, reason, env, own_reasons)};
  }
  if (rows.ends == nullptr) return {};
  rows.ends[k] = {.reason = static_cast<std::int8_t>(reason)};
  if (spec.names_success) rows.ends[k].success = successes_[env] != 0 ? 1 : 0;
  return {};
}

Status PluginEnvs::call_device(broadloom_device_call what, const DeviceStepRows* rows,
                               void* stream) {
  broadloom_device_rows theirs{};
  if (rows != nullptr) {
    theirs = {.actions = rows->actions,
              .observations = rows->observations,
              .rewards = rows->rewards,
              .terminated = rows->terminated,
              .truncated = rows->truncated,
              .reasons = rows->reasons,
              .successes = rows->successes,
              .final_observations = rows->final_observations,
              .valid_actions = rows->valid_actions};
  }
  return call("device", 0, num_envs(), [&](char* error) {
    return plugin_->device(simulator_, what, rows == nullptr ? nullptr : &theirs, stream, error);
  });
}

Status PluginEnvs::take_to_device(void* stream) {
  BROADLOOM_TRY(find_fault(0, num_envs()));
  return call_device(BROADLOOM_DEVICE_TAKE, nullptr, stream);
}

Status PluginEnvs::bring_from_device(void* stream) {
  return call_device(BROADLOOM_DEVICE_BRING, nullptr, stream);
}

Status PluginEnvs::observe_on_device(const DeviceStepRows& rows, void* stream) {
  return call_device(BROADLOOM_DEVICE_OBSERVE, &rows, stream);
}

Status PluginEnvs::step_on_device(const DeviceStepRows& rows, void* stream) {
  return call_device(BROADLOOM_DEVICE_STEP, &rows, stream);
}

Status PluginEnvs::took_block(int T, const std::uint8_t* terminated,
                              const std::uint8_t* truncated) {
  BROADLOOM_TRY(find_fault(0, num_envs()));
  const std::size_t count = episode_.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(T) * count; ++i) {
    const std::size_t env = i % count;
    const std::int64_t age = ++age_[env];
    const bool has_ended = (terminated[i] | truncated[i]) != 0;
    if (own_limit_ > 0 &&
        (truncated[i] != 0 ? age < own_limit_ : !has_ended && age >= own_limit_)) {
      return {ErrorKind::kIo,
              fmt::format("device() of {} {} an episode of environment {} after {} steps; expected "
                          "a truncation after max_episode_steps = {}, no other one",
                          described_.spec.id, truncated[i] != 0 ? "truncated" : "went on with", env,
                          age, own_limit_)};
    }
    if (!has_ended) continue;
    episode_[env] += 1;
    age_[env] = 0;
  }
  return {};
}

void PluginEnvs::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  if (described_.state_size == 0) return;
  const auto count = static_cast<std::int64_t>(num_envs());
  const auto size = static_cast<std::int64_t>(described_.state_size);
  state_.resize(episode_.size() * described_.state_size);
  out.push_back({prefix + ".bytes", Dtype::kU8, {count, size}, state_.data(), {kAnyRange}});
  out.push_back({prefix + ".episode", Dtype::kI64, {count}, episode_.data(), {kCountRange}});
  out.push_back(
      {prefix + ".age", Dtype::kI64, {count}, age_.data(), {steps_of_episode(described_.spec)}});
}

Status PluginEnvs::capture() {
  const std::size_t size = described_.state_size;
  state_.assign(episode_.size() * size, 0);
  // A state with guards behind it. A plug-in that writes too much must not change other states.
  constexpr std::size_t kGuards = 4096;
  constexpr std::uint8_t kGuard = 165;
  std::vector<std::uint8_t> one(size + kGuards);
  for (int i = 0; size > 0 && i < num_envs(); ++i) {
    std::fill_n(one.begin(), size, std::uint8_t{0});
    std::fill(one.begin() + static_cast<std::ptrdiff_t>(size), one.end(), kGuard);
    BROADLOOM_TRY(call("get_state", i, i + 1, [&](char* error) {
      return plugin_->get_state(simulator_, i, one.data(), error);
    }));
    const auto is_guard = [](std::uint8_t byte) { return byte == kGuard; };
    if (!std::all_of(one.begin() + static_cast<std::ptrdiff_t>(size), one.end(), is_guard)) {
      return {ErrorKind::kIo,
              fmt::format("get_state() of {} wrote more than state_size = {} bytes for "
                          "environment {}",
                          described_.spec.id, size, i)};
    }
    std::copy_n(one.begin(), size, state_.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  return {};
}

Status PluginEnvs::state_restored() {
  const std::size_t size = described_.state_size;
  for (int i = 0; size > 0 && i < num_envs(); ++i) {
    const Status status = call("set_state", i, i + 1, [&](char* error) {
      return plugin_->set_state(simulator_, i, state_.data() + i * size, error);
    });
    // The plug-in refuses bytes of a file, so the file is wrong. FAILED is a fault of the
    // simulator.
    if (status.kind() == ErrorKind::kInvalidConfig) return {ErrorKind::kCorrupt, status.message()};
    BROADLOOM_TRY(status);
  }
  return size > 0 ? check_shown() : Status();
}

Status PluginEnvs::begin_anew(std::uint64_t seed) {
  options_.seed = seed;
  return begin_all();
}

std::unique_ptr<VecEnv> PluginEnvs::another(const VecEnvOptions& options) const {
  VecEnvOptions other = options;
  if (other.max_episode_steps == 0) other.max_episode_steps = described_.spec.max_episode_steps;
  PluginSpec described = described_;
  described.spec.max_episode_steps = own_limit_;
  Result<std::unique_ptr<VecEnv>> made =
      make(*library_, *task_, values_, std::move(described), other);
  return made.ok() ? made.take() : nullptr;
}

}  // namespace broadloom
