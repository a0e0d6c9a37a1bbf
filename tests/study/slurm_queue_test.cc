#include <gtest/gtest.h>

#include <cstdlib>

#include "broadloom/core/escape.h"
#include "research/study/launch_command.h"
#include "research/study/slurm.h"

namespace broadloom {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

bool says(const Status& status, const std::string& words) {
  return status.message().find(words) != std::string::npos;
}

TEST(Slurm, TimesAreReadInAllTheirForms) {
  EXPECT_EQ(parse_slurm_minutes("infinite"), -1);
  EXPECT_EQ(parse_slurm_minutes("10:00"), 10);
  EXPECT_EQ(parse_slurm_minutes("1:30:00"), 90);
  EXPECT_EQ(parse_slurm_minutes("2-03:00:00"), 51 * 60);
  EXPECT_EQ(parse_slurm_minutes("1-12"), 36 * 60);
  EXPECT_EQ(parse_slurm_minutes("1-12:30"), 36 * 60 + 30);
  EXPECT_EQ(parse_slurm_minutes("45"), 45);
  EXPECT_EQ(parse_slurm_minutes("n/a"), 0);
}

TEST(Slurm, TheDefaultPartitionComesFirstAndThenTheFirstThatTakesTheJob) {
  const std::vector<SlurmPartition> partitions = parse_partitions(
      "short|up|10:00|8|4096\n"
      "work*|up|2:00:00|8|4096+\n"
      "down|down|infinite|512|900000\n"
      "large|up|infinite|64|256000\n"
      "rubbish\n\n");
  ASSERT_EQ(partitions.size(), 4U);
  EXPECT_EQ(partitions[1].name, "work");
  EXPECT_TRUE(partitions[1].is_default);
  EXPECT_EQ(partitions[1].memory_bytes, 4096 * kMebibyte);
  const auto place = [&](int threads, std::int64_t mib, int minutes,
                         const std::string& partition = "") {
    return place_among(partitions, {threads, mib * kMebibyte, minutes, ""}, partition);
  };
  EXPECT_EQ(place(1, 256, 5).value().partition, "work");
  EXPECT_EQ(place(1, 256, 121).value().partition, "large");
  EXPECT_EQ(place(9, 256, 5).value().partition, "large");
  EXPECT_EQ(place(1, 5000, 5).value().partition, "large");
  EXPECT_EQ(place(1, 256, 5, "short").value().partition, "short");
  const Status too_long = place(1, 256, 11, "short").status();
  EXPECT_EQ(too_long.kind(), ErrorKind::kInvalidConfig);
  EXPECT_EQ(too_long.message(),
            "a job needs 11 minutes, and no partition allows that (short: 10 minutes); give more "
            "--parts, a smaller --time_limit");
  EXPECT_EQ(place(65, 256, 1).status().message(),
            "a job needs 65 processors, and no partition allows that (short: 8 processors; work: 8 "
            "processors; down: not up; large: 64 processors); give fewer --threads");
  const Status both = place(65, 256001, 1).status();
  EXPECT_TRUE(says(both, "needs 65 processors, 256001 MB, and")) << both.message();
  EXPECT_TRUE(says(both, "give fewer --threads, or smaller shapes")) << both.message();
  // Each is allowed by some partition, but not all by one.
  const Status apart = place_among(parse_partitions("a|up|1:00|1|10\nb|up|2:00|2|5\n"),
                                   {2, 10 * kMebibyte, 1, ""}, "")
                           .status();
  EXPECT_TRUE(says(apart, "needs 2 processors, 10 MB, and")) << apart.message();
  EXPECT_TRUE(says(apart, "(a: 1 processor, 10 MB; b: 2 processors, 5 MB)")) << apart.message();
  EXPECT_EQ(place(1, 1, 1, "down").status().message(), "no partition is up (down: not up)");
  EXPECT_EQ(place_among({}, {1, kMebibyte, 1, ""}, "").status().message(),
            "Slurm has no partition");
  const Status unknown = place(1, 256, 5, "gpu").status();
  EXPECT_TRUE(says(unknown, "got 'gpu'") && says(unknown, "short, work, down, large"))
      << unknown.message();
}

JobArray small_array() {
  JobArray array;
  array.name = "broadloom-a-12";
  array.parts = 2;
  array.at_once = 1;
  array.limits = {3, 320 * kMebibyte, 7, "work"};
  array.folder = "/tmp/a b";
  array.log = "/tmp/a b/50%/part-{}.log";
  array.store = "/tmp/a b/part-{}.sqlite";
  array.runs = {"1-2,5", "3-4"};
  array.command = {"/bin/echo", "it's", "--env_id=CartPole-v1"};
  return array;
}

TEST(Slurm, TheScriptHasTheLimitsOfItsJobs) {
  const std::string script = make_slurm_queue()->script(small_array()).value();
  for (const char* line :
       {"#SBATCH --job-name=broadloom-a-12\n", "#SBATCH --array=1-2%1\n",
        "#SBATCH --cpus-per-task=3\n", "#SBATCH --mem=320M\n", "#SBATCH --time=7\n",
        "#SBATCH --partition=work\n", "#SBATCH --chdir=\"/tmp/a b\"\n",
        "#SBATCH --output=\"/tmp/a b/50%%/part-%a.log\"\n", "#SBATCH --requeue\n"}) {
    EXPECT_NE(script.find(line), std::string::npos) << line << script;
  }
  JobArray all = small_array();
  all.at_once = 0;
  EXPECT_NE(make_slurm_queue()->script(all).value().find("--array=1-2\n"), std::string::npos);
}

// A line break in a name would begin another command.
TEST(Slurm, NamesThatALineCannotHoldAreRefused) {
  std::string JobArray::*const paths[] = {&JobArray::folder, &JobArray::log, &JobArray::name};
  for (std::string JobArray::*path : paths) {
    JobArray array = small_array();
    array.*path += "/x\ntouch injected #{}";
    const Status refused = make_slurm_queue()->script(array).status();
    EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
    EXPECT_TRUE(says(refused, "line break")) << refused.message();
  }
  JobArray array = small_array();
  array.limits.partition = "work\rtouch injected";
  EXPECT_EQ(make_slurm_queue()->script(array).status().kind(), ErrorKind::kInvalidConfig);
}

// Another queue runs the script in this way.
TEST(Slurm, TheScriptRunsAPartByItself) {
  JobArray array = small_array();
  array.folder = "/";
  const std::string script = make_slurm_queue()->script(array).value();
  const Result<CommandOutput> second = run_command({"bash", "-c", script, "script", "2"});
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second.value().exit_code, 0) << second.value().err;
  EXPECT_EQ(second.value().out,
            "it's --env_id=CartPole-v1 --runs=3-4 --out=/tmp/a b/part-2.sqlite\n");
}

