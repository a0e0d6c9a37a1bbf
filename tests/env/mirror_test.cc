#include "broadloom/env/mirror.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/env/rollout.h"

namespace broadloom {
namespace {

VecEnvOptions asked_envs() { return {.num_envs = 3, .seed = 5}; }

std::vector<std::string> mirror_findings(const std::string& id, const Overrides& env_options) {
  return check_vec_env(
             [&](const VecEnvOptions& options) { return make_vec_env(id, env_options, options); })
      .findings();
}

std::string mirror_refusal(const std::string& id, const Overrides& options) {
  return make_vec_env(id, options, asked_envs()).status().message();
}

TEST(SignedPermutation, ReadsAndWritesItsText) {
  const SignedPermutation map = " +0 -2\n -1 ";
  EXPECT_EQ(map.index, (std::vector<std::int32_t>{0, 2, 1}));
  EXPECT_EQ(map.sign, (std::vector<float>{1.0f, -1.0f, -1.0f}));
  EXPECT_EQ(map.text(), "+0 -2 -1");
  EXPECT_EQ(SignedPermutation("-1 -0").append(map).text(), "-1 -0 +2 -4 -3");
}

TEST(SignedPermutation, ReflectsInPlaceAndTwiceIsNothing) {
  const SignedPermutation map = "+0 -2 -1 -3";
  std::vector<float> numbers = {1, 9, 2, 9, 3, 9, 4, 9};  // each second number
  map.reflect(numbers.data(), 2);
  EXPECT_EQ(numbers, (std::vector<float>{1, 9, -3, 9, -2, 9, -4, 9}));
  map.reflect(numbers.data(), 2);
  EXPECT_EQ(numbers, (std::vector<float>{1, 9, 2, 9, 3, 9, 4, 9}));
}

TEST(Mirror, OfTheLibrarysTasksHoldsInPlay) {
  for (const char* id : {"CartPole-v1", "Pendulum-v1", "Acrobot-v1"}) {
    EXPECT_TRUE(env_spec(id, {}).value().mirror.exists()) << id;
    EXPECT_EQ(mirror_findings(id, {}), std::vector<std::string>{}) << id;
  }
}

// Each wrong mirror is its own inverse, and takes bounds to bounds.
TEST(Mirror, ThatIsWrongIsFoundInPlay) {
  const auto expect_found = [](const char* id, const char* seen, const char* action,
                               const std::string& words) {
    const std::vector<std::string> found =
        mirror_findings(id, {{"mirror_obs", seen}, {"mirror_action", action}});
    ASSERT_FALSE(found.empty()) << id << " " << seen << " " << action;
    EXPECT_NE(found.front().find(words), std::string::npos) << found.front();
  };
  // Actions stay.
  expect_found("CartPole-v1", "-0 -1 -2 -3", "+0 +1", "x action");
  // The pole does not turn with the cart.
  expect_found("CartPole-v1", "-0 -1 +2 +3", "+1 +0", "x action");
  expect_found("Pendulum-v1", "+0 +1 -2", "-0", "number 1 x number 2");
  expect_found("Pendulum-v1", "+0 -1 -2", "+0", "x action");
  expect_found("Pendulum-v1", "+1 +0 +2", "+0", "number");
  expect_found("Acrobot-v1", "+0 -1 +2 -3 -4 +5", "+2 +1 +0", "x action");
}

// The parts that check_vec_env() could not check.
std::string unchecked(const MakeVecEnv& make) {
  std::string out;
  for (const ConformanceReport::Check& check : check_vec_env(make).checks) {
    EXPECT_EQ(check.findings, std::vector<std::string>{}) << check.name;
    out += check.unchecked;
  }
  return out;
}

// Pendulum without its speed: a number that is always 0 has no sign to see, and without it nothing
// goes with the sine.
class Still final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  void observe(int begin, int end, ObservationRows rows) const override {
    ForwardingVecEnv::observe(begin, end, rows);
    stop(end - begin, rows.floats());
  }
  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(ForwardingVecEnv::step(begin, end, rows));
    stop(end - begin, rows.observations.floats());
    for (int k = 0; k < end - begin; ++k) {
      const bool ended = (rows.terminated[k] | rows.truncated[k]) != 0;
      if (ended) stop(1, rows.final_observations.floats() + 3 * k);
    }
    return {};
  }

