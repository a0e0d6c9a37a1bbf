#include "broadloom/train/run.h"

#include <fmt/core.h>

#include <limits>
#include <memory>

#include "broadloom/config/needs.h"
#include "broadloom/config/schedule.h"
#include "broadloom/core/escape.h"
#include "broadloom/core/hash.h"
#include "broadloom/core/number_text.h"
#include "broadloom/core/peak_memory.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/machine.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/ledger_entry.h"
#include "broadloom/train/ranked_run.h"
#include "broadloom/train/resume_notes.h"
#include "broadloom/train/run_recorder.h"
#include "broadloom/train/started_run.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

std::string named_dir(const RunFolder& folder, const RunHooks& hooks) {
  return hooks.named_dir.empty() ? folder.dir() : hooks.named_dir;
}

Progress progress_of(const Trainer& trainer, const RunRecorder& recorder,
                     const std::string& run_dir) {
  Progress progress;
  progress.iteration = trainer.report().iteration;
  progress.num_iterations = trainer.config().num_iterations();
  progress.global_step = trainer.report().global_step;
  progress.total_timesteps = trainer.config().trained_steps();
  progress.steps_per_second = recorder.steps_per_second(trainer);
  progress.mean_return = trainer.report().mean_return;
  progress.success_rate = trainer.report().success_rate;
  progress.seconds_left = static_cast<double>(progress.total_timesteps - progress.global_step) /
                          std::max(1e-9, progress.steps_per_second);
  progress.run_dir = run_dir;
  progress.evaluation = recorder.evaluation();
  progress.trainer = &trainer;
  return progress;
}

RunSummary summary_of(const Trainer& trainer, const std::string& run_dir, double seconds,
                      const LoggedEvaluation& best) {
  RunSummary summary;
  summary.run_dir = run_dir;
  summary.global_step = trainer.report().global_step;
  summary.total_timesteps = trainer.config().trained_steps();
  summary.finished = trainer.finished();
  summary.episodes = trainer.episodes();
  summary.averaged_episodes = trainer.averaged_episodes();
  summary.mean_return = trainer.report().mean_return;
  summary.success_rate = trainer.report().success_rate;
  summary.seconds = seconds;
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (trainer.stopped_early()) summary.stopped_by = "stop_at_return";
  summary.stopped_return = trainer.stopped_early() ? *trainer.reached_return() : none;
  summary.best_step = best.global_step;
  summary.best_return = best.global_step > 0 ? best.mean_return : none;
  return summary;
}

// The panel that the run was started with. kMismatch if the folder has another one now.
Result<std::optional<Panel>> own_panel(const RunFolder& folder) {
  const Result<Manifest> manifest = read_manifest(folder.manifest_path());
  if (!manifest.ok()) return manifest.status();
  const std::string& started_with = manifest.value().panel;
  const Result<std::string> text = read_file(folder.panel_path());
  const bool is_there = text.status().kind() != ErrorKind::kNotFound;
  if (!is_there && started_with.empty()) return std::optional<Panel>();
  if (is_there && !text.ok()) return text.status();
  const std::string hash = is_there ? hash_text(text.value()) : "none";
  if (hash != started_with) {
    return Status(
        ErrorKind::kMismatch,
        fmt::format("'{}' is not the panel that the run was started with: got hash {}, "
                    "expected {}; restore the file, and score the run on other panels "
                    "with `broadloom eval {} --panel FILE`",
                    folder.panel_path(), hash, started_with.empty() ? "no panel" : started_with,
                    shell_word(folder.dir())));
  }
  Result<Panel> panel = read_panel(folder.panel_path());
  if (!panel.ok()) return panel.status();
  return std::optional<Panel>(panel.take());
}

