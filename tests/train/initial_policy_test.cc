// Runs that begin with another run's policy: copied state, new state and records.
#include "broadloom/train/initial_policy.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class BegunRuns : public InFolder {
 protected:
  static Config config(const Overrides& overrides) {
    Overrides all{{"env_id", "CartPole-v1"},   {"num_envs", "8"},       {"num_steps", "16"},
                  {"total_timesteps", "1024"}, {"hidden_sizes", "8,8"}, {"norm_obs", "true"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const Result<Config> config = resolve_config(all);
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.value();
  }

  Json trained(const std::string& name, const Overrides& overrides, const std::string& init = "",
               int threads = 2, const RunHooks& hooks = {}) {
    std::optional<InitialPolicy> policy;
    if (!init.empty()) policy = read_initial_policy(init).take();
    const Result<RunSummary> run =
        start_run(config(overrides), at(name), threads, hooks, {}, policy);
    EXPECT_TRUE(run.ok()) << run.status().message();
    return Json::parse(read_file(at(name) + "/ledger_line.json").take(), nullptr, false);
  }
};

std::vector<float> params_of(const Trainer& trainer) {
  return {trainer.params(), trainer.params() + trainer.network().parameter_count()};
}

TEST_F(BegunRuns, TakeParametersAndNormaliserAndNothingElse) {
  trained("a", {});
  const InitialPolicy policy = read_initial_policy(at("a")).take();
  const std::unique_ptr<Trainer> whole = Trainer::create(policy.checkpoint.config, 1).take();
  ASSERT_TRUE(restore(policy.checkpoint, *whole).ok());
  const std::unique_ptr<Trainer> fresh = Trainer::create(config({{"seed", "2"}}), 1).take();
  const std::unique_ptr<Trainer> begun = Trainer::create(config({{"seed", "2"}}), 1).take();
  ASSERT_NE(params_of(*begun), params_of(*whole));
  ASSERT_TRUE(begin_with(policy, *begun).ok());
  EXPECT_EQ(params_of(*begun), params_of(*whole));
  const std::vector<TensorRef> theirs = whole->state(), ours = begun->state(),
                               new_ones = fresh->state();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string& name = ours[i].name;
    const bool taken = name == "learner.params" || name.rfind("obs_normalizer.", 0) == 0;
    const TensorRef& expected = taken ? theirs[i] : new_ones[i];
    EXPECT_EQ(std::memcmp(ours[i].data, expected.data, ours[i].bytes()), 0) << name;
  }
  // It also normalises like the other one: values derived from statistics are updated.
  const std::vector<float> raw{0.1F, -0.2F, 0.03F, 0.4F};
  std::vector<float> seen(4), expected(4);
  begun->obs_normalizer()->normalize(raw.data(), 1, seen.data());
  whole->obs_normalizer()->normalize(raw.data(), 1, expected.data());
  EXPECT_EQ(seen, expected);
}

TEST_F(BegunRuns, HaveTheSameBitsForAnyNumberOfThreadsAndAfterAResume) {
  trained("a", {});
  const Json fresh = trained("fresh", {{"seed", "2"}});
  const Json one = trained("one", {{"seed", "2"}}, at("a"), 1);
  const Json three = trained("three", {{"seed", "2"}}, at("a"), 3);
  EXPECT_EQ(one["result"]["state_hash"], three["result"]["state_hash"]);
  EXPECT_NE(one["result"]["parameters_hash"], fresh["result"]["parameters_hash"]);
  RunHooks hooks;
  hooks.should_stop = [] { return true; };
  trained("stopped", {{"seed", "2"}}, at("a"), 1, hooks);
  fs::remove_all(at("a"));  // needed no more
  ASSERT_TRUE(resume_run(at("stopped"), 2, {}).ok());
  const Json resumed = Json::parse(read_file(at("stopped") + "/ledger_line.json").take());
  EXPECT_EQ(one["result"], resumed["result"]);
  EXPECT_EQ(one["init"], resumed["init"]);
}

