// Compares the role of every key with a list, so that a wrong or changed role is found before a
// store or a checkpoint depends on it.
#include "broadloom/config/keys.h"
#include "tests/support/folders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/record/files.h"

namespace broadloom {
namespace {

using Lister = config_table_detail::Lister;
using Setter = config_table_detail::Setter;

// A key that is declared without a role does not compile.
template <class Visitor, class... Mark>
constexpr bool kTakes =
    std::is_invocable_v<KeyTable<Visitor>&, const char*, int&, Mark..., Range, const char*>;
static_assert(kTakes<Lister, Role> && kTakes<Setter, Role> && kTakes<Lister, KeyMark>);
static_assert(!kTakes<Lister> && !kTakes<Setter>);
static_assert(!std::is_invocable_v<KeyTable<Lister>&, const char*, bool&, const char*>);
static_assert(
    !std::is_invocable_v<KeyTable<Lister>&, const char*, std::string&, Choices, const char*>);

std::string word_of(Role role) {
  switch (role) {
    case Role::kNone:
      return "none";
    case Role::kTask:
      return "task";
    case Role::kSeed:
      return "seed";
    case Role::kBudget:
      return "budget";
    case Role::kShape:
      return "shape";
    case Role::kMinibatches:
      return "minibatches";
    case Role::kNetwork:
      return "network";
    case Role::kLearning:
      return "learning";
    case Role::kMeasure:
      return "measure";
    case Role::kRecord:
      return "record";
    case Role::kMachine:
      return "machine";
  }
  return "a role that this test does not know";
}

std::string table_of_keys() {
  std::string table = "# key role since, as Config::visit_fields declares them\n";
  for (const FieldInfo& field : list_fields(Config())) {
    table += field.name + " " + word_of(field.facts.role) +
             (field.facts.since == Since::kFirst ? " first\n" : " later\n");
  }
  return table;
}

TEST(Keys, AreThoseOfTheListWithTheirRoles) {
  const Result<std::string> listed = read_file(source_folder() + "/tests/config/keys.txt");
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(table_of_keys(), listed.value())
      << "Where a key or a role is meant to change, make tests/config/keys.txt say so. A role that "
         "changes moves the key in or out of what studies, resumes and reports take it for.";
}

// One more key would change the hash of every study, so no existing store would fit its study.
TEST(Keys, NoneIsAddedToTheFirst) {
  const std::vector<FieldInfo> fields = list_fields(Config());
  const auto first = std::count_if(fields.begin(), fields.end(), [](const FieldInfo& field) {
    return field.facts.since == Since::kFirst;
  });
  EXPECT_EQ(first, 42) << "mark a new key later(Role::...)";
}

TEST(Keys, StandUnderHeadingsThatComeOnce) {
  std::set<std::string> closed;
  std::string open;
  for (const FieldInfo& field : list_fields(Config())) {
    const std::string group = field.facts.group;
    EXPECT_NE(group, "") << field.name;
    if (group != open) {
      EXPECT_FALSE(closed.contains(group)) << field.name << " is apart from its group " << group;
    }
    closed.insert(group);
    open = group;
  }
  EXPECT_EQ(closed.size(), 9U);
}

TEST(Keys, AreAskedForByName) {
  EXPECT_EQ(role_of("num_envs"), Role::kShape);
  EXPECT_EQ(role_of("isa"), Role::kMachine);
  EXPECT_EQ(facts_of("hashes").since, Since::kLater);
  EXPECT_EQ(facts_of("gamma").since, Since::kFirst);
  EXPECT_STREQ(facts_of("learning_rate").group, "Optimiser");
  for (const char* key : {"env.is_slippery", "strata.long.half_length", "disturb.obs_noise"}) {
    EXPECT_EQ(role_of(key), Role::kTask) << key;
    EXPECT_EQ(facts_of(key).since, Since::kFirst) << key;  // they count where they are set
  }
  for (const char* key : {"", "env", "num_env", "a_key_of_another_program"}) {
    EXPECT_EQ(role_of(key), Role::kNone) << key;
  }
}

TEST(Keys, FromOtherTablesHaveNoRole) {
  struct Options {
    int size = 1;
    void visit_fields(Lister& v) { v("size", size, Range{1}, "Size."); }
  };
  EXPECT_EQ(list_fields(Options()).front().facts.role, Role::kNone);
}

}  // namespace
}  // namespace broadloom
