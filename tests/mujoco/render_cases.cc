// 3D pictures: their content, that they follow the body and the episode's world, and that they
// change no bit of an episode. Skipped with a message if OpenGL without a display is not available.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridges/mujoco/render/relief_windows.h"
#include "bridges/mujoco/render/renderer.h"
#include "bridges/mujoco/task_envs.h"
#include "broadloom/env/drawable.h"
#include "broadloom/env/tasks/registry.h"
#include "tests/mujoco/training.h"

namespace broadloom::mujoco {
namespace {

TEST(WebpUri, IsBase64) {
  const auto digits = [](const std::string& file) { return webp_uri(file).substr(23); };
  EXPECT_EQ(webp_uri(""), "data:image/webp;base64,");
  EXPECT_EQ(digits("f"), "Zg==");
  EXPECT_EQ(digits("fo"), "Zm8=");
  EXPECT_EQ(digits("foo"), "Zm9v");
  EXPECT_EQ(digits("foobar"), "Zm9vYmFy");
  EXPECT_EQ(digits(std::string("\xff\x00\xfe", 3)), "/wD+");
}

// A window of 2 m on a field of 10 m x 5 m has the field's heights.
TEST(ReliefWindows, HaveTheFieldsHeights) {
  constexpr char kField[] =
      "<mujoco><asset><hfield name='f' nrow='51' ncol='101' size='5 2.5 1 0.1'/></asset>"
      "<worldbody><geom type='hfield' hfield='f'/><body pos='0 0 3'><freejoint/>"
      "<geom size='0.1'/></body></worldbody><actuator><motor site='s'/></actuator></mujoco>";
  const std::string xml =
      std::string(kField).replace(std::string(kField).find("<geom size"), 0, "<site name='s'/>");
  Result<std::shared_ptr<Model>> parsed = Model::parse(xml, "field.xml", [](mjModel& model) {
    for (int i = 0; i < 51 * 101; ++i) model.hfield_data[i] = static_cast<float>(i);
  });
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const mjModel& whole = parsed.value()->get();
  mjModel* copy = parsed.value()->library().copy_model(nullptr, &whole);
  ReliefWindows windows(whole, 2.0, *copy);
  EXPECT_EQ(copy->hfield_ncol[0], 21);
  EXPECT_EQ(copy->hfield_nrow[0], 21);
  EXPECT_NEAR(copy->hfield_size[0], 1.0, 1e-12);
  const auto first = [&] { return static_cast<int>(copy->hfield_data[0]); };
  const auto moved = [&](double x, double y) {
    const double middle[2] = {x, y};
    return windows.follow(whole, 0, middle, *copy);
  };
  EXPECT_TRUE(moved(1.0, -0.5));
  EXPECT_EQ(first(), 10 * 101 + 50) << "row 10 begins at y = -1.5, column 50 at x = 0";
  EXPECT_EQ(static_cast<int>(copy->hfield_data[21 * 21 - 1]), 30 * 101 + 70);
  EXPECT_NEAR(windows.middle(0)[0], 1.0, 1e-12);
  EXPECT_NEAR(windows.middle(0)[1], -0.5, 1e-12);
  EXPECT_FALSE(moved(1.1, -0.5)) << "near enough";
  EXPECT_TRUE(moved(100.0, -100.0)) << "as far as the field reaches";
  EXPECT_EQ(first(), 80);
  EXPECT_NEAR(windows.middle(0)[0], 4.0, 1e-12);
  EXPECT_NEAR(windows.middle(0)[1], -1.5, 1e-12);
  const ReliefWindows all(whole, 50.0, *copy);
  EXPECT_EQ(copy->hfield_ncol[0], 101);
  EXPECT_NEAR(all.middle(0)[0], 0.0, 1e-12);
  parsed.value()->library().delete_model(copy);
}

class Rendered : public ::testing::Test {
 protected:
  void SetUp() override {
    register_bridges();
    const Result<std::unique_ptr<GlContext>> gl = GlContext::make();
    if (!gl.ok()) GTEST_SKIP() << "SKIPPED: " << gl.status().message();
    const Result<const WebpEncoder*> webp = WebpEncoder::find();
    if (!webp.ok()) GTEST_SKIP() << "SKIPPED: " << webp.status().message();
  }
};

Result<std::unique_ptr<VecEnv>> made(const std::string& id, ViewKind view,
                                     const Overrides& options = {}) {
  VecEnvOptions asked;
  asked.view = view;
  return make_vec_env(id, options, asked);
}

// A ball over a plane that can move along x and z.
constexpr char kBall[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/>"
    "<body pos='0 0 1'><joint name='x' type='slide' axis='1 0 0'/>"
    "<joint name='z' type='slide' axis='0 0 1'/>"
    "<geom size='0.3' rgba='0.9 0.1 0.1 1'/></body></worldbody>"
    "<actuator><motor joint='x'/></actuator></mujoco>";

// Counts pixels for which is(red, green, blue) holds.
template <class Is>
int count(const Picture& picture, const Is& is) {
  int sum = 0;
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3)
    sum += is(picture.rgb[i], picture.rgb[i + 1], picture.rgb[i + 2]) ? 1 : 0;
  return sum;
}
bool is_red(int r, int g, int b) { return r > 90 && 3 * g < r && 3 * b < r; }

int different(const Picture& a, const Picture& b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); i += 3) {
    int most = 0;
    for (std::size_t k = i; k < i + 3; ++k)
      most = std::max(most, std::abs(int{a.rgb[k]} - int{b.rgb[k]}));
    sum += most > 24 ? 1 : 0;
  }
  return sum;
}

