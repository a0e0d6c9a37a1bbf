#include "broadloom/train/initial_policy.h"

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/network_shape.h"

namespace broadloom {
namespace {

constexpr const char* kParameters = "learner.params";

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool is_of_normalizer(std::string_view tensor) {
  return begins_with(tensor, "obs_normalizer.") || begins_with(tensor, "critic_obs_normalizer.");
}

std::string_view bytes_of(const SafetensorsFile& file, const SafetensorsFile::Entry& entry) {
  return std::string_view(file.data).substr(entry.begin, entry.end - entry.begin);
}

std::string parameters_hash(const SafetensorsFile& file) {
  const auto found = file.tensors.find(kParameters);
  return found == file.tensors.end() ? "" : hash_text(bytes_of(file, found->second));
}

// Stays as it is where the file does not say.
Status read_global_step(const SafetensorsFile& file, std::int64_t& step) {
  constexpr const char* kName = "trainer.global_step";
  if (file.tensors.count(kName) == 0) return {};
  return load_named(file, {{kName, Dtype::kI64, {1}, &step, {kCountRange}}});
}

// "": it has none.
std::string normalizer_hash(const SafetensorsFile& file) {
  std::string hashes;
  for (const auto& [name, entry] : file.tensors) {
    if (!is_of_normalizer(name)) continue;
    hashes += name + " " + hash_text(bytes_of(file, entry)) + "\n";
  }
  return hashes.empty() ? "" : hash_text(hashes);
}

void add_difference(const std::string& what, const std::string& got, const std::string& expected,
                    std::string& out) {
  if (got == expected) return;
  out += fmt::format("{}{}: got {}, expected {}", out.empty() ? "" : "; ", what, got, expected);
}

// What a run takes over, as far as the file has it.
std::vector<TensorRef> places(Trainer& trainer, const SafetensorsFile& file) {
  std::vector<TensorRef> out;
  for (TensorRef& tensor : trainer.state()) {
    const bool taken = tensor.name == kParameters ||
                       (is_of_normalizer(tensor.name) && file.tensors.count(tensor.name));
    if (taken) out.push_back(std::move(tensor));
  }
  return out;
}

void add_network_differences(const Config& theirs, const Config& run, std::string& differences) {
  const std::vector<FieldInfo> from = list_fields(theirs), to = list_fields(run);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].facts.role != Role::kNetwork) continue;
    add_difference(to[i].name, from[i].value_text, to[i].value_text, differences);
  }
}

}  // namespace

Result<InitialPolicy> read_initial_policy(const std::string& run_or_checkpoint) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  Result<Checkpoint> checkpoint = read_checkpoint(found.value());
  if (!checkpoint.ok()) return checkpoint.status();
  InitialPolicy policy;
  policy.checkpoint = checkpoint.take();
  const SafetensorsFile& file = policy.checkpoint.file;
  policy.source.file = found.value().path;
  BROADLOOM_TRY(read_global_step(file, policy.source.global_step));
  policy.source.parameters_hash = parameters_hash(file);
  policy.source.obs_normalizer_hash = normalizer_hash(file);
  return policy;
}

Status check_policy_fits(const InitialPolicy& policy, const Config& run) {
  const Config& theirs = policy.checkpoint.config;
  const Result<EnvSpec> from = env_spec(theirs.env_id, theirs.env_options);
  if (!from.ok()) return from.status();
  const Result<EnvSpec> to = env_spec(run.env_id, run.env_options);
  if (!to.ok()) return to.status();
  std::string differences;
  add_difference("observations", shape_text(from.value().observation),
                 shape_text(to.value().observation), differences);
  add_difference("critic observations", shape_text(critic_space(theirs, from.value())),
                 shape_text(critic_space(run, to.value())), differences);
  add_difference("actions", shape_text(from.value().action), shape_text(to.value().action),
                 differences);
  const NetworkShape has = network_shape(theirs, from.value());
  const NetworkShape wants = network_shape(run, to.value());
  if (has.action_values != wants.action_values || has.value_outputs != wants.value_outputs) {
    add_difference("algorithm, whose values have other heads", theirs.algorithm, run.algorithm,
                   differences);
  }
  add_network_differences(theirs, run, differences);
  if (differences.empty()) return {};
  return {ErrorKind::kMismatch,
          fmt::format("the policy of '{}' ({}) does not fit this run ({}): {}; give the run "
                      "the policy's, or begin with another policy",
                      policy.source.file, theirs.env_id, run.env_id, differences)};
}

Result<PolicySource> begin_with(const InitialPolicy& policy, Trainer& trainer) {
  BROADLOOM_TRY(check_policy_fits(policy, trainer.config()));
  const SafetensorsFile& file = policy.checkpoint.file;
  const std::vector<TensorRef> taken = places(trainer, file);
  BROADLOOM_TRY(trainer.capture());  // what is restored beside them is what there is
  BROADLOOM_TRY(load_named(file, taken));
  BROADLOOM_TRY(trainer.state_restored());
  PolicySource source = policy.source;
  if (trainer.obs_normalizer() == nullptr) source.obs_normalizer_hash.clear();
  return source;
}

}  // namespace broadloom
