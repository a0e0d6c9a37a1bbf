#include "broadloom/setup/network_shape.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "broadloom/core/portable_math.h"
#include "broadloom/env/action_scale.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/group_shapes.h"

namespace broadloom {
namespace {

Activation activation_of(const std::string& name) {
  if (name == "relu") return Activation::kRelu;
  if (name == "elu") return Activation::kElu;
  return Activation::kTanh;
}

Normalisation normalisation_of(const std::string& name) {
  if (name == "channels") return Normalisation::kChannels;
  if (name == "all") return Normalisation::kAll;
  return Normalisation::kNone;
}

Precision precision_of(const std::string& name) {
  if (name == "tf32") return Precision::kTf32;
  return Precision::kFp32;
}

WeightInit weight_init_of(const std::string& name) {
  if (name == "he_normal") return WeightInit::kHeNormal;
  if (name == "lecun_normal") return WeightInit::kLecunNormal;
  if (name == "torch") return WeightInit::kTorch;
  if (name == "torch_weights") return WeightInit::kTorchWeights;
  if (name == "lecun_uniform") return WeightInit::kLecunUniform;
  return WeightInit::kOrthogonal;
}

CellKind cell_of(const std::string& name) {
  if (name == "mingru") return CellKind::kMinGru;
  if (name == "gru") return CellKind::kGru;
  return name == "lstm" ? CellKind::kLstm : CellKind::kNone;
}

ActionDistribution distribution_of(const std::string& name) {
  if (name == "squashed") return ActionDistribution::kSquashed;
  return name == "beta" ? ActionDistribution::kBeta : ActionDistribution::kGaussian;
}

StdForm std_form_of(const std::string& name) {
  if (name == "scalar") return StdForm::kScalar;
  if (name == "sde") return StdForm::kSde;
  return name == "state_dependent" ? StdForm::kStateDependent : StdForm::kLog;
}

// Height, width and channels; a grid without channels has one channel. Height 0: not an image.
RowShape image_of(const Space& space) {
  const std::vector<int> extents = space.extents();
  if (space.kind != SpaceKind::kBox || extents.size() < 2 || extents.size() > 3) return {0, 0, 0};
  return {extents[0], extents[1], extents.size() == 3 ? extents[2] : 1};
}

Status no_image(const Config& config, const Space& space, const std::string& id) {
  return invalid(
      fmt::format("encoder = {}: expected images, but observations of {} are {}; set encoder = mlp",
                  config.encoder, id, shape_text(space)));
}

Status check_encoder(const Config& config, const EnvSpec& spec) {
  if (config.encoder == "mlp" || !spec.observation.groups.empty()) return {};
  if (critic_space(config, spec).size > 0) {
    return invalid(
        fmt::format("encoder = {}: the critic of {} has observations of its own, {}, which no "
                    "encoder supports yet; set encoder = mlp",
                    config.encoder, spec.id, shape_text(spec.critic_observation)));
  }
  const RowShape image = image_of(spec.observation);
  if (image.height == 0) return no_image(config, spec.observation, spec.id);
  if (config.encoder == "impala" && config.layer_norm != "off") {
    return invalid(
        fmt::format("layer_norm = {}: encoder = impala has no layer normalisation, as published; "
                    "set layer_norm = off, or use another encoder",
                    config.layer_norm));
  }
  const std::vector<LayerPlan> plan = body_plan(
      encoder_of(config.encoder), normalisation_of(config.layer_norm), config.hidden_sizes);
  if (fits(plan, image.height, image.width)) return {};
  const int side = least_side(plan);
  return invalid(fmt::format(
      "encoder = {}: observations of {} are {} x {} pixels, expected at least {} x {}. Use "
      "encoder = {}",
      config.encoder, spec.id, image.height, image.width, side, side,
      image.height >= 3 && image.width >= 3
          ? "minatar, whose only convolution is 3 x 3, or impala, which pads"
          : "impala, which pads, or mlp"));
}

// A logit per choice, and a mean per number of a Box.
int outputs_of(const Config& config, const Space& action) {
  const std::vector<int> choices = action.choices();
  const int logits = std::accumulate(choices.begin(), choices.end(), 0);
  const bool pairs = config.action_distribution == "beta" || config.std_form == "state_dependent" ||
                     config.std_form == "sde" || config.sapg_policies > 1;
  return logits + (pairs ? 2 : 1) * action.box_count();
}

}  // namespace

std::string encoder_advice(const Config& config, const EnvSpec& spec) {
  if (!spec.observation.groups.empty()) return group_advice(config, spec);
  const RowShape image = image_of(spec.observation);
  if (config.encoder != "mlp" || spec.observation.extents().size() != 3) return {};
  const bool large =
      fits(body_plan(Encoder::kNature, Normalisation::kNone, {}), image.height, image.width);
  return fmt::format(
      "observations of {} are images of {} x {} x {}, but encoder = mlp reads them as {} numbers "
      "and ignores positions; encoder = {} reads them as images",
      spec.id, image.height, image.width, image.channels, image.size(),
      large ? "nature" : "minatar");
}

std::string action_range_advice(const Config& config, const EnvSpec& spec) {
  if (config.action_distribution != "gaussian") return {};  // scaled to the bounds
  constexpr double kWide = 20.0;  // largest range that is not reported, standard deviations
  const double deviation = portable::exp(config.log_std_init);
  const Space& space = spec.action;
  for (auto i = static_cast<std::size_t>(space.choice_count());
       i < space.low.size() && i < space.high.size(); ++i) {
    const double low = space.low[i], high = space.high[i];
    const bool beyond = low >= deviation || high <= -deviation;
    // A Gaussian policy without bounds fits a space without bounds.
    if (!beyond && !(high - low > kWide * deviation && std::isfinite(high - low))) continue;
    return fmt::format(
        "action {} of {} lies in {:g} to {:g}, but a new policy draws it with mean 0 and standard "
        "deviation {:g}, so it {}; {}",
        i, spec.id, low, high, deviation,
        beyond ? "stays at a bound" : "tries a small part of the range",
        has_bounded_actions(spec) ? "set env.scale_actions = true to scale actions to the bounds"
                                  : "let the environment accept -1 to 1 and scale actions itself");
  }
  return {};
}

std::string action_scale_advice(const EnvSpec& spec) {
  const Space& space = spec.action;
  if (space.own_low.empty()) return {};
  return fmt::format(
      "actions of {} are scaled from -1..1 to its bounds, the first to {:g}..{:g}; "
      "env.scale_actions = false hands them over as they are",
      spec.id, space.own_low[static_cast<std::size_t>(space.choice_count())],
      space.own_high[static_cast<std::size_t>(space.choice_count())]);
}

Encoder encoder_of(const std::string& name) {
  if (name == "minatar") return Encoder::kMinatar;
  if (name == "nature") return Encoder::kNature;
  if (name == "impala") return Encoder::kImpala;
  return Encoder::kMlp;
}

const Space& critic_space(const Config& config, const EnvSpec& spec) {
  static const Space kNothing;
  return learns_action_values(config) ? kNothing : spec.critic_observation;
}

NetworkShape network_shape(const Config& config, const EnvSpec& spec) {
  return {.observation_size = spec.observation_size(),
          .action_kind = spec.action.kind,
          .action_outputs = outputs_of(config, spec.action),
          .action_heads = spec.action.has_choices() && spec.action.kind != SpaceKind::kDiscrete
                              ? spec.action.choices()
                              : std::vector<int>{},
          .masked = spec.action.masked,
          .hidden_sizes = config.hidden_sizes,
          .activation = activation_of(config.activation),
          .shared_encoder = config.shared_encoder,
          .action_distribution = distribution_of(config.action_distribution),
          .log_std_init = config.log_std_init,
          .std_form = std_form_of(config.std_form),
          .std_min = config.std_min,
          .std_max = config.std_max,
          .sde_sample_freq = config.sde_sample_freq,
          .precision = precision_of(config.precision),
          .critic_observation_size = critic_space(config, spec).size,
          .encoder = encoder_of(config.encoder),
          .normalisation = normalisation_of(config.layer_norm),
          .image = image_of(spec.observation),
          .action_values = learns_action_values(config),
          .value_outputs = value_outputs(config),
          .weight_init = weight_init_of(config.weight_init),
          .recurrent = cell_of(config.recurrent),
          .recurrent_units = config.recurrent_units,
          .groups = group_shapes(config, spec),
          .policies = config.sapg_policies,
          .policy_vector_size = config.sapg_vector_size};
}

NetworkShape rnd_shape(const Config& config, const EnvSpec& spec) {
  return {.observation_size = spec.observation_size(),
          .action_outputs = config.rnd_outputs,
          .hidden_sizes = config.rnd_hidden_sizes,
          .activation = Activation::kRelu,
          .encoder = encoder_of(config.encoder),
          .image = image_of(spec.observation),
          .action_values = true};
}

Status check_actions(const Config& config, const EnvSpec& spec) {
  if (config.action_distribution == "gaussian" || !spec.action.has_box()) return {};
  if (has_bounded_actions(spec)) return {};
  return invalid(
      fmt::format("action_distribution = {}: it scales actions to the bounds of their Box, but "
                  "actions of {} have a bound that is not finite; set action_distribution = "
                  "gaussian, or give the environment finite bounds",
                  config.action_distribution, spec.id));
}

Status check_observations(const Config& config, const EnvSpec& spec) {
  if (config.shared_encoder && critic_space(config, spec).size > 0) {
    return invalid(fmt::format(
        "shared_encoder = true: the critic of {} has observations of its own, {}, so it "
        "cannot share the policy's encoder; set shared_encoder = false",
        spec.id, shape_text(spec.critic_observation)));
  }
  for (const Space* space : {&spec.observation, &critic_space(config, spec)}) {
    if (!config.norm_obs || space->dtype == Dtype::kF32) continue;
    return invalid(fmt::format(
        "norm_obs = true: observations of {} are uint8, {}, and are divided by {:g} instead of "
        "normalised; set norm_obs = false",
        spec.id, shape_text(*space), space->full_scale()));
  }
  BROADLOOM_TRY(check_groups(config, spec));
  return check_encoder(config, spec);
}

}  // namespace broadloom
