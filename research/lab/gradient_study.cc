#include "research/lab/gradient_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "broadloom/config/shapes.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/settings.h"
#include "research/lab/exact_report.h"
#include "research/lab/study_options.h"
#include "research/lab/truth.h"

namespace broadloom {
namespace {

constexpr int kVarianceBlocks = 1000;
constexpr int kCorrelationBlocks = 200;
constexpr int kBlockGroups = 40;
constexpr int kMatrixRows = 24;
constexpr int kRowsOfBlocks = 1 << 17;
constexpr double kMostBytesOfSums = 8e9;  // of sums that a shape's studies store
constexpr double kMostRoundBytes = 1e9;   // of gradients of a round's blocks

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// All that one thread needs to process a block.
struct Worker {
  Worker(const Policy& policy, const EstimatorSettings& settings) : reader(policy, settings) {}
  BlockReader reader;
  BlockRows rows;
  VarianceStudy::Scratch scratch;
  AgreementStudy::Scratch agreement;
};

class Laboratory {
 public:
  Laboratory(const Policy& policy, GradientStudyOptions options, const GradientProgress& progress)
      : o_(std::move(options)), progress_(progress), policy_(policy), pool_(o_.threads) {
    settings_.gamma = policy.config.gamma;
    settings_.lambdas = o_.lambdas;
    settings_.norm_adv = o_.norm_adv;
    settings_.terms = {o_.entropy_term, o_.value_term, policy.config.ent_coef,
                       policy.config.vf_coef, score_of(o_.loss)};
    settings_.window = policy.config.sequence_length;
  }

  Status run(GradientStudyReport& report) {
    BROADLOOM_TRY(pool_.status());
    weigh_parts();
    BROADLOOM_TRY(check_sums());
    const Stopwatch whole;
    if (o_.exact || o_.agreement) BROADLOOM_TRY(solve());
    if (!o_.synchronised) {
      BROADLOOM_TRY(StartPool::check(policy_));
      const Stopwatch watch;
      tell(kBurnIn, 0.0);
      Result<StartPool> starts = StartPool::create(policy_, o_.seed, pool_, o_.start_envs);
      if (!starts.ok()) {
        return {starts.status().kind(), fmt::format("while {} environments were burnt in "
                                                    "(start_envs): {}",
                                                    o_.start_envs, starts.status().message())};
      }
      starts_ = starts.take();
      report.burn_in = starts_->burn_in();
      report.start_envs = o_.start_envs;
      report.seconds.emplace_back("burn_in", watch.seconds());
    }
    BROADLOOM_TRY(go_on());
    ++part_;
    if (o_.agreement) BROADLOOM_TRY(find_reference(report));
    part_ = 3;
    if (o_.agreement || o_.correlation || o_.variance) BROADLOOM_TRY(run_blocks(report));
    BROADLOOM_TRY(go_on());
    ++part_;
    if (o_.bias) BROADLOOM_TRY(run_bias(report));
    if (o_.exact) {
      report.exact = exact_report(policy_, *exact_, *report.bias, *report.variance, settings_.gamma,
                                  report.notes);
    }
    report.seconds.emplace_back("total", whole.seconds());
    return {};
  }

  // Whether should_stop ended the run.
  bool was_stopped() const { return stopped_; }

 private:
  const StartPool* starts() const { return starts_ ? &*starts_ : nullptr; }

  // The parts in transitions: starts, critic, true gradient, blocks, bias. A transition of a block
  // costs about three others, since it is read under each critic and lambda.
  void weigh_parts() {
    const auto budget = static_cast<double>(o_.bias_budget);
    const auto shapes = static_cast<double>(o_.shapes.size());
    const bool has_blocks = most_blocks() > 0;
    const double per_shape = o_.shapes.empty() ? 0.0 : most_blocks() * o_.shapes.front().batch();
    weights_ = {o_.synchronised ? 0.0 : 0.1 * budget, o_.agreement ? budget : 0.0,
                o_.agreement ? budget : 0.0, has_blocks ? 3.0 * shapes * per_shape : 0.0,
                o_.bias ? budget : 0.0};
  }

  void tell(const std::string& what, double share) const {
    if (!progress_) return;
    double done = 0.0, all = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      all += weights_[i];
      done += i < part_ ? weights_[i] : i == part_ ? share * weights_[i] : 0.0;
    }
    progress_(what, all > 0.0 ? done / all : 0.0);
  }

  Status go_on() {
    stopped_ = o_.should_stop && o_.should_stop();
    if (!stopped_) return {};
    return invalid("the study of gradients was stopped before its first estimate");
  }

  Status tell_and_go_on(const std::string& what, double share) {
    tell(what, share);
    return go_on();
  }

