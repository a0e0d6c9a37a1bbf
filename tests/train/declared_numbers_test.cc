// Compares the names of numbers in declarations, runs and pages.
// sanitizers: none (names and pages, read after whole runs)
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/run_numbers.h"
#include "tests/support/folders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broadloom/instruments/registry.h"
#include "broadloom/record/files.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/trainer.h"
#include "tests/env/counted.h"
#include "tests/env/next_step.h"

namespace broadloom {
namespace {

using Names = std::set<std::string>;

// The texts between pairs of the two marks.
std::vector<std::string> between(const std::string& text, char open, char close) {
  std::vector<std::string> found;
  std::size_t begin = 0;
  while ((begin = text.find(open, begin)) != std::string::npos) {
    const std::size_t end = text.find(close, begin + 1);
    if (end == std::string::npos) break;
    found.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return found;
}

// The part of a page from one heading to another.
std::string part_of(const std::string& page, const std::string& first_line,
                    const std::string& last_line) {
  const Result<std::string> text = read_file(source_folder() + "/docs/" + page);
  EXPECT_TRUE(text.ok()) << text.status().message();
  const std::size_t begin = text.value().find("\n" + first_line + "\n");
  const std::size_t end = text.value().find("\n" + last_line + "\n");
  EXPECT_NE(begin, std::string::npos) << first_line;
  EXPECT_NE(end, std::string::npos) << last_line;
  return text.value().substr(begin + 1, end - begin);
}

// Every `name` in the first cell of a row.
std::vector<std::string> names_in_tables(const std::string& text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.compare(begin, 3, "| `") == 0) {
      const std::string cell = text.substr(begin, text.find(" | ", begin) - begin);
      for (std::string& name : between(cell, '`', '`')) names.push_back(std::move(name));
    }
    begin = end + 1;
  }
  return names;
}

// Numbers of the library. Another test of this program may have registered the algorithm of a2c.h.
Names declared_names() {
  Names names;
  for (const NumberInfo& info : declared_numbers()) names.insert(info.name);
  names.erase("mean_advantage");
  return names;
}

Names missing(const Names& known, const Names& these) {
  Names out;
  std::set_difference(these.begin(), these.end(), known.begin(), known.end(),
                      std::inserter(out, out.end()));
  return out;
}

TEST(DeclaredNumbers, HaveNamesTitlesAndTagsOfTheirOwn) {
  const std::vector<NumberInfo> all = declared_numbers();
  Names names, titles, tags;
  std::size_t tagged = 0;
  for (const NumberInfo& info : all) {
    names.insert(info.name);
    titles.insert(info.title);
    EXPECT_STRNE(info.title, "") << info.name;
    EXPECT_NE(info.unit, nullptr) << info.name;
    if (tag_of(info).empty()) continue;
    tags.insert(std::string(tag_of(info)));
    ++tagged;
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(titles.size(), all.size());
  EXPECT_EQ(tags.size(), tagged);
}

TEST(DeclaredNumbers, FormsHaveTheSameBracketsInNameAndTitle) {
  int forms = 0;
  for (const NumberInfo& info : declared_numbers()) {
    const std::vector<std::string> brackets = between(info.name, '<', '>');
    EXPECT_EQ(between(info.title, '<', '>'), brackets) << info.name;
    if (!brackets.empty()) EXPECT_EQ(tag_of(info), info.name);
    forms += brackets.empty() ? 0 : 1;
  }
  EXPECT_EQ(forms, 3 + 6 + 5);
}

Names reported_by(const Trainer& trainer) {
  Names names;
  visit_numbers(trainer.report(), [&](const NumberInfo& info, auto) { names.insert(info.name); });
  return names;
}

// A checkpoint of PPO on CartPole.
std::string kept_policy() {
  return source_folder() + "/tests/kept/0.1.0/run/checkpoints/iteration_0000000010.safetensors";
}

// Adds the numbers of the library's algorithms other than PPO.
void add_other_algorithms(Names& met) {
  for (const std::string algorithm : {"pqn", "ppo_rnd", "distill"}) {
    Overrides keys{{"algorithm", algorithm}, {"total_timesteps", "4096"}};
    if (algorithm == "distill") keys.emplace_back("teacher", kept_policy());
    const Result<Config> config = resolve_config(keys);
    ASSERT_TRUE(config.ok()) << config.status().message();
    const std::unique_ptr<Trainer> trainer = Trainer::create(config.value(), 1).take();
    ASSERT_TRUE(trainer->iterate().ok());
    met.merge(reported_by(*trainer));
  }
}

// Adds the numbers of environments that take a step to begin an episode.
void add_filler_rows(Names& met) {
  const Result<Config> config = resolve_config({{"total_timesteps", "512"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  std::unique_ptr<VecEnv> envs =
      make_vec_env("CartPole-v1", {}, vec_env_options(config.value())).take();
  Result<std::unique_ptr<Trainer>> trainer = Trainer::create(
      config.value(), 1, std::make_unique<NextStep>(std::move(envs), "CartPole-v1", false));
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  ASSERT_TRUE(trainer.value()->iterate().ok());
  met.merge(reported_by(*trainer.value()));
}

// A trainer on environments that sum their reward terms.
std::unique_ptr<Trainer> counting() {
  const Result<Config> config = resolve_config({{"total_timesteps", "512"}});
  EXPECT_TRUE(config.ok()) << config.status().message();
  std::unique_ptr<VecEnv> envs =
      make_vec_env("CartPole-v1", {}, vec_env_options(config.value())).take();
  return Trainer::create(config.value(), 1, std::make_unique<Counted>(std::move(envs))).take();
}

// Runs with all sources of numbers. The recorder adds iterations, steps and two clock numbers.
TEST(DeclaredNumbers, AreWhatRunsReport) {
  std::string instruments;
  for (const std::string& name : instrument_names()) instruments += "," + name;
  const Result<Config> config = resolve_config({{"shape_schedule", "8x64 @ 0"},
                                                {"total_timesteps", "512"},
                                                {"instruments", instruments.substr(1)},
                                                {"curriculum", "easy,hard"},
                                                {"strata.easy.half_length", "0.4..0.6"},
                                                {"strata.hard.half_length", "0.05..0.1"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config.value(), 1).take();
  ASSERT_TRUE(trainer->iterate().ok());
  ASSERT_TRUE(trainer->instruments().measured());

  const std::vector<NumberInfo> all = declared_numbers();
  Names met = {"iteration", "global_step", "wall_time", "steps_per_second"};
  const auto check = [&](const NumberInfo& info, auto) {
    const NumberInfo* declared = find_number(all, info.name);
    ASSERT_NE(declared, nullptr) << info.name;
    met.insert(declared->name);
    EXPECT_EQ(title_of(*declared, info.name), info.title);
    EXPECT_STREQ(declared->unit, info.unit);
    const bool form = declared->name != std::string(info.name);
    EXPECT_EQ(tag_of(info), form ? info.name : tag_of(*declared));
  };
  visit_numbers(trainer->report(), check);
  trainer->instruments().visit_numbers(check);
  visit_numbers(counting()->report(), check);
  add_other_algorithms(met);
  add_filler_rows(met);
  EXPECT_EQ(missing(met, declared_names()), Names());
}

TEST(DeclaredNumbers, AreThoseOfThePageOfTheRunFolder) {
  const std::vector<std::string> listed =
      names_in_tables(part_of("formats/metrics.md", "## metrics.jsonl", "## eval.jsonl"));
  const Names page(listed.begin(), listed.end());
  EXPECT_EQ(page.size(), listed.size()) << "a name stands twice";
  EXPECT_EQ(missing(page, declared_names()), Names()) << "not on the page";
  EXPECT_EQ(missing(declared_names(), page), Names()) << "on the page, and no run reports it";
}

// The page has one row for the same number of all bodies and layers.
TEST(DeclaredNumbers, AreThoseOfThePageOfInstruments) {
  const std::map<std::string, std::string> next = {
      {"plasticity", "policy"}, {"policy", "coverage"}, {"coverage", "Cost"}};
  for (const auto& [instrument, behind] : next) {
    const std::vector<std::string> listed =
        names_in_tables(part_of("instruments.md", "## " + instrument, "## " + behind));
    Names declared;
    for (const std::string& name : declared_names()) {
      if (name.rfind(instrument + "/", 0) != 0) continue;
      const std::size_t bracket = name.rfind(">_");
      declared.insert(name.substr(bracket != std::string::npos ? bracket + 2 : name.find('/') + 1));
    }
    EXPECT_EQ(Names(listed.begin(), listed.end()), declared) << instrument;
  }
}

// Instruments stand on events.md by their first part alone, as `grad/...`.
std::string shown_tag(const NumberInfo& info) {
  const std::string tag(tag_of(info));
  const std::string group = tag.substr(0, tag.find('/') + 1);
  const Names instruments = {"grad/", "plasticity/", "policy/", "coverage/", "audit/"};
  if (instruments.count(group) > 0) return group + "...";
  return tag.empty() ? info.name : tag;
}

TEST(DeclaredNumbers, StandOnThePageOfEvents) {
  const std::string page = read_file(source_folder() + "/docs/formats/events.md").value();
  for (const NumberInfo& info : declared_numbers()) {
    if (info.name == std::string("mean_advantage")) continue;  // see declared_names()
    EXPECT_NE(page.find("`" + shown_tag(info) + "`"), std::string::npos) << info.name;
  }
}

// Dashboards of others have CleanRL's tags, so these do not move.
TEST(DeclaredNumbers, TheTagsOfCleanRLStay) {
  const std::map<std::string, std::string> expected = {
      {"charts/episodic_return", "episodic_return"},
      {"charts/episodic_length", "episodic_length"},
      {"charts/success_rate", "success_rate"},
      {"charts/termination_rate", "termination_rate"},
      {"charts/learning_rate", "learning_rate"},
      {"charts/SPS", "steps_per_second"},
      {"losses/policy_loss", "policy_loss"},
      {"losses/value_loss", "value_loss"},
      {"losses/entropy", "entropy"},
      {"losses/old_approx_kl", "old_approx_kl"},
      {"losses/approx_kl", "approx_kl"},
      {"losses/clipfrac", "clipfrac"},
      {"losses/explained_variance", "explained_variance"},
      {"losses/grad_norm", "grad_norm"},
      {"losses/ess", "ess"},
      {"losses/min_ratio", "min_ratio"},
      {"losses/max_ratio", "max_ratio"},
  };
  std::map<std::string, std::string> tags;
  for (const NumberInfo& info : declared_numbers()) {
    const std::string tag(tag_of(info));
    if (tag.empty() || tag == info.name) continue;
    tags[tag] = info.name;
  }
  for (const auto& [tag, name] : expected) EXPECT_EQ(tags[tag], name) << tag;
}

}  // namespace
}  // namespace broadloom
