#include "research/advise/laboratory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "broadloom/core/number_text.h"
#include "research/advise/portfolio.h"
#include "research/lab/gradient_study.h"

namespace broadloom {
namespace {

// Shares of the steps, and the minimum of each study. Studies begin in states of environments that
// run for six time limits. Complete episodes are 32 environments of two time limits.
constexpr double kStartShare = 0.25, kBudgetShare = 0.55, kBlockShare = 0.2;
constexpr int kStartLimits = 6, kFewestStartEnvs = 32, kMostStartEnvs = 4096;
constexpr std::int64_t kAgreementSteps = 10000000;  // the agreement is measured from this number on
constexpr int kAgreementUses = 3;                   // studies that then share the budget
constexpr int kEpisodeSteps = 64;                   // times the time limit
constexpr int kFewestBlocks = 10, kMostBlocks = 400;
constexpr int kLeastBatch = 256, kMostBatch = 4096;

constexpr double kLaboratorySpeed = 2.0;  // its steps a second over training's: it does not update

constexpr double kNearBest = 0.05;     // cosine given up for a shorter block
constexpr double kUpdates = 50.0;      // updates that the affordable steps must allow
constexpr int kBatchOfMinibatch = 16;  // B / M
constexpr int kMostEnvs = 4096, kLeastMinibatch = 16;

GradientStudyOptions study_options(const LaboratoryPlan& plan, std::vector<BlockShape> shapes,
                                   const Config& config, int threads,
                                   const AdviceBudget& total_budget) {
  GradientStudyOptions options;
  options.correlation = false;
  options.agreement = plan.agreement;
  options.shapes = std::move(shapes);
  options.lambdas = {config.gae_lambda};
  options.blocks = plan.blocks;
  options.bias_budget = plan.budget;
  options.start_envs = plan.start_envs;
  options.seed = config.seed;
  options.threads = threads;
  options.should_stop = [&total_budget] { return total_budget.is_over(); };
  return options;
}

Estimate not_known() { return without_interval(kNotKnown, 0); }

GradientEvidence::Row& row_of(std::vector<GradientEvidence::Row>& rows, int num_envs,
                              int num_steps) {
  for (GradientEvidence::Row& row : rows) {
    if (row.num_steps == num_steps) return row;
  }
  rows.push_back(
      {num_envs, num_steps, not_known(), not_known(), not_known(), not_known(), not_known()});
  return rows.back();
}

std::vector<GradientEvidence::Row> rows_of(const GradientStudyReport& report) {
  std::vector<GradientEvidence::Row> rows;
  if (report.variance) {
    for (const VarianceResult& r : *report.variance) {
      GradientEvidence::Row& row = row_of(rows, r.shape.num_envs, r.shape.num_steps);
      row.noise_scale = r.noise_scale;
      row.critical_batch = r.critical_batch;
    }
  }
  if (report.agreement) {
    for (const AgreementResult& r : *report.agreement) {
      if (!r.norm_adv) continue;
      GradientEvidence::Row& row = row_of(rows, r.shape.num_envs, r.shape.num_steps);
      (r.critic == "own" ? row.agreement : row.refitted) = r.agreement;
    }
  }
  if (report.bias) {
    for (const BiasResult& r : *report.bias) {
      row_of(rows, report.batch / r.num_steps, r.num_steps).cosine = r.cosine;
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.num_steps < b.num_steps; });
  return rows;
}

std::string why_no_laboratory(const Trainer& trainer) {
  const std::string id = trainer.config().env_id;
  if (!trainer.simulator().saves_state) {
    return fmt::format(
        "the simulator of {} does not save its state, and the laboratory begins in "
        "states that it copies",
        id);
  }
  if (trainer.spec().max_episode_steps <= 0) {
    return fmt::format(
        "episodes of {} have no time limit, so that they need not end, and there is "
        "no true gradient to compare with; set max_episode_steps for it",
        id);
  }
  if (trainer.config().precision != "fp32") return "its gradients are those of float32";
  return "";
}

// The largest power of two that is at most x.
int power_of_two_below(double x) {
  return static_cast<int>(
      std::bit_floor(static_cast<std::uint32_t>(std::clamp(x, 1.0, 1073741824.0))));
}

const GradientEvidence::Row* shortest_good(const GradientEvidence& gradient) {
  double best = kNotKnown;
  for (const auto& row : gradient.rows) best = std::fmax(best, row.cosine.value);
  for (const auto& row : gradient.rows) {
    if (row.cosine.value >= best - kNearBest) return &row;
  }
  return nullptr;
}

// The row of the held T, otherwise the shortest good one.
const GradientEvidence::Row* row_to_choose(const GradientEvidence& gradient, const Candidate& start,
                                           bool is_length_held) {
  if (!is_length_held) return shortest_good(gradient);
  for (const auto& row : gradient.rows) {
    if (row.num_steps == start.num_steps && !std::isnan(row.cosine.value)) return &row;
  }
  return nullptr;
}

// If the number of minibatches is held, it stays the same for any block.
int minibatch_for(const Candidate& chosen, const Candidate& start,
                  const std::vector<std::string>& held) {
  std::int64_t size =
      std::max<std::int64_t>(kLeastMinibatch, chosen.batch_size() / kBatchOfMinibatch);
  if (is_held(held, "minibatch_size")) size = start.minibatch_size;
  if (is_held(held, "num_minibatches")) {
    size = chosen.batch_size() * start.minibatch_size / start.batch_size();
  }
  return static_cast<int>(std::clamp<std::int64_t>(size, 1, chosen.batch_size()));
}

std::string length_words(const GradientEvidence::Row& row, bool is_length_held) {
  return is_length_held
             ? fmt::format(
                   "T = {} is held; its mean gradient has a cosine of {:.2f} with the true one",
                   row.num_steps, row.cosine.value)
             : fmt::format(
                   "T = {} is the shortest block whose mean gradient has a cosine with "
                   "the true one ({:.2f}) within {} of the largest",
                   row.num_steps, row.cosine.value, kNearBest);
}

// Explains M and the rate, unless they are held.
std::string rest_words(const std::vector<std::string>& held) {
  const bool is_size_held = is_held(held, "minibatch_size") || is_held(held, "num_minibatches");
  std::string words;
  if (!is_size_held) words += "; M is a sixteenth of the block";
  if (!is_held(held, "learning_rate")) words += "; the rate grows with the root of M";
  if (!held.empty()) words += fmt::format("; {} stay as they were set", fmt::join(held, ", "));
  return words + ".";
}

}  // namespace

std::vector<BlockShape> laboratory_shapes(int batch, int own_num_steps) {
  std::vector<int> steps{4, 16, 64, 256};
  if (std::find(steps.begin(), steps.end(), own_num_steps) == steps.end()) {
    steps.push_back(own_num_steps);
  }
  std::sort(steps.begin(), steps.end());
  std::vector<BlockShape> shapes;
  for (const int T : steps) {
    if (T <= batch && batch % T == 0) shapes.push_back({batch / T, T});
  }
  return shapes;
}

LaboratoryPlan plan_laboratory(std::int64_t steps, int max_episode_steps, int shapes, int batch) {
  LaboratoryPlan plan;
  const auto limit = static_cast<std::int64_t>(max_episode_steps);
  const std::int64_t of_blocks = std::int64_t{shapes} * batch;
  plan.least =
      kFewestStartEnvs * kStartLimits * limit + kEpisodeSteps * limit + kFewestBlocks * of_blocks;
  if (steps < plan.least) return plan;
  const auto share = [&](double s) {
    return static_cast<std::int64_t>(s * static_cast<double>(steps));
  };
  const std::int64_t envs = share(kStartShare) / (kStartLimits * limit);
  plan.start_envs = static_cast<int>(std::clamp<std::int64_t>(
      envs / kFewestStartEnvs * kFewestStartEnvs, kFewestStartEnvs, kMostStartEnvs));
  plan.agreement = steps >= kAgreementSteps;
  plan.budget =
      std::max(share(kBudgetShare) / (plan.agreement ? kAgreementUses : 1), kEpisodeSteps * limit);
  plan.blocks = static_cast<int>(
      std::clamp<std::int64_t>(share(kBlockShare) / of_blocks, kFewestBlocks, kMostBlocks));
  return plan;
}

std::int64_t laboratory_steps(const AdviceBudget& total_budget, double share,
                              double steps_per_second) {
  if (total_budget.counts_steps()) {
    return static_cast<std::int64_t>(share * static_cast<double>(total_budget.steps()));
  }
  const double seconds =
      std::min(share * total_budget.seconds(), total_budget.seconds() - total_budget.elapsed());
  return static_cast<std::int64_t>(kLaboratorySpeed * seconds * steps_per_second);
}

GradientEvidence measure_gradients(const Trainer& trainer, std::int64_t steps, int threads,
                                   const AdviceBudget& total_budget) {
  const Config& config = trainer.config();
  GradientEvidence evidence;
  evidence.policy = candidate_of(config);
  evidence.global_step = trainer.clock().global_step;
  evidence.why_not = why_no_laboratory(trainer);
  if (!evidence.why_not.empty()) return evidence;
  const int batch = std::clamp(power_of_two_below(static_cast<double>(config.batch_size())),
                               kLeastBatch, kMostBatch);
  const std::vector<BlockShape> shapes = laboratory_shapes(batch, config.num_steps);
  const LaboratoryPlan plan = plan_laboratory(steps, trainer.spec().max_episode_steps,
                                              static_cast<int>(shapes.size()), batch);
  if (plan.start_envs == 0) {
    evidence.why_not = fmt::format(
        "it takes {} environment steps at the least, and its share of the budget was {}",
        with_commas(plan.least), with_commas(steps));
    return evidence;
  }
  const Result<GradientStudyReport> report =
      study_gradients(trainer.policy(), study_options(plan, shapes, config, threads, total_budget),
                      [&total_budget](const std::string& what, double) {
                        total_budget.tell("the laboratory: " + what);
                      });
  if (report.ok() && !report.value().stopped) {
    evidence.rows = rows_of(report.value());
  } else {
    evidence.why_not =
        total_budget.is_over() ? "it was stopped before its end" : report.status().message();
  }
  return evidence;
}

GradientChoice choose_by_gradient(const GradientEvidence& gradient, const Candidate& start,
                                  const std::vector<std::string>& held, double affordable_steps) {
  const bool is_length_held = is_held(held, "num_steps");
  const GradientEvidence::Row* row = row_to_choose(gradient, start, is_length_held);
  if (row == nullptr) {
    return {start,
            fmt::format("The laboratory measured nothing ({}), so its rule stays with {}.",
                        gradient.why_not.empty() ? "the true gradient cannot be told from zero"
                                                 : gradient.why_not,
                        candidate_text(start))};
  }
  Candidate chosen = start;
  chosen.num_steps = row->num_steps;
  const double critical = row->critical_batch.value;
  const double room = affordable_steps / kUpdates;
  const bool is_known = std::isfinite(critical) && critical > 0.0;
  const double batch =
      std::max(static_cast<double>(row->num_steps),
               std::min(is_known ? critical : static_cast<double>(start.batch_size()), room));
  if (!is_held(held, "num_envs")) {
    chosen.num_envs = std::min(kMostEnvs, power_of_two_below(batch / row->num_steps));
  }
  chosen.minibatch_size = minibatch_for(chosen, start, held);
  if (!is_held(held, "learning_rate")) {
    chosen.learning_rate =
        scaled_learning_rate(start.learning_rate, static_cast<double>(start.minibatch_size),
                             static_cast<double>(chosen.minibatch_size));
  }
  return {chosen,
          fmt::format("{}; the critical batch there is {}, and {} environment steps have room for "
                      "{:.0f} updates of {:.0f}{}",
                      length_words(*row, is_length_held),
                      is_known ? fmt::format("{:.0f} samples", critical) : "not known",
                      with_commas(static_cast<std::int64_t>(affordable_steps)), kUpdates, room,
                      rest_words(held))};
}

}  // namespace broadloom
