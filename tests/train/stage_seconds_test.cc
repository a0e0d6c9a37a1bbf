#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/run_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

constexpr double kNap = 0.02;

class NappingRecorder : public Recorder {
 public:
  Status record(Trainer&) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(kNap));
    return {};
  }
};

double sum_of(const StageSeconds& stages) {
  double sum = 0.0;
  for (const StageField& stage : kStages) sum += stages.*stage.seconds;
  return sum;
}

std::unique_ptr<Trainer> timed_trainer() {
  const Result<Config> config = resolve_config({{"env_id", "Pendulum-v1"},
                                                {"num_envs", "32"},
                                                {"num_steps", "32"},
                                                {"total_timesteps", "1000000"}});
  return Trainer::create(config.value(), 1).take();
}

TEST(StageSeconds, AddUpToTheIteration) {
  const auto trainer = timed_trainer();
  EXPECT_EQ(sum_of(trainer->stage_seconds()), 0.0);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer->iterate().ok());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  for (const StageField& stage : kStages) {
    SCOPED_TRACE(stage.name);
    EXPECT_GE(trainer->stage_seconds().*stage.seconds, 0.0);
  }
  EXPECT_GT(trainer->stage_seconds().collect, 0.0);
  EXPECT_GT(trainer->stage_seconds().update, 0.0);
  EXPECT_LE(sum_of(trainer->stage_seconds()), elapsed.count());
}

// A busy machine may hold the thread up between two stages, but not in each of many iterations.
TEST(StageSeconds, AreMostOfAnIteration) {
  const auto trainer = timed_trainer();
  double most = 0.0;
  for (int i = 0; i < 200 && most <= 0.5; ++i) {
    const double before = sum_of(trainer->stage_seconds());
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(trainer->iterate().ok());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    most = std::max(most, (sum_of(trainer->stage_seconds()) - before) / elapsed.count());
  }
  EXPECT_GT(most, 0.5);
}

TEST(StageSeconds, ARecordersTimeIsItsOwn) {
  const auto trainer = timed_trainer();
  NappingRecorder recorder;
  trainer->set_recorder(&recorder);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_GE(trainer->stage_seconds().record, 2 * kNap);
}

}  // namespace
}  // namespace broadloom
