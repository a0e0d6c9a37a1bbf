#include "research/audit/check_table.h"

#include <algorithm>
#include <cmath>

#include "broadloom/config/budget.h"
#include "research/audit/evidence.h"

namespace broadloom {
namespace {

constexpr double kNone = AuditNumbers::kNone;
using Numbers = AuditNumbers;

// Checks of noisy numbers judge the median of the iterations; checks of faults that must never
// occur judge the worst one.
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

// A block as long as an episode sees every phase of it, even if environments are synchronised.
double synchronised(const Evidence& evidence) {
  if (evidence.facts.num_steps >= evidence.facts.episode_length) return kNone;
  return median<&Numbers::phase_concentration>(evidence);
}

double short_episodes(const Evidence& evidence) {
  return evidence.facts.one_step ? kNone : evidence.facts.episode_length;
}

double one_family(const Evidence& evidence) {
  return evidence.facts.num_envs > 1 ? 1.0 / evidence.facts.families : kNone;
}

double frozen_statistics(const Evidence& evidence) {
  return largest_of(evidence.iterations,
                    [](const Numbers& n) { return std::abs(n.obs_gain - 1.0); });
}

// Over all ends of episodes in all iterations.
double biased_truncations(const Evidence& evidence) {
  if (evidence.facts.bootstraps) return kNone;
  return truncation_share(evidence.iterations);
}

// The range of the exact KL and its two estimates.
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
    {"first_step_ends",
     short_episodes,
     Bad::kBelow,
     {.warning = 1.5},
     "The last episodes have a mean of {value:.2f} steps (limit {limit:g}): most end at their "
     "first step.",
     "If random actions end there, too (`broadloom env bench`), no policy changes it: check what "
     "ends an episode (`broadloom env show` lists it), and where it begins. Ignore this for a task "
     "of one step, such as a bandit, or set max_episode_steps = 1.",
     "The last episodes have a mean of {value:.2f} steps (limit {limit:g})."},
    {"duplicate_environments",
     median<&Numbers::duplicate_columns>,
     Bad::kAbove,
     {.warning = 0.1, .error = 0.5},
     "{percent:.3g} % of the {N} environments have the same {T} steps, to the bit, as one of "
     "another seed family (limit {limit_percent:g} %).",
     "Copies add no samples. Give each environment its own random draws: check how your simulator "
     "seeds itself and resets. If many states lead to one, as at a wall, copies also come from a "
     "policy that is nearly deterministic."},
    {"repeated_environments",
     median<&Numbers::repeated_columns>,
     Bad::kAbove,
     {.note = 0.5},
     "{percent:.3g} % of the {N} environments have the same {T} steps as another one (limit "
     "{limit_percent:g} %).",
     "This is normal with few states and a nearly deterministic policy, but the batch then has "
     "fewer different samples than its size says. Fewer environments would do as well."},
    {"family_environments",
     median<&Numbers::family_columns>,
     Bad::kAbove,
     {.note = 0.0, .warning = 0.5},
     "{percent:.3g} % of the {N} environments have the same {T} steps, to the bit, as one of their "
     "own seed family (limit {limit_percent:g} %).",
     "They share all draws, and the policy is too deterministic to separate them. Raise "
     "seed_families (now {F}), or set it to 0."},
    {"seed_families",
     one_family,
     Bad::kAbove,
     {.warning = 0.5},
     "Each seed family has {percent:.3g} % of all environments (limit {limit_percent:g} %).",
     "All {N} environments draw the same episodes: the samples differ only by the actions. Raise "
     "seed_families (now {F}), or set it to 0."},
    {"correlated_environments",
     median<&Numbers::effective_envs>,
     Bad::kBelow,
     {.warning = 0.1},
     "TD errors of the {N} environments vary together: they count as {percent:.3g} % as many "
     "independent ones (limit {limit_percent:g} %).",
     "They rise and fall in the same step. Set stagger_starts = true, raise seed_families (now "
     "{F}) "
     "if it is below {N}, and check what your environments share."},
    {"parameter_draws",
     median<&Numbers::distinct_draws>,
     Bad::kBelow,
     {.warning = 0.99, .error = 0.5},
     "{percent:.3g} % of the {F} seed families have drawn constants that no other family has "
     "(limit "
     "{limit_percent:g} %).",
     "Families that draw the same constants from [strata] add no variety to the batch. Check the "
     "code that draws them: each draw must depend on its family."},
    {"kept_draws",
     largest<&Numbers::kept_draws>,
     Bad::kAbove,
     {.warning = 0.01, .error = 0.5},
     "{percent:.3g} % of the environments that began a new episode kept the constants of the old "
     "one (limit {limit_percent:g} %).",
     "A draw must depend on the episode's number. Check the code that draws the constants."},
    {"same_tasks",
     median<&Numbers::shared_context>,
     Bad::kAbove,
     {.warning = 0.9},
     "Two environments have the same {context} with probability {value:.2f} (limit "
     "{limit:g}).",
     "All get the same command or stand in the same place, so the policy learns nothing else. "
     "Check "
     "the options that fix it, and how it is drawn: from each environment's own stream, and again "
     "for each episode."},
    {"same_starts",
     fact<&RunFacts::same_starts>,
     Bad::kAbove,
     {.warning = 0.01, .error = 0.5},
     "{percent:.3g} % of the {F} seed families begin their first episode in the same state as "
     "another one (limit {limit_percent:g} %).",
     "A reset must draw from the environment's own stream. Check how resets are seeded."},
    {"evaluation_starts",
     fact<&RunFacts::evaluation_starts>,
     Bad::kAbove,
     {.error = 0.05},
     "{percent:.3g} % of the evaluation episodes begin in a state that training begins in (limit "
     "{limit_percent:g} %).",
     "They do not test unseen states. Evaluate with draws that training never makes."},
    {"panel_starts",
     fact<&RunFacts::panel_starts>,
     Bad::kAbove,
     {.error = 0.05},
     "{percent:.3g} % of the panel's episodes begin in a state that training's streams begin in "
     "(limit {limit_percent:g} %).",
     "They are not held out. Check how your simulator seeds itself: it must use only the key that "
     "it gets."},
    {"panel_worlds",
     fact<&RunFacts::panel_worlds>,
     Bad::kAbove,
     {.warning = 0.0},
     "{percent:.3g} % of the panel's rows are played in worlds of seeds that training also uses "
     "(limit {limit_percent:g} %).",
     "Starts and commands are held out, but the terrain or levels are not: memorising them counts "
     "as success. Give the panel's [env] other seeds of worlds."},
    {"evaluation_seeds",
     fact<&RunFacts::evaluation_overlaps>,
     Bad::kAbove,
     {.error = 0.0},
     "{value:.0f} random streams serve both training and evaluation (limit {limit:g}){collision}.",
     "The evaluation was part of training. Evaluate with other seeds or streams."},
    {"stream_collisions",
     fact<&RunFacts::collisions>,
     Bad::kAbove,
     {.error = 0.0},
     "{value:.0f} pairs of random streams draw the same numbers (limit {limit:g}){collision}.",
     "Draws that should be independent are equal. Give every purpose its own number."},

