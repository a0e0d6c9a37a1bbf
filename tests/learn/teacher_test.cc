// The file of a teacher: the copy that a student's run keeps, what resumes and reruns read, and
// which teachers are refused.
// sanitizers: address
#include "broadloom/train/teacher_policy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/run_curve.h"
#include "broadloom/train/ranked_run.h"
#include "broadloom/train/rerun.h"
#include "tests/env/simulators.h"
#include "tests/learn/distilled_runs.h"
#include "tests/ranks/thread_ranks.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class TeacherFiles : public DistilledRuns {
 protected:
  // A student that stops after three iterations.
  void start_stopped(const std::string& name, const Config& config) {
    int iterations = 0;
    RunHooks stop;
    stop.should_stop = [&] { return ++iterations == 3; };
    EXPECT_FALSE(start(name, config, stop).finished);
  }

  // The record of a finished run.
  std::string line_of(const std::string& name) const {
    const std::string line = read_file(at(name) + "/ledger_line.json").take();
    return line.substr(0, line.find('\n'));
  }
  std::string state_of(const std::string& name) const {
    return Json::parse(line_of(name))["result"]["state_hash"].text();
  }
  std::string hash_of(const std::string& student) const {
    return Json::parse(line_of(student))["teacher"]["parameters_hash"].text();
  }
  std::string copy_of(const std::string& student) const {
    return at(student) + "/teacher.safetensors";
  }

  void expect_rerun(const std::string& line, const RerunPlan& plan, const std::string& name) {
    const Result<RerunReport> report = rerun(line, plan, at(name), 1, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report.value().agrees());
  }
};

void expect_error(const Status& status, ErrorKind kind, const std::vector<std::string>& words) {
  EXPECT_EQ(status.kind(), kind) << status.message();
  expect_words(status.message(), words);
}

TEST_F(TeacherFiles, AreKeptForResumesAndReruns) {
  const std::string source = teacher("t");
  const std::string bytes = read_file(find_checkpoint(source).value().path).take();
  for (const std::string cell : {"none", "gru"}) {
    const Config config = resolved(student_keys(source, {{"recurrent", cell}}));
    start("whole" + cell, config);
    start_stopped("parts" + cell, config);
    EXPECT_EQ(read_file(copy_of("parts" + cell)).value(), bytes);
  }
  fs::rename(source, at("moved"));
  for (const bool is_overwritten : {false, true}) {
    if (is_overwritten) teacher("t", {{"seed", "9"}});
    const std::string cell = is_overwritten ? "gru" : "none";
    const Result<RunSummary> resumed = resume_run(at("parts" + cell), 1, {});
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_EQ(state_of("parts" + cell), state_of("whole" + cell));
    const Result<RerunPlan> plan = plan_rerun(line_of("whole" + cell));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    expect_rerun(line_of("whole" + cell), plan.value(), "again" + cell);
    EXPECT_EQ(read_file(copy_of("again" + cell)).value(), bytes);
  }
  EXPECT_EQ(hash_of("wholenone").size(), 32U);
  const Json line = Json::parse(line_of("wholenone"));
  EXPECT_NE(line["teacher"]["obs_normalizer_hash"].text(), "");
}

