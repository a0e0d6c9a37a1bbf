// ForwardingVecEnv forwards every method of VecEnv.
#include "broadloom/env/forwarding_vec_env.h"
#include "tests/support/folders.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <utility>

#include "broadloom/env/audit_context.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/env_memory.h"
#include "broadloom/env/episode_strata.h"
#include "tests/env/counted.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

std::string source(const std::string& name) {
  std::ifstream file(source_folder() + "/broadloom/env/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads the headers, since a forgotten method with a default would compile.
TEST(ForwardingVecEnv, OverridesEveryMethod) {
  const std::string interface = source("vec_env.h"), forwarding = source("forwarding_vec_env.h");
  const std::regex method("virtual [^;{~]*?(\\w+)\\(");
  int methods = 0;
  for (std::sregex_iterator i(interface.begin(), interface.end(), method), end; i != end; ++i) {
    const std::string name = (*i)[1];
    ++methods;
    if (name == "wrapped") continue;  // capabilities use it, see below
    const std::regex forwarded("\\b" + name + "\\([^;{]*override \\{\\s*(return )?inner_->" + name);
    EXPECT_TRUE(std::regex_search(forwarding, forwarded)) << name;
  }
  EXPECT_GE(methods, 11);
}

// All results come from the inner environments, also those of methods with a default.
TEST(ForwardingVecEnv, ForwardsToTheInnerEnvironments) {
  const Overrides keys = {{"strata.a.gravity", "8..9"}, {"strata.b.gravity", "10..11"}};
  VecEnvOptions options{.num_envs = 4, .seed = 3, .max_episode_steps = 12};
  options.curriculum.levels = {"a", "b"};
  const std::unique_ptr<VecEnv> plain = make("CartPole-v1", options, keys);
  ForwardingVecEnv around(make("CartPole-v1", options, keys));
  EXPECT_EQ(roll(*plain, 0, 50, 4), roll(around, 0, 50, 4));
  const auto& drawn = *capability<AuditContext>(std::as_const(around));
  for (int n = 0; n < 4; ++n) {
    EXPECT_GE(level_of(*plain, n), 0);
    EXPECT_GE(stratum_of(*plain, n), 0);
    EXPECT_EQ(level_of(*plain, n), level_of(around, n));
    EXPECT_EQ(stratum_of(*plain, n), stratum_of(around, n));
    EXPECT_EQ(plain->episode_step(n), around.episode_step(n));
    EXPECT_FALSE(drawn.drawn_constants(n).empty());
  }
  EXPECT_EQ(plain->max_truncations(50), around.max_truncations(50));
}

TEST(ForwardingVecEnv, ForwardsCapabilities) {
  ForwardingVecEnv around(
      std::make_unique<ForwardingVecEnv>(std::make_unique<Counted>(make("CartPole-v1", {}))));
  const VecEnv& plain = *around.wrapped()->wrapped()->wrapped();
  EXPECT_NE(capability<Drawable>(plain), nullptr);
  EXPECT_EQ(capability<Drawable>(around), capability<Drawable>(plain));
  EXPECT_EQ(capability<EpisodeStrata>(around), capability<EpisodeStrata>(plain));
  EXPECT_EQ(capability<AuditContext>(around), capability<AuditContext>(plain));
  EXPECT_EQ(make_another(around, {.num_envs = 2})->num_envs(), 2);
  // A capability of the wrapper alone, and one that neither has.
  EXPECT_NE(capability<StepCounter>(around), nullptr);
  EXPECT_EQ(capability<StepCounter>(plain), nullptr);
  EXPECT_EQ(capability<SharedMemory>(around), nullptr);
}

// A wrapper's own capability comes before that of the wrapped environments.
TEST(ForwardingVecEnv, LetsAWrapperChangeACapability) {
  class OnlyOne final : public ForwardingVecEnv, public EnvMaker {
   public:
    using ForwardingVecEnv::ForwardingVecEnv;
    std::unique_ptr<VecEnv> another(const VecEnvOptions&) const override { return nullptr; }
  };
  const ForwardingVecEnv around(std::make_unique<OnlyOne>(make("CartPole-v1", {})));
  EXPECT_EQ(make_another(around, {}), nullptr);
  EXPECT_NE(capability<Drawable>(around), nullptr);
}

}  // namespace
}  // namespace broadloom
