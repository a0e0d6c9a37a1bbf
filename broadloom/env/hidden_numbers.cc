#include "broadloom/env/hidden_numbers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "broadloom/env/rewrapping_vec_env.h"

namespace broadloom {
namespace {

// Indices of the numbers that stay.
std::vector<int> visible_numbers(const HiddenNumbers& hidden, int size) {
  std::vector<int> visible;
  for (int i = 0; i < size; ++i) {
    if (std::count(hidden.hide_obs.begin(), hidden.hide_obs.end(), i) == 0) visible.push_back(i);
  }
  return visible;
}

// The mirror among the visible numbers; none if the image of one is hidden. The critic's
// observation may just have been added.
Mirror mirror_of_visible(const EnvSpec& spec, const std::vector<int>& visible) {
  Mirror mirror = spec.mirror;
  if (!mirror.exists()) return mirror;
  if (mirror.critic_observation.empty() && spec.has_critic_observation()) {
    mirror.critic_observation = mirror.observation;
  }
  SignedPermutation all;
  std::swap(all, mirror.observation);
  for (const int i : visible) {
    const auto place = static_cast<std::size_t>(i);
    const auto image = std::find(visible.begin(), visible.end(), all.index[place]);
    if (image == visible.end()) return {};
    mirror.observation.index.push_back(static_cast<std::int32_t>(image - visible.begin()));
    mirror.observation.sign.push_back(all.sign[place]);
  }
  return mirror;
}

class HiddenNumbersEnv final : public RewrappingVecEnv {
 public:
  HiddenNumbersEnv(std::unique_ptr<VecEnv> inner, const HiddenNumbers& hidden)
      : RewrappingVecEnv(std::move(inner)),
        hidden_(hidden),
        spec_(this->inner().spec()),
        size_(static_cast<std::size_t>(spec_.observation_size())),
        visible_(visible_numbers(hidden, spec_.observation_size())),
        critic_sees_all_(!spec_.has_critic_observation() && hidden.hide_from == "policy"),
        whole_(static_cast<std::size_t>(num_envs()) * size_),
        final_(whole_.size()) {
    (void)describe_hidden_numbers(hidden, spec_).ok();  // checked before construction
  }

  const EnvSpec& spec() const override { return spec_; }

  void observe(int begin, int end, ObservationRows rows) const override {
    float* const whole = &whole_[static_cast<std::size_t>(begin) * size_];
    inner().observe(begin, end, whole);
    for (int k = 0; k < end - begin; ++k) show(whole, static_cast<std::size_t>(k), rows);
  }
  void observe_critic(int begin, int end, ObservationRows rows) const override {
    if (!critic_sees_all_) return inner().observe_critic(begin, end, rows);
    inner().observe(begin, end, rows);
  }

  Status step(int begin, int end, const StepRows& rows) override {
    const std::size_t count = static_cast<std::size_t>(end - begin);
    const std::size_t first = static_cast<std::size_t>(begin) * size_;
    StepRows whole = rows;
    whole.observations = &whole_[first];
    whole.final_observations = rows.final_observations ? &final_[first] : nullptr;
    if (critic_sees_all_) whole.critic_observations = whole.final_critic_observations = nullptr;
    BROADLOOM_TRY(inner().step(begin, end, whole));
    for (std::size_t k = 0; k < count; ++k) {
      show(&whole_[first], k, rows.observations);
      if (critic_sees_all_) copy(&whole_[first], k, rows.critic_observations);
      if ((rows.terminated[k] | rows.truncated[k]) == 0 || !rows.final_observations) continue;
      show(&final_[first], k, rows.final_observations);
      if (critic_sees_all_) copy(&final_[first], k, rows.final_critic_observations);
    }
    return {};
  }

 private:
  std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> others,
                               const VecEnvOptions&) const override {
    return hide_numbers(std::move(others), hidden_);
  }

  // Writes the visible numbers of row k.
  void show(const float* whole, std::size_t k, ObservationRows rows) const {
    float* out = rows.floats() + k * visible_.size();
    for (const int i : visible_) *out++ = whole[k * size_ + static_cast<std::size_t>(i)];
  }
  void copy(const float* whole, std::size_t k, ObservationRows rows) const {
    if (rows) std::copy_n(whole + k * size_, size_, rows.floats() + k * size_);
  }