  int blocks_of(bool wanted, int by_default) const {
    return !wanted ? 0 : o_.blocks > 0 ? o_.blocks : by_default;
  }
  int most_blocks() const {
    return std::max(blocks_of(o_.agreement || o_.variance, kVarianceBlocks),
                    blocks_of(o_.correlation, kCorrelationBlocks));
  }

  // Vectors of P numbers: two sums per group in double, means of 400 blocks and a round's in float.
  Status check_sums() const {
    const std::size_t P = policy_.network.parameter_count();
    const double vectors = static_cast<double>(P) * static_cast<double>(o_.lambdas.size());
    const double bytes = vectors * (2.0 * 8.0 * kBlockGroups + 4.0 * std::min(400, most_blocks()));
    if (most_blocks() == 0 || bytes <= kMostBytesOfSums) return {};
    return invalid(
        fmt::format("the studies would keep {:.1f} GB of gradients with {} parameters; "
                    "give fewer lambdas or blocks",
                    bytes * 1e-9, P));
  }

  // Runs first, so that an unsolvable task fails before any sampling. If only the agreement is
  // wanted, a task is solved if possible.
  Status solve() {
    if (o_.loss != MeasuredLoss::kPolicy || policy_.network.is_recurrent()) return {};
    Result<std::unique_ptr<ExactGradients>> exact =
        solve_exactly(policy_, o_.synchronised ? Starts::kSynchronised : Starts::kStationary,
                      o_.beyond_limit > 0);
    if (exact.ok()) exact_ = exact.take();
    return o_.exact ? exact.status() : Status();
  }

  Status find_reference(GradientStudyReport& report) {
    const Stopwatch watch;
    TruthSettings settings{{policy_.spec.max_episode_steps, o_.beyond_limit},
                           settings_.gamma,
                           o_.bias_budget,
                           o_.seed,
                           score_of(o_.loss),
                           [this](const std::string& what, double share) {
                             part_ = what == "the true gradient" ? 2 : 1;
                             return tell_and_go_on(what, share);
                           }};
    Result<Truth> truth = find_truth(policy_, exact_.get(), settings, pool_);
    if (!truth.ok()) return truth.status();
    truth_ = truth.take();
    report.agreement.emplace();
    report.critics = truth_.report;
    report.seconds.emplace_back("reference", watch.seconds());
    return {};
  }

  // Notes that keep a reader from overrating the results.
  static void note_agreement(GradientStudyReport& report) {
    const bool unknown =
        std::any_of(report.agreement->begin(), report.agreement->end(),
                    [](const AgreementResult& r) { return std::isnan(r.agreement.value); });
    if (unknown) {
      report.notes.push_back(
          "The true gradient cannot be told from zero with the transitions of its budget, so there "
          "is no agreement with it; a larger --bias_budget may tell.");
    }
    if (!report.critics || std::isnan(report.critics->refitted)) return;
    if (report.critics->refitted > report.critics->own) return;
    report.notes.push_back(fmt::format(
        "The refitted critic explains {} of the variance of returns, which is not found to be more "
        "than the run's own critic does ({}), so its results say nothing of a better critic. A "
        "larger --bias_budget fits it longer.",
        share_words(report.critics->refitted), share_words(report.critics->own)));
  }
  static std::string share_words(double share) {
    return std::isnan(share) ? "an unknown share" : fmt::format("{:.0f} %", 100.0 * share);
  }

  // Each lambda under each critic, without and with normalised advantages. The losses of values
  // have no advantages to normalise.
  std::vector<AgreementCase> agreement_cases() const {
    std::vector<AgreementCase> cases;
    std::vector<std::string> critics(1, "own");
    for (const auto& [name, critic] : truth_.critics) critics.push_back(name);
    for (const std::string& critic : critics) {
      for (const double lambda : o_.lambdas) {
        cases.push_back({lambda, critic, false});
        if (o_.loss == MeasuredLoss::kPolicy) cases.push_back({lambda, critic, true});
      }
    }
    return cases;
  }

  Status run_blocks(GradientStudyReport& report) {
    const Stopwatch watch;
    if (o_.correlation) report.correlation.emplace();
    if (o_.variance) report.variance.emplace();
    Status status;  // a stopped study keeps its shapes, and needs their notes too
    for (std::size_t s = 0; status.ok() && s < o_.shapes.size(); ++s) {
      const BlockShape shape = o_.shapes[s];
      const auto tell_share = [&](double of_shape) {
        tell(fmt::format("{} x {}", shape.num_envs, shape.num_steps),
             (static_cast<double>(s) + of_shape) / static_cast<double>(o_.shapes.size()));
      };
      status = run_shape(shape, tell_share, report);
    }
    for (const VarianceResult& r : report.variance.value_or(std::vector<VarianceResult>{})) {
      if (r.parts_agree) continue;
      report.notes.push_back(fmt::format(
          "The parts of the variance do not add up at {} x {}, lambda {}: do not trust that case.",
          r.shape.num_envs, r.shape.num_steps, r.lambda));
    }
    if (report.agreement) note_agreement(report);
    report.seconds.emplace_back("blocks", watch.seconds());
    return status;
  }

