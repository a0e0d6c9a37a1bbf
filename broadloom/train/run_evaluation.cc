#include "broadloom/train/run_evaluation.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/run_path.h"
#include "broadloom/train/run_recorder.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

// A trainer in the checkpoint's state. isa: "": the run's own.
Result<std::unique_ptr<Trainer>> trained(const FoundCheckpoint& found, const std::string& isa) {
  const Result<Checkpoint> checkpoint = read_checkpoint(found);
  if (!checkpoint.ok()) return checkpoint.status();
  const std::string& asked = checkpoint.value().config.isa;
  BROADLOOM_TRY(set_isa(isa.empty() ? isa_to_go_on(asked, asked) : isa));
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(checkpoint.value().config, 1);
  if (!trainer.ok()) return trainer.status();
  BROADLOOM_TRY(restore(checkpoint.value(), *trainer.value()));
  return trainer;
}

Status check(const EvalOptions& options) {
  if (options.episodes >= 1 && options.threads >= 1) return {};
  return invalid(fmt::format("got {} episodes and {} threads; expected at least 1 of each",
                             options.episodes, options.threads));
}

bool is_folder(const std::string& run_or_checkpoint) {
  std::error_code error;
  return std::filesystem::is_directory(run_or_checkpoint, error);
}

}  // namespace

Result<EvalResult> evaluate_run(const std::string& run_or_checkpoint, const EvalOptions& options) {
  BROADLOOM_TRY(check(options));
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const Result<std::unique_ptr<Trainer>> trainer = trained(found.value(), "");
  if (!trainer.ok()) return trainer.status();
  const Trainer& policy = *trainer.value();
  Result<EvalResult> result = evaluate_policy(policy.config(), policy.network(), policy.params(),
                                              policy.obs_normalizer(), options);
  if (!result.ok()) return result.status();
  result.value().global_step = policy.report().global_step;
  result.value().training_return = policy.report().mean_return;
  return result;
}

Status record_evaluation(const std::string& run_or_checkpoint, const EvalResult& result,
                         const EvalOptions& options) {
  if (!is_folder(run_or_checkpoint)) return {};
  const Result<RunFolder> folder = RunFolder::open(run_or_checkpoint);
  if (!folder.ok()) return folder.status();
  Result<SharedLog> log = SharedLog::open(folder.value().command_eval_path());
  if (!log.ok()) return log.status();
  return log.value().append(command_eval_json_line(result, options));
}

Result<PanelResult> run_panel(const std::string& run_or_checkpoint, const Panel& panel, int threads,
                              const std::string& isa, const PlayProgress& on_progress) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const Result<std::unique_ptr<Trainer>> trainer = trained(found.value(), isa);
  if (!trainer.ok()) return trainer.status();
  return play_panel(panel, *trainer.value(), found.value(), threads, on_progress);
}

Result<std::string> save_panel_result(const std::string& run_or_checkpoint,
                                      const PanelResult& result) {
  if (!is_folder(run_or_checkpoint)) return std::string();
  const Result<RunFolder> folder = RunFolder::open(run_or_checkpoint);
  if (!folder.ok()) return folder.status();
  const std::string path = panel_result_path(folder.value(), result.panel);
  BROADLOOM_TRY(write_file_atomically(path, panel_result_json(result)));
  return path;
}

}  // namespace broadloom
