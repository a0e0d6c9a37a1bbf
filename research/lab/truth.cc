#include "research/lab/truth.h"

namespace broadloom {
namespace {

// Added to the seed, for episodes that share no random number with a block. The true gradient and
// the critic have one each: a critic that had learnt the reference's noise would agree with it.
constexpr std::uint64_t kReferenceSeed = 0x9e3779b97f4a7c15, kCriticSeed = 0x3c6ef372fe94f82a;

std::function<Status(double)> about(const TruthSettings& settings, const std::string& what) {
  if (!settings.tell) return {};
  return [&settings, what](double share) { return settings.tell(what, share); };
}

ReferenceGradient uphill(std::vector<double> gradient) {
  for (double& x : gradient) x = -x;
  return ReferenceGradient::exact(std::move(gradient));
}

Status refit(const Policy& policy, const TruthSettings& settings, ThreadPool& pool, Truth& truth) {
  CompleteEpisodes episodes(policy, settings.limit, settings.budget, settings.seed + kCriticSeed,
                            pool);
  Result<std::unique_ptr<CriticFit>> fit =
      fit_critic(policy, episodes, settings.gamma, pool, about(settings, "another critic"));
  if (!fit.ok()) return fit.status();
  truth.fit = fit.take();
  truth.critics.emplace_back("refitted", truth.fit->critic());
  truth.report.refitted = truth.fit->explained_variance();
  return {};
}

// The baseline of the true gradient's returns: of two critics, the one that explains more.
Critic baseline_of(const Truth& truth) {
  const bool is_better = !truth.critics.empty() && truth.report.refitted > truth.report.own;
  return is_better ? truth.critics.front().second : Critic();
}

Status measure(const Policy& policy, const TruthSettings& settings, ThreadPool& pool,
               Truth& truth) {
  CompleteEpisodes episodes(policy, settings.limit, settings.budget, settings.seed + kReferenceSeed,
                            pool);
  Result<ReferenceGradient> reference =
      measure_reference(policy, episodes, settings.gamma, baseline_of(truth), pool,
                        about(settings, "the true gradient"), settings.score);
  if (!reference.ok()) return reference.status();
  truth.reference = reference.take();
  truth.report.samples = truth.reference.samples;
  return {};
}

}  // namespace

Result<Truth> find_truth(const Policy& policy, const ExactGradients* exact,
                         const TruthSettings& settings, ThreadPool& pool) {
  Truth truth;
  // The loss of values has the run's own critic in it. A fit learns from single steps.
  const bool can_refit = settings.score == Score::kLogProb && policy.network.sides_are_apart() &&
                         !policy.network.is_recurrent();
  if (can_refit) BROADLOOM_TRY(refit(policy, settings, pool, truth));
  const RolloutBlock* held_out = truth.fit == nullptr ? nullptr : truth.fit->held_out();
  if (held_out != nullptr) {
    truth.report.own = explained_variance(
        network_critic(policy.network, policy.params, pool, policy.value_norm), *held_out);
  }
  if (exact == nullptr) {
    BROADLOOM_TRY(measure(policy, settings, pool, truth));
    return truth;
  }
  truth.reference = uphill(exact->reference(1, settings.gamma));
  truth.critics.emplace_back("exact", table_critic(exact->state_values(settings.gamma)));
  if (held_out != nullptr) {
    truth.report.exact = explained_variance(truth.critics.back().second, *held_out);
  }
  return truth;
}

}  // namespace broadloom
