// Planted states give known shapes at exact positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "broadloom/env/audit_context.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/drawing.h"
#include "broadloom/env/tasks/classic/acrobot.h"
#include "broadloom/env/tasks/classic/cart_pole.h"
#include "broadloom/env/tasks/classic/mountain_car.h"
#include "broadloom/env/tasks/classic/mountain_car_continuous.h"
#include "broadloom/env/tasks/classic/pendulum.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/tasks/toy_text/cliff_walking.h"
#include "broadloom/env/tasks/toy_text/frozen_lake.h"
#include "broadloom/env/tasks/toy_text/taxi.h"

namespace broadloom {
namespace {

constexpr double kPi = 3.141592653589793;

template <class Env>
Drawing drawn(const typename Env::Params& params, const typename Env::State& state,
              const float* action = nullptr) {
  Drawing out;
  Env::draw(params, state, action, out);
  return out;
}

std::vector<Shape> of_kind(const Drawing& drawing, Shape::Kind kind, Ink ink) {
  std::vector<Shape> found;
  std::copy_if(drawing.shapes.begin(), drawing.shapes.end(), std::back_inserter(found),
               [&](const Shape& shape) { return shape.kind == kind && shape.ink == ink; });
  return found;
}

void expect_numbers(const Shape& shape, const std::vector<double>& expected) {
  ASSERT_EQ(shape.numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(shape.numbers[i], expected[i], 1e-12) << i;
  }
}

// The tip of the only arrow in the picture; NaN if there is none.
Point arrow_tip(const Drawing& drawing) {
  const std::vector<Shape> heads = of_kind(drawing, Shape::Kind::kPolygon, Ink::kAccent);
  if (heads.size() != 1) return {std::nan(""), std::nan("")};
  return {heads[0].numbers[0], heads[0].numbers[1]};
}

// A wrong draw() is not ignored: it does not compile (batched_env.h).
struct DrawsWithoutAction {
  struct Params {};
  struct State {};
  static void draw(const Params&, const State&, Drawing&);
};
struct DrawsNothing {
  struct Params {};
  struct State {};
};
static_assert(env_detail::kDraws<CartPole> && env_detail::kNamesDraw<CartPole>);
static_assert(!env_detail::kDraws<DrawsWithoutAction>);
static_assert(env_detail::kNamesDraw<DrawsWithoutAction>);
static_assert(!env_detail::kDraws<DrawsNothing> && !env_detail::kNamesDraw<DrawsNothing>);

TEST(Drawing, AnArrowIsAShaftAndAHead) {
  Drawing out;
  out.arrow(Ink::kAccent, 0.1, {0.0, 0.0}, {2.0, 0.0});
  ASSERT_EQ(out.shapes.size(), 2u);
  expect_numbers(out.shapes[0], {0.1, 0.0, 0.0, 1.4, 0.0});
  expect_numbers(out.shapes[1], {2.0, 0.0, 1.4, 0.3, 1.4, -0.3});
  out.arrow(Ink::kAccent, 0.1, {1.0, 1.0}, {1.0, 1.0});
  EXPECT_EQ(out.shapes.size(), 2u);  // of length 0: no shape
}

TEST(Drawing, CartPolesPoleHasTheLengthAndAngleOfItsState) {
  CartPole::Params params;
  params.half_length = 1.0;
  const float right = 1.0f, left = 0.0f;
  const CartPole::State state{0.5, 0.0, kPi / 2.0, 0.0};  // level, to the right
  const Drawing drawing = drawn<CartPole>(params, state, &right);
  const std::vector<Shape> pole = of_kind(drawing, Shape::Kind::kLine, colour(1));
  ASSERT_EQ(pole.size(), 1u);
  expect_numbers(pole[0], {0.08, 0.5, 0.0, 2.5, 0.0});
  const std::vector<Shape> cart = of_kind(drawing, Shape::Kind::kRectangle, Ink::kInk);
  ASSERT_EQ(cart.size(), 1u);
  expect_numbers(cart[0], {0.25, -0.3, 0.5, 0.3});
  const std::vector<Shape> limits = of_kind(drawing, Shape::Kind::kLine, Ink::kBad);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].numbers[1], -CartPole::kPositionLimit);
  EXPECT_EQ(limits[1].numbers[1], CartPole::kPositionLimit);
  EXPECT_EQ(drawing.action, "push right");
  EXPECT_GT(arrow_tip(drawing).x, 0.75);
  EXPECT_LT(arrow_tip(drawn<CartPole>(params, state, &left)).x, 0.25);
  const Drawing last = drawn<CartPole>(params, state);
  EXPECT_TRUE(std::isnan(arrow_tip(last).x));  // no action is taken there
  EXPECT_EQ(last.action, "");
  EXPECT_EQ(last.left, drawing.left);
  EXPECT_GE(drawing.top, 2.0);
}

