// Whole runs on an emulated device: what their folders and records hold, beside those of runs by
// the host's processor.
#include <gtest/gtest.h>

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "cuda/emulated_device.h"
#include "tests/train/folder.h"

namespace broadloom::cuda {
namespace {

class DeviceRuns : public InFolder {
 protected:
  static void SetUpTestSuite() {
    register_device("cuda", [](const DeviceSetup& setup) {
      return make_emulated_device(setup, FiberOrder::kForward);
    });
  }
  void SetUp() override {
    if (!has_common_bits(active_isa())) GTEST_SKIP() << "this processor's vectors do not fuse";
  }

  // To its end, or stopped after so many iterations.
  void train(const char* device, const std::string& name, int stop_after = 0) {
    const Result<Config> config = resolve_config({{"env_id", "CartPole-v1"},
                                                  {"num_envs", "8"},
                                                  {"num_steps", "16"},
                                                  {"device", device},
                                                  {"num_minibatches", "2"},
                                                  {"update_epochs", "2"},
                                                  {"hidden_sizes", "16,8"},
                                                  {"eval_interval", "2"},
                                                  {"checkpoint_interval", "2"},
                                                  {"hashes", "true"},
                                                  {"max_episode_steps", "11"},
                                                  {"total_timesteps", "700"}});
    ASSERT_TRUE(config.ok()) << config.status().message();
    RunHooks hooks;
    hooks.should_stop = [stop_after, done = 0]() mutable { return ++done == stop_after; };
    const Result<RunSummary> summary = start_run(config.value(), at(name), 2, hooks);
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

TEST_F(DeviceRuns, AreThoseOfTheProcessorToTheBit) {
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

TEST_F(DeviceRuns, GoOnFromTheirCheckpoints) {
  train("cpu", "host");
  train("cuda", "stopped", 3);
  const Result<RunSummary> summary = resume_run(at("stopped"), 1, {});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_TRUE(summary.value().finished);
  EXPECT_EQ(line_of("stopped")["result"].dump(), line_of("host")["result"].dump());
  EXPECT_EQ(line_of("stopped")["evaluation"].dump(), line_of("host")["evaluation"].dump());
}

TEST_F(DeviceRuns, NameTheDevice) {
  train("cuda", "device");
  const Result<Manifest> manifest = read_manifest(at("device") + "/manifest.json");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest.value().device, "emulated on the host");
  EXPECT_EQ(manifest.value().bits, "own");
  const Json machine = line_of("device")["machine"];
  EXPECT_EQ(machine["device"].text(), "emulated on the host");
  EXPECT_EQ(machine["bits"].text(), "own");
  for (const char* part : {"simulation", "rollout", "update"}) {
    EXPECT_EQ(machine["residency"][part].text(), "device");
  }
}

}  // namespace
}  // namespace broadloom::cuda
