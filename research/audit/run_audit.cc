#include "research/audit/run_audit.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "broadloom/config/schedule.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/machine.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/started_run.h"
#include "broadloom/train/trainer.h"
#include "research/audit/audit_facts.h"

namespace broadloom {
namespace {

constexpr int kFewestIterations = 5;
constexpr std::int64_t kMostSamples = 500000;  // by default

// Each episode ends once within its time limit; a quarter more measures the episodes after it.
int enough_iterations(const Trainer& trainer) {
  const Config config = trainer.config().at_step(trainer.report().global_step);
  const int limit = trainer.spec().max_episode_steps;
  const std::int64_t steps = limit > 0 ? limit + limit / 4 : 1000;
  const std::int64_t wanted = (steps + config.num_steps - 1) / config.num_steps;
  const std::int64_t affordable = kMostSamples / config.batch_size();
  return static_cast<int>(std::max<std::int64_t>(kFewestIterations, std::min(wanted, affordable)));
}

// The teacher of the checkpoint's run, whose folder may be around it.
Result<std::optional<TeacherFile>> teacher_of(const FoundCheckpoint& found, const Config& config) {
  std::string run_dir = found.folder.dir();
  if (found.is_alone() && RunFolder::is_among_checkpoints(found.path)) {
    run_dir = std::filesystem::absolute(found.path).parent_path().parent_path().string();
  }
  if (run_dir.empty()) return read_teacher_file(config);
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  return teacher_of_run(folder.value(), config);
}

// Whether the instrument can measure the run: it reads blocks that one policy collected.
bool is_measured(const Config& config) { return config.sapg_policies == 1; }

std::string several_policies_note(const Config& config) {
  return fmt::format(
      "{} policies collected this run's blocks (sapg_policies), and an audit measures blocks of "
      "one policy. It checks settings, seeds, starts, logs and the normaliser's count, but "
      "measures no "
      "environments, rewards, advantages or updates",
      config.sapg_policies);
}

// Restores the policy in a trainer, with the instrument if that can measure it.
Result<std::unique_ptr<Trainer>> load(Checkpoint& checkpoint,
                                      const std::optional<TeacherFile>& teacher,
                                      const AuditOptions& options) {
  Config& config = checkpoint.config;
  // Before a trainer is made, since a changed file may name a network of any size.
  BROADLOOM_TRY(check_belongs(checkpoint, config));
  BROADLOOM_TRY(set_machine(config, options.machine));
  config.instruments.clear();
  if (is_measured(config)) config.instruments = {"audit"};
  config.instrument_every = 1;
  Result<std::unique_ptr<Trainer>> trainer =
      Trainer::create(config, options.threads, Ranks::alone(), StartFrom::kState, teacher);
  if (!trainer.ok()) return trainer.status();
  BROADLOOM_TRY(restore(checkpoint, *trainer.value()));
  return trainer;
}

AuditNumbers numbers_of(const Trainer& trainer) {
  AuditNumbers numbers;
  trainer.instruments().visit_numbers([&](const NumberInfo& info, double value) {
    AuditNumbers::visit(numbers, [&](const NumberInfo& field, double& target) {
      if (std::string_view(field.name) == info.name) target = value;
    });
  });
  return numbers;
}

// Updates at the end of a learning rate schedule are no measure of earlier ones.
void forget_update(AuditNumbers& numbers) {
  numbers.last_kl = numbers.last_clipfrac = numbers.least_ess = AuditNumbers::kNone;
  numbers.kl = numbers.kl_k1 = numbers.kl_k3 = AuditNumbers::kNone;
}

// Measures up to `count` iterations; a numeric error ends them and becomes a fact.
Result<std::vector<AuditNumbers>> measure(Trainer& trainer, int count, const AuditOptions& options,
                                          RunFacts& facts) {
  std::vector<AuditNumbers> measured;
  for (int i = 0; i < count; ++i) {
    if (options.keep_going && !options.keep_going(i, count)) break;
    const Status status = trainer.iterate();
    if (status.kind() == ErrorKind::kNumeric) {
      facts.failed = 1.0;
      facts.failure = status.message();
      break;
    }
    BROADLOOM_TRY(status);
    measured.push_back(numbers_of(trainer));
  }
  return measured;
}

// The share of the run's steps after the checkpoint.
double share_left(const Trainer& trainer) {
  return std::max(0.0, 1.0 - trainer.clock().progress(trainer.config().schedule_steps()));
}

// Keeps scheduled values as they were in the last iteration. The checkpoint keeps the learning
// rate.
void hold_values(std::int64_t iteration, Config& config) {
  const double before = static_cast<double>(iteration > 0 ? config.steps_before(iteration) : 0);
  const double progress = before / static_cast<double>(config.schedule_steps());
  for (const ScheduledValue& scheduled : kScheduledValues) {
    if (config.*scheduled.schedule != "linear") continue;
    config.*scheduled.value = schedule_of(config, scheduled).at(progress);
    config.*scheduled.schedule = "constant";
  }
}

// |samples in the observation statistics - steps of the run| / steps. Steps of random play at the
// start count where an algorithm has them. If the run began with another one's statistics, only a
// count that is too low is an error.
double normaliser_origin(const Trainer& trainer, bool began_with_others) {
  const double steps = static_cast<double>(trainer.report().global_step);
  if (trainer.obs_normalizer() == nullptr || steps < 1.0) return RunFacts::kNone;
  const double extra = trainer.obs_normalizer()->statistics().count() - steps;
  if (began_with_others) return std::max(0.0, -extra) / steps;
  const Config& config = trainer.config();
  const double start = static_cast<double>(config.num_iterations_obs_norm_init) *
                       static_cast<double>(config.batch_size());
  return std::min(std::abs(extra), std::abs(extra - start)) / steps;
}

// Whether the run began with another one's statistics; a checkpoint file alone does not tell.
Result<bool> may_have_others(const RunFolder& folder, bool alone) {
  if (alone) return true;
  const Result<Manifest> manifest = read_manifest(folder.manifest_path());
  if (!manifest.ok()) return manifest.status();
  const std::optional<PolicySource>& init = manifest.value().init;
  return init.has_value() && !init->obs_normalizer_hash.empty();
}

// Continues from the checkpoint for the number of iterations in `options`, and fills in report and
// facts.
Result<std::vector<AuditNumbers>> measure_on(Checkpoint& checkpoint,
                                             const std::optional<TeacherFile>& teacher,
                                             const AuditOptions& options, bool others,
                                             RunFacts& facts, AuditReport& report) {
  Result<std::unique_ptr<Trainer>> trainer = load(checkpoint, teacher, options);
  if (!trainer.ok()) return trainer.status();
  if (const TeacherPolicy* const copied = trainer.value()->teacher()) {
    report.notes.push_back(
        fmt::format("this student copies the teacher {}, which reads the {}'s "
                    "observation",
                    teacher_text(copied->source), copied->side()));
  }
  report.global_step = trainer.value()->report().global_step;
  if (!trainer.value()->simulator().saves_state && report.global_step > 0) {
    report.notes.emplace_back(
        "the simulator does not save its state, so measuring begins with new episodes");
  }
  facts.learning_rate_left = share_left(*trainer.value());
  facts.normaliser_origin = normaliser_origin(*trainer.value(), others);
  const Config now = checkpoint.config.at_step(report.global_step);
  report.num_envs = facts.num_envs = now.num_envs;
  report.num_steps = facts.num_steps = now.num_steps;
  facts.families = now.families();
  if (!is_measured(now)) {
    report.notes.push_back(several_policies_note(now));
    facts.failed = RunFacts::kNone;  // it is not continued
    return std::vector<AuditNumbers>();
  }
  const int count =
      options.iterations > 0 ? options.iterations : enough_iterations(*trainer.value());
  const std::int64_t left =
      checkpoint.config.num_iterations() - trainer.value()->report().iteration;
  const bool ends = left < count && falling_value(checkpoint.config).has_value();
  if (ends) {
    hold_values(trainer.value()->report().iteration, checkpoint.config);
    trainer = load(checkpoint, teacher, options);
    if (!trainer.ok()) return trainer.status();
    report.notes.push_back(
        fmt::format("{} iteration{} of the schedule {} left, so scheduled values stay as they are. "
                    "Findings on updates come from the logs",
                    left, left == 1 ? "" : "s", left == 1 ? "is" : "are"));
  }
  Result<std::vector<AuditNumbers>> measured = measure(*trainer.value(), count, options, facts);
  if (!measured.ok()) return measured;
  if (ends) std::for_each(measured.value().begin(), measured.value().end(), forget_update);
  report.iterations = static_cast<int>(measured.value().size());
  report.asked = count;
  facts.episode_length = trainer.value()->report().mean_length;
  return measured;
}

AuditReport report_of(const Config& config, const LoggedRun& logged) {
  AuditReport report;
  report.env_id = config.env_id;
  report.num_envs = config.num_envs;
  report.num_steps = config.num_steps;
  report.logged = static_cast<int>(logged.audit.size());
  return report;
}

Status check(const AuditOptions& options) {
  if (options.iterations >= 0 && options.iterations <= kMostAuditIterations &&
      options.threads >= 1) {
    return {};
  }
  return {ErrorKind::kInvalidConfig,
          fmt::format("got {} iterations and {} threads; expected 0 (as many as needed) to {} "
                      "iterations and at least 1 thread",
                      options.iterations, options.threads, kMostAuditIterations)};
}

// The instrument would refuse it, too, but with a message about a setting that nobody made.
Status check_policy(const Config& config) {
  if (draws_from_policy(config) || learns_action_values(config)) return {};
  return invalid(
      fmt::format("an audit needs a policy that draws actions, or action values, and this run's "
                  "algorithm = {} has neither; use a run of another algorithm, such as ppo or pqn",
                  config.algorithm));
}

}  // namespace

Result<AuditReport> audit_run(const std::string& run_or_checkpoint, const AuditOptions& options) {
  BROADLOOM_TRY(check(options));
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const RunFolder& folder = found.value().folder;
  const bool alone = found.value().is_alone();
  Result<Checkpoint> checkpoint = read_checkpoint(found.value());
  if (!checkpoint.ok()) return checkpoint.status();
  const Config config = checkpoint.value().config;  // before continuing changes it
  BROADLOOM_TRY(check_policy(config));
  const Result<LoggedRun> logged = alone ? Result<LoggedRun>(LoggedRun()) : read_logged_run(folder);
  if (!logged.ok()) return logged.status();
  Result<RunFacts> facts = facts_of(config, folder, logged.value());
  if (!facts.ok()) return facts.status();

  AuditReport report = report_of(config, logged.value());
  if (alone) {
    report.notes.emplace_back("this is a checkpoint file alone: there are no logs to examine");
  }
  for (EnvChange& change : changes_since(checkpoint.value(), config)) {
    report.notes.push_back(std::move(change.text));
  }
  const Result<bool> others = may_have_others(folder, alone);
  if (!others.ok()) return others.status();
  const Result<std::optional<TeacherFile>> teacher = teacher_of(found.value(), config);
  if (!teacher.ok()) return teacher.status();
  const Result<std::vector<AuditNumbers>> measured = measure_on(
      checkpoint.value(), teacher.value(), options, others.value(), facts.value(), report);
  if (!measured.ok()) return measured.status();
  if (alone) {  // how far the run went later is unknown
    facts.value().learning_rate_left = RunFacts::kNone;
  } else {
    facts.value().logs_lost = static_cast<double>(lost_log_bytes(folder, checkpoint.value().logs));
  }
  std::vector<AuditNumbers> all = logged.value().audit;
  all.insert(all.end(), measured.value().begin(), measured.value().end());
  report.findings = judge({all, facts.value()});
  return report;
}

Result<AuditReport> audit_logs(const std::string& run_dir) {
  const Result<StartedRun> run = open_started_run(run_dir);
  if (!run.ok()) return run.status();
  const Result<LoggedRun> logged = read_logged_run(run.value().folder);
  if (!logged.ok()) return logged.status();
  AuditReport report = report_of(run.value().config, logged.value());
  if (report.logged == 0) return report;
  const Result<RunFacts> facts = facts_of(run.value().config, run.value().folder, logged.value());
  if (!facts.ok()) return facts.status();
  report.findings = judge({logged.value().audit, facts.value()});
  return report;
}

}  // namespace broadloom
