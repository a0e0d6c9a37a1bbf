#include "broadloom/evaluate/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "broadloom/core/escape.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/spec_json.h"
#include "broadloom/record/manifest.h"
#include "broadloom/rollout/episode_tracker.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

constexpr int kOneShard = 1;  // statistics are only read

// The same source may have another version.
bool has_other_text(const EnvSpec& trained, const EnvSpec& now) {
  return is_named_by_source(now) && !same_source_text(trained.upstream, now.upstream);
}

// A function alone names no source, so it is none that has a name.
bool has_other_source(const EnvSpec& trained, const EnvSpec& now) {
  return has_other_text(trained, now) && (trained.upstream.empty() || now.upstream.empty() ||
                                          !same_source(trained.upstream, now.upstream));
}

// Whether an environment of this id is registered with spaces that the networks do not fit.
bool has_other_shapes(const EnvSpec& trained, const EnvSpec& now) {
  return !(same_shape(now.observation, trained.observation) &&
           same_shape(now.action, trained.action) &&
           same_shape(now.critic_observation, trained.critic_observation));
}

bool same_numbers(const Space& a, const Space& b) {
  return a.low == b.low && a.high == b.high && a.start == b.start && a.masked == b.masked &&
         a.frame_padding == b.frame_padding;
}

// Whether an environment of this id is registered with other spaces, or of another source or
// engine, than a policy was trained on. Bounds count too: they scale actions, and `start` numbers
// choices.
bool has_changed(const EnvSpec& trained, const Config& config) {
  const Result<EnvSpec> now = own_spec(config.env_id, config.env_options);
  return now.ok() &&
         (has_other_shapes(trained, now.value()) || has_other_text(trained, now.value()) ||
          !same_engine(trained.engine, now.value().engine) ||
          !same_numbers(trained.observation, now.value().observation) ||
          !same_numbers(trained.action, now.value().action) ||
          !same_numbers(trained.critic_observation, now.value().critic_observation));
}

std::string quoted_source(const EnvSpec& spec) {
  return spec.upstream.empty() ? "a function alone" : "'" + one_line(spec.upstream) + "'";
}

// Differences of another environment of this id; of each space the first.
std::vector<EnvChange> change_notes(const EnvSpec& trained, const EnvSpec& now) {
  std::vector<EnvChange> changes;
  if (has_other_text(trained, now)) {
    changes.push_back(
        {false, fmt::format("{} comes from {} now, and came from {} when the policy was trained; "
                            "it plays in the one of now{}",
                            trained.id, quoted_source(now), quoted_source(trained),
                            has_other_source(trained, now)
                                ? ". To play in the other, register that one under this id"
                                : "")});
  }
  if (!trained.engine.empty() && !same_engine(trained.engine, now.engine)) {
    changes.push_back(
        {true, fmt::format("{} is stepped by '{}' now, and was by '{}' when the policy was "
                           "trained; it plays in that of now",
                           trained.id, now.engine, trained.engine)});
  }
  const auto note = [&](const char* what, const Space& then, const Space& today) -> std::string {
    const auto changed = [&](const std::string& got, const std::string& expected) {
      return fmt::format(
          "{} of {} {} now, and {} when the policy was trained; it plays with those "
          "of now",
          what, trained.id, got, expected);
    };
    const auto first = [](const Space& space) { return fmt::format("begin at {}", space.start); };
    if (then.start != today.start) return changed(first(today), first(then));
    const auto masks = [](const Space& space) { return space.masked ? "have masks" : "have none"; };
    if (then.masked != today.masked) return changed(masks(today), masks(then));
    for (std::size_t i = 0; i < then.low.size() && i < today.low.size(); ++i) {
      const auto range = [i](const Space& space) {
        return fmt::format("have {:g} to {:g} as number {}", space.low[i], space.high[i], i);
      };
      if (then.low[i] != today.low[i] || then.high[i] != today.high[i]) {
        return changed(range(today), range(then));
      }
    }
    return "";
  };
  for (std::string& text : std::array{
           note("actions", trained.action, now.action),
           note("observations", trained.observation, now.observation),
           note("the critic's observations", trained.critic_observation, now.critic_observation)}) {
    if (!text.empty()) changes.push_back({false, std::move(text)});
  }
  return changes;
}

std::string text_of(const std::vector<EnvChange>& changes) {
  std::vector<std::string> texts;
  texts.reserve(changes.size());
  for (const EnvChange& change : changes) texts.push_back(change.text);
  return fmt::format("{}", fmt::join(texts, ". "));
}

