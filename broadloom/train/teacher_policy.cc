#include "broadloom/train/teacher_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "broadloom/env/hidden_numbers.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"
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
  if (same_source(teacher.spec.upstream, spec.upstream)) return {};
  return refuse(file, fmt::format("got a policy of {}, expected one of {}; name a teacher of the "
                                  "student's task",
                                  task, spec.id));
}

// An observation, as one of policy or critic gets it from its environment.
struct Seen {
  const Space& space;
  std::vector<int> hidden;  // numbers that it lacks, ascending
  int all = 0;              // numbers with the hidden ones

  Seen(const Space& given, std::vector<int> lacks)
      : space(given),
        hidden(std::move(lacks)),
        all(given.size / given.frames + static_cast<int>(hidden.size())) {}

  // Places of the numbers that it has. An environment with more or fewer numbers than before
  // keeps the places of the first ones.
  std::vector<int> visible() const {
    std::vector<int> places;
    for (int i = 0; i < all; ++i) {
      if (!std::binary_search(hidden.begin(), hidden.end(), i)) places.push_back(i);
    }
    return places;
  }

  std::string text() const {
    std::string words = shape_text(space);
    if (!hidden.empty()) words += fmt::format(" without {} of {} numbers", to_text(hidden), all);
    if (space.frame_padding == FramePadding::kZero) words += " with env.frame_padding = zero";
    return words;
  }
};

bool are_same(const Seen& a, const Seen& b) {
  return same_shape(a.space, b.space) && a.space.frame_padding == b.space.frame_padding &&
         a.visible() == b.visible();
}

// Whether it reads the critic's observation, which must be what the teacher read. Only their author
// knows the numbers of tasks outside the library with other names; then shapes decide.
Result<bool> choose_reading(const Config& config, const Policy& teacher, const std::string& file,
                            const EnvSpec& spec) {
  const bool has_critic = spec.has_critic_observation();
  if (config.teacher_reads == "critic" && !has_critic) {
    return invalid(
        "teacher_reads: got critic, but the student's critic has no observation of its own; set "
        "teacher_reads = policy");
  }
  const bool is_known =
      teacher.spec.id == spec.id || (is_built_in(teacher.spec.id) && is_built_in(spec.id));
  const auto hidden_by = [&](const Config& own) {
    return is_known ? hidden_numbers(own.env_options) : std::vector<int>();
  };
  const Seen wanted(teacher.spec.observation, hidden_by(teacher.config));
  const Seen policy(spec.observation, hidden_by(config)), critic(spec.critic_observation, {});
  const bool fits_policy = are_same(wanted, policy);
  const bool fits_critic = has_critic && are_same(wanted, critic);
  if (config.teacher_reads == "auto" && fits_policy && fits_critic) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("teacher_reads: got auto, but the observations of policy and critic "
                              "of {} both fit the teacher '{}'; expected policy or critic",
                              spec.id, file));
  }
  if (config.teacher_reads != "critic" && fits_policy) return false;
  if (config.teacher_reads != "policy" && fits_critic) return true;
  return refuse(
      file,
      fmt::format("it reads {}, but of {} the student's policy gets {}{} (teacher_reads = "
                  "{}); let one of them get what the teacher reads, or name another "
                  "teacher",
                  wanted.text(), spec.id, policy.text(),
                  has_critic ? " and its critic " + critic.text() : "", config.teacher_reads));
}

Status with_key(const Status& status) {
  return {status.kind(), fmt::format("teacher: {}", status.message())};
}

Result<TeacherFile> read_file_at(const std::string& run_or_checkpoint) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  Result<std::string> bytes = read_file(found.value().path);
  if (!bytes.ok()) return bytes.status();
  return TeacherFile::parse(bytes.take(), found.value().path);
}

struct LoadedTeacher {
  std::unique_ptr<LoadedPolicy> policy;
  PolicySource source;
};

