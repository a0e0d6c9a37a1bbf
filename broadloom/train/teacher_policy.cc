#include "broadloom/train/teacher_policy.h"

#include <fmt/core.h>

#include <utility>

#include "broadloom/evaluate/run_path.h"
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

// Whether it reads the critic's observation, which must have the teacher's size.
Result<bool> choose_reading(const Config& config, const Policy& teacher, const std::string& file,
                            const EnvSpec& spec) {
  const Space& wanted = teacher.spec.observation;
  const bool fits_policy = same_shape(wanted, spec.observation);
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
  const std::string critic = spec.critic_observation.size > 0
                                 ? ", or the critic's " + shape_text(spec.critic_observation)
                                 : "";
  return refuse(file, fmt::format("got observations {}, expected those of {}, {}{} (teacher_reads "
                                  "= {}); name a teacher of this task, or hide numbers from the "
                                  "student alone with env.hide_obs and env.hide_from = policy",
                                  shape_text(wanted), spec.id, shape_text(spec.observation), critic,
                                  config.teacher_reads));
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

Result<std::unique_ptr<TeacherPolicy>> read_teacher(const Config& config, const EnvSpec& spec) {
  auto teacher = std::make_unique<TeacherPolicy>();
  if (!learns_from_teacher(config)) {
    teacher.reset();
    return teacher;
  }
  const auto with_key = [&](const Status& status) {
    return Status(status.kind(), fmt::format("teacher: {}", status.message()));
  };
  const Result<FoundCheckpoint> found = find_policy(config.teacher);
  if (!found.ok()) return with_key(found.status());
  Result<InitialPolicy> read = read_initial_policy(found.value().path);
  if (!read.ok()) return with_key(read.status());
  Result<std::unique_ptr<LoadedPolicy>> policy =
      LoadedPolicy::load(found.value(), PolicySpaces::kTrained);
  if (!policy.ok()) return with_key(policy.status());
  teacher->policy = policy.take();
  teacher->source = read.value().source;
  const Policy view = teacher->policy->view();
  if (view.obs_norm == nullptr) teacher->source.obs_normalizer_hash.clear();
  teacher->source.optimizer_hash.clear();
  const std::string& file = teacher->source.file;
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
