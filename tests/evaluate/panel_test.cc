// Held-out panels: valid files and their rows.
#include "broadloom/evaluate/panel.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "broadloom/core/random.h"
#include "broadloom/evaluate/panel_compare.h"

namespace broadloom {
namespace {

constexpr const char* kWhole = R"(# all there is
env_id = "CartPole-v1"
episodes = 30
seeds = [1, 2]
max_episode_steps = 200
strata_sampling = "stratified"
[env]
gravity = 9.5
[strata.short]
half_length = [0.2, 0.40]
[strata.long]
half_length = [1, 2]
force = 8
[perturbations.pushed]
push_interval = 50
push_steps = 5
[perturbations.heavy]
obs_noise = 0.05
env.cart_mass = 2
)";

Panel parsed_panel(const std::string& text) {
  const Result<Panel> panel = parse_panel(text, "p.toml");
  EXPECT_TRUE(panel.ok()) << panel.status().message();
  return panel.value();
}

void expect_refused(const std::string& text, const std::vector<std::string>& words,
                    ErrorKind kind = ErrorKind::kInvalidConfig) {
  const Result<Panel> panel = parse_panel(text, "p.toml");
  ASSERT_FALSE(panel.ok()) << text;
  EXPECT_EQ(panel.status().kind(), kind) << panel.status().message();
  for (const std::string& word : words) {
    EXPECT_NE(panel.status().message().find(word), std::string::npos)
        << "'" << word << "' in: " << panel.status().message();
  }
}

const std::string kId = "env_id = \"CartPole-v1\"\n";

TEST(Panel, RowsAreAllPairsOfStratumAndPerturbation) {
  const Panel panel = parsed_panel(kWhole);
  const std::vector<PanelRow> rows = panel_rows(panel);
  std::vector<std::string> names;
  std::set<std::uint64_t> keys;
  for (const PanelRow& row : rows) {
    names.push_back(row.stratum + "/" + row.perturbation);
    ASSERT_EQ(row.keys.size(), 2u);
    keys.insert(row.keys.begin(), row.keys.end());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"long/nominal", "long/heavy", "long/pushed",
                                             "short/nominal", "short/heavy", "short/pushed"}));
  EXPECT_EQ(keys.size(), 12u);  // no two rows or seeds have equal draws
  EXPECT_EQ(rows[4].env_options, (Overrides{{"gravity", "9.5"},
                                            {"strata.short.half_length", "0.2..0.4"},
                                            {"cart_mass", "2"},
                                            {"disturb.obs_noise", "0.05"}}));
}

TEST(Panel, WithoutStrataUsesThePlainEnvironment) {
  const std::vector<PanelRow> rows = panel_rows(parsed_panel(kId));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].stratum, "all");
  EXPECT_EQ(rows[0].perturbation, "nominal");
  EXPECT_TRUE(rows[0].env_options.empty());
}

TEST(Panel, ARowKeepsItsDrawsWhenOthersChange) {
  const Panel more = parsed_panel(kWhole);
  Panel fewer = more;
  fewer.strata.erase(fewer.strata.begin());  // long
  fewer.seeds = {2};
  EXPECT_EQ(panel_rows(fewer)[2].keys[0], panel_rows(more)[5].keys[1]);
}

TEST(Panel, ReadsBackFromItsTomlAndItsKeys) {
  for (const std::string& text :
       {std::string(kWhole), kId,
        std::string("env_id = \"FrozenLake-v1\"\nseed = "
                    "9223372036854775807\n[env]\nmap_name = \"8x8\"\n")}) {
    const Panel panel = parsed_panel(text);
    const std::string toml = panel_toml(panel);
    EXPECT_EQ(to_overrides(parsed_panel(toml)), to_overrides(panel)) << toml;
    EXPECT_EQ(panel_toml(parsed_panel(toml)), toml);
    const Result<Panel> from_keys = resolve_panel(to_overrides(panel));
    ASSERT_TRUE(from_keys.ok()) << from_keys.status().message();
    EXPECT_EQ(panel_hash(from_keys.value()), panel_hash(panel));
  }
}