    {"normaliser_mean",
     median<&Numbers::obs_mean>,
     Bad::kAbove,
     {.warning = 3.0},
     "The block's normalised observations have a mean of {value:.2f} standard deviations in the "
     "worst dimension (limit {limit:g}).",
     "The statistics describe states that the policy no longer meets. If this lasts, restart with "
     "fresh statistics, or train without norm_obs on units that you scale yourself."},
    {"normaliser_variance",
     median<&Numbers::obs_variance>,
     Bad::kAbove,
     {.warning = 10.0},
     "The block's normalised observations have a variance of {value:.2f} in the worst dimension "
     "(limit {limit:g}; 1 if the statistics are right).",
     "The statistics describe a narrower range of states than the policy meets now. If this lasts, "
     "restart with fresh statistics, or train without norm_obs."},
    {"normaliser_width",
     median<&Numbers::obs_variance>,
     Bad::kBelow,
     {.warning = 0.01},
     "The block's normalised observations have a variance of {value:.2g} in the widest dimension "
     "(limit {limit:g}; 1 if the statistics are right).",
     "The policy sees hardly any difference between states. The statistics describe a far wider "
     "range, or begin with a made-up sample (normaliser = gymnasium). Use normaliser = exact, or "
     "restart with fresh statistics."},
    {"normaliser_clipping",
     median<&Numbers::obs_clipped>,
     Bad::kAbove,
     {.warning = 0.01},
     "{percent:.3g} % of the normalised observations are at clip_obs (limit {limit_percent:g} "
     "%).",
     "The policy cannot distinguish these states. Raise clip_obs, or bound the observation."},
    {"normaliser_frozen",
     frozen_statistics,
     Bad::kAbove,
     {.warning = 1e-3},
     "An update changed the normaliser's count by {percent:.3g} % more or less than its block's "
     "samples (limit {limit_percent:g} %).",
     "The statistics miss some observations of the policy. Commit every block once, after its "
     "update."},
    {"normaliser_origin",
     fact<&RunFacts::normaliser_origin>,
     Bad::kAbove,
     {.warning = 0.01},
     "The normaliser's count of samples differs from the run's steps by {percent:.3g} % (limit "
     "{limit_percent:g} %).",
     "Its statistics come from another run, or were frozen for a while. Continue from an unchanged "
     "checkpoint. To begin with another run's policy, use --init, which records it."},
    {"reward_clipping",
     median<&Numbers::reward_clipped>,
     Bad::kAbove,
     {.warning = 0.01},
     "{percent:.3g} % of the scaled rewards are at clip_reward (limit {limit_percent:g} %).",
     "They all count the same. Raise clip_reward, or change the reward's scale."},
    {"reward_scale",
     median<&Numbers::target_deviation>,
     Bad::kAbove,
     {.warning = 10.0},
     "Value targets of scaled rewards have a standard deviation of {value:.2f} (limit {limit:g}; "
     "about 1 if the scale is right).",
     "The reward normaliser still contains returns of long ago. Restart with fresh statistics, or "
     "train without norm_reward."},
    {"action_clipping",
     median<&Numbers::actions_outside>,
     Bad::kAbove,
     {.note = 0.6, .warning = 0.9},
     "{percent:.3g} % of the actions lie outside the action space (limit {limit_percent:g} %).",
     "The environment clips them, so the policy's noise and gradient have no effect there. Lower "
     "log_std_init or ent_coef, or widen the action space of your own environment."},
    {"entropy_collapse",
     median<&Numbers::relative_entropy>,
     Bad::kBelow,
     {.note = 0.02},
     "The policy's entropy is {percent:.3g} % of that of random actions (limit {limit_percent:g} "
     "%).",
     "It explores no more. This is right for a solved task; otherwise raise ent_coef."},

