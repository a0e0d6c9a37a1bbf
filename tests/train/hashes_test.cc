// Content hashes do not depend on anything that changes no bit, and locate a changed bit exactly.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/env/forwarding_vec_env.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/evaluator.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

// Flips the lowest bit of one reward of one environment, when that has made `step` steps.
class PlantedReward final : public ForwardingVecEnv {
 public:
  PlantedReward(std::unique_ptr<VecEnv> envs, int env, std::int64_t step)
      : ForwardingVecEnv(std::move(envs)), env_(env), step_(step) {}

  Status step(int begin, int end, const StepRows& rows) override {
    BROADLOOM_TRY(inner().step(begin, end, rows));
    if (env_ < begin || env_ >= end || made_++ != step_) return {};
    float& reward = rows.rewards[env_ - begin];
    reward = std::bit_cast<float>(std::bit_cast<std::uint32_t>(reward) ^ 1u);
    return {};
  }

 private:
  int env_;
  std::int64_t step_, made_ = 0;  // one task steps an environment, so no two count at once
};

class Hashes : public InFolder {};

Config hashed_config(const Overrides& overrides = {}) {
  Overrides all{{"env_id", "CartPole-v1"}, {"num_envs", "37"},     {"num_steps", "13"},
                {"num_minibatches", "3"},  {"update_epochs", "2"}, {"total_timesteps", "5000"},
                {"hidden_sizes", "16,8"},  {"hashes", "true"}};
  return resolved(add_overrides(all, overrides));
}

std::unique_ptr<VecEnv> make_envs(const Config& config) {
  VecEnvOptions options;
  options.num_envs = config.num_envs;
  options.seed = config.seed;
  return make_vec_env(config.env_id, config.env_options, options).take();
}

// A run folder for `diff`, from a run on custom environments.
void train_on(const Config& config, std::unique_ptr<VecEnv> envs, int iterations,
              const std::string& dir) {
  fs::create_directories(dir);
  const Manifest manifest = make_manifest(to_overrides(config), config.seed, 2, "exact");
  ASSERT_TRUE(write_file_atomically(dir + "/manifest.json", manifest_json(manifest)).ok());
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 2, std::move(envs)).take();
  const RolloutBlock& block = trainer->block();
  HashLog log = HashLog::open(dir + "/hashes.bin", {block.N, block.T, block.D, block.A}, 0).take();
  for (int i = 1; i <= iterations; ++i) {
    ASSERT_TRUE(trainer->iterate().ok());
    ASSERT_TRUE(log.append(i, *trainer->hashes()).ok());
  }
}

// parameters_hash of the run's record.
std::string recorded_parameters(const std::string& dir) {
  const std::string line = read_file(dir + "/ledger_line.json").take();
  const std::size_t place = line.find("\"parameters_hash\":\"");
  EXPECT_NE(place, std::string::npos);
  return line.substr(place + 19, 32);
}

TEST_F(Hashes, AreThoseOfTheBlocksRowsAndColumns) {
  const Config config = hashed_config();
  const std::unique_ptr<Trainer> trainer = Trainer::create(config, 2).take();
  ASSERT_TRUE(trainer->iterate().ok());
  const RolloutBlock& block = trainer->block();
  const BlockHashes& hashes = *trainer->hashes();
  ASSERT_STREQ(hashes.fields[0], "observations");
  ASSERT_STREQ(hashes.fields[5], "terminated");
  for (int n = 0; n < block.N; ++n) {
    std::string observations, ends;
    for (int t = 0; t < block.T; ++t) {
      observations.append(
          reinterpret_cast<const char*>(&block.observations.floats()[block.index(t, n) * block.D]),
          sizeof(float) * static_cast<std::size_t>(block.D));
      ends.push_back(static_cast<char>(block.terminated[block.index(t, n)]));
    }
    EXPECT_EQ(hashes.row(0, n), hash64(observations));
    EXPECT_EQ(hashes.row(5, n), hash64(ends));
  }
  for (int t = 0; t < block.T; ++t) {
    EXPECT_EQ(hashes.column(0, t),
              hash64({reinterpret_cast<const char*>(
                          &block.observations.floats()[block.index(t, 0) * block.D]),
                      sizeof(float) * static_cast<std::size_t>(block.N * block.D)}));
    EXPECT_EQ(hashes.column(5, t),
              hash64({reinterpret_cast<const char*>(&block.terminated[block.index(t, 0)]),
                      static_cast<std::size_t>(block.N)}));
  }
  EXPECT_EQ(hashes.params, hash64({reinterpret_cast<const char*>(trainer->params()),
                                   trainer->network().parameter_count() * sizeof(float)}));
}

