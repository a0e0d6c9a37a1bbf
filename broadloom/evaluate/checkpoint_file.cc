#include "broadloom/evaluate/checkpoint_file.h"

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/described_environment.h"
#include "broadloom/evaluate/spec_json.h"
#include "broadloom/nn/actor_critic.h"
#include "broadloom/record/files.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

Status read_bytes(const SafetensorsFile& file, const std::string& key, std::int64_t& out) {
  const auto found = file.metadata.find(key);
  if (found != file.metadata.end() && parse_text(found->second, out).ok() && out >= 0) return {};
  return {ErrorKind::kCorrupt,
          fmt::format("this is not a checkpoint of a run: its metadata has no number '{}'", key)};
}

// "" if no events were written. Only the file name, as the file lies in the run's folder.
std::string events_file_of(const SafetensorsFile& file) {
  const auto found = file.metadata.find("events_file");
  if (found == file.metadata.end()) return "";
  return std::filesystem::path(found->second).filename().string();
}

Overrides config_of(const SafetensorsFile& file) {
  const std::string prefix = kConfigPrefix;
  Overrides overrides;
  for (const auto& [key, text] : file.metadata) {
    if (key.rfind(prefix, 0) == 0) overrides.emplace_back(key.substr(prefix.size()), text);
  }
  return overrides;
}

// With such numbers, a policy's results would mean nothing. The reader of a tensor reports one that
// is absent or of another type.
Status check_policy(const SafetensorsFile& file) {
  constexpr ValueRange kSize{0.0, kFiniteRange.high};
  const auto check = [&](const std::string& name, Dtype dtype, const ValueRange& range) -> Status {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end() || found->second.dtype != dtype) return {};
    const TensorRef tensor{name, dtype, found->second.shape, nullptr, {range}};
    const Status status = check_values(tensor, file.data.data() + found->second.begin);
    if (status.ok()) return {};
    return {status.kind(), status.message() + ": the policy is not usable"};
  };
  for (const char* parameters : {"learner.params", "learner.companion.params"}) {
    BROADLOOM_TRY(check(parameters, Dtype::kF32, kFiniteRange));
  }
  for (const std::string normaliser :
       {"obs_normalizer", "critic_obs_normalizer", "reward_normalizer", "value_normalizer",
        "algorithm.observations", "algorithm.rewards"}) {
    BROADLOOM_TRY(check(normaliser + ".mean", Dtype::kF64, kFiniteRange));
    BROADLOOM_TRY(check(normaliser + ".var", Dtype::kF64, kSize));
    BROADLOOM_TRY(check(normaliser + ".count", Dtype::kF64, kSize));
  }
  return {};
}

std::string advice_for(const FoundCheckpoint& found) {
  if (found.is_alone()) return "use another checkpoint";
  const std::string previous = found.folder.checkpoint_before(found.path);
  if (previous.empty()) return "the run has no other checkpoint: train it again";
  return fmt::format("remove that file, and '{}' will be used", previous);
}

}  // namespace

Status check_sizes(const SafetensorsFile& file, const Config& config, const EnvSpec& spec) {
  const auto floats =
      static_cast<std::int64_t>(ActorCritic(network_shape(config, spec)).parameter_count());
  const std::int64_t size = spec.observation_size(), critic = critic_space(config, spec).size;
  const std::int64_t envs = config.most_envs();
  std::vector<TensorRef> tensors = {{"learner.params", Dtype::kF32, {floats}, nullptr}};
  const auto add = [&](bool is_there, const char* name, Dtype dtype, std::int64_t numbers) {
    if (is_there) tensors.push_back({name, dtype, {numbers}, nullptr});
  };
  add(config.norm_obs, "obs_normalizer.mean", Dtype::kF64, size);
  add(config.norm_obs && critic > 0, "critic_obs_normalizer.mean", Dtype::kF64, critic);
  add(config.norm_reward, "reward_normalizer.returns", Dtype::kF64, envs);
  add(config.norm_value != "off", "value_normalizer.mean", Dtype::kF64, 1);
  const char* lengths = "episodes.running_length";
  add(file.tensors.count(lengths) > 0, lengths, Dtype::kI64, envs);
  return check_named(file, tensors);
}

Result<Checkpoint> read_checkpoint(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  return parse_checkpoint(bytes.take(), path);
}

Result<Checkpoint> parse_checkpoint(std::string bytes, const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.hash = hash_text(bytes);
  Result<SafetensorsFile> file = parse_safetensors(std::move(bytes), path);
  if (!file.ok()) return file.status();
  const auto in_file = [&](const Status& status) {
    return Status(status.kind(), fmt::format("'{}': {}", path, status.message()));
  };
  if (file.value().metadata.count("checksum") == 0) {
    return in_file({ErrorKind::kCorrupt,
                    "this is not a checkpoint of a run, or was altered: it has no checksum"});
  }
  for (const auto& [key, place] : {std::pair{"metrics_bytes", &checkpoint.logs.metrics},
                                   std::pair{"eval_bytes", &checkpoint.logs.eval},
                                   std::pair{"events_bytes", &checkpoint.logs.events}}) {
    const Status status = read_bytes(file.value(), key, *place);
    if (!status.ok()) return in_file(status);
  }
  const Status policy = check_policy(file.value());
  if (!policy.ok()) return in_file(policy);
  checkpoint.logs.events_file = events_file_of(file.value());
  if (const auto spec = file.value().metadata.find(kSpecKey); spec != file.value().metadata.end()) {
    const Result<EnvSpec> described = parse_spec(spec->second);
    if (!described.ok()) return in_file(described.status());
    const Status status =
        describe_environment(described.value(), env_options_in(config_of(file.value())));
    if (!status.ok()) return in_file({ErrorKind::kCorrupt, status.message()});
    checkpoint.own_spec = described.value();
  }
  Result<Config> config = resolve_record(config_of(file.value()));
  if (!config.ok()) return in_file(config.status());
  checkpoint.config = config.take();
  checkpoint.file = file.take();
  return checkpoint;
}

Status with_advice(const Status& status, const FoundCheckpoint& found) {
  if (status.kind() != ErrorKind::kCorrupt) return status;
  return {status.kind(), fmt::format("{}; {}", status.message(), advice_for(found))};
}

Result<Checkpoint> read_checkpoint(const FoundCheckpoint& found) {
  Result<Checkpoint> checkpoint = read_checkpoint(found.path);
  if (checkpoint.ok()) return checkpoint;
  return with_advice(checkpoint.status(), found);
}

}  // namespace broadloom
