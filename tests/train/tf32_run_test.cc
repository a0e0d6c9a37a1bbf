// Runs with precision = tf32 on a machine without GPU: they cannot train, but their policies work.
// They are float32 runs with changed records; tests/cuda trains real ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/export/export_policy.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/setup/machine.h"
#include "broadloom/train/initial_policy.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "research/audit/run_audit.h"
#include "research/lab/gradient_study.h"
#include "tests/support/release_only.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

using OrderedJson = nlohmann::ordered_json;

void set_precision(OrderedJson& config, const std::string& precision) {
  config["precision"] = precision;
  if (precision == "tf32") config["device"] = "cuda";
}

void set_precision(const std::string& checkpoint, const std::string& precision) {
  SafetensorsFile file = read_safetensors(checkpoint).take();
  file.metadata["config.precision"] = precision;
  if (precision == "tf32") file.metadata["config.device"] = "cuda";
  std::vector<TensorRef> tensors;
  for (const auto& [name, entry] : file.tensors) {
    tensors.push_back({name, entry.dtype, entry.shape, file.data.data() + entry.begin});
  }
  ASSERT_TRUE(write_safetensors(checkpoint, tensors, file.metadata).ok());
}

class Tf32Runs : public InFolder {
 protected:
  void SetUp() override {
    for (const std::string& name : {"fp32", "tf32"}) {
      ASSERT_TRUE(start_run(config(), at(name), 1, stopping()).ok());
    }
    record_precision("tf32", "tf32");
  }
  // Writes the precision into the run's checkpoint and manifest.
  void record_precision(const std::string& run, const std::string& precision) const {
    set_precision(find_checkpoint(at(run)).value().path, precision);
    const std::string manifest = at(run) + "/manifest.json";
    OrderedJson json = OrderedJson::parse(read_file(manifest).take());
    set_precision(json["config"], precision);
    ASSERT_TRUE(write_file_atomically(manifest, json.dump()).ok());
  }
  // The float32 run's ledger line with that precision.
  std::string ledger_line(const std::string& precision) const {
    EXPECT_TRUE(resume_run(at("fp32"), 1, {}).ok());
    OrderedJson line =
        OrderedJson::parse(read_ledger_line(at("fp32") + "/ledger_line.json", 1).take());
    line.erase("checksum");
    set_precision(line["config"], precision);
    return seal_ledger_line(line.dump()).take();
  }
  static Config config() {
    return resolved({{"env_id", "CartPole-v1"},
                     {"num_envs", "8"},
                     {"num_steps", "16"},
                     {"total_timesteps", "1024"},
                     {"hidden_sizes", "16,8"}});
  }
  static RunHooks stopping() {
    RunHooks hooks;
    hooks.should_stop = [] { return true; };
    return hooks;
  }
  void expect_refused(const Status& status) const {
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find("got 'tf32' with device 'cpu', expected device 'cuda'"),
              std::string::npos)
        << status.message();
  }
};

TEST_F(Tf32Runs, GoOnOnNoProcessor) {
  const std::string manifest = read_file(at("tf32") + "/manifest.json").take();
  expect_refused(resume_run(at("tf32"), 1, {}, 0, {{"device", "cpu"}}).status());
  EXPECT_EQ(read_file(at("tf32") + "/manifest.json").value(), manifest);
  AuditOptions audit;
  audit.machine = {{"device", "cpu"}};
  expect_refused(audit_run(at("tf32"), audit).status());
}

TEST_F(Tf32Runs, AreRunAgainOnNoProcessor) {
  const std::string sealed = ledger_line("tf32");
  Result<RerunPlan> plan = plan_rerun(sealed);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan.value().config.precision, "tf32");
  ASSERT_TRUE(set_machine(plan.value().config, {{"device", "cpu"}}).ok());
  expect_refused(rerun(sealed, plan.value(), at("again"), 1, {}).status());
  EXPECT_FALSE(std::filesystem::exists(at("again")));
}

TEST_F(Tf32Runs, ArePlayedInFloat32) {
  EvalOptions options;
  options.episodes = 5;
  const Result<EvalResult> played = evaluate_run(at("tf32"), options);
  ASSERT_TRUE(played.ok()) << played.status().message();
  EXPECT_EQ(played.value().mean_return, evaluate_run(at("fp32"), options).value().mean_return);
}

TEST_F(Tf32Runs, AreStudiedInFloat32) {
  RELEASE_ONLY("tests of the laboratory run the same code");
  GradientStudyOptions study;
  study.batch = 64;
  study.shapes = {{8, 8}};
  study.blocks = 20;
  study.bias_budget = 20000;
  const Result<GradientStudyReport> report = study_gradients(at("tf32"), study, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const Result<GradientStudyReport> other = study_gradients(at("fp32"), study, {});
  EXPECT_EQ(report.value().variance->at(0).total.value, other.value().variance->at(0).total.value);
}

TEST_F(Tf32Runs, AreExportedAsTheyArePlayed) {
  const Result<ExportedPolicy> exported = export_policy(at("tf32"), {});
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  ASSERT_EQ(exported.value().notes.size(), 1u);
  EXPECT_NE(exported.value().notes[0].find("trained in tf32"), std::string::npos);
  EXPECT_EQ(export_policy(at("fp32"), {}).value().notes.size(), 0u);
}

TEST_F(Tf32Runs, GiveTheirPolicyToRunsOfFloat32) {
  const Result<InitialPolicy> policy = read_initial_policy(at("tf32"));
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  const Result<RunSummary> begun =
      start_run(config(), at("begun"), 1, stopping(), {}, policy.value());
  EXPECT_TRUE(begun.ok()) << begun.status().message();
}

// bf16 was a precision of CPUs once.
TEST_F(Tf32Runs, AndThoseOfAnUnknownPrecisionAreRefused) {
  const std::string sealed = ledger_line("bf16");
  record_precision("fp32", "bf16");
  const std::string expected = "precision: got 'bf16', expected fp32 | tf32";
  for (const Status& status :
       {resume_run(at("fp32"), 1, {}).status(), evaluate_run(at("fp32"), {}).status(),
        export_policy(at("fp32"), {}).status(), plan_rerun(sealed).status()}) {
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(expected), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace broadloom
