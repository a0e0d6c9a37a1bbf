// Whole runs on an emulated device: their folders and records, compared with those of CPU runs.
// sanitizers: none (emulation, collect faults and tiles run the same kernels)
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "research/audit/run_audit.h"
#include "tests/cuda/device_trainers.h"
#include "tests/train/folder.h"

namespace broadloom::cuda {

#if BROADLOOM_WITH_CUDA
void lose_device();  // lose_device.cu
#else
static void lose_device() {}
#endif

namespace {

class DeviceRuns : public InFolder {
 protected:
  void SetUp() override {
    register_tested_device();
    if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  }

  static Config config_of(const char* device, const Overrides& task = {{"env_id", "CartPole-v1"}}) {
    Overrides options{
        {"num_envs", "8"},           {"num_steps", "16"},          {"device", device},
        {"num_minibatches", "2"},    {"update_epochs", "2"},       {"hidden_sizes", "16,8"},
        {"eval_interval", "2"},      {"checkpoint_interval", "2"}, {"hashes", "true"},
        {"max_episode_steps", "11"}, {"total_timesteps", "700"}};
    options.insert(options.end(), task.begin(), task.end());
    const Result<Config> config = resolve_config(options);
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.value();
  }

  // Trains to the end, or stops after some iterations.
  void train(const char* device, const std::string& name, int stop_after = 0,
             const Overrides& task = {{"env_id", "CartPole-v1"}}) {
    RunHooks hooks;
    hooks.should_stop = [stop_after, done = 0]() mutable { return ++done == stop_after; };
    const Result<RunSummary> summary = start_run(config_of(device, task), at(name), 2, hooks);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary.value().finished, stop_after == 0);
  }

  Json line_of(const std::string& name) { return Json::parse(text_of(name)); }
  std::string text_of(const std::string& name) {
    const Result<std::string> line = read_ledger_line(at(name) + "/ledger_line.json", 1);
    EXPECT_TRUE(line.ok()) << line.status().message();
    return line.value();
  }
};

// With statistics and images, in different worlds with staggered starts.
const Overrides kPendulum{{"env_id", "Pendulum-v1"},         {"norm_obs", "true"},
                          {"norm_reward", "true"},           {"shared_encoder", "true"},
                          {"strata.earth.gravity", "9..11"}, {"strata.moon.gravity", "1.6"},
                          {"disturb.obs_noise", "0.05"},     {"stagger_starts", "true"}};
const Overrides kBreakout{{"env_id", "MinAtar/Breakout-v1"},
                          {"algorithm", "pqn"},
                          {"num_envs", "3"},
                          {"num_steps", "4"},
                          {"num_minibatches", "1"},
                          {"hidden_sizes", "8"},
                          {"env.frame_stack", "2"},
                          {"total_timesteps", "60"}};
// With a predictor, and statistics that begin before the run.
const Overrides kNovelty{{"env_id", "CartPole-v1"}, {"algorithm", "ppo_rnd"},
                         {"norm_obs", "true"},      {"rnd_hidden_sizes", "8"},
                         {"rnd_outputs", "4"},      {"num_iterations_obs_norm_init", "2"}};
// Stopped at the end of a shape.
const Overrides kShapes{{"env_id", "CartPole-v1"},
                        {"norm_obs", "true"},
                        {"shape_schedule", "8x16 @ 0, 12x8/40 @ 0.1, 4x40 @ 0.4"}};

// Records and results of both sides, of a stopped run, and of a rerun from its ledger line.
TEST_F(DeviceRuns, EqualCpuRunsOfEveryKind) {
  int number = 0;
  for (const Overrides* task : {&kPendulum, &kBreakout, &kNovelty, &kShapes}) {
    const std::string suffix = std::to_string(number++);
    const std::string host = "host" + suffix, device = "device" + suffix,
                      stopped = "stopped" + suffix;
    train("cpu", host, 0, *task);
    train("cuda", device, 0, *task);
    const Result<RunDiff> diff = diff_runs(at(host), at(device));
    ASSERT_TRUE(diff.ok()) << diff.status().message();
    EXPECT_TRUE(diff.value().equal());
    EXPECT_EQ(diff.value().compared, 5);
    train("cuda", stopped, 3, *task);
    const Result<RunSummary> summary = resume_run(at(stopped), 1, {});
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    for (const char* part : {"result", "evaluation"}) {
      EXPECT_EQ(line_of(device)[part].dump(), line_of(host)[part].dump());
      EXPECT_EQ(line_of(stopped)[part].dump(), line_of(host)[part].dump());
    }
    const std::string line = text_of(device);
    const Result<RerunPlan> plan = plan_rerun(line);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan.value().config.device, "cuda");
    const Result<RerunReport> again = rerun(line, plan.value(), at("again" + suffix), 2, {});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_TRUE(again.value().agrees());
    EXPECT_EQ(text_of("again" + suffix).find("\"device\":\"cpu\""), std::string::npos);
  }
}