    {"advantage_scale",
     median<&Numbers::advantage_deviation>,
     Bad::kBelow,
     {.note = 1e-5, .warning = 1e-9},
     "Advantages have a standard deviation of {value:.2g} times the size of the value targets "
     "(limit "
     "{limit:g}).",
     "This is close to the rounding error of float32, and norm_adv scales it up to 1: the update "
     "follows noise. This is normal for a solved task; otherwise check for rewards that never "
     "change, and set norm_adv = off."},
    {"advantage_dominance",
     median<&Numbers::advantage_dominance>,
     Bad::kAbove,
     {.note = 0.1, .warning = 0.5},
     "One sample of {N} x {T} has {percent:.3g} % of the sum of squared advantages (limit "
     "{limit_percent:g} %).",
     "The update follows this sample. Scale or clip rewards (norm_reward, clip_reward), or take "
     "larger blocks."},
    {"value_targets",
     largest<&Numbers::target_error>,
     Bad::kAbove,
     {.error = 1e-4},
     "Around ends of episodes, advantages differ from those recomputed from rewards, values and "
     "end flags by {value:.2g} of the size of their terms (limit {limit:g}).",
     "Value targets leak across ends, or stop while the episode continues. Check the end flags and "
     "the code that computes advantages."},
    {"truncation_bias",
     biased_truncations,
     Bad::kAbove,
     {.warning = 0.1},
     "{percent:.3g} % of the episodes ended at the time limit, with truncation_mode = {mode} "
     "(limit "
     "{limit_percent:g} %).",
     "The rewards after the time limit are left out or wrong, so value targets are biased. Set "
     "truncation_mode = bootstrap."},