// Evaluation, panels, instruments, logs and threads change no bit of training.
TEST_F(Hashes, AreTheSameFileWhateverChangesNoBit) {
  const Overrides base{{"norm_obs", "true"}, {"norm_reward", "true"}};
  const std::vector<std::pair<Overrides, int>> variants = {
      {{}, 1},
      {{}, 2},
      {{}, 5},
      {{{"eval_interval", "1"}, {"eval_episodes", "7"}}, 2},
      {{{"instruments", "gradient,plasticity,policy,coverage"}, {"instrument_every", "2"}}, 2},
      {{{"log_interval", "4"}, {"tensorboard", "false"}, {"checkpoint_interval", "1"}}, 1},
  };
  const Panel panel = parse_panel(
                          "env_id = \"CartPole-v1\"\nepisodes = 20\n[strata.a]\nforce = [5, 20]\n"
                          "[perturbations.b]\nobs_noise = 0.1\n",
                          "panel")
                          .take();
  std::string expected;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Overrides overrides = base;
    overrides.insert(overrides.end(), variants[i].first.begin(), variants[i].first.end());
    const std::string dir = at("run" + std::to_string(i));
    const auto scored = i % 2 == 1 ? std::optional<Panel>(panel) : std::nullopt;
    ASSERT_TRUE(start_run(hashed_config(overrides), dir, variants[i].second, {}, scored).ok());
    EXPECT_EQ(fs::exists(dir + "/panel.toml"), scored.has_value());
    const std::string bytes = read_file(dir + "/hashes.bin").take();
    ASSERT_GT(bytes.size(), 1000u);
    const std::string parameters = recorded_parameters(dir);
    if (i == 0) expected = bytes + parameters;
    EXPECT_TRUE(bytes + parameters == expected) << "variant " << i;
    const Result<RunDiff> diff = diff_runs(at("run0"), dir);
    ASSERT_TRUE(diff.ok()) << diff.status().message();
    EXPECT_TRUE(diff.value().equal());
    EXPECT_EQ(diff.value().compared, 10);
    EXPECT_EQ(diff.value().settings.size(), variants[i].first.size());
  }
}

TEST_F(Hashes, ChangeNoBitOfTheRun) {
  Config plain = hashed_config();
  plain.hashes = false;
  const std::unique_ptr<Trainer> hashed = Trainer::create(hashed_config(), 2).take();
  const std::unique_ptr<Trainer> unhashed = Trainer::create(plain, 2).take();
  EXPECT_EQ(unhashed->hashes(), nullptr);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(hashed->iterate().ok());
    ASSERT_TRUE(unhashed->iterate().ok());
  }
  const std::vector<TensorRef> a = hashed->state(), b = unhashed->state();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::memcmp(a[i].data, b[i].data, a[i].bytes()), 0) << a[i].name;
  }
}

