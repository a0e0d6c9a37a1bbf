#include "research/study/study_run.h"

#include <fmt/core.h>

#include <exception>
#include <memory>
#include <new>

#include "broadloom/core/hash.h"
#include "broadloom/core/utc_time.h"
#include "broadloom/math/isa.h"
#include "broadloom/train/trainer.h"
#include "research/study/curve.h"

namespace broadloom {
namespace {

std::string parameters_hash(const Trainer& trainer) {
  return hash_text({reinterpret_cast<const char*>(trainer.params()),
                    trainer.network().parameter_count() * sizeof(float)});
}

// Returns whether the run ended; false if keep_going stopped it.
Result<bool> train(const Config& config, const std::optional<TeacherFile>& teacher, int threads,
                   CurveRecorder& recorder, const KeepGoing& keep_going, RunRecord& record) {
  Result<std::unique_ptr<Trainer>> made =
      Trainer::create(config, threads, Ranks::alone(), StartFrom::kStart, teacher);
  if (!made.ok()) return made.status();
  Trainer& trainer = *made.value();
  trainer.set_recorder(&recorder);
  const auto iterations = static_cast<double>(config.num_iterations());
  while (!trainer.finished()) {
    BROADLOOM_TRY(trainer.iterate());
    if (!keep_going(static_cast<double>(trainer.report().iteration) / iterations)) return false;
  }
  record.parameters_hash = parameters_hash(trainer);
  return true;
}

}  // namespace

std::optional<RunRecord> train_run(const StudyPlan& plan, const StudyRun& run, int threads,
                                   const KeepGoing& keep_going) {
  const StudyCell& cell = plan.cells[static_cast<std::size_t>(run.cell)];
  Config config = cell.config;
  config.seed = run.seed;
  RunRecord record;
  record.id = run.id;
  record.isa = active_isa();
  record.started = utc_now();
  CurveRecorder recorder(config, plan.points, plan.evaluations);
  Status status;
  // If a dependency throws or memory runs out, only this run ends.
  try {
    const Result<bool> ended = train(config, cell.teacher, threads, recorder, keep_going, record);
    if (ended.ok() && !ended.value()) return std::nullopt;
    status = ended.status();
  } catch (const std::bad_alloc&) {
    record.lacked_memory = true;
    return record;
  } catch (const std::exception& error) {
    status = {ErrorKind::kIo, fmt::format("the run ended with: {}", error.what())};
  }
  record.failed = !status.ok();
  record.error = status.message();
  record.seconds = recorder.seconds();
  record.finished = utc_now();
  record.curve = recorder.take_curve();
  record.evaluations = recorder.take_evaluations();
  return record;
}

}  // namespace broadloom
