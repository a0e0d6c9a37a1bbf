// Transitions recorded from Gymnasium 1.4.0 (numpy 1.24.2) with the state set directly.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "broadloom/env/tasks/classic/acrobot.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/classic/mountain_car.h"
#include "broadloom/env/tasks/classic/mountain_car_continuous.h"
#include "broadloom/env/tasks/classic/pendulum.h"

namespace broadloom {
namespace {

template <class Env>
StepResult step(typename Env::State& state, float action) {
  Random random(1, Purpose::kUser, 0, 0);
  return Env::step(Env::make_params({}).value(), state, &action, random);
}

TEST(Golden, CartPole) {
  CartPole::State s{.01, -.02, .03, -.04};
  const double expected[3][4] = {
      {0.0096, 0.17467919574755525, 0.0292, -0.32306871796000824},
      {0.013093583914951107, -0.020846120233304483, 0.022738625640799835, -0.021322189539218273},
      {0.012676661510285018, 0.17394248021606085, 0.022312181850015468, -0.30674497773442294}};
  const float actions[3] = {1, 0, 1};
  for (int t = 0; t < 3; ++t) {
    const StepResult result = step<CartPole>(s, actions[t]);
    EXPECT_EQ(result.reward, 1.0);
    EXPECT_FALSE(result.terminated);
    EXPECT_NEAR(s.x, expected[t][0], 1e-15);
    EXPECT_NEAR(s.x_dot, expected[t][1], 1e-15);
    EXPECT_NEAR(s.theta, expected[t][2], 1e-15);
    EXPECT_NEAR(s.theta_dot, expected[t][3], 1e-15);
  }
}

TEST(Golden, CartPoleEndsAtItsLimitsWithRewardOne) {
  CartPole::State far{2.39, 1.0, 0.0, 0.0};
  EXPECT_TRUE(step<CartPole>(far, 1).terminated);
  CartPole::State tilted{0.0, 0.0, 0.2090, 1.0};
  const StepResult result = step<CartPole>(tilted, 0);
  EXPECT_TRUE(result.terminated);
  EXPECT_EQ(result.reward, 1.0);
}

TEST(Golden, MountainCar) {
  MountainCar::State s{-.5, 0.0};
  const double expected[3][2] = {{-0.49917684300416926, 0.0008231569958307428},
                                 {-0.49953668667935325, -0.00035984367518397545},
                                 {-0.5000768393321253, -0.0005401526527720642}};
  const float actions[3] = {2, 0, 1};
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(step<MountainCar>(s, actions[t]).reward, -1.0);
    EXPECT_NEAR(s.position, expected[t][0], 1e-15);
    EXPECT_NEAR(s.velocity, expected[t][1], 1e-15);
  }
  MountainCar::State wall{-1.2, -0.05};
  step<MountainCar>(wall, 0);
  EXPECT_EQ(wall.velocity, 0.0);
  MountainCar::State goal{0.49, 0.05};
  EXPECT_TRUE(step<MountainCar>(goal, 2).terminated);
}

TEST(Golden, MountainCarContinuous) {
  MountainCarContinuous::State s{-.5, 0.0};
  const double expected[3][3] = {{-0.49942684, 0.000573157, -0.025},
                                 {-0.50053483, -0.0011079736, -0.4},
                                 {-0.50031567, 0.00021918479, -0.1}};
  const float actions[3] = {.5f, -2.f, 1.f};
  for (int t = 0; t < 3; ++t) {
    EXPECT_NEAR(step<MountainCarContinuous>(s, actions[t]).reward, expected[t][2], 1e-9);
    EXPECT_NEAR(s.position, expected[t][0], 6e-8);
    EXPECT_NEAR(s.velocity, expected[t][1], 1e-9);
  }
  MountainCarContinuous::State goal{0.44, 0.06};
  const StepResult result = step<MountainCarContinuous>(goal, 0.f);
  EXPECT_TRUE(result.terminated);
  EXPECT_EQ(result.reward, 100.0);
}

// The third angle is theta + 0.05 * speed, computed from the recorded numbers.
TEST(Golden, Pendulum) {
  Pendulum::State s{1.0, .5};
  const double expected[3][3] = {{1.0678051619302962, 1.3561032386059226, -1.02725},
                                 {1.1534657462597302, 1.7132116865886817, -1.3281094632207342},
                                 {1.2752828619441841, 2.4363423136890776, -1.6240551561009198}};
  const float actions[3] = {1.5f, -3.f, .25f};
  for (int t = 0; t < 3; ++t) {
    const StepResult result = step<Pendulum>(s, actions[t]);
    EXPECT_FALSE(result.terminated);
    EXPECT_NEAR(result.reward, expected[t][2], 1e-14);
    EXPECT_NEAR(s.theta, expected[t][0], 1e-14);
    EXPECT_NEAR(s.theta_dot, expected[t][1], 1e-14);
  }
}

// The weighted terms of a state and an action sum to the reward.
double weighed(const EnvSpec& spec, std::initializer_list<double> terms) {
  EXPECT_EQ(spec.reward_terms.size(), terms.size());
  double sum = 0.0;
  std::size_t i = 0;
  for (const double term : terms) sum += spec.reward_terms[i++].weight * term;
  return sum;
}

TEST(RewardTerms, SumToTheRewardOfBoxActions) {
  for (const float u : {-1.5f, 0.0f, 0.75f}) {
    Pendulum::State s{0.7, -0.4};
    EXPECT_NEAR(step<Pendulum>(s, u).reward,
                weighed(Pendulum::spec(Pendulum::Params{}), {0.49, 0.16, u * u}), 1e-12);
    MountainCarContinuous::State car{0.3, 0.0}, goal{0.44, 0.06};
    const EnvSpec spec = MountainCarContinuous::spec(MountainCarContinuous::Params{});
    EXPECT_NEAR(step<MountainCarContinuous>(car, u).reward, weighed(spec, {0, u * u}), 1e-12);
    EXPECT_NEAR(step<MountainCarContinuous>(goal, u).reward, weighed(spec, {1, u * u}), 1e-12);
  }
}

TEST(RewardTerms, SumToTheRewardOfAStep) {
  CartPole::State pole{};
  EXPECT_EQ(step<CartPole>(pole, 1).reward, weighed(CartPole::spec(CartPole::Params{}), {1}));
  Acrobot::State robot{.1, -.1, .05, -.05};
  EXPECT_EQ(step<Acrobot>(robot, 2).reward, weighed(Acrobot::spec(Acrobot::Params{}), {1}));
  MountainCar::State car{-0.5, 0.0};
  EXPECT_EQ(step<MountainCar>(car, 1).reward,
            weighed(MountainCar::spec(MountainCar::Params{}), {1}));
}

TEST(Golden, Acrobot) {
  Acrobot::State s{.1, -.1, .05, -.05};
  const double expected[2][4] = {
      {0.08233425834853612, -0.05566779693047502, -0.22143870800603432, 0.4825342633611129},
      {0.04273579987823837, 0.01507868429086183, -0.16442471635618855, 0.20684463733672348}};
  const float actions[2] = {2, 0};
  for (int t = 0; t < 2; ++t) {
    const StepResult result = step<Acrobot>(s, actions[t]);
    EXPECT_EQ(result.reward, -1.0);
    EXPECT_NEAR(s.theta1, expected[t][0], 1e-14);
    EXPECT_NEAR(s.theta2, expected[t][1], 1e-14);
    EXPECT_NEAR(s.omega1, expected[t][2], 1e-14);
    EXPECT_NEAR(s.omega2, expected[t][3], 1e-14);
  }
}

}  // namespace
}  // namespace broadloom
