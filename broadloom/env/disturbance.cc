#include "broadloom/env/disturbance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "broadloom/env/disturbance_formulas.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/group_setting.h"

namespace broadloom {
namespace {

constexpr std::string_view kPrefix = "disturb.";
constexpr int kLongestDelay = 1000;

class DisturbedEnv final : public ForwardingVecEnv, public EnvMaker {
 public:
  DisturbedEnv(std::unique_ptr<VecEnv> inner, const Disturbance& disturbance,
               const VecEnvOptions& options)
      : ForwardingVecEnv(std::move(inner)),
        disturbance_(disturbance),
        spec_(this->inner().spec()),
        width_(static_cast<std::size_t>(spec_.action_size())),
        steps_(envs()),
        age_(envs()),
        push_left_(envs()),
        push_(envs() * width_),
        delayed_(envs() * width_ * static_cast<std::size_t>(disturbance.most_action_delay())),
        arriving_(envs() * width_),
        filler_(envs()),
        disturber_{disturbance,
                   options.seed,
                   env_streams(options.streams).disturb,
                   options.families(),
                   spec_.observation_size(),
                   spec_.action_size(),
                   bounds_of(spec_.action),
                   {steps_.data(), age_.data(), push_left_.data(), push_.data(), delayed_.data()}} {
    Result<std::vector<double>> deviations = noise_deviations(disturbance, spec_);
    if (deviations.ok()) deviations_ = deviations.take();  // checked before construction
    if (!deviations_.empty()) disturber_.deviations = deviations_.data();
    // The simulator's own spec does not include the disturbance.
    (void)describe_disturbance(disturbance, spec_).ok();
    Result<std::vector<ObsDelay>> delays = obs_delays(disturbance, this->inner().spec());
    if (delays.ok()) delays_ = delays.take();  // checked before construction
    for (const ObsDelay& delay : delays_) seen_slots_ = std::max(seen_slots_, delay.most + 1);
    seen_.resize(envs() * observation_width() * static_cast<std::size_t>(seen_slots_));
    begin_seen();
  }

  const EnvSpec& spec() const override { return spec_; }
  void observe(int begin, int end, ObservationRows rows) const override {
    inner().observe(begin, end, rows);
    for (int i = begin; i < end; ++i) show_delayed(i, rows, i - begin);
    for (int i = begin; i < end; ++i) add_noise(i, DisturbanceDraw::kNoise, rows, i - begin);
  }

  Status step(int begin, int end, const StepRows& rows) override {
    for (int i = begin; i < end; ++i) {
      filler_[i] = inner().next_is_filler(i) ? 1 : 0;
      choose_action(i, rows.actions + (i - begin) * width_);
    }
    StepRows arriving = rows;
    arriving.actions = &arriving_[static_cast<std::size_t>(begin) * width_];
    BROADLOOM_TRY(inner().step(begin, end, arriving));
    for (int i = begin; i < end; ++i) disturb_row(i, i - begin, rows);
    return {};
  }

  // Pushes and delayed actions end with the old episodes.
  Status begin_anew(std::uint64_t seed) override {
    BROADLOOM_TRY(inner().begin_anew(seed));
    disturber_.seed = seed;
    std::fill(steps_.begin(), steps_.end(), 0);
    std::fill(age_.begin(), age_.end(), 0);
    std::fill(push_left_.begin(), push_left_.end(), 0);
    begin_seen();
    return {};
  }

  void append_state(const std::string& prefix, std::vector<TensorRef>& out) override {
    inner().append_state(prefix, out);
    const std::int64_t n = num_envs(), a = static_cast<std::int64_t>(width_);
    const DisturbanceNumbers& disturbance = disturber_.disturbance;
    const std::vector<ValueRange> actions = ranges_of_actions();
    const ValueRange left{0.0, static_cast<double>(disturbance.push_steps)};
    out.push_back({prefix + ".disturbed.steps", Dtype::kI64, {n}, steps_.data(), {kCountRange}});
    out.push_back({prefix + ".disturbed.age", Dtype::kI64, {n}, age_.data(), {kCountRange}});
    out.push_back({prefix + ".disturbed.push_left", Dtype::kI32, {n}, push_left_.data(), {left}});
    out.push_back({prefix + ".disturbed.push", Dtype::kF32, {n, a}, push_.data(), actions});
    const std::int64_t delay = disturbance.most_action_delay(), d = spec_.observation_size();
    if (!delayed_.empty()) {
      out.push_back(
          {prefix + ".disturbed.delayed", Dtype::kF32, {n, delay, a}, delayed_.data(), actions});
    }
    if (seen_.empty()) return;
    out.push_back({prefix + ".disturbed.seen",
                   Dtype::kF32,
                   {n, std::int64_t{seen_slots_}, d},
                   seen_.data(),
                   {kFiniteRange}});
  }