// Plays the run's panel with the final policy and saves the result in the folder. A number that is
// not finite would come again each time, so that the result says so and is not saved.
Result<std::optional<PanelResult>> play_own_panel(const RunFolder& folder, Trainer& trainer,
                                                  const PlayProgress& on_progress) {
  const Result<std::optional<Panel>> panel = own_panel(folder);
  if (!panel.ok()) return panel.status();
  if (!panel.value()) return std::optional<PanelResult>();
  const Result<FoundCheckpoint> newest = find_checkpoint(folder.dir());
  if (!newest.ok()) return newest.status();
  const Result<std::unique_ptr<LoadedPolicy>> policy = LoadedPolicy::load(newest.value());
  if (!policy.ok()) return policy.status();
  Result<PanelResult> result =
      play_panel(*panel.value(), policy.value()->view(), trainer.pool().threads(), on_progress);
  if (result.status().kind() == ErrorKind::kNumeric) {
    PanelResult failed;
    failed.panel = *panel.value();
    failed.failure = result.status().message();
    return std::optional<PanelResult>(std::move(failed));
  }
  if (!result.ok()) return result.status();
  BROADLOOM_TRY(save_panel_result(folder.dir(), result.value()).status());
  return std::optional<PanelResult>(result.take());
}

// Whether the folder has the ledger line of the run's current length. A run made longer keeps its
// old line until its new end. A damaged line does not count.
bool is_recorded(const RunFolder& folder, const Config& config) {
  const Result<std::string> line = read_ledger_line(folder.ledger_line_path(), 1);
  if (!line.ok() || !check_ledger_bytes(line.value()).ok()) return false;
  const Json json = Json::parse(line.value());
  const auto is_as_now = [&](const char* key, const std::string& now) {
    const Json& then = json["config"][key];
    return !then.is_string() || then.text() == now;
  };
  return is_as_now("total_timesteps", to_text(config.total_timesteps)) &&
         is_as_now("stop_at_return", to_text(config.stop_at_return));
}

// Writes a finished run's ledger line to its folder, unless it exists. Returns why the panel
// failed; "": it did not.
Result<std::string> write_ledger_line(const RunFolder& folder, Trainer& trainer,
                                      const MeasuredRun& measured, const RunHooks& hooks) {
  if (!trainer.finished() || is_recorded(folder, trainer.config())) return std::string();
  const Result<std::optional<PanelResult>> panel = play_own_panel(folder, trainer, hooks.on_panel);
  if (!panel.ok()) return panel.status();
  const Result<std::string> line =
      make_ledger_line(folder, named_dir(folder, hooks), trainer, measured, panel.value());
  if (!line.ok()) return line.status();
  BROADLOOM_TRY(write_file_atomically(folder.ledger_line_path(), line.value() + "\n"));
  return panel.value() ? panel.value()->failure : std::string();
}

// saved: the step of the newest checkpoint. A non-finite number recurs on resume, unless new
// episodes begin; other failures may be fixable.
Status with_resume_advice(const Status& status, const Trainer& trainer, const std::string& dir,
                          std::int64_t saved) {
  if (status.ok() || (status.kind() == ErrorKind::kNumeric && !trainer.has_whole_state())) {
    return status;
  }
  std::string_view message = status.message();
  if (message.ends_with('.')) message.remove_suffix(1);
  return {status.kind(),
          fmt::format("{}. What was saved of '{}' stays saved, and a resume continues from its "
                      "step {}",
                      message, dir, with_commas(saved))};
}

// A run that is ready to train. Holds the lock until the run ends.
struct ReadyRun {
  FileLock lock;
  RunFolder folder;
  std::unique_ptr<Trainer> trainer;
  LogBytes logs;
  std::optional<RunSummary> over;  // set if nothing is left to train
  std::optional<TeacherFile> teacher = {};
};

// Records the run after the last iteration.
Result<std::string> complete(ReadyRun& run, RunRecorder& recorder, std::int64_t first_step,
                             const RunHooks& hooks) {
  const std::int64_t steps = run.trainer->report().global_step - first_step;
  return write_ledger_line(run.folder, *run.trainer, {steps, recorder.seconds(), peak_memory()},
                           hooks);
}

