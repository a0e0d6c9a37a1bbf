#include "bridges/mujoco/task_envs.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bridges/mujoco/draw_geoms.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/staggered_starts.h"

namespace broadloom::mujoco {

Result<std::unique_ptr<VecEnv>> TaskEnvs::make(std::shared_ptr<const TaskSetup> setup,
                                               const VecEnvOptions& options) {
  std::unique_ptr<TaskEnvs> envs(new TaskEnvs(std::move(setup), options));
  if (options.view == ViewKind::k3d) {
    Result<std::unique_ptr<Renderer>> renderer =
        Renderer::make(*envs->setup_->model, envs->setup_->view);
    if (!renderer.ok()) return renderer.status();
    envs->renderer_ = renderer.take();
  }
  BROADLOOM_TRY(envs->start_all());
  if (options.staggers_now()) BROADLOOM_TRY(envs->stagger());
  return std::unique_ptr<VecEnv>(std::move(envs));
}

TaskEnvs::TaskEnvs(std::shared_ptr<const TaskSetup> setup, const VecEnvOptions& options)
    : setup_(std::move(setup)),
      spec_(setup_->spec),
      options_(options),
      count_(options.num_envs),
      state_size_(static_cast<std::size_t>(setup_->model->state_size())),
      kept_size_(static_cast<std::size_t>(task().kept_size())),
      width_(static_cast<std::size_t>(spec_.observation_size())),
      critic_width_(static_cast<std::size_t>(spec_.critic_observation.size)),
      action_size_(static_cast<std::size_t>(spec_.action_size())),
      counted_(spec_.counted()),
      worlds_(setup_->worlds, spec_, options) {
  spec_.set_time_limit(options.max_episode_steps);
  const auto count = static_cast<std::size_t>(count_);
  state_.resize(count * state_size_);
  kept_.resize(count * kept_size_);
  sums_.resize(count * counted_);
  seen_.resize(count * width_);
  critic_seen_.resize(count * critic_width_);
  for (auto* numbers : {&episode_, &episode_step_, &total_step_}) numbers->resize(count);
}

int TaskEnvs::max_truncations(int num_steps) const {
  const int limit = spec_.max_episode_steps;
  return limit > 0 ? (num_steps - 1) / limit + 1 : 0;
}

namespace {

void copy_rows(const std::vector<float>& source, int begin, int end, std::size_t width,
               float* target) {
  const std::size_t first = static_cast<std::size_t>(begin) * width;
  std::copy_n(source.data() + first, static_cast<std::size_t>(end - begin) * width, target);
}

}  // namespace

void TaskEnvs::observe(int begin, int end, ObservationRows rows) const {
  copy_rows(seen_, begin, end, width_, rows.floats());
}

void TaskEnvs::observe_critic(int begin, int end, ObservationRows rows) const {
  copy_rows(critic_seen_, begin, end, critic_width_, rows.floats());
}

Status TaskEnvs::step(int begin, int end, const StepRows& rows) {
  const Lease simulation = setup_->model->lease();
  for (int i = begin; i < end; ++i) BROADLOOM_TRY(step_one(*simulation, i, i - begin, rows));
  observe(begin, end, rows.observations);
  if (rows.critic_observations) observe_critic(begin, end, rows.critic_observations);
  return {};
}

Status TaskEnvs::step_one(Simulation& simulation, int i, int k, const StepRows& rows) {
  const float* action = rows.actions + static_cast<std::size_t>(k) * action_size_;
  const Result<Judgement> judged = advance(simulation, i, action);
  if (!judged.ok()) return judged.status();
  const auto [reward, end] = judged.value();
  rows.rewards[k] = static_cast<float>(reward);
  rows.terminated[k] = end != kGoesOn;
  rows.truncated[k] =
      end == kGoesOn && spec_.max_episode_steps > 0 && episode_step_[i] >= spec_.max_episode_steps;
  if ((rows.terminated[k] | rows.truncated[k]) == 0) return {};
  const int time_limit = static_cast<int>(spec_.end_reasons.size()) - 1;
  return end_episode(simulation, i, k, end == kGoesOn ? time_limit : end, rows);
}

// Loads environment i into the simulation.
void TaskEnvs::enter(Simulation& simulation, int i) const {
  worlds_.set(i, simulation.model());
  simulation.load(physics(i));
}

void TaskEnvs::look(Scene scene, int i, Random& random) {
  task().observe(scene, own(i), random, ObservationWriter(seen(i)));
  if (critic_width_ > 0)
    task().observe_for_critic(scene, own(i), seen(i), ObservationWriter(critic_seen(i)));
}

// Steps environment i. Afterwards the simulation is still in the new state, which is stored.
Result<Judgement> TaskEnvs::advance(Simulation& simulation, int i, const float* action) {
  enter(simulation, i);
  Random random(options_.seed, env_streams(options_.streams).step, lane(i),
                static_cast<std::uint64_t>(total_step_[i]));
  const Scene scene = simulation.scene();
  task().drive(scene, action, own(i), random);
  const Health health = simulation.step(setup_->frame_skip, task().reads_body_forces());
  total_step_[i] += 1;
  episode_step_[i] += 1;
  const OnUnstable wanted = setup_->on_unstable;
  if (health == Health::kFailed) return broken(i, simulation);
  if (health == Health::kUnstable && wanted == OnUnstable::kStop) return broken(i, simulation);
  if (health == Health::kUnstable && wanted == OnUnstable::kReset) {
    // Observations stay, since the results of the step are unusable.
    return Judgement{0.0, static_cast<int>(spec_.end_reasons.size()) - 2};
  }
  const Judgement judged = task().judge(scene, action, own(i));
  task().keep(scene, own(i).kept);
  look(scene, i, random);
  simulation.save(state(i));
  return judged;
}

Status TaskEnvs::end_episode(Simulation& simulation, int i, int k, int end, const StepRows& rows) {
  const auto row = static_cast<std::size_t>(k);
  std::copy_n(seen(i), width_, rows.final_observations.floats() + row * width_);
  if (rows.final_critic_observations) {
    std::copy_n(critic_seen(i), critic_width_,
                rows.final_critic_observations.floats() + row * critic_width_);
  }
  EpisodeEnd ended{.stratum = static_cast<std::int16_t>(stratum(i)),
                   .reason = static_cast<std::int8_t>(end)};
  if (spec_.names_success)
    ended.success = task().success(own(i).kept, rows.terminated[k] != 0) ? 1 : 0;
  if (rows.ends != nullptr) rows.ends[k] = ended;
  worlds_.episode_ended(i, ended.success == 1, episode_[i]);
  if (rows.final_drawings != nullptr) {
    rows.final_drawings[k] = {};
    show(simulation, i, rows.final_drawings[k]);
  }
  return start_episode(simulation, i, episode_[i] + 1);
}

// Draws are functions of seed, stream set, seed family and episode.
Status TaskEnvs::start_episode(Simulation& simulation, int i, std::int64_t episode) {
  Random random(options_.seed, env_streams(options_.streams).reset, lane(i),
                static_cast<std::uint64_t>(episode));
  place(simulation, i, episode, random);
  return begin_here(simulation, i, random);
}

void TaskEnvs::place(Simulation& simulation, int i, std::int64_t episode, Random& random) {
  episode_[i] = episode;
  episode_step_[i] = 0;
  worlds_.begin_episode(i, episode);
  worlds_.set(i, simulation.model());
  simulation.reset();
  std::fill_n(own(i).kept, kept_size_, 0.0);
  task().place(simulation.scene(), own(i), random);
}

Status TaskEnvs::begin_here(Simulation& simulation, int i, Random& random) {
  if (simulation.forward() != Health::kFine) return broken(i, simulation);
  task().keep(simulation.scene(), own(i).kept);
  look(simulation.scene(), i, random);
  simulation.save(state(i));
  return {};
}

Status TaskEnvs::place(int i, const double* qpos, const double* qvel) {
  const Lease simulation = setup_->model->lease();
  Random random(options_.seed, env_streams(options_.streams).reset, lane(i),
                static_cast<std::uint64_t>(episode_[i] + 1));
  place(*simulation, i, episode_[i] + 1, random);
  const Scene scene = simulation->scene();
  std::copy_n(qpos, scene.model.nq, scene.data.qpos);
  std::copy_n(qvel, scene.model.nv, scene.data.qvel);
  return begin_here(*simulation, i, random);
}

Status TaskEnvs::start_all() {
  const Lease simulation = setup_->model->lease();
  for (int i = 0; i < count_; ++i) BROADLOOM_TRY(start_episode(*simulation, i, 0));
  return {};
}

Status TaskEnvs::stagger() {
  const std::int64_t limit = staggering_limit(spec_);
  if (options_.stagger_by == StaggerBy::kAge) {
    episode_step_ = staggered_ages(options_, limit);
    return {};
  }
  return stagger_starts(options_, limit, [&](int i, std::int64_t steps) -> Status {
    const Lease simulation = setup_->model->lease();
    std::vector<float> action(action_size_);
    for (std::int64_t s = 0; s < steps; ++s) {
      Random random(options_.seed, Purpose::kStagger, lane(i), static_cast<std::uint64_t>(s));
      draw_action(spec_.action, random, action.data());
      const Result<Judgement> judged = advance(*simulation, i, action.data());
      if (!judged.ok()) return judged.status();
      if (judged.value().end != kGoesOn || episode_step_[i] >= limit) {
        BROADLOOM_TRY(start_episode(*simulation, i, episode_[i] + 1));
      }
    }
    return {};
  });
}

Status TaskEnvs::broken(int i, const Simulation& simulation) const {
  const std::string where =
      episode_step_[i] == 0
          ? std::string("as its episode begins")
          : fmt::format("at step {} of its episode, {} in all", episode_step_[i], total_step_[i]);
  const char* advice = setup_->on_unstable == OnUnstable::kStop
                           ? "; --env.on_unstable reset ends such an episode instead of the run"
                           : "";
  return {ErrorKind::kNumeric, fmt::format("{}: the physics of environment {} broke down {}: {}{}",
                                           spec_.id, i, where, simulation.complaint(), advice)};
}

void TaskEnvs::context(int env, std::span<double> out) const {
  task().context(worlds_.constants(env), kept_.data() + static_cast<std::size_t>(env) * kept_size_,
                 out);
}

void TaskEnvs::take_step_sums(int env, std::span<double> out) {
  const auto sums = sums_.begin() + env * static_cast<std::ptrdiff_t>(counted_);
  std::copy_n(sums, counted_, out.begin());
  std::fill_n(sums, counted_, 0.0);
}

void TaskEnvs::draw(int env, const float* action, Drawing& out) const {
  if (renderer_ != nullptr && action != nullptr && episode_step_[env] % steps_a_picture() != 0) {
    out.as_before = true;
    return;
  }
  const Lease simulation = setup_->model->lease();
  show(*simulation, env, out);
}

int TaskEnvs::steps_a_picture() const {
  constexpr double kSeconds = 0.04;  // shown per picture
  const double step = setup_->frame_skip * setup_->model->get().opt.timestep;
  return std::max(1, static_cast<int>(kSeconds / step + 1e-6));
}

// Loads environment i into the simulation, in its episode's world, and draws it.
void TaskEnvs::show(Simulation& simulation, int i, Drawing& out) const {
  enter(simulation, i);
  if (renderer_ != nullptr) return renderer_->draw(simulation.scene(), out);
  simulation.place_bodies();
  draw_geoms(simulation.scene(), setup_->view, out);
}

void TaskEnvs::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const auto add = [&](const char* name, Dtype dtype, std::size_t width, void* data) {
    if (width > 0)
      out.push_back(
          {prefix + name, dtype, {count_, static_cast<std::int64_t>(width)}, data, {kFiniteRange}});
  };
  add(".physics", Dtype::kF64, state_size_, state_.data());
  add(".kept", Dtype::kF64, kept_size_, kept_.data());
  add(".seen", Dtype::kF32, width_, seen_.data());
  add(".critic_seen", Dtype::kF32, critic_width_, critic_seen_.data());
  worlds_.append_state(prefix, out);
  out.push_back({prefix + ".episode", Dtype::kI64, {count_}, episode_.data(), {kCountRange}});
  out.push_back({prefix + ".episode_step",
                 Dtype::kI64,
                 {count_},
                 episode_step_.data(),
                 {steps_of_episode(spec_)}});
  out.push_back({prefix + ".total_step", Dtype::kI64, {count_}, total_step_.data(), {kCountRange}});
}

std::unique_ptr<VecEnv> TaskEnvs::another(const VecEnvOptions& options) const {
  VecEnvOptions theirs = options;
  if (theirs.max_episode_steps == 0) theirs.max_episode_steps = spec_.max_episode_steps;
  Result<std::unique_ptr<VecEnv>> made = make(setup_, theirs);
  return made.ok() ? made.take() : nullptr;
}

}  // namespace broadloom::mujoco