  HiddenNumbers hidden_;
  EnvSpec spec_;
  std::size_t size_;  // D of the wrapped environments
  std::vector<int> visible_;
  bool critic_sees_all_;
  mutable std::vector<float> whole_;  // [N, D] observations that were read last; not saved
  std::vector<float> final_;          // [N, D] last observations of episodes that ended; not saved
};

}  // namespace

std::vector<int> hidden_numbers(const Overrides& env_options) {
  HiddenNumbers hidden;
  for (const auto& [name, text] : env_options) {
    if (name == "hide_obs") (void)set_field(hidden, name, text, "option").ok();
  }
  std::vector<int>& all = hidden.hide_obs;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool shows_numbers(const EnvSpec& spec) {
  const Space& seen = spec.observation;
  return seen.kind == SpaceKind::kBox && seen.dtype == Dtype::kF32 && seen.extents().size() == 1 &&
         seen.groups.empty();
}

Status describe_hidden_numbers(const HiddenNumbers& hidden, EnvSpec& spec) {
  if (!hidden.any()) return {};
  Space& seen = spec.observation;
  const auto refuse = [&](const std::string& why) {
    return invalid(fmt::format("env.hide_obs: got {}, but {}", to_text(hidden.hide_obs), why));
  };
  if (!shows_numbers(spec)) {
    return refuse(fmt::format(
        "observations of {} are {}; expected a Box of float32 with one dimension. Leave it out",
        spec.id, shape_text(seen)));
  }
  if (hidden.hide_from == "both" && spec.has_critic_observation()) {
    return refuse(fmt::format(
        "the critic of {} has an observation of its own; set env.hide_from = policy", spec.id));
  }
  for (const int i : hidden.hide_obs) {
    if (i >= 0 && i < seen.size) continue;
    return refuse(fmt::format("{} has numbers 0 to {}", spec.id, seen.size - 1));
  }
  const std::vector<int> visible = visible_numbers(hidden, seen.size);
  if (visible.empty()) return refuse("the policy must see at least one number");
  if (hidden.hide_from == "policy" && !spec.has_critic_observation()) {
    spec.critic_observation = seen;
  }
  spec.mirror = mirror_of_visible(spec, visible);
  std::vector<float> low, high;
  for (const int i : visible) {
    low.push_back(seen.low[static_cast<std::size_t>(i)]);
    high.push_back(seen.high[static_cast<std::size_t>(i)]);
  }
  seen = Space::box(std::move(low), std::move(high));
  spec.has_score_range = false;
  return {};
}

std::unique_ptr<VecEnv> hide_numbers(std::unique_ptr<VecEnv> inner, const HiddenNumbers& hidden) {
  return std::make_unique<HiddenNumbersEnv>(std::move(inner), hidden);
}

Status check_noise_is_seen(const HiddenNumbers& hidden, const Disturbance& disturbance,
                           const EnvSpec& spec) {
  if (!hidden.any() || hidden.hide_from != "both") return {};
  for (const std::string& text : disturbance.obs_noise_of) {
    Disturbance one;
    one.obs_noise_of = {text};
    const Result<std::vector<double>> deviations = noise_deviations(one, spec);
    if (!deviations.ok()) return deviations.status();
    bool is_named = false, is_seen = false;
    for (std::size_t i = 0; i < deviations.value().size(); ++i) {
      if (deviations.value()[i] <= 0.0) continue;
      is_named = true;
      const int number = static_cast<int>(i);
      is_seen = is_seen || std::count(hidden.hide_obs.begin(), hidden.hide_obs.end(), number) == 0;
    }
    if (!is_named || is_seen) continue;
    return invalid(fmt::format(
        "disturb.obs_noise_of: got '{}', but env.hide_obs = {} hides these numbers, so the noise "
        "has no effect; expected numbers of the whole observation, 0 to {}, that are seen",
        text, to_text(hidden.hide_obs), spec.observation_size() - 1));
  }
  return {};
}

}  // namespace broadloom