TEST_F(Hashes, ASingleBitOfOneRewardIsFoundWhereItCameIn) {
  for (const char* scaled : {"false", "true"}) {
    const Config config = hashed_config({{"norm_reward", scaled}});
    const std::string clean = at(std::string("clean_") + scaled);
    train_on(config, make_envs(config), 6, clean);
    struct Plant {
      int env;
      std::int64_t iteration, step;
    };
    for (const Plant plant :
         {Plant{17, 4, 5}, Plant{0, 1, 0}, Plant{36, 6, 12}, Plant{18, 2, 12}}) {
      const std::string dir = at("planted_" + std::to_string(plant.env) + scaled);
      const std::int64_t made = (plant.iteration - 1) * config.num_steps + plant.step;
      train_on(config, std::make_unique<PlantedReward>(make_envs(config), plant.env, made), 6, dir);
      const Result<RunDiff> diff = diff_runs(clean, dir);
      ASSERT_TRUE(diff.ok()) << diff.status().message();
      ASSERT_FALSE(diff.value().equal());
      const Parting& parting = *diff.value().parting;
      EXPECT_EQ(parting.field, "rewards");
      EXPECT_EQ(parting.iteration, plant.iteration);
      EXPECT_EQ(parting.step, plant.step);
      EXPECT_EQ(parting.environments, std::vector<int>{plant.env});
      EXPECT_EQ(parting.global_step, (made + 1) * config.num_envs);
      EXPECT_EQ(diff.value().iterations_second, 6);
      EXPECT_TRUE(diff.value().settings.empty());
    }
  }
}

TEST_F(Hashes, AnUpdateThatPartsIsToldFromABlockThatDoes) {
  const Config config = hashed_config();
  const Config other = hashed_config({{"ent_coef", "0.02"}});
  train_on(config, make_envs(config), 3, at("a"));
  train_on(other, make_envs(other), 3, at("b"));
  const RunDiff diff = diff_runs(at("a"), at("b")).take();
  ASSERT_FALSE(diff.equal());
  EXPECT_EQ(diff.parting->field, "params");
  EXPECT_EQ(diff.parting->iteration, 1);
  ASSERT_EQ(diff.settings.size(), 1u);
  EXPECT_EQ(diff.settings[0].name, "ent_coef");
  EXPECT_EQ(diff.settings[0].first, "0.01");
  EXPECT_EQ(diff.settings[0].second, "0.02");
}

TEST_F(Hashes, RunsOfOtherSeedsPartAtOnceAndEverywhere) {
  const Config config = hashed_config();
  const Config other = hashed_config({{"seed", "2"}});
  train_on(config, make_envs(config), 2, at("a"));
  train_on(other, make_envs(other), 2, at("b"));
  const RunDiff diff = diff_runs(at("a"), at("b")).take();
  ASSERT_FALSE(diff.equal());
  EXPECT_EQ(diff.parting->field, "observations");
  EXPECT_EQ(diff.parting->step, 0);
  EXPECT_EQ(diff.parting->environments.size(), 37u);
}

TEST_F(Hashes, OneSourceInOtherWordsIsNoDifference) {
  const Config config = hashed_config();
  const auto train = [&](const std::string& name, const std::string& source) {
    ASSERT_TRUE(start_run(config, at(name), 1, {}).ok());
    Manifest manifest = read_manifest(at(name) + "/manifest.json").take();
    manifest.upstream = source;
    ASSERT_TRUE(write_file_atomically(at(name) + "/manifest.json", manifest_json(manifest)).ok());
  };
  train("a", "mk(o=<Obj object at 0x7f01>)");
  train("b", "mk(o=<Obj object at 0x7f02>)");
  train("older", "");
  train("other", "mk(o=1)");
  EXPECT_TRUE(diff_runs(at("a"), at("b")).value().settings.empty());
  EXPECT_TRUE(diff_runs(at("a"), at("older")).value().settings.empty());
  const RunDiff diff = diff_runs(at("a"), at("other")).take();
  ASSERT_EQ(diff.settings.size(), 1u);
  EXPECT_EQ(diff.settings[0].name, "upstream");
}

TEST_F(Hashes, AreEqualAsFarAsBothGo) {
  const Config config = hashed_config();
  train_on(config, make_envs(config), 5, at("long"));
  train_on(config, make_envs(config), 2, at("short"));
  const RunDiff diff = diff_runs(at("long"), at("short")).take();
  EXPECT_TRUE(diff.equal());
  EXPECT_EQ(diff.compared, 2);
  EXPECT_EQ(diff.iterations_first, 5);
  EXPECT_EQ(diff.iterations_second, 2);
}