TEST(Panel, TheHashDependsOnContentsAndNotOnForm) {
  const std::string other = R"(seeds = [1, 2]
strata.long = { force = 8.0, half_length = "1..2" }
env_id = "CartPole-v1"
perturbations.heavy = { env.cart_mass = 2.0, obs_noise = 5e-2 }
perturbations.pushed = { push_steps = 5, push_interval = 50 }
episodes = 30
max_episode_steps = 200
strata.short.half_length = [0.2, 0.4]
strata_sampling = "stratified"
env.gravity = 9.5
)";
  EXPECT_EQ(panel_toml(parsed_panel(other)), panel_toml(parsed_panel(kWhole)));
  std::string changed = kWhole;
  changed.replace(changed.find("0.05"), 4, "0.06");
  EXPECT_NE(panel_hash(parsed_panel(changed)), panel_hash(parsed_panel(kWhole)));
}

TEST(Panel, ErrorsNamePlaceAndFault) {
  expect_refused("episodes = 3\n", {"env_id is missing"});
  expect_refused("env_id = \"CartPol-v1\"\n", {"p.toml:1", "'CartPole-v1'"}, ErrorKind::kNotFound);
  expect_refused(kId + "episods = 3\n", {"p.toml:2", "'episods'", "did you mean 'episodes'"});
  expect_refused(kId + "[perturbation.a]\nobs_noise = 1\n",
                 {"p.toml:3", "'perturbation'", "'perturbations'"});
  expect_refused(kId + "episodes = 0\n", {"p.toml:2", "episodes: got 0", "expected 1 to"});
  expect_refused(kId + "episodes = \"many\"\n", {"p.toml:2", "episodes", "many"});
  expect_refused(kId + "seeds = [1, 2, 1]\n", {"p.toml:2", "seeds: 1 "});
  expect_refused(kId + "seeds = []\n", {"p.toml:2", "at least one"});
  expect_refused(kId + "seeds = [-1]\n", {"p.toml:2", "at least 0"});
  expect_refused(kId + "seed = 1\nseeds = [2]\n", {"p.toml:3", "seed and seeds"});
  expect_refused(kId + "[strata.a]\n[strata.b]\nforce = 1\n", {"p.toml:2", "[strata.a] is empty"});
  expect_refused(kId + "[strata]\n", {"p.toml:2", "[strata] is empty"});
  expect_refused(kId + "[strata.a]\ngravity = 9\nforce = [2, 1]\n",
                 {"p.toml:4", "strata.a.force", "upside down"});
  expect_refused(kId + "[strata.a]\nforze = [1, 2]\n", {"p.toml:3", "did you mean 'force'"});
  expect_refused(kId + "[strata.a]\nforce = [1, 2]\nweight = 2\n", {"p.toml:4", "equally often"});
  expect_refused(kId + "[strata.all]\nforce = 1\n", {"p.toml:3", "'all'"});
  expect_refused(kId + "[strata]\nforce = 1\n", {"p.toml:3", "strata.<name>.<constant>"});
  expect_refused(kId + "[perturbations.a]\nobs_nois = 1\n", {"p.toml:3", "obs_noise"});
  expect_refused(kId + "[perturbations.a]\nobs_noise = -1\n", {"p.toml:3", "obs_noise"});
  expect_refused(kId + "[perturbations.a]\npush_steps = 3\n", {"p.toml:3", "perturbations.a"});
  expect_refused(kId + "[perturbations.nominal]\nobs_noise = 1\n", {"p.toml:3", "'nominal'"});
  expect_refused(kId + "[perturbations]\nobs_noise = 1\n", {"p.toml:3", "[perturbations.<name>]"});
  expect_refused(kId + "[perturbations.a]\nenv.forze = 1\n", {"p.toml:3", "'force'"});
  expect_refused(kId + "[strata.a]\nforce = 1\n[perturbations.b]\nenv.force = 2\n",
                 {"p.toml:5", "'a' draws force"});
  expect_refused(kId + "[env]\ngravty = 1\n", {"p.toml:3", "'gravity'"});
  expect_refused(kId + "[disturb]\nobs_noise = 1\n", {"p.toml:3", "'disturb'", "perturbations"});
  expect_refused(kId + "env = 3\n", {"p.toml:2", "a table, [env]"});
  expect_refused(kId + "episodes.x = 3\n", {"p.toml:2", "not a table"});
  expect_refused(kId + "seeds = [[1]]\n", {"p.toml:2", "seeds", "an array"});
  expect_refused(kId + "episodes = 1000000\nseeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]\n",
                 {"too many", "10000000"});
  expect_refused(kId + "env_id = \"\n", {"not valid TOML"});
  EXPECT_EQ(read_panel("none.toml").status().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(resolve_panel({{"env_id", "CartPole-v1"}, {"x", "1"}}).status().kind(),
            ErrorKind::kInvalidConfig);
}

// A good file with bytes changed, cut or doubled: it is refused, or read back equal.
TEST(Panel, DamagedFilesAreRefusedOrReadBack) {
  const std::string whole = kWhole;
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Random random(1, Purpose::kUser, 0, i);
    std::string text = whole;
    const std::size_t place = random.below(static_cast<std::uint32_t>(whole.size()));
    const std::uint32_t what = random.below(3);
    if (what == 0) text[place] = static_cast<char>(random.below(128));
    if (what == 1) text.erase(place, 1 + random.below(20));
    if (what == 2) text.insert(place, whole.substr(place / 2, 1 + random.below(20)));
    const Result<Panel> panel = parse_panel(text, "p.toml");
    (panel.ok() ? accepted : refused) += 1;
    if (!panel.ok()) {
      EXPECT_FALSE(panel.status().message().empty());
      continue;
    }
    const std::string toml = panel_toml(panel.value());
    const Result<Panel> again = parse_panel(toml, "again");
    ASSERT_TRUE(again.ok()) << again.status().message() << toml;
    EXPECT_EQ(panel_toml(again.value()), toml);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 300);
}

