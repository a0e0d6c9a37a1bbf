#include "research/study/predict.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/train/contract.h"
#include "research/advise/trial_machine.h"

namespace broadloom {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds of one evaluation of this policy if every episode had the greatest length.
Result<double> time_evaluation(const Trainer& trainer, const Config& config, int threads) {
  EvalOptions how;
  how.episodes = config.eval_episodes;
  how.seed = config.seed;
  how.threads = threads;
  const Clock::time_point start = Clock::now();
  const Result<EvalResult> result = evaluate_policy(trainer.policy(), how);
  if (!result.ok()) return result.status();
  const double seconds = elapsed_seconds(start);
  const int longest = trainer.spec().max_episode_steps;
  const double length = result.value().mean_length;
  return longest > 0 && length > 0.0 ? seconds * std::fmax(1.0, longest / length) : seconds;
}

// An instrument measures once in so many iterations; the timed blocks must include one.
int least_blocks(const Config& config) {
  return config.instruments.empty() ? 1 : std::max(1, config.instrument_every);
}

// Times training like this of so many steps: at least a block or a few, then at most `seconds` or a
// tenth of the whole run.
Status time_piece(TimedTraining& training, const Config& config, int threads, double steps,
                  double seconds) {
  BROADLOOM_TRY(training.begin(config, threads));
  BROADLOOM_TRY(training.time(0.0, least_blocks(config)));
  const double whole = steps / training.fastest();
  return whole > 0.0 ? training.time(std::fmin(seconds, 0.1 * whole)) : Status();
}

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

// Seconds of one run of the cell; NaN if its loss or episodes became not finite.
Result<double> time_cell(const StudyPlan& plan, const StudyCell& cell, int threads,
                         double seconds) {
  std::map<std::size_t, double> speeds;  // of the phases so far
  double total = 0.0;
  for (const Stretch& stretch : cell.config.run_stretches()) {
    const bool is_new = speeds.count(stretch.phase) == 0;
    if (is_new) {
      const Config phase = cell.config.of_phase(stretch.phase);
      TimedTraining training;
      const auto steps = static_cast<double>(cell.environment_steps());
      BROADLOOM_TRY(time_piece(training, phase, threads, steps, seconds));
      if (speeds.empty()) {
        const Result<double> once = time_evaluation(*training.trainer(), phase, threads);
        if (once.status().kind() == ErrorKind::kNumeric) return kNotFinite;
        if (!once.ok()) return once.status();
        total += once.value() * plan.evaluations;
      }
      speeds[stretch.phase] = training.fastest();
    }
    total += static_cast<double>(stretch.blocks * stretch.batch) / speeds[stretch.phase];
  }
  return total;
}

// An order in which neighbours lie far apart, so that a budget that runs out early has still timed
// cells from the whole grid.
std::vector<std::size_t> spread(std::size_t count) {
  auto step = static_cast<std::size_t>(0.618 * static_cast<double>(count)) | 1U;
  while (std::gcd(step, count) != 1) ++step;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) order.push_back(i * step % count);
  return order;
}

// The number of keys in which two cells differ.
std::size_t distance(const Config& a, const Config& b) {
  const Overrides ours = to_overrides(a), theirs = to_overrides(b);
  std::size_t differ = 0;
  for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
    differ += ours[i] == theirs[i] ? 0 : 1;
  }
  return differ;
}

class Predictor {
 public:
  Predictor(const StudyPlan& plan, const PredictOptions& options)
      : plan_(plan), options_(options), cells_(plan.cells.size()) {}

  void take_stored(const std::vector<StoredRun>& stored) {
    std::vector<int> counts(cells_.size(), 0);
    for (const StoredRun& run : stored) {
      if (run.status != "finished") continue;
      const auto cell = static_cast<std::size_t>(run.cell);
      cells_[cell].seconds += run.whole_seconds;
      ++counts[cell];
    }
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (counts[c] == 0) continue;
      cells_[c] = {cells_[c].seconds / counts[c], PredictionSource::kRuns, c};
      known_.insert(c);
    }
  }

  Status time_others() {
    const Clock::time_point start = Clock::now();
    const double each = options_.seconds / static_cast<double>(cells_.size());
    for (const std::size_t c : spread(cells_.size())) {
      if (known_.count(c) > 0) continue;
      const bool enough = !known_.empty() && elapsed_seconds(start) > options_.seconds;
      if (enough || (options_.should_stop && options_.should_stop())) break;
      const StudyCell& cell = plan_.cells[c];
      if (options_.tell) options_.tell(cell.name);
      const Result<double> seconds = time_cell(plan_, cell, options_.threads, each);
      if (!seconds.ok()) {
        return {seconds.status().kind(),
                fmt::format("cell {}: {}", cell.name, seconds.status().message())};
      }
      if (!std::isfinite(seconds.value())) continue;
      cells_[c] = {seconds.value(), PredictionSource::kTiming, c};
      known_.insert(c);
    }
    if (!known_.empty()) return {};
    return {ErrorKind::kNumeric,
            "no cell could be timed: the loss or episodes of each became not finite in its first "
            "blocks, or this was stopped; try one cell with `train`"};
  }

  std::vector<CellPrediction> guess_rest() {
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (known_.count(c) > 0) continue;
      const Config& config = plan_.cells[c].config;
      const std::size_t nearest =
          *std::min_element(known_.begin(), known_.end(), [&](std::size_t a, std::size_t b) {
            return distance(config, plan_.cells[a].config) <
                   distance(config, plan_.cells[b].config);
          });
      const double scale = static_cast<double>(plan_.cells[c].environment_steps()) /
                           static_cast<double>(plan_.cells[nearest].environment_steps());
      cells_[c] = {cells_[nearest].seconds * scale, PredictionSource::kOtherCell, nearest};
    }
    return cells_;
  }

 private:
  const StudyPlan& plan_;
  const PredictOptions& options_;
  std::vector<CellPrediction> cells_;
  std::set<std::size_t> known_;
};

}  // namespace

Result<std::vector<CellPrediction>> predict_cells(const StudyPlan& plan,
                                                  const std::vector<StoredRun>& stored,
                                                  const PredictOptions& options) {
  Predictor predictor(plan, options);
  predictor.take_stored(stored);
  BROADLOOM_TRY(predictor.time_others());
  return predictor.guess_rest();
}

Result<std::size_t> job_memory(const StudyPlan& plan, const std::vector<const StudyRun*>& runs,
                               int threads) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr std::size_t kProgram = 192 * kMiB;
  std::set<int> cells;
  for (const StudyRun* run : runs) cells.insert(run->cell);
  std::size_t largest = 0;
  for (const int cell : cells) {
    const Config& config = plan.cells[static_cast<std::size_t>(cell)].config;
    const Result<RolloutContract> contract = make_contract(config, threads);
    if (!contract.ok()) return contract.status();
    largest = std::max(largest, contract.value().memory.total());
  }
  const std::size_t bytes = largest + largest / 4 + kProgram;
  return (bytes + 64 * kMiB - 1) / (64 * kMiB) * (64 * kMiB);
}

}  // namespace broadloom
