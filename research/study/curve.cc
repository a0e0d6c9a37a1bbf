#include "research/study/curve.h"

namespace broadloom {
namespace {

// Exact even where total * k overflows 64 bits.
std::int64_t grid_step(std::int64_t total, int k, int count) {
  return total / count * k + total % count * k / count;
}

}  // namespace

CurveRecorder::CurveRecorder(const Config& config, int points, int evaluations)
    : total_(config.total_timesteps), points_(points), evaluation_count_(evaluations) {
  curve_.reserve(static_cast<std::size_t>(points));
}

double CurveRecorder::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_ - evaluating_).count();
}

template <class Visit>
bool CurveRecorder::pass(const Trainer& trainer, int count, int& next, const Visit& visit) const {
  const std::int64_t now = trainer.report().global_step;
  const Config& config = trainer.config();
  const bool alike = config.shape_schedule.empty();
  const std::int64_t next_report =
      now + (alike ? config.batch_size() : config.at_step(now).batch_size());
  bool any = false;
  while (next <= count && (trainer.finished() || grid_step(total_, next, count) < next_report)) {
    const bool is_past = grid_step(total_, next, count) < now;  // only before the first report
    if (!is_past) visit(next);
    any = any || !is_past;
    ++next;
  }
  return any;
}

Status CurveRecorder::record(Trainer& trainer) {
  if (trainer.instruments().measured()) {
    measured_.clear();
    trainer.instruments().visit_numbers(
        [this](const NumberInfo& info, double value) { measured_.emplace_back(info.name, value); });
  }
  pass(trainer, points_, next_point_, [&](int point) { add_point(trainer, point); });
  const bool due = pass(trainer, evaluation_count_, next_evaluation_, [](int) {});
  return due ? evaluate(trainer) : Status();
}

void CurveRecorder::add_point(const Trainer& trainer, int point) {
  CurvePoint p;
  p.point = point;
  p.environment_steps = grid_step(total_, point, points_);
  p.global_step = trainer.report().global_step;
  p.iteration = trainer.report().iteration;
  p.seconds = seconds();
  visit_numbers(trainer.report(), [&](const NumberInfo& info, auto value) {
    p.values.emplace_back(info.name, static_cast<double>(value));
  });
  p.values.insert(p.values.end(), measured_.begin(), measured_.end());
  curve_.push_back(std::move(p));
}

Status CurveRecorder::evaluate(Trainer& trainer) {
  const Clock::time_point begin = Clock::now();
  const Config& config = trainer.config();
  const EvalOptions options{config.eval_episodes, config.seed, trainer.pool().threads()};
  Result<EvalResult> result = evaluate_policy(trainer.policy(), options);
  evaluating_ += Clock::now() - begin;
  if (!result.ok()) return result.status();
  evaluations_.push_back(result.take());
  return {};
}

}  // namespace broadloom
