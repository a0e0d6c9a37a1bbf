// Shapes that change over a run: their text, and their effect on a config.
#include "broadloom/config/shape_schedule.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include "broadloom/config/budget.h"
#include "broadloom/config/config.h"

namespace broadloom {
namespace {

ShapeSchedule parsed(const std::string& text) {
  ShapeSchedule schedule;
  const Status status = parse_text(text, schedule);
  EXPECT_TRUE(status.ok()) << status.message();
  return schedule;
}

std::string error_of(const std::string& text) {
  ShapeSchedule schedule = parsed("2x2 @ 0");
  const Status status = parse_text(text, schedule);
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig) << text;
  EXPECT_EQ(to_text(schedule), "2x2 @ 0") << "changed by " << text;
  return status.message();
}

Config config_of(const Overrides& overrides) {
  const Result<Config> config = resolve_config(overrides);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.value();
}

std::string refusal_of(const Overrides& overrides) {
  const Result<Config> config = resolve_config(overrides);
  EXPECT_EQ(config.status().kind(), ErrorKind::kInvalidConfig);
  return config.status().message();
}

TEST(ShapeSchedule, ReadsBackWhatItWrites) {
  const ShapeSchedule schedule = parsed(" 8x128@0,64x16/256  @0.3 ");
  ASSERT_EQ(schedule.phases.size(), 2u);
  EXPECT_EQ(schedule.phases[1].shape.num_envs, 64);
  EXPECT_EQ(schedule.phases[1].shape.num_steps, 16);
  EXPECT_EQ(schedule.phases[1].minibatch_size, 256);
  EXPECT_EQ(schedule.phases[1].start, 0.3);
  EXPECT_EQ(to_text(schedule), "8x128 @ 0, 64x16/256 @ 0.3");
  const ShapeSchedule third = parsed("1x2 @ 0, 3x4 @ 0.3333333333333333, 5x6/7 @ 0.99999");
  EXPECT_EQ(parsed(to_text(third)), third);
  EXPECT_TRUE(parsed("").empty());
  EXPECT_TRUE(parsed("none").empty()) << "as the help calls it";
  EXPECT_TRUE(parsed("  ").empty());
  EXPECT_EQ(to_text(ShapeSchedule{}), "");
}

TEST(ShapeSchedule, SaysWhichEntryIsAmissAndHow) {
  const std::pair<const char*, const char*> cases[] = {
      {"8x128", "got the entry '8x128': it has no @; write num_envs x num_steps @ share of total"},
      {"8x128 @ 0, 64x16", "got the entry '64x16': it has no @"},
      {"8 @ 0", "'8 @ 0': its shape is not two numbers from 1 to 1048576"},
      {"0x128 @ 0", "its shape is not two numbers"},
      {"8x-1 @ 0", "its shape is not two numbers"},
      {"8x9999999 @ 0", "its shape is not two numbers"},
      {"8x128/0 @ 0", "/minibatch_size of at least 1"},
      {"8x128x4 @ 0", "/minibatch_size of at least 1"},
      {"8x128 @ 0.1", "the first entry does not start at 0"},
      {"8x128 @ zero", "its start is not a number from 0 to below 1"},
      {"8x128 @ 0, 4x4 @ 1", "its start is not a number from 0 to below 1"},
      {"8x128 @ 0, 4x4 @ -0.5", "its start is not a number from 0 to below 1"},
      {"8x128 @ 0, 4x4 @ nan", "its start is not a number from 0 to below 1"},
      {"8x128 @ 0, 4x4 @ 0.5, 2x2 @ 0.5", "does not start after the one before it"},
      {"8x128 @ 0,", "nothing follows the last comma"},
      {"8x128 @ 0,,4x4 @ 0.5", "got the entry '': it has no @"}};
  for (const auto& [text, part] : cases) {
    const std::string message = error_of(text);
    EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
  }
}

// Blocks of 1,024 up to 3,000 of 10,000 steps, then of 512, of which 13 fit into what is left.
TEST(ShapeSchedule, ChangesAtTheFirstBlockAtOrAfterAStart) {
  const ShapeSchedule schedule = parsed("8x128 @ 0, 64x8 @ 0.3");
  EXPECT_EQ(schedule.phase_at(0, 10000), 0u);
  EXPECT_EQ(schedule.phase_at(2999, 10000), 0u);
  EXPECT_EQ(schedule.phase_at(3000, 10000), 1u);
  const std::vector<Stretch> all = stretches(schedule, 10000);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].blocks, 3);
  EXPECT_EQ(all[1].first_step, 3072);
  EXPECT_EQ(all[1].blocks, 13);
  EXPECT_EQ(all[1].end_step(), 3072 + 13 * 512);
}

// The run ends where the next block would pass the total, also in a phase that is not the last.
TEST(ShapeSchedule, EndsWithTheLastBlockThatFits) {
  const std::vector<Stretch> all = stretches(parsed("1x10 @ 0, 1x60 @ 0.1, 1x1 @ 0.9"), 100);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].first_step, 10);
  EXPECT_EQ(all[1].blocks, 1);
  EXPECT_EQ(all[1].end_step(), 70);
}

