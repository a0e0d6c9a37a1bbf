// Turns one environment type into N of them in structure-of-arrays form.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/drawn_params.h"
#include "broadloom/env/env_loops.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/episode_strata.h"
#include "broadloom/env/one_hot.h"
#include "broadloom/env/outcome.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/staggered_starts.h"
#include "broadloom/env/state_members.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// Adds to a spec what follows from the environment's optional members.
template <class Env>
void describe_type(EnvSpec& spec) {
  Outcome<Env>::describe(spec);
  spec.action.masked = env_detail::kHasMasks<Env>;
}

// Env: see broadloom/env/environment.h.
template <class Env>
class BatchedEnv final : public VecEnv,
                         public ActionMasks,
                         public Drawable,
                         public EpisodeStrata,
                         public AuditContext,
                         public EnvMaker {
 public:
  using Params = typename Env::Params;
  using State = typename Env::State;
  using Loops = EnvLoops<Env>;
  static_assert(
      env_detail::names_every_member<Env>(),
      "members must name every member of State; a missing one would be reset to 0 in every step");
  static_assert(env_detail::kDraws<Env> || !env_detail::kNamesDraw<Env>,
                "expected static void draw(const Params&, const State&, const float* action, "
                "Drawing&)");
  static_assert(env_detail::kHasStateRanges<Env> || !env_detail::kNamesStateRanges<Env>,
                "expected static void state_ranges(const Params&, StateRanges<State>&)");
  static_assert(env_detail::kHasMasks<Env> || !env_detail::kNamesMasks<Env>,
                "expected static void valid_actions(const Params&, const State&, std::uint8_t*)");
  using Observed = typename Loops::Observed;
  using CriticObserved = typename Loops::CriticObserved;

  // Constructs the environments and starts their first episodes.
  // - options: num_envs >= 1 and a multiple of families(). curriculum must have passed
  //   check_curriculum().
  // - spec: Env::spec(params), possibly with another time limit. With strata, describe_strata()
  //   has updated it.
  // - strata: allowed only if Options is Params.
  BatchedEnv(const Params& params, EnvSpec spec, const VecEnvOptions& options, Strata strata = {})
      : params_(params),
        spec_(std::move(spec)),
        seed_(options.seed),
        reset_purpose_(env_streams(options.streams).reset),
        count_(options.num_envs),
        strata_(std::move(strata)),
        draws_{options.seed, env_streams(options.streams).strata, options.families(),
               options.strata_sampling},
        curriculum_(
            options.streams == StreamSet::kTraining ? options.curriculum : CurriculumOptions{},
            spec_.strata, count_),
        lanes_(static_cast<std::size_t>(count_)),
        states_(env_detail::make_state_arrays<State>(Env::members, options.num_envs)),
        episode_(static_cast<std::size_t>(count_)),
        episode_step_(static_cast<std::size_t>(count_)),
        total_step_(static_cast<std::size_t>(count_)),
        drawn_(strata_.empty() ? 0 : static_cast<std::size_t>(count_), params),
        stratum_(drawn_.size(), -1) {
    assert(named_sizes_match(spec_) && observation_types_match(spec_));
    assert(strata_.empty() || Loops::kDrawable);
    describe_type<Env>(spec_);
    for (int i = 0; i < count_; ++i) {
      lanes_[i] = static_cast<std::uint32_t>(i % options.families());
    }
    spec_.set_time_limit(options.max_episode_steps);
    batch_ = {params_,
              drawn_.empty() ? nullptr : drawn_.data(),
              states_.pointers(),
              lanes_.data(),
              episode_step_.data(),
              total_step_.data(),
              seed_,
              env_streams(options.streams).step,
              spec_.max_episode_steps,
              spec_.observation_size(),
              spec_.critic_observation.size,
              spec_.action_size(),
              loop_target()};
    for (int i = 0; i < count_; ++i) start_episode(i, 0);
    if (options.staggers_now()) stagger(options);
  }

  BatchedEnv(const BatchedEnv&) = delete;
  BatchedEnv& operator=(const BatchedEnv&) = delete;

  // Whether the sizes that the environment gives as compile-time constants equal those of its spec.
  // The loops write by the constants.
  static bool named_sizes_match([[maybe_unused]] const EnvSpec& spec) {
    if constexpr (requires { Env::kObservationSize; }) {
      if (Env::kObservationSize != spec.observation_size()) return false;
    }
    if constexpr (requires { Env::kActionSize; }) {
      if (Env::kActionSize != spec.action_size()) return false;
    }
    if constexpr (requires { Env::kCriticObservationSize; }) {
      if (Env::kCriticObservationSize != spec.critic_observation.size) return false;
    }
    return true;
  }
  // Whether observe() and observe_critic() write the dtypes that the spec declares.
  static bool observation_types_match(const EnvSpec& spec) {
    if (spec.observation.dtype != dtype_of<Observed>()) return false;
    if (spec.has_critic_observation() != Loops::kForCritic) return false;
    return !Loops::kForCritic || spec.critic_observation.dtype == dtype_of<CriticObserved>();
  }

  const EnvSpec& spec() const override { return spec_; }
  // The constants of all environments. Strata may replace them for an episode.
  const Params& params() const { return params_; }
  const Strata& strata() const { return strata_; }
  const StrataStream& draws() const { return draws_; }
  const Curriculum& curriculum() const { return curriculum_; }
  int num_envs() const override { return count_; }
  int max_truncations(int num_steps) const override {
    const int limit = spec_.max_episode_steps;
    return limit > 0 ? (num_steps - 1) / limit + 1 : 0;
  }
  std::int64_t episode_step(int env) const override { return episode_step_[env]; }
  int stratum(int env) const override { return stratum_.empty() ? -1 : stratum_[env]; }
  int level(int env) const override { return curriculum_.empty() ? -1 : curriculum_.level(env); }
  std::span<const std::byte> drawn_constants(int env) const override {
    if (drawn_.empty()) return {};
    return std::as_bytes(std::span(&drawn_[env], 1));
  }

  void observe(int begin, int end, ObservationRows rows) const override {
    (void)show(begin, end, rows);  // rows of invalid indices are NaN
  }
  void observe_critic(int begin, int end, ObservationRows rows) const override {
    Loops::observe_critic(batch_, begin, end, rows.as<CriticObserved>());
  }

  void valid_actions([[maybe_unused]] int begin, [[maybe_unused]] int end,
                     [[maybe_unused]] std::uint8_t* flags) const override {
    if constexpr (env_detail::kHasMasks<Env>) {
      const auto width = static_cast<std::size_t>(spec_.action.mask_size());
      for (int i = begin; i < end; ++i, flags += width) {
        Env::valid_actions(params_of(i), Loops::Arrays::load(Env::members, batch_.states, i),
                           flags);
      }
    }
  }

  Status step(int begin, int end, const StepRows& rows) override {
    for (int first = begin; first < end; first += kRowsInCache) {
      BROADLOOM_TRY(
          step_rows(first, std::min(first + kRowsInCache, end), rows_from(rows, first - begin)));
    }
    return {};
  }

  void context([[maybe_unused]] int env, [[maybe_unused]] std::span<double> out) const override {
    if constexpr (env_detail::kHasContext<Env>) {
      Env::context(params_of(env), Loops::Arrays::load(Env::members, batch_.states, env), out);
    }
  }

  void draw([[maybe_unused]] int env, [[maybe_unused]] const float* action,
            [[maybe_unused]] Drawing& out) const override {
    if constexpr (env_detail::kDraws<Env>) {
      Env::draw(params_of(env), Loops::Arrays::load(Env::members, batch_.states, env), action, out);
    }
  }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    const std::vector<std::int64_t> shape{count_};
    StateRanges<State> ranges;
    if constexpr (env_detail::kHasStateRanges<Env>) Env::state_ranges(params_, ranges);
    states_.append_state(prefix, ranges, out);
    out.push_back({prefix + ".episode", Dtype::kI64, shape, episode_.data(), {kCountRange}});
    out.push_back({prefix + ".episode_step",
                   Dtype::kI64,
                   shape,
                   episode_step_.data(),
                   {steps_of_episode(spec_)}});
    out.push_back({prefix + ".total_step", Dtype::kI64, shape, total_step_.data(), {kCountRange}});
    curriculum_.append_state(prefix, out);
    append_drawn(prefix, out);
  }

  Status state_restored() override {
    if constexpr (Loops::kDrawable) {
      for (Params& drawn : drawn_) drawn = with_drawn<Env>(params_, drawn);
    }
    return {};
  }

  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    return std::make_unique<BatchedEnv>(params_, spec_, options, strata_);
  }

 private:
  void append_drawn([[maybe_unused]] const std::string& prefix,
                    [[maybe_unused]] std::vector<TensorRef>& out) {
    if constexpr (Loops::kDrawable) {
      if (strata_.empty()) return;
      const std::int64_t bytes = sizeof(Params);
      const double last = static_cast<double>(strata_.all().size()) - 1.0;
      out.push_back({prefix + ".stratum", Dtype::kI32, {count_}, stratum_.data(), {{0.0, last}}});
      out.push_back(
          {prefix + ".params", Dtype::kU8, {count_, bytes}, drawn_.data(), ranges_of_drawn<Env>()});
    }
  }
  std::size_t row(int k) const {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(spec_.observation_size());
  }
  std::size_t critic_row(int k) const {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(spec_.critic_observation.size);
  }

  static constexpr int kRowsInCache = 256;

  StepRows rows_from(const StepRows& rows, int k) const {
    return {rows.actions + static_cast<std::size_t>(k) * spec_.action_size(),
            rows.observations.offset_by(row(k)),
            rows.rewards + k,
            rows.terminated + k,
            rows.truncated + k,
            rows.final_observations.offset_by(row(k)),
            rows.ends == nullptr ? nullptr : rows.ends + k,
            rows.critic_observations.offset_by(critic_row(k)),
            rows.final_critic_observations.offset_by(critic_row(k)),
            rows.final_drawings == nullptr ? nullptr : rows.final_drawings + k};
  }

  // Steps all states first. If an episode ended, its last observation then moves to
  // final_observations, and the next episode's first observation takes its place.
  Status step_rows(int begin, int end, const StepRows& rows) {
    Loops::step(batch_, begin, end, rows);
    Status shown = show(begin, end, rows.observations);
    const bool for_critic = static_cast<bool>(rows.critic_observations);
    if (for_critic) observe_critic(begin, end, rows.critic_observations);
    for (int k = 0; k < end - begin; ++k) {
      if ((rows.terminated[k] | rows.truncated[k]) == 0) continue;
      const ObservationRows observation = rows.observations.offset_by(row(k));
      observation.copy_to(rows.final_observations.offset_by(row(k)), row(1));
      const ObservationRows critic_observation = rows.critic_observations.offset_by(critic_row(k));
      if (for_critic) {
        critic_observation.copy_to(rows.final_critic_observations.offset_by(critic_row(k)),
                                   critic_row(1));
      }
      if (rows.ends != nullptr || !curriculum_.empty()) {
        episode_ended(begin + k, rows.terminated[k] != 0,
                      rows.ends == nullptr ? nullptr : rows.ends + k);
      }
      if (rows.final_drawings != nullptr) {
        rows.final_drawings[k] = {};
        draw(begin + k, nullptr, rows.final_drawings[k]);
      }
      start_episode(begin + k, episode_[begin + k] + 1);
      Status first = show(begin + k, begin + k + 1, observation);
      if (shown.ok()) shown = std::move(first);
      if (for_critic) observe_critic(begin + k, begin + k + 1, critic_observation);
    }
    return shown;
  }

  // Writes observations. Env::observe() writes a Discrete one as an index into out[0]; kIo for an
  // invalid index, whose row is NaN.
  Status show(int begin, int end, ObservationRows rows) const {
    Observed* observations = rows.as<Observed>();
    Loops::observe(batch_, begin, end, observations);
    Status status;
    if constexpr (std::is_same_v<Observed, float>) {
      if (spec_.observation.kind == SpaceKind::kBox) return status;
      for (int k = 0; k < end - begin; ++k) {
        const float index = observations[row(k)];
        if (make_one_hot(observations + row(k), spec_.observation.size) || !status.ok()) continue;
        status = invalid_index("observe", spec_.id, index, begin + k, spec_.observation.size);
      }
    }
    return status;
  }

  const Params& params_of(int i) const { return drawn_.empty() ? params_ : drawn_[i]; }

  // Call this while environment i is in the last state of its episode.
  void episode_ended(int i, bool terminated, EpisodeEnd* out) {
    const State last = Loops::Arrays::load(Env::members, batch_.states, i);
    const EpisodeEnd end =
        Outcome<Env>::episode_end(params_of(i), last, terminated, !terminated, stratum(i));
    if (out != nullptr) *out = end;
    if (curriculum_.empty()) return;
    const auto episode = static_cast<std::uint64_t>(episode_[i]);
    curriculum_.episode_ended(i, end.success == 1,
                              Random(seed_, Purpose::kCurriculum, lanes_[i], episode));
  }

  int draw_constants(int i, std::int64_t episode) {
    if (curriculum_.empty()) return strata_.draw(draws_, lanes_[i], episode, &drawn_[i]);
    const int stratum = curriculum_.stratum(i);
    strata_.draw_within(stratum, draws_, lanes_[i], episode, &drawn_[i]);
    return stratum;
  }

  void start_episode(int i, std::int64_t episode) {
    if (!strata_.empty()) {
      drawn_[i] = params_;  // for constants that the stratum does not draw
      stratum_[i] = draw_constants(i, episode);
    }
    Random random(seed_, reset_purpose_, lanes_[i], static_cast<std::uint64_t>(episode));
    State state{};
    keep_members(i, state);
    Env::reset(params_of(i), state, random);
    Loops::Arrays::store(Env::members, batch_.states, i, state);
    episode_[i] = episode;
    episode_step_[i] = 0;
  }

  // Copies the members of Env::kept, which survive a reset. They are 0 before the first episode.
  void keep_members([[maybe_unused]] int i, [[maybe_unused]] State& state) const {
    if constexpr (requires { Env::kept; }) {
      const State last = Loops::Arrays::load(Env::members, batch_.states, i);
      std::apply([&](auto... member) { ((state.*member = last.*member), ...); }, Env::kept);
    }
  }

  // No policy played the episodes that end while staggering, so no curriculum counts them.
  void stagger(const VecEnvOptions& options) {
    const std::int64_t limit = staggering_limit(spec_);
    if (options.stagger_by == StaggerBy::kAge) {
      const std::vector<std::int64_t> ages = staggered_ages(options, limit);
      std::copy(ages.begin(), ages.end(), episode_step_.begin());  // batch_ points to episode_step_
      return;
    }
    // No start can fail.
    (void)stagger_starts(options, limit, [&](int i, std::int64_t steps) {
      std::vector<float> action(static_cast<std::size_t>(spec_.action_size()));
      float reward = 0.0f;
      std::uint8_t terminated = 0, truncated = 0;
      MaskRows masks(spec_, 1);
      for (std::int64_t s = 0; s < steps; ++s) {
        Random random(seed_, Purpose::kStagger, lanes_[i], static_cast<std::uint64_t>(s));
        masks.read(*this, i, i + 1);
        draw_action(spec_.action, random, action.data(), masks.row(0));
        Loops::step(batch_, i, i + 1,
                    {action.data(), nullptr, &reward, &terminated, &truncated, nullptr});
        if (terminated != 0 || episode_step_[i] >= limit) start_episode(i, episode_[i] + 1);
      }
      return Status();
    });
  }

  Params params_;
  EnvSpec spec_;
  std::uint64_t seed_;
  Purpose reset_purpose_;
  int count_;
  Strata strata_;
  StrataStream draws_;
  Curriculum curriculum_;
  std::vector<std::uint32_t> lanes_;  // [N] seed family, the lane of the random streams
  typename Loops::Arrays states_;
  std::vector<std::int64_t> episode_;       // [N] number of the current episode, from 0
  std::vector<std::int64_t> episode_step_;  // [N]
  std::vector<std::int64_t> total_step_;    // [N] steps since the environment was made
  std::vector<Params> drawn_;          // [N] constants of the current episode; empty: none drawn
  std::vector<std::int32_t> stratum_;  // [N] stratum of the current episode
  typename Loops::Batch batch_{};      // pointers to the arrays above
};

}  // namespace broadloom
