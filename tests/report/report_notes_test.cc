#include "research/report/report_notes.h"

#include <algorithm>

#include "research/report/report_troubles.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

// Numbers of a run during training.
struct Course {
  std::vector<double> evaluations;  // evenly spaced, the last one at the end
  std::vector<double> kl;           // at the points of the curve
};

class Troubles : public PlantedTest {
 protected:
  // Three arms with five runs each; course(cell, seed).
  StudyReport planted(const std::function<Course(int, int)>& course, const std::string& base = "",
                      const std::string& name = "s") const {
    const StudyPlan plan = ladder_plan(5, base);
    Result<StudyStore> store = StudyStore::open(path(name), plan, {}, false);
    EXPECT_TRUE(store.ok());
    for (const StudyRun& run : plan.runs) {
      const Course numbers = course(run.cell, static_cast<int>(run.seed));
      RunRecord record = planted_run(plan, run.id, run.cell, 400.0 + static_cast<double>(run.seed));
      const std::size_t points = numbers.kl.size();
      record.curve.clear();
      for (std::size_t k = 0; k < points; ++k) {
        const auto steps = static_cast<std::int64_t>(102400 * (k + 1) / points);
        record.curve.push_back({static_cast<int>(k + 1), steps, steps, steps, 1.0, {}});
        record.curve.back().values = {{"episodic_return", 400.0 + static_cast<double>(run.seed)},
                                      {"approx_kl", numbers.kl[k]},
                                      {"epochs", 4.0}};
      }
      record.evaluations.clear();
      const std::size_t count = numbers.evaluations.size();
      for (std::size_t k = 0; k < count; ++k) {
        const auto steps = static_cast<std::int64_t>(102400 * (k + 1) / count);
        record.evaluations.push_back(
            {steps, 10, 10, numbers.evaluations[k] + static_cast<double>(run.seed), 0, 0, 0, 0});
      }
      EXPECT_TRUE(store.value().write(record).ok());
    }
    store = Status(ErrorKind::kIo, "closed");
    return report({name});
  }
  static Course fine() { return {{100, 200, 300, 350, 400}, {1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-6}}; }
  static std::string words(const StudyReport& report) {
    std::string all;
    for (const std::string& note : report.notes) all += note + "\n";
    return all;
  }
};

TEST_F(Troubles, FineRunsHaveNoneButConstantsAreNoted) {
  const StudyReport r = planted([](int, int) { return fine(); });
  EXPECT_TRUE(r.troubles.empty());
  for (const char* trouble : {"failed", "next to nothing", "lost it", "hardly changed"}) {
    EXPECT_EQ(words(r).find(trouble), std::string::npos) << words(r);
  }
  EXPECT_NE(words(r).find("not drawn: Epochs carried out (4).\n"), std::string::npos) << words(r);
}

TEST_F(Troubles, ACollapsedArmIsNamedWithItsPeak) {
  const StudyReport r = planted([](int cell, int) {
    Course course = fine();
    if (cell == 1) course.evaluations = {100, 400, 300, 100, 60};
    return course;
  });
  ASSERT_EQ(r.troubles.size(), 1U);
  EXPECT_EQ(r.troubles[0].kind, TroubleKind::kCollapsed);
  EXPECT_EQ(r.troubles[0].cell, 1);
  EXPECT_EQ(r.troubles[0].step, 40960.0);
  EXPECT_EQ(r.troubles[0].before.value, 403.0);
  EXPECT_NE(
      words(r).find("Learnt and lost it again, so the last score is not the best: 8x8, 403.0 ["),
      std::string::npos)
      << words(r);
  EXPECT_NE(words(r).find("] after 40,960 steps and 63.0 ["), std::string::npos);
}

TEST_F(Troubles, ALossOfLessThanHalfIsNoCollapse) {
  const StudyReport r = planted([](int cell, int) {
    Course course = fine();
    if (cell == 1) course.evaluations = {100, 400, 300, 280, 260};
    return course;
  });
  EXPECT_TRUE(r.troubles.empty());
}

TEST_F(Troubles, AnArmAtTheLevelOfRandomActionsIsNamed) {
  const StudyReport r = planted([](int cell, int) {
    Course course = fine();
    if (cell == 2) course.evaluations = {20, 20, 20, 20, 20};
    return course;
  });
  ASSERT_EQ(r.troubles.size(), 1U);
  EXPECT_EQ(r.troubles[0].kind, TroubleKind::kAtRandom);
  EXPECT_NE(words(r).find("Learnt next to nothing, at most 5 % of the way from random actions to "
                          "the reference: 16x4, 23.0 ["),
            std::string::npos)
      << words(r);
  EXPECT_NE(words(r).find("] (22.33 to 500)."), std::string::npos) << words(r);
}

// An environment that takes few steps ends its short episodes alone.
TEST_F(Troubles, TrainingReturnsOfShortEpisodesAloneAreNotJudged) {
  const auto near_random = [&](const std::string& name, int num_envs) {
    const StudyPlan plan = plan_text(
        "seeds = 5\npoints = 4\n[base]\ntotal_timesteps = 102400\nnum_steps = 16\n"
        "num_envs = " +
        std::to_string(num_envs) + "\n");
    plant(plan, name, [](int, int seed) { return 20.0 + 0.1 * seed; });
    change(name, "DELETE FROM evaluations");
    const StudyReport r = report({name});
    return std::count_if(r.troubles.begin(), r.troubles.end(),
                         [](const ReportTrouble& t) { return t.kind == TroubleKind::kAtRandom; });
  };
  EXPECT_EQ(near_random("long", 16), 1);   // 6,400 steps each, and episodes of up to 500
  EXPECT_EQ(near_random("short", 64), 0);  // 1,600
}

