#include <memory>

#include "broadloom/math/isa.h"
#include "broadloom/train/checkpoint.h"
#include "research/lab/gradient_study.h"
#include "research/report/study_results.h"
#include "research/study/plan.h"
#include "research/study/runner.h"
#include "research/study/study_spec.h"
#include "tests/golden/folder.h"
#include "tests/golden/measure.h"

namespace broadloom::golden {
namespace {

// The gradient study of a policy that has trained for the run's iterations.
Result<GradientStudyReport> gradients_of(const Run& run, const std::string& isa,
                                         const GradientStudyOptions& options) {
  BROADLOOM_TRY(set_isa(isa));
  const Result<Config> config = config_of(run, isa);
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 2);
  if (!trainer.ok()) return trainer.status();
  for (int i = 0; i < run.iterations; ++i) BROADLOOM_TRY(trainer.value()->iterate());
  const Folder folder(run.name);
  const std::string checkpoint = folder.at("policy.safetensors");
  BROADLOOM_TRY(save_checkpoint(checkpoint, *trainer.value(), {}));
  return study_gradients(checkpoint, options, {});
}

void add(const CosineSummary& cosine, Numbers& numbers) {
  numbers.add(cosine.pairs);
  numbers.add(cosine.mean);
  numbers.add(cosine.mean_abs);
  numbers.add(cosine.mean_square);
  numbers.add(cosine.histogram);
}

std::uint64_t hash_of(const std::vector<CorrelationResult>& results) {
  Numbers numbers;
  for (const CorrelationResult& r : results) {
    for (const PairCorrelation& pair : r.within) {
      add(pair.cosine, numbers);
      numbers.add(pair.autocovariance);
    }
    add(r.across.cosine, numbers);
    numbers.add(r.across.autocovariance);
    add(r.with_mean, numbers);
    add(r.batch_means, numbers);
    numbers.add(r.batch_mean_matrix);
  }
  return numbers.hash();
}

std::uint64_t hash_of(const std::vector<VarianceResult>& results) {
  Numbers numbers;
  for (const VarianceResult& r : results) {
    for (const Estimate& e :
         {r.total, r.individual, r.within, r.across, r.parts_sum, r.sample_variance, r.squared_norm,
          r.variance_inflation, r.effective_sample_size, r.signal_to_noise, r.noise_scale,
          r.critical_batch}) {
      numbers.add(e);
    }
    numbers.add(r.parts_agree);
    numbers.add(r.within_by_lag);
  }
  return numbers.hash();
}

std::uint64_t hash_of(const std::vector<BiasResult>& results) {
  Numbers numbers;
  for (const BiasResult& r : results) {
    numbers.add(r.samples);
    for (const Estimate& e : {r.bias_squared, r.bias_norm, r.expected_norm, r.reference_norm,
                              r.relative_bias, r.cosine}) {
      numbers.add(e);
    }
    numbers.add(r.precise);
  }
  return numbers.hash();
}

std::uint64_t hash_of(const ExactReport& exact) {
  Numbers numbers;
  numbers.add(exact.mean_episode_length);
  numbers.add(exact.mean_return);
  for (const ExactResult& result : exact.cases) {
    for (const ExactQuantity& quantity : result.quantities) {
      numbers.add(std::string_view(quantity.name));
      numbers.add(quantity.exact);
      if (quantity.sampled) numbers.add(*quantity.sampled);
    }
  }
  return numbers.hash();
}

Result<Lines> lines_of(const Result<GradientStudyReport>& result) {
  if (!result.ok()) return result.status();
  const GradientStudyReport& report = result.value();
  Lines lines;
  if (report.correlation) lines.push_back({"correlation", hash_of(*report.correlation)});
  if (report.variance) lines.push_back({"variance", hash_of(*report.variance)});
  if (report.bias) lines.push_back({"bias", hash_of(*report.bias)});
  if (report.exact) lines.push_back({"exact", hash_of(*report.exact)});
  return lines;
}

}  // namespace

