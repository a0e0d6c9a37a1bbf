#include "broadloom/train/initial_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "broadloom/config/keys.h"
#include "broadloom/core/hash.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/algorithms.h"
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

// Statistics without which the network's inputs or outputs mean something else.
bool belongs_to_policy(std::string_view tensor) {
  return is_of_normalizer(tensor) || begins_with(tensor, "value_normalizer.");
}

std::string_view bytes_of(const SafetensorsFile& file, const SafetensorsFile::Entry& entry) {
  return std::string_view(file.data).substr(entry.begin, entry.end - entry.begin);
}

std::string parameters_hash(const SafetensorsFile& file) {
  const auto found = file.tensors.find(kParameters);
  return found == file.tensors.end() ? "" : hash_text(bytes_of(file, found->second));
}

// Does not change `step` if the file has none.
Status read_global_step(const SafetensorsFile& file, std::int64_t& step) {
  constexpr const char* kName = "trainer.global_step";
  if (file.tensors.count(kName) == 0) return {};
  return load_named(file, {{kName, Dtype::kI64, {1}, &step, {kCountRange}}});
}

// Tensors that continue with the optimiser. The running returns of a reward normaliser do not: they
// belong to environments of the other run.
bool is_of_optimizer(std::string_view tensor) {
  constexpr std::string_view kNames[] = {"learner.adam_m",          "learner.adam_v",
                                         "learner.adam_steps",      "learner.learning_rate",
                                         "learner.proximal.params", "learner.proximal.weight",
                                         "learner.advantages",      "reward_normalizer.var",
                                         "reward_normalizer.mean",  "reward_normalizer.count"};
  return std::find(std::begin(kNames), std::end(kNames), tensor) != std::end(kNames);
}

// One hash of all tensors that are asked for; "": there are none.
template <class IsAskedFor>
std::string tensors_hash(const SafetensorsFile& file, const IsAskedFor& is_asked_for) {
  std::string hashes;
  for (const auto& [name, entry] : file.tensors) {
    if (!is_asked_for(name)) continue;
    hashes += name + " " + hash_text(bytes_of(file, entry)) + "\n";
  }
  return hashes.empty() ? "" : hash_text(hashes);
}

void add_difference(const std::string& what, const std::string& got, const std::string& expected,
                    std::string& out) {
  if (got == expected) return;
  const auto shown = [](const std::string& text) { return text.empty() ? "none" : text; };
  out += fmt::format("{}{}: got {}, expected {}", out.empty() ? "" : "; ", what, shown(got),
                     shown(expected));
}

// The tensors of the trainer that the run takes and the file provides.
std::vector<TensorRef> initial_tensors(Trainer& trainer, const InitialPolicy& policy) {
  const SafetensorsFile& file = policy.checkpoint.file;
  const bool adapts = trainer.config().lr_schedule == "adaptive" &&
                      policy.checkpoint.config.lr_schedule == "adaptive";
  std::vector<TensorRef> out;
  for (TensorRef& tensor : trainer.state()) {
    const bool goes_on = policy.takes_optimizer && is_of_optimizer(tensor.name) &&
                         (adapts || tensor.name != "learner.learning_rate");
    const bool taken = tensor.name == kParameters || ((belongs_to_policy(tensor.name) || goes_on) &&
                                                      file.tensors.count(tensor.name));
    if (taken) out.push_back(std::move(tensor));
  }
  return out;
}

void add_network_differences(const Config& theirs, const Config& run, std::string& differences) {
  const std::vector<FieldInfo> policy_fields = list_fields(theirs), run_fields = list_fields(run);
  for (std::size_t i = 0; i < run_fields.size(); ++i) {
    if (run_fields[i].facts.role != Role::kNetwork) continue;
    add_difference(run_fields[i].name, policy_fields[i].value_text, run_fields[i].value_text,
                   differences);
  }
}