TEST_F(BegunRuns, SayWhoseThePolicyWas) {
  const Json first = trained("a", {});
  const Json second = trained("b", {{"seed", "2"}}, at("a"));
  const Json& init = second["init"];
  EXPECT_EQ(init["parameters_hash"], first["result"]["parameters_hash"]);
  EXPECT_EQ(init["global_step"], 1024);
  EXPECT_EQ(init["file"], at("a") + "/checkpoints/iteration_0000000008.safetensors");
  EXPECT_EQ(init["obs_normalizer_hash"].get<std::string>().size(), 32U);
  EXPECT_EQ(Json::parse(read_file(at("b") + "/manifest.json").take())["init"], init);
  EXPECT_FALSE(first.contains("init"));
  EXPECT_FALSE(Json::parse(read_file(at("a") + "/manifest.json").take()).contains("init"));
}

TEST_F(BegunRuns, WithoutANormaliserOnBothSidesTakeNoneAndSaySo) {
  trained("a", {});
  std::vector<std::string> notes;
  RunHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  const Json plain = trained("b", {{"norm_obs", "false"}}, at("a"), 1, hooks);
  EXPECT_TRUE(plain["init"]["obs_normalizer_hash"].is_null());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("saw normalised observations, and this run's are plain"),
            std::string::npos);
  const Json normalised = trained("c", {}, at("b"), 1, hooks);
  EXPECT_TRUE(normalised["init"]["obs_normalizer_hash"].is_null());
  EXPECT_EQ(notes.size(), 2U);
  trained("d", {}, at("a"), 1, hooks);
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(BegunRuns, TakeTheStatisticsOfValuesWithTheCritic) {
  trained("a", {{"norm_value", "popart"}});
  const InitialPolicy policy = read_initial_policy(at("a")).take();
  const std::unique_ptr<Trainer> whole = Trainer::create(policy.checkpoint.config, 1).take();
  ASSERT_TRUE(restore(policy.checkpoint, *whole).ok());
  const Config other = config({{"seed", "2"}, {"norm_value", "running"}});
  const std::unique_ptr<Trainer> begun = Trainer::create(other, 1).take();
  ASSERT_TRUE(begin_with(policy, *begun).ok());
  EXPECT_EQ(begun->value_normalizer()->unit().mean, whole->value_normalizer()->unit().mean);
  EXPECT_EQ(begun->value_normalizer()->statistics().count(), 8 * 16 * 2 * 8 + 1.0);
  EXPECT_EQ(notes_on_policy(policy, other).size(), 0u);
  const std::vector<std::string> notes = notes_on_policy(policy, config({}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("(norm_value), and this run's are rewards as they are"),
            std::string::npos)
      << notes[0];
}

TEST_F(BegunRuns, SayWhatIsOtherInTheTaskAndInTheUnitOfRewards) {
  trained("a", {{"env.force", "8"}});
  const InitialPolicy policy = read_initial_policy(at("a")).take();
  const auto notes = [&](const Overrides& overrides) {
    std::string out;
    for (const std::string& note : notes_on_policy(policy, config(overrides))) out += note + "\n";
    return out;
  };
  EXPECT_EQ(notes({{"env.force", "8"}, {"learning_rate", "1e-4"}}), "");
  EXPECT_EQ(notes({{"max_episode_steps", "20"}, {"strata.a.gravity", "1..2"}}),
            "the policy that the run begins with was trained on another task: env.force was 8, and "
            "is not set here; max_episode_steps was 0, and is 20 here; strata.a.gravity was not "
            "set, and is 1..2 here\n");
  const std::string scaled = notes({{"env.force", "8"}, {"norm_reward", "true"}});
  for (const char* fact : {"critic", "rewards as they are", "rewards scaled by", "norm_reward"}) {
    EXPECT_NE(scaled.find(fact), std::string::npos) << scaled;
  }
  EXPECT_NE(notes({{"env.force", "8"}, {"reward_scale", "0.1"}}).find("rewards times 0.1"),
            std::string::npos);
  std::vector<std::string> shown_notes;
  RunHooks hooks;
  hooks.on_note = [&](const std::string& note) { shown_notes.push_back(note); };
  trained("b", {{"norm_reward", "true"}, {"env.force", "8"}}, at("a"), 1, hooks);
  trained("c", {{"norm_reward", "true"}, {"env.force", "8"}}, at("b"), 1, hooks);
  ASSERT_EQ(shown_notes.size(), 2U);
  EXPECT_NE(shown_notes[1].find("valued rewards scaled by the statistics of its run (norm_reward)"),
            std::string::npos)
      << shown_notes[1];
}

// Another shape of the block goes on with Adam where it was.
TEST_F(BegunRuns, TakeTheOptimiserToAnotherShape) {
  const Overrides scaled{
      {"norm_reward", "true"}, {"lr_schedule", "adaptive"}, {"learning_rate", "1e-3"}};
  Overrides other = scaled;
  for (const auto& [key, text] : Overrides{{"seed", "2"}, {"num_envs", "4"}, {"num_steps", "64"}}) {
    other.emplace_back(key, text);
  }
  trained("a", scaled);
  const InitialPolicy policy = read_initial_policy(at("a"), true).take();
  const std::unique_ptr<Trainer> whole = Trainer::create(policy.checkpoint.config, 1).take();
  ASSERT_TRUE(restore(policy.checkpoint, *whole).ok());
  const std::unique_ptr<Trainer> begun = Trainer::create(config(other), 1).take();
  const std::unique_ptr<Trainer> fresh = Trainer::create(config(other), 1).take();
  const PolicySource source = begin_with(policy, *begun).take();
  EXPECT_EQ(source.optimizer_hash.size(), 32U);
  std::map<std::string, TensorRef> theirs, new_ones;
  for (const TensorRef& tensor : whole->state()) theirs.emplace(tensor.name, tensor);
  for (const TensorRef& tensor : fresh->state()) new_ones.emplace(tensor.name, tensor);
  const std::set<std::string> taken{
      "learner.params",        "learner.adam_m",         "learner.adam_v",
      "learner.adam_steps",    "learner.learning_rate",  "obs_normalizer.mean",
      "obs_normalizer.var",    "obs_normalizer.count",   "reward_normalizer.mean",
      "reward_normalizer.var", "reward_normalizer.count"};
  std::size_t found = 0;
  for (const TensorRef& tensor : begun->state()) {
    const bool is_taken = taken.contains(tensor.name);
    found += is_taken ? 1 : 0;
    const TensorRef& expected = (is_taken ? theirs : new_ones).at(tensor.name);
    ASSERT_EQ(tensor.bytes(), expected.bytes()) << tensor.name;
    EXPECT_EQ(std::memcmp(tensor.data, expected.data, tensor.bytes()), 0) << tensor.name;
  }
  EXPECT_EQ(found, taken.size());
}

TEST_F(BegunRuns, WithTheOptimiserAreRunAgainAndResumedWithTheSameBits) {
  trained("a", {});
  const InitialPolicy policy = read_initial_policy(at("a"), true).take();
  const Config wide = config({{"seed", "2"}, {"num_envs", "16"}, {"num_steps", "8"}});
  const auto line = [&](const std::string& name) {
    return read_ledger_line(at(name) + "/ledger_line.json", 1).take();
  };
  std::vector<std::string> notes;
  RunHooks hooks;
  hooks.on_note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(start_run(wide, at("one"), 1, hooks, {}, policy).ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "taken with the policy: Adam's moments and count of steps; new: environments and their "
            "episodes, schedules from their start, and the count of steps of the run");
  ASSERT_TRUE(start_run(wide, at("three"), 3, {}, {}, policy).ok());
  RunHooks stops;
  stops.should_stop = [] { return true; };
  ASSERT_TRUE(start_run(wide, at("stopped"), 2, stops, {}, policy).ok());
  ASSERT_TRUE(resume_run(at("stopped"), 1, {}).ok());
  const Json one = Json::parse(line("one"));
  EXPECT_EQ(one["result"], Json::parse(line("three"))["result"]);
  EXPECT_EQ(one["result"], Json::parse(line("stopped"))["result"]);
  EXPECT_EQ(one["init"]["optimizer_hash"], policy.source.optimizer_hash);
  const Json alone =
      trained("alone", {{"seed", "2"}, {"num_envs", "16"}, {"num_steps", "8"}}, at("a"));
  EXPECT_NE(alone["result"]["parameters_hash"], one["result"]["parameters_hash"]);
  EXPECT_FALSE(alone["init"].contains("optimizer_hash"));
  const RerunPlan plan = plan_rerun(line("one")).take();
  EXPECT_TRUE(plan.init->takes_optimizer);
  EXPECT_TRUE(rerun(line("one"), plan, at("again"), 1, {}).take().agrees());
}

TEST_F(BegunRuns, TheOptimiserOfTwoNetworksIsRefused) {
  trained("rnd", {{"algorithm", "ppo_rnd"}, {"num_iterations_obs_norm_init", "1"}});
  const InitialPolicy two = read_initial_policy(at("rnd"), true).take();
  const Status status = check_policy_fits(two, two.checkpoint.config);
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("--init_optimizer: got algorithm = ppo_rnd"), std::string::npos)
      << status.message();
}