// A teacher's origin, without the statistics that it does not use.
Result<PolicySource> teacher_source(const Checkpoint& checkpoint, const std::string& file) {
  Result<PolicySource> source = policy_source(checkpoint, file);
  if (!source.ok()) return source;
  if (!checkpoint.config.norm_obs) source.value().obs_normalizer_hash.clear();
  source.value().optimizer_hash.clear();
  return source;
}

Result<LoadedTeacher> load(const TeacherFile& file) {
  Result<PolicySource> source = teacher_source(*file.checkpoint, file.path);
  if (!source.ok()) return source.status();
  Result<std::unique_ptr<LoadedPolicy>> policy =
      LoadedPolicy::load({{}, file.path}, *file.checkpoint, PolicySpaces::kTrained);
  if (!policy.ok()) return policy.status();
  return LoadedTeacher{policy.take(), source.take()};
}

Result<std::string> hash_of(const TeacherFile& file) {
  const Result<PolicySource> source = teacher_source(*file.checkpoint, file.path);
  if (!source.ok()) return source.status();
  return teacher_hash(source.value());
}

}  // namespace

Result<TeacherFile> TeacherFile::parse(std::string bytes, const std::string& path) {
  Result<Checkpoint> checkpoint = parse_checkpoint(bytes, path);
  if (!checkpoint.ok()) return checkpoint.status();
  return TeacherFile{path, std::make_shared<const std::string>(std::move(bytes)),
                     std::make_shared<const Checkpoint>(checkpoint.take())};
}

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
  if (config.teacher.empty()) {
    return invalid(
        fmt::format("teacher: got none with algorithm = {}; expected the run or checkpoint whose "
                    "policy the student copies, such as --teacher runs/NAME",
                    config.algorithm));
  }
  Result<TeacherFile> file = read_file_at(config.teacher);
  if (!file.ok()) return with_key(with_advice(file.status(), {}));
  return std::optional<TeacherFile>(file.take());
}

Result<TeacherFile> find_teacher(const PolicySource& recorded,
                                 const std::vector<std::string>& places,
                                 const std::string& advice) {
  ErrorKind kind = ErrorKind::kNotFound;
  std::string tried;
  const auto add = [&](ErrorKind what, const std::string& words) {
    tried += (tried.empty() ? "" : "; ") + words;
    if (what != ErrorKind::kNotFound) kind = what;
  };
  for (const std::string& place : places) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) {
      add(ErrorKind::kNotFound, fmt::format("there is nothing at '{}'", place));
      continue;
    }
    Result<TeacherFile> file = read_file_at(place);
    const Result<std::string> hash =
        file.ok() ? hash_of(file.value()) : Result<std::string>(file.status());
    if (!hash.ok()) {
      add(hash.status().kind(), hash.status().message());
      continue;
    }
    if (hash.value() == teacher_hash(recorded)) return file;
    add(ErrorKind::kMismatch, fmt::format("'{}' has the hash {}", file.value().path, hash.value()));
  }
  return Status(kind, fmt::format("teacher: expected the policy with the hash {}, that of '{}' at "
                                  "step {}. Places tried: {}. {}",
                                  teacher_hash(recorded), recorded.file, recorded.global_step,
                                  tried, advice));
}

Result<std::optional<TeacherFile>> teacher_of_run(const RunFolder& folder, const Config& config) {
  if (!learns_from_teacher(config)) return std::optional<TeacherFile>();
  const Result<Manifest> manifest = read_manifest(folder.manifest_path());
  if (!manifest.ok()) return manifest.status();
  const std::optional<PolicySource>& recorded = manifest.value().teacher;
  if (!recorded) return read_teacher_file(config);
  Result<TeacherFile> file =
      find_teacher(*recorded, {folder.teacher_path(), recorded->file},
                   fmt::format("Put that checkpoint back as '{}'", folder.teacher_path()));
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
                      "with, {}; put that checkpoint back at its place",
                      teacher == nullptr ? "none" : teacher->source.file, now, recorded_hash)};
}

}  // namespace broadloom