// Another machine has the record alone, and the teacher elsewhere.
TEST_F(TeacherFiles, OfARerunMayBeNamed) {
  const std::string source = teacher("t");
  start("student", resolved(student_keys(source)));
  const std::string line = line_of("student"), hash = hash_of("student");
  teacher("other", {{"seed", "9"}});
  start("pupil", resolved(student_keys(at("other"))));
  fs::rename(source, at("moved"));
  fs::remove(copy_of("student"));
  expect_error(
      plan_rerun(line).status(), ErrorKind::kNotFound,
      {"teacher: expected the policy with the hash " + hash, "at step 1024. Places tried: ",
       "there is nothing at '" + copy_of("student") + "'; there is nothing at",
       ". Name its run with --teacher, or its checkpoint of step 1024, if the run trained "
       "on since"});
  // An advice to give what was given helps nobody.
  const Status other = plan_rerun(line, "", at("other")).status();
  expect_error(other, ErrorKind::kMismatch,
               {"has the hash " + hash_of("pupil"), "expected the policy with the hash " + hash,
                "or its checkpoint of step 1024, if the run trained on"});
  EXPECT_EQ(other.message().find("--teacher"), std::string::npos) << other.message();
  expect_error(plan_rerun(line, "", at("nowhere")).status(), ErrorKind::kNotFound,
               {"Places tried: there is nothing at '" + at("nowhere") + "'. Name the place"});
  const Result<RerunPlan> plan = plan_rerun(line, "", at("moved"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  // A folder that was moved is named by its place.
  EXPECT_TRUE(plan_rerun(line, "", "", at("pupil")).status().kind() == ErrorKind::kMismatch);
  fs::copy_file(find_checkpoint(at("moved")).value().path, copy_of("pupil"),
                fs::copy_options::overwrite_existing);
  EXPECT_TRUE(plan_rerun(line, "", "", at("pupil")).ok());
  fs::remove_all(at("student"));
  expect_rerun(line, plan.value(), "again");
  EXPECT_EQ(plan_rerun(line_of("moved"), "", at("moved")).status().kind(),
            ErrorKind::kInvalidConfig);
}

TEST_F(TeacherFiles, AreCheckedByEachResume) {
  const std::string source = teacher("t");
  const Config config = resolved(student_keys(source));
  start("whole", config);
  start_stopped("student", config);
  const std::string bytes = read_file(copy_of("student")).take();
  fs::remove(copy_of("student"));  // as in a folder of an older program
  fs::copy(at("student"), at("older"), fs::copy_options::recursive);
  ASSERT_TRUE(resume_run(at("older"), 1, {}).ok());
  EXPECT_EQ(state_of("older"), state_of("whole"));
  EXPECT_EQ(read_file(copy_of("older")).value(), bytes);

  fs::rename(source, at("moved"));
  const auto refused = [&] { return resume_run(at("student"), 1, {}).status(); };
  expect_error(refused(), ErrorKind::kNotFound,
               {"there is nothing at", "Put that checkpoint back as", copy_of("student")});
  ASSERT_TRUE(write_file_atomically(copy_of("student"), bytes.substr(0, 900)).ok());
  expect_error(refused(), ErrorKind::kCorrupt,
               {"Places tried: '" + copy_of("student") + "' is damaged", ". Put that"});
  EXPECT_EQ(refused().message().find("use another"), std::string::npos) << refused().message();
  const std::string other = teacher("other", {{"seed", "9"}});
  fs::copy_file(find_checkpoint(other).value().path, copy_of("student"),
                fs::copy_options::overwrite_existing);
  expect_error(refused(), ErrorKind::kMismatch,
               {"has the hash", "expected the policy with the hash " + hash_of("whole")});
  ASSERT_TRUE(write_file_atomically(copy_of("student"), bytes).ok());
  ASSERT_TRUE(refused().ok());
  EXPECT_EQ(state_of("student"), state_of("whole"));
}

// A resume that cannot keep the copy changes nothing, however often it is tried.
TEST_F(TeacherFiles, ThatCannotBeCopiedLeaveTheRunAsLong) {
  start_stopped("student", resolved(student_keys(teacher("t"))));
  fs::remove(copy_of("student"));
  fs::create_directories(copy_of("student") + "/full");
  const std::string manifest = at("student") + "/manifest.json";
  const std::string before = read_file(manifest).take();
  EXPECT_FALSE(resume_run(at("student"), 1, {}, 2880).ok());
  EXPECT_EQ(read_file(manifest).value(), before);
  fs::remove_all(copy_of("student"));
  EXPECT_TRUE(resume_run(at("student"), 1, {}, 2880).ok());
  EXPECT_NE(read_file(manifest).value(), before);
}

// The other ranks may run on machines without the file.
TEST_F(TeacherFiles, ReachAllRanks) {
  const std::string source = teacher("t");
  const Config config = resolved(student_keys(source));
  start("one", config);
  const std::optional<TeacherFile> file = read_teacher_file(config).take();
  fs::remove_all(source);
  ThreadWorld world(3);
  world.run([&](Ranks& ranks) {
    if (ranks.is_first()) {
      const Result<RunSummary> run = start_run(config, at("ranks"), 1, {}, {}, {}, ranks, "", file);
      EXPECT_TRUE(run.ok()) << run.status().message();
      return;
    }
    const Result<std::optional<RankedRun>> run = join_run(ranks);
    ASSERT_TRUE(run.ok() && run.value());
    EXPECT_TRUE(follow_run(*run.value(), 1, ranks, {}).ok());
  });
  EXPECT_EQ(state_of("ranks"), state_of("one"));
}

// Runs of one path whose policy changed between them are not one run.
TEST_F(TeacherFiles, AreNamedInCurves) {
  const std::string source = teacher("t");
  const Config config = resolved(student_keys(source));
  start("first", config);
  fs::remove_all(source);
  teacher("t", {{"seed", "9"}});
  start("second", config);
  const Result<Curves> curves = read_curves({at("first"), at("second")});
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  ASSERT_EQ(curves.value().lines.size(), 2U);
  const std::string hash = hash_of("first").substr(0, 8);
  EXPECT_EQ(curves.value().lines[0].name, "teacher=" + source + " (" + hash + ")");
}

// Each refusal is one message, and leaves nothing behind.
TEST_F(TeacherFiles, ThatCannotTeachAreRefusedBeforeTheFolder) {
  const std::string source = teacher("t");
  const std::string bytes = read_file(find_checkpoint(source).value().path).take();
  const auto expect = [&](const std::string& file, ErrorKind kind,
                          const std::vector<std::string>& words, const Overrides& more = {}) {
    const Config config = resolved(student_keys(file, more));
    expect_error(start_run(config, at("new/run"), 1, {}).status(), kind, words);
    EXPECT_FALSE(fs::exists(at("new")));
  };
  expect("", ErrorKind::kInvalidConfig, {"teacher: got none", "such as --teacher runs/NAME"});
  expect(at("nowhere"), ErrorKind::kNotFound, {"teacher: ", "nowhere"});
  fs::create_directories(at("folder"));
  expect(at("folder"), ErrorKind::kNotFound, {"teacher: ", "is not a run"});
  for (const std::size_t size : {std::size_t{0}, std::size_t{900}, bytes.size() - 1}) {
    ASSERT_TRUE(write_file_atomically(at("cut.safetensors"), bytes.substr(0, size)).ok());
    expect(at("cut.safetensors"), ErrorKind::kCorrupt, {"teacher: ", "is damaged", "use another"});
  }
  const std::string values = teacher("values", {{"algorithm", "pqn"}, {"norm_obs", "false"}});
  expect(values, ErrorKind::kMismatch, {"got action values", "expected a policy"});
  const std::string torque = teacher("torque", {{"env_id", "Pendulum-v1"}});
  expect(torque, ErrorKind::kMismatch, {"got actions Box(1) in -2 to 2", "-3 to 3"},
         {{"env_id", "Pendulum-v1"}, {"env.max_torque", "3"}});
  expect(torque, ErrorKind::kMismatch,
         {"got a policy of Pendulum-v1, expected one of CartPole-v1", "name a teacher"});
}

TEST_F(TeacherFiles, OfOtherSettingsAreRefused) {
  const std::string source = teacher("t");
  expect_words(refusal(student_keys("")), {"teacher: got none", "expected", "--teacher"});
  const std::string blind = teacher("blind", {{"env.hide_obs", "1,3"}});
  expect_words(refusal(student_keys(blind)),
               {"it reads Box(2) without 1,3 of 4 numbers",
                "of CartPole-v1 the student's policy gets Box(4) (teacher_reads = auto)"});
  expect_words(refusal(student_keys(source, {{"teacher_reads", "critic"}})),
               {"teacher_reads: got critic, but the student's critic has no observation of its own",
                "set teacher_reads = policy"});
  const std::string gru = teacher("gru", {{"recurrent", "gru"}});
  expect_words(refusal(student_keys(gru)), {"got recurrent = gru", "without memory"});
  const std::string torque = teacher("torque", {{"env_id", "Pendulum-v1"}});
  expect_words(refusal(student_keys(
                   torque, {{"env_id", "Pendulum-v1"}, {"action_distribution", "squashed"}})),
               {"got action_distribution = squashed", "expected gaussian"});
  const std::string squashed =
      teacher("squashed", {{"env_id", "Pendulum-v1"}, {"action_distribution", "squashed"}});
  expect_words(refusal(student_keys(squashed, {{"env_id", "Pendulum-v1"}})),
               {"got action_distribution = squashed", "expected gaussian"});
  expect_words(refusal(student_keys(source, {{"lr_schedule", "adaptive"}})), {"lr_schedule: got"});
}

// Two numbers and three choices on both sides.
TEST_F(TeacherFiles, OfAnotherTaskAreRefusedIfSizesAgree) {
  const std::string car = teacher("car", {{"env_id", "MountainCar-v0"}});
  expect_words(refusal(student_keys(car, {{"env_id", "Acrobot-v1"}, {"env.hide_obs", "0,1,2,3"}})),
               {"got a policy of MountainCar-v0, expected one of Acrobot-v1"});
}

TEST_F(TeacherFiles, ThatReadOtherNumbersAreRefusedIfSizesAgree) {
  const std::string blind = teacher("blind", {{"env.hide_obs", "3,1"}});
  const auto keys = [&](const char* hidden, const char* side, const char* reads = "auto") {
    return student_keys(
        blind, {{"env.hide_obs", hidden}, {"env.hide_from", side}, {"teacher_reads", reads}});
  };
  for (const char* side : {"both", "policy"}) {
    expect_words(refusal(keys("0,2", side)),
                 {"it reads Box(2) without 1,3 of 4 numbers",
                  "the student's policy gets Box(2) without 0,2 of 4 numbers"});
    EXPECT_NE(trainer_of(resolved(keys("1,3", side))), nullptr);
  }
  EXPECT_NE(trainer_of(resolved(keys("1,3", "policy", "policy"))), nullptr);
  // A student that gets less than its teacher.
  const std::string all = teacher("all");
  EXPECT_NE(trainer_of(resolved(
                student_keys(all, {{"env.hide_obs", "0,1,2"}, {"env.hide_from", "policy"}}))),
            nullptr);
}

// A simulator of the user's, whose numbers are not known.
TEST_F(TeacherFiles, OfAnotherProgramsTaskAreTakenIfSizesAgree) {
  const std::string blind = teacher("blind", {{"env.hide_obs", "1,3"}});
  register_simulator("Own-v0", [](std::unique_ptr<VecEnv> inner) {
    return std::make_unique<Serialising>(std::move(inner), "Own-v0");
  });
  const Overrides own{{"env_id", "Own-v0"}, {"env.hide_obs", "0,2"}};
  EXPECT_NE(trainer_of(resolved(student_keys(blind, own))), nullptr);
}

// The turntable with another name for its image.
EnvSpec renamed_spec() {
  EnvSpec spec = env_spec("Turntable-v0", {}).take();
  spec.id = "Renamed-v0";
  spec.observation.groups[0].name = "picture";
  return spec;
}

class Renamed final : public ForwardingVecEnv {
 public:
  using ForwardingVecEnv::ForwardingVecEnv;
  const EnvSpec& spec() const override { return spec_; }

 private:
  EnvSpec spec_ = renamed_spec();
};

TEST_F(TeacherFiles, ThatReadOtherGroupsAreRefusedIfSizesAgree) {
  const auto make = [](const VecEnvOptions& options) -> Result<std::unique_ptr<VecEnv>> {
    Result<std::unique_ptr<VecEnv>> inner = make_vec_env("Turntable-v0", {}, options);
    if (!inner.ok()) return inner;
    return std::unique_ptr<VecEnv>(std::make_unique<Renamed>(inner.take()));
  };
  ASSERT_TRUE(register_environment(simulator_entry(renamed_spec(), make)).ok());
  const std::string turntable = teacher("turntable", {{"env_id", "Turntable-v0"}});
  expect_words(
      refusal(student_keys(turntable, {{"env_id", "Renamed-v0"}})),
      {"it reads Dict(image: 6 x 6 x 1; uint8, turn: 2)",
       "of Renamed-v0 the student's policy gets Dict(picture: 6 x 6 x 1; uint8, turn: 2)"});
}

// Acrobot, whose own option leaves out its last two numbers.
TEST_F(TeacherFiles, OfFewerNumbersAreTakenIfPlacesAgree) {
  const auto own = [](const Overrides& options) -> Overrides {
    for (const auto& [name, text] : options) {
      if (name == "short") return {{"hide_obs", "4,5"}};
    }
    return {};
  };
  const SimulatorWithOptions acrobot{
      .spec = [own](const Overrides& options) -> Result<EnvSpec> {
        EnvSpec spec = env_spec("Acrobot-v1", own(options)).take();
        spec.id = "Long-v0";
        return spec;
      },
      .make = [own](const Overrides& options,
                    const VecEnvOptions& of_run) -> Result<std::unique_ptr<VecEnv>> {
        auto inner = make_vec_env("Acrobot-v1", own(options), of_run).take();
        return std::unique_ptr<VecEnv>(
            std::make_unique<Simulator>(std::move(inner), "Long-v0", VecEnvTraits{}));
      },
      .options = [] { return std::vector<FieldInfo>(); }};
  ASSERT_TRUE(register_environment(simulator_entry("Long-v0", acrobot)).ok());
  const std::string four = teacher("four", {{"env_id", "Long-v0"}, {"env.short", "true"}});
  const auto keys = [&](const char* hidden) {
    return student_keys(
        four, {{"env_id", "Long-v0"}, {"env.hide_obs", hidden}, {"env.hide_from", "policy"}});
  };
  expect_words(refusal(keys("0,1")),
               {"it reads Box(4), but", "the student's policy gets Box(4) without 0,1 of 6"});
  EXPECT_NE(trainer_of(resolved(keys("4,5"))), nullptr);
  // The critic's first four numbers are other ones than a teacher's last four.
  const std::string last = teacher("last", {{"env_id", "Long-v0"}, {"env.hide_obs", "0,1"}});
  expect_words(
      refusal(student_keys(last, {{"env_id", "Long-v0"},
                                  {"env.short", "true"},
                                  {"env.hide_obs", "3"},
                                  {"env.hide_from", "policy"}})),
      {"it reads Box(4) without 0,1 of 6 numbers", "and its critic Box(4) (teacher_reads"});
}

// A teacher that never saw zeros before an episode's first observation has other inputs there.
TEST_F(TeacherFiles, ThatReadOtherPaddingAreRefused) {
  const std::string stacked = teacher("stacked", {{"env.frame_stack", "2"}});
  const auto keys = [&](const char* padding) {
    return student_keys(stacked, {{"env.frame_stack", "2"}, {"env.frame_padding", padding}});
  };
  expect_words(refusal(keys("zero")), {"gets Box(8; 2 frames) with env.frame_padding = zero"});
  EXPECT_NE(trainer_of(resolved(keys("first"))), nullptr);
}

}  // namespace
}  // namespace broadloom
