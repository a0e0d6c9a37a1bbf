#include "research/lab/study_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "broadloom/config/shapes.h"
#include "broadloom/instruments/gradient/factors.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/settings.h"
#include "research/lab/episodes.h"

namespace broadloom {
namespace {

constexpr int kFewestBlocks = 10;
constexpr int kMostRows = 1 << 20;

// Sets the loss that a run has by default.
Status take_loss(const Policy& policy, GradientStudyOptions& o) {
  const Config& config = policy.config;
  const bool has_values = learns_action_values(config);
  if (learns_from_teacher(config)) {
    return invalid(fmt::format(
        "algorithm = {} learns from a teacher's outputs, and neither from advantages nor from "
        "values; `broadloom gradients` asks for a run of algorithm = ppo or pqn",
        config.algorithm));
  }
  if (!has_values && !draws_from_policy(config)) {
    return invalid(fmt::format(
        "algorithm = {} has no policy that actions are drawn from, and no action values; "
        "`broadloom gradients` asks for a run of algorithm = ppo or pqn",
        config.algorithm));
  }
  if (o.loss == MeasuredLoss::kOwn) {
    o.loss = has_values ? MeasuredLoss::kTd : MeasuredLoss::kPolicy;
  }
  if ((o.loss == MeasuredLoss::kTd) != has_values) {
    return invalid(fmt::format("loss: got {} for a run of algorithm = {}; expected {}",
                               loss_name(o.loss), config.algorithm,
                               has_values ? "td" : "policy or value"));
  }
  if (o.loss == MeasuredLoss::kPolicy) return {};
  if (!o.norm_adv && !o.value_term && !o.entropy_term && !o.exact) return {};
  return invalid(
      fmt::format("loss: got {} with {}, which is of the policy's gradient alone; leave it out",
                  loss_name(o.loss),
                  o.exact        ? "the study exact"
                  : o.norm_adv   ? "norm_adv"
                  : o.value_term ? "value_term"
                                 : "entropy_term"));
}

// The reason why no agreement can be measured; "" if it can.
std::string why_no_agreement(const Policy& policy, const GradientStudyOptions& o) {
  if (o.synchronised) {
    return "under synchronised starts the true gradient is another one for each T, and one block's "
           "agreement with it is not measured; --starts stationary has it";
  }
  if (o.norm_adv || o.value_term || o.entropy_term) {
    return "agreement is that of the plain policy gradient, with normalised advantages and "
           "without; leave norm_adv, value_term and entropy_term out for it";
  }
  if (policy.spec.max_episode_steps <= 0) {
    return fmt::format(
        "{} has no time limit, so its episodes need not end, and there is no true "
        "gradient to agree with; train with max_episode_steps for it",
        policy.config.env_id);
  }
  return "";
}

Status check_agreement(const Policy& policy, GradientStudyOptions& o,
                       std::vector<std::string>& notes) {
  const std::string why = o.agreement ? why_no_agreement(policy, o) : "";
  if (why.empty()) return {};
  if (!o.correlation && !o.variance && !o.bias && !o.exact) return invalid(why);
  o.agreement = false;
  notes.push_back("No agreement: " + why + ".");
  return {};
}

// Sets how far returns look past the time limit.
Status set_limit(const Policy& policy, GradientStudyOptions& o, std::vector<std::string>& notes) {
  o.beyond_limit = 0;
  const int limit = policy.spec.max_episode_steps;
  const bool bootstraps = policy.config.truncation_mode == "bootstrap";
  const bool asked = o.at_limit == AtLimit::kContinued;
  if (limit <= 0 || o.at_limit == AtLimit::kEnd || (!asked && !bootstraps)) return {};
  const double gamma =
      std::max(policy.config.gamma, *std::max_element(o.gammas.begin(), o.gammas.end()));
  o.beyond_limit = steps_to_a_hundredth(gamma);
  if (o.beyond_limit > 0) return {};
  const std::string why = fmt::format(
      "with a discount of {} a return would have to look more than 10,000 steps past the time "
      "limit of {}",
      gamma, limit);
  if (asked) return invalid(why + "; give --time_limit end");
  if (o.agreement || o.bias) {
    notes.push_back(
        "The true gradient takes the time limit as an end, where training bootstraps: " + why +
        ".");
  }
  return {};
}

Status check_network(const Policy& policy, const GradientStudyOptions& o) {
  const NetworkShape& shape = policy.network.shape();
  if (policy.config.reward_scale != 1.0) {
    return invalid(fmt::format(
        "reward_scale = {}: the laboratory measures returns of rewards as they are, which this "
        "run's critic has not learnt; train with reward_scale = 1, or norm_reward",
        policy.config.reward_scale));
  }
  if (shape.policies > 1) {
    return invalid(fmt::format(
        "sapg_policies = {}: these studies measure one policy, which collects the whole block; "
        "`broadloom gradients` asks for a run with sapg_policies = 1",
        shape.policies));
  }
  if (shape.value_outputs > 1) {
    return invalid(
        "this policy learns from intrinsic rewards, too, which the laboratory does not have; "
        "`broadloom gradients` asks for a run of algorithm = ppo");
  }
  if (o.exact && policy.network.is_recurrent()) {
    return invalid(fmt::format(
        "recurrent = {}: the exact study solves for policies that read one state of the table; "
        "leave exact out",
        policy.config.recurrent));
  }
  if (o.exact && gae_weights(policy.config) != GaeWeights::kGeometric) {
    return invalid(fmt::format(
        "gae_weights = {}: the exact study solves for geometric weights; leave exact out",
        policy.config.gae_weights));
  }
  return {};
}

// The study's loss of values is in units of rewards.
Status check_value_loss(const Policy& policy, const GradientStudyOptions& o) {
  const bool reads = o.value_term || o.loss == MeasuredLoss::kValue;
  if (!reads || policy.value_norm == nullptr) return {};
  return invalid(fmt::format(
      "norm_value = {}: this run's critic learns values in other units than the study's; leave {} "
      "out, or train with norm_value = off",
      policy.config.norm_value, o.value_term ? "value_term" : "loss = value"));
}

// The steps of which each T is a multiple, as in training: a sequence of a policy with memory.
int steps_together(const Policy& policy) {
  return policy.network.is_recurrent() ? std::max(1, policy.config.sequence_length) : 1;
}

// The largest multiple of `steps` by a power of two that is at most 1,024, or `steps`.
int usual_batch(int steps) {
  int batch = steps;
  while (batch <= 512) batch *= 2;
  return batch;
}

Status check_sequences(const std::string& got, int num_steps, int steps) {
  if (num_steps % steps == 0) return {};
  return invalid(fmt::format(
      "{}, which the run's sequence_length = {} does not divide; expected a multiple of {}, such "
      "as {}",
      got, steps, steps, (num_steps / steps + 1) * steps));
}

// The parts of a sample's gradient outside dense layers are stored whole, for one block at a time.
// With memory, so are all parts.
Status check_whole_gradients(const Policy& policy, const GradientStudyOptions& o) {
  constexpr double kMostBytes = 1e9;
  GradientTerms terms;
  terms.score = score_of(o.loss);
  terms.value = o.loss == MeasuredLoss::kPolicy && !policy.network.is_recurrent();
  terms.value = terms.value || o.value_term;
  const std::size_t numbers = whole_count(policy.network, terms);
  const double bytes = sizeof(float) * static_cast<double>(numbers) * o.batch;
  if (bytes <= kMostBytes) return {};
  return invalid(fmt::format(
      "batch is {}: gradients of single samples for convolutions, normalisations and memory "
      "(encoder = {}, recurrent = {}) are kept whole, {} numbers each, which take {:.1f} GB; "
      "expected at most {:.0f} GB: give a batch of at most {}",
      o.batch, policy.config.encoder, policy.config.recurrent, numbers, bytes / 1e9,
      kMostBytes / 1e9,
      static_cast<std::int64_t>(kMostBytes / (sizeof(float) * static_cast<double>(numbers)))));
}

}  // namespace

std::string loss_name(MeasuredLoss loss) {
  return loss == MeasuredLoss::kTd ? "td" : loss == MeasuredLoss::kValue ? "value" : "policy";
}

Score score_of(MeasuredLoss loss) {
  if (loss == MeasuredLoss::kTd) return Score::kActionValue;
  return loss == MeasuredLoss::kValue ? Score::kValue : Score::kLogProb;
}

Status complete(const Policy& policy, GradientStudyOptions& o, std::vector<std::string>& notes) {
  BROADLOOM_TRY(take_loss(policy, o));
  BROADLOOM_TRY(check_network(policy, o));
  BROADLOOM_TRY(check_value_loss(policy, o));
  const Config& config = policy.config;
  if (o.batch < 0) return invalid(fmt::format("batch is {}; expected at least 1", o.batch));
  const int sequence = steps_together(policy);
  for (const BlockShape& shape : o.shapes) {
    const std::int64_t batch = std::int64_t{shape.num_envs} * shape.num_steps;
    if (shape.num_envs < 1 || shape.num_steps < 1 || batch > kMostRows) {
      return invalid(
          fmt::format("shape {}x{}: expected N and T of at least 1 and N * T of at most {}",
                      shape.num_envs, shape.num_steps, kMostRows));
    }
    BROADLOOM_TRY(check_sequences(fmt::format("shapes: got {}x{} with T = {}", shape.num_envs,
                                              shape.num_steps, shape.num_steps),
                                  shape.num_steps, sequence));
  }
  BROADLOOM_TRY(check_distinct(o.shapes));
  if (o.batch == 0) {
    o.batch = o.shapes.empty() ? usual_batch(sequence) : o.shapes.front().batch();
  }
  BROADLOOM_TRY(check_sequences(fmt::format("batch: got {}", o.batch), o.batch, sequence));
  BROADLOOM_TRY(check_whole_gradients(policy, o));
  if (o.shapes.empty()) {
    o.shapes = factorisations(o.batch);
    std::erase_if(o.shapes, [&](BlockShape shape) { return shape.num_steps % sequence != 0; });
  }
  for (const BlockShape& shape : o.shapes) {
    if (shape.batch() != o.batch) {
      return invalid(
          fmt::format("shape {}x{} makes a batch of {}, but the batch is {}; every "
                      "shape N x T must have N * T = batch",
                      shape.num_envs, shape.num_steps, shape.batch(), o.batch));
    }
  }
  if (o.blocks != 0 && o.blocks < kFewestBlocks) {
    return invalid(
        fmt::format("blocks is {}; expected at least {}, since fewer independent "
                    "blocks give no interval worth the name",
                    o.blocks, kFewestBlocks));
  }
  if (o.lambdas.empty()) {
    o.lambdas = {0.0, config.gae_lambda, 1.0};
    o.lambdas.erase(std::unique(o.lambdas.begin(), o.lambdas.end()), o.lambdas.end());
  }
  if (o.gammas.empty()) o.gammas = {config.gamma};
  for (const std::vector<double>* list : {&o.lambdas, &o.gammas}) {
    for (const double x : *list) {
      if (x >= 0.0 && x <= 1.0) continue;
      return invalid(fmt::format("got {} among lambdas and gammas; expected 0 to 1", x));
    }
  }
  if (o.lags.empty()) o.lags = {1, 2, 3, 5, 7, 10, 20, 40, 50, 100, 200};
  if (o.bias_steps.empty()) {
    for (const BlockShape& shape : o.shapes) o.bias_steps.push_back(shape.num_steps);
  }
  for (const std::vector<int>* list : {&o.lags, &o.bias_steps}) {
    for (const int x : *list) {
      if (x >= 1) continue;
      return invalid(fmt::format("got {} among lags and bias_steps; expected at least 1", x));
    }
  }
  for (const int steps : o.bias_steps) {
    BROADLOOM_TRY(check_sequences(fmt::format("bias_steps: got {}", steps), steps, sequence));
  }
  if (o.exact) o.variance = o.bias = true;  // exact is compared with them
  if (o.exact && (o.norm_adv || o.value_term || o.entropy_term)) {
    return invalid(
        "the exact study solves for the plain policy gradient; leave norm_adv, "
        "value_term and entropy_term out");
  }
  if (o.bias && policy.spec.max_episode_steps <= 0) {
    const std::string why = fmt::format(
        "{} has no time limit, so its episodes need not end, and there is nothing to compare the "
        "gradient's bias with",
        config.env_id);
    if (o.exact || (!o.correlation && !o.variance)) {
      return invalid(why + "; train with max_episode_steps, or leave bias and exact out");
    }
    o.bias = false;
    notes.push_back(why + ": the bias study was left out.");
  }
  BROADLOOM_TRY(check_agreement(policy, o, notes));
  BROADLOOM_TRY(set_limit(policy, o, notes));
  if (!o.agreement && !o.correlation && !o.variance && !o.bias) {
    return invalid(
        "no study was asked for; expected some of agreement, correlation, variance, bias, exact");
  }
  return {};
}

std::vector<std::string> notes_of(const Config& config, const GradientStudyOptions& o) {
  std::vector<std::string> notes;
  if (o.norm_adv) {
    notes.push_back(
        "Advantages are normalised over each block: that is another estimator than the plain "
        "policy gradient, its samples are no longer independent across environments, and the bias "
        "study leaves it out.");
  }
  if (o.value_term || o.entropy_term) {
    notes.push_back(fmt::format("The gradient has the {} in it; the bias study leaves {} out.",
                                o.value_term && o.entropy_term ? "value and entropy terms"
                                : o.value_term                 ? "value term"
                                                               : "entropy term",
                                o.value_term && o.entropy_term ? "them" : "it"));
  }
  if (o.loss == MeasuredLoss::kTd) {
    notes.emplace_back(
        "The gradient is that of the TD loss. The true one has the returns of the policy that "
        "acted, random actions included; lambda-returns take the largest action value instead.");
  }
  if (o.loss == MeasuredLoss::kValue) {
    notes.emplace_back(
        "The gradient is that of the critic's loss; the true one has returns as "
        "targets.");
  }
  if (config.is_recurrent()) {
    notes.push_back(fmt::format(
        "Gradients go back through {} of a block, as in training; the true one goes back through "
        "whole episodes.",
        config.sequence_length > 0 ? fmt::format("{} steps", config.sequence_length)
                                   : std::string("all steps")));
  }
  if (config.norm_reward) {
    notes.push_back(
        "Rewards are scaled by the run's statistics, as in training: gradients are in "
        "those units.");
  }
  if (gae_weights(config) != GaeWeights::kGeometric) {
    notes.push_back(
        fmt::format("Advantages have gae_weights={}, as in training.", config.gae_weights));
  }
  if (config.truncation_mode != "bootstrap") {
    notes.push_back(fmt::format("Truncated episodes are handled as truncation_mode={}.",
                                config.truncation_mode));
  }
  return notes;
}

}  // namespace broadloom
