// Models, simulations, sums and options of the bridge to MuJoCo.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/numpy_sum.h"
#include "bridges/mujoco/options.h"

namespace broadloom::mujoco {
namespace {

constexpr char kCart[] =
    "<mujoco><worldbody><body><joint name='rail' type='slide' axis='1 0 0'/>"
    "<geom size='0.1'/></body></worldbody>"
    "<actuator><motor joint='rail' ctrlrange='-1 1'/></actuator></mujoco>";

// Checks that the message contains all words.
::testing::AssertionResult says(const Status& status, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (status.message().find(word) != std::string::npos) continue;
    return ::testing::AssertionFailure()
           << "'" << status.message() << "' does not say '" << word << "'";
  }
  return ::testing::AssertionSuccess();
}

// NumPy 2.4.6's sums of squares of this generator's numbers.
template <class Number>
std::vector<Number> numbers(std::size_t count) {
  std::uint64_t x = 1;
  std::vector<Number> out;
  for (std::size_t i = 0; i < count; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<Number>(static_cast<double>(x >> 11) * 0x1p-53 - 0.5));
  }
  return out;
}

TEST(MujocoSums, AddInTheOrderOfNumPy) {
  struct Sum {
    std::size_t count;
    float single;
    double twice;
  };
  const Sum sums[] = {
      {1, 0x1.82746cp-8f, 0x1.82746a2d2d84dp-8},   {3, 0x1.caaf1p-6f, 0x1.caaf1197548f6p-6},
      {7, 0x1.0e29b4p-3f, 0x1.0e29b4802f0dbp-3},   {8, 0x1.487976p-2f, 0x1.4879776e68fdcp-2},
      {9, 0x1.bea882p-2f, 0x1.bea8826c8e6cbp-2},   {17, 0x1.ac5ed4p-1f, 0x1.ac5ed4ed0d485p-1},
      {84, 0x1.a56610p+2f, 0x1.a566111fa7134p+2},  {128, 0x1.3c0abap+3f, 0x1.3c0abb43a29abp+3},
      {129, 0x1.3fc590p+3f, 0x1.3fc592a65c8d6p+3}, {300, 0x1.832594p+4f, 0x1.832592e4d0c9ap+4},
      {1001, 0x1.502422p+6f, 0x1.502421b1eee2bp+6}};
  for (const Sum& sum : sums) {
    EXPECT_EQ(sum_of_squares(numbers<float>(sum.count).data(), sum.count), sum.single) << sum.count;
    EXPECT_EQ(sum_of_squares(numbers<double>(sum.count).data(), sum.count), sum.twice) << sum.count;
  }
}

TEST(MujocoOptions, IntervalsAreReadAndWritten) {
  for (const char* text : {"0.7,inf", "-inf,10", "-0.2,0.2", "-inf,inf"}) {
    Interval interval;
    ASSERT_TRUE(parse_text(text, interval).ok()) << text;
    EXPECT_EQ(to_text(interval), text);
  }
  Interval interval;
  ASSERT_TRUE(parse_text("[0.5, +inf]", interval).ok());
  EXPECT_EQ(to_text(interval), "0.5,inf");
  for (const char* text : {"", "1", "2,1", "a,b", "1,2,3", "nan,1"}) {
    EXPECT_FALSE(parse_text(text, interval).ok()) << text;
  }
  EXPECT_EQ(to_text(interval), "0.5,inf") << "what cannot be read changes nothing";
}

TEST(MujocoModel, IsReadFromText) {
  const Result<std::shared_ptr<Model>> model = Model::parse(kCart, "cart");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value()->get().nq, 1);
  EXPECT_EQ(model.value()->name_of(mjOBJ_JOINT, 0), "rail");
  EXPECT_EQ(model.value()->find(mjOBJ_JOINT, "rail"), 0);
  EXPECT_EQ(model.value()->find(mjOBJ_JOINT, "road"), -1);
  EXPECT_EQ(model.value()->text_hash().size(), 16u);
}

TEST(MujocoModel, ReportsWhereAndWhyReadingFails) {
  EXPECT_TRUE(says(
      Model::parse("<mujoco><worldbody>\n<geom sizes='1'/></worldbody></mujoco>", "wrong").status(),
      {"wrong", "sizes", "line 2"}));
  EXPECT_TRUE(says(Model::parse("<mujoco>", "half").status(), {"half", "cannot read"}));
  EXPECT_TRUE(says(
      Model::parse("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", "light")
          .status(),
      {"light", "mass"}));
  EXPECT_TRUE(
      says(Model::load("/nowhere/robot.xml").status(), {"/nowhere/robot.xml", "cannot be opened"}));
  EXPECT_EQ(Model::load("/nowhere/robot.xml").status().kind(), ErrorKind::kNotFound);
}

