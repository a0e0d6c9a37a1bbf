#include "broadloom/train/ledger_entry.h"

#include <fmt/core.h>

#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/core/random.h"
#include "broadloom/core/utc_time.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/streams.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/run_recorder.h"

namespace broadloom {
namespace {

constexpr const char* kHowMeasured =
    "environment steps that the process which finished the run made, over its wall-clock seconds "
    "from the first iteration to the last; evaluations, logs and checkpoints are in them";

std::string_view bytes_of(const TensorRef& tensor) {
  return {static_cast<const char*>(tensor.data), tensor.bytes()};
}

std::int64_t integer_of(const std::vector<TensorRef>& state, std::string_view name) {
  for (const TensorRef& tensor : state) {
    if (tensor.name == name) return *static_cast<const std::int64_t*>(tensor.data);
  }
  return 0;
}

// Hash of the complete training state.
std::string state_hash(const std::vector<TensorRef>& state) {
  std::string hashes;
  for (const TensorRef& tensor : state)
    hashes += tensor.name + " " + hash_text(bytes_of(tensor)) + "\n";
  return hash_text(hashes);
}

Json strata_of(const RolloutContract& contract) {
  Json out = Json::array();
  for (const RolloutContract::Stratum& stratum : contract.strata) {
    Json ranges = Json::object();
    for (const auto& [name, range] : stratum.ranges) ranges[name] = range;
    out.push_back({{"name", stratum.name}, {"share", stratum.share}, {"ranges", ranges}});
  }
  return out;
}

// Null: none.
Json curriculum_of(const CurriculumOptions& curriculum) {
  if (curriculum.levels.empty()) return {};
  return {{"levels", curriculum.levels},
          {"up", curriculum.up},
          {"down", curriculum.down},
          {"episodes", curriculum.episodes}};
}

Json shapes_of(const RolloutContract& contract) {
  Json out = Json::array();
  for (const RolloutContract::Shape& shape : contract.shapes) {
    out.push_back({{"first_step", shape.first_step},
                   {"iterations", shape.iterations},
                   {"num_envs", shape.num_envs},
                   {"num_steps", shape.num_steps},
                   {"minibatches", shape.minibatches},
                   {"minibatch_size", shape.minibatch_size}});
  }
  return out;
}

Json observed_of(const RolloutContract::Observed& observed) {
  Json out = {{"dtype", observed.dtype}, {"shape", observed.shape}};
  if (observed.dtype == "uint8" && observed.full_scale != 255.0f) {
    out["full_scale"] = observed.full_scale;
  }
  if (observed.frames > 1) out["frames"] = observed.frames;
  return out;
}

// Adds what the environment declares of its task.
void add_task(const RolloutContract& contract, Json& out) {
  for (const RewardTerm& term : contract.reward_terms) {
    out["reward_terms"][term.name] = term.weight;
  }
  for (const CommandRange& command : contract.commands) {
    out["commands"][command.name] = std::vector<double>{command.low, command.high};
  }
  if (!contract.terrain.empty()) out["terrain"] = contract.terrain;
  if (!contract.upstream.empty()) out["upstream"] = contract.upstream;
  if (!contract.engine.empty()) out["engine"] = contract.engine;
  if (!contract.engine_changes.empty()) {
    out["engine_changes"] = changes_json(contract.engine_changes, "engine");
  }
}

// The contract without the machine's part: threads and memory.
Json contract_of(const RolloutContract& contract, int action_size) {
  Json disturbances = Json::object();
  for (const auto& [name, value] : contract.disturbances) disturbances[name] = value;
  Json out = {{"env_id", contract.env_id},
              {"num_envs", contract.num_envs},
              {"num_steps", contract.num_steps},
              {"observation_size", contract.observation_size},
              {"action_size", action_size},
              {"batch_size", contract.batch_size},
              {"minibatches", contract.minibatches},
              {"minibatch_size", contract.minibatch_size},
              {"update_epochs", contract.update_epochs},
              {"iterations", contract.iterations},
              {"gradient_steps", contract.gradient_steps},
              {"seed_families", contract.families},
              {"environments_per_family", contract.envs_per_family},
              {"evaluation_episodes", contract.eval_episodes},
              {"strata", strata_of(contract)},
              {"strata_sampling", contract.strata_sampling},
              {"curriculum", curriculum_of(contract.curriculum)},
              {"disturbances", disturbances}};
  if (contract.simulator != VecEnvTraits{}) out["simulator"] = simulator_json(contract.simulator);
  add_task(contract, out);
  if (!contract.shapes.empty()) out["shapes"] = shapes_of(contract);
  if (contract.observation) out["observation"] = observed_of(*contract.observation);
  for (const RolloutContract::Group& group : contract.groups) {
    if (out["groups"].is_null()) out["groups"] = Json::array();
    Json one = observed_of(group.observed);
    one["name"] = group.name;
    one["layers"] = group.layers;
    one["readers"] = Json::array();
    if (group.policy) one["readers"].push_back("policy");
    if (group.critic) one["readers"].push_back("critic");
    out["groups"].push_back(one);
  }
  if (contract.critic_observation) {
    out["critic_observation"] = observed_of(*contract.critic_observation);
  }
  return out;
}

Json numbers_of(std::initializer_list<std::pair<const char*, Purpose>> purposes) {
  Json out = Json::object();
  for (const auto& [name, purpose] : purposes) out[name] = static_cast<std::uint32_t>(purpose);
  return out;
}

Json streams_of(StreamSet set) {
  const EnvStreams streams = env_streams(set);
  return numbers_of({{"reset", streams.reset},
                     {"step", streams.step},
                     {"strata", streams.strata},
                     {"disturb", streams.disturb}});
}

// Every random number is a function of seed, purpose, lane and index (see core/random.h).
Json seeds_of(const Config& config, const RolloutContract& contract,
              const std::optional<PanelResult>& panel) {
  Json training = numbers_of({{"init", Purpose::kInit},
                              {"shuffle", Purpose::kShuffle},
                              {"action", Purpose::kAction},
                              {"stagger", Purpose::kStagger},
                              {"curriculum", Purpose::kCurriculum}});
  if (!contract.simulator.saves_state) {  // of new episodes after a resume
    training["anew"] = static_cast<int>(Purpose::kAnew);
  }
  for (const AlgorithmStream& stream : algorithm_streams(config)) {
    training[stream.name] = static_cast<std::uint32_t>(stream.purpose);
  }
  for (const auto& [name, stream] : streams_of(StreamSet::kTraining).members()) {
    training[name] = stream;
  }
  Json out = {{"training",
               {{"seed", contract.seed},
                {"lanes", contract.most_envs},
                {"families", contract.most_families},
                {"streams", training}}},
              {"evaluation",
               {{"seed", contract.seed},
                {"lanes", contract.eval_episodes},
                {"families", contract.eval_episodes},
                {"streams", streams_of(StreamSet::kEvaluation)}}}};
  if (!panel) return out;
  Json keys = Json::object();
  for (const PanelRow& row : panel_rows(panel->panel)) {
    keys[row.stratum + "/" + row.perturbation] = row.keys;
  }
  out["panel"] = {{"seeds", panel->panel.seeds},
                  {"keys", keys},
                  {"lanes", panel->panel.episodes},
                  {"families", panel->panel.episodes},
                  {"streams", streams_of(StreamSet::kPanel)}};
  return out;
}

// host: the machine on which speed and memory were measured. device: the trainer's; null: the CPU.
Json machine_of(const Manifest& manifest, const Manifest& host, const Device* device) {
  const bool on_host = manifest.device.empty();
  const char* const place = on_host ? "host" : "device";
  const char* const stepped = device != nullptr && device->steps_on_host() ? "host" : place;
  Json out = {{"device", on_host ? "cpu" : manifest.device},
              {"cpu", host.cpu},
              {"cores", host.cores},
              {"memory_bytes", host.memory_bytes},
              {"isa", manifest.isa},
              // The place of each stage, which shows copies between devices.
              {"residency", {{"simulation", stepped}, {"rollout", place}, {"update", place}}}};
  if (!manifest.bits.empty()) out["bits"] = manifest.bits;
  if (!manifest.device_changes.empty()) {
    out["device_changes"] = changes_json(manifest.device_changes, "device");
  }
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

// plugin: at the end of the run.
Json program_of(const Manifest& manifest, const EnvPlugin& plugin) {
  Json out = {{"version", manifest.version},
              {"revision", manifest.revision},
              {"compiler", manifest.compiler},
              {"build_type", manifest.build_type},
              {"binary_hash", text_or_null(program_hash())}};
  if (plugin != EnvPlugin{}) out["plugin"] = plugin_json(plugin);
  return out;
}

// device: the training device, or null.
Json memory_of(const RolloutContract& contract, const MeasuredRun& measured, const Device* device) {
  Json out = {{"planned_bytes", contract.memory.total()},
              {"block_bytes", contract.memory.block + contract.memory.permutation},
              {"allowed_bytes", contract.memory_allowed},
              {"peak_bytes", nullptr}};
  if (measured.peak_memory > 0) out["peak_bytes"] = measured.peak_memory;
  if (device != nullptr) out["device_bytes"] = device->memory_bytes();
  return out;
}

// threads: of each rank.
Json speed_of(const MeasuredRun& measured, int threads, int ranks) {
  Json out = {{"steps_per_second", nullptr},
              {"steps", nullptr},
              {"seconds", nullptr},
              {"threads", threads},
              {"how", kHowMeasured}};
  if (ranks > 1) out["ranks"] = ranks;
  if (measured.steps == 0 || measured.seconds <= 0.0) return out;
  out["steps_per_second"] = static_cast<double>(measured.steps) / measured.seconds;
  out["steps"] = measured.steps;
  out["seconds"] = measured.seconds;
  return out;
}

Json result_of(Trainer& trainer) {
  const std::vector<TensorRef> state = trainer.state();
  const std::size_t parameters = trainer.network().parameter_count();
  return {{"iterations", trainer.report().iteration},
          {"global_step", trainer.report().global_step},
          {"gradient_steps", integer_of(state, "learner.adam_steps")},
          {"episodes", integer_of(state, "episodes.episodes")},
          {"mean_return", trainer.report().mean_return},
          {"mean_length", trainer.report().mean_length},
          {"success_rate", trainer.report().success_rate},
          {"termination_rate", trainer.report().termination_rate},
          {"parameters", parameters},
          {"parameters_hash", hash_text({reinterpret_cast<const char*>(trainer.params()),
                                         parameters * sizeof(float)})},
          {"state_hash", state_hash(state)}};
}

// The last evaluation during training; null: none.
Result<Json> last_evaluation(const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  Json last = nullptr;
  std::istringstream lines(bytes.value());
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line);
    if (!json.is_object()) {
      return Status(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: '{}' is not an evaluation",
                                                     path, line.substr(0, 60)));
    }
    if (std::as_const(json)["source"] == "train") last = std::move(json);
  }
  last.erase("source");
  return last;
}

