#include "research/study/store_views.h"

#include "research/report/study_results.h"
#include "research/study/merge.h"
#include "tests/report/planted_results.h"

namespace broadloom {
namespace {

class StoreViews : public PlantedTest {
 protected:
  // Two settings of one shape on two tasks.
  static StudyPlan plan() {
    return plan_text(
        "seeds = 2\npoints = 4\n[base]\ntotal_timesteps = 102400\n"
        "[grid]\nenv_id = ['CartPole-v1', 'Acrobot-v1']\nhidden_sizes = [[8], [16, 8]]\n"
        "learning_rate = [1e-3, 1e-4]\n");
  }
  static double score(int cell, int seed) { return 10.0 * cell + seed; }

  std::string rows(const std::string& name, const std::string& sql) const {
    Result<Database> database = Database::open(path(name));
    EXPECT_TRUE(database.ok()) << database.status().message();
    // The default of other programs with which people read their stores.
    EXPECT_TRUE(database.value().run("PRAGMA trusted_schema = ON").ok());
    Result<Statement> query = database.value().prepare(sql);
    if (!query.ok()) return query.status().message();
    std::string out;
    while (query.value().next().value()) out += query.value().text(0) + "\n";
    return out;
  }

  // Every view has a row's settings; learning rates are numbers.
  void expect_settings(const std::string& name) const {
    const std::string row =
        "cell_id || ' ' || env_id || ' ' || num_envs || 'x' || num_steps || ' ' || hidden_sizes || "
        "' ' || (learning_rate * 2)";
    const std::string want =
        "3 CartPole-v1 4x128 16,8 0.002\n4 CartPole-v1 4x128 16,8 0.0002\n"
        "7 Acrobot-v1 4x128 16,8 0.002\n8 Acrobot-v1 4x128 16,8 0.0002\n";
    for (const char* view : {"settings", "learning_curves", "learning_curves_by_time", "scores"}) {
      EXPECT_EQ(rows(name, "SELECT DISTINCT " + row + " FROM " + view +
                               " WHERE hidden_sizes <> '8' ORDER BY cell_id"),
                want)
          << view;
    }
  }
};

TEST_F(StoreViews, HaveTheSettingsOfTheAxes) {
  plant(plan(), "s", score);
  expect_settings("s");
  EXPECT_EQ(rows("s", "SELECT training_return FROM scores WHERE cell_id = 3 AND seed = 2"),
            "22.0\n");
}

TEST_F(StoreViews, MergedPartsHaveTheSameViews) {
  plant(plan(), "s", score);
  change("s", "DROP VIEW settings; DROP VIEW learning_curves; DROP VIEW scores");
  ASSERT_TRUE(merge_stores({path("s")}, path("merged")).ok());
  expect_settings("merged");
}

}  // namespace
}  // namespace broadloom