Status changed_error(const EnvSpec& trained, const EnvSpec& now) {
  return {ErrorKind::kMismatch,
          fmt::format("{} has other spaces than when the policy was trained: got observations {} "
                      "and actions {}, expected {} and {}; register the environments of then under "
                      "this id",
                      trained.id, shape_text(now.observation), shape_text(now.action),
                      shape_text(trained.observation), shape_text(trained.action))};
}

}  // namespace

bool is_named_by_source(const EnvSpec& spec) {
  return !is_built_in(spec.id) && spec.plugin == EnvPlugin{};
}

std::vector<EnvChange> changes_since(const Checkpoint& checkpoint, const Config& config) {
  if (!checkpoint.own_spec || checkpoint.config.env_id != config.env_id) return {};
  const Result<EnvSpec> now = own_spec(config.env_id, config.env_options);
  if (!now.ok()) return {};
  return change_notes(*checkpoint.own_spec, now.value());
}

Status check_source(const Checkpoint& checkpoint) {
  if (!checkpoint.own_spec || checkpoint.own_spec->upstream.empty()) return {};
  const Config& config = checkpoint.config;
  const Result<EnvSpec> now = own_spec(config.env_id, config.env_options);
  if (!now.ok()) return now.status();
  const EnvSpec& trained = *checkpoint.own_spec;
  if (!has_other_source(trained, now.value())) return {};
  return {ErrorKind::kMismatch,
          fmt::format("{} is not the environment that the run was trained on: got {}, expected {}; "
                      "register that one under this id, or begin a new run with this policy (init)",
                      trained.id, quoted_source(now.value()), quoted_source(trained))};
}

std::unique_ptr<Actor> make_actor(const Policy& policy) {
  std::unique_ptr<Actor> actor = make_actor(policy.config, policy.network);
  actor->begin_block(std::min(1.0, static_cast<double>(policy.origin.global_step) /
                                       static_cast<double>(policy.config.schedule_steps())));
  return actor;
}

LoadedPolicy::LoadedPolicy(const Config& config, const EnvSpec& spec)
    : config_(config),
      spec_(spec),
      network_(network_shape(config, spec)),
      params_(network_.parameter_count()) {
  if (config.norm_obs) {
    obs_norm_.emplace(spec.observation_size(), config.clip_obs, kOneShard, NormaliserRule::kExact,
                      normaliser_eps(config));
    obs_norm_->leave_out(spec.observation.groups);
  }
  const int critic = critic_space(config, spec).size;
  if (config.norm_obs && critic > 0) {
    critic_norm_.emplace(critic, config.clip_obs, kOneShard, NormaliserRule::kExact,
                         normaliser_eps(config));
  }
  if (config.norm_reward) {
    reward_norm_.emplace(config.most_envs(), config.gamma, config.clip_reward, kOneShard,
                         normaliser_rule(config));
  }
  value_norm_ = value_normalizer(config);
}

std::vector<TensorRef> LoadedPolicy::state() {
  std::vector<TensorRef> tensors;
  const auto size = static_cast<std::int64_t>(params_.size());
  tensors.push_back({"learner.params", Dtype::kF32, {size}, params_.data(), {kFiniteRange}});
  tensors.push_back({"trainer.iteration", Dtype::kI64, {1}, &origin_.iteration, {kCountRange}});
  tensors.push_back({"trainer.global_step", Dtype::kI64, {1}, &origin_.global_step, {kCountRange}});
  if (obs_norm_) obs_norm_->append_state("obs_normalizer", tensors);
  if (critic_norm_) critic_norm_->append_state("critic_obs_normalizer", tensors);
  if (reward_norm_) reward_norm_->append_state("reward_normalizer", tensors);
  if (value_norm_) value_norm_->append_state("value_normalizer", tensors);
  return tensors;
}

void LoadedPolicy::state_restored() {
  if (obs_norm_) obs_norm_->state_restored();
  if (critic_norm_) critic_norm_->state_restored();
}

std::unique_ptr<LoadedPolicy> LoadedPolicy::copy(const Policy& policy) {
  std::unique_ptr<LoadedPolicy> out(new LoadedPolicy(policy.config, policy.spec));
  std::copy_n(policy.params, out->params_.size(), out->params_.begin());
  if (policy.obs_norm != nullptr) out->obs_norm_ = policy.obs_norm->with_shards(kOneShard);
  if (policy.critic_norm != nullptr) out->critic_norm_ = policy.critic_norm->with_shards(kOneShard);
  if (policy.reward_norm != nullptr) out->reward_norm_ = *policy.reward_norm;
  if (policy.value_norm != nullptr) out->value_norm_ = *policy.value_norm;
  out->origin_ = policy.origin;
  return out;
}