TEST_F(BegunRuns, OtherSpacesAndNetworksAreRefusedByName) {
  trained("a", {});
  const InitialPolicy policy = read_initial_policy(at("a")).take();
  const auto refused = [&](const Overrides& overrides, const std::vector<std::string>& words) {
    const Status status = start_run(config(overrides), at("b"), 1, {}, {}, policy).status();
    EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
    EXPECT_FALSE(fs::exists(at("b")));
  };
  refused({{"hidden_sizes", "8,16"}}, {"hidden_sizes: got 8,8, expected 8,16"});
  refused({{"activation", "relu"}, {"shared_encoder", "true"}},
          {"activation: got tanh, expected relu", "shared_encoder: got false, expected true"});
  refused({{"env_id", "Acrobot-v1"}}, {"observations: got Box(4), expected Box(6)",
                                       "actions: got Discrete(2), expected Discrete(3)"});
  EXPECT_EQ(read_initial_policy(at("none")).status().kind(), ErrorKind::kNotFound);
}

TEST_F(BegunRuns, OtherAlgorithmsAreRefusedWhereTheirValuesHaveOtherHeads) {
  trained("a", {});
  const InitialPolicy policy = read_initial_policy(at("a")).take();
  for (const char* algorithm : {"pqn", "ppo_rnd"}) {
    const std::string message =
        check_policy_fits(policy, config({{"algorithm", algorithm}})).message();
    EXPECT_NE(message.find("got ppo, expected " + std::string(algorithm)), std::string::npos)
        << message;
  }
  EXPECT_TRUE(check_policy_fits(policy, config({})).ok());
}