  std::unique_ptr<VecEnv> another(const VecEnvOptions& options) const override {
    std::unique_ptr<VecEnv> others = make_another(inner(), options);
    return others == nullptr ? nullptr : disturb(std::move(others), disturbance_, options);
  }

  Undisturbed undisturbed() const { return {inner(), disturbance_}; }

 private:
  std::size_t envs() const { return static_cast<std::size_t>(num_envs()); }

  // Ranges of stored actions. They include 0, the value before the first action.
  std::vector<ValueRange> ranges_of_actions() const {
    const Space& space = spec_.action;
    if (space.kind == SpaceKind::kDiscrete) return {{0.0, space.size - 1.0}};
    std::vector<ValueRange> ranges;
    for (std::size_t i = 0; i < width_; ++i) {
      ranges.push_back(in_column(i, width_, Dtype::kF32,
                                 std::clamp<double>(space.low[i], kFiniteRange.low, 0.0),
                                 std::clamp<double>(space.high[i], 0.0, kFiniteRange.high)));
    }
    return ranges;
  }

  // Only the policy's observation gets noise. Critic observations are exact simulator state.
  void add_noise(int i, DisturbanceDraw draw, ObservationRows rows, int k) const {
    if (disturbance_.obs_noise <= 0.0 && deviations_.empty()) return;  // rows may be uint8
    disturber_.add_noise(i, draw,
                         rows.floats() + static_cast<std::size_t>(k) * observation_width());
  }

  std::size_t observation_width() const {
    return static_cast<std::size_t>(spec_.observation_size());
  }
  // The observation of environment i at an age of its episode. Older ones than the longest delay
  // are overwritten.
  const float* seen_at(int i, std::int64_t age) const {
    const std::size_t first = static_cast<std::size_t>(i) * static_cast<std::size_t>(seen_slots_);
    return &seen_[(first + static_cast<std::size_t>(age % seen_slots_)) * observation_width()];
  }
  void keep_seen(int i, std::int64_t age, const float* row) {
    std::copy_n(row, observation_width(), const_cast<float*>(seen_at(i, age)));
  }
  // Keeps the current observations as the first of their episodes. One call for all, as whole-batch
  // simulators need.
  void begin_seen() {
    if (seen_slots_ == 0) return;
    std::vector<float> rows(envs() * observation_width());
    inner().observe(0, num_envs(), rows.data());
    for (int i = 0; i < num_envs(); ++i) {
      keep_seen(i, 0, &rows[static_cast<std::size_t>(i) * observation_width()]);
    }
  }
  // Writes the observation that environment i shows now to row k.
  void show_delayed(int i, ObservationRows rows, int k) const {
    if (seen_slots_ == 0) return;
    float* const row = rows.floats() + static_cast<std::size_t>(k) * observation_width();
    Random random = disturber_.obs_delay_draws(i);
    for (const ObsDelay& delay : delays_) {
      const int steps = Disturber::drawn_delay(random, delay.least, delay.most);
      const float* const seen = seen_at(i, std::max<std::int64_t>(age_[i] - steps, 0));
      std::copy_n(seen + delay.first, delay.size, row + delay.first);
    }
  }
  // Keeps the observation in row k, of this age of the episode, and shows an older one instead.
  void delay_row(int i, ObservationRows rows, int k) {
    if (seen_slots_ == 0 || !rows) return;
    keep_seen(i, age_[i], rows.floats() + static_cast<std::size_t>(k) * observation_width());
    show_delayed(i, rows, k);
  }

  // Updates environment i after its step. Delays the observations of row k and adds noise.
  void disturb_row(int i, int k, const StepRows& rows) {
    const bool has_ended = (rows.terminated[k] | rows.truncated[k]) != 0;
    disturber_.take_step(i, filler_[i] == 0, false);
    if (has_ended) {
      if (traits().has_final_observations) delay_row(i, rows.final_observations, k);
      disturber_.end_episode(i);
    }
    delay_row(i, rows.observations, k);
    if (has_ended) add_noise(i, DisturbanceDraw::kFinalNoise, rows.final_observations, k);
    add_noise(i, DisturbanceDraw::kNoise, rows.observations, k);
  }

  // Turns the policy's action into the action that the environment receives.
  void choose_action(int i, const float* chosen) {
    float* arriving = &arriving_[i * width_];
    std::copy_n(chosen, width_, arriving);
    if (filler_[i] != 0) return;  // not a transition: the action is ignored
    disturber_.take_action(i, arriving);
  }

