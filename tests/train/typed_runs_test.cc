// Uses of run folders with uint8 observations and with observations for the critic only: resume,
// comparison, rerun, audit, study, initial policy.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/record/files.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/contract.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/audit/run_audit.h"
#include "research/lab/gradient_study.h"
#include "tests/env/observation_envs.h"
#include "tests/golden/folder.h"
#include "tests/support/release_only.h"

namespace broadloom {
namespace {

class TypedRuns : public ::testing::TestWithParam<std::string> {
 protected:
  Config config(const Overrides& more = {}) const {
    EXPECT_TRUE(register_observation_envs());
    Overrides all{{"env_id", GetParam()},      {"num_envs", "37"},       {"num_steps", "13"},
                  {"total_timesteps", "5000"}, {"hidden_sizes", "16,8"}, {"hashes", "true"},
                  {"checkpoint_interval", "3"}};
    if (is_minatar()) all.push_back({"max_episode_steps", "50"});
    if (has_critic()) all.push_back({"norm_obs", "true"});
    all.insert(all.end(), more.begin(), more.end());
    Result<Config> config = resolve_config(all);
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.take();
  }
  std::string at(const std::string& name) const { return folder_.at(name); }
  bool has_critic() const { return GetParam() == "Windy-v0"; }
  bool is_minatar() const { return GetParam().starts_with("MinAtar/"); }
  broadloom::Json line(const std::string& run) const {
    return broadloom::Json::parse(read_ledger_line(at(run) + "/ledger_line.json", 1).take());
  }