constexpr int kPixels = Renderer::kWidth * Renderer::kHeight;

TEST_F(Rendered, ShowsARedBallAndTheSky) {
  const std::shared_ptr<Model> model = Model::parse(kBall, "ball.xml").take();
  ASSERT_NE(model, nullptr);
  const std::unique_ptr<Renderer> renderer = Renderer::make(*model, View{}).take();
  ASSERT_NE(renderer, nullptr);
  const Lease simulation = model->lease();
  const Scene scene = simulation->scene();
  const auto picture_at = [&](double x, double z) {
    simulation->reset();
    scene.data.qpos[0] = x;
    scene.data.qpos[1] = z;
    return renderer->picture(scene).take();
  };
  const Picture here = picture_at(0.0, 0.0);
  ASSERT_EQ(static_cast<int>(here.rgb.size()), 3 * kPixels);
  // A ball of 0.3 m in a view of 2.5 m has (0.6 / 2.5 * 350 / 2)^2 pi pixels. Light shows most of
  // them.
  const int red = count(here, is_red);
  EXPECT_GT(red, 3000);
  EXPECT_LT(red, 8000);
  EXPECT_GT(here.rgb[2], 220) << "the sky, on top on the left";
  EXPECT_LT(here.rgb[here.rgb.size() - 1], 220) << "the ground, at the bottom on the right";
  // The camera follows the ball. The ground looks the same after a whole number of metres, since
  // its lines are fixed.
  const Picture far = picture_at(100.0, 0.0), half = picture_at(0.5, 0.0),
                high = picture_at(0.0, 0.5);
  EXPECT_LT(different(here, far), kPixels / 100);
  EXPECT_GT(different(here, half), kPixels / 100);
  // The camera does not follow hops, or they would be invisible.
  EXPECT_NEAR(count(high, is_red), red, 0.2 * red);
  EXPECT_GT(different(here, high), red / 2);
}

// Limbs without colours in their file get different ones.
TEST_F(Rendered, ShowsLimbsInDifferentColours) {
  Result<std::unique_ptr<VecEnv>> envs = made("Quadruped-v0", ViewKind::k3d);
  ASSERT_TRUE(envs.ok()) << envs.status().message();
  EXPECT_TRUE(capability<Drawable>(*envs.value())->has_3d_view());
  Drawing drawing;
  capability<Drawable>(*envs.value())->draw(0, nullptr, drawing);
  ASSERT_EQ(drawing.shapes.size(), 1u);
  const Shape& shape = drawing.shapes[0];
  EXPECT_EQ(shape.kind, Shape::Kind::kImage);
  EXPECT_EQ(shape.numbers, (std::vector<double>{0.0, 0.0, Renderer::kWidth, Renderer::kHeight}));
  EXPECT_EQ(shape.text.rfind("data:image/webp;base64,UklGR", 0), 0u) << "RIFF, as WebP begins";
  EXPECT_EQ(drawing.right, Renderer::kWidth);
}