// Trains to the end or until should_stop. Whatever ends the training, the newest checkpoint stays,
// and the last finished iteration is saved if the trainer still has its state.
Result<RunSummary> train(ReadyRun& run, const RunHooks& hooks) {
  Trainer& trainer = *run.trainer;
  Ranks& ranks = trainer.ranks();
  Result<RunRecorder> recorder = RunRecorder::open(run.folder, trainer, run.logs, hooks.on_note);
  BROADLOOM_TRY(ranks.agree(recorder.status()));
  trainer.set_recorder(&recorder.value());
  const std::int64_t first_step = trainer.report().global_step;
  const std::string dir = named_dir(run.folder, hooks);
  const auto report = [&] {
    if (!hooks.on_iteration) return;
    hooks.on_iteration(progress_of(trainer, recorder.value(), dir));
  };
  const Status ended = iterate_together(trainer, report, hooks.should_stop);
  const double seconds = recorder.value().seconds();
  const Status saved = recorder.value().save_last(trainer, ended);
  if (hooks.on_end) hooks.on_end(dir, recorder.value().saved_step());
  BROADLOOM_TRY(with_resume_advice(ended, trainer, dir, recorder.value().saved_step()));
  const Result<std::string> failure =
      saved.ok() ? complete(run, recorder.value(), first_step, hooks) : saved;
  BROADLOOM_TRY(ranks.agree(
      with_resume_advice(failure.status(), trainer, dir, recorder.value().saved_step())));
  RunSummary summary = summary_of(trainer, dir, seconds, recorder.value().best());
  summary.panel_failure = failure.value();
  return summary;
}

// Trains with the other ranks, which also learn if there is nothing to train.
Result<RunSummary> train_with(Ranks& ranks, Result<ReadyRun> ready, const RunHooks& hooks) {
  ReadyRun& run = ready.value();
  BROADLOOM_TRY(
      call_ranks(ready.status(), run.over ? nullptr : run.trainer.get(), ranks, run.teacher));
  run.teacher.reset();  // the trainer has its policy, and the folder its file
  return run.over ? Result<RunSummary>(*run.over) : train(run, hooks);
}

// A run that this program cannot train has no contract.
Status announce(const Config& config, int threads, const Ranks& ranks, const RunHooks& hooks) {
  BROADLOOM_TRY(check_knows_device(config.device));
  if (!hooks.on_contract) return {};
  const Result<RolloutContract> contract = make_contract(config, threads, ranks.size());
  if (contract.ok()) hooks.on_contract(contract.value());
  return contract.status();
}

// "auto" means "exact" on processors without a supported instruction set.
void warn_of_emulation(const Config& config, const RunHooks& hooks) {
  if (config.isa != "auto" || active_isa() != "exact" || !hooks.on_note) return;
  hooks.on_note(
      "this processor has none of AVX-512, AVX2, NEON, and SSE4.2 with AES: fused multiply-adds "
      "are emulated (isa=exact), which takes some 70 times as long");
}

// At a rate or a clip range of 0 a policy learns nothing.
void note_spent(const Config& config, const RunHooks& hooks) {
  const ScheduledValue* const spent = spent_value(config);
  const std::int64_t steps = config.schedule_timesteps;
  if (!hooks.on_note || spent == nullptr || steps == 0 || steps >= config.trained_steps()) return;
  hooks.on_note(
      fmt::format("the {} is 0 from step {} of {} on, so the policy learns nothing there; set "
                  "{}schedule_timesteps = 0",
                  spent->words, with_commas(steps), with_commas(config.total_timesteps),
                  spent->end == nullptr ? "" : "learning_rate_end above 0, or "));
}

// No part of a run falls back to the CPU unnoticed.
void note_host_steps(const Trainer& trainer, const RunHooks& hooks) {
  if (trainer.device() == nullptr || !trainer.device()->steps_on_host() || !hooks.on_note) return;
  hooks.on_note(fmt::format(
      "no kernels step {}: the CPU steps it, and device = {} chooses the actions and learns",
      trainer.config().env_id, trainer.config().device));
}

Result<std::optional<PolicySource>> begin(const std::optional<InitialPolicy>& init,
                                          Trainer& trainer, const RunHooks& hooks) {
  if (!init) return std::optional<PolicySource>();
  Result<PolicySource> source = begin_with(*init, trainer);
  if (!source.ok()) return source.status();
  for (const std::string& note : notes_on_policy(*init, trainer.config())) {
    if (hooks.on_note) hooks.on_note(note);
  }
  return std::optional<PolicySource>(source.take());
}