 private:
  golden::Folder folder_{"typed_runs"};
};

// Blocks with critic observations have one more field and cannot be compared with others.
TEST(TypedRunsDiff, RefusesRunsOfWhichOneHasACritic) {
  const golden::Folder folder("typed_runs_diff");
  HashShape shape{.num_envs = 2, .num_steps = 3, .observation_size = 4, .action_size = 1};
  const auto write = [&](const char* name) {
    std::filesystem::create_directories(folder.at(name));
    EXPECT_TRUE(write_file_atomically(folder.at(name) + "/manifest.json",
                                      manifest_json(make_manifest({}, 1, 1, "")))
                    .ok());
    Result<HashLog> log = HashLog::open(folder.at(name) + "/hashes.bin", shape, 0);
    EXPECT_TRUE(log.ok()) << log.status().message();
    EXPECT_TRUE(log.value().append(1, BlockHashes(shape.sizes())).ok());
  };
  write("plain");
  shape.has_critic = true;
  write("critic");
  EXPECT_EQ(diff_runs(folder.at("plain"), folder.at("critic")).status().kind(),
            ErrorKind::kMismatch);
  EXPECT_EQ(diff_runs(folder.at("critic"), folder.at("plain")).status().kind(),
            ErrorKind::kMismatch);
}

// Settings that do not fit are refused before a run or a study begins.
TEST_P(TypedRuns, AreRefusedBeforeTheContractWhereTheyCannotBe) {
  const Overrides wrong =
      has_critic() ? Overrides{{"shared_encoder", "true"}} : Overrides{{"norm_obs", "true"}};
  EXPECT_EQ(make_contract(config(wrong), 1).status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_TRUE(make_contract(config(), 1).ok());
}

TEST_P(TypedRuns, GoOnWhereTheyWereStopped) {
  const Result<RunSummary> whole = start_run(config(), at("whole"), 2, {});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  int left = 4;
  RunHooks stop;
  stop.should_stop = [&] { return --left == 0; };
  ASSERT_FALSE(start_run(config(), at("stopped"), 2, stop).take().finished);
  ASSERT_TRUE(resume_run(at("stopped"), 1, {}).ok());
  const Result<RunDiff> diff = diff_runs(at("whole"), at("stopped"));
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  EXPECT_TRUE(diff.value().equal());
  EXPECT_EQ(line("whole")["result"]["state_hash"].text(),
            line("stopped")["result"]["state_hash"].text());
}

TEST_P(TypedRuns, AreMadeAgainFromTheirRecord) {
  ASSERT_TRUE(start_run(config(), at("run"), 2, {}).ok());
  const broadloom::Json contract = line("run")["contract"];
  if (has_critic()) {
    EXPECT_FALSE(contract["observation"].is_object());
    EXPECT_EQ(contract["critic_observation"]["dtype"].text(), "float32");
  } else {
    EXPECT_EQ(contract["observation"]["dtype"].text(), "uint8");
    EXPECT_EQ(contract["observation"]["full_scale"].is_number(), is_minatar());
    EXPECT_FALSE(contract["critic_observation"].is_object());
  }
  const std::string record = read_ledger_line(at("run") + "/ledger_line.json", 1).take();
  const Result<RerunReport> again = rerun(record, plan_rerun(record).take(), at("again"), 2, {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again.value().agrees());
}

TEST_P(TypedRuns, PartWhereOneObservationDiffers) {
  ASSERT_TRUE(start_run(config(), at("a"), 1, {}).ok());
  ASSERT_TRUE(start_run(config({{"seed", "2"}}), at("b"), 1, {}).ok());
  const Result<RunDiff> diff = diff_runs(at("a"), at("b"));
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  ASSERT_FALSE(diff.value().equal());
  EXPECT_EQ(diff.value().parting->field, "observations");
}

// Such a network would take 34 GB before its tensor is checked.
TEST(AuditedFiles, ThatClaimToBeTooLargeAreRefusedAtOnce) {
  const golden::Folder folder("audited");
  const std::string path = folder.at("policy.safetensors");
  const Config config = resolve_config({{"num_envs", "4"}, {"num_steps", "8"}}).take();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 1).take();
  ASSERT_TRUE(trainer->iterate().ok());
  ASSERT_TRUE(save_checkpoint(path, *trainer, {}).ok());
  Metadata metadata = read_safetensors(path).take().metadata;
  metadata["config.hidden_sizes"] = "65536,65536,65536";
  ASSERT_TRUE(write_safetensors(path, trainer->state(), metadata).ok());
  const Status status = audit_run(path, {}).status();
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch) << status.message();
  EXPECT_NE(status.message().find("learner.params"), std::string::npos) << status.message();
}

TEST_P(TypedRuns, AreAuditedAndStudied) {
  if (!has_critic()) RELEASE_ONLY("two kinds of observations more: one runs the same code");
  ASSERT_TRUE(start_run(config({{"instruments", "audit"}}), at("run"), 2, {}).ok());
  AuditOptions options;
  options.iterations = 3;
  const Result<AuditReport> audit = audit_run(at("run"), options);
  ASSERT_TRUE(audit.ok()) << audit.status().message();
  EXPECT_EQ(audit.value().iterations, 3);
  GradientStudyOptions study;
  study.batch = 64;
  study.shapes = {{8, 8}};
  study.blocks = 20;
  study.bias_budget = 20000;
  study.value_term = true;
  const Result<GradientStudyReport> one = study_gradients(at("run"), study, {});
  ASSERT_TRUE(one.ok()) << one.status().message();
  study.threads = 3;
  const Result<GradientStudyReport> three = study_gradients(at("run"), study, {});
  ASSERT_TRUE(three.ok());
  const VarianceResult &a = one.value().variance->at(0), &b = three.value().variance->at(0);
  EXPECT_GT(a.total.value, 0.0);
  EXPECT_EQ(a.total.value, b.total.value);
}

TEST_P(TypedRuns, GiveTheirPolicyToOthersOfTheirKindAlone) {
  ASSERT_TRUE(start_run(config(), at("run"), 2, {}).ok());
  const Result<InitialPolicy> policy = read_initial_policy(at("run"));
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  const std::unique_ptr<Trainer> next = Trainer::create(config({{"seed", "9"}}), 1).take();
  ASSERT_TRUE(begin_with(policy.value(), *next).ok());
  EXPECT_EQ(next->critic_normalizer() != nullptr, has_critic());
  if (has_critic()) EXPECT_NEAR(next->critic_normalizer()->statistics().mean()[1], 100.0, 1.0);
  Result<Config> other = resolve_config({{"env_id", "CartPole-v1"}, {"hidden_sizes", "16,8"}});
  const Status refused = check_policy_fits(policy.value(), other.value());
  EXPECT_EQ(refused.kind(), ErrorKind::kMismatch);
  EXPECT_NE(
      refused.message().find(has_critic()   ? "critic observations: got Box(3)"
                             : is_minatar() ? "got Box(10, 10, 4; uint8 to 1), expected Box(4)"
                                            : "got Box(6, 5, 1; uint8), expected Box(4)"),
      std::string::npos)
      << refused.message();
}

INSTANTIATE_TEST_SUITE_P(Environments, TypedRuns,
                         ::testing::Values("Catch-v0", "Windy-v0", "MinAtar/Breakout-v0"),
                         [](const auto& info) {
                           return info.param.starts_with("MinAtar/") ? std::string("Planes")
                                                                     : info.param.substr(0, 5);
                         });

}  // namespace
}  // namespace broadloom
