// A policy on a panel: numbers, files, comparisons.
// sanitizers: address, threads
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/panel_compare.h"
#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/record/files.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/run.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPanel = R"(env_id = "CartPole-v1"
episodes = 40
seeds = [3, 4]
[strata.light]
cart_mass = [0.2, 0.4]
[strata.heavy]
cart_mass = [4, 5]
[perturbations.noisy]
obs_noise = 0.2
)";

class PanelRuns : public InFolder {
 protected:
  std::string trained(const Overrides& overrides = {}, const std::string& name = "run") {
    Overrides all{{"env_id", "CartPole-v1"},   {"num_envs", "8"}, {"num_steps", "32"},
                  {"total_timesteps", "4000"}, {"seed", "5"},     {"hidden_sizes", "16,8"},
                  {"norm_obs", "true"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const Result<Config> config = resolve_config(all);
    EXPECT_TRUE(config.ok()) << config.status().message();
    const Result<RunSummary> summary = start_run(config.value(), at(name), 2, {});
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return at(name);
  }

  static PanelResult played(const std::string& run, const Panel& panel, int threads = 2) {
    Result<PanelResult> result = run_panel(run, panel, threads);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.take();
  }

  // A trainer's policy with the environments of another run.
  static Policy policy_under(const Config& config, const Trainer& trainer) {
    return {config, trainer.spec(), trainer.network(), trainer.params(), trainer.obs_normalizer()};
  }

  // A trainer restored from the run's newest checkpoint.
  static std::unique_ptr<Trainer> trainer_of(const std::string& run) {
    const std::string path = RunFolder::open(run).value().latest_checkpoint().take();
    const Checkpoint checkpoint = read_checkpoint(path).take();
    std::unique_ptr<Trainer> trainer = Trainer::create(checkpoint.config, 1).take();
    EXPECT_TRUE(restore(checkpoint, *trainer).ok());
    return trainer;
  }
};

Panel panel_of(const std::string& text) {
  const Result<Panel> panel = parse_panel(text, "p.toml");
  EXPECT_TRUE(panel.ok()) << panel.status().message();
  return panel.value();
}

void expect_same(const EvalResult& a, const EvalResult& b) {
  EXPECT_EQ(a.episodes, b.episodes);
  EXPECT_EQ(a.mean_return, b.mean_return);
  EXPECT_EQ(a.std_return, b.std_return);
  EXPECT_EQ(a.ci_low, b.ci_low);
  EXPECT_EQ(a.mean_length, b.mean_length);
  EXPECT_EQ(a.success_rate.value, b.success_rate.value);
  EXPECT_EQ(a.success_rate.low, b.success_rate.low);
  EXPECT_EQ(a.failure_rate.high, b.failure_rate.high);
  ASSERT_EQ(a.reasons.size(), b.reasons.size());
  for (std::size_t i = 0; i < a.reasons.size(); ++i) {
    EXPECT_EQ(a.reasons[i].count, b.reasons[i].count);
  }
}

// Without randomness, a panel of one row equals an evaluation.
TEST_F(PanelRuns, WithoutChanceEqualsAnEvaluation) {
  const std::string run = trained({{"env_id", "CliffWalking-v1"}});
  const PanelResult result = played(run, panel_of("env_id = \"CliffWalking-v1\"\nepisodes = 6\n"));
  const std::vector<PanelGroup> groups = panel_groups(result.panel);
  ASSERT_EQ(groups.size(), 1u);
  const EvalResult eval = evaluate_run(run, {.episodes = 6, .seed = 9, .threads = 1}).take();
  expect_same(score_of(result, groups[0]), eval);
  EXPECT_EQ(score_of(result, groups[0]).global_step, eval.global_step);
}

// Rows by hand: one evaluation each, with the row's options and keys and the panel's streams.
TEST_F(PanelRuns, RowsEqualSingleEvaluations) {
  const std::string run = trained();
  const PanelResult result = played(run, panel_of(kPanel));
  const std::unique_ptr<Trainer> trainer = trainer_of(run);
  Config config = trainer->config();
  const std::vector<PanelRow> rows = panel_rows(result.panel);
  ASSERT_EQ(result.episodes.size(), 4u);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    config.env_options = rows[r].env_options;
    std::vector<EvalEpisode> expected;
    for (const std::uint64_t key : rows[r].keys) {
      const EvalOptions options{40, key, 1, StreamSet::kPanel};
      const std::vector<EvalEpisode> some =
          play_episodes(policy_under(config, *trainer), options).take();
      expected.insert(expected.end(), some.begin(), some.end());
    }
    expect_same(score_of(result, panel_groups(result.panel)[r]), summarise(expected, result.spec));
  }
}

// After Ctrl-C. One stopped episode leaves out all groups of several rows that have it.
TEST_F(PanelRuns, GroupsOfSeveralRowsAreWholeOrAbsent) {
  PanelResult result = played(trained(), panel_of(kPanel));
  result.episodes[3][7].stopped = true;  // noisy
  const std::vector<PanelGroup> groups = panel_groups(result.panel);
  EXPECT_EQ(episodes_of(result, groups[3]).size(), 79u);
  EXPECT_EQ(episodes_of(result, groups[4]).size(), 160u);  // nominal
  EXPECT_TRUE(episodes_of(result, groups[5]).empty());
  EXPECT_TRUE(episodes_of(result, groups[6]).empty());
}

TEST_F(PanelRuns, OverallTakesAllRowsTogether) {
  const PanelResult result = played(trained(), panel_of(kPanel));
  const std::vector<PanelGroup> groups = panel_groups(result.panel);
  ASSERT_EQ(groups.size(), 7u);  // four rows, both perturbations over strata, all
  EXPECT_EQ(groups[4].perturbation, "nominal");
  EXPECT_EQ(groups[4].rows, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(groups[5].perturbation, "noisy");
  EXPECT_EQ(groups[6].stratum + groups[6].perturbation, "allall");
  const EvalResult all = score_of(result, groups[6]);
  EXPECT_EQ(all.episodes, 320);
  double sum = 0.0;
  int ended = 0;
  for (int r = 0; r < 4; ++r) sum += score_of(result, groups[r]).mean_return / 4.0;
  for (const EvalResult::Reason& reason : all.reasons) ended += reason.count;
  EXPECT_NEAR(all.mean_return, sum, 1e-9);
  EXPECT_EQ(ended, 320);
}

// A row draws only its own stratum's constants: with a range of one number, it equals the
// environment with that constant.
TEST_F(PanelRuns, ARowUsesOnlyItsStratumsConstants) {
  const std::string run = trained();
  const PanelResult both = played(
      run, panel_of("env_id = \"CartPole-v1\"\n[strata.a]\nforce = 3\n[strata.b]\nforce = 20\n"));
  const std::unique_ptr<Trainer> trainer = trainer_of(run);
  Config config = trainer->config();
  const std::vector<PanelRow> rows = panel_rows(both.panel);
  for (std::size_t r = 0; r < 2; ++r) {
    config.env_options = {{"force", r == 0 ? "3" : "20"}};
    const EvalOptions options{100, rows[r].keys[0], 1, StreamSet::kPanel};
    const auto alone = play_episodes(policy_under(config, *trainer), options);
    expect_same(score_of(both, panel_groups(both.panel)[r]), summarise(alone.value(), both.spec));
  }
}

TEST_F(PanelRuns, IgnoresOptionsOfTheRun) {
  const std::string run = trained({{"env.force", "7"},
                                   {"strata.x.gravity", "8..9"},
                                   {"disturb.obs_noise", "0.3"},
                                   {"max_episode_steps", "25"}});
  const PanelResult result = played(run, panel_of("env_id = \"CartPole-v1\"\n"));
  const std::unique_ptr<Trainer> trainer = trainer_of(run);
  Config plain = trainer->config();
  plain.env_options.clear();
  plain.max_episode_steps = 0;
  const EvalOptions options{100, panel_rows(result.panel)[0].keys[0], 1, StreamSet::kPanel};
  const auto alone = play_episodes(policy_under(plain, *trainer), options);
  expect_same(score_of(result, panel_groups(result.panel)[0]),
              summarise(alone.value(), result.spec));
}

TEST_F(PanelRuns, BitsDoNotDependOnThreads) {
  const std::string run = trained();
  const std::string one = panel_result_json(played(run, panel_of(kPanel), 1));
  for (const int threads : {2, 5}) {
    EXPECT_TRUE(panel_result_json(played(run, panel_of(kPanel), threads)) == one) << threads;
  }
}

TEST_F(PanelRuns, ResultsAreReadBackAndChangesNoticed) {
  const std::string run = trained();
  const PanelResult result = played(run, panel_of(kPanel));
  const std::string path = save_panel_result(run, result).take();
  EXPECT_EQ(path, run + "/panel-" + panel_hash(result.panel).substr(0, 8) + ".json");
  const Result<PanelResult> read = read_panel_result(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const std::string text = panel_result_json(result);
  EXPECT_TRUE(panel_result_json(read.value()) == text);
  for (std::size_t i = 0; i < text.size(); i += text.size() / 60) {
    std::string altered = text;
    altered[i] = altered[i] == '1' ? '2' : '1';
    // Folder, checkpoint and program are words on which nothing else in the file depends.
    const bool is_word = i < text.find("\"panel\":{");
    if (is_word || altered == text) continue;
    ASSERT_TRUE(write_file_atomically(at("altered.json"), altered).ok());
    EXPECT_EQ(read_panel_result(at("altered.json")).status().kind(), ErrorKind::kCorrupt) << i;
  }
  for (const std::string& bad :
       {std::string(), std::string("{}"), text.substr(0, text.size() / 2), std::string("[1]"),
        std::string("{\"format\":\"broadloom-panel-1\"}")}) {
    ASSERT_TRUE(write_file_atomically(at("bad.json"), bad).ok());
    EXPECT_EQ(read_panel_result(at("bad.json")).status().kind(), ErrorKind::kCorrupt) << bad;
  }
  EXPECT_EQ(read_panel_result(at("none.json")).status().kind(), ErrorKind::kNotFound);
}

TEST_F(PanelRuns, DifferencesAreTakenEpisodeByEpisode) {
  const Panel panel = panel_of(kPanel);
  const std::vector<PanelResult> results = {played(trained({}, "a"), panel),
                                            played(trained({{"seed", "6"}}, "b"), panel),
                                            played(at("a"), panel)};
  const Result<PanelComparison> comparison = compare_panel_results(results);
  ASSERT_TRUE(comparison.ok()) << comparison.status().message();
  ASSERT_EQ(comparison.value().rows.size(), 7u);
  for (std::size_t g = 0; g < 7; ++g) {
    const PanelGroup group = panel_groups(panel)[g];
    const std::vector<PanelStanding>& runs = comparison.value().rows[g].runs;
    const std::vector<EvalEpisode> a = episodes_of(results[0], group),
                                   b = episodes_of(results[1], group);
    double mean = 0.0, squares = 0.0;
    const double n = static_cast<double>(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      mean += (b[i].episode_return - a[i].episode_return) / n;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      squares += std::pow(b[i].episode_return - a[i].episode_return - mean, 2.0);
    }
    EXPECT_NEAR(runs[1].return_difference.value, mean, 1e-9);
    EXPECT_NEAR(runs[1].return_difference.high - mean,
                student_t(static_cast<int>(n) - 1) * std::sqrt(squares / (n - 1.0) / n), 1e-9);
    EXPECT_NEAR(runs[1].success_difference.value,
                runs[1].score.success_rate.value - runs[0].score.success_rate.value, 1e-12);
    EXPECT_EQ(runs[2].return_difference.value, 0.0);  // the same run
    EXPECT_EQ(runs[2].return_difference.high, 0.0);
    EXPECT_EQ(runs[0].rank, runs[2].rank);
    const bool first_is_better = runs[0].rank == 1;
    EXPECT_EQ(runs[1].rank, first_is_better ? (runs[1].rank == 1 ? 1 : 3) : 1);
  }
}

TEST_F(PanelRuns, ResultsOfOtherPanelsOrProgramsAreNotCompared) {
  const PanelResult first = played(trained(), panel_of(kPanel));
  const auto expect_refused = [&](const PanelResult& other, const char* words) {
    const Status status = compare_panel_results({first, other}).status();
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch) << words;
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("cannot be compared"), std::string::npos);
  };
  PanelResult other = first;
  other.panel.seeds = {3, 5};
  expect_refused(other, "their panels are");
  other = first;
  other.panel.episodes = 41;
  expect_refused(other, "their panels are");
  other = first;
  other.revision = "another";
  expect_refused(other, "revisions");
  other = first;
  other.binary_hash = std::string(32, '0');
  expect_refused(other, "hashes");
  other = first;
  other.isa = "another";
  expect_refused(other, "instruction sets");
  EXPECT_TRUE(compare_panel_results({first, first}).ok());
}

TEST_F(PanelRuns, UnknownSuccessStaysUnknown) {
  PanelResult result = played(trained(), panel_of(kPanel));
  result.spec.names_success = false;
  const PanelComparison comparison = compare_panel_results({result, result}).take();
  EXPECT_TRUE(std::isnan(comparison.rows[0].runs[1].success_difference.value));
  EXPECT_EQ(comparison.rows[0].runs[1].rank, 1);
  EXPECT_NE(panel_record_json(result).find("\"success_rate\":null"), std::string::npos);
}

TEST_F(PanelRuns, NamesARunWithoutACheckpoint) {
  const std::string run = trained();
  fs::remove_all(run + "/checkpoints");
  const Status status = run_panel(run, panel_of(kPanel), 1).status();
  EXPECT_EQ(status.kind(), ErrorKind::kNotFound);
  EXPECT_NE(status.message().find("has no checkpoint"), std::string::npos);
  EXPECT_EQ(run_panel(at("none"), panel_of(kPanel), 1).status().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(run_panel(trained({}, "b"), panel_of("env_id = \"Acrobot-v1\"\n"), 1).status().kind(),
            ErrorKind::kMismatch);
}

}  // namespace
}  // namespace broadloom