  // Collects independent blocks of one shape, many side by side. Each goes to the studies that
  // still need one.
  Status run_shape(BlockShape shape, const std::function<void(double)>& tell_share,
                   GradientStudyReport& report) {
    const std::size_t P = policy_.network.parameter_count();
    const int for_variance = blocks_of(o_.variance, kVarianceBlocks);
    const int for_agreement = blocks_of(o_.agreement, kVarianceBlocks);
    const int for_correlation = blocks_of(o_.correlation, kCorrelationBlocks);
    const int blocks = most_blocks();
    const double vectors = static_cast<double>(P) * static_cast<double>(o_.lambdas.size());
    const int fitting = static_cast<int>(std::min(1e6, kMostRoundBytes / (8.0 * vectors)));
    VarianceStudy variance(shape, o_.lambdas, P, std::max(1, for_variance),
                           std::min(kBlockGroups, std::max(1, for_variance)));
    CorrelationStudy correlation(shape, o_.lambdas, o_.lags, P, std::max(1, for_correlation),
                                 std::min(kBlockGroups, std::max(1, for_correlation)), o_.seed,
                                 kMatrixRows);
    AgreementStudy agreement(shape, agreement_cases(), truth_.reference, std::max(1, for_agreement),
                             std::min(kBlockGroups, std::max(1, for_agreement)));
    std::vector<std::unique_ptr<Worker>> workers;
    workers.reserve(static_cast<std::size_t>(pool_.threads()));
    for (int t = 0; t < pool_.threads(); ++t) {
      workers.push_back(std::make_unique<Worker>(policy_, settings_));
    }
    BlockSource source(policy_, starts(), o_.seed, pool_);
    const int per_round = std::max(1, std::min(fitting, kRowsOfBlocks / shape.batch()));
    for (int first = 0, round = 0; first < blocks; first += per_round, ++round) {
      tell_share(static_cast<double>(first) / blocks);
      BROADLOOM_TRY(go_on());
      const int copies = std::min(per_round, blocks - first);
      Result<std::unique_ptr<FrozenBlock>> block =
          source.collect(shape, copies, static_cast<std::uint64_t>(round));
      if (!block.ok()) return block.status();
      const std::vector<std::vector<float>> advantages = advantages_of(*block.value());
      std::vector<AgreementStudy::Products> agreements(static_cast<std::size_t>(copies));
      std::vector<std::vector<BlockMoments>> moments(static_cast<std::size_t>(copies));
      std::vector<std::vector<CorrelationStudy::Moments>> correlations(moments.size());
      pool_.run(copies, [&](int copy, int thread) {
        Worker& worker = *workers[static_cast<std::size_t>(thread)];
        worker.reader.read(*block.value(), advantages, shape, copy, worker.rows);
        const int index = first + copy;
        if (index < for_agreement) {
          agreements[copy] = agreement.measure(worker.rows, worker.agreement);
        }
        worker.rows.weights.resize(o_.lambdas.size());  // of its own critic
        if (index < for_variance) {
          moments[copy] = variance.measure(worker.rows, variance.to_check(index), worker.scratch);
        }
        if (index < for_correlation) correlations[copy] = correlation.measure(worker.rows, index);
      });
      for (int copy = 0; copy < copies; ++copy) {
        if (!agreements[copy].empty()) agreement.fold(agreements[copy]);
        if (!moments[copy].empty()) variance.fold(moments[copy]);
        if (!correlations[copy].empty()) correlation.fold(std::move(correlations[copy]));
      }
    }
    if (o_.agreement) append(agreement.results(), *report.agreement);
    if (o_.variance) append(variance.results(), *report.variance);
    if (o_.correlation) append(correlation.results(), *report.correlation);
    report.blocks = blocks;
    report.groups = std::min(kBlockGroups, blocks);
    return {};
  }

  // Advantages under each critic, for every lambda; the run's own critic first.
  std::vector<std::vector<float>> advantages_of(FrozenBlock& block) const {
    const auto of_lambdas = [&] {
      return advantages_by_lambda(block, settings_.gamma, settings_.lambdas,
                                  truncation_mode(policy_.config), gae_weights(policy_.config));
    };
    std::vector<std::vector<float>> advantages = of_lambdas();
    for (const auto& [name, critic] : truth_.critics) {
      value_by(critic, block);
      append(of_lambdas(), advantages);
    }
    return advantages;
  }

  template <class T>
  static void append(std::vector<T> source, std::vector<T>& target) {
    for (T& x : source) target.push_back(std::move(x));
  }

