// All results of one study of a policy's gradients. File format: docs/formats/gradients.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "research/lab/agreement.h"
#include "research/lab/bias.h"
#include "research/lab/correlation.h"
#include "research/lab/truth.h"
#include "research/lab/variance.h"

namespace broadloom {

// An exact number, beside the sampled one if there is one.
struct ExactQuantity {
  std::string name;
  double exact = 0.0;
  std::optional<Estimate> sampled;
};

struct ExactResult {
  int num_steps = 1;
  int num_envs = 1;  // for `total`, Tr Cov(G_B); the other quantities do not depend on it
  double lambda = 0.0, gamma = 0.0;
  std::vector<ExactQuantity> quantities;
};

struct ExactReport {
  int states = 0, actions = 0, max_episode_steps = 0;
  double mean_episode_length = 0.0, mean_return = 0.0;
  std::vector<ExactResult> cases;
};

struct GradientStudyReport {
  std::vector<std::string> command;  // arguments that produced it

  std::string checkpoint, env_id;
  std::int64_t iteration = 0, global_step = 0;

  std::string loss = "policy";        // whose gradient it is: policy, value or td
  std::size_t policy_parameters = 0;  // that the loss can move
  Config config;                      // of the run

  int batch = 0, blocks = 0, groups = 0, burn_in = 0, threads = 1;
  int start_envs = 0;  // environments whose states stationary blocks begin in; 0: synchronised
  std::string starts, truncation_mode;
  int max_episode_steps = 0;  // the time limit; 0: none
  int beyond_limit = 0;       // steps that returns look past it; 0: the limit is an end
  bool norm_adv = false, value_term = false, entropy_term = false;
  double gamma = 0.0, gae_lambda = 0.0;  // of the run
  std::vector<double> lambdas;           // measured ones
  std::uint64_t seed = 0;

  std::vector<std::string> notes;  // sentences that a reader must know
  bool stopped = false;            // before its end, so that shapes or the bias are missing
  std::vector<std::pair<std::string, double>> seconds;

  std::optional<std::vector<AgreementResult>> agreement;
  std::optional<CriticReport> critics;  // critics of the agreement study
  std::optional<std::vector<CorrelationResult>> correlation;
  std::optional<std::vector<VarianceResult>> variance;
  std::optional<std::vector<BiasResult>> bias;
  std::optional<ExactReport> exact;
};

}  // namespace broadloom
