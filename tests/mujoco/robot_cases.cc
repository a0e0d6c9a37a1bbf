// Robots from users' files: the added scene, requirements and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "bridges/mujoco/quadruped/quadruped.h"
#include "broadloom/config/config.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/panel.h"
#include "tests/mujoco/training.h"
#include "tests/support/folders.h"
#include "tests/train/folder.h"

namespace broadloom::mujoco {
namespace {

constexpr char kRobot[] = "Quadruped-v0";
const std::string kBuiltIn = source_folder() + "/bridges/mujoco/quadruped/quadruped.xml";

// The built-in robot's text with replacements, each applied everywhere.
std::string robot(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::ifstream file(kBuiltIn);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const auto& [pattern, replacement] : changes) {
    const std::string changed = std::regex_replace(text, std::regex(pattern), replacement);
    EXPECT_NE(changed, text) << pattern;
    text = changed;
  }
  return text;
}

class QuadrupedRobots : public InFolder {
 protected:
  Result<std::unique_ptr<VecEnv>> made(const std::string& text, Overrides options = {}) {
    register_bridges();
    std::ofstream(at("robot.xml")) << text;
    options.emplace_back("xml_file", at("robot.xml"));
    return make_vec_env(kRobot, options, {});
  }
  std::string refusal(const std::vector<std::pair<std::string, std::string>>& changes,
                      const Overrides& options = {}) {
    return made(robot(changes), options).status().message();
  }
};

// Observations of policy and critic, and rewards, of twenty steps.
std::vector<float> played(Result<std::unique_ptr<VecEnv>> envs, float all_actions = 0.1f) {
  EXPECT_TRUE(envs.ok()) << envs.status().message();
  std::vector<float> all;
  if (!envs.ok()) return all;
  std::vector<float> action(12, all_actions), seen(48), last(48), critic(123), last_critic(123);
  float reward = 0.0f;
  std::uint8_t terminated = 0, truncated = 0;
  for (int t = 0; t < 20; ++t) {
    StepRows rows{action.data(), seen.data(), &reward, &terminated, &truncated, last.data()};
    rows.critic_observations = critic.data();
    rows.final_critic_observations = last_critic.data();
    EXPECT_TRUE(envs.value()->step(0, 1, rows).ok());
    all.insert(all.end(), critic.begin(), critic.end());
    all.push_back(reward);
  }
  return all;
}

std::vector<float> built_in(const Overrides& options = {}) {
  register_bridges();
  return played(make_vec_env(kRobot, options, {}));
}

TEST_F(QuadrupedRobots, AreFollowedByTheScene) {
  const std::vector<float> expected = built_in();
  for (const std::string tail : {"<!-- the end of </mujoco> -->", "<!-- > ' </mujoco>\n -->\n"})
    EXPECT_EQ(played(made(robot({}) + tail)), expected) << tail;
  EXPECT_EQ(played(made(robot({{"</mujoco>", "</mujoco >"}}))), expected);
  EXPECT_NE(made("hello").status().message().find("no </mujoco>"), std::string::npos);
}

TEST_F(QuadrupedRobots, MayHaveOwnHeightFields) {
  const Overrides stairs = {{"terrain", "flat,stairs"},
                            {"terrain_column", "1"},
                            {"terrain_level", "9"},
                            {"strata.a.max_command_x", "1"}};
  const std::string field =
      "<asset><hfield name='terrain' nrow='3' ncol='3' size='1 1 1 .1' "
      "elevation='0 0 0 0 1 0 0 0 0'/></asset><worldbody>";
  EXPECT_EQ(played(made(robot({{"<worldbody>", field}}), stairs)), built_in(stairs));
}

TEST_F(QuadrupedRobots, MayHaveAnyNames) {
  const std::string own =
      "<sensor><gyro name='gyro' site='imu'/><framezaxis name='upvector' objtype='body' "
      "objname='FR_hip'/></sensor></mujoco>";
  EXPECT_EQ(played(made(robot({{"</mujoco>", own}}))), built_in());
  const std::string floor =
      "<worldbody><geom name='floor' type='plane' size='1 1 1' contype='0' conaffinity='0'/>";
  EXPECT_TRUE(made(robot({{"<worldbody>", floor}})).ok());
}

TEST_F(QuadrupedRobots, MayHaveJointsWithoutLimits) {
  const auto sum = [](const std::vector<float>& all) {
    float paid = 0.0f;
    for (std::size_t t = 0; t < 20; ++t) paid += all.at(124 * t + 123);
    return paid;
  };
  const Overrides dear = {{"dof_pos_limits", "-1000"}};
  const std::string endless = robot({{" range=\"[^\"]*\"", ""}, {" inheritrange=\"1\"", ""}});
  EXPECT_GT(sum(played(made(endless, dear))), 0.0f);
  EXPECT_EQ(sum(played(made(robot({{" range=\"-0.686 4.501\"", " range=\"-0.01 0.01\""},
                                   {" inheritrange=\"1\"", ""}}),
                            dear))),
            0.0f)
      << "limits that there are, count";
}

TEST_F(QuadrupedRobots, AreFiles) {
  register_bridges();
  for (const char* id : {kRobot, "Hopper-v5"}) {
    for (const std::string& path : {at("."), std::string("/dev/zero")}) {
      const Status status = make_vec_env(id, {{"xml_file", path}}, {}).status();
      EXPECT_EQ(status.kind(), ErrorKind::kNotFound) << path;
      EXPECT_NE(status.message().find("not a regular file"), std::string::npos) << status.message();
    }
  }
}

TEST_F(QuadrupedRobots, AreRefusedWithNames) {
  const auto says = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  says(refusal({{"name=\"imu\"", "name=\"imu2\""}}), "imu");
  says(refusal({{"name=\"home\"", "name=\"stand\""}}), "no key frame 'home'");
  says(refusal({{"qpos=\"0 0 0.278", "qpos=\"0 0 nan"}}), "key frame 'home': qpos 2 is not finite");
  says(refusal({{"<freejoint/>", "<joint name=\"ball\" type=\"ball\"/>"},
                {"qpos=\"0 0 0.278  ", "qpos=\""}}),
       "16 positions, 15 speeds and 12 actuators; expected a free joint, and hinges");
  says(refusal({{"joint=\"FR_hip_joint\"", "joint=\"other\""},
                {"joint=\"FL_hip_joint\"", "joint=\"FR_hip_joint\""},
                {"joint=\"other\"", "joint=\"FL_hip_joint\""}}),
       "actuator 'FR_hip' drives joint 'FL_hip_joint'; expected joint 'FR_hip_joint'");
  says(refusal({{"<worldbody>", "<worldbody><body name=\"mark\"><site name=\"m\"/></body>"}}),
       "the free joint is on body 'trunk', but body 'mark'");
  says(refusal({{"name=\"FL_calf_joint\" class=\"knee\"",
                 "name=\"FL_calf_joint\" class=\"knee\" type=\"slide\""}}),
       "joint 'FL_calf_joint' is not a hinge");
  says(refusal({{"<position name=\"RR_calf\" class=\"knee\"", "<motor name=\"RR_calf\""}}),
       "actuator 'RR_calf' is not a position servo");
}

// With actions of 0 the targets stay home, so no actuator may have a past elsewhere.
TEST_F(QuadrupedRobots, BeginAtHomeWhateverActuatorsRemember) {
  const std::vector<float> expected = played(made(robot({})), 0.0f);
  const auto remembering = [&](const std::string& more) {
    return played(made(robot({{"<position kp=\"35\"", "<position kp=\"35\" " + more}})), 0.0f);
  };
  EXPECT_EQ(remembering("timeconst=\"0.1\""), expected);
  EXPECT_EQ(remembering("delay=\"0.012\" nsample=\"5\""), expected);
  const std::string filter =
      "<general gainprm=\"35\" biastype=\"affine\" biasprm=\"0 -35\" dyntype=\"filter\" "
      "dynprm=\"0.1\" forcerange=\"-23.7 23.7\"/>";
  EXPECT_EQ(played(made(robot({{"<position kp=\"35\"[^>]*>", filter},
                               {"<position forcerange", "<general forcerange"},
                               {"<position name", "<general name"}})),
                   0.0f),
            expected);
  EXPECT_NE(played(made(robot({{"<position kp=\"35\"", "<position kp=\"35\" timeconst=\"1\""}}))),
            played(made(robot({}))))
      << "other targets are filtered";
}

TEST_F(QuadrupedRobots, AreRefusedWhereTargetsAreNotAngles) {
  const auto says = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  const std::string knee = "<position name=\"RR_calf\" class=\"knee\"";
  says(refusal({{knee, knee + " gear=\"3\""}}),
       "actuator 'RR_calf': got gear 3, so joint 'RR_calf_joint' would go to its target / 3");
  const std::string servo = "<general name=\"RR_calf\" class=\"knee\" biastype=\"affine\" ";
  says(refusal({{knee, servo + "gainprm=\"35\" biasprm=\"0 -30\""}}),
       "actuator 'RR_calf': got a force of 35 x target -30 x angle +0");
  says(refusal({{knee, servo + "gainprm=\"35\" biasprm=\"2 -35\""}}), "x angle +2");
  says(refusal({{knee, servo + "gainprm=\"35\" biasprm=\"0 -35\" dyntype=\"integrator\""}}),
       "actuator 'RR_calf' does not follow its control as a target");
  says(refusal({{knee, "<position name=\"RR_calf\" ctrlrange=\"-1 1\" inheritrange=\"0\""}}),
       "actuator 'RR_calf': got ctrlrange -1 to 1, but its joint is at -1.8 in the pose 'home'");
  EXPECT_EQ(refusal({{knee, servo + "gainprm=\"35\" biasprm=\"0 -35\""}}), "");
}

TEST_F(QuadrupedRobots, AreRefusedWhereEachEpisodeWouldEndAtItsFirstStep) {
  const auto says = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  const std::string home = "qpos=\"0 0 0.278  1 0 0 0";
  says(refusal({{home, "qpos=\"0 0 0.278  0 1 0 0"}}),
       "fall_tilt: got 90, but the site 'imu' leans 180 degrees in the pose 'home'");
  const std::string lean = "qpos=\"0 0 0.278  0.965926 0.258819 0 0";  // 30 degrees
  says(refusal({{home, lean}}, {{"fall_tilt", "20"}}),
       "fall_tilt: got 20, but the site 'imu' leans 30 degrees");
  EXPECT_EQ(refusal({{home, lean}}, {{"fall_tilt", "40"}}), "");
  const std::string imu = "<site name=\"imu\" pos=\"-0.01592 -0.06659 -0.00617\" group=\"5\"/>";
  const std::string foot = "<site name=\"FL\" class=\"foot\" pos=\"0 0 -0.213\"/>";
  says(refusal({{imu, ""}, {foot, foot + "<site name=\"imu\"/>"}}),
       "site 'imu' is on body 'FL_calf', which moves against the trunk; expected it on body "
       "'trunk'");
  EXPECT_EQ(refusal({{imu, "<body name=\"board\">" + imu + "</body>"}}), "")
      << "a body without joints is a part of the trunk";
}

TEST_F(QuadrupedRobots, HaveNoSecondGround) {
  for (const std::string ground : {"<geom name='own' type='plane' size='0 0 1'/>",
                                   "<geom name='own' type='hfield' hfield='own'/>"}) {
    const std::string field =
        "<asset><hfield name='own' nrow='3' ncol='3' size='1 1 1 .1'/></asset><worldbody>";
    const std::string message = refusal({{"<worldbody>", field + ground}});
    EXPECT_NE(message.find("geom 'own' is a second ground; expected none"), std::string::npos)
        << message;
  }
}

TEST_F(QuadrupedRobots, MayHaveFeetOfAnyName) {
  const std::string odd = "l&amp;e'f&lt;t";
  EXPECT_EQ(played(made(robot({{"name=\"FL\"", "name=\"" + odd + "\""}}),
                        {{"feet", "FR,l&e'f<t,RR,RL"}})),
            built_in());
}

// Records name the file, wherever it lies.
TEST_F(QuadrupedRobots, AreNamedInTheSpec) {
  const auto spec_of = [](const Result<std::unique_ptr<VecEnv>>& envs) {
    return envs.value()->spec();
  };
  const EnvSpec spec = spec_of(made(robot({})));
  EXPECT_EQ(spec.upstream, "MuJoCo Playground 0.2.0 go1/joystick.py, on robot.xml");
  EXPECT_EQ(env_spec(kRobot, {}).value().upstream,
            "MuJoCo Playground 0.2.0 go1/joystick.py, on a model without meshes");
  EXPECT_NE(spec.engine.find(", robot.xml "), std::string::npos) << spec.engine;
}

// A model without a scene.
TEST_F(QuadrupedRobots, AreRefusedWithoutTheScenesSensors) {
  const Result<std::shared_ptr<Model>> bare = Model::load(kBuiltIn);
  ASSERT_TRUE(bare.ok()) << bare.status().message();
  Quadruped task{Quadruped::Options{}};
  EXPECT_NE(task.bind(*bare.value()).message().find("no sensor 'broadloom/gyro'"),
            std::string::npos);
}

TEST_F(QuadrupedRobots, RecordTheCommandsOfStrata) {
  const auto forward = [](const Overrides& options) {
    register_bridges();
    const Result<EnvSpec> spec = env_spec(kRobot, options);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec.value().commands.at(0).low, -spec.value().commands.at(0).high);
    EXPECT_EQ(spec.value().commands.at(1).high, 0.8) << "as it stands";
    return spec.value().commands.at(0).high;
  };
  EXPECT_EQ(forward({}), 1.5);
  EXPECT_EQ(forward({{"strata.a.max_command_x", "3..5"}}), 5.0);
  EXPECT_EQ(forward({{"strata.a.max_command_x", "0.1..0.5"}}), 0.5);
  EXPECT_EQ(forward({{"strata.a.max_command_x", "0.1..0.5"}, {"strata.b.push_speed", "1"}}), 1.5);
}