  Status run_bias(GradientStudyReport& report) {
    const Stopwatch watch;
    BiasSettings settings;
    settings.on_round = [this](double share) {
      return tell_and_go_on("bias, of its budget at most", share);
    };
    settings.num_steps = o_.bias_steps;
    settings.lambdas = o_.lambdas;
    settings.gammas = o_.gammas;
    settings.precision = o_.bias_precision;
    settings.budget = o_.bias_budget;
    settings.beyond = o_.beyond_limit;
    settings.score = score_of(o_.loss);
    settings.window = policy_.config.sequence_length;
    Result<std::vector<BiasResult>> results =
        study_bias(policy_, starts(), settings, o_.seed, pool_);
    if (!results.ok()) return results.status();
    report.bias = results.take();
    report.seconds.emplace_back("bias", watch.seconds());
    return {};
  }

  GradientStudyOptions o_;
  const GradientProgress& progress_;
  const Policy& policy_;
  ThreadPool pool_;
  EstimatorSettings settings_;
  std::array<double, 5> weights_{};
  std::size_t part_ = 0;
  bool stopped_ = false;
  std::optional<StartPool> starts_;
  std::unique_ptr<ExactGradients> exact_;
  Truth truth_;
};

// The shapes that were measured: each study measures all of them in turn.
std::size_t measured_shapes(const GradientStudyReport& report) {
  std::set<std::pair<int, int>> shapes;
  const auto add = [&](const auto& results) {
    if (!results) return;
    for (const auto& r : *results) shapes.emplace(r.shape.num_envs, r.shape.num_steps);
  };
  add(report.agreement);
  add(report.correlation);
  add(report.variance);
  return shapes.size();
}

// The studies keep only what they have of whole shapes.
void note_stop(const GradientStudyOptions& o, GradientStudyReport& report) {
  report.stopped = true;
  std::string note = fmt::format("The study was stopped: {} of {} shapes were measured",
                                 measured_shapes(report), o.shapes.size());
  if (o.bias && !report.bias) note += ", and the bias was not";
  report.notes.push_back(note + ".");
}

GradientStudyReport describe(const Policy& policy, const GradientStudyOptions& o) {
  const Config& config = policy.config;
  GradientStudyReport r;
  r.checkpoint = policy.origin.checkpoint;
  r.env_id = config.env_id;
  r.iteration = policy.origin.iteration;
  r.global_step = policy.origin.global_step;
  r.policy_parameters = scored_parameter_count(policy.network, score_of(o.loss));
  r.loss = loss_name(o.loss);
  r.config = config;
  r.batch = o.batch;
  r.threads = o.threads;
  r.starts = o.synchronised ? "synchronised" : "stationary";
  r.truncation_mode = config.truncation_mode;
  r.max_episode_steps = policy.spec.max_episode_steps;
  r.beyond_limit = o.beyond_limit;
  r.norm_adv = o.norm_adv;
  r.value_term = o.value_term;
  r.entropy_term = o.entropy_term;
  r.gamma = config.gamma;
  r.gae_lambda = config.gae_lambda;
  r.lambdas = o.lambdas;
  r.seed = o.seed;
  r.notes = notes_of(config, o);
  return r;
}

}  // namespace

std::vector<BlockShape> factorisations(int batch) {
  std::vector<BlockShape> shapes;
  for (int num_envs = 1; num_envs <= batch; ++num_envs) {
    if (batch % num_envs == 0) shapes.push_back({num_envs, batch / num_envs});
  }
  return shapes;
}

Result<GradientStudyReport> study_gradients(const std::string& run_or_checkpoint,
                                            const GradientStudyOptions& options,
                                            const GradientProgress& progress) {
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const Result<std::unique_ptr<LoadedPolicy>> loaded = LoadedPolicy::load(found.value());
  if (!loaded.ok()) return loaded.status();
  Result<GradientStudyReport> report = study_gradients(loaded.value()->view(), options, progress);
  const std::string& note = loaded.value()->note();
  if (report.ok() && !note.empty()) report.value().notes.push_back(note);
  return report;
}

Result<GradientStudyReport> study_gradients(const Policy& policy,
                                            const GradientStudyOptions& options,
                                            const GradientProgress& progress) {
  if (options.threads < 1) {
    return invalid(fmt::format("threads is {}; expected at least 1", options.threads));
  }
  GradientStudyOptions completed = options;
  std::vector<std::string> notes;
  BROADLOOM_TRY(complete(policy, completed, notes));
  GradientStudyReport report = describe(policy, completed);
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  Laboratory laboratory(policy, completed, progress);
  const Status status = laboratory.run(report);
  if (status.ok()) return report;
  if (!laboratory.was_stopped() || measured_shapes(report) == 0) return status;
  note_stop(completed, report);
  return report;
}

}  // namespace broadloom
