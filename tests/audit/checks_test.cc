// Severities and sentences of the audit's checks.
#include "research/audit/checks.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "research/audit/evidence.h"

namespace broadloom {
namespace {

// An iteration without faults.
AuditNumbers healthy() {
  AuditNumbers n;
  n.phase_concentration = 0.05;
  n.duplicate_columns = n.repeated_columns = n.family_columns = n.kept_draws = 0.0;
  n.effective_envs = n.distinct_draws = n.obs_gain = 1.0;
  n.obs_mean = 0.2;
  n.obs_variance = 1.1;
  n.obs_clipped = n.reward_clipped = 0.0;
  n.target_deviation = 0.5;
  n.actions_outside = 0.2;
  n.relative_entropy = 0.7;
  n.advantage_deviation = 0.1;
  n.advantage_dominance = 0.02;
  n.shared_context = 0.2;
  n.shared_context_place = 0.0;
  n.target_error = 1e-6;
  n.ends = 10.0;
  n.truncations = 5.0;
  n.first_ratio_error = 0.0;
  n.last_kl = 0.01;
  n.last_clipfrac = 0.1;
  n.least_ess = 97.0;
  n.kl = n.kl_k1 = n.kl_k3 = 0.01;
  n.idle_units = n.idle_critic_units = 1.0;
  return n;
}

RunFacts healthy_facts() {
  RunFacts facts;
  facts.num_envs = facts.families = 1024;
  facts.num_steps = 8;
  facts.episode_length = 200.0;
  facts.same_starts = facts.evaluation_starts = 0.0;
  facts.evaluation_overlaps = facts.collisions = 0.0;
  facts.panel_starts = facts.panel_worlds = facts.normaliser_origin = 0.0;
  facts.context = {"speed, m/s", "terrain column"};
  facts.steps_lost = 0.001;
  facts.updates = 100.0;
  facts.learning_rate_off = facts.learning_rate_left = facts.learning_rate_bound = 0.0;
  facts.logged_kl = facts.logged_kl_peak = 0.01;
  facts.logs_lost = 0.0;
  facts.lr_schedule = "linear";
  return facts;
}

struct Fault {
  const char* check;
  Severity severity;
  std::function<void(AuditNumbers&, RunFacts&)> plant;
  std::vector<const char*> words;  // in the sentence or advice
};

const std::vector<Fault>& faults() {
  using N = AuditNumbers;
  using F = RunFacts;
  static const std::vector<Fault> all{
      {"synchronised_resets",
       Severity::kWarning,
       [](N& n, F&) { n.phase_concentration = 1.0; },
       {"probability 1.00", "limit 0.25", "all 1024 episodes", "stagger_starts = true"}},
      {"first_step_ends",
       Severity::kWarning,
       [](N&, F& f) { f.episode_length = 1.0; },
       {"mean of 1.00 steps", "limit 1.5", "max_episode_steps = 1"}},
      {"duplicate_environments",
       Severity::kWarning,
       [](N& n, F&) { n.duplicate_columns = 0.2; },
       {"20 %", "limit 10 %", "8 steps"}},
      {"duplicate_environments",
       Severity::kError,
       [](N& n, F&) { n.duplicate_columns = 1.0; },
       {"100 %", "limit 50 %"}},
      {"repeated_environments",
       Severity::kNote,
       [](N& n, F&) { n.repeated_columns = 0.9; },
       {"90 %", "normal"}},
      {"family_environments",
       Severity::kWarning,
       [](N& n, F&) { n.family_columns = 0.8; },
       {"80 %", "seed_families"}},
      {"seed_families",
       Severity::kWarning,
       [](N&, F& f) { f.families = 1; },
       {"100 %", "All 1024", "(now 1)"}},
      {"correlated_environments",
       Severity::kWarning,
       [](N& n, F&) { n.effective_envs = 0.01; },
       {"1 %", "limit 10 %"}},
      {"parameter_draws",
       Severity::kError,
       [](N& n, F&) { n.distinct_draws = 0.0; },
       {"0 % of the 1024", "limit 50 %"}},
      {"kept_draws", Severity::kError, [](N& n, F&) { n.kept_draws = 1.0; }, {"100 %"}},
      {"same_tasks",
       Severity::kWarning,
       [](N& n, F&) {
         n.shared_context = 1.0;
         n.shared_context_place = 1.0;
       },
       {"the same 'terrain column' with probability 1.00", "limit 0.9"}},
      {"same_starts", Severity::kError, [](N&, F& f) { f.same_starts = 1.0; }, {"100 %"}},
      {"evaluation_starts",
       Severity::kError,
       [](N&, F& f) { f.evaluation_starts = 0.1; },
       {"10 %"}},
      {"panel_starts", Severity::kError, [](N&, F& f) { f.panel_starts = 1.0; }, {"100 %"}},
      {"panel_worlds",
       Severity::kWarning,
       [](N&, F& f) { f.panel_worlds = 0.25; },
       {"25 % of the panel's rows", "other seeds"}},
      {"evaluation_seeds",
       Severity::kError,
       [](N&, F& f) {
         f.evaluation_overlaps = 1.0;
         f.collision = "train_reset and eval_reset, seed 1";
       },
       {"1 random streams", ": train_reset and eval_reset, seed 1"}},
      {"stream_collisions", Severity::kError, [](N&, F& f) { f.collisions = 2.0; }, {"2 pairs"}},
      {"normaliser_mean",
       Severity::kWarning,
       [](N& n, F&) { n.obs_mean = 5.0; },
       {"5.00", "limit 3"}},
      {"normaliser_variance",
       Severity::kWarning,
       [](N& n, F&) { n.obs_variance = 16.0; },
       {"16.00", "limit 10"}},
      {"normaliser_width",
       Severity::kWarning,
       [](N& n, F&) { n.obs_variance = 0.0002; },
       {"0.0002", "limit 0.01"}},
      {"normaliser_clipping",
       Severity::kWarning,
       [](N& n, F&) { n.obs_clipped = 0.3; },
       {"30 %", "clip_obs"}},
      {"normaliser_frozen", Severity::kWarning, [](N& n, F&) { n.obs_gain = 0.0; }, {"100 %"}},
      {"normaliser_origin",
       Severity::kWarning,
       [](N&, F& f) { f.normaliser_origin = 0.5; },
       {"50 %", "limit 1 %", "--init"}},
      {"reward_clipping",
       Severity::kWarning,
       [](N& n, F&) { n.reward_clipped = 0.3; },
       {"30 %", "clip_reward"}},
      {"reward_scale", Severity::kWarning, [](N& n, F&) { n.target_deviation = 50.0; }, {"50.00"}},
      {"action_clipping",
       Severity::kWarning,
       [](N& n, F&) { n.actions_outside = 0.95; },
       {"95 %", "limit 90 %"}},
      {"entropy_collapse",
       Severity::kNote,
       [](N& n, F&) { n.relative_entropy = 0.001; },
       {"0.1 %", "ent_coef"}},
      {"advantage_scale",
       Severity::kWarning,
       [](N& n, F&) { n.advantage_deviation = 0.0; },
       {"limit 1e-09", "norm_adv"}},
      {"advantage_scale",
       Severity::kNote,
       [](N& n, F&) { n.advantage_deviation = 1e-7; },
       {"1e-07", "limit 1e-05", "solved task"}},
      {"advantage_dominance",
       Severity::kWarning,
       [](N& n, F&) { n.advantage_dominance = 0.9; },
       {"1024 x 8", "90 %"}},
      {"value_targets",
       Severity::kError,
       [](N& n, F&) { n.target_error = 0.4; },
       {"0.4", "limit 0.0001"}},
      {"truncation_bias",
       Severity::kWarning,
       [](N&, F& f) {
         f.bootstraps = false;
         f.truncation_mode = "as_termination";
       },
       {"50 %", "truncation_mode = as_termination", "truncation_mode = bootstrap"}},
      {"first_ratio", Severity::kError, [](N& n, F&) { n.first_ratio_error = 1e-7; }, {"1e-07"}},
      {"kl_estimates", Severity::kWarning, [](N& n, F&) { n.kl_k3 = 0.5; }, {"0.490", "limit 0.2"}},
      {"update_kl", Severity::kWarning, [](N& n, F&) { n.last_kl = 0.5; }, {"0.500"}},
      {"update_clipping", Severity::kWarning, [](N& n, F&) { n.last_clipfrac = 0.7; }, {"70 %"}},
      {"update_ess", Severity::kWarning, [](N& n, F&) { n.least_ess = 20.0; }, {"20 %"}},
      {"logged_kl", Severity::kWarning, [](N&, F& f) { f.logged_kl = 0.2; }, {"0.200"}},
      {"logged_kl_peak",
       Severity::kWarning,
       [](N&, F& f) {
         f.logged_kl_peak = 396.6;
         f.peak_iteration = 12;
       },
       {"iteration 12", "397", "limit 1"}},
      {"idle_critic_units",
       Severity::kNote,
       [](N& n, F&) { n.idle_critic_units = 100.0; },
       {"critic's", "100 %", "solved"}},
      {"idle_units", Severity::kWarning, [](N& n, F&) { n.idle_units = 80.0; }, {"80 %"}},
      {"learning_rate",
       Severity::kWarning,
       [](N&, F& f) { f.learning_rate_off = 0.5; },
       {"lr_schedule = linear", "50 %"}},
      {"schedule_end", Severity::kNote, [](N&, F& f) { f.learning_rate_left = 0.7; }, {"70 %"}},
      {"adaptive_rate",
       Severity::kWarning,
       [](N&, F& f) { f.learning_rate_bound = 0.9; },
       {"90 %", "desired_kl"}},
      {"steps_lost", Severity::kWarning, [](N&, F& f) { f.steps_lost = 0.4; }, {"40 %"}},
      {"few_updates",
       Severity::kNote,
       [](N&, F& f) { f.updates = 9.0; },
       {"total_timesteps is 9, below 10"}},
      {"few_updates",
       Severity::kWarning,
       [](N&, F& f) { f.updates = 1.0; },
       {"total_timesteps is 1, below 3"}},
      {"logs_lost",
       Severity::kWarning,
       [](N&, F& f) { f.logs_lost = 41.0; },
       {"41 bytes", "--init"}},
      {"going_on",
       Severity::kError,
       [](N&, F& f) {
         f.failed = 1.0;
         f.failure = "loss is not finite";
       },
       {": loss is not finite"}},
  };
  return all;
}

TEST(AuditChecks, FindNothingInAHealthyRun) {
  const std::vector<AuditNumbers> iterations(3, healthy());
  for (const AuditFinding& finding : judge({iterations, healthy_facts()})) {
    EXPECT_EQ(finding.severity, Severity::kOk) << finding.check << ": " << finding.sentence;
    if (std::string(finding.check) != "truncation_bias") EXPECT_TRUE(finding.measured);
  }
}

// Each fault raises exactly one finding.
TEST(AuditChecks, NameEachFaultAlone) {
  for (const Fault& fault : faults()) {
    AuditNumbers numbers = healthy();
    RunFacts facts = healthy_facts();
    fault.plant(numbers, facts);
    const std::vector<AuditNumbers> iterations(3, numbers);
    const std::vector<AuditFinding> findings = judge({iterations, facts});
    EXPECT_EQ(worst(findings), fault.severity) << fault.check;
    for (const AuditFinding& finding : findings) {
      if (finding.severity == Severity::kOk) continue;
      EXPECT_STREQ(finding.check, fault.check);
      const std::string text = finding.sentence + finding.advice;
      for (const char* word : fault.words) {
        EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
      }
    }
  }
}

TEST(AuditChecks, EachHasAPlantedFault) {
  std::set<std::string> planted, known;
  for (const Fault& fault : faults()) planted.insert(fault.check);
  for (const AuditFinding& finding : judge({{}, {}})) known.insert(finding.check);
  EXPECT_EQ(planted, known);
}

TEST(AuditChecks, AreSilentWithoutMeasurements) {
  for (const AuditFinding& finding : judge({{}, {}})) {
    EXPECT_EQ(finding.severity, Severity::kOk) << finding.check;
    EXPECT_EQ(finding.measured, std::string(finding.check) == "going_on") << finding.check;
    EXPECT_EQ(finding.sentence.empty(), !finding.measured);
  }
}

std::string sentence_of(const char* check, const AuditNumbers& numbers, const RunFacts& facts) {
  const std::vector<AuditNumbers> iterations(3, numbers);
  for (const AuditFinding& finding : judge({iterations, facts})) {
    if (std::string(finding.check) == check) return finding.sentence;
  }
  return "";
}

TEST(AuditChecks, DescribeAFineRunCorrectly) {
  RunFacts facts = healthy_facts();
  const std::string end = sentence_of("schedule_end", healthy(), facts);
  EXPECT_NE(end.find(" 0 % of its steps left (limit 10 %)."), std::string::npos) << end;
  EXPECT_EQ(end.find("not over"), std::string::npos) << end;
  EXPECT_EQ(sentence_of("going_on", healthy(), facts), "Continuing the run did not fail.");
  facts.learning_rate_left = 0.5;
  EXPECT_NE(sentence_of("schedule_end", healthy(), facts).find("not over"), std::string::npos);
}

// A value is printed with more digits if it would otherwise equal its limit.
TEST(AuditChecks, PrintEnoughDigitsToSeparateAValueFromItsLimit) {
  const RunFacts facts = healthy_facts();
  const auto shown = [&](const char* check, double AuditNumbers::*field, double value) {
    AuditNumbers numbers = healthy();
    numbers.*field = value;
    return sentence_of(check, numbers, facts);
  };
  const auto expect_part = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto phases = &AuditNumbers::phase_concentration;
  expect_part(shown("synchronised_resets", phases, 0.2504), "probability 0.2504 (limit 0.25)");
  expect_part(shown("synchronised_resets", phases, 0.2496), "probability 0.2496 (limit 0.25)");
  expect_part(shown("synchronised_resets", phases, 0.25), "probability 0.25 (limit 0.25)");
  expect_part(shown("synchronised_resets", phases, 0.4), "probability 0.40 (limit 0.25)");
  expect_part(shown("normaliser_clipping", &AuditNumbers::obs_clipped, 0.0100001), "1.00001 % of");
  expect_part(shown("duplicate_environments", &AuditNumbers::duplicate_columns, 0.5000001),
              "50.00001 % of the 1024 environments");
  expect_part(shown("value_targets", &AuditNumbers::target_error, 1.0000001e-4),
              "by 0.00010000001 of");
  expect_part(shown("normaliser_mean", &AuditNumbers::obs_mean, 3.0), "mean of 3.00 ");
}

TEST(AuditChecks, ABlockAsLongAsAnEpisodeSeesEveryPhase) {
  std::vector<AuditNumbers> iterations(3, healthy());
  for (AuditNumbers& numbers : iterations) numbers.phase_concentration = 1.0;
  RunFacts facts = healthy_facts();
  facts.num_steps = 199;
  EXPECT_EQ(worst(judge({iterations, facts})), Severity::kWarning);
  facts.num_steps = 200;
  EXPECT_EQ(worst(judge({iterations, facts})), Severity::kOk);
}

// Noise may pass a limit now and then; a fault that must never occur counts once.
TEST(AuditChecks, JudgeNoisyNumbersByTheMedianAndOthersByTheWorst) {
  std::vector<AuditNumbers> iterations(5, healthy());
  iterations[3].last_kl = 9.0;
  EXPECT_EQ(worst(judge({iterations, healthy_facts()})), Severity::kOk);
  iterations[3].target_error = 9.0;
  EXPECT_EQ(worst(judge({iterations, healthy_facts()})), Severity::kError);
}

TEST(AuditEvidence, LeavesOutUndefinedNumbers) {
  std::vector<AuditNumbers> iterations(4);
  iterations[0].kl = 3.0;
  iterations[1].kl = 1.0;
  iterations[2].kl = 2.0;
  const auto kl = [](const AuditNumbers& n) { return n.kl; };
  EXPECT_EQ(median_of(iterations, kl), 2.0);
  EXPECT_EQ(largest_of(iterations, kl), 3.0);
  EXPECT_TRUE(median_of(iterations, [](const AuditNumbers& n) { return n.kl_k1; }) != 0.0);
  iterations[0].ends = 4.0;
  iterations[0].truncations = 1.0;
  iterations[2].ends = 6.0;
  iterations[2].truncations = 4.0;
  EXPECT_DOUBLE_EQ(truncation_share(iterations), 0.5);
}

}  // namespace
}  // namespace broadloom