// The first picture of environment 0, with given joint positions, or its initial ones.
std::string first_picture(const std::string& id, const Overrides& options,
                          const std::vector<double>& qpos = {}) {
  Result<std::unique_ptr<VecEnv>> envs = made(id, ViewKind::k3d, options);
  EXPECT_TRUE(envs.ok()) << envs.status().message();
  const std::vector<double> still(qpos.size(), 0.0);
  if (!qpos.empty())
    EXPECT_TRUE(dynamic_cast<TaskEnvs&>(*envs.value()).place(0, qpos.data(), still.data()).ok());
  Drawing drawing;
  capability<Drawable>(*envs.value())->draw(0, nullptr, drawing);
  return drawing.shapes.at(0).text;
}

TEST_F(Rendered, ShowsTheEpisodesWorld) {
  const std::vector<double> straight{0.0, 1.25, 0.0, 0.0, 0.0, 0.0};
  const auto hopper = [&](const char* option, const char* value) {
    return first_picture("Hopper-v5", {{option, value}}, straight);
  };
  const std::string plain = first_picture("Hopper-v5", {}, straight);
  EXPECT_TRUE(hopper("friction_scale", "0.5") == plain) << "is not seen";
  EXPECT_TRUE(hopper("joint_offset", "0.3") != plain) << "joints' zeros are elsewhere";
  const auto picture_on = [](const char* level) {
    return first_picture("Quadruped-v0", {{"terrain", "stairs"},
                                          {"terrain_levels", "2"},
                                          {"terrain_column", "0"},
                                          {"terrain_level", level}});
  };
  EXPECT_TRUE(picture_on("0") != picture_on("1"));
}

struct Steps {
  std::vector<float> seen;     // observations and rewards
  std::vector<bool> pictures;  // whether a new picture was drawn
};

Steps play(VecEnv& envs, int steps) {
  const auto width = static_cast<std::size_t>(envs.spec().observation_size());
  std::vector<float> action(static_cast<std::size_t>(envs.spec().action_size())), seen(width),
      last(width);
  Steps out;
  for (int t = 0; t < steps; ++t) {
    Drawing drawing, ended;
    capability<Drawable>(envs)->draw(0, action.data(), drawing);
    out.pictures.push_back(!drawing.as_before);
    EXPECT_EQ(drawing.as_before, drawing.empty());
    float reward = 0.0f;
    std::uint8_t terminated = 0, truncated = 0;
    StepRows rows{action.data(), seen.data(), &reward, &terminated, &truncated, last.data()};
    rows.final_drawings = &ended;
    EXPECT_TRUE(envs.step(0, 1, rows).ok());
    if (terminated + truncated != 0) EXPECT_FALSE(ended.empty());
    out.seen.insert(out.seen.end(), seen.begin(), seen.end());
    out.seen.push_back(reward);
    for (std::size_t a = 0; a < action.size(); ++a) action[a] = (t + a) % 3 == 0 ? 0.9f : -0.4f;
  }
  return out;
}

TEST_F(Rendered, ChangesNoEpisode) {
  const std::pair<const char*, Overrides> tasks[] = {
      {"Hopper-v5", {{"joint_offset", "0.1"}}},
      {"Ant-v5", {}},
      {"Quadruped-v0", {{"terrain", "rough"}, {"terrain_levels", "2"}}}};
  for (const auto& [id, options] : tasks) {
    const Result<std::unique_ptr<VecEnv>> drawn = made(id, ViewKind::kDrawn, options);
    const Result<std::unique_ptr<VecEnv>> rendered = made(id, ViewKind::k3d, options);
    ASSERT_TRUE(drawn.ok() && rendered.ok()) << id;
    EXPECT_EQ(play(*drawn.value(), 30).seen, play(*rendered.value(), 30).seen) << id;
  }
}

// Hopper steps 125 times per second, Ant 20 times.
TEST_F(Rendered, SharesAPictureBetweenFastSteps) {
  const Result<std::unique_ptr<VecEnv>> hopper = made("Hopper-v5", ViewKind::k3d);
  ASSERT_TRUE(hopper.ok());
  EXPECT_EQ(play(*hopper.value(), 7).pictures,
            (std::vector<bool>{true, false, false, false, false, true, false}));
  Drawing asked;
  capability<Drawable>(*hopper.value())->draw(0, nullptr, asked);
  EXPECT_FALSE(asked.empty()) << "where there is no action an episode is over, or cut";
  const Result<std::unique_ptr<VecEnv>> ant = made("Ant-v5", ViewKind::k3d);
  ASSERT_TRUE(ant.ok());
  EXPECT_EQ(play(*ant.value(), 3).pictures, std::vector<bool>(3, true));
}

}  // namespace
}  // namespace broadloom::mujoco
