// Bits from commit to commit, and on every instruction set of this processor: docs/bits.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/record/files.h"
#include "tests/golden/configurations.h"
#include "tests/golden/hash_file.h"
#include "tests/support/folders.h"

namespace broadloom::golden {
namespace {

const std::map<std::string, Lines>& golden_hashes() {
  static const std::map<std::string, Lines> hashes = [] {
    const Result<std::string> text = read_file(source_folder() + "/tests/golden/hashes.txt");
    if (!text.ok()) {
      ADD_FAILURE() << text.status().message();
      return std::map<std::string, Lines>();
    }
    Result<std::map<std::string, Lines>> parsed = parse_hashes(text.value());
    EXPECT_TRUE(parsed.ok()) << "tests/golden/hashes.txt, " << parsed.status().message();
    return parsed.ok() ? parsed.take() : std::map<std::string, Lines>();
  }();
  return hashes;
}

}  // namespace

// GoogleTest's name of one, for messages and for ctest.
void PrintTo(const Configuration& configuration, std::ostream* out) { *out << configuration.name; }

namespace {

class GoldenHashes : public ::testing::TestWithParam<Configuration> {};

TEST_P(GoldenHashes, AreTheSameOnEveryInstructionSet) {
  const auto expected = golden_hashes().find(GetParam().name);
  ASSERT_NE(expected, golden_hashes().end())
      << "tests/golden/hashes.txt has no " << GetParam().name;
  ASSERT_FALSE(golden_isas().empty());
  for (const std::string& isa : golden_isas()) {
    const Result<Lines> got = GetParam().measure(isa);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(first_difference(expected->second, got.value()), "")
        << GetParam().name << " on " << isa
        << ": the bits are not those of tests/golden/hashes.txt.\n"
           "If they were to change, say so in the commit's message and in CHANGELOG.md, and write "
           "the file anew:\n  build/release/tests/golden/golden_bits > tests/golden/hashes.txt";
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenHashes, ::testing::ValuesIn(configurations()),
                         [](const auto& test) { return test.param.name; });

TEST(GoldenFile, HasTheConfigurationsAndNoOthers) {
  std::set<std::string> expected, got;
  for (const Configuration& configuration : configurations()) expected.insert(configuration.name);
  for (const auto& [name, lines] : golden_hashes()) got.insert(name);
  EXPECT_EQ(got, expected);
}

TEST(GoldenFile, SaysWhichLineIsNone) {
  EXPECT_EQ(parse_hashes("# words\na b 00ff\n").value().at("a"), (Lines{{"b", 255}}));
  for (const char* text : {"a b\n", "a b xyz\n", "a b 00ff more\n"}) {
    const auto hashes = parse_hashes(std::string("a b 1\n") + text);
    ASSERT_FALSE(hashes.ok()) << text;
    EXPECT_NE(hashes.status().message().find("line 2"), std::string::npos);
  }
}

TEST(GoldenFile, TellsTheFirstNumberThatDiffers) {
  const Lines lines{{"a", 1}, {"b", 2}, {"c", 3}};
  EXPECT_EQ(first_difference(lines, lines), "");
  EXPECT_EQ(first_difference(lines, {{"a", 1}, {"b", 5}, {"c", 6}}),
            "got b 0000000000000005, expected b 0000000000000002 (2 of 3 numbers differ)");
  EXPECT_EQ(first_difference(lines, {{"a", 1}, {"b", 2}}),
            "got nothing, expected c 0000000000000003 (1 of 3 numbers differ)");
}

// Texts that the runs together set a key to.
std::set<std::string> values_of(const std::string& key) {
  std::set<std::string> values;
  std::vector<Run> runs = training_runs();
  for (const Student& student : students()) runs.push_back(student.run);
  for (const Run& run : runs) {
    Result<Config> config = config_of(run, "auto");
    EXPECT_TRUE(config.ok()) << run.name << ": " << config.status().message();
    for (const auto& [name, text] : to_overrides(config.value())) {
      if (name == key) values.insert(text);
    }
  }
  return values;
}

TEST(GoldenRuns, HaveEveryEnvironment) {
  std::set<std::string> ids;
  for (const EnvSpec& spec : list_envs()) ids.insert(spec.id);
  EXPECT_EQ(values_of("env_id"), ids) << "add a run to tests/golden/configurations.cc";
}

TEST(GoldenRuns, HaveEveryChoice) {
  for (const FieldInfo& field : list_fields(Config())) {
    if (field.facts.role == Role::kMachine) continue;
    if (field.name == "precision") continue;  // only GPUs have tf32, with other bits
    if (field.name == "dialect") continue;    // values of other keys: tests/config/dialects_test.cc
    if (field.name == "encoder") continue;  // not all images are large enough; "functions" has all
    const std::set<std::string> values = values_of(field.name);
    if (field.type == "choice") {
      const auto choices = 1 + std::count(field.range_text.begin(), field.range_text.end(), '|');
      EXPECT_EQ(std::ssize(values), choices) << field.name << ": " << field.range_text;
    }
    if (field.name.starts_with("norm_") || field.name == "shared_encoder") {
      EXPECT_GE(values.size(), 2u) << field.name;
    }
  }
  for (const std::string& name : instrument_names()) {
    const std::set<std::string> values = values_of("instruments");
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [&](const std::string& list) {
      return list.find(name) != std::string::npos;
    })) << name;
  }
}

}  // namespace
}  // namespace broadloom::golden