TEST_F(BegunRuns, AreRunAgainWhereThePolicyIsThere) {
  trained("a", {});
  trained("other", {{"seed", "3"}});
  trained("b", {{"seed", "2"}}, at("a"));
  const std::string line = read_ledger_line(at("b") + "/ledger_line.json", 1).take();
  const auto again = [&](const std::string& init, const std::string& out) {
    const Result<RerunPlan> plan = plan_rerun(line, init);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return rerun(line, plan.value(), at(out), 1, {}).take();
  };
  const RerunReport report = again("", "again");
  EXPECT_TRUE(report.agrees());
  const auto is_hash = [](const FieldComparison& f) { return f.name == "init.parameters_hash"; };
  EXPECT_TRUE(std::any_of(report.fields.begin(), report.fields.end(), is_hash));
  const Status other = plan_rerun(line, at("other")).status();
  EXPECT_EQ(other.kind(), ErrorKind::kMismatch);
  fs::rename(at("a"), at("moved"));
  const Status missing = plan_rerun(line).status();
  EXPECT_EQ(missing.kind(), ErrorKind::kNotFound);
  EXPECT_NE(missing.message().find("--init"), std::string::npos) << missing.message();
  EXPECT_TRUE(again(at("moved"), "again2").agrees());
  const std::string plain = read_ledger_line(at("other") + "/ledger_line.json", 1).take();
  EXPECT_EQ(plan_rerun(plain, at("moved")).status().kind(), ErrorKind::kInvalidConfig);
}

}  // namespace
}  // namespace broadloom