  Disturbance disturbance_;
  EnvSpec spec_;
  std::vector<ObsDelay> delays_;     // not saved
  std::vector<double> deviations_;   // [D] of the noise, if they differ; not saved
  std::size_t width_;                // A
  std::vector<std::int64_t> steps_;  // see DisturbanceArrays, also below
  std::vector<std::int64_t> age_;
  std::vector<std::int32_t> push_left_;
  std::vector<float> push_;
  std::vector<float> delayed_;
  int seen_slots_ = 0;           // one more than the longest delay of observations; 0: no delay
  std::vector<float> seen_;      // [N, slots, D] ring buffer of observations, indexed by age
  std::vector<float> arriving_;  // [N, A] actions of this step; not saved
  std::vector<std::uint8_t> filler_;  // [N] whether this step is no transition
  Disturber disturber_;
};

// An entry of obs_noise_of: "state:0.1", "state[0..2]:0.3", "0..2:0.3" or "1:0.3".
struct NoisePart {
  std::string group;         // "": numbers of the whole observation
  int first = 0, last = -1;  // of the group or the observation; -1: to its end
  double deviation = 0.0;
};

// "0..2", or "1" for one number. False if the text has another form.
bool parse_range(std::string_view text, NoisePart& out) {
  const std::size_t dots = text.find("..");
  const std::string_view last = dots == std::string_view::npos ? text : text.substr(dots + 2);
  return parse_text(text.substr(0, dots), out.first).ok() && parse_text(last, out.last).ok() &&
         out.first >= 0 && out.last >= out.first;
}
bool parse_part(std::string_view text, bool has_groups, NoisePart& out) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !parse_text(text.substr(colon + 1), out.deviation).ok() ||
      !(out.deviation >= 0.0 && out.deviation <= 1e6)) {
    return false;
  }
  const std::string_view what = text.substr(0, colon);
  if (!has_groups) return parse_range(what, out);
  const std::size_t open = std::min(what.find('['), what.size());
  out.group = std::string(what.substr(0, open));
  if (open == what.size()) return true;
  return what.back() == ']' && parse_range(what.substr(open + 1, what.size() - open - 2), out);
}

Status wrong_part(const std::string& text, const EnvSpec& spec, const std::string& why) {
  return invalid(fmt::format("disturb.obs_noise_of: got '{}', but {}; observations of {} are {}",
                             text, why, spec.id, shape_text(spec.observation)));
}

// Sets the deviations [D] that one entry names.
Status add_part(const std::string& text, const EnvSpec& spec, std::vector<double>& deviations) {
  const std::vector<ObservationGroup>& groups = spec.observation.groups;
  NoisePart part;
  if (!parse_part(text, !groups.empty(), part)) {
    return wrong_part(text, spec,
                      groups.empty()
                          ? "expected numbers and a deviation of at most 1e6, as 1:0.3 or 0..2:0.3"
                          : "expected a group and a deviation of at most 1e6, as state:0.1 or "
                            "state[0..2]:0.3");
  }
  int begin = 0, size = spec.observation_size();
  if (!groups.empty()) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const ObservationGroup& one) {
      return one.name == part.group;
    });
    if (group == groups.end()) return wrong_part(text, spec, "there is no such group");
    if (group->dtype != Dtype::kF32) {
      return wrong_part(text, spec, "noise needs a group of float32 numbers");
    }
    begin = group->first;
    size = group->size;
  }
  if (part.last >= size) {
    return wrong_part(text, spec, fmt::format("the numbers are 0 to {}", size - 1));
  }
  const int last = part.last < 0 ? size - 1 : part.last;
  std::fill(deviations.begin() + begin + part.first, deviations.begin() + begin + last + 1,
            part.deviation);
  return {};
}

constexpr GroupSettingRule kDelayOf{.key = "disturb.obs_delay_of",
                                    .whole = "disturb.obs_delay delays the whole",
                                    .expected = "a delay of at most 1000, as image:2 or state:0..3",
                                    .most = kLongestDelay,
                                    .has_ranges = true};

// The longest delay, if there is one, is at least the shortest.
Status check_delays(const std::string& key, int least, int most) {
  if (most == 0 || most >= least) return {};
  return invalid(
      fmt::format("disturb.{}_max: got {}, below disturb.{} = {}; expected at least that, or "
                  "0 for a fixed delay",
                  key, most, key, least));
}

}  // namespace

bool is_disturbance_key(std::string_view key) { return key.substr(0, kPrefix.size()) == kPrefix; }