TEST(Drawing, AcrobotsTipIsAboveTheLineAtTheEndOfAnEpisode) {
  const float torque = 2.0f, none = 1.0f;
  const std::vector<std::pair<double, double>> angles{
      {kPi, 0.0}, {2.0, 0.5}, {0.1, -0.2}, {kPi, 2.6}};
  for (const auto& [theta1, theta2] : angles) {
    const Acrobot::State state{theta1, theta2, 0.0, 0.0};
    const Drawing drawing = drawn<Acrobot>({}, state, &torque);
    const std::vector<Shape> line = of_kind(drawing, Shape::Kind::kLine, Ink::kGood);
    const std::vector<Shape> lower = of_kind(drawing, Shape::Kind::kLine, colour(1));
    ASSERT_EQ(line.size(), 1u);
    ASSERT_EQ(lower.size(), 1u);
    const double tip = lower[0].numbers[4];
    EXPECT_EQ(tip > line[0].numbers[2], -std::cos(theta1) - std::cos(theta1 + theta2) > 1.0);
    EXPECT_EQ(drawing.action, "counter-clockwise");
    EXPECT_TRUE(std::isnan(arrow_tip(drawn<Acrobot>({}, state, &none)).x));
  }
}

TEST(Drawing, PendulumsTorqueTurnsInItsDirection) {
  const float half = 1.0f, back = -2.0f;
  Pendulum::Params params;
  params.length = 2.0;
  const Pendulum::State state{kPi / 2.0, 0.0};  // a quarter counter-clockwise of upright
  const Drawing drawing = drawn<Pendulum>(params, state, &half);
  const std::vector<Shape> rod = of_kind(drawing, Shape::Kind::kLine, colour(1));
  ASSERT_EQ(rod.size(), 1u);
  expect_numbers(rod[0], {0.24, 0.0, 0.0, -2.0, 0.0});
  const auto arc = [](const Drawing& picture) {
    return of_kind(picture, Shape::Kind::kLine, Ink::kAccent).at(0).numbers;
  };
  const std::vector<double> forward = arc(drawing),
                            backward = arc(drawn<Pendulum>(params, state, &back));
  EXPECT_GT(forward[1], forward[forward.size() - 2]);  // over the top, to the left
  EXPECT_LT(backward[1], backward[backward.size() - 2]);
  // Half the torque is half the turn: from 45 degrees right of upright to 45 left.
  EXPECT_NEAR(forward[1], 0.8 * std::sqrt(0.5), 1e-9);
  EXPECT_NEAR(backward[1], -0.8, 1e-9);
  EXPECT_TRUE(std::isnan(arrow_tip(drawn<Pendulum>(params, state)).x));
}

