// Nothing of VecEnv is forgotten by what forwards it.
#include "broadloom/env/forwarding_vec_env.h"
#include "tests/support/folders.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>

#include "tests/env/rollout.h"

namespace broadloom {
namespace {

std::string source(const std::string& name) {
  std::ifstream file(source_folder() + "/broadloom/env/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads the headers: a method that has a default and is forgotten would compile.
TEST(ForwardingVecEnv, OverridesEveryMethod) {
  const std::string interface = source("vec_env.h"), forwarding = source("forwarding_vec_env.h");
  const std::regex method("virtual [^;{~]*?(\\w+)\\(");
  int methods = 0;
  for (std::sregex_iterator i(interface.begin(), interface.end(), method), end; i != end; ++i) {
    const std::string name = (*i)[1];
    const std::regex forwarded("\\b" + name + "\\([^;{]*override \\{\\s*(return )?inner_->" + name);
    EXPECT_TRUE(std::regex_search(forwarding, forwarded)) << name;
    ++methods;
  }
  EXPECT_GE(methods, 11);
}

// Every answer is the inner environments', those with a default too.
TEST(ForwardingVecEnv, GivesWhatIsInside) {
  const Overrides keys = {{"strata.a.gravity", "8..9"}, {"strata.b.gravity", "10..11"}};
  VecEnvOptions options{.num_envs = 4, .seed = 3, .max_episode_steps = 12};
  options.curriculum.levels = {"a", "b"};
  const std::unique_ptr<VecEnv> plain = make("CartPole-v1", options, keys);
  ForwardingVecEnv around(make("CartPole-v1", options, keys));
  EXPECT_EQ(roll(*plain, 0, 50, 4), roll(around, 0, 50, 4));
  for (int n = 0; n < 4; ++n) {
    EXPECT_GE(plain->level(n), 0);
    EXPECT_GE(plain->stratum(n), 0);
    EXPECT_EQ(plain->level(n), around.level(n));
    EXPECT_EQ(plain->stratum(n), around.stratum(n));
    EXPECT_EQ(plain->episode_step(n), around.episode_step(n));
    EXPECT_EQ(plain->drawn_constants(n).size(), around.drawn_constants(n).size());
    EXPECT_FALSE(around.drawn_constants(n).empty());
  }
  EXPECT_EQ(plain->max_truncations(50), around.max_truncations(50));
  EXPECT_EQ(around.another({.num_envs = 2})->num_envs(), 2);
}

}  // namespace
}  // namespace broadloom