Result<Json> file_of(const RunFolder& folder, const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  return Json{{"file", path.substr(folder.dir().size() + 1)}, {"hash", hash_text(bytes.value())}};
}

Result<Json> checkpoint_of(const RunFolder& folder) {
  const Result<std::string> path = folder.latest_checkpoint();
  if (!path.ok()) return path.status();
  return file_of(folder, path.value());
}

// The best evaluation in training, and the copy of its checkpoint; null: there was none, or the
// copy is gone.
Result<Json> best_of(const RunFolder& folder) {
  const Result<LoggedEvaluations> evaluations = logged_evaluations(folder);
  if (!evaluations.ok()) return evaluations.status();
  const LoggedEvaluation& best = evaluations.value().best;
  Result<Json> file = file_of(folder, folder.best_path());
  if (best.global_step == 0 || file.status().kind() == ErrorKind::kNotFound) return Json();
  if (!file.ok()) return file;
  file.value()["global_step"] = best.global_step;
  file.value()["mean_return"] = best.mean_return;
  return file;
}

}  // namespace

Result<std::string> make_ledger_line(const RunFolder& folder, const std::string& named_dir,
                                     Trainer& trainer, const MeasuredRun& measured,
                                     const std::optional<PanelResult>& panel) {
  const Result<Manifest> manifest = read_manifest(folder.manifest_path());
  if (!manifest.ok()) return manifest.status();
  const int threads = trainer.pool().threads(), ranks = trainer.ranks().size();
  // The run's own config: a finished run may be recorded on another machine.
  const Result<Config> config = resolve_record(manifest.value().config);
  if (!config.ok()) return config.status();
  Result<RolloutContract> contract = make_contract(config.value(), threads, ranks);
  if (!contract.ok()) return contract.status();
  contract.value().engine = manifest.value().engine;  // the model's file may be another one by now
  contract.value().engine_changes = manifest.value().engine_changes;
  contract.value().upstream = manifest.value().upstream;
  const Result<Json> evaluation = last_evaluation(folder.eval_path());
  if (!evaluation.ok()) return evaluation.status();
  const Result<Json> best = best_of(folder);
  if (!best.ok()) return best.status();
  const Result<Json> checkpoint = checkpoint_of(folder);
  if (!checkpoint.ok()) return checkpoint.status();
  BROADLOOM_TRY(trainer.capture());  // the state is hashed
  Json line;
  line["format"] = 1;
  line["run"] = {
      {"folder", named_dir}, {"created", manifest.value().created}, {"finished", utc_now()}};
  if (!manifest.value().extended_from.empty()) {
    line["run"]["extended_from"] = manifest.value().extended_from;
  }
  if (!manifest.value().new_episodes_at.empty()) {
    line["run"]["new_episodes_at"] = manifest.value().new_episodes_at;
  }
  if (trainer.stopped_early()) {
    line["run"]["stopped"] = {{"by", "stop_at_return"},
                              {"mean_return", *trainer.reached_return()},
                              {"of", config.value().eval_interval > 0 ? "evaluation" : "training"}};
  }
  line["contract"] = contract_of(contract.value(), trainer.block().A);
  line["seeds"] = seeds_of(config.value(), contract.value(), panel);
  const bool has_trained = measured.steps > 0;
  line["machine"] = machine_of(manifest.value(),
                               has_trained ? make_manifest({}, 0, threads, "") : manifest.value(),
                               trainer.device());
  line["program"] = program_of(manifest.value(), trainer.spec().plugin);
  line["memory"] = memory_of(contract.value(), measured, has_trained ? trainer.device() : nullptr);
  line["speed"] = speed_of(measured, threads, ranks);
  BROADLOOM_TRY(with_simulator_errors([&] { line["result"] = result_of(trainer); }));
  line["evaluation"] = evaluation.value();
  if (manifest.value().init) line["init"] = policy_source_json(*manifest.value().init);
  if (manifest.value().teacher) line["teacher"] = policy_source_json(*manifest.value().teacher);
  if (panel) line["panel"] = Json::parse(panel_record_json(*panel));
  line["checkpoint"] = checkpoint.value();
  if (!best.value().is_null()) line["best"] = best.value();
  line["config"] = Json::object();
  for (const auto& [key, text] : to_overrides(config.value())) line["config"][key] = text;
  return seal_ledger_line(line.dump());
}

}  // namespace broadloom