// The wheels are on the hill, and the arrow points up or down the slope.
TEST(Drawing, MountainCarsAreOnTheHill) {
  const float right = 2.0f, coast = 1.0f;
  const MountainCar::State state{0.0, 0.0};  // where the slope is 1
  const Drawing drawing = drawn<MountainCar>({}, state, &right);
  const std::vector<Shape> curve = of_kind(drawing, Shape::Kind::kLine, Ink::kMuted);
  ASSERT_FALSE(curve.empty());
  EXPECT_NEAR(curve[0].numbers[1], MountainCar::kMinPosition, 1e-12);
  EXPECT_NEAR(curve[0].numbers[2], std::sin(3.0 * -1.2) / 3.0, 1e-12);
  const std::vector<Shape> wheels = of_kind(drawing, Shape::Kind::kCircle, Ink::kMuted);
  ASSERT_EQ(wheels.size(), 2u);
  const auto& a = wheels[0].numbers;
  const auto& b = wheels[1].numbers;
  EXPECT_NEAR((b[1] - a[1]) / (b[0] - a[0]), 1.0, 1e-9);
  const Point tip = arrow_tip(drawing);
  EXPECT_GT(tip.x, 0.0);
  EXPECT_GT(tip.y, 0.0);
  EXPECT_EQ(drawing.action, "accelerate right");
  EXPECT_TRUE(std::isnan(arrow_tip(drawn<MountainCar>({}, state, &coast)).x));
  const std::vector<Shape> flag = of_kind(drawing, Shape::Kind::kPolygon, Ink::kGood);
  EXPECT_EQ(flag.at(0).numbers[0], MountainCar::kGoalPosition);
}

TEST(Drawing, TheContinuousCarsArrowHasTheLengthOfItsThrottle) {
  const float full = 1.0f, beyond = 3.0f, half = 0.5f;
  const double level = kPi / 6.0;  // the hill is level there
  const MountainCarContinuous::State state{level, 0.0};
  const auto reach = [&](const float& action) {
    return arrow_tip(drawn<MountainCarContinuous>({}, state, &action)).x - level;
  };
  EXPECT_NEAR(reach(full) - reach(half), 0.11, 1e-6);
  EXPECT_EQ(reach(full), reach(beyond));
}

TEST(Drawing, FrozenLakesCellsFollowItsMap) {
  FrozenLake::Options options;
  options.desc = "SFH/FFG";
  const FrozenLake::Params params = FrozenLake::make_params(options).value();
  const float up = 3.0f, down = 1.0f;
  const Drawing drawing = drawn<FrozenLake>(params, {4}, &up);  // the middle of the lower row
  EXPECT_EQ(drawing.action, "up");
  EXPECT_NEAR(drawing.right, 3.35, 1e-12);
  EXPECT_NEAR(drawing.top, 2.35, 1e-12);
  expect_numbers(of_kind(drawing, Shape::Kind::kCircle, Ink::kMuted).at(0), {2.5, 1.5, 0.36});
  expect_numbers(of_kind(drawing, Shape::Kind::kRectangle, Ink::kGood).at(0), {2.0, 0.0, 1.0, 1.0});
  expect_numbers(of_kind(drawing, Shape::Kind::kCircle, Ink::kInk).at(0), {1.5, 0.5, 0.24});
  EXPECT_NEAR(arrow_tip(drawing).y, 1.3, 1e-12);
  EXPECT_NEAR(arrow_tip(drawn<FrozenLake>(params, {1}, &down)).y, 0.7, 1e-12);
}

TEST(Drawing, CliffWalkingHasItsCliffBetweenStartAndGoal) {
  const float right = 1.0f;
  const Drawing drawing = drawn<CliffWalking>({}, {CliffWalking::kStart}, &right);
  const std::vector<Shape> cliff = of_kind(drawing, Shape::Kind::kRectangle, Ink::kBad);
  ASSERT_EQ(cliff.size(), 10u);
  expect_numbers(cliff.front(), {1.0, 0.0, 1.0, 1.0});
  expect_numbers(cliff.back(), {10.0, 0.0, 1.0, 1.0});
  expect_numbers(of_kind(drawing, Shape::Kind::kCircle, Ink::kInk).at(0), {0.5, 0.5, 0.24});
  EXPECT_NEAR(arrow_tip(drawing).x, 1.3, 1e-12);
}

