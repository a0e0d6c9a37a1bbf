#include "cli/gradients_table.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>

#include "cli/console.h"
#include "research/lab/summary.h"

namespace broadloom::cli {
namespace {

std::string shape_cell(const BlockShape& shape) {
  return fmt::format("{} x {}", shape.num_envs, shape.num_steps);
}

std::string short_number(double x, int digits = 3) {
  return std::isfinite(x) ? fmt::format("{:.{}g}", x, digits) : "-";
}

// "0.123 [0.119, 0.127]"
std::string with_interval(const Estimate& e) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) return short_number(e.value);
  return fmt::format("{} [{}, {}]", short_number(e.value), short_number(e.low),
                     short_number(e.high));
}

// A part as a share of the total, with half its interval.
std::string share(const Estimate& part, const Estimate& total) {
  if (!(total.value > 0.0) || !std::isfinite(part.value)) return "-";
  const double half = 50.0 * (part.high - part.low) / total.value;
  const std::string value = fixed_text(100.0 * part.value / total.value, 1);
  return half > 0.0 ? fmt::format("{} +- {:.1f} %", value, half) : value + " %";
}

void print_head(const GradientStudyReport& r) {
  tell("{} at step {}, one run's policy ({} parameters), {} starts, gamma {:g}\n", r.env_id,
       with_commas(r.global_step), with_commas(static_cast<std::int64_t>(r.policy_parameters)),
       r.starts, r.gamma);
  if (r.loss != "policy") {
    tell("Gradients are those of the {}\n", r.loss == "td" ? "TD loss" : "value loss");
  }
  for (const std::string& line : summary_of(r)) tell("- {}\n", line);
  for (const std::string& note : r.notes) tell("Note: {}\n", note);
}

void print_critics(const CriticReport& critics) {
  std::string text = fmt::format("the run's critic {}", short_number(critics.own, 3));
  for (const auto& [name, explained] : {std::pair("the refitted one", critics.refitted),
                                        std::pair("exact values", critics.exact)}) {
    if (std::isfinite(explained)) text += fmt::format(", {} {}", name, short_number(explained, 3));
  }
  tell("Explained variance of returns: {}.\n", text);
}

void print_agreement(const GradientStudyReport& report) {
  constexpr const char* kRow = "{:>6}  {:<10}  {:<9}  {:<30}  {:<30}  {}\n";
  const std::vector<AgreementResult>& results = *report.agreement;
  tell(
      "\nAgreement: expected cosine of one block's gradient with the true gradient ({} blocks per "
      "shape)\n",
      results.front().blocks);
  if (report.critics && std::isfinite(report.critics->own)) print_critics(*report.critics);
  tell(kRow, "lambda", "N x T", "critic", "raw advantages", "normalised in the block",
       "blocks that point away");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const AgreementResult& plain = results[i];
    const bool has_both = i + 1 < results.size() && results[i + 1].norm_adv;
    const AgreementResult& last = has_both ? results[++i] : plain;
    tell(kRow, fmt::format("{:g}", plain.lambda), shape_cell(plain.shape), plain.critic,
         with_interval(plain.agreement), has_both ? with_interval(last.agreement) : "-",
         std::isfinite(last.away.value) ? fmt::format("{:.0f} %", 100.0 * last.away.value) : "-");
  }
}

void print_variance(const std::vector<VarianceResult>& results) {
  constexpr const char* kRow = "{:>6}  {:<10}  {:<32}  {:>14}  {:>14}  {:>14}  {:<22}  {:>8}  {}\n";
  tell("\nVariance of the batch gradient, Tr Cov(G_B), and its parts ({} blocks per shape)\n",
       results.front().blocks);
  tell(kRow, "lambda", "N x T", "total [95 % interval]", "samples", "within", "across",
       "inflation VIF", "B / VIF", "signal to noise");
  for (const VarianceResult& r : results) {
    tell(kRow, fmt::format("{:g}", r.lambda), shape_cell(r.shape), with_interval(r.total),
         share(r.individual, r.total), share(r.within, r.total), share(r.across, r.total),
         with_interval(r.variance_inflation), short_number(r.effective_sample_size.value),
         with_interval(r.signal_to_noise));
  }
}

void print_correlation(const std::vector<CorrelationResult>& results) {
  constexpr const char* kRow = "{:>6}  {:<10}  {:<28}  {:>11}  {:>12}  {:<28}\n";
  tell(
      "\nSimilarity of gradients ({} blocks per shape): autocovariance of samples one step apart;\n"
      "|cos| of centred samples one step apart, and of different trajectories; cosine of block "
      "means\n",
      results.front().blocks);
  tell(kRow, "lambda", "N x T", "autocovariance, lag 1", "|cos| lag 1", "|cos| across",
       "cosine of blocks");
  for (const CorrelationResult& r : results) {
    const PairCorrelation* first = r.within.empty() ? nullptr : &r.within.front();
    const bool lag_one = first != nullptr && first->lag == 1;
    tell(kRow, fmt::format("{:g}", r.lambda), shape_cell(r.shape),
         lag_one ? with_interval(first->autocovariance) : "-",
         lag_one ? short_number(first->cosine.mean_abs.value) : "-",
         short_number(r.across.cosine.mean_abs.value), with_interval(r.batch_means.mean));
  }
}

void print_bias(const std::vector<BiasResult>& results) {
  constexpr const char* kRow = "{:>6}  {:>6}  {:>6}  {:<30}  {:<28}  {:<26}  {}\n";
  tell("\nBias of the batch gradient, compared with complete episodes\n");
  tell(kRow, "lambda", "gamma", "T", "|E G_B - G_T|", "relative to |G_T|", "cosine", "");
  for (const BiasResult& r : results) {
    tell(kRow, fmt::format("{:g}", r.lambda), fmt::format("{:g}", r.gamma), r.num_steps,
         with_interval(r.bias_norm), with_interval(r.relative_bias), with_interval(r.cosine),
         r.precise ? "" : "budget spent before the target precision");
  }
}

void print_exact(const ExactReport& report) {
  constexpr const char* kRow = "{:>6}  {:>6}  {:>6}  {:<16}  {:>12}  {:<30}  {}\n";
  tell("\nExact solution: {} states, {} actions, mean episode {} steps, mean return {}\n",
       report.states, report.actions, fixed_text(report.mean_episode_length, 2),
       short_number(report.mean_return, 4));
  tell(kRow, "lambda", "gamma", "T", "", "exact", "sampled", "");
  for (const ExactResult& r : report.cases) {
    for (const ExactQuantity& q : r.quantities) {
      tell(kRow, fmt::format("{:g}", r.lambda), fmt::format("{:g}", r.gamma), r.num_steps, q.name,
           short_number(q.exact, 6), q.sampled ? with_interval(*q.sampled) : "-",
           !q.sampled                  ? ""
           : q.sampled->holds(q.exact) ? "agrees"
                                       : "outside the interval");
    }
  }
}

}  // namespace

void print_gradients(const GradientStudyReport& report) {
  print_head(report);
  if (report.agreement && !report.agreement->empty()) print_agreement(report);
  if (report.variance && !report.variance->empty()) print_variance(*report.variance);
  if (report.correlation && !report.correlation->empty()) print_correlation(*report.correlation);
  if (report.bias && !report.bias->empty()) print_bias(*report.bias);
  if (report.exact) print_exact(*report.exact);
}

}  // namespace broadloom::cli
