#include "broadloom/train/teacher_policy.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "broadloom/env/hidden_numbers.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/train/initial_policy.h"

namespace broadloom {
namespace {

Status refuse(const std::string& file, const std::string& why) {
  return {ErrorKind::kMismatch, fmt::format("teacher '{}': {}", file, why)};
}

bool have_same_actions(const Space& a, const Space& b) {
  return same_shape(a, b) && a.masked == b.masked && a.low == b.low && a.high == b.high &&
         a.own_low == b.own_low && a.own_high == b.own_high;
}

std::string bounds_text(const Space& space) {
  if (space.low.empty()) return "";
  return fmt::format(" in {:g} to {:g}{}", space.low[0], space.high[0],
                     space.own_low.empty() ? "" : ", scaled");
}

Status check_actions_of(const Policy& teacher, const std::string& file, const EnvSpec& spec) {
  if (!have_same_actions(teacher.spec.action, spec.action)) {
    return refuse(
        file, fmt::format("got actions {}{}, expected those of {}, {}{}; name a teacher of this "
                          "task, or give the task the teacher's actions",
                          shape_text(teacher.spec.action), bounds_text(teacher.spec.action),
                          spec.id, shape_text(spec.action), bounds_text(spec.action)));
  }
  const NetworkShape& shape = teacher.network.shape();
  if (shape.action_values) {
    return refuse(file, fmt::format("got action values of algorithm = {}, expected a policy; name "
                                    "a run of algorithm = ppo",
                                    teacher.config.algorithm));
  }
  const bool is_gaussian = teacher.config.action_distribution == "gaussian" &&
                           (shape.has_log_std() || shape.has_policy_stds());
  if (!spec.action.has_box() || is_gaussian) return {};
  return refuse(file, fmt::format("got action_distribution = {} and std_form = {}, expected "
                                  "gaussian, and log or scalar; name another teacher",
                                  teacher.config.action_distribution, teacher.config.std_form));
}

// Tasks of one source differ in their options alone. Only their author knows which tasks outside
// the library have the same observations.
Status check_task_of(const Policy& teacher, const std::string& file, const EnvSpec& spec) {
  const std::string& task = teacher.spec.id;
  if (task == spec.id || !is_built_in(task) || !is_built_in(spec.id)) return {};
  if (teacher.spec.upstream == spec.upstream) return {};
  return refuse(file, fmt::format("got a policy of {}, expected one of {}; name a teacher of the "
                                  "student's task",
                                  task, spec.id));
}

// The numbers that a policy sees of its environment's own observation.
struct SeenNumbers {
  std::vector<int> hidden;
  int all = 0;

  SeenNumbers(const Config& config, const Space& seen)
      : hidden(hidden_numbers(config.env_options)),
        all(seen.size / seen.frames + static_cast<int>(hidden.size())) {}

  std::string text() const {
    return hidden.empty() ? "all numbers" : "all numbers but " + to_text(hidden);
  }
};

// Whether they are the same numbers, if both are of one environment. An environment that has more
// or fewer numbers than before may have other ones in their places.
bool are_same(const SeenNumbers& teacher, const SeenNumbers& student) {
  return teacher.all != student.all || teacher.hidden == student.hidden;
}

// Whether it reads the critic's observation, which must have the teacher's size.
Result<bool> choose_reading(const Config& config, const Policy& teacher, const std::string& file,
                            const EnvSpec& spec) {
  const Space& wanted = teacher.spec.observation;
  const SeenNumbers theirs(teacher.config, wanted), ours(config, spec.observation);
  const bool has_shape = same_shape(wanted, spec.observation);
  const bool fits_policy = has_shape && (teacher.spec.id != spec.id || are_same(theirs, ours));
  const bool fits_critic =
      spec.critic_observation.size > 0 && same_shape(wanted, spec.critic_observation);
  if (config.teacher_reads == "auto" && fits_policy && fits_critic) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("teacher_reads: got auto, but the observations of policy and critic "
                              "of {} both fit the teacher '{}'; expected policy or critic",
                              spec.id, file));
  }
  if (config.teacher_reads != "critic" && fits_policy) return false;
  if (config.teacher_reads != "policy" && fits_critic) return true;
  if (has_shape && !fits_policy && config.teacher_reads != "critic") {
    return refuse(file, fmt::format("got a policy that reads {} of {}, expected {}, as the "
                                    "student's policy does; hide the same numbers (env.hide_obs), "
                                    "or name a teacher that reads all and set env.hide_from = "
                                    "policy",
                                    theirs.text(), spec.id, ours.text()));
  }
  const std::string critic = spec.critic_observation.size > 0
                                 ? ", or the critic's " + shape_text(spec.critic_observation)
                                 : "";
  return refuse(file, fmt::format("got observations {}, expected those of {}, {}{} (teacher_reads "
                                  "= {}); name a teacher of this task, or hide numbers from the "
                                  "student alone with env.hide_obs and env.hide_from = policy",
                                  shape_text(wanted), spec.id, shape_text(spec.observation), critic,
                                  config.teacher_reads));
}

Status with_key(const Status& status) {
  return {status.kind(), fmt::format("teacher: {}", status.message())};
}

Result<TeacherFile> read_file_at(const std::string& run_or_checkpoint) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  Result<std::string> bytes = read_file(found.value().path);
  if (!bytes.ok()) return bytes.status();
  return TeacherFile{found.value().path, std::make_shared<const std::string>(bytes.take())};
}

struct LoadedTeacher {
  std::unique_ptr<LoadedPolicy> policy;
  PolicySource source;
};