Result<Disturbance> make_disturbance(const Overrides& keys) {
  Disturbance disturbance;
  for (const auto& [key, text] : keys) {
    const Status status =
        set_field(disturbance, std::string_view(key).substr(kPrefix.size()), text, "disturbance");
    if (!status.ok()) return Status(status.kind(), "disturb: " + status.message());
  }
  BROADLOOM_TRY(
      check_delays("action_delay", disturbance.action_delay, disturbance.action_delay_max));
  BROADLOOM_TRY(check_delays("obs_delay", disturbance.obs_delay, disturbance.obs_delay_max));
  return disturbance;
}

Result<std::vector<double>> noise_deviations(const Disturbance& disturbance, const EnvSpec& spec) {
  const std::vector<ObservationGroup>& groups = spec.observation.groups;
  const bool is_same =
      disturbance.obs_noise_of.empty() && (groups.empty() || disturbance.obs_noise <= 0.0);
  if (is_same) return std::vector<double>();
  std::vector<double> deviations(static_cast<std::size_t>(spec.observation_size()),
                                 disturbance.obs_noise);
  for (const ObservationGroup& group : groups) {
    if (group.dtype == Dtype::kF32) continue;
    std::fill_n(deviations.begin() + group.first, group.size, 0.0);
  }
  for (const std::string& text : disturbance.obs_noise_of) {
    BROADLOOM_TRY(add_part(text, spec, deviations));
  }
  return deviations;
}

Result<std::vector<ObsDelay>> obs_delays(const Disturbance& disturbance, const EnvSpec& spec) {
  if (!disturbance.delays_observations()) return std::vector<ObsDelay>();
  std::vector<ObsDelay> delays = {
      {0, spec.observation_size(), disturbance.obs_delay, disturbance.most_obs_delay()}};
  for (const std::string& text : disturbance.obs_delay_of) {
    const Result<GroupSetting> part = group_setting(kDelayOf, text, spec);
    if (!part.ok()) return part.status();
    const ObservationGroup& group = spec.observation.groups[part.value().group];
    delays.push_back({group.first, group.size, part.value().least, part.value().most});
  }
  return delays;
}

Status describe_disturbance(const Disturbance& disturbance, EnvSpec& spec) {
  if (!disturbance.any()) return {};
  spec.has_score_range = false;
  if (spec.action.masked &&
      (disturbance.most_action_delay() > 0 || disturbance.push_interval > 0.0)) {
    return {ErrorKind::kInvalidConfig,
            fmt::format("{}: {} has action masks, and a delayed or random action may be invalid; "
                        "leave the key out",
                        disturbance.most_action_delay() > 0 ? "disturb.action_delay"
                                                            : "disturb.push_interval",
                        spec.id)};
  }
  const bool has_noise = disturbance.obs_noise > 0.0 || !disturbance.obs_noise_of.empty();
  if (!has_noise && !disturbance.delays_observations()) return {};
  const bool is_discrete = spec.observation.kind == SpaceKind::kDiscrete;
  if (is_discrete || spec.observation.dtype != Dtype::kF32) {
    return invalid(
        fmt::format("disturb.{}: the observations of {} are {}, and {} needs float32 numbers; "
                    "leave the key out",
                    disturbance.obs_noise > 0.0        ? "obs_noise"
                    : has_noise                        ? "obs_noise_of"
                    : disturbance.obs_delay_of.empty() ? "obs_delay"
                                                       : "obs_delay_of",
                    spec.id, is_discrete ? "Discrete" : "uint8", has_noise ? "noise" : "delay"));
  }
  const Result<std::vector<ObsDelay>> delays = obs_delays(disturbance, spec);
  if (!delays.ok()) return delays.status();
  if (!has_noise) return {};
  const Result<std::vector<double>> deviations = noise_deviations(disturbance, spec);
  if (!deviations.ok()) return deviations.status();
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t d = 0; d < spec.observation.low.size(); ++d) {
    if (!deviations.value().empty() && deviations.value()[d] <= 0.0) continue;
    spec.observation.low[d] = -infinity;
    spec.observation.high[d] = infinity;
  }
  return {};
}

std::unique_ptr<VecEnv> disturb(std::unique_ptr<VecEnv> inner, const Disturbance& disturbance,
                                const VecEnvOptions& options) {
  return std::make_unique<DisturbedEnv>(std::move(inner), disturbance, options);
}

Undisturbed undisturbed(const VecEnv& envs) {
  const auto* disturbed = dynamic_cast<const DisturbedEnv*>(&envs);
  return disturbed == nullptr ? Undisturbed{envs, {}} : disturbed->undisturbed();
}

}  // namespace broadloom
