#include "research/study/study_definition.h"

#include "tests/study/scene.h"

namespace broadloom {
namespace {

std::string differences(const std::string& theirs, const std::string& ours) {
  return definition_differences({"'a'", plan_text(theirs).definition},
                                {"'b'", plan_text(ours).definition});
}

constexpr char kDefined[] = "seeds = 2\n[base]\ntotal_timesteps = 4096\nnum_envs = 2\n";

TEST(DefinitionDifferences, SayTheEnvironmentFirstAndTheSeedsLast) {
  EXPECT_EQ(differences(std::string(kDefined) + "env_id = 'Acrobot-v1'\ngamma = 0.9\n",
                        "seeds = 3\npoints = 4\n[base]\ntotal_timesteps = 4096\nnum_envs = 2\n"),
            "'a' has 'env_id Acrobot-v1', 'b' 'env_id CartPole-v1'; 'a' has 'points 50', 'b' "
            "'points 4'; 'a' has 'gamma 0.9', 'b' 'gamma 0.99'; 'a' has 'seeds 1,2', 'b' 'seeds "
            "1,2,3'");
}

TEST(DefinitionDifferences, NameAFewCellsThatOnlyOneStudyHas) {
  const std::string rest = "[base]\ntotal_timesteps = 4096\n";
  EXPECT_EQ(differences("seeds = 1\n" + rest + "[grid]\nnum_steps = [4, 8, 16, 32, 64, 128]\n",
                        "seeds = 1\n" + rest + "[grid]\nnum_steps = [4, 256]\n"),
            "only 'a' has the cells num_steps=128, num_steps=16, num_steps=32 and 2 more; only 'b' "
            "has the cell num_steps=256");
}

TEST(DefinitionDifferences, NameEqualDifferencesOfCellsOnce) {
  const auto text = [](const std::string& gamma) {
    std::string all = "seeds = 1\n[base]\ntotal_timesteps = 4096\n";
    for (const char* name : {"x", "y", "z"}) {
      all += std::string("[[variants]]\nname = '") + name + "'\nlearning_rate = " +
             (name[0] == 'x'   ? "0.1\n"
              : name[0] == 'y' ? "0.2\n"
                               : "0.3\n");
      if (name[0] != 'z') all += "gamma = " + gamma + "\n";
    }
    return all;
  };
  EXPECT_EQ(differences(text("0.5"), text("0.6")),
            "in 2 cells 'a' has 'gamma 0.5', 'b' 'gamma 0.6'");
}

TEST(DefinitionDifferences, AreAFewAndACount) {
  const std::string many =
      "learning_rate = 0.1\ngamma = 0.5\ngae_lambda = 0.5\nclip_coef = 0.5\nent_coef = 0.5\n"
      "vf_coef = 0.1\nupdate_epochs = 9\nmax_grad_norm = 9\n";
  const std::string text = differences(std::string(kDefined) + many, kDefined);
  EXPECT_EQ(std::count(text.begin(), text.end(), ';'), 6) << text;
  EXPECT_TRUE(text.ends_with("; and 2 more")) << text;
}

TEST(LoneSources, AreThoseThatOneStudyDoesNotName) {
  const std::string old = "seeds 1\ncell a\ngamma 1\ncell b\ngamma 2\n";
  const std::string named = "seeds 1\ncell a\ngamma 1\nupstream MySim\ncell b\ngamma 2\n";
  const std::string more = named + "cell c\nupstream MySim\n";
  const auto dropped = [](std::string theirs, std::string ours) {
    drop_lone_sources(theirs, ours);
    return std::pair(theirs, ours);
  };
  EXPECT_EQ(dropped(old, named), std::pair(old, old));
  EXPECT_EQ(dropped(named, old), std::pair(old, old));
  EXPECT_EQ(dropped(named, more), std::pair(named, more));
  EXPECT_EQ(dropped(old, more), std::pair(old, old + "cell c\nupstream MySim\n"));
}

TEST(Sources, GoToTheCellsThatNameNone) {
  const std::string old = "seeds 1\ncell a\ngamma 1\ncell b\ngamma 2\n";
  const std::string named = "seeds 2\ncell a\nupstream A\ncell b\nupstream B\ncell c\nupstream C\n";
  const std::string both = "seeds 1\ncell a\ngamma 1\nupstream A\ncell b\ngamma 2\nupstream B\n";
  EXPECT_EQ(with_sources(old, named), both);
  EXPECT_EQ(with_sources(both, named), both);
  EXPECT_EQ(with_sources(old + "upstream X\n", named),
            "seeds 1\ncell a\ngamma 1\nupstream A\ncell b\ngamma 2\nupstream X\n");
  EXPECT_EQ(with_sources(named, old), named);
  EXPECT_TRUE(same_sources(old, named));
  EXPECT_TRUE(same_sources(both, named));
  EXPECT_FALSE(same_sources(old + "upstream X\n", named));
}

}  // namespace
}  // namespace broadloom
