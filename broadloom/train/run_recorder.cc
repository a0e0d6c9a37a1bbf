#include "broadloom/train/run_recorder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include "broadloom/evaluate/eval_json.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/record/events.h"
#include "broadloom/record/json.h"
#include "broadloom/record/json_line.h"
#include "broadloom/train/run_numbers.h"

namespace broadloom {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Calls visit(info, number) for everything in a line of metrics.jsonl, in order.
template <class Visitor>
void visit_line(const Trainer& trainer, double wall_time, double rate, const Visitor& visit) {
  const IterationReport& r = trainer.report();
  visit(kIterationInfo, r.iteration);
  visit(kGlobalStepInfo, r.global_step);
  visit_numbers(r, visit);
  visit(kWallTimeInfo, wall_time);
  visit(kStepsPerSecondInfo, rate);
  if (trainer.instruments().measured()) trainer.instruments().visit_numbers(visit);
}

std::string metrics_json_line(const Trainer& trainer, double wall_time, double rate) {
  JsonLine line;
  visit_line(trainer, wall_time, rate,
             [&](const NumberInfo& info, auto value) { line.add(info.name, value); });
  return line.line();
}

std::vector<std::pair<std::string_view, double>> event_scalars(const Trainer& trainer,
                                                               double wall_time, double rate) {
  std::vector<std::pair<std::string_view, double>> scalars;
  visit_line(trainer, wall_time, rate, [&](const NumberInfo& info, auto value) {
    const double number = static_cast<double>(value);
    if (!tag_of(info).empty() && !std::isnan(number)) scalars.emplace_back(tag_of(info), number);
  });
  return scalars;
}

HashShape hash_shape(const Trainer& trainer) {
  const RolloutBlock& block = trainer.block();
  HashShape shape{.num_envs = block.N,
                  .num_steps = block.T,
                  .observation_size = block.D,
                  .action_size = block.A,
                  .has_critic = block.has_critic()};
  for (const ShapePhase& phase : trainer.config().shape_schedule.phases) {
    shape.varies = true;
    shape.num_envs = std::max<std::int64_t>(shape.num_envs, phase.shape.num_envs);
    shape.num_steps = std::max<std::int64_t>(shape.num_steps, phase.shape.num_steps);
  }
  return shape;
}

// People delete event files, so a missing one is no error; TensorBoard reads several as one. An
// event file begun after the checkpoint is not changed.
Result<AppendLog> open_events(const RunFolder& folder, const LogBytes& logs,
                              const std::function<void(const std::string&)>& on_note) {
  if (!logs.events_file.empty() && !RunFolder::is_events_name(logs.events_file)) {
    return Status(
        ErrorKind::kCorrupt,
        fmt::format("the checkpoint of '{}' names '{}' as its event file, expected a name "
                    "that begins with events.out.tfevents.; use another checkpoint",
                    folder.dir(), logs.events_file));
  }
  const std::string path =
      logs.events_file.empty() ? folder.events_path() : folder.dir() + "/" + logs.events_file;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (!error && static_cast<std::int64_t>(bytes) >= logs.events) {
    return AppendLog::open(path, logs.events);
  }
  if (logs.events > 0 && on_note) {
    on_note(
        "the TensorBoard events of the run so far were deleted or cut short; a new event file "
        "begins here (metrics.jsonl has all of them)");
  }
  return AppendLog::open(folder.new_events_path(), 0);
}

// The newest checkpoint's bytes become best.safetensors: a process that was killed between the two
// leaves the checkpoint, and a resume from it comes here again.
Status keep_best(const RunFolder& folder, std::int64_t iteration) {
  const Result<std::string> bytes = read_file(folder.checkpoint_path(iteration));
  if (!bytes.ok()) return bytes.status();
  const Result<std::string> kept = read_file(folder.best_path());
  if (kept.ok() && kept.value() == bytes.value()) return {};
  return write_file_atomically(folder.best_path(), bytes.value());
}

}  // namespace

Result<LoggedEvaluations> logged_evaluations(const RunFolder& folder, std::int64_t bytes) {
  LoggedEvaluations found;
  if (bytes == 0) return found;
  const Result<std::string> text = read_file(folder.eval_path());
  if (!text.ok()) return text.status();
  std::istringstream lines(text.value().substr(0, static_cast<std::size_t>(bytes)));  // or all
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (!(json["source"] == "train") || !json["global_step"].is_integer() ||
        !json["mean_return"].is_number()) {
      continue;
    }
    found.last = {json["global_step"].integer<std::int64_t>(), json["mean_return"].real()};
    if (found.last.mean_return > found.best.mean_return) found.best = found.last;
  }
  return found;
}

Result<RunRecorder> RunRecorder::open(const RunFolder& folder, const Trainer& trainer,
                                      const LogBytes& logs,
                                      const std::function<void(const std::string&)>& on_note) {
  RunRecorder recorder(folder, trainer.report().global_step);
  Result<AppendLog> metrics = AppendLog::open(folder.metrics_path(), logs.metrics);
  if (!metrics.ok()) return metrics.status();
  recorder.metrics_ = metrics.take();
  Result<AppendLog> eval = AppendLog::open(folder.eval_path(), logs.eval);
  if (!eval.ok()) return eval.status();
  recorder.eval_ = eval.take();
  const Result<LoggedEvaluations> evaluations = logged_evaluations(folder, logs.eval);
  if (!evaluations.ok()) return evaluations.status();
  recorder.best_ = evaluations.value().best;
  const IterationReport& report = trainer.report();
  if (report.iteration > 0 && recorder.best_.global_step == report.global_step) {
    BROADLOOM_TRY(keep_best(folder, report.iteration));
  }
  if (trainer.config().tensorboard) {
    Result<AppendLog> events = open_events(folder, logs, on_note);
    if (!events.ok()) return events.status();
    recorder.events_ = events.take();
    if (recorder.events_.bytes() == 0) {
      BROADLOOM_TRY(recorder.events_.append(encode_file_version(unix_time())));
    }
  }
  if (trainer.config().hashes) {
    Result<HashLog> hashes =
        HashLog::open(folder.hashes_path(), hash_shape(trainer), trainer.report().iteration);
    if (!hashes.ok()) return hashes.status();
    recorder.hashes_ = hashes.take();
  }
  return recorder;
}