TEST_F(QuadrupedRobots, KeepTheCommandsOfTrainingInPanels) {
  const std::string configs = source_folder() + "/configs/";
  const Result<Overrides> config = read_toml_overrides(configs + "quadruped.toml");
  const Result<Panel> panel = read_panel(configs + "panels/quadruped.toml");
  ASSERT_TRUE(config.ok() && panel.ok()) << panel.status().message();
  Overrides trained, drawn;
  for (const auto& [key, text] : config.value()) {
    if (key.starts_with("env.") && key.find("command") != std::string::npos)
      trained.emplace_back("strata.trained." + key.substr(4), text);
  }
  for (const auto& entry : to_overrides(panel.value())) {
    if (entry.first.starts_with("strata.trained.")) drawn.push_back(entry);
  }
  std::sort(trained.begin(), trained.end());
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(drawn, trained);
}

TEST_F(QuadrupedRobots, NeedGroundForOptionsOfGround) {
  register_bridges();
  const auto says = [](const Overrides& options, const std::string& words) {
    const Status status = make_vec_env(kRobot, options, {}).status();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  says({{"terrain_level", "3"}}, "terrain_level: got 3");
  says({{"terrain_column", "0"}}, "terrain_column: got 0");
  says({{"strata.a.terrain_level", "0..2"}}, "strata.a: terrain_level: got 2");
  says({{"terrain", "rough"}, {"on_unstable", "go_on"}}, "on_unstable: got go_on on terrain");
  EXPECT_TRUE(make_vec_env(kRobot, {{"on_unstable", "go_on"}}, {}).ok());
}

}  // namespace
}  // namespace broadloom::mujoco