Result<std::unique_ptr<LoadedPolicy>> LoadedPolicy::make(const Overrides& config,
                                                         const std::string& spec) {
  if (!spec.empty()) {
    const Result<EnvSpec> described = parse_spec(spec);
    if (!described.ok()) return described.status();
    BROADLOOM_TRY(describe_environment(described.value(), env_options_in(config)));
  }
  const Result<Config> record = resolve_record(config);
  if (!record.ok()) return record.status();
  const Config& own = record.value();
  std::optional<EnvSpec> trained;
  if (!spec.empty()) trained = parse_spec(spec).value();
  const bool changed = trained && has_changed(*trained, own);
  const Result<EnvSpec> wrapped =
      changed ? env_spec_of(*trained, own.env_options, own.max_episode_steps)
              : env_spec(own.env_id, own.env_options, own.max_episode_steps);
  if (!wrapped.ok()) return wrapped.status();
  std::unique_ptr<LoadedPolicy> out(new LoadedPolicy(own, wrapped.value()));
  if (changed) out->changed_ = std::move(trained);
  return out;
}

// Loads those of Trainer::state()'s tensors that acting needs.
Status LoadedPolicy::read(const SafetensorsFile& file) {
  EpisodeTracker episodes(config_.most_envs(), spec_.strata.size());
  std::vector<TensorRef> tensors;
  episodes.append_state("episodes", tensors);
  episodes.append_block_state("episodes", tensors);
  std::erase_if(tensors, [&](const TensorRef& t) { return file.tensors.count(t.name) == 0; });
  for (TensorRef& tensor : state()) tensors.push_back(std::move(tensor));
  BROADLOOM_TRY(load_named(file, tensors));
  state_restored();
  origin_.training_return = episodes.mean_return();
  return {};
}

Result<std::unique_ptr<LoadedPolicy>> LoadedPolicy::load(const FoundCheckpoint& found,
                                                         PolicySpaces spaces) {
  const Result<Checkpoint> checkpoint = read_checkpoint(found);
  if (!checkpoint.ok()) return checkpoint.status();
  return load(found, checkpoint.value(), spaces);
}

Result<std::unique_ptr<LoadedPolicy>> LoadedPolicy::load(const FoundCheckpoint& found,
                                                         const Checkpoint& checkpoint,
                                                         PolicySpaces spaces) {
  const Config& config = checkpoint.config;
  std::optional<EnvSpec> trained = checkpoint.own_spec;
  if (trained && !has_changed(*trained, config)) trained.reset();
  const Result<EnvSpec> now = env_spec(config.env_id, config.env_options, config.max_episode_steps);
  if (!now.ok()) return now.status();
  std::string note;
  if (trained && spaces == PolicySpaces::kRegistered) {
    const EnvSpec registered = own_spec(config.env_id, config.env_options).value();
    if (has_other_shapes(*trained, registered)) return changed_error(*trained, registered);
    note = text_of(change_notes(*trained, registered));
    trained.reset();
  }
  const Result<EnvSpec> spec =
      trained ? env_spec_of(*trained, config.env_options, config.max_episode_steps) : now;
  if (!spec.ok()) return spec.status();
  BROADLOOM_TRY(check_sizes(checkpoint.file, config, spec.value()));
  std::unique_ptr<LoadedPolicy> policy(new LoadedPolicy(config, spec.value()));
  BROADLOOM_TRY(with_advice(policy->read(checkpoint.file), found));
  policy->origin_.run_dir = found.folder.dir();
  policy->origin_.checkpoint = found.path;
  policy->origin_.hash = checkpoint.hash;
  policy->changed_ = std::move(trained);
  policy->note_ = std::move(note);
  return policy;
}

Policy LoadedPolicy::view() const {
  return {config_,
          spec_,
          network_,
          params_.data(),
          obs_norm_ ? &*obs_norm_ : nullptr,
          reward_norm_ ? &*reward_norm_ : nullptr,
          origin_,
          critic_norm_ ? &*critic_norm_ : nullptr,
          value_norm_ ? &*value_norm_ : nullptr};
}

}  // namespace broadloom