// Keys of the task, including environment options, with their texts.
std::map<std::string, std::string> task_of(const Config& config) {
  std::map<std::string, std::string> keys;
  for (auto& [key, text] : to_overrides(config)) {
    if (role_of(key) == Role::kTask) keys[key] = text;
  }
  return keys;
}

// "": there are none.
std::string task_differences(const Config& theirs, const Config& run) {
  std::map<std::string, std::string> policy_task = task_of(theirs), run_task = task_of(run);
  for (const auto& [key, text] : policy_task) run_task.try_emplace(key, "not set");
  std::string out;
  for (const auto& [key, text] : run_task) {
    const std::string other = policy_task.try_emplace(key, "not set").first->second;
    if (other == text) continue;
    out += fmt::format("{}{} was {}, and is {} here", out.empty() ? "" : "; ", key, other, text);
  }
  return out;
}

Status check_optimizer_fits(const InitialPolicy& policy, const Config& run, const EnvSpec& spec) {
  if (!policy.takes_optimizer) return {};
  const std::string& theirs = policy.checkpoint.config.algorithm;
  if (theirs != run.algorithm) {
    return {ErrorKind::kMismatch,
            fmt::format("--init_optimizer: got the optimiser of algorithm = {} in '{}', expected "
                        "one of {}; give the run the same algorithm, or take the policy alone "
                        "with --init",
                        theirs, policy.source.file, run.algorithm)};
  }
  if (companion_size(run, spec).parameters == 0) return {};
  return {ErrorKind::kMismatch,
          fmt::format("--init_optimizer: got algorithm = {}, which learns a second network in the "
                      "same steps and begins that one anew, expected an algorithm of one network; "
                      "take the policy alone with --init, or go on with train --resume",
                      run.algorithm)};
}

// Lists the state that is taken with the optimiser, and the state that is new.
std::string note_on_optimizer(const InitialPolicy& policy, const Config& run) {
  const Config& theirs = policy.checkpoint.config;
  const bool scales = theirs.norm_reward && run.norm_reward;
  const bool adapts = theirs.lr_schedule == "adaptive" && run.lr_schedule == "adaptive";
  return fmt::format(
      "taken with the policy: Adam's moments and count of steps{}{}; new: environments and their "
      "episodes, {}schedules from their start, and the count of steps of the run",
      scales ? ", the statistics of rewards" : "", adapts ? ", the adapted learning rate" : "",
      run.norm_reward && !scales ? "the statistics of rewards, " : "");
}

std::string unit_of_rewards(const Config& config, const std::string& statistics) {
  if (config.norm_reward) return fmt::format("rewards scaled by {} (norm_reward)", statistics);
  if (config.reward_scale == 1.0) return "rewards as they are";
  return fmt::format("rewards times {} (reward_scale)", config.reward_scale);
}

// The unit of the critic's outputs, in words. statistics: of rewards.
std::string unit_of_values(const Config& config, const std::string& statistics) {
  return unit_of_rewards(config, statistics) +
         (config.norm_value == "off" ? "" : ", in units of values' own statistics (norm_value)");
}

}  // namespace

Result<PolicySource> policy_source(const Checkpoint& checkpoint, const std::string& path) {
  PolicySource source;
  source.file = path;
  BROADLOOM_TRY(read_global_step(checkpoint.file, source.global_step));
  source.parameters_hash = parameters_hash(checkpoint.file);
  source.obs_normalizer_hash = tensors_hash(checkpoint.file, is_of_normalizer);
  source.optimizer_hash = tensors_hash(checkpoint.file, is_of_optimizer);
  return source;
}

Result<InitialPolicy> read_initial_policy(const std::string& run_or_checkpoint,
                                          bool takes_optimizer) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  Result<Checkpoint> checkpoint = read_checkpoint(found.value());
  if (!checkpoint.ok()) return checkpoint.status();
  Result<PolicySource> source = policy_source(checkpoint.value(), found.value().path);
  if (!source.ok()) return source.status();
  return InitialPolicy{checkpoint.take(), source.take(), takes_optimizer};
}