class HashFiles : public Hashes {
 protected:
  void SetUp() override {
    train_on(hashed_config(), make_envs(hashed_config()), 3, at("run"));
    bytes_ = read_file(path()).take();
  }
  std::string path() const { return at("run") + "/hashes.bin"; }
  void write(const std::string& bytes) { ASSERT_TRUE(write_file_atomically(path(), bytes).ok()); }
  void expect_error(ErrorKind kind, const std::string& words) {
    const Result<RunDiff> diff = diff_runs(at("run"), at("run"));
    ASSERT_FALSE(diff.ok());
    EXPECT_EQ(diff.status().kind(), kind) << diff.status().message();
    EXPECT_NE(diff.status().message().find(words), std::string::npos) << diff.status().message();
  }
  static constexpr std::int64_t kHead = 64;
  std::int64_t record() const { return HashShape{37, 13, 4, 1}.record_bytes(); }
  std::string bytes_;
};

TEST_F(HashFiles, HaveTheSizeThatThePageSays) {
  EXPECT_EQ(record(), 8 * (7 * (37 + 13) + 3));
  EXPECT_EQ(static_cast<std::int64_t>(bytes_.size()), kHead + 3 * record());
}

TEST_F(HashFiles, AreReadUpToAnIncompleteLastRecord) {
  write(bytes_.substr(0, bytes_.size() - 5));
  HashReader reader = HashReader::open(path()).take();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(reader.next().value());
  EXPECT_FALSE(reader.cut());
  EXPECT_FALSE(reader.next().value());
  EXPECT_TRUE(reader.cut());
  EXPECT_EQ(reader.iteration(), 2);
}

TEST_F(HashFiles, AreCutBackToTheIterationThatARunGoesOnFrom) {
  write(bytes_.substr(0, bytes_.size() - 5));
  { ASSERT_TRUE(HashLog::open(path(), {37, 13, 4, 1}, 1).ok()); }
  EXPECT_EQ(read_file(path()).take(), bytes_.substr(0, static_cast<std::size_t>(kHead + record())));
  const Result<HashLog> too_short = HashLog::open(path(), {37, 13, 4, 1}, 2);
  EXPECT_EQ(too_short.status().kind(), ErrorKind::kCorrupt);
}

TEST_F(HashFiles, AreRefusedIfDamaged) {
  for (const std::size_t place : {kHead + 3, kHead + record() + 100, kHead + 3 * record() - 1}) {
    std::string altered = bytes_;
    altered[place] = static_cast<char>(altered[place] ^ 1);
    write(altered);
    expect_error(ErrorKind::kCorrupt, "was altered");
  }
  const auto one = static_cast<std::size_t>(record());
  write(bytes_.substr(0, kHead) + bytes_.substr(kHead + one));  // the first record is gone
  expect_error(ErrorKind::kCorrupt, "iteration 1");
  write("");
  expect_error(ErrorKind::kCorrupt, "fewer than its head");
  write(std::string(200, 'x'));
  expect_error(ErrorKind::kCorrupt, "file of hashes");
  std::string newer = bytes_;
  newer[8] = 3;
  write(newer);
  expect_error(ErrorKind::kCorrupt, "version 3");
  std::string wider = bytes_;
  wider[24] = 38;
  write(wider);
  expect_error(ErrorKind::kCorrupt, "head was altered");
}

TEST_F(HashFiles, AreRequestedIfMissing) {
  fs::remove(path());
  expect_error(ErrorKind::kNotFound, "--hashes");
  EXPECT_EQ(diff_runs(at("run"), at("none")).status().kind(), ErrorKind::kNotFound);
}

TEST_F(HashFiles, AreNotComparedWithOtherShapes) {
  const Config wide = hashed_config({{"num_envs", "38"}});
  train_on(wide, make_envs(wide), 1, at("wide"));
  const Result<RunDiff> diff = diff_runs(at("run"), at("wide"));
  ASSERT_FALSE(diff.ok());
  EXPECT_EQ(diff.status().kind(), ErrorKind::kMismatch);
  EXPECT_NE(diff.status().message().find("37 environments x 13 steps"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