Result<ReadyRun> new_run(const Config& config, const std::string& run_dir, int threads,
                         const RunHooks& hooks, const std::optional<Panel>& panel,
                         const std::optional<InitialPolicy>& init, Ranks& ranks,
                         const std::string& rerun_of,
                         const std::optional<TeacherFile>& given_teacher) {
  BROADLOOM_TRY(check_isa(config.isa));
  warn_of_emulation(config, hooks);
  note_spent(config, hooks);
  if (hooks.on_note) {
    const Result<EnvSpec> spec = env_spec(config.env_id, config.env_options);
    const std::string encoder = spec.ok() ? encoder_advice(config, spec.value()) : "";
    if (!encoder.empty()) hooks.on_note(encoder);
    const std::string actions = spec.ok() && !init ? action_range_advice(config, spec.value()) : "";
    if (!actions.empty()) hooks.on_note(actions);
    const std::string scaled = spec.ok() ? action_scale_advice(spec.value()) : "";
    if (!scaled.empty()) hooks.on_note(scaled);
  }
  if (panel) BROADLOOM_TRY(check_panel_fits(*panel, config));
  if (init) BROADLOOM_TRY(check_policy_fits(*init, config));
  Result<std::optional<TeacherFile>> teacher =
      given_teacher ? given_teacher : read_teacher_file(config);
  if (!teacher.ok()) return teacher.status();
  if (teacher.value()) {  // refused before the contract is shown
    const Result<EnvSpec> spec = env_spec(config.env_id, config.env_options);
    if (!spec.ok()) return spec.status();
    BROADLOOM_TRY(make_teacher(config, spec.value(), teacher.value()).status());
  }
  BROADLOOM_TRY(RunFolder::check_free(run_dir));
  BROADLOOM_TRY(announce(config, threads, ranks, hooks));
  Result<std::unique_ptr<Trainer>> trainer =
      Trainer::create(config, threads, ranks, StartFrom::kStart, teacher.value());
  if (!trainer.ok()) return trainer.status();
  note_host_steps(*trainer.value(), hooks);
  const Result<std::optional<PolicySource>> source = begin(init, *trainer.value(), hooks);
  if (!source.ok()) return source.status();
  FileLock lock;  // held before others can see the folder and resume the run
  const auto fill = [&](const RunFolder& folder) -> Status {
    Result<FileLock> held = folder.lock();
    if (!held.ok()) return held.status();
    lock = held.take();
    Manifest manifest = make_manifest(to_overrides(config), config.seed, threads, active_isa());
    manifest.ranks = ranks.size();
    manifest.simulator = trainer.value()->simulator();
    manifest.plugin = trainer.value()->spec().plugin;
    manifest.upstream = recorded_upstream(trainer.value()->spec());
    manifest.engine = trainer.value()->spec().engine;
    manifest.device = device_of(*trainer.value());
    manifest.bits = bits_of(config, manifest.isa, manifest.simulator);
    if (panel) manifest.panel = hash_text(panel_toml(*panel));
    manifest.init = source.value();
    if (trainer.value()->teacher() != nullptr)
      manifest.teacher = trainer.value()->teacher()->source;
    manifest.rerun_of = rerun_of;
    BROADLOOM_TRY(write_file_atomically(folder.manifest_path(), manifest_json(manifest)));
    if (panel) BROADLOOM_TRY(write_file_atomically(folder.panel_path(), panel_toml(*panel)));
    if (teacher.value()) {
      BROADLOOM_TRY(write_file_atomically(folder.teacher_path(), *teacher.value()->bytes));
    }
    return save_checkpoint(folder.checkpoint_path(0), *trainer.value(), {});
  };
  BROADLOOM_TRY(RunFolder::create(run_dir, fill));
  Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  return ReadyRun{std::move(lock), folder.take(), trainer.take(), {}, {}, teacher.take()};
}

// Says at which value a longer run continues.
std::string note_on_schedule(const Config& config, std::int64_t before) {
  const Schedule rate = learning_rate_schedule(config);
  const std::string words =
      rate.is_constant() ? falling_value(config).value_or(FallingValue{}).words + " stays as it was"
                         : fmt::format("learning rate stays at {}, its value", rate.end);
  return fmt::format(
      "the {} after the run's first {} steps; its record says so (schedule_timesteps = {})", words,
      with_commas(before), before);
}

