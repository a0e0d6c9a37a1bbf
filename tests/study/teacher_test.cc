// Studies of students: store, report and audit name the teacher.
// sanitizers: none (whole runs, whose parts have tests of their own)
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "broadloom/record/files.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/run.h"
#include "research/audit/run_audit.h"
#include "research/report/study_report.h"
#include "tests/study/scene.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class StudyOfStudents : public StudyTest {
 protected:
  // A run of one block.
  void train(const std::string& name, const Overrides& more) {
    Overrides keys{{"env_id", "CartPole-v1"}, {"num_envs", "4"},         {"num_steps", "16"},
                   {"hidden_sizes", "8"},     {"total_timesteps", "64"}, {"tensorboard", "false"}};
    keys.insert(keys.end(), more.begin(), more.end());
    const Result<Config> config = resolve_config(keys);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const Result<RunSummary> run = start_run(config.value(), path(name), 1, {});
    ASSERT_TRUE(run.ok()) << run.status().message();
  }

  // A teacher's checkpoint.
  std::string teacher(const std::string& name, int seed) {
    train(name, {{"seed", std::to_string(seed)}});
    const std::string file = path(name + ".safetensors");
    fs::copy_file(find_checkpoint(path(name)).value().path, file,
                  fs::copy_options::overwrite_existing);
    return file;
  }

  Result<StudyPlan> plan_of(const std::string& file, const std::string& more = "") const {
    return plan_study(parse_study("seeds = 2\npoints = 2\n[base]\nenv_id = 'CartPole-v1'\n"
                                  "algorithm = 'distill'\nnum_envs = 4\nnum_steps = 15\n"
                                  "total_timesteps = 120\nhidden_sizes = [8]\n"
                                  "eval_episodes = 2\nteacher = '" +
                                      file + "'\n" + more,
                                  "study.toml")
                          .take());
  }
};

TEST_F(StudyOfStudents, GoesOnWithItsTeacherAlone) {
  const std::string first = teacher("first", 1), other = teacher("other", 2);
  const Result<StudyPlan> plan = plan_of(first);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  // The plan has the policy, so that its runs need no file.
  fs::rename(first, path("moved.safetensors"));
  const Result<StudySummary> summary = run(plan.value(), "store");
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  for (const StoredRun& one : summary.value().runs) EXPECT_EQ(one.status, "finished") << one.error;

  const Result<StudyPlan> missing = plan_of(first);
  EXPECT_EQ(missing.status().kind(), ErrorKind::kNotFound);
  for (const std::string word : {"cell base: teacher: ", first.c_str()}) {
    EXPECT_NE(missing.status().message().find(word), std::string::npos) << word;
  }
  // The same policy at another place is the same study.
  const Result<StudyPlan> moved = plan_of(path("moved.safetensors"));
  ASSERT_TRUE(moved.ok()) << moved.status().message();
  EXPECT_EQ(moved.value().hash, plan.value().hash);
  EXPECT_TRUE(run(moved.value(), "store").ok());
  // Another policy at the same place is another one.
  fs::rename(other, first);
  const Result<StudyPlan> changed = plan_of(first);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  const Status refused = run(changed.value(), "store").status();
  EXPECT_EQ(refused.kind(), ErrorKind::kMismatch);
  const auto hash = [](const StudyPlan& one) { return one.cells[0].teacher_hashes[0].second; };
  for (const std::string& word :
       {"the store has 'teacher.parameters_hash " + hash(plan.value()) + "'",
        "this study 'teacher.parameters_hash " + hash(changed.value()) + "'",
        std::string("undo the change")}) {
    EXPECT_NE(refused.message().find(word), std::string::npos) << word << refused.message();
  }
}

TEST_F(StudyOfStudents, RefusesAPolicyTwice) {
  const std::string first = teacher("first", 1);
  fs::copy_file(first, path("copy.safetensors"));
  const Result<StudySpec> spec =
      parse_study("seeds = 1\n[base]\nalgorithm = 'distill'\nnum_steps = 15\n[grid]\nteacher = ['" +
                      first + "', '" + path("copy.safetensors") + "']\n",
                  "study.toml");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const Status same = plan_study(spec.value()).status();
  EXPECT_EQ(same.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(same.message().find("are the same"), std::string::npos) << same.message();
}

TEST_F(StudyOfStudents, IsReportedWithItsTeacher) {
  const std::string first = teacher("first", 1);
  const Result<StudyPlan> plan = plan_of(first);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_TRUE(run(plan.value(), "store").ok());
  const Result<StudyReport> report = make_study_report({path("store")});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const std::string hash = plan.value().cells[0].teacher_hashes[0].second.substr(0, 8);
  const std::string wanted = "Students copied the policy of " + first + " (" + hash + ").";
  const std::vector<std::string>& notes = report.value().notes;
  EXPECT_NE(std::find(notes.begin(), notes.end(), wanted), notes.end()) << wanted;
}

TEST_F(StudyOfStudents, HasOtherAlgorithmsBesidesStudents) {
  const Result<StudySpec> spec =
      parse_study("seeds = 1\n[base]\nnum_steps = 15\nteacher = '" + teacher("first", 1) +
                      "'\n[grid]\nalgorithm = ['distill', 'ppo']\n",
                  "study.toml");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const Result<StudyPlan> plan = plan_study(spec.value());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan.value().cells.size(), 2U);
  EXPECT_TRUE(plan.value().cells[0].teacher);
  EXPECT_FALSE(plan.value().cells[1].teacher);
}

TEST_F(StudyOfStudents, NeedsATeacher) {
  const Status refused = plan_of("").status();
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("cell base: teacher: got none"), std::string::npos)
      << refused.message();
}

// The folder of a student has all that an audit needs.
TEST_F(StudyOfStudents, AuditsNameTheTeacher) {
  const std::string first = teacher("first", 1);
  train("student", {{"algorithm", "distill"}, {"teacher", first}, {"num_steps", "15"}});
  fs::remove(first);
  const PolicySource source = *read_manifest(path("student/manifest.json")).value().teacher;
  EXPECT_EQ(source.file, first);
  const std::string newest = find_checkpoint(path("student")).value().path;
  for (const std::string& place : {path("student"), newest}) {
    const Result<AuditReport> report = audit_run(place, {.iterations = 1});
    ASSERT_TRUE(report.ok()) << report.status().message();
    const std::vector<std::string>& notes = report.value().notes;
    EXPECT_NE(std::find(notes.begin(), notes.end(),
                        "this student copies the teacher " + teacher_text(source) +
                            ", which reads the policy's observation"),
              notes.end())
        << place;
  }
}

}  // namespace
}  // namespace broadloom