TEST_F(DeviceRuns, EqualCpuRunsToTheBit) {
  train("cpu", "host");
  train("cuda", "device");
  const Result<RunDiff> diff = diff_runs(at("host"), at("device"));
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  EXPECT_TRUE(diff.value().equal());
  EXPECT_EQ(diff.value().compared, 5);
  ASSERT_EQ(diff.value().origins.size(), 1u);
  EXPECT_EQ(diff.value().origins[0].name, "device");
  EXPECT_TRUE(RerunReport({{}, compare_ledger_lines(text_of("host"), text_of("device"))}).agrees());
}

TEST_F(DeviceRuns, ContinueFromTheirCheckpoints) {
  train("cpu", "host");
  train("cuda", "stopped", 3);
  const Result<RunSummary> summary = resume_run(at("stopped"), 1, {});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().finished);
  EXPECT_EQ(line_of("stopped")["result"].dump(), line_of("host")["result"].dump());
  EXPECT_EQ(line_of("stopped")["evaluation"].dump(), line_of("host")["evaluation"].dump());
}

// Continues as on a machine without a device, and back.
TEST_F(DeviceRuns, ContinueOnAnotherDevice) {
  train("cpu", "host");
  train("cuda", "stopped", 2);
  const auto stopping = [] {
    RunHooks hooks;
    hooks.should_stop = [] { return true; };
    return hooks;
  };
  ASSERT_TRUE(resume_run(at("stopped"), 1, stopping(), 0, {{"device", "cpu"}}).ok());
  Result<Manifest> manifest = read_manifest(at("stopped") + "/manifest.json");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest.value().device, tested_device());
  EXPECT_EQ(manifest.value().last_device(), "");
  EXPECT_EQ(manifest.value().bits, "common");
  const Result<RunSummary> summary = resume_run(at("stopped"), 1, {}, 0, {{"device", "cuda"}});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().finished);
  EXPECT_EQ(line_of("stopped")["result"].dump(), line_of("host")["result"].dump());
  EXPECT_EQ(line_of("stopped")["machine"]["device"].text(), tested_device());
  EXPECT_EQ(
      line_of("stopped")["machine"]["device_changes"].dump(),
      "[{\"step\":256,\"device\":\"cpu\"},{\"step\":384,\"device\":\"" + tested_device() + "\"}]");
}

// Loses the device in the middle of a run, or of an iteration if it is emulated. The error says so,
// and the last checkpoint is complete.
TEST_F(DeviceRuns, KeepTheirCheckpointIfTheDeviceIsLost) {
  if (device_is_real() != asked_for("lost")) GTEST_SKIP() << "others need the device";
  train("cpu", "host");
  emulation.limits.launches = 120;
  RunHooks hooks;
  int iterations = 0;
  hooks.on_iteration = [&](const Progress&) {
    if (++iterations == 3 && device_is_real()) lose_device();
  };
  const Result<RunSummary> lost = start_run(config_of("cuda"), at("lost"), 2, hooks);
  EXPECT_EQ(lost.status().kind(), ErrorKind::kIo);
  EXPECT_NE(lost.status().message().find(device_is_real() ? "CUDA says: " : "is lost"),
            std::string::npos)
      << lost.status().message();
  EXPECT_GE(iterations, 2);
  EXPECT_LT(iterations, 5);
  const Result<RunSummary> summary = resume_run(at("lost"), 1, {}, 0, {{"device", "cpu"}});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().finished);
  EXPECT_EQ(line_of("lost")["result"].dump(), line_of("host")["result"].dump());
}