TEST(MujocoModel, NeedsJointsAndActuators) {
  EXPECT_TRUE(says(
      Model::parse("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>", "stone").status(),
      {"stone", "no joints"}));
  EXPECT_TRUE(says(
      Model::parse("<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>",
                   "doll")
          .status(),
      {"doll", "no actuators", "<actuator>"}));
}

// Sets a variable for a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name); old != nullptr) before_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(MujocoModel, FindsFilesOfGymnasiumOrReportsThem) {
  EXPECT_TRUE(find_asset("hopper.xml").ok());
  EXPECT_TRUE(says(find_asset("hoper.xml").status(), {"hoper.xml", "tools/setup.sh --mujoco"}));
  const Variable elsewhere("BROADLOOM_MUJOCO", "/nowhere");
  EXPECT_TRUE(says(find_asset("hopper.xml").status(), {"/nowhere", "BROADLOOM_MUJOCO"}));
}

TEST(MujocoSimulation, ReportsFaultsAndContinues) {
  const Result<std::shared_ptr<Model>> model = Model::parse(kCart, "cart");
  ASSERT_TRUE(model.ok());
  const Lease simulation = model.value()->lease();
  simulation->reset();
  simulation->scene().data.qvel[0] = 1e30;
  EXPECT_EQ(simulation->step(1), Health::kUnstable);
  EXPECT_EQ(simulation->complaint(), "the speed of joint 'rail' is not finite, or huge");
  simulation->reset();
  simulation->scene().data.ctrl[0] = NAN;
  EXPECT_EQ(simulation->step(2), Health::kUnstable);
  EXPECT_EQ(simulation->complaint(), "the action of actuator 0 is not finite, or huge");
  simulation->scene().data.ctrl[0] = 1.0;
  EXPECT_EQ(simulation->step(2), Health::kFine);
  EXPECT_EQ(simulation->complaint(), "");
}

// Sensors of all but the last step are left out; numbers and the next steps stay the same.
TEST(MujocoSimulation, ReadsSensorsOfTheLastStepOnly) {
  const std::string sensed =
      "<mujoco><worldbody><geom type='plane' size='0 0 .1'/>"
      "<body pos='0 0 .3'><freejoint/><geom size='.1'/><site name='imu'/>"
      "<body pos='.2 0 0'><joint name='arm'/><geom size='.05'/></body></body></worldbody>"
      "<actuator><motor joint='arm'/></actuator>"
      "<sensor><accelerometer site='imu'/><gyro site='imu'/><touch site='imu'/></sensor></mujoco>";
  const Result<std::shared_ptr<Model>> model = Model::parse(sensed, "sensed");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto play = [&](bool at_once, bool body_forces) {
    const Lease simulation = model.value()->lease();
    simulation->reset();
    mjData& data = simulation->scene().data;
    data.ctrl[0] = 0.3;
    for (int step = 0; step < 40; ++step) {
      if (at_once) EXPECT_EQ(simulation->step(5, body_forces), Health::kFine);
      for (int i = 0; !at_once && i < 5; ++i) EXPECT_EQ(simulation->step(1), Health::kFine);
    }
    std::vector<double> numbers(static_cast<std::size_t>(model.value()->state_size()));
    simulation->save(numbers.data());
    numbers.insert(numbers.end(), data.sensordata,
                   data.sensordata + model.value()->get().nsensordata);
    EXPECT_EQ(simulation->model().opt.disableflags & mjDSBL_SENSOR, 0);
    return numbers;
  };
  EXPECT_EQ(play(true, true), play(false, true));
  EXPECT_EQ(play(true, false), play(false, true));
  EXPECT_NE(play(true, true).back(), play(true, true).front());
}

// An error in MuJoCo must not end the process, and the thread continues.
TEST(MujocoSimulation, ReturnsErrors) {
  const Library& mujoco = *library().value();
  std::string error;
  const auto fail = [](void*) { library().value()->error("no %s", "luck"); };
  EXPECT_FALSE(guarded(mujoco, fail, nullptr, error));
  EXPECT_EQ(error, "no luck");
  error.clear();
  EXPECT_TRUE(guarded(
      mujoco, [](void*) {}, nullptr, error));
  EXPECT_EQ(error, "");
}

TEST(MujocoModels, ReportTheirMemory) {
  const std::shared_ptr<Model> model = Model::parse(kCart, "cart").take();
  const auto own = static_cast<std::size_t>(model->library().size_model(&model->get()));
  EXPECT_GT(own, 1000u);
  EXPECT_GE(model->bytes(), 2 * own);  // itself, and a copy for each core
}

}  // namespace
}  // namespace broadloom::mujoco