Status check_policy_fits(const InitialPolicy& policy, const Config& run) {
  const Config& theirs = policy.checkpoint.config;
  const Result<EnvSpec> policy_spec = env_spec(theirs.env_id, theirs.env_options);
  if (!policy_spec.ok()) return policy_spec.status();
  const Result<EnvSpec> run_spec = env_spec(run.env_id, run.env_options);
  if (!run_spec.ok()) return run_spec.status();
  std::string differences;
  add_difference("observations", shape_text(policy_spec.value().observation),
                 shape_text(run_spec.value().observation), differences);
  add_difference("critic observations", shape_text(critic_space(theirs, policy_spec.value())),
                 shape_text(critic_space(run, run_spec.value())), differences);
  add_difference("actions", shape_text(policy_spec.value().action),
                 shape_text(run_spec.value().action), differences);
  const NetworkShape policy_shape = network_shape(theirs, policy_spec.value());
  const NetworkShape run_shape = network_shape(run, run_spec.value());
  if (policy_shape.action_values != run_shape.action_values ||
      policy_shape.value_outputs != run_shape.value_outputs) {
    add_difference("algorithm, with other value heads", theirs.algorithm, run.algorithm,
                   differences);
  }
  add_network_differences(theirs, run, differences);
  if (differences.empty()) return check_optimizer_fits(policy, run, run_spec.value());
  return {ErrorKind::kMismatch,
          fmt::format("the policy of '{}' ({}) does not fit this run ({}): {}; use the policy's "
                      "settings in the run, or begin with another policy",
                      policy.source.file, theirs.env_id, run.env_id, differences)};
}

std::vector<std::string> notes_on_policy(const InitialPolicy& policy, const Config& run) {
  const Config& theirs = policy.checkpoint.config;
  std::vector<std::string> notes;
  for (EnvChange& change : changes_since(policy.checkpoint, run)) {
    notes.push_back(std::move(change.text));
  }
  const std::string differences = task_differences(theirs, run);
  if (!differences.empty()) {
    notes.push_back("the policy that the run begins with was trained on another task: " +
                    differences);
  }
  if (theirs.norm_obs != run.norm_obs) {
    notes.push_back(fmt::format(
        "the policy that the run begins with saw {} observations, and this run's are {}: it will "
        "act differently (set norm_obs = {} to avoid this)",
        theirs.norm_obs ? "normalised" : "plain", run.norm_obs ? "normalised" : "plain",
        theirs.norm_obs));
  }
  const bool is_one_unit = policy.takes_optimizer && theirs.norm_reward && run.norm_reward;
  if (policy.takes_optimizer) notes.push_back(note_on_optimizer(policy, run));
  const bool same_outputs = (theirs.norm_value == "off") == (run.norm_value == "off");
  if (theirs.reward_scale != run.reward_scale || !same_outputs ||
      ((theirs.norm_reward || run.norm_reward) && !is_one_unit)) {
    notes.push_back(fmt::format(
        "the critic that the run begins with valued {}, and this run's are {}: its values have the "
        "wrong unit until it has learnt the new one",
        unit_of_values(theirs, "the statistics of its run"),
        unit_of_values(run, "new statistics")));
  }
  return notes;
}

Result<PolicySource> begin_with(const InitialPolicy& policy, Trainer& trainer) {
  BROADLOOM_TRY(check_policy_fits(policy, trainer.config()));
  const SafetensorsFile& file = policy.checkpoint.file;
  std::vector<TensorRef> taken;
  BROADLOOM_TRY(with_simulator_errors([&] { taken = initial_tensors(trainer, policy); }));
  BROADLOOM_TRY(trainer.capture());  // the rest of the state keeps its values
  BROADLOOM_TRY(load_named(file, taken));
  BROADLOOM_TRY(trainer.state_restored());
  PolicySource source = policy.source;
  if (trainer.obs_normalizer() == nullptr) source.obs_normalizer_hash.clear();
  if (!policy.takes_optimizer) source.optimizer_hash.clear();
  return source;
}

}  // namespace broadloom
