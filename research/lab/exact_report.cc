#include "research/lab/exact_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/setup/settings.h"

namespace broadloom {
namespace {

double inner(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

std::optional<Estimate> where_known(const Estimate& e) {
  return std::isfinite(e.value) ? std::make_optional(e) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<ExactGradients>> solve_exactly(const Policy& policy, Starts starts,
                                                      bool continued) {
  const Result<TabularModel> model =
      make_tabular_model(policy.config.env_id, policy.config.env_options);
  if (!model.ok()) return model.status();
  if (policy.obs_norm != nullptr || policy.reward_norm != nullptr) {
    return Status(ErrorKind::kInvalidConfig,
                  "the exact study needs observations and rewards as the environment gives them, "
                  "but this run normalises them; train with norm_obs=false and norm_reward=false");
  }
  if (policy.network.shape().critic_observation_size > 0) {
    return Status(ErrorKind::kInvalidConfig,
                  "the exact study needs a critic that reads the table's states, but this run's "
                  "reads observations of its own; leave the exact study out");
  }
  return ExactGradients::create(
      model.value(), policy.network, policy.params,
      {policy.spec.max_episode_steps, truncation_mode(policy.config),
       starts == Starts::kSynchronised, continued,
       policy.value_norm == nullptr ? ValueUnit{} : policy.value_norm->unit()});
}

ExactReport exact_report(const Policy& policy, ExactGradients& exact,
                         const std::vector<BiasResult>& bias,
                         const std::vector<VarianceResult>& variance, double gamma,
                         std::vector<std::string>& notes) {
  ExactReport report;
  report.states = policy.network.shape().observation_size;
  report.actions = policy.network.shape().action_outputs;
  report.max_episode_steps = policy.spec.max_episode_steps;
  report.mean_episode_length = exact.mean_episode_length();
  report.mean_return = exact.mean_return();
  bool is_noted = false;
  for (const BiasResult& b : bias) {
    const ExactCase exact_case{b.num_steps, b.lambda, b.gamma};
    const std::vector<double> expected = exact.expected(exact_case);
    const std::vector<double> reference = exact.reference(b.num_steps, b.gamma);
    std::vector<double> difference = expected;
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= reference[i];
    const double expected_norm = std::sqrt(inner(expected, expected));
    const double reference_norm = std::sqrt(inner(reference, reference));
    ExactResult result;
    result.num_steps = b.num_steps;
    result.lambda = b.lambda;
    result.gamma = b.gamma;
    result.quantities = {{"expected_norm", expected_norm, b.expected_norm},
                         {"reference_norm", reference_norm, b.reference_norm},
                         {"bias_norm", std::sqrt(inner(difference, difference)), b.bias_norm},
                         {"cosine", inner(expected, reference) / (expected_norm * reference_norm),
                          where_known(b.cosine)}};
    const auto sampled =
        std::find_if(variance.begin(), variance.end(), [&](const VarianceResult& v) {
          return v.shape.num_steps == b.num_steps && v.lambda == b.lambda && b.gamma == gamma;
        });
    if (sampled != variance.end()) {
      result.num_envs = sampled->shape.num_envs;
      const Result<ExactVariance> solved = exact.variance(exact_case, result.num_envs);
      if (solved.ok()) {
        result.quantities.push_back({"total", solved.value().total, sampled->total});
      } else if (!is_noted) {
        notes.push_back(fmt::format("No exact variance: {}.", solved.status().message()));
        is_noted = true;
      }
    }
    report.cases.push_back(std::move(result));
  }
  return report;
}

}  // namespace broadloom
