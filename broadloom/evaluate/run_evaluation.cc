#include "broadloom/evaluate/run_evaluation.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/evaluate/eval_json.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {
namespace {

Result<std::unique_ptr<LoadedPolicy>> load(const std::string& run_or_checkpoint) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  return LoadedPolicy::load(found.value());
}

Status check(const EvalOptions& options) {
  if (options.longest_episode < 1 || options.longest_episode > kMostEvalSteps) {
    return invalid(fmt::format("max_steps: got {}, expected 1 to {}", options.longest_episode,
                               kMostEvalSteps));
  }
  if (options.episodes >= 1 && options.threads >= 1) return {};
  return invalid(fmt::format("got {} episodes and {} threads; expected at least 1 of each",
                             options.episodes, options.threads));
}

bool is_folder(const std::string& run_or_checkpoint) {
  std::error_code error;
  return std::filesystem::is_directory(run_or_checkpoint, error);
}

}  // namespace

Result<std::string> isa_of_policy(const std::string& run_or_checkpoint) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const Result<Checkpoint> checkpoint = read_checkpoint(found.value());
  if (!checkpoint.ok()) return checkpoint.status();
  return isa_to_go_on(checkpoint.value().config.isa, checkpoint.value().config.isa);
}

Result<EvalResult> evaluate_run(const std::string& run_or_checkpoint, const EvalOptions& options) {
  BROADLOOM_TRY(check(options));
  const Result<std::unique_ptr<LoadedPolicy>> policy = load(run_or_checkpoint);
  if (!policy.ok()) return policy.status();
  Result<EvalResult> result = evaluate_policy(policy.value()->view(), options);
  if (result.ok()) result.value().note = policy.value()->note();
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
                              const PlayProgress& on_progress,
                              const std::function<bool()>& should_stop) {
  const Result<std::unique_ptr<LoadedPolicy>> policy = load(run_or_checkpoint);
  if (!policy.ok()) return policy.status();
  Result<PanelResult> result =
      play_panel(panel, policy.value()->view(), threads, on_progress, should_stop);
  if (result.ok()) result.value().note = policy.value()->note();
  return result;
}

Result<std::string> save_panel_result(const std::string& run_or_checkpoint,
                                      const PanelResult& result) {
  if (!is_folder(run_or_checkpoint)) return std::string();
  const Result<RunFolder> folder = RunFolder::open(run_or_checkpoint);
  if (!folder.ok()) return folder.status();
  const std::string partial = partial_panel_path(folder.value(), result.panel);
  const std::string path = panel_result_path(folder.value(), result.panel);
  if (!count_episodes(result).is_whole()) {
    const Result<PanelResult> before = read_panel_result(path);
    const bool has_whole = before.ok() && before.value().checkpoint_hash == result.checkpoint_hash;
    if (has_whole) return std::string();  // a part would say less
    BROADLOOM_TRY(write_file_atomically(partial, partial_panel_json(result)));
    return partial;
  }
  BROADLOOM_TRY(write_file_atomically(path, panel_result_json(result)));
  std::error_code ignored;  // a stale part does no harm
  std::filesystem::remove(partial, ignored);
  return path;
}

}  // namespace broadloom