TEST(ShapeSchedule, StretchesAreWhatSteppingComesTo) {
  for (const char* text : {"8x128 @ 0, 64x16 @ 0.3", "3x7 @ 0, 5x5 @ 0.01, 1x13 @ 0.011, 9x9 @ 0.7",
                           "4x128 @ 0, 4x128 @ 0.5", "2x3 @ 0"}) {
    for (const std::int64_t total : {1100, 5000, 8191, 8192, 8193}) {
      const ShapeSchedule schedule = parsed(text);
      std::int64_t step = 0, blocks = 0;
      while (true) {
        const BlockShape& shape = schedule.phases[schedule.phase_at(step, total)].shape;
        if (step + shape.batch() > total) break;
        step += shape.batch();
        ++blocks;
      }
      std::int64_t counted = 0, end = 0;
      for (const Stretch& stretch : stretches(schedule, total)) {
        EXPECT_EQ(stretch.first_step, end);
        counted += stretch.blocks;
        end = stretch.end_step();
      }
      EXPECT_EQ(counted, blocks) << text << " over " << total;
      EXPECT_EQ(end, step) << text << " over " << total;
    }
  }
}

TEST(ShapeScheduleConfig, TheFirstEntryIsTheShapeOfTheConfig) {
  const Config config = config_of({{"shape_schedule", "8x128 @ 0, 64x16/100 @ 0.3"}});
  EXPECT_EQ(config.num_envs, 8);
  EXPECT_EQ(config.num_steps, 128);
  EXPECT_EQ(config.most_envs(), 64);
  EXPECT_EQ(config.of_phase(1).num_envs, 64);
  EXPECT_EQ(config.of_phase(1).minibatch_count(), 11);
  EXPECT_TRUE(config.of_phase(1).shape_schedule.empty());
  EXPECT_EQ(config.at_step(149999).num_envs, 8);
  EXPECT_EQ(config.at_step(150000).num_envs, 64);
  // Equal values of the same keys are allowed, so a record can be read back.
  const Config again = config_of(to_overrides(config));
  EXPECT_EQ(to_overrides(again), to_overrides(config));
  for (const char* key : {"num_envs", "num_steps"}) {
    EXPECT_NE(refusal_of({{"shape_schedule", "8x128 @ 0"}, {key, "9"}})
                  .find("leave num_envs and num_steps out"),
              std::string::npos);
  }
}

TEST(ShapeScheduleConfig, CountsBlocksAndGradientStepsOfAllShapes) {
  const Config config = config_of({{"shape_schedule", "8x128 @ 0, 64x8 @ 0.3"},
                                   {"total_timesteps", "10000"},
                                   {"minibatch_size", "256"},
                                   {"update_epochs", "2"}});
  EXPECT_EQ(config.num_iterations(), 16);
  EXPECT_EQ(config.trained_steps(), 3072 + 13 * 512);
  EXPECT_EQ(config.gradient_steps(), 2 * (3 * 4 + 13 * 2));
  EXPECT_EQ(config.steps_before(1), 0);
  EXPECT_EQ(config.steps_before(4), 3072);
  EXPECT_EQ(config.steps_before(5), 3584);
  EXPECT_TRUE(depends_on_total(config));
  EXPECT_NEAR(budget_of(config).steps_lost, 0.0272, 1e-9);
  const Config plain = config_of({{"total_timesteps", "1100"}});
  EXPECT_EQ(plain.num_iterations(), 2);
  EXPECT_EQ(plain.trained_steps(), 1024);
  EXPECT_EQ(plain.steps_before(3), 1024);
}

TEST(ShapeScheduleConfig, EveryPhaseMustBeARunThatCanBe) {
  const std::pair<Overrides, const char*> cases[] = {
      {{{"shape_schedule", "8x128 @ 0, 6x16 @ 0.5"}, {"seed_families", "8"}},
       "shape_schedule: 6x16 @ 0.5: seed_families: got 8"},
      {{{"shape_schedule", "8x128 @ 0, 2x1 @ 0.5"}}, "2x1 @ 0.5: num_minibatches: got 4"},
      {{{"shape_schedule", "8x128 @ 0, 8x16/129 @ 0.5"}}, "@ 0.5: minibatch_size: got 129"},
      {{{"shape_schedule", "8x128 @ 0, 2x2 @ 0.5"}}, "2x2 @ 0.5: norm_adv"},
      {{{"shape_schedule", "8x128 @ 0, 8x16 @ 0.5, 4x32 @ 0.6"}, {"total_timesteps", "1100"}},
       "no block begins in 8x16 @ 0.5 with total_timesteps = 1100"}};
  for (const auto& [overrides, part] : cases) {
    const std::string message = refusal_of(overrides);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

// A schedule made in code is checked by the same rules.
TEST(ShapeScheduleConfig, ASchedulesOfCodeAreCheckedToo) {
  Config config = config_of({{"shape_schedule", "4x128 @ 0, 8x16 @ 0.5"}});
  config.shape_schedule.phases[1].start = 0.0;
  EXPECT_NE(validate(config).message().find("does not start after"), std::string::npos);
  config.shape_schedule.phases[1] = {{0, 16}, 0, 0.5};
  EXPECT_NE(validate(config).message().find("its shape is not"), std::string::npos);
}

TEST(ShapeScheduleConfig, StandsInTomlAsATextOrAList) {
  for (const char* toml : {"shape_schedule = \"8x128 @ 0, 64x16 @ 0.3\"",
                           "shape_schedule = [\"8x128 @ 0\", \"64x16 @ 0.3\"]"}) {
    const Result<Overrides> overrides = parse_toml_overrides(toml, "run.toml");
    ASSERT_TRUE(overrides.ok()) << overrides.status().message();
    EXPECT_EQ(to_text(config_of(overrides.value()).shape_schedule), "8x128 @ 0, 64x16 @ 0.3");
  }
  const Result<Overrides> wrong = parse_toml_overrides("seed = 1\nshape_schedule = \"8x\"", "a");
  EXPECT_NE(wrong.status().message().find("a:2: shape_schedule: got the entry '8x'"),
            std::string::npos)
      << wrong.status().message();
}

}  // namespace
}  // namespace broadloom
