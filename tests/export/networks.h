// Untrained policies with every kind of network and space.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/rollout/observations.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"

namespace broadloom::export_tests {

struct Kind {
  std::string encoder = "mlp", layer_norm = "off", activation = "tanh", algorithm = "ppo";
  std::string recurrent = "none";
  std::string action_distribution = "gaussian", std_form = "log", norm_value = "off";
  bool shared_encoder = false, norm_obs = false;
  Space observation = Space::box({-1.0f, -1.0f, -1.0f}, {1.0f, 1.0f, 1.0f});
  Space action = Space::discrete(4);
  Space critic_observation = {};
  std::vector<int> hidden_sizes = {7, 6};
  std::vector<std::string> group_encoders = {}, policy_groups = {};
  int sapg_policies = 1;
  int recurrent_units = 0;

  std::string name() const {
    return encoder + " " + layer_norm + " " + activation + " " + algorithm + " " + recurrent + " " +
           action_distribution + " " + std_form + " " + norm_value +
           (sapg_policies > 1 ? " sapg" : "") + (shared_encoder ? " shared " : " ") +
           shape_text(observation) + " " + shape_text(action);
  }
};

// A space that counts from another start.
inline Space discrete_from(std::int64_t start, int n) {
  Space space = Space::discrete(n);
  space.start = start;
  return space;
}

// Two choices that count from 5 and -2, as of a Tuple of Python.
inline Space choices_from_starts() {
  Space space = Space::multi_discrete({3, 2});
  space.structure =
      R"({"tuple": [{"kind": "discrete", "at": 0, "size": 1, "start": 5}, {"dict": [["a",
      {"kind": "choices", "at": 1, "size": 1, "start": [-2]}]]}]})";
  return space;
}

// All its parameters and statistics are random.
class UntrainedPolicy {
 public:
  explicit UntrainedPolicy(const Kind& kind)
      : config_(config_of(kind)),
        spec_(spec_of(kind)),
        network_(network_shape(config_, spec_)),
        params_(network_.parameter_count()) {
    network_.initialise(3, params_.data());
    Random random(5, Purpose::kInit, 0, 0);
    for (float& p : params_) p += static_cast<float>(random.uniform(-0.02, 0.02));
    value_norm_ = value_normalizer(config_);
    if (value_norm_) {
      RolloutBlock block(4, 3, 1, 1, 0);
      for (float& v : block.values) v = static_cast<float>(random.uniform(-400.0, -200.0));
      value_norm_->take(block, network_.value_head(), params_.data());
    }
    if (!kind.norm_obs) return;
    obs_norm_.emplace(spec_.observation_size(), 2.0, 1);
    const std::vector<double> rows = numbers(200, random);
    const std::vector<float> floats(rows.begin(), rows.end());
    obs_norm_->leave_out(spec_.observation.groups);
    obs_norm_->accumulate(0, floats.data(), 200);
    obs_norm_->commit();
  }

  Policy view() const {
    Policy policy{config_, spec_, network_, params_.data(), obs_norm_ ? &*obs_norm_ : nullptr};
    policy.value_norm = value_norm_ ? &*value_norm_ : nullptr;
    return policy;
  }

  // As an environment gives them: [rows, D], an index if Discrete.
  std::vector<double> observations(int rows) const {
    Random random(7, Purpose::kInit, 1, 0);
    const Space& space = spec_.observation;
    if (space.kind == SpaceKind::kBox) {
      std::vector<double> out = numbers(rows, random);
      for (const ObservationGroup& group : space.groups) make_whole(group, rows, out);
      return out;
    }
    std::vector<double> out;
    for (int r = 0; r < rows; ++r) {
      out.push_back(static_cast<double>(space.start) +
                    random.below(static_cast<std::uint32_t>(space.size)));
    }
    return out;
  }

  // The same, as Broadloom stores them.
  Observations stored(const std::vector<double>& shown, int rows) const {
    const Space& space = spec_.observation;
    Observations out(observation_type(space), static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (space.kind == SpaceKind::kDiscrete) {
        out.rows().floats()[i * static_cast<std::size_t>(space.size) +
                            static_cast<std::size_t>(shown[i] - space.start)] = 1.0f;
      } else if (space.dtype == Dtype::kU8) {
        out.rows().bytes()[i] = static_cast<std::uint8_t>(shown[i]);
      } else {
        out.rows().floats()[i] = static_cast<float>(shown[i]);
      }
    }
    return out;
  }

 private:
  // Whole numbers of a group of bytes, and one choice of a group of choices.
  void make_whole(const ObservationGroup& group, int rows, std::vector<double>& all) const {
    for (int r = 0; r < rows && group.dtype != Dtype::kF32; ++r) {
      const auto begin = all.begin() + r * spec_.observation.size + group.first;
      const auto end = begin + group.size;
      const auto most = begin + (std::max_element(begin, end) - begin);
      if (group.dtype == Dtype::kU8) {
        std::transform(begin, end, begin, [](double x) { return std::floor(x); });
      } else {
        std::fill(begin, end, 0.0);
        *most = 1.0;
      }
    }
  }
  static Config config_of(const Kind& kind) {
    Config config;
    config.env_id = "Nobody-v0";
    config.algorithm = kind.algorithm;
    config.encoder = kind.encoder;
    config.layer_norm = kind.layer_norm;
    config.activation = kind.activation;
    config.shared_encoder = kind.shared_encoder;
    config.recurrent = kind.recurrent;
    config.recurrent_units = kind.recurrent_units;
    config.action_distribution = kind.action_distribution;
    config.std_form = kind.std_form;
    config.hidden_sizes = kind.hidden_sizes;
    config.norm_obs = kind.norm_obs;
    config.norm_value = kind.norm_value;
    config.clip_obs = 2.0;
    config.group_encoders = kind.group_encoders;
    config.policy_groups = kind.policy_groups;
    config.sapg_policies = kind.sapg_policies;
    return config;
  }
  static EnvSpec spec_of(const Kind& kind) {
    EnvSpec spec;
    spec.id = "Nobody-v0";
    spec.observation = kind.observation;
    spec.critic_observation = kind.critic_observation;
    spec.action = kind.action;
    return spec;
  }

  // Exact in float32, as environments give them.
  std::vector<double> numbers(int rows, Random& random) const {
    const Space& space = spec_.observation;
    std::vector<double> out;
    for (int i = 0; i < rows * space.size; ++i) {
      const bool is_byte = space.dtype == Dtype::kU8;
      const auto highest = static_cast<std::uint32_t>(space.full_scale());
      const double middle = space.kind == SpaceKind::kDiscrete ? 0.0 : 30.0;
      out.push_back(is_byte ? random.below(highest + 1)
                            : static_cast<float>(middle + random.uniform(-3.0, 3.0)));
    }
    return out;
  }

  Config config_;
  EnvSpec spec_;
  ActorCritic network_;
  AlignedVector<float> params_;
  std::optional<ObsNormalizer> obs_norm_;
  std::optional<ValueNormalizer> value_norm_;
};

}  // namespace broadloom::export_tests
