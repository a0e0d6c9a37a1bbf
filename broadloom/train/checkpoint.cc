#include "broadloom/train/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "broadloom/config/keys.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/network_shape.h"

namespace broadloom {
namespace {

// Key of TeacherPolicy::hash() in a checkpoint's metadata.
constexpr char kTeacherKey[] = "teacher";

// A run that was made longer has its schedules over what it was before.
bool have_one_schedule(const Config& a, const Config& b) {
  return a.shape_schedule.empty() && b.shape_schedule.empty() &&
         a.schedule_steps() == b.schedule_steps();
}

// Whether a run may resume from a checkpoint that differs in that key: true if the key does not
// affect learning.
bool may_differ(const std::string& key, const Config& got, const Config& config) {
  if (key == "stop_at_return") return true;
  if (key == "schedule_timesteps") return have_one_schedule(got, config);
  switch (role_of(key)) {
    case Role::kMeasure:
    case Role::kRecord:
    case Role::kMachine:
      return true;
    case Role::kBudget:
      return !depends_on_total(config) || have_one_schedule(got, config);
    default:
      return false;
  }
}

Status compare(const Config& got, const Config& expected) {
  Overrides a = to_overrides(got);
  Overrides b = to_overrides(expected);
  std::sort(a.begin(), a.end());  // environment options are in the order in which they were set
  std::sort(b.begin(), b.end());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] == b[i] || may_differ(a[i].first, got, expected)) continue;
    return {ErrorKind::kMismatch,
            fmt::format(
                "the checkpoint has {} = '{}' but the run has {} = '{}'; it belongs to another run",
                a[i].first, a[i].second, b[i].first, b[i].second)};
  }
  if (a.size() == b.size()) return {};
  return {ErrorKind::kMismatch,
          "the checkpoint has other environment options than the run; it belongs to another run"};
}

bool holds(const SafetensorsFile& file, const TensorRef& tensor) {
  const auto found = file.tensors.find(tensor.name);
  return found != file.tensors.end() && found->second.dtype == tensor.dtype &&
         found->second.shape == tensor.shape;
}

// A resume may change the instruments: those in the file are restored, the others begin now. Files
// of version 0.1.0 lack the episodes of the last block.
Status load_state(const SafetensorsFile& file, Trainer& trainer) {
  std::vector<TensorRef> wanted;
  BROADLOOM_TRY(with_simulator_errors([&] { wanted = trainer.state(); }));
  for (const TensorRef& tensor : trainer.report_state()) {
    if (holds(file, tensor)) {
      wanted.push_back(tensor);
    } else {
      std::memset(tensor.data, 0, tensor.bytes());
    }
  }
  for (const TensorRef& tensor : trainer.instrument_state()) {
    if (holds(file, tensor)) wanted.push_back(tensor);
  }
  return load_into(file, wanted, "instruments.");
}

// Describes the inputs for readers of the parameters who do not have the environment. Omitted for
// one row of D float32.
void add_observations(const Config& config, const EnvSpec& spec, Metadata& metadata) {
  const Space& seen = spec.observation;
  if (seen.dtype != Dtype::kF32 || !seen.shape.empty()) metadata["observation"] = shape_text(seen);
  const Space& critic = critic_space(config, spec);
  if (critic.size > 0) metadata["critic_observation"] = shape_text(critic);
}

}  // namespace

Status save_checkpoint(const std::string& path, Trainer& trainer, const LogBytes& logs) {
  BROADLOOM_TRY(trainer.capture());
  Metadata metadata;
  metadata["format"] = "broadloom-checkpoint-1";
  metadata["metrics_bytes"] = to_text(logs.metrics);
  metadata["eval_bytes"] = to_text(logs.eval);
  metadata["events_bytes"] = to_text(logs.events);
  if (!logs.events_file.empty()) metadata["events_file"] = logs.events_file;
  if (trainer.teacher() != nullptr) metadata[kTeacherKey] = trainer.teacher()->hash();
  add_observations(trainer.config(), trainer.spec(), metadata);
  // Other processes may not know the environment, and can still read the policy.
  const Config& config = trainer.config();
  if (!trainer.description().ok()) return trainer.description().status();
  if (const std::string& text = trainer.description().value(); !text.empty())
    metadata[kSpecKey] = text;
  for (const auto& [key, text] : to_overrides(config)) metadata[kConfigPrefix + key] = text;
  std::vector<TensorRef> tensors;
  BROADLOOM_TRY(with_simulator_errors([&] { tensors = trainer.state(); }));
  for (const TensorRef& tensor : trainer.report_state()) tensors.push_back(tensor);
  for (const TensorRef& tensor : trainer.instrument_state()) tensors.push_back(tensor);
  return write_safetensors(path, tensors, metadata);
}

Status check_belongs(const Checkpoint& checkpoint, const Config& config) {
  BROADLOOM_TRY(compare(checkpoint.config, config));
  const Result<EnvSpec> spec =
      env_spec(config.env_id, config.env_options, config.max_episode_steps);
  if (!spec.ok()) return spec.status();
  return check_sizes(checkpoint.file, config, spec.value());
}

Status restore(const Checkpoint& checkpoint, Trainer& trainer) {
  BROADLOOM_TRY(compare(checkpoint.config, trainer.config()));
  const auto teacher = checkpoint.file.metadata.find(kTeacherKey);
  if (teacher != checkpoint.file.metadata.end()) {
    BROADLOOM_TRY(check_teacher(trainer.teacher(), teacher->second));
  }
  BROADLOOM_TRY(load_state(checkpoint.file, trainer));
  Status restored = trainer.state_restored();
  if (restored.kind() != ErrorKind::kCorrupt) return restored;
  return {restored.kind(), fmt::format("'{}': {}", checkpoint.file.name, restored.message())};
}

}  // namespace broadloom