    {"first_ratio",
     largest<&Numbers::first_ratio_error>,
     Bad::kAbove,
     {.error = 0.0},
     "Policy ratios of the first minibatch differ from 1 by {value:.2g} (limit {limit:g}).",
     "The block was not collected by the policy that learns from it."},
    {"kl_estimates",
     kl_spread,
     Bad::kAbove,
     {.note = 0.05, .warning = 0.2},
     "The exact KL of an update and its estimates k1 and k3 differ by {value:.3f} (limit "
     "{limit:g}).",
     "A few actions dominate the estimates, so approx_kl, target_kl and lr_schedule = adaptive "
     "follow noise. Take smaller steps: lower learning_rate or update_epochs."},
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
     median<&Numbers::least_ess>,
     Bad::kBelow,
     {.note = 70.0, .warning = 50.0},
     "Policy ratios reduce the effective sample size of the worst minibatch to {value:.3g} % "
     "(limit {limit:g} %).",
     "A few samples outweigh the rest. Lower learning_rate or update_epochs."},
    {"logged_kl",
     fact<&RunFacts::logged_kl>,
     Bad::kAbove,
     {.note = 0.03, .warning = 0.08},
     "In the worst twentieth of the logged updates, approx_kl was {value:.3f} or more (limit "
     "{limit:g}).",
     "Updates that far from the policy that collected the block make training unstable. Lower "
     "learning_rate or update_epochs, or set target_kl."},
    {"logged_kl_peak",
     fact<&RunFacts::logged_kl_peak>,
     Bad::kAbove,
     {.note = 0.3, .warning = 1.0},
     "In iteration {peak}, approx_kl was {value:.3g} (limit {limit:g}).",
     "One such update can ruin a policy: those before and after it have little in common. Lower "
     "learning_rate, or set target_kl."},
    {"idle_units",
     median<&Numbers::idle_units>,
     Bad::kAbove,
     {.note = 25.0, .warning = 75.0},
     "In the policy's worst hidden layer, {value:.3g} % of the units are constant over the probe "
     "states (limit {limit:g} %).",
     "Dead ReLU or saturated tanh units learn nothing. Lower learning_rate, normalise "
     "observations (norm_obs), or choose another activation."},
    {"idle_critic_units",
     median<&Numbers::idle_critic_units>,
     Bad::kAbove,
     {.note = 25.0},
     "In the critic's worst hidden layer, {value:.3g} % of the units are constant over the probe "
     "states (limit {limit:g} %).",
     "Saturated tanh or dead ReLU units learn nothing. This is normal if all states have the same "
     "value, as in a solved CartPole; otherwise lower learning_rate or normalise rewards "
     "(norm_reward)."},

    {"learning_rate",
     fact<&RunFacts::learning_rate_off>,
     Bad::kAbove,
     {.warning = 1e-6},
     "The logged learning rate differs from lr_schedule = {schedule} by up to {percent:.3g} % of "
     "the first rate (limit {limit_percent:g} %).",
     "The run was not trained as its config says. Find out what changed the rate."},
    {"schedule_end",
     linear_left,
     Bad::kAbove,
     {.note = 0.1},
     "The linear schedule has {percent:.3g} % of its steps left (limit "
     "{limit_percent:g} %): the run is not over.",
     "Its last policy is not the one at the end of the schedule. Continue the run (broadloom train "
     "--resume), unless stop_at_return ended it.",
     "The linear schedule has {percent:.3g} % of its steps left (limit "
     "{limit_percent:g} %)."},
    {"adaptive_rate",
     fact<&RunFacts::learning_rate_bound>,
     Bad::kAbove,
     {.warning = 0.5},
     "The adaptive learning rate was at a bound, 1e-5 or 1e-2, in {percent:.3g} % of the logged "
     "updates (limit {limit_percent:g} %).",
     "It cannot reach desired_kl. Change desired_kl, update_epochs or the minibatches."},
    {"steps_lost",
     fact<&RunFacts::steps_lost>,
     Bad::kAbove,
     {.note = kBudgetNote.steps_lost, .warning = kBudgetWarning.steps_lost},
     "{percent:.3g} % of total_timesteps do not fill a whole block of {N} x {T} and are never "
     "taken (limit {limit_percent:g} %).",
     "The schedule ends early, and runs with other shapes have other budgets. Make total_timesteps "
     "a multiple of num_envs * num_steps."},
    {"few_updates",
     fact<&RunFacts::updates>,
     Bad::kBelow,
     {.note = kBudgetNote.updates, .warning = kBudgetWarning.updates},
     "The number of blocks of {N} x {T} in total_timesteps is {value:g}, below {limit:g}.",
     "The policy changes once a block, so it hardly begins to learn. Lower num_envs or num_steps, "
     "or raise total_timesteps."},
    {"logs_lost",
     fact<&RunFacts::logs_lost>,
     Bad::kAbove,
     {.warning = 0.0},
     "{value:.0f} bytes are missing from metrics.jsonl and eval.jsonl, compared with the "
     "checkpoint (limit {limit:g}).",
     "The logs no longer describe the run, and it cannot be resumed. Restore copies of them, or "
     "begin a new run with its policy (broadloom train --init)."},
    {"going_on",
     fact<&RunFacts::failed>,
     Bad::kAbove,
     {.error = 0.0},
     "Continuing the run failed{failure}.",
     "The other findings are from before that. Fix what the message names, or use an older "
     "checkpoint.",
     "Continuing the run did not fail."},
};

}  // namespace

std::span<const AuditCheck> audit_checks() { return kChecks; }

}  // namespace broadloom