TEST(Drawing, TaxisPassengerWaitsOrRides) {
  const auto code = [](int row, int col, int passenger, int destination) {
    return Taxi::State{((row * 5 + col) * 5 + passenger) * 4 + destination};
  };
  const float east = 2.0f, pick_up = 4.0f;
  const Drawing waiting = drawn<Taxi>({}, code(2, 1, 3, 0), &east);
  EXPECT_EQ(waiting.action, "east");
  EXPECT_NEAR(arrow_tip(waiting).x, 2.3, 1e-12);
  const auto passenger = [](const Drawing& picture) {
    return of_kind(picture, Shape::Kind::kCircle, colour(3)).at(0).numbers;
  };
  EXPECT_NEAR(passenger(waiting)[0], 3.2, 1e-12);  // at B, row 4, column 3, in its corner
  EXPECT_NEAR(passenger(waiting)[1], 0.8, 1e-12);
  const Drawing riding = drawn<Taxi>({}, code(2, 1, Taxi::kInTaxi, 0), &pick_up);
  EXPECT_EQ(passenger(riding), (std::vector<double>{1.5, 2.5, 0.13}));
  EXPECT_EQ(riding.action, "pick up");
  EXPECT_TRUE(std::isnan(arrow_tip(riding).x));
  const std::vector<Shape> frame = of_kind(riding, Shape::Kind::kLine, Ink::kGood);
  ASSERT_EQ(frame.size(), 1u);
  EXPECT_NEAR(frame[0].numbers[2], 4.06, 1e-12);  // around R, in the uppermost row
  // Three pairs of walls: east of column 1 above, and of columns 0 and 2 below.
  EXPECT_EQ(of_kind(riding, Shape::Kind::kLine, Ink::kInk).size(), 6u);
}

// An episode with its own constants is drawn with them.
TEST(Drawing, UsesTheEpisodesOwnConstants) {
  const Overrides strata{{"strata.short.half_length", "0.2..0.3"},
                         {"strata.long.half_length", "1.0..1.5"}};
  const std::unique_ptr<VecEnv> envs = make_vec_env("CartPole-v1", strata, {.num_envs = 8}).take();
  for (int i = 0; i < 8; ++i) {
    CartPole::Params params;
    const auto constants = capability<AuditContext>(*envs)->drawn_constants(i);
    ASSERT_EQ(constants.size(), sizeof(params));
    std::memcpy(&params, constants.data(), sizeof(params));
    Drawing drawing;
    capability<Drawable>(*envs)->draw(i, nullptr, drawing);
    const std::vector<double> pole = of_kind(drawing, Shape::Kind::kLine, colour(1)).at(0).numbers;
    EXPECT_NEAR(std::hypot(pole[3] - pole[1], pole[4] - pole[2]), 2.0 * params.half_length, 1e-12);
  }
}

// Environments from the registry draw their present state, and all shapes lie in their view.
TEST(Drawing, EveryEnvironmentOfTheLibraryDrawsItself) {
  for (const EnvSpec& spec : list_envs()) {
    if (!is_built_in(spec.id) || spec.observation.dtype == Dtype::kU8) continue;
    const std::unique_ptr<VecEnv> envs = make_vec_env(spec.id, {}, {.num_envs = 2}).take();
    const std::vector<float> action(static_cast<std::size_t>(spec.action_size()), 0.0f);
    Drawing drawing;
    capability<Drawable>(*envs)->draw(1, action.data(), drawing);
    EXPECT_FALSE(drawing.empty()) << spec.id;
    EXPECT_LT(drawing.left, drawing.right) << spec.id;
    EXPECT_LT(drawing.bottom, drawing.top) << spec.id;
    for (const Shape& shape : drawing.shapes) {
      for (const double number : shape.numbers) EXPECT_TRUE(std::isfinite(number)) << spec.id;
    }
  }
}

}  // namespace
}  // namespace broadloom