// No steps are left, so the run keeps its device.
TEST_F(DeviceRuns, KeepTheirDeviceAfterTheEnd) {
  train("cpu", "run");
  const auto manifest = [&] { return read_file(at("run") + "/manifest.json").value(); };
  const std::string before = manifest();
  for (const Overrides& machine : {Overrides{{"device", "cuda"}}, {{"memory_limit", "4000"}}}) {
    ASSERT_TRUE(resume_run(at("run"), 1, {}, 0, machine).ok());
    EXPECT_EQ(manifest(), before);
  }
}

TEST_F(DeviceRuns, KeepTheirBitsOnAnotherDevice) {
  train("cpu", "run", 2);
  std::vector<std::string> notes;
  RunHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(resume_run(at("run"), 1, hooks, 0, {{"device", "cuda"}}).ok());
  EXPECT_EQ(line_of("run")["machine"]["bits"].text(), "common");
  EXPECT_TRUE(notes.empty()) << notes[0];
}

TEST_F(DeviceRuns, RefuseOtherKeysOnAResume) {
  train("cpu", "run", 2);
  for (const auto& [key, value] : Overrides{{"isa", "exact"}, {"gamma", "0.5"}}) {
    const Status status = resume_run(at("run"), 1, {}, 0, {{key, value}}).status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find(key + ": got"), std::string::npos) << status.message();
  }
  EXPECT_FALSE(resume_run(at("run"), 1, {}, 0, {{"device", "tpu"}}).ok());
  EXPECT_TRUE(resume_run(at("run"), 1, {}, 0, {{"memory_limit", "4000"}}).ok());
}

TEST_F(DeviceRuns, AreAuditedOnAnyDevice) {
  train("cuda", "run");
  AuditOptions options{.iterations = 2, .threads = 1, .machine = {}};
  const Result<AuditReport> there = audit_run(at("run"), options);
  ASSERT_TRUE(there.ok()) << there.status().message();
  options.machine = {{"device", "tpu"}};
  EXPECT_EQ(audit_run(at("run"), options).status().kind(), ErrorKind::kInvalidConfig);
  options.machine = {{"device", "cpu"}};
  const Result<AuditReport> here = audit_run(at("run"), options);
  ASSERT_TRUE(here.ok()) << here.status().message();
  ASSERT_EQ(there.value().findings.size(), here.value().findings.size());
  for (std::size_t i = 0; i < here.value().findings.size(); ++i) {
    EXPECT_EQ(there.value().findings[i].sentence, here.value().findings[i].sentence);
  }
}

TEST_F(DeviceRuns, NameTheDevice) {
  train("cuda", "device");
  const Result<Manifest> manifest = read_manifest(at("device") + "/manifest.json");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest.value().device, tested_device());
  EXPECT_EQ(manifest.value().bits, "common");
  const Json machine = line_of("device")["machine"];
  EXPECT_GT(line_of("device")["memory"]["device_bytes"].integer<std::int64_t>(), 10000);
  EXPECT_EQ(machine["device"].text(), tested_device());
  EXPECT_EQ(machine["bits"].text(), "common");
  for (const char* part : {"simulation", "rollout", "update"}) {
    EXPECT_EQ(machine["residency"][part].text(), "device");
  }
}

TEST_F(DeviceRuns, SayThatTheHostSteps) {
  const Overrides delayed{{"env_id", "CartPole-v1"}, {"disturb.obs_delay", "1"}};
  RunHooks hooks;
  std::vector<std::string> notes;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(start_run(config_of("cuda", delayed), at("device"), 2, hooks).ok());
  const auto note = std::find_if(notes.begin(), notes.end(), [](const std::string& text) {
    return text ==
           "no kernels step CartPole-v1: the CPU steps it, and device = cuda chooses the "
           "actions and learns";
  });
  EXPECT_NE(note, notes.end());
  const Json machine = line_of("device")["machine"];
  EXPECT_EQ(machine["residency"]["simulation"].text(), "host");
  EXPECT_EQ(machine["residency"]["rollout"].text(), "device");
  train("cpu", "host", 0, delayed);
  EXPECT_EQ(line_of("device")["result"].dump(), line_of("host")["result"].dump());
}

}  // namespace
}  // namespace broadloom::cuda