TEST(Command, BothStreamsAreReadHoweverMuchTheyHold) {
  const Result<CommandOutput> output = run_command(
      {"bash", "-c", "for i in $(seq 20000); do echo out; echo error >&2; done; exit 3"});
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output.value().exit_code, 3);
  EXPECT_EQ(output.value().out.size(), 20000 * 4U);
  EXPECT_EQ(output.value().err.size(), 20000 * 6U);
  EXPECT_EQ(run_command({"bash", "-c", "kill -9 $$"}).value().exit_code, 128 + 9);
  EXPECT_EQ(run_command({"there-is-no-such-program"}).status().kind(), ErrorKind::kNotFound);
}

TEST(Command, VariablesMayBeLeftOut) {
  ::setenv("BROADLOOM_TEST_A", "1", 1);
  ::setenv("BROADLOOM_TEST_AB", "2", 1);
  const std::vector<std::string> words = {"bash", "-c",
                                          "echo $BROADLOOM_TEST_A,$BROADLOOM_TEST_AB"};
  EXPECT_EQ(run_command(words).value().out, "1,2\n");
  EXPECT_EQ(run_command(words, {"BROADLOOM_TEST_A="}).value().out, ",2\n");
  EXPECT_EQ(run_command(words, {"NONE=", "BROADLOOM_TEST_"}).value().out, ",\n");
  ::unsetenv("BROADLOOM_TEST_A");
  ::unsetenv("BROADLOOM_TEST_AB");
}

TEST(Command, AShellReadsQuotedWordsBack) {
  for (const std::string word : {"plain-1.5", "two words", "it's", "$HOME `id`", "", "a\"b\\c"}) {
    const Result<CommandOutput> output =
        run_command({"bash", "-c", "printf %s " + shell_word(word)});
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output.value().out, word);
  }
}

TEST(Command, TheLastLineIsNotBlank) {
  EXPECT_EQ(last_line("one\ntwo\n\n \n"), "two");
  EXPECT_EQ(last_line("only"), "only");
  EXPECT_EQ(last_line("\n\n"), "");
  EXPECT_EQ(last_line(""), "");
  const std::string cut = last_line(std::string(1000, 'x'));
  EXPECT_EQ(cut.size(), 303U);
  EXPECT_EQ(cut.substr(298), "xx...");
}

}  // namespace
}  // namespace broadloom