double RunRecorder::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double RunRecorder::steps_per_second(const Trainer& trainer) const {
  return static_cast<double>(trainer.report().global_step - first_step_) /
         std::max(1e-9, seconds());
}

Status RunRecorder::record(Trainer& trainer) {
  const Config& config = trainer.config();
  const std::int64_t iteration = trainer.report().iteration;
  const bool last = trainer.finished();
  const bool logs =
      last || iteration % config.log_interval == 0 || trainer.instruments().measured();
  bool is_best = false;
  evaluation_.clear();
  if (hashes_.is_open()) BROADLOOM_TRY(hashes_.append(iteration, *trainer.hashes()));
  if (logs) BROADLOOM_TRY(log(trainer));
  recorded_iteration_ = iteration;  // an evaluation that fails costs only its own line
  if (config.eval_interval > 0 && (last || iteration % config.eval_interval == 0)) {
    // A resume makes up for the last evaluation, if that is cut short.
    if (last) BROADLOOM_TRY(save(trainer));
    const Result<bool> evaluated = evaluate(trainer);
    if (!evaluated.ok()) return evaluated.status();
    is_best = evaluated.value();
  }
  const bool ends = trainer.finished();  // perhaps by what the evaluation came to
  if (ends && !logs) BROADLOOM_TRY(log(trainer));
  if (ends || is_best || iteration % config.checkpoint_interval == 0) BROADLOOM_TRY(save(trainer));
  return is_best ? keep_best(folder_, iteration) : Status();
}

Status RunRecorder::make_up_evaluation(Trainer& trainer) {
  const Result<bool> is_best = evaluate(trainer);
  if (!is_best.ok()) return is_best.status();
  BROADLOOM_TRY(save(trainer));
  return is_best.value() ? keep_best(folder_, trainer.report().iteration) : Status();
}

Status RunRecorder::log(const Trainer& trainer) {
  const double now = unix_time();
  const double rate = steps_per_second(trainer);
  BROADLOOM_TRY(metrics_.append(metrics_json_line(trainer, now, rate)));
  if (!events_.is_open()) return {};
  return events_.append(
      encode_scalars(now, trainer.report().global_step, event_scalars(trainer, now, rate)));
}

Result<bool> RunRecorder::evaluate(Trainer& trainer) {
  const Config& config = trainer.config();
  const EvalOptions options{config.eval_episodes, config.seed, trainer.pool().threads()};
  const Result<EvalResult> result = evaluate_policy(trainer.policy(), options);
  if (!result.ok()) return result.status();
  evaluation_ = eval_json_line(result.value(), options.seed);
  BROADLOOM_TRY(eval_.append(evaluation_));
  saved_iteration_ = -1;  // a checkpoint before this line would cut it off
  const double mean = result.value().mean_return;
  trainer.take_evaluation(mean);
  const bool is_best = mean > best_.mean_return;
  if (is_best) best_ = {trainer.report().global_step, mean};
  if (!events_.is_open()) return is_best;
  std::vector<std::pair<std::string_view, double>> scalars{
      {"eval/episodic_return", result.value().mean_return},
      {"eval/episodic_length", result.value().mean_length}};
  const double success = result.value().success_rate.value;
  if (!std::isnan(success)) scalars.emplace_back("eval/success_rate", success);
  BROADLOOM_TRY(events_.append(encode_scalars(unix_time(), trainer.report().global_step, scalars)));
  return is_best;
}

Status RunRecorder::save_last(Trainer& trainer, const Status& ended) {
  if (ended.ok()) return save(trainer);
  const std::int64_t iteration = trainer.report().iteration;
  const bool is_recorded = iteration > 0 && iteration == recorded_iteration_;
  if (!is_recorded || !trainer.has_whole_state()) return {};
  static_cast<void>(save(trainer));  // else the older checkpoint stays
  return {};
}

// Syncs the logs first, so that a checkpoint never names bytes that a power cut may lose.
Status RunRecorder::save(Trainer& trainer) {
  const std::int64_t iteration = trainer.report().iteration;
  if (saved_iteration_ == iteration) return {};
  for (AppendLog* log : {&metrics_, &eval_, &events_}) {
    if (log->is_open()) BROADLOOM_TRY(log->sync());
  }
  if (hashes_.is_open()) BROADLOOM_TRY(hashes_.sync());
  const LogBytes logs{metrics_.bytes(), eval_.bytes(), events_.bytes(),
                      std::filesystem::path(events_.path()).filename().string()};
  BROADLOOM_TRY(save_checkpoint(folder_.checkpoint_path(iteration), trainer, logs));
  saved_iteration_ = iteration;
  saved_step_ = trainer.report().global_step;
  const int kept = trainer.config().keep_checkpoints;
  folder_.prune(kept > 0 ? kept : std::numeric_limits<int>::max());
  return {};
}

}  // namespace broadloom
