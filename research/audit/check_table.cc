#include "research/audit/check_table.h"

#include <algorithm>
#include <cmath>

#include "broadloom/config/budget.h"
#include "research/audit/evidence.h"

namespace broadloom {
namespace {

constexpr double kNone = AuditNumbers::kNone;
using Numbers = AuditNumbers;

// Where noise could pass a limit, the median of iterations is judged; what must never be, at its
// worst.
template <double Numbers::*Field>
double median(const Evidence& evidence) {
  return median_of(evidence.iterations, [](const Numbers& n) { return n.*Field; });
}
template <double Numbers::*Field>
double largest(const Evidence& evidence) {
  return largest_of(evidence.iterations, [](const Numbers& n) { return n.*Field; });
}
template <double RunFacts::*Field>
double fact(const Evidence& evidence) {
  return evidence.facts.*Field;
}

// A block as long as an episode sees every phase of it, whoever is in step with whom.
double synchronised(const Evidence& evidence) {
  if (evidence.facts.num_steps >= evidence.facts.episode_length) return kNone;
  return median<&Numbers::phase_concentration>(evidence);
}

double one_family(const Evidence& evidence) {
  return evidence.facts.num_envs > 1 ? 1.0 / evidence.facts.families : kNone;
}

double frozen_statistics(const Evidence& evidence) {
  return largest_of(evidence.iterations,
                    [](const Numbers& n) { return std::abs(n.obs_gain - 1.0); });
}

// Of all ends of all iterations.
double biased_truncations(const Evidence& evidence) {
  if (evidence.facts.bootstraps) return kNone;
  return truncation_share(evidence.iterations);
}

// How far apart the exact KL and its two estimates lie.
double kl_spread(const Evidence& evidence) {
  return median_of(evidence.iterations, [](const Numbers& n) {
    return std::max({n.kl, n.kl_k1, n.kl_k3}) - std::min({n.kl, n.kl_k1, n.kl_k3});
  });
}

double linear_left(const Evidence& evidence) {
  return evidence.facts.lr_schedule == "linear" ? evidence.facts.learning_rate_left : kNone;
}

constexpr AuditCheck kChecks[] = {
    {"synchronised_resets",
     synchronised,
     Bad::kAbove,
     {.warning = 0.25},
     "Two environments are at the same step of their episodes with probability {value:.2f} (limit "
     "{limit:g}).",
     "A block of {T} steps sees one phase of all {N} episodes at a time. Set stagger_starts = "
     "true."},
    {"duplicate_environments",
     median<&Numbers::duplicate_columns>,
     Bad::kAbove,
     {.warning = 0.1, .error = 0.5},
     "{percent:.3g} % of the {N} environments have the same {T} steps, to the bit, as one of "
     "another seed family (limit {limit_percent:g} %).",
     "Copies add no samples. Give every environment draws of its own: look at how your simulator "
     "seeds itself, and at its resets. Or many states lead to one, as at a wall, and a policy that "
     "has made up its mind goes on alike from there."},
    {"repeated_environments",
     median<&Numbers::repeated_columns>,
     Bad::kAbove,
     {.note = 0.5},
     "{percent:.3g} % of the {N} environments have the same {T} steps as another one (limit "
     "{limit_percent:g} %).",
     "With few states and a policy that has made up its mind this is normal, but a batch then "
     "holds fewer different samples than its size says. Fewer environments would do as well."},
    {"family_environments",
     median<&Numbers::family_columns>,
     Bad::kAbove,
     {.note = 0.0, .warning = 0.5},
     "{percent:.3g} % of the {N} environments have the same {T} steps, to the bit, as one of their "
     "own seed family (limit {limit_percent:g} %).",
     "They share every draw, and the policy is too certain to part them. Raise seed_families "
     "(now {F}), or set it to 0."},
    {"seed_families",
     one_family,
     Bad::kAbove,
     {.warning = 0.5},
     "Of all environments, each seed family holds {percent:.3g} % (limit {limit_percent:g} %).",
     "All {N} environments draw the same episodes: the batch is wide in actions alone. Raise "
     "seed_families (now {F}), or set it to 0."},
    {"correlated_environments",
     median<&Numbers::effective_envs>,
     Bad::kBelow,
     {.warning = 0.1},
     "TD errors of the {N} environments vary together: they count as {percent:.3g} % as many "
     "independent ones (limit {limit_percent:g} %).",
     "They rise and fall in the same step. Set stagger_starts = true, raise "
     "seed_families (now {F}) where it is less than {N}, and look for what your environments "
     "share."},
    {"parameter_draws",
     median<&Numbers::distinct_draws>,
     Bad::kBelow,
     {.warning = 0.99, .error = 0.5},
     "{percent:.3g} % of the {F} seed families have drawn constants that no other has (limit "
     "{limit_percent:g} %).",
     "Families that draw the same from [strata] do not widen the batch. Look at how draws are "
     "made: each must follow from its family."},
    {"kept_draws",
     largest<&Numbers::kept_draws>,
     Bad::kAbove,
     {.warning = 0.01, .error = 0.5},
     "{percent:.3g} % of the environments that began a new episode kept the constants of the old "
     "one (limit {limit_percent:g} %).",
     "A draw must follow from the episode's number. Look at how draws are made."},
    {"same_tasks",
     median<&Numbers::shared_context>,
     Bad::kAbove,
     {.warning = 0.9},
     "Two environments are given the same {context} with probability {value:.2f} (limit "
     "{limit:g}).",
     "All are asked to do the same, or stand in the same place, and the policy learns nothing "
     "else. Look at the options that fix it, and at how it is drawn: from each environment's own "
     "stream, and anew for each episode."},
    {"same_starts",
     fact<&RunFacts::same_starts>,
     Bad::kAbove,
     {.warning = 0.01, .error = 0.5},
     "{percent:.3g} % of the {F} seed families begin their first episode in the same state as "
     "another one (limit {limit_percent:g} %).",
     "A reset must draw from the environment's own stream. Look at how resets are seeded."},
    {"evaluation_starts",
     fact<&RunFacts::evaluation_starts>,
     Bad::kAbove,
     {.error = 0.05},
     "{percent:.3g} % of the evaluation episodes begin in a state that training begins in (limit "
     "{limit_percent:g} %).",
     "They are no test of what was not seen. Evaluate with draws that training never makes."},
    {"panel_starts",
     fact<&RunFacts::panel_starts>,
     Bad::kAbove,
     {.error = 0.05},
     "{percent:.3g} % of the panel's episodes begin in a state that training's streams begin in "
     "(limit {limit_percent:g} %).",
     "They are not held out. Look at how your simulator seeds itself: from the key that it is "
     "given, and from nothing else."},
    {"panel_worlds",
     fact<&RunFacts::panel_worlds>,
     Bad::kAbove,
     {.warning = 0.0},
     "{percent:.3g} % of the panel's rows are played in worlds made from seeds that training's are "
     "made from (limit {limit_percent:g} %).",
     "Starts and commands are held out, the ground or the levels are not: what is learnt by heart "
     "there counts as success. Give the panel's [env] other seeds of worlds."},
    {"evaluation_seeds",
     fact<&RunFacts::evaluation_overlaps>,
     Bad::kAbove,
     {.error = 0.0},
     "{value:.0f} random streams serve both training and evaluation (limit {limit:g}){collision}.",
     "The evaluation was seen in training. Evaluate with other seeds or streams."},
    {"stream_collisions",
     fact<&RunFacts::collisions>,
     Bad::kAbove,
     {.error = 0.0},
     "{value:.0f} pairs of random streams draw the same numbers (limit {limit:g}){collision}.",
     "What should be independent is not. Give every purpose a number of its own."},

    {"normaliser_mean",
     median<&Numbers::obs_mean>,
     Bad::kAbove,
     {.warning = 3.0},
     "The block's normalised observations have a mean of {value:.2f} standard deviations in the "
     "worst dimension (limit {limit:g}).",
     "The statistics are of states that the policy no longer meets. Where this lasts, restart "
     "with fresh statistics, or train without norm_obs on units that you scale yourself."},
    {"normaliser_variance",
     median<&Numbers::obs_variance>,
     Bad::kAbove,
     {.warning = 10.0},
     "The block's normalised observations have a variance of {value:.2f} in the worst dimension "
     "(limit {limit:g}, 1 where the statistics are true).",
     "The statistics are of narrower states than those that the policy meets now. Where this "
     "lasts, restart with fresh statistics, or train without norm_obs."},
    {"normaliser_clipping",
     median<&Numbers::obs_clipped>,
     Bad::kAbove,
     {.warning = 0.01},
     "{percent:.3g} % of the normalised observations stand at clip_obs (limit {limit_percent:g} "
     "%).",
     "The policy cannot tell these states apart. Raise clip_obs, or bound the observation."},
    {"normaliser_frozen",
     frozen_statistics,
     Bad::kAbove,
     {.warning = 1e-3},
     "An update moved the normaliser's count by {percent:.3g} % more or less than its block "
     "(limit {limit_percent:g} %).",
     "The statistics do not take in what the policy sees. Commit every block once, after its "
     "update."},
    {"normaliser_origin",
     fact<&RunFacts::normaliser_origin>,
     Bad::kAbove,
     {.warning = 0.01},
     "The normaliser's count of samples is {percent:.3g} % off the run's own steps (limit "
     "{limit_percent:g} %).",
     "Its statistics are of another run, or stood still for a while. Go on from a checkpoint as it "
     "was saved; what begins with another run's policy begins with --init, which records it."},
    {"reward_clipping",
     median<&Numbers::reward_clipped>,
     Bad::kAbove,
     {.warning = 0.01},
     "{percent:.3g} % of the scaled rewards stand at clip_reward (limit {limit_percent:g} %).",
     "They all count the same. Raise clip_reward, or look at the reward's scale."},
    {"reward_scale",
     median<&Numbers::target_deviation>,
     Bad::kAbove,
     {.warning = 10.0},
     "Value targets of scaled rewards have a standard deviation of {value:.2f} (limit {limit:g}; "
     "about 1 where the scale is true).",
     "The reward normaliser still holds the returns of long ago. Restart with fresh statistics, "
     "or train without norm_reward."},
    {"action_clipping",
     median<&Numbers::actions_outside>,
     Bad::kAbove,
     {.note = 0.6, .warning = 0.9},
     "{percent:.3g} % of the actions lie outside the action space (limit {limit_percent:g} %).",
     "The environment gets the bound instead, so that the policy's noise and its gradient do "
     "nothing there. Lower log_std_init or ent_coef; widen the action space where it is yours."},
    {"entropy_collapse",
     median<&Numbers::relative_entropy>,
     Bad::kBelow,
     {.note = 0.02},
     "The policy's entropy is {percent:.3g} % of that of random actions (limit {limit_percent:g} "
     "%).",
     "It no longer explores. That is right for a solved task; otherwise raise ent_coef."},

    {"advantage_scale",
     median<&Numbers::advantage_deviation>,
     Bad::kBelow,
     {.note = 1e-5, .warning = 1e-9},
     "Advantages have a standard deviation of {value:.2g} of the size of the value targets (limit "
     "{limit:g}).",
     "That is close to the rounding of float32, and norm_adv blows it up to 1: the update follows "
     "noise. A solved task looks like that; otherwise look at rewards that never change, and set "
     "norm_adv = off."},
    {"advantage_dominance",
     median<&Numbers::advantage_dominance>,
     Bad::kAbove,
     {.note = 0.1, .warning = 0.5},
     "One sample of {N} x {T} holds {percent:.3g} % of the sum of squared advantages (limit "
     "{limit_percent:g} %).",
     "The update follows this sample. Scale or clip rewards (norm_reward, clip_reward), or take "
     "larger blocks."},
    {"value_targets",
     largest<&Numbers::target_error>,
     Bad::kAbove,
     {.error = 1e-4},
     "Around the ends of episodes, advantages differ by {value:.2g} of the size of what "
     "they are made of from what rewards, values and end flags say (limit {limit:g}).",
     "Value targets leak across ends, or stop where the episode goes on. Look at the end flags "
     "and at the code that makes advantages."},
    {"truncation_bias",
     biased_truncations,
     Bad::kAbove,
     {.warning = 0.1},
     "{percent:.3g} % of the episodes met the time limit, and truncation_mode = {mode} (limit "
     "{limit_percent:g} %).",
     "What would have followed counts for nothing, or for what it is not: value targets are "
     "biased. Set truncation_mode = bootstrap."},

    {"first_ratio",
     largest<&Numbers::first_ratio_error>,
     Bad::kAbove,
     {.error = 0.0},
     "The first minibatch saw policy ratios off 1 by {value:.2g} (limit {limit:g}).",
     "The block was not collected by the policy that learns from it."},
    {"kl_estimates",
     kl_spread,
     Bad::kAbove,
     {.note = 0.05, .warning = 0.2},
     "The exact KL of an update and its estimates k1 and k3 lie {value:.3f} apart (limit "
     "{limit:g}).",
     "A few actions carry the estimates, so approx_kl, target_kl and lr_schedule = adaptive go by "
     "noise. Take smaller steps: lower learning_rate or update_epochs."},
    {"update_kl",
     median<&Numbers::last_kl>,
     Bad::kAbove,
     {.note = 0.05, .warning = 0.15},
     "By its last epoch, an update has moved the policy by a KL of {value:.3f} (limit {limit:g}).",
     "Samples of the old policy say little about the new one. Lower learning_rate or "
     "update_epochs, or set target_kl."},
    {"update_clipping",
     median<&Numbers::last_clipfrac>,
     Bad::kAbove,
     {.note = 0.4, .warning = 0.6},
     "In the last epoch, {percent:.3g} % of the samples are clipped (limit {limit_percent:g} %).",
     "They have no gradient any more. Lower learning_rate or update_epochs."},
    {"update_ess",
     median<&Numbers::last_ess>,
     Bad::kBelow,
     {.note = 70.0, .warning = 50.0},
     "In the worst minibatch, policy ratios leave an effective sample size of {value:.3g} % "
     "(limit {limit:g} %).",
     "A few samples outweigh the rest. Lower learning_rate or update_epochs."},
    {"logged_kl",
     fact<&RunFacts::logged_kl>,
     Bad::kAbove,
     {.note = 0.03, .warning = 0.08},
     "Over the run, approx_kl was {value:.3f} or more in the worst twentieth of the logged "
     "updates (limit {limit:g}).",
     "Updates that far off the policy that collected the block make training erratic. Lower "
     "learning_rate or update_epochs, or set target_kl."},
    {"logged_kl_peak",
     fact<&RunFacts::logged_kl_peak>,
     Bad::kAbove,
     {.note = 0.3, .warning = 1.0},
     "In iteration {peak}, approx_kl was {value:.3g} (limit {limit:g}).",
     "One update like that can undo a policy, or end it: what came before and after are two "
     "policies. Lower learning_rate, or set target_kl."},
    {"idle_units",
     median<&Numbers::idle_units>,
     Bad::kAbove,
     {.note = 25.0, .warning = 75.0},
     "In the policy's worst hidden layer, {value:.3g} % of the units say the same in every probe "
     "state (limit {limit:g} %).",
     "Dead ReLU or saturated tanh units learn nothing. Lower learning_rate, normalise "
     "observations (norm_obs), or choose another activation."},
    {"idle_critic_units",
     median<&Numbers::idle_critic_units>,
     Bad::kAbove,
     {.note = 25.0},
     "In the critic's worst hidden layer, {value:.3g} % of the units say the same in every probe "
     "state (limit {limit:g} %).",
     "Saturated tanh or dead ReLU units learn nothing. Where every state is worth the same, as "
     "when CartPole is solved, a critic ends like that; otherwise lower learning_rate or normalise "
     "rewards (norm_reward)."},

    {"learning_rate",
     fact<&RunFacts::learning_rate_off>,
     Bad::kAbove,
     {.warning = 1e-6},
     "The logged learning rate is off lr_schedule = {schedule} by up to {percent:.3g} % of the "
     "first (limit {limit_percent:g} %).",
     "The run was not trained as its config says. Look at what changed it on the way."},
    {"schedule_end",
     linear_left,
     Bad::kAbove,
     {.note = 0.1},
     "The linear schedule stands at {percent:.3g} % of its first learning rate (limit "
     "{limit_percent:g} %): the run is not over.",
     "Its last policy is not the one that the schedule was to end in. Go on with it (broadloom "
     "train --resume).",
     "The linear schedule stands at {percent:.3g} % of its first learning rate (limit "
     "{limit_percent:g} %)."},
    {"adaptive_rate",
     fact<&RunFacts::learning_rate_bound>,
     Bad::kAbove,
     {.warning = 0.5},
     "The adaptive learning rate stood at 1e-5 or 1e-2, its bounds, in {percent:.3g} % of the "
     "logged updates (limit {limit_percent:g} %).",
     "It cannot reach desired_kl. Change desired_kl, update_epochs or the minibatches."},
    {"steps_lost",
     fact<&RunFacts::steps_lost>,
     Bad::kAbove,
     {.note = kBudgetNote.steps_lost, .warning = kBudgetWarning.steps_lost},
     "{percent:.3g} % of total_timesteps fit into no whole block of {N} x {T} and are never taken "
     "(limit {limit_percent:g} %).",
     "The schedule ends early, and runs of other shapes have other budgets. Make total_timesteps "
     "a multiple of num_envs * num_steps."},
    {"few_updates",
     fact<&RunFacts::updates>,
     Bad::kBelow,
     {.note = kBudgetNote.updates, .warning = kBudgetWarning.updates},
     "total_timesteps is enough for {value:g} blocks of {N} x {T} (limit {limit:g}).",
     "A policy is changed once a block, and has hardly begun to learn. Lower num_envs or "
     "num_steps, or raise total_timesteps."},
    {"logs_lost",
     fact<&RunFacts::logs_lost>,
     Bad::kAbove,
     {.warning = 0.0},
     "{value:.0f} bytes are gone of the metrics.jsonl and eval.jsonl that the checkpoint was saved "
     "with (limit {limit:g}).",
     "What is left of the logs does not tell what the run was, and it cannot be resumed. Put "
     "copies back, or begin a new run with its policy (broadloom train --init)."},
    {"going_on",
     fact<&RunFacts::failed>,
     Bad::kAbove,
     {.error = 0.0},
     "Going on with the run stopped{failure}.",
     "The other findings are from before that. Mend what the message names, or go back to an older "
     "checkpoint.",
     "Nothing stopped going on with the run."},
};

}  // namespace

std::span<const AuditCheck> audit_checks() { return kChecks; }

}  // namespace broadloom