Result<Lines> measure_gradients(const std::string& isa, AtLimit at_limit) {
  const Run run{"gradients_cartpole",
                {{"env_id", "CartPole-v1"},
                 {"max_episode_steps", "12"},
                 {"hidden_sizes", "7"},
                 {"norm_obs", "true"}}};
  GradientStudyOptions options;
  options.shapes = {{4, 8}, {1, 32}};
  options.lambdas = {0.0, 0.95};
  options.lags = {1, 2, 5};
  options.blocks = 10;
  options.bias_budget = 2000;
  options.at_limit = at_limit;
  options.threads = 2;
  return lines_of(gradients_of(run, isa, options));
}

Result<Lines> measure_gradients_of(const std::string& isa, const Overrides& overrides) {
  Overrides all{{"env_id", "CartPole-v1"}, {"max_episode_steps", "12"}, {"hidden_sizes", "7"}};
  all.insert(all.end(), overrides.begin(), overrides.end());
  GradientStudyOptions options;
  options.shapes = {{4, 8}};
  options.lambdas = {0.95};
  options.lags = {1, 5};
  options.blocks = 10;
  options.bias_budget = 2000;
  options.start_envs = 32;
  options.threads = 2;
  return lines_of(gradients_of({"gradients", all}, isa, options));
}

Result<Lines> measure_exact_gradients(const std::string& isa, AtLimit at_limit) {
  const Run run{"gradients_exact",
                {{"env_id", "FrozenLake-v1"}, {"max_episode_steps", "9"}, {"hidden_sizes", "6"}}};
  GradientStudyOptions options;
  options.correlation = false;
  options.exact = true;
  options.shapes = {{4, 4}};
  options.lambdas = {0.9};
  options.blocks = 10;
  options.bias_budget = 2000;
  options.at_limit = at_limit;
  options.threads = 2;
  return lines_of(gradients_of(run, isa, options));
}

Result<Lines> measure_student(const Student& student, const std::string& isa) {
  BROADLOOM_TRY(set_isa(isa));
  const std::string& name = student.run.name;
  const Result<Config> config = config_of({name + "_teacher", student.of_teacher}, isa);
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(config.value(), 2);
  if (!trainer.ok()) return trainer.status();
  BROADLOOM_TRY(trainer.value()->iterate());
  const Folder folder(name);
  const std::string teacher = folder.at("teacher.safetensors");
  BROADLOOM_TRY(save_checkpoint(teacher, *trainer.value(), {}));
  Run run = student.run;
  run.overrides.emplace_back("teacher", teacher);
  return measure_run(run, isa);
}

Result<Lines> measure_study(const std::string& isa) {
  BROADLOOM_TRY(set_isa(isa));
  Result<StudySpec> spec = parse_study(
      "seeds = 2\npoints = 3\nevaluations = 2\n[shapes]\nlist = ['4x16', '8x8']\n"
      "[base]\nenv_id = 'CartPole-v1'\ntotal_timesteps = 512\nhidden_sizes = [8]\n"
      "max_episode_steps = 30\neval_episodes = 3\n[grid]\nlearning_rate = [0.003, 0.0003]\n",
      "study.toml");
  if (!spec.ok()) return spec.status();
  spec.value().base.emplace_back("isa", isa);
  const Result<StudyPlan> plan = plan_study(spec.value());
  if (!plan.ok()) return plan.status();
  const Folder folder("study");
  StudyOptions options;
  options.store = folder.at("study.db");
  options.jobs = 2;
  const Result<StudySummary> summary = run_study(plan.value(), options, {});
  if (!summary.ok()) return summary.status();
  const Result<StudyResults> results = read_study_results(options.store);
  if (!results.ok()) return results.status();

  std::vector<Numbers> parameters(results.value().cells.size()), scores = parameters;
  for (const ResultRun& run : results.value().runs) {
    const auto cell = static_cast<std::size_t>(run.cell);
    parameters[cell].add(std::string_view(run.parameters_hash));
    for (const auto& [key, values] : run.values) {
      scores[cell].add(std::string_view(key));
      scores[cell].add(values);
    }
    scores[cell].add(run.evaluations);
    scores[cell].add(run.training_return);
  }
  Lines lines;
  for (std::size_t cell = 0; cell < scores.size(); ++cell) {
    const std::string name = "cell" + std::to_string(cell + 1);
    lines.push_back({name + ".parameters", parameters[cell].hash()});
    lines.push_back({name + ".scores", scores[cell].hash()});
  }
  return lines;
}

}  // namespace broadloom::golden