Result<ReadyRun> old_run(const std::string& run_dir, int threads, const RunHooks& hooks,
                         std::int64_t total_timesteps, const Overrides& keys, Ranks& ranks) {
  BROADLOOM_TRY(check_run_folder(run_dir));
  Result<RunFolder> opened = RunFolder::open(run_dir);
  if (!opened.ok()) return opened.status();
  const RunFolder& folder = opened.value();
  Result<FileLock> lock = folder.lock();
  if (!lock.ok()) return lock.status();
  Result<StartedRun> run =
      open_started_run(run_dir);  // under the lock, so that nobody else can change it
  if (!run.ok()) return run.status();
  const Config before = run.value().config;
  const bool longer = total_timesteps != 0 && total_timesteps != before.total_timesteps;
  if (longer) BROADLOOM_TRY(make_longer(run.value(), total_timesteps));
  if (hooks.on_note && run.value().config.schedule_timesteps != before.schedule_timesteps) {
    hooks.on_note(note_on_schedule(run.value().config, before.total_timesteps));
  }
  bool stop_changed = false;
  Overrides machine;
  for (const auto& [key, text] : keys) {
    if (key != "stop_at_return") {
      machine.emplace_back(key, text);
      continue;
    }
    Config asked;
    BROADLOOM_TRY(set_config(asked, key, text));
    const Result<bool> changed = change_stop(run.value(), asked.stop_at_return);
    if (!changed.ok()) return changed.status();
    stop_changed = changed.value();
  }
  const Config own = run.value().config;
  BROADLOOM_TRY(set_machine(run.value().config, machine));
  BROADLOOM_TRY(check_isa(isa_to_go_on(run.value().config.isa, run.value().manifest.isa)));
  BROADLOOM_TRY(own_panel(folder).status());
  folder.clear_half_written();
  const Result<FoundCheckpoint> newest = find_checkpoint(folder.dir());
  if (!newest.ok()) return newest.status();
  const Result<Checkpoint> checkpoint = read_checkpoint(newest.value());
  if (!checkpoint.ok()) return checkpoint.status();
  BROADLOOM_TRY(check_belongs(checkpoint.value(), run.value().config));
  BROADLOOM_TRY(check_source(checkpoint.value()));
  Result<std::optional<TeacherFile>> teacher = teacher_of_run(folder, run.value().config);
  if (!teacher.ok()) return teacher.status();
  Result<std::unique_ptr<Trainer>> trainer =
      Trainer::create(run.value().config, threads, ranks, StartFrom::kState, teacher.value());
  if (!trainer.ok()) return trainer.status();
  BROADLOOM_TRY(check_kept_logs(folder, checkpoint.value().logs));
  const Result<LoggedEvaluations> evaluations =
      logged_evaluations(folder, checkpoint.value().logs.eval);
  if (!evaluations.ok()) return evaluations.status();
  // Before the state: a run that this evaluation ended begins no new episodes.
  std::int64_t step = 0;
  const TensorRef saved{"trainer.global_step", Dtype::kI64, {1}, &step, {kCountRange}};
  BROADLOOM_TRY(with_advice(load_named(checkpoint.value().file, {saved}), newest.value()));
  if (const LoggedEvaluation& last = evaluations.value().last;
      last.global_step > 0 && last.global_step == step) {
    trainer.value()->take_evaluation(last.mean_return);
  }
  BROADLOOM_TRY(with_advice(restore(checkpoint.value(), *trainer.value()), newest.value()));
  if (run.value().config.hashes) {
    BROADLOOM_TRY(check_kept_hashes(folder, trainer.value()->report().iteration));
  }
  BROADLOOM_TRY(announce(run.value().config, threads, ranks, hooks));
  // A finished run may still have to play its panel.
  const bool complete =
      trainer.value()->finished() && is_recorded(folder, trainer.value()->config());
  const bool trains = !trainer.value()->finished();
  if (!trains) run.value().config = own;  // machine keys apply only if something is trained
  if (trains && !machine.empty()) run.value().manifest.config = to_overrides(run.value().config);
  bool changed = stop_changed || (trains && (longer || !machine.empty()));
  if (trains && note_device(run.value(), *trainer.value())) changed = true;
  const bool other_engine = trains && note_engine(run.value(), *trainer.value(), hooks);
  changed = changed || other_engine;
  if (!complete && note_bits(run.value(), hooks)) changed = true;
  if (trains && teacher.value()) {
    // The folder may be older than its copy, or the copy damaged. A failure must not leave a
    // longer run behind.
    const Result<std::string> copy = read_file(folder.teacher_path());
    const std::string& bytes = *teacher.value()->bytes;
    if (!copy.ok() || copy.value() != bytes) {
      BROADLOOM_TRY(write_file_atomically(folder.teacher_path(), bytes));
    }
  }
  if (changed) {
    BROADLOOM_TRY(
        write_file_atomically(folder.manifest_path(), manifest_json(run.value().manifest)));
  }
  std::optional<RunSummary> over;
  if (!trainer.value()->finished()) {
    for (const EnvChange& change : changes_since(checkpoint.value(), run.value().config)) {
      const bool is_said = change.is_of_engine && other_engine;
      if (!is_said && hooks.on_note) hooks.on_note(change.text);
    }
    note_host_steps(*trainer.value(), hooks);
    BROADLOOM_TRY(record_new_episodes(run.value(), *trainer.value(), hooks));
    BROADLOOM_TRY(record_plugin(run.value(), *trainer.value(), hooks));
  } else {
    LoggedEvaluation best = evaluations.value().best;
    if (own.eval_interval > 0 && evaluations.value().last.global_step != step) {
      Result<RunRecorder> recorder =
          RunRecorder::open(folder, *trainer.value(), checkpoint.value().logs, hooks.on_note);
      if (!recorder.ok()) return recorder.status();
      BROADLOOM_TRY(recorder.value().make_up_evaluation(*trainer.value()));
      best = recorder.value().best();
    }
    const Result<std::string> failure = write_ledger_line(folder, *trainer.value(), {}, hooks);
    if (!failure.ok()) return failure.status();
    over = summary_of(*trainer.value(), named_dir(folder, hooks), 0.0, best);
    over->panel_failure = failure.value();
  }
  return ReadyRun{lock.take(),     opened.take(), trainer.take(), checkpoint.value().logs,
                  std::move(over), teacher.take()};
}

}  // namespace