TEST_F(Troubles, APolicyStillFromTheMiddleIsNamedAndOneThatMovesLaterIsNot) {
  const StudyReport r = planted([](int cell, int) {
    Course course = fine();
    if (cell == 0) course.kl = {1e-3, 1e-3, 1e-11, 1e-11, 1e-11, 1e-12};
    if (cell == 1) course.kl = {1e-3, 1e-11, 1e-3, 1e-3, 1e-11, 1e-12};
    return course;
  });
  ASSERT_EQ(r.troubles.size(), 1U);
  EXPECT_EQ(r.troubles[0].kind, TroubleKind::kStill);
  EXPECT_EQ(r.troubles[0].step, 51200.0);
  EXPECT_NE(
      words(r).find("The policy hardly changed any more (all updates up to the end, together, "
                    "moved it by a KL below 0.001): 4x16 after 51,200 of 102,400 steps."),
      std::string::npos)
      << words(r);
}

// The steps from which policies stand still, in the order of the arms.
std::vector<double> still_steps(const StudyReport& report) {
  std::vector<double> steps;
  for (const ReportTrouble& trouble : report.troubles) {
    if (trouble.kind == TroubleKind::kStill) steps.push_back(trouble.step);
  }
  return steps;
}

// 1,600 updates: with 16 steps each they move the policy by 1,600^2 * 1536 / 465 times a constant
// approx_kl, with two by 1,600^2 * 8 times.
TEST_F(Troubles, ManySmallUpdatesAddUp) {
  const auto all = [](double kl) {
    return [kl](int, int) {
      Course course = fine();
      course.kl = {kl, kl, kl, kl, kl, kl};
      return course;
    };
  };
  using Steps = std::vector<double>;
  const std::string two = "num_minibatches = 1\nupdate_epochs = 2\n";
  EXPECT_EQ(still_steps(planted(all(1e-6), "", "a")), Steps());
  EXPECT_EQ(still_steps(planted(all(1.15e-10), "", "b")), Steps({0, 0, 0}));
  EXPECT_EQ(still_steps(planted(all(1.2e-10), "", "c")), Steps({17066, 17066, 17066}));
  EXPECT_EQ(still_steps(planted(all(4.8e-11), two, "d")), Steps({0, 0, 0}));
  EXPECT_EQ(still_steps(planted(all(5e-11), two, "e")), Steps({17066, 17066, 17066}));
}

TEST_F(Troubles, OneRunThatMovesIsEnough) {
  const StudyReport r = planted([](int, int seed) {
    Course course = fine();
    course.kl.assign(6, seed == 5 ? 1e-3 : 0.0);
    return course;
  });
  EXPECT_EQ(still_steps(r), std::vector<double>());
}

// The first minibatch of a block has ratio 1, whatever its step does afterwards.
TEST_F(Troubles, OneGradientStepABlockShowsNoChange) {
  const auto zeros = [](int, int) {
    Course course = fine();
    course.kl.assign(6, 0.0);
    return course;
  };
  const StudyReport one = planted(zeros, "num_minibatches = 1\nupdate_epochs = 1\n", "one");
  EXPECT_EQ(still_steps(one), std::vector<double>());
  const std::string note = "With one gradient step a block, ratios are 1 by definition";
  EXPECT_NE(words(one).find(note), std::string::npos) << words(one);
  EXPECT_NE(words(one).find(" say nothing: 4x16, 8x8 and 16x4.\n"), std::string::npos);
  const StudyReport sixteen = planted(zeros, "", "sixteen");
  EXPECT_EQ(still_steps(sixteen), std::vector<double>({0, 0, 0}));
  EXPECT_EQ(words(sixteen).find(note), std::string::npos);
}

TEST_F(Troubles, AnArmIsNamedIfHalfOfItsRunsFailed) {
  plant(
      ladder_plan(6), "s", [](int cell, int seed) { return around(400.0 + cell, seed); },
      [](int cell, int seed) { return cell == 1 && seed <= 3; });
  const StudyReport r = report({"s"});
  ASSERT_EQ(r.troubles.size(), 1U);
  EXPECT_EQ(r.troubles[0].kind, TroubleKind::kFailed);
  EXPECT_NE(words(r).find("half of the runs"), std::string::npos) << words(r);
  EXPECT_NE(words(r).find(": 8x8 (3 of 6)."), std::string::npos) << words(r);
}

using SampledStudy = PlantedTest;

TEST_F(SampledStudy, TheReportSaysThatItIsNoGrid) {
  const StudyPlan plan = plan_text(
      "seeds = 3\nsampler = 'Optuna TPESampler, seed 1'\n[base]\ntotal_timesteps = 102400\n"
      "[[variants]]\nlearning_rate = 1e-3\n[[variants]]\nlearning_rate = 1e-4\n");
  plant(plan, "sampled", [](int cell, int seed) { return 10.0 * cell + seed; });
  const StudyReport sampled = report({"sampled"});
  ASSERT_EQ(sampled.studies.front().sampler, "Optuna TPESampler, seed 1");
  EXPECT_NE(sampled.notes.front().find("is not a grid: Optuna TPESampler, seed 1 chose its 2 "
                                       "settings one after another"),
            std::string::npos)
      << sampled.notes.front();
  EXPECT_EQ(sampled.heading, "Settings that a sampler chose on CartPole-v1");
  EXPECT_EQ(sampled.answer,
            "No grid: a sampler chose among the 2 settings on CartPole-v1, so this shows no effect "
            "of a key; train the best with new seeds.");
  plant(ladder_plan(2), "grid", [](int, int) { return 1.0; });
  const StudyReport grid = report({"grid"});
  EXPECT_EQ(grid.studies.front().sampler, "");
  for (const std::string& note : grid.notes) {
    EXPECT_EQ(note.find("not a grid"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace broadloom