TEST(Panel, MustFitTheRunsEnvironmentAndShapes) {
  const Config run = resolve_config({{"env_id", "CartPole-v1"}}).take();
  EXPECT_TRUE(check_panel_fits(parsed_panel(kWhole), run).ok());
  Status status = check_panel_fits(parsed_panel("env_id = \"Acrobot-v1\"\n"), run);
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("for Acrobot-v1, but the run is of CartPole-v1"),
            std::string::npos);
  const Config lake = resolve_config({{"env_id", "FrozenLake-v1"}, {"env.map_name", "8x8"}}).take();
  status = check_panel_fits(parsed_panel("env_id = \"FrozenLake-v1\"\n"), lake);
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("observations Discrete(16)"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("has observations Discrete(64)"), std::string::npos);
  EXPECT_TRUE(check_panel_fits(
                  parsed_panel("env_id = \"FrozenLake-v1\"\n[env]\nmap_name = \"8x8\"\n"), lake)
                  .ok());
}

// Older records have the path of the model's file.
TEST(PanelComparison, TakesResultsOfOneEngineInOtherWords) {
  PanelResult first, other;
  first.engine = "MySim 3.3, /here/robot.xml 12ab";
  other.engine = "MySim 3.3, robot.xml 12ab";
  EXPECT_TRUE(check_co_computed(first, other).ok()) << check_co_computed(first, other).message();
  other.engine = "MySim 3.3, robot.xml 34cd";
  EXPECT_EQ(check_co_computed(first, other).kind(), ErrorKind::kMismatch);
}

}  // namespace
}  // namespace broadloom