Result<RunSummary> start_run(const Config& config, const std::string& run_dir, int threads,
                             const RunHooks& hooks, const std::optional<Panel>& panel,
                             const std::optional<InitialPolicy>& init, Ranks& ranks,
                             const std::string& rerun_of,
                             const std::optional<TeacherFile>& teacher) {
  return train_with(ranks,
                    new_run(config, run_dir, threads, hooks, panel, init, ranks, rerun_of, teacher),
                    hooks);
}

Result<std::string> isa_of_run(const std::string& run_dir) {
  const Result<StartedRun> run = open_started_run(run_dir);
  if (!run.ok()) return run.status();
  return isa_to_go_on(run.value().config.isa, run.value().manifest.isa);
}

Result<std::int64_t> total_with_more(const std::string& run_dir, std::int64_t more_timesteps) {
  const Result<StartedRun> run = open_started_run(run_dir);
  if (!run.ok()) return run.status();
  const std::int64_t total = run.value().config.total_timesteps;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() - total;
  if (more_timesteps >= 1 && more_timesteps <= most) return total + more_timesteps;
  return invalid(fmt::format("more_timesteps: got {}, expected 1 to {}, beside the {} of '{}'",
                             more_timesteps, most, total, run_dir));
}

Result<RunSummary> resume_run(const std::string& run_dir, int threads, const RunHooks& hooks,
                              std::int64_t total_timesteps, const Overrides& machine,
                              Ranks& ranks) {
  return train_with(ranks, old_run(run_dir, threads, hooks, total_timesteps, machine, ranks),
                    hooks);
}

}  // namespace broadloom
