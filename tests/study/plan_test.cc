#include "research/study/plan.h"
#include "tests/support/folders.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "broadloom/record/files.h"

namespace broadloom {
namespace {

StudyPlan plan_of(const std::string& text) {
  const Result<StudySpec> spec = parse_study(text, "study.toml");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  const Result<StudyPlan> plan = plan_study(spec.value());
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.value();
}

std::string error_of(const std::string& text) {
  const Result<StudySpec> spec = parse_study(text, "study.toml");
  const Status status = spec.ok() ? plan_study(spec.value()).status() : spec.status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig) << text;
  return status.message();
}

const StudyCell& cell(const StudyPlan& plan, const std::string& name) {
  for (const StudyCell& cell : plan.cells) {
    if (cell.name == name) return cell;
  }
  ADD_FAILURE() << "no cell " << name;
  return plan.cells.front();
}

const std::string kAtari =
    "seeds = 1\n[base]\nenv_id = 'CartPole-v1'\ntotal_timesteps = 100_000_000\n";
const std::string kPaperShapes =
    "[shapes]\nlist = ['1x128', '2x128', '4x128', '8x128', '128x8', '16x128', '8x256']\n";
const std::string kFollowingPapers = kPaperShapes + "reference = '8x128'\n";

struct Counts {
  const char* shape;
  std::int64_t iterations, gradient_steps;
};

TEST(Plan, TunedKeysMayBeOfAnyVariantAndNeedTwoSeeds) {
  const std::string variants =
      "tuned = 'learning_rate'\n[base]\ntotal_timesteps = 102400\n"
      "[[variants]]\nname = 'a'\ngamma = 0.9\n"
      "[[variants]]\nname = 'b'\nlearning_rate = 1e-3\n";
  EXPECT_EQ(plan_of("seeds = 2\n" + variants).cells.size(), 2U);
  EXPECT_NE(error_of("seeds = 1\n" + variants).find("got 1 seed"), std::string::npos);
}

TEST(Plan, MinibatchCountGivesThePapersCounts) {
  const StudyPlan plan = plan_of("match = 'minibatch_count'\n" + kAtari + kPaperShapes);
  const Counts paper[] = {{"1x128", 781250, 12500000}, {"2x128", 390625, 6250000},
                          {"4x128", 195312, 3124992},  {"8x128", 97656, 1562496},
                          {"128x8", 97656, 1562496},   {"16x128", 48828, 781248},
                          {"8x256", 48828, 781248}};
  for (const Counts& counts : paper) {
    const StudyCell& c = cell(plan, counts.shape);
    EXPECT_EQ(c.config.num_iterations(), counts.iterations) << counts.shape;
    EXPECT_EQ(gradient_steps(c.config), counts.gradient_steps) << counts.shape;
    EXPECT_EQ(c.minibatch_size() * 4, c.config.batch_size()) << counts.shape;
    EXPECT_EQ(c.note, "") << counts.shape;
  }
  EXPECT_EQ(cell(plan, "8x128").environment_steps(), 99999744);
  EXPECT_EQ(cell(plan, "8x128").samples_per_gradient(), 64.0);
  EXPECT_EQ(cell(plan, "16x128").samples_per_gradient(), 128.0);
}

TEST(Plan, MinibatchSizeHoldsM) {
  const StudyPlan plan = plan_of("match = 'minibatch_size'\n" + kAtari + kFollowingPapers);
  for (const char* shape : {"8x128", "128x8", "16x128", "8x256", "4x128", "2x128"}) {
    const StudyCell& c = cell(plan, shape);
    EXPECT_EQ(c.minibatch_size(), 256) << shape;
    EXPECT_EQ(c.config.minibatch_count(), c.config.batch_size() / 256) << shape;
    EXPECT_EQ(c.config.update_epochs, 4) << shape;
    EXPECT_EQ(c.samples_per_gradient(), 64.0) << shape;
    EXPECT_EQ(c.note, "") << shape;
  }
  EXPECT_EQ(gradient_steps(cell(plan, "16x128").config), 1562496);
  const StudyCell& small = cell(plan, "1x128");
  EXPECT_EQ(small.minibatch_size(), 128);
  EXPECT_NE(small.note.find("block of 128 is smaller than a minibatch of 256"), std::string::npos);
}

TEST(Plan, MinibatchSizeTakesTheBasesOwn) {
  const StudyPlan plan = plan_of(
      "match = 'minibatch_size'\nseeds = 1\n[base]\nminibatch_size = 100\n"
      "[shapes]\nlist = ['4x50', '4x75', '5x5']\n");
  EXPECT_EQ(cell(plan, "4x50").note, "");
  EXPECT_EQ(cell(plan, "4x50").config.minibatch_count(), 2);
  EXPECT_EQ(cell(plan, "4x75").minibatch_size(), 100);
  EXPECT_NE(cell(plan, "5x5").note.find("it is one minibatch"), std::string::npos);
  const StudyPlan uneven = plan_of(
      "match = 'minibatch_size'\nseeds = 1\n[base]\nminibatch_size = 100\n"
      "[shapes]\nlist = ['10x25']\n");
  EXPECT_EQ(uneven.cells[0].note,
            "250 samples do not divide into minibatches of 100: 3 of 83 to 84");
  EXPECT_EQ(uneven.cells[0].minibatch_size(), 84);
  EXPECT_FALSE(uneven.cells[0].even_minibatches());
  const StudyPlan even = plan_of(
      "match = 'minibatch_size'\nseeds = 1\n[base]\nminibatch_size = 64\n"
      "[shapes]\nlist = ['10x30']\n");
  EXPECT_EQ(even.cells[0].note, "300 samples do not divide into minibatches of 64: 5 of 60");
}

TEST(Plan, GradientStepsByMinibatches) {
  const StudyPlan plan =
      plan_of("match = 'gradient_steps'\nadjust = 'minibatches'\n" + kAtari + kFollowingPapers);
  for (const char* shape : {"8x128", "128x8", "16x128", "8x256"}) {
    const StudyCell& c = cell(plan, shape);
    EXPECT_EQ(gradient_steps(c.config), 1562496) << shape;
    EXPECT_EQ(c.config.update_epochs, 4) << shape;
    EXPECT_EQ(c.note, "") << shape;
  }
  EXPECT_EQ(cell(plan, "8x256").config.num_minibatches, 8);
  // 195,312 iterations are exactly twice 97,656; 390,625 are one more than four times.
  EXPECT_EQ(gradient_steps(cell(plan, "4x128").config), 1562496);
  EXPECT_EQ(cell(plan, "4x128").config.num_minibatches, 2);
  EXPECT_EQ(gradient_steps(cell(plan, "2x128").config), 1562500);
  EXPECT_NE(cell(plan, "2x128").note.find("+4 gradient steps"), std::string::npos);
  // Two steps an iteration are fewer than the four epochs.
  const StudyCell& one = cell(plan, "1x128");
  EXPECT_EQ(one.config.num_minibatches, 1);
  EXPECT_EQ(one.config.update_epochs, 2);
  EXPECT_NE(one.note.find("update_epochs 2 instead of 4"), std::string::npos);
}

TEST(Plan, GradientStepsByEpochs) {
  const StudyPlan plan =
      plan_of("match = 'gradient_steps'\nadjust = 'epochs'\n" + kAtari + kFollowingPapers);
  EXPECT_EQ(cell(plan, "8x256").config.update_epochs, 8);
  EXPECT_EQ(cell(plan, "8x256").config.num_minibatches, 4);
  EXPECT_EQ(gradient_steps(cell(plan, "8x256").config), 1562496);
  EXPECT_EQ(cell(plan, "4x128").config.update_epochs, 2);
  const StudyCell& one = cell(plan, "1x128");
  EXPECT_EQ(one.config.update_epochs, 1);
  EXPECT_EQ(one.config.num_minibatches, 2);
  EXPECT_NE(one.note.find("2 minibatches instead of 4"), std::string::npos);
}

TEST(Plan, GradientStepsSayWhereRoundingPreventsThem) {
  const StudyPlan plan = plan_of(
      "match = 'gradient_steps'\nseeds = 1\n[base]\ntotal_timesteps = 100_000\n"
      "[shapes]\nlist = ['8x128', '8x300']\n");
  // 97 iterations * 16 = 1,552 steps; 41 iterations of 4 epochs: 9 minibatches make 1,476, 10
  // would make 1,640.
  const StudyCell& c = cell(plan, "8x300");
  EXPECT_EQ(c.config.num_minibatches, 9);
  EXPECT_EQ(gradient_steps(c.config), 1476);
  EXPECT_NE(c.note.find("-76 gradient steps (-4.9 %)"), std::string::npos) << c.note;
}

TEST(Plan, TheReferenceFollowsTheTaskButNotTheEpochs) {
  const StudyPlan plan = plan_of(
      "match = 'gradient_steps'\nseeds = 1\n"
      "[shapes]\ndoubled = '8x128'\n"
      "[grid]\nupdate_epochs = [4, 8]\ntotal_timesteps = [102400, 204800]\n");
  EXPECT_EQ(plan.cells.size(), 12U);
  for (const StudyCell& c : plan.cells) {
    EXPECT_EQ(gradient_steps(c.config), c.config.total_timesteps == 102400 ? 1600 : 3200) << c.name;
  }
  const StudyCell& c = cell(plan, "16x128 update_epochs=8 total_timesteps=102400");
  EXPECT_EQ(c.config.num_minibatches, 4);
}

TEST(Plan, WithoutAMatchCellsKeepTheirKeys) {
  const StudyPlan plan = plan_of(
      "match = 'none'\nseeds = [5]\n[base]\nnum_envs = 8\nnum_steps = 128\n"
      "[grid]\nminibatch_size = [0, 100]\nenv.is_slippery = [true]\nenv_id = ['FrozenLake-v1']\n");
  EXPECT_EQ(plan.cells.size(), 2U);
  EXPECT_EQ(cell(plan, "minibatch_size=100 env.is_slippery=true env_id=FrozenLake-v1")
                .config.minibatch_count(),
            11);
  EXPECT_EQ(plan.seeds, (std::vector<std::uint64_t>{5}));
}

TEST(Plan, RunsGoSeedBySeed) {
  const StudyPlan plan = plan_of("seeds = [3, 1]\n[shapes]\nbatch = 64\nlist = ['8x8', '4x16']\n");
  ASSERT_EQ(plan.runs.size(), 4U);
  EXPECT_EQ(plan.runs[1].id, 2);
  EXPECT_EQ(plan.runs[1].cell, 1);
  EXPECT_EQ(plan.runs[1].seed, 3U);
  EXPECT_EQ(plan.runs[2].seed, 1U);
  std::set<std::string> hashes;
  for (const StudyRun& run : plan.runs) hashes.insert(run.config_hash);
  EXPECT_EQ(hashes.size(), 4U);
}

TEST(Plan, TheHashDependsOnInputsOfTheResults) {
  const std::string study = "seeds = 2\n[base]\nnum_envs = 8\n";
  const std::string hash = plan_of(study).hash;
  EXPECT_EQ(plan_of("name = 'other'\n" + study).hash, hash);
  EXPECT_EQ(plan_of("seeds = '1,2'\nbase.num_envs = 8\n").hash, hash);
  EXPECT_NE(plan_of(study + "gamma = 0.98\n").hash, hash);
  EXPECT_NE(plan_of("points = 49\n" + study).hash, hash);
  EXPECT_NE(plan_of("seeds = 3\nbase.num_envs = 8\n").hash, hash);
}

// Stores from before a key existed still belong to the same study.
TEST(Plan, LaterKeysCountOnlyIfTheyAreSet) {
  const StudyPlan plain = plan_of(kAtari + kPaperShapes);
  const auto plan_with = [](const std::string& key) {
    return plan_of("seeds = 1\n[base]\nenv_id = 'CartPole-v1'\ntotal_timesteps = 100_000_000\n" +
                   key + "\n" + kPaperShapes);
  };
  EXPECT_EQ(plain.definition.find("seed_families"), std::string::npos);
  EXPECT_EQ(plain.hash, plan_with("seed_families = 0\nstrata_sampling = 'sampled'").hash);
  EXPECT_EQ(plain.hash, plan_with("memory_limit = 100000").hash);
  EXPECT_EQ(plain.definition.find("curriculum"), std::string::npos);
  EXPECT_EQ(plan_with("strata.a.force = [5, 15]").hash, plan_with("strata.a.force = '5..15'").hash);
  EXPECT_EQ(plain.runs[0].config_hash, plan_with("memory_limit = 100000").runs[0].config_hash);
  for (const char* key :
       {"seed_families = 1", "strata_sampling = 'stratified'\nstrata.a.force = [5, 15]",
        "strata.a.force = [5, 15]",
        "curriculum = ['a', 'b']\nstrata.a.force = 5\nstrata.b.force = 6",
        "disturb.obs_noise = 0.1"}) {
    EXPECT_NE(plain.hash, plan_with(key).hash) << key;
    EXPECT_NE(plain.runs[0].config_hash, plan_with(key).runs[0].config_hash) << key;
  }
}

TEST(Plan, TheDefinitionHasOnlyTheFirstKeys) {
  const std::string definition = plan_of("seeds = 1\n").definition;
  for (const FieldInfo& field : list_fields(Config())) {
    const bool counts = field.facts.since == Since::kFirst && field.name != "seed";
    const bool is_there = definition.find("\n" + field.name + " ") != std::string::npos;
    EXPECT_EQ(is_there, counts) << field.name;
  }
}

TEST(Plan, SeedsAndKeysOfARunsFolderAreRefused) {
  int refused = 0;
  for (const FieldInfo& field : list_fields(Config())) {
    if (field.facts.role != Role::kSeed && field.facts.role != Role::kRecord) continue;
    const std::string study = "seeds = 1\n[base]\n" + field.name + " = " + field.value_text + "\n";
    const std::string words = field.name + " is not a key of a study; ";
    EXPECT_NE(error_of(study).find(words), std::string::npos) << error_of(study);
    ++refused;
  }
  EXPECT_EQ(refused, 7);
}

TEST(Plan, VariantsSetSeveralKeys) {
  const StudyPlan plan = plan_of(
      "seeds = 1\n[[variants]]\nname = 'narrow'\nhidden_sizes = [16]\n"
      "[[variants]]\nhidden_sizes = [64, 64]\nactivation = 'relu'\n");
  EXPECT_EQ(cell(plan, "narrow").config.hidden_sizes, (std::vector<int>{16}));
  EXPECT_EQ(cell(plan, "hidden_sizes=64,64 activation=relu").config.activation, "relu");
}

TEST(Plan, TellsWhichDefaultsSetCellsApart) {
  const std::string grid = "[grid]\nalgorithm = ['ppo', 'pqn']\n";
  const StudyPlan plan = plan_of("seeds = 1\nmatch = 'none'\n[base]\nnum_steps = 32\n" + grid);
  const std::vector<std::string>& keys = plan.differing_defaults;
  const auto has = [&](const char* key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  EXPECT_TRUE(has("num_envs") && has("layer_norm") && has("learning_rate"));
  EXPECT_FALSE(has("num_steps") || has("algorithm"));
  EXPECT_EQ(plan_of("seeds = 1\n[grid]\nlearning_rate = [1e-3, 1e-4]\n").differing_defaults,
            std::vector<std::string>{});
}

// The match lowers epochs, or minibatches, of a cell that needs fewer gradient steps than it has.
TEST(Plan, ChangesByTheMatchAreNoDefaults) {
  const std::string study =
      "seeds = 1\nmatch = 'gradient_steps'\n[base]\ntotal_timesteps = 20_000\n";
  const std::string shapes = "[shapes]\nlist = ['8x32', '3x7']\n";
  const StudyPlan plan = plan_of(study + shapes);
  EXPECT_EQ(cell(plan, "3x7").config.update_epochs, 1);
  EXPECT_NE(cell(plan, "3x7").note.find("update_epochs 1 instead of 4"), std::string::npos);
  EXPECT_EQ(plan.differing_defaults, std::vector<std::string>{});
  const StudyPlan by_epochs = plan_of("adjust = 'epochs'\n" + study + shapes);
  EXPECT_EQ(cell(by_epochs, "3x7").config.minibatch_count(), 1);
  EXPECT_EQ(cell(by_epochs, "3x7").note.find("1 minibatch instead of 4"), 0U);
  EXPECT_EQ(by_epochs.differing_defaults, std::vector<std::string>{});
  const StudyPlan tasks =
      plan_of(study + shapes + "[grid]\nenv_id = ['CartPole-v1', 'Pendulum-v1']\n");
  const std::vector<std::string>& keys = tasks.differing_defaults;
  EXPECT_NE(std::find(keys.begin(), keys.end(), "update_epochs"), keys.end());
}

TEST(Plan, ContradictionsAreRefused) {
  const auto has = [](const std::string& text, const std::string& words) {
    EXPECT_NE(error_of(text).find(words), std::string::npos) << error_of(text);
  };
  has("[base]\nnum_envs = 4\n", "no seeds");
  has("seeds = 1\n[base]\nseed = 3\n", "seed is not a key of a study; give seeds");
  has("seeds = 1\n[grid]\neval_interval = [1, 2]\n", "give evaluations");
  has("seeds = 1\nmatch = 'minibatch_size'\n[grid]\nnum_minibatches = [4, 8]\n",
      "num_minibatches is varied, but match = \"minibatch_size\"");
  has("seeds = 1\nmatch = 'gradient_steps'\nadjust = 'epochs'\n[grid]\nupdate_epochs = [4, 8]\n",
      "update_epochs is varied");
  has("seeds = 1\n[base]\nminibatch_size = 64\n", "minibatch_size is 64");
  has("seeds = 1\n[base]\ntotal_timesteps = 100\n[shapes]\nlist = ['8x128']\n",
      "cell 8x128: total_timesteps: got 100, less than one rollout block");
  has("seeds = 1\n[grid]\nenv.is_slipery = [true]\n", "cell env.is_slipery=true: ");
  has("seeds = 1\n[grid]\ngamma = [0.9, 0.90]\n", "are the same");
  has("seeds = 1\n[base]\nenv_id = 'Acrobot-v1'\n[grid]\nenv_id = ['CartPole-v1']\n",
      "env_id is Acrobot-v1 for all cells (in [base] or by --env_id)");
  has("seeds = 1\n[base]\nnum_envs = 2\n[shapes]\nlist = ['8x8']\n",
      "num_envs is 2 for all cells (in [base] or by --num_envs)");
  has("seeds = 1\n[base]\ngamma = 0.9\n[[variants]]\ngamma = 0.8\n[[variants]]\ngamma = 0.7\n",
      "the variants");
  has("seeds = 1\n[shapes]\nlist = ['8x8', '4x4', '8x8']\n", "8x8");
  has("seeds = 1\n[shapes]\nlist = ['8x8']\n[grid]\nnum_envs = [1]\n", "and so do the shapes");
  has("match = 'minibatch_size'\nseeds = 1\n[shapes]\nlist = ['8x8']\nreference = '4x4'\n",
      "reference: 4x4");
  has("seeds = 1\n[shapes]\nlist = ['8x8', '4x4']\nreference = '4x4'\n",
      "reference: got 4x4, but match = \"minibatch_count\"");
  has("seeds = 1\nmatch = 'none'\nadjust = 'epochs'\n", "adjust: got epochs, but match = \"none\"");
  has("seeds = 1\nadjust = 'minibatches'\n", "adjust: got minibatches");
  has("seeds = 1\n[shapes]\nlist = ['8x8']\ndoublings = 2\n", "doublings 2");
  has("seeds = 1\n[shapes]\nladder = true\nbatch = 100\n", "expected a power of two");
}

TEST(Plan, EqualCellsAreRefused) {
  const std::string both = "[grid]\nstagger_by = ['actions', 'age']\n";
  const std::string unset = error_of("seeds = 1\n" + both);
  EXPECT_EQ(unset.find("cell stagger_by=age: stagger_by: got age"), 0U) << unset;
  EXPECT_NE(unset.find("stagger_starts = true"), std::string::npos) << unset;
  const std::string equal = error_of(
      "seeds = 1\n[grid]\nstagger_starts = [true, false]\nstagger_by = ['actions', "
      "'age']\n");
  EXPECT_EQ(equal.find("cells stagger_starts=false stagger_by=actions and stagger_starts=false "
                       "stagger_by=age are the same"),
            0U)
      << equal;
  EXPECT_NE(equal.find("Needs stagger_starts = true"), std::string::npos) << equal;
  EXPECT_EQ(plan_of("seeds = 1\n[base]\nstagger_starts = true\n" + both).cells.size(), 2U);
  const std::string idle = error_of(
      "seeds = 1\n[[variants]]\nname = 'a'\nlr_schedule = 'adaptive'\ndesired_kl = 0.02\n"
      "[[variants]]\nname = 'b'\nlr_schedule = 'linear'\ndesired_kl = 0.02\n"
      "[[variants]]\nname = 'c'\n");
  EXPECT_EQ(idle.find("cells b and c are the same, since desired_kl has no effect here"), 0U)
      << idle;
}

TEST(Plan, OtherCellsOfOneNameAreRefused) {
  const std::string error = error_of(
      "seeds = 1\n[[variants]]\nname = 'a'\ngamma = 0.9\n[[variants]]\nname = 'a'\ngamma = 0.95\n");
  EXPECT_EQ(error, "two cells are named a, but their settings differ; give each its own name");
}

// The error comes before any run, even of the cells that could run.
TEST(Plan, Tf32WithoutAGpuIsRefused) {
  const std::string grid = "[grid]\nprecision = ['fp32', 'tf32']\n";
  EXPECT_NE(error_of(kAtari + grid).find("cell precision=tf32: precision: got 'tf32' with device"),
            std::string::npos);
  EXPECT_EQ(plan_of(kAtari + "device = 'cuda'\n" + grid).cells.size(), 2u);
}

TEST(Plan, AgesWithoutATimeLimitAreRefused) {
  const std::string error = error_of(
      "seeds = 1\n[base]\nstagger_starts = true\nstagger_by = 'age'\n"
      "[grid]\nenv_id = ['CartPole-v1', 'MinAtar/Breakout-v0']\n");
  EXPECT_EQ(error.find("cell env_id=MinAtar/Breakout-v0: stagger_by = age: MinAtar/Breakout-v0 has "
                       "no time limit"),
            0U)
      << error;
}

// As in experiments/robot-shapes: one of three variants turns off a key of the others.
TEST(Plan, AVariantMayTurnOffWhatTheBaseStaggers) {
  const StudyPlan plan = plan_of(
      "seeds = 1\n[base]\nstagger_starts = true\nstagger_by = 'age'\n"
      "[[variants]]\nname = 'by age'\n[[variants]]\nname = 'in step'\nstagger_starts = false\n"
      "[[variants]]\nname = 'by actions'\nstagger_by = 'actions'\n");
  EXPECT_EQ(plan.cells.size(), 3U);
  EXPECT_FALSE(cell(plan, "in step").config.stagger_starts);
}

// A key may have an effect in one cell and none in the cell that it is compared with.
TEST(Plan, AKeyOfAllCellsMustHaveAnEffectInOne) {
  const std::string base = "seeds = 1\n[base]\ndesired_kl = 0.02\n";
  EXPECT_EQ(plan_of(base + "[grid]\nlr_schedule = ['linear', 'adaptive']\n").cells.size(), 2U);
  const std::string error = error_of(base + "[grid]\nlr_schedule = ['linear', 'constant']\n");
  EXPECT_EQ(error.find("cell lr_schedule=linear: desired_kl: got 0.02, but it does nothing"), 0U)
      << error;
}

// A study sets its evaluations with its own key.
TEST(Plan, EpisodesWithoutEvaluationsAreRefused) {
  const std::string base = "[base]\neval_episodes = 20\n";
  EXPECT_EQ(plan_of("seeds = 1\n" + base).cells.size(), 1U);
  EXPECT_NE(error_of("seeds = 1\nevaluations = 0\n" + base).find("eval_episodes: got 20"),
            std::string::npos);
}

// Stores from before the key normalise as Gymnasium does, and still belong to the same study.
TEST(Plan, ANormaliserOtherThanGymnasiumsDefinesAStudy) {
  const std::string normalised = "seeds = 1\n[base]\nnorm_obs = true\n";
  const auto names_it = [](const std::string& study) {
    return plan_of(study).definition.find("normaliser") != std::string::npos;
  };
  EXPECT_FALSE(names_it("seeds = 1\n"));
  EXPECT_TRUE(names_it(normalised));
  EXPECT_FALSE(names_it(normalised + "normaliser = 'gymnasium'\n"));
}

TEST(Plan, TheBaseHoldsForCellsWithoutTheirOwnValue) {
  const StudyPlan variants = plan_of(
      "seeds = 1\n[base]\ngamma = 0.9\n[[variants]]\nname = 'a'\nupdate_epochs = 2\n"
      "[[variants]]\nname = 'b'\ngamma = 0.8\n");
  EXPECT_EQ(cell(variants, "a").config.gamma, 0.9);
  EXPECT_EQ(cell(variants, "b").config.gamma, 0.8);
  const StudyPlan counts = plan_of("seeds = 1\n[base]\nnum_steps = 16\n[shapes]\nmax_envs = 2\n");
  EXPECT_EQ(counts.cells[1].name, "2x16");
}

TEST(Plan, ErrorsInFilesNameTheirLine) {
  const auto says = [](const std::string& text, const std::string& message) {
    EXPECT_EQ(error_of(text).find(message), 0U) << error_of(text);
  };
  says("seeds = 1\nsede = 2\n", "study.toml:2: unknown key 'sede'; did you mean 'seeds'?");
  says("seeds = 1\n[base]\nnum_env = 2\n",
       "study.toml:3: unknown key 'num_env'; did you mean 'num_envs'?");
  says("[shapes]\nlader = true\n",
       "study.toml:2: unknown key of [shapes] 'lader'; did you mean 'ladder'?");
  says("[grid]\ngama = [1]\n", "study.toml:2: unknown key 'gama'; did you mean 'gamma'?");
  says("[grid]\ngamma = [0.9, 2.0]\n", "study.toml:2: gamma: got 2, expected 0 to 1");
  says("[grid]\ngamma = 0.9\n", "study.toml:2: gamma: got '0.9', expected a list of values");
  says("[grid]\ngamma = []\n",
       "study.toml:2: grid: gamma has no values, so the grid would be empty");
  says("[shapes]\nlist = ['8x8', '8y8']\n",
       "study.toml:2: list: got '8y8'; expected num_envs x num_steps, as in 16x64");
  says("[shapes]\nlist = []\n",
       "study.toml:2: list: got an array, expected shapes, such as [\"8x128\", \"128x8\"]");
  says("match = 'minibatches'\n",
       "study.toml:1: unknown match 'minibatches'; did you mean 'minibatch_size'?");
  says("points = 0\n", "study.toml:1: points: got '0', expected an integer from 1 to 100000");
  says("variants = 3\n",
       "study.toml:1: variants: got '3', expected tables, each under [[variants]]");
  EXPECT_NE(error_of("seeds = 0\n").find("study.toml:1: seeds: got '0'"), std::string::npos);
  EXPECT_NE(error_of("seeds = [1, 1]\n").find("seeds: 1 "), std::string::npos);
  EXPECT_NE(error_of("[shapes]\n").find("[shapes] is empty"), std::string::npos);
  EXPECT_NE(error_of("[grid]\n").find("[grid] is empty"), std::string::npos);
  EXPECT_EQ(read_study("no/such.toml").status().kind(), ErrorKind::kNotFound);
}

TEST(Plan, SeedsHaveThreeForms) {
  using Seeds = std::vector<std::uint64_t>;
  EXPECT_EQ(parse_seeds("3").value(), (Seeds{1, 2, 3}));
  EXPECT_EQ(parse_seeds("11-13").value(), (Seeds{11, 12, 13}));
  EXPECT_EQ(parse_seeds("7,5-6").value(), (Seeds{7, 5, 6}));
  for (const char* text : {"", "0", "x", "3-1", "-4", "1,,2", "1-9999999",
                           "9223372036854775808-9223372036854775808"}) {
    EXPECT_FALSE(parse_seeds(text).ok()) << text;
  }
}

TEST(Plan, ExamplesAndThePageOfTheFormatCanBePlanned) {
  const std::string source = source_folder();
  const Result<StudySpec> ladder = read_study(source + "/configs/studies/cartpole_ladder.toml");
  ASSERT_TRUE(ladder.ok()) << ladder.status().message();
  const Result<StudyPlan> plan = plan_study(ladder.value());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan.value().runs.size(), 110U);
  EXPECT_EQ(plan.value().name, "cartpole_ladder");

  const std::string page = read_file(source + "/docs/formats/study.md").value();
  const std::size_t begin = page.find("```toml\n") + 8;
  const StudyPlan example = plan_of(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_EQ(example.cells.size(), 3U * 2 * 2 * 2);
  EXPECT_EQ(example.cells[0].name, "8x128 learning_rate=0.00025 hidden_sizes=64,64 shared");
}

// 256 to the power of 8 is 2^64, which overflows to 0 cells.
TEST(Plan, GridsBeyondAllNumbersAreRefused) {
  std::string values = "0.5";
  for (int i = 1; i < 256; ++i) values += fmt::format(", {}", 0.5 + i / 1024.0);
  std::string text = "seeds = 1\n[grid]\n";
  for (const char* key : {"learning_rate", "gamma", "gae_lambda", "clip_coef", "ent_coef",
                          "vf_coef", "max_grad_norm", "reward_scale"}) {
    text += fmt::format("{} = [{}]\n", key, values);
  }
  const Result<StudySpec> spec = parse_study(text, "study.toml");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const Status status = plan_study(spec.value()).status();
  EXPECT_NE(status.message().find("are more than 1000000 runs"), std::string::npos)
      << status.message();
}

TEST(Plan, ABaseMayBeAFileBesideTheStudy) {
  const std::string path = source_folder() + "/configs/study.toml";
  const Result<StudySpec> spec = parse_study("base = 'pendulum.toml'\nseeds = 1\n", path);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(plan_study(spec.value()).value().cells[0].config.env_id, "Pendulum-v1");
  // The study overrides a named config file; a [base] table must not contradict it.
  const Result<StudySpec> varied = parse_study(
      "base = 'pendulum.toml'\nseeds = 1\n[shapes]\nlist = ['8x64']\n[grid]\nenv_id = "
      "['Acrobot-v1']\n",
      path);
  ASSERT_TRUE(varied.ok()) << varied.status().message();
  const Result<StudyPlan> plan = plan_study(varied.value());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan.value().cells[0].config.env_id, "Acrobot-v1");
  // Paths in the study are beside it, and those in the base beside the base.
  const std::string here = source_folder() + "/configs/";
  const StudySpec paths = parse_study(
                              "base = 'biped_walk.toml'\n[grid]\n\"env.xml_file\" = "
                              "['./robots/biped.xml', './none.xml']\n",
                              path)
                              .take();
  EXPECT_EQ(paths.axes[0].values[0].set[0].second, here + "robots/biped.xml");
  EXPECT_EQ(paths.axes[0].values[1].set[0].second, "./none.xml");
  const StudySpec plain = parse_study("base = 'biped_walk.toml'\n", path).take();
  EXPECT_NE(
      std::find(plain.base.begin(), plain.base.end(),
                std::pair<std::string, std::string>("env.xml_file", here + "robots/biped.xml")),
      plain.base.end());
  const Status missing = parse_study("base = 'none.toml'\n", path).status();
  EXPECT_EQ(missing.kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace broadloom