 private:
  static void stop(int count, float* rows) {
    for (int i = 0; i < count; ++i) rows[3 * i + 2] = 0.0f;
  }
};

TEST(Mirror, SignsThatPlayDoesNotShowAreNamed) {
  const auto pendulum = [](const VecEnvOptions& options) {
    return make_vec_env("Pendulum-v1", {}, options);
  };
  EXPECT_EQ(unchecked(pendulum), "");
  EXPECT_EQ(unchecked([&](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
              return std::unique_ptr<VecEnv>(std::make_unique<Still>(pendulum(options).take()));
            }),
            "signs of the policy's observation's numbers 1, 2, which play does not show");
}

TEST(Mirror, IsOfVisibleNumbersAndOfEachFrame) {
  const auto visible = make("CartPole-v1", asked_envs(), {{"hide_obs", "1,3"}});
  EXPECT_EQ(visible->spec().mirror.observation.text(), "-0 -1");
  const auto frames = make("Pendulum-v1", asked_envs(), {{"frame_stack", "2"}});
  EXPECT_EQ(frames->spec().mirror.observation.text(), "+0 -1 -2 +3 -4 -5");
  const auto both = make("Pendulum-v1", asked_envs(),
                         {{"hide_obs", "2"}, {"hide_from", "policy"}, {"frame_stack", "2"}});
  EXPECT_EQ(both->spec().mirror.observation.text(), "+0 -1 +2 -3");
  EXPECT_EQ(both->spec().mirror.critic_observation.text(), "+0 -1 -2");
  // The image of a number is hidden.
  const auto half = make("MountainCarContinuous-v0", asked_envs(),
                         {{"mirror_obs", "+0 +1"}, {"mirror_action", "+0"}, {"hide_obs", "0"}});
  EXPECT_EQ(half->spec().mirror.observation.text(), "+0");
  EXPECT_FALSE(make("MountainCar-v0", asked_envs())->spec().mirror.exists());
}

TEST(Mirror, ThatDoesNotFitIsRefused) {
  const auto refused = [](const char* seen, const char* action) {
    return mirror_refusal("Pendulum-v1", {{"mirror_obs", seen}, {"mirror_action", action}});
  };
  EXPECT_EQ(refused("+0 -1", "-0"),
            "mirror of Pendulum-v1, observation: got 2 terms, expected one for each of 3 numbers");
  EXPECT_EQ(
      refused("+0 -1 2", "-0"),
      "mirror of Pendulum-v1, observation: term 2 is wrong; expected a sign and a number from "
      "0 to 2, such as -2");
  EXPECT_EQ(
      refused("+0 -1 -3", "-0"),
      "mirror of Pendulum-v1, observation: term 2 is wrong; expected a sign and a number from "
      "0 to 2, such as -2");
  EXPECT_EQ(refused("+1 +2 +0", "-0"),
            "mirror of Pendulum-v1, observation: mirrored twice, number 0 does not come back: term "
            "0 names +1, term 1 names +2");
  EXPECT_EQ(refused("-1 +0 +2", "-0"),
            "mirror of Pendulum-v1, observation: mirrored twice, number 0 does not come back: term "
            "0 names -1, term 1 names +0");
  EXPECT_EQ(refused("+0 -1 -2", "-0 +1"),
            "mirror of Pendulum-v1, action: got 2 terms, expected one for each of 1 numbers");
  EXPECT_EQ(
      mirror_refusal("CartPole-v1", {{"mirror_obs", "-0 -1 -2 -3"}, {"mirror_action", "-1 -0"}}),
      "mirror of CartPole-v1, action: choices have no sign; write + before each");
  EXPECT_EQ(mirror_refusal(
                "Pendulum-v1",
                {{"mirror_obs", "+0 -1 -2"}, {"mirror_action", "-0"}, {"mirror_critic", "+0"}}),
            "mirror of Pendulum-v1, critic's observation: got 1 terms, expected one for each of 0 "
            "numbers");
  EXPECT_NE(mirror_refusal("Pendulum-v1", {{"mirror_obs", "+0 -1 -2"}}).find("action: got 0 terms"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom
