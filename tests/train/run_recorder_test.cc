// The two logs of a run side by side: what TensorBoard gets is what metrics.jsonl has.
#include "broadloom/train/run_recorder.h"

#include <gtest/gtest.h>

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/record/files.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/run.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

using RunRecorderTest = InFolder;

// Nothing is worth anything here: gamma 0 and no reward, so that value targets do not vary, and no
// episode ends in one step.
TEST_F(RunRecorderTest, TensorBoardGetsNumbersUnderTheirTagsAndNoneThatAreNotDefined) {
  const Result<Config> config = resolve_config({{"env_id", "FrozenLake-v1"},
                                                {"num_envs", "2"},
                                                {"num_steps", "1"},
                                                {"num_minibatches", "1"},
                                                {"total_timesteps", "2"},
                                                {"gamma", "0"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  const Result<RunSummary> run = start_run(config.value(), at("run"), 1, {});
  ASSERT_TRUE(run.ok()) << run.status().message();
  const std::string metrics = read_file(at("run") + "/metrics.jsonl").take();
  for (const char* part : {"\"explained_variance\": null", "\"episodic_return\": null",
                           "\"ess\":", "\"epochs\":", "\"steps_per_second\":"}) {
    EXPECT_NE(metrics.find(part), std::string::npos) << part << " is not in " << metrics;
  }
  const std::string events = read_file(RunFolder::open(at("run")).take().events_path()).take();
  for (const char* tag : {"losses/ess", "charts/SPS", "charts/learning_rate"}) {
    EXPECT_NE(events.find(tag), std::string::npos) << tag;
  }
  for (const char* tag : {"explained_variance", "episodic_return", "epochs", "global_step"}) {
    EXPECT_EQ(events.find(tag), std::string::npos) << tag;
  }
}

}  // namespace
}  // namespace broadloom