Result<LoadedTeacher> load(const TeacherFile& file) {
  const FoundCheckpoint found{{}, file.path};
  const Result<Checkpoint> checkpoint = parse_checkpoint(*file.bytes, file.path);
  if (!checkpoint.ok()) return with_advice(checkpoint.status(), found);
  Result<PolicySource> source = policy_source(checkpoint.value(), file.path);
  if (!source.ok()) return source.status();
  Result<std::unique_ptr<LoadedPolicy>> policy =
      LoadedPolicy::load(found, checkpoint.value(), PolicySpaces::kTrained);
  if (!policy.ok()) return policy.status();
  if (!checkpoint.value().config.norm_obs) source.value().obs_normalizer_hash.clear();
  source.value().optimizer_hash.clear();
  return LoadedTeacher{policy.take(), source.take()};
}

}  // namespace

Teacher TeacherPolicy::labels() const {
  const Policy view = policy->view();
  return {view.network, view.params, view.obs_norm, reads_critic};
}

std::string TeacherPolicy::hash() const { return teacher_hash(source); }

std::string teacher_hash(const PolicySource& source) {
  if (source.obs_normalizer_hash.empty()) return source.parameters_hash;
  return source.parameters_hash + " " + source.obs_normalizer_hash;
}

std::string teacher_text(const PolicySource& source) {
  return fmt::format("{} ({})", source.file, source.parameters_hash.substr(0, 8));
}

Result<std::optional<TeacherFile>> read_teacher_file(const Config& config) {
  if (!learns_from_teacher(config)) return std::optional<TeacherFile>();
  Result<TeacherFile> file = read_file_at(config.teacher);
  if (!file.ok()) return with_key(file.status());
  return std::optional<TeacherFile>(file.take());
}

Result<TeacherFile> find_teacher(const PolicySource& recorded,
                                 const std::vector<std::string>& places,
                                 const std::string& advice) {
  ErrorKind kind = ErrorKind::kNotFound;
  std::string got;
  const auto add = [&](ErrorKind what, const std::string& words) {
    got += (got.empty() ? "" : ", and ") + words;
    if (what != ErrorKind::kNotFound) kind = what;
  };
  for (const std::string& place : places) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) {
      add(ErrorKind::kNotFound, fmt::format("nothing at '{}'", place));
      continue;
    }
    Result<TeacherFile> file = read_file_at(place);
    const Result<LoadedTeacher> teacher =
        file.ok() ? load(file.value()) : Result<LoadedTeacher>(file.status());
    if (!teacher.ok()) {
      add(teacher.status().kind(), teacher.status().message());
      continue;
    }
    const std::string hash = teacher_hash(teacher.value().source);
    if (hash == teacher_hash(recorded)) return file;
    add(ErrorKind::kMismatch, fmt::format("the hash {} in '{}'", hash, file.value().path));
  }
  return Status(
      kind, fmt::format("teacher: got {}; expected the policy with the hash {}, that of "
                        "'{}' at step {}; {}",
                        got, teacher_hash(recorded), recorded.file, recorded.global_step, advice));
}

Result<std::optional<TeacherFile>> teacher_of_run(const RunFolder& folder, const Config& config) {
  if (!learns_from_teacher(config)) return std::optional<TeacherFile>();
  const Result<Manifest> manifest = read_manifest(folder.manifest_path());
  if (!manifest.ok()) return manifest.status();
  const std::optional<PolicySource>& recorded = manifest.value().teacher;
  if (!recorded) return read_teacher_file(config);
  Result<TeacherFile> file =
      find_teacher(*recorded, {folder.teacher_path(), recorded->file},
                   fmt::format("put that checkpoint back as '{}'", folder.teacher_path()));
  if (!file.ok()) return file.status();
  file.value().path = recorded->file;
  return std::optional<TeacherFile>(file.take());
}

Result<std::unique_ptr<TeacherPolicy>> make_teacher(const Config& config, const EnvSpec& spec,
                                                    const std::optional<TeacherFile>& given) {
  auto teacher = std::make_unique<TeacherPolicy>();
  if (!learns_from_teacher(config)) {
    teacher.reset();
    return teacher;
  }
  const Result<std::optional<TeacherFile>> read = given ? given : read_teacher_file(config);
  if (!read.ok()) return read.status();
  Result<LoadedTeacher> loaded = load(*read.value());
  if (!loaded.ok()) return with_key(loaded.status());
  teacher->policy = std::move(loaded.value().policy);
  teacher->source = loaded.value().source;
  const Policy view = teacher->policy->view();
  const std::string& file = teacher->source.file;
  BROADLOOM_TRY(check_task_of(view, file, spec));
  BROADLOOM_TRY(check_actions_of(view, file, spec));
  if (view.network.is_recurrent()) {
    return refuse(file, fmt::format("got recurrent = {}, expected a teacher without memory; give "
                                    "it the observations that it had to remember",
                                    view.config.recurrent));
  }
  const Result<bool> reads_critic = choose_reading(config, view, file, spec);
  if (!reads_critic.ok()) return reads_critic.status();
  teacher->reads_critic = reads_critic.value();
  return teacher;
}

Status check_teacher(const TeacherPolicy* teacher, const std::string& recorded_hash) {
  const std::string now = teacher == nullptr ? "" : teacher->hash();
  if (recorded_hash.empty() || now == recorded_hash) return {};
  return {ErrorKind::kMismatch,
          fmt::format("teacher: got '{}' with the hash {}, expected the policy that the run began "
                      "with, {}; put that checkpoint back, or begin a new run",
                      teacher == nullptr ? "none" : teacher->source.file, now, recorded_hash)};
}

}  // namespace broadloom
