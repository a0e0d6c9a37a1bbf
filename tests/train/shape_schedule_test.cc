// Runs whose blocks change their shape: bits contract, environments at rest, and records.
// sanitizers: address, threads
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/instruments/registry.h"
#include "broadloom/record/files.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/settings.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "research/audit/run_audit.h"
#include "tests/env/simulators.h"
#include "tests/train/folder.h"
#include "tests/train/scene.h"

namespace broadloom {
namespace {

Config scheduled_config(const std::string& schedule, const Overrides& more = {}) {
  Overrides all{{"env_id", "CartPole-v1"}, {"total_timesteps", "3000"}, {"hidden_sizes", "16,8"},
                {"num_minibatches", "3"},  {"update_epochs", "2"},      {"norm_obs", "true"},
                {"norm_reward", "true"},   {"max_episode_steps", "40"}};
  if (!schedule.empty()) all.emplace_back("shape_schedule", schedule);
  return resolved(add_overrides(all, more));
}

// With all instruments and hashes.
Overrides watched() {
  return {{"instruments", "gradient,plasticity,policy,coverage,audit"},
          {"instrument_every", "1"},
          {"hashes", "true"},
          {"strata.all.force", "8..12"}};
}

// Grows, shrinks below the first shape, and grows again; one phase has its own minibatch size.
constexpr char kChanging[] = "6x16 @ 0, 37x5/50 @ 0.2, 3x24 @ 0.5, 20x16 @ 0.7";

template <class Numbers>
void append(std::string& out, const Numbers& numbers) {
  out.append(reinterpret_cast<const char*>(numbers.data()),
             numbers.size() * sizeof(*numbers.data()));
}

// State of the run and its instruments, without the clock's tensor for schedules.
std::string learnt_bytes_of(Trainer& trainer) {
  std::string bytes;
  for (std::vector<TensorRef> tensors : {trainer.state(), trainer.instrument_state()}) {
    for (const TensorRef& tensor : tensors) {
      if (tensor.name == "trainer.env_step") continue;
      bytes += tensor.name;
      bytes.append(static_cast<const char*>(tensor.data), tensor.bytes());
    }
  }
  return bytes;
}

// The last iteration's instruments and hashes as text.
std::string said_by_all(const Trainer& trainer) {
  std::string out;
  trainer.instruments().visit_numbers([&](const NumberInfo& info, double value) {
    out += info.name;
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  });
  if (trainer.hashes() == nullptr) return out;
  append(out, trainer.hashes()->rows);
  append(out, trainer.hashes()->columns);
  return out;
}

void copy_state(const std::vector<TensorRef>& sources, const std::vector<TensorRef>& targets) {
  for (const TensorRef& target : targets) {
    for (const TensorRef& source : sources) {
      if (source.name != target.name) continue;
      ASSERT_EQ(source.bytes(), target.bytes()) << source.name;
      std::memcpy(target.data, source.data, source.bytes());
    }
  }
}

std::unique_ptr<Trainer> gone_on_with(const Config& config, Trainer& before, int threads) {
  std::unique_ptr<Trainer> after = trainer_of(config, threads);
  copy_state(before.state(), after->state());
  copy_state(before.instrument_state(), after->instrument_state());
  EXPECT_TRUE(after->state_restored().ok());
  return after;
}

TEST(ShapeScheduleRun, OneThatChangesNothingIsThePlainRun) {
  const std::unique_ptr<Trainer> plain = trainer_of(scheduled_config("", [] {
    Overrides more = watched();
    more.insert(more.end(), {{"num_envs", "9"}, {"num_steps", "16"}});
    return more;
  }()));
  const std::unique_ptr<Trainer> scheduled =
      trainer_of(scheduled_config("9x16 @ 0, 9x16 @ 0.2, 9x16 @ 0.5", watched()));
  while (!plain->finished()) {
    run(*plain, 1);
    run(*scheduled, 1);
    ASSERT_EQ(learnt_bytes_of(*scheduled), learnt_bytes_of(*plain)) << plain->clock().iteration;
    ASSERT_EQ(said_by_all(*scheduled), said_by_all(*plain)) << plain->clock().iteration;
    EXPECT_EQ(scheduled->clock().env_step, plain->clock().env_step);
  }
  EXPECT_TRUE(scheduled->finished());
  EXPECT_FALSE(plain->report().shape.has_value());
  EXPECT_EQ(plain->state().size() + 1, scheduled->state().size());
}

// If only T changes, the environments do not change. A plain run of the second shape that starts
// from the state at the change must then give the same result.
TEST(ShapeScheduleRun, APhaseIsWhatARunOfItsShapeDoes) {
  const Config config = scheduled_config("8x20 @ 0, 8x11/30 @ 0.3", [] {
    Overrides more = watched();
    more.emplace_back("lr_schedule", "constant");
    return more;
  }());
  Config second = config.of_phase(1);
  const std::unique_ptr<Trainer> whole = trainer_of(config);
  while (config.shape_schedule.phase_at(whole->clock().global_step, 3000) == 0) run(*whole, 1);
  const std::unique_ptr<Trainer> plain = gone_on_with(second, *whole, 2);
  for (int i = 0; i < 4; ++i) {
    run(*whole, 1);
    run(*plain, 1);
    EXPECT_EQ(whole->block().T, 11);
    ASSERT_EQ(learnt_bytes_of(*plain), learnt_bytes_of(*whole)) << i;
    ASSERT_EQ(said_by_all(*plain), said_by_all(*whole)) << i;
  }
}

TEST(ShapeScheduleRun, HasTheSameBitsForAnyNumberOfThreads) {
  for (const Overrides& more :
       {watched(), Overrides{{"env_id", "Pendulum-v1"}, {"stagger_starts", "true"}}}) {
    const Config config = scheduled_config(kChanging, more);
    std::string state, said;
    for (const int threads : {1, 2, 5}) {
      const std::unique_ptr<Trainer> trainer = trainer_of(config, threads);
      std::string words;
      while (!trainer->finished()) {
        run(*trainer, 1);
        words += said_by_all(*trainer);
      }
      if (threads == 1) {
        state = learnt_bytes_of(*trainer);
        said = words;
      }
      EXPECT_EQ(learnt_bytes_of(*trainer), state) << threads << " threads";
      EXPECT_EQ(words, said) << threads << " threads";
    }
  }
}

TEST(ShapeScheduleRun, GoesOnAfterARestoreAtAnyIteration) {
  const Config config = scheduled_config(kChanging, watched());
  const std::unique_ptr<Trainer> whole = trainer_of(config);
  std::vector<std::string> states, said;
  while (!whole->finished()) {
    run(*whole, 1);
    states.push_back(learnt_bytes_of(*whole));
    said.push_back(said_by_all(*whole));
  }
  const int iterations = static_cast<int>(states.size());
  EXPECT_EQ(iterations, config.num_iterations());
  const std::unique_ptr<Trainer> before = trainer_of(config);
  for (int cut = 0; cut < iterations; ++cut) {
    const std::unique_ptr<Trainer> after = gone_on_with(config, *before, 2);
    EXPECT_EQ(after->clock().env_step, before->clock().env_step);
    for (int i = cut; i < std::min(cut + 3, iterations); ++i) {
      run(*after, 1);
      ASSERT_EQ(learnt_bytes_of(*after), states[static_cast<std::size_t>(i)]) << cut << " " << i;
      ASSERT_EQ(said_by_all(*after), said[static_cast<std::size_t>(i)]) << cut << " " << i;
    }
    run(*before, 1);
  }
}

// Rows n >= N of every array that has one for each environment.
std::string resting_rows(Trainer& trainer, std::int64_t envs, std::int64_t first) {
  std::string bytes;
  for (const TensorRef& tensor : trainer.state()) {
    if (tensor.shape.empty() || tensor.shape[0] != envs) continue;
    const std::size_t row = tensor.bytes() / static_cast<std::size_t>(envs);
    bytes += tensor.name;
    bytes.append(static_cast<const char*>(tensor.data) + row * static_cast<std::size_t>(first),
                 row * static_cast<std::size_t>(envs - first));
  }
  return bytes;
}

TEST(ShapeScheduleRun, EnvironmentsBeyondTheBlockRestAsTheyAre) {
  const std::unique_ptr<Trainer> trainer =
      trainer_of(scheduled_config("37x8 @ 0, 6x16 @ 0.3, 37x8 @ 0.7"));
  std::string before;
  int rested = 0, changed = 0;
  while (!trainer->finished()) {
    before = resting_rows(*trainer, 37, 6);
    const std::string stepped = resting_rows(*trainer, 37, 0);
    run(*trainer, 1);
    const bool rest = trainer->block().N == 6;
    EXPECT_EQ(resting_rows(*trainer, 37, 6) == before, rest) << trainer->clock().iteration;
    EXPECT_NE(resting_rows(*trainer, 37, 0), stepped);
    rested += rest ? 1 : 0;
    changed += rest ? 0 : 1;
    EXPECT_EQ(trainer->report().shape->num_envs, trainer->block().N);
    EXPECT_EQ(trainer->report().shape->num_steps, trainer->block().T);
  }
  EXPECT_GE(rested, 5);
  EXPECT_GE(changed, 5);
  for (const char* name : {"reward_normalizer.returns", "episodes.running_return"}) {
    bool is_there = false;
    for (const TensorRef& tensor : trainer->state()) is_there |= tensor.name == name;
    EXPECT_TRUE(is_there) << name;
  }
}

// The clock counts the real steps with any shapes.
TEST(ShapeScheduleRun, ItsClockIsThatOfTheConfig) {
  const Config config = scheduled_config(kChanging);
  const std::unique_ptr<Trainer> trainer = trainer_of(config);
  std::int64_t step = 0, env_step = 0;
  for (std::int64_t iteration = 1; !trainer->finished(); ++iteration) {
    EXPECT_EQ(config.steps_before(iteration), step);
    run(*trainer, 1);
    step += trainer->block().N * trainer->block().T;
    env_step += trainer->block().T;
    EXPECT_EQ(trainer->clock().global_step, step);
    EXPECT_EQ(trainer->clock().env_step, env_step);
  }
  EXPECT_EQ(step, config.trained_steps());
  const Config last = config.at_step(step);
  EXPECT_GT(step + last.batch_size(), config.total_timesteps);
}

// Environments that join together are spread over an episode, so all stepped ones always are.
TEST(ShapeScheduleRun, StaggersEachLotByItself) {
  const Overrides more{{"env_id", "Pendulum-v1"}, {"stagger_starts", "true"}};
  const std::unique_ptr<Trainer> trainer =
      trainer_of(scheduled_config("2x16 @ 0, 6x16 @ 0.3, 4x16 @ 0.5", more));
  std::vector<std::int64_t> ages(6);
  for (const TensorRef& tensor : trainer->state()) {
    if (tensor.name == "envs.episode_step") std::memcpy(ages.data(), tensor.data, tensor.bytes());
  }
  EXPECT_EQ(ages, (std::vector<std::int64_t>{0, 20, 0, 20, 0, 20}));
}

// Whole-batch simulators accept changes of T and refuse changes of N.
TEST(ShapeScheduleRun, AWholeBatchChangesItsStepsAlone) {
  const auto on_whole = [](const Config& config) {
    std::unique_ptr<VecEnv> inner =
        make_vec_env(config.env_id, config.env_options, vec_env_options(config)).take();
    return Trainer::create(config, 2,
                           std::make_unique<WholeBatch>(std::move(inner), config.env_id));
  };
  const Config steps = scheduled_config("9x16 @ 0, 9x30/50 @ 0.4");
  const std::unique_ptr<Trainer> plain = trainer_of(steps);
  Result<std::unique_ptr<Trainer>> whole = on_whole(steps);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  while (!plain->finished()) {
    run(*plain, 1);
    run(*whole.value(), 1);
    ASSERT_EQ(learnt_bytes_of(*whole.value()), learnt_bytes_of(*plain)) << plain->clock().iteration;
  }
  const Status refused = on_whole(scheduled_config("9x16 @ 0, 4x16 @ 0.4")).status();
  EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(refused.message().find("got 4 and 9 environments, but the simulator of"),
            std::string::npos)
      << refused.message();
}

TEST(ShapeScheduleRun, PlansForTheLargestOfEach) {
  const Overrides more = watched();
  const auto plan = [&](const std::string& schedule) {
    return plan_memory(scheduled_config(schedule, more), 2).take();
  };
  const MemoryPlan wide = plan("64x8 @ 0"), tall = plan("4x200 @ 0");
  const MemoryPlan both = plan("64x8 @ 0, 4x200 @ 0.5");
  EXPECT_EQ(both.environments, wide.environments);
  EXPECT_EQ(both.permutation, tall.permutation);
  EXPECT_GE(both.block, std::max(wide.block, tall.block));
  EXPECT_LT(both.block, wide.block + tall.block);
  EXPECT_GE(both.instruments, std::max(wide.instruments, tall.instruments));
  EXPECT_EQ(plan("64x8 @ 0, 64x8 @ 0.5").total(), wide.total());
}

class ShapeScheduleFolder : public InFolder {
 protected:
  std::string text(const std::string& name) const { return read_file(at(name)).take(); }

  // Numbers of metrics.jsonl without times.
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    std::vector<nlohmann::json> lines;
    std::istringstream stream(text(run + "/metrics.jsonl"));
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("wall_time");
      lines.back().erase("steps_per_second");
    }
    return lines;
  }
};

TEST_F(ShapeScheduleFolder, KilledAgainAndAgainItEndsTheSame) {
  Overrides more = watched();
  more.insert(more.end(), {{"checkpoint_interval", "3"}, {"eval_interval", "4"}});
  const Config config = scheduled_config(kChanging, more);
  ASSERT_TRUE(start_run(config, at("whole"), 1, {}).ok());
  RunHooks hooks;
  int left = 0;
  hooks.should_stop = [&] { return --left <= 0; };
  left = 4;
  ASSERT_TRUE(start_run(config, at("cut"), 2, hooks).ok());
  for (int pieces = 0;; ++pieces) {
    ASSERT_LT(pieces, 20);
    left = 2;
    const Result<RunSummary> piece = resume_run(at("cut"), 1 + pieces % 3, hooks);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
    if (piece.value().finished) break;
  }
  EXPECT_EQ(text("cut/hashes.bin"), text("whole/hashes.bin"));
  EXPECT_EQ(metrics("cut"), metrics("whole"));
  EXPECT_EQ(text("cut/eval.jsonl"), text("whole/eval.jsonl"));
  const Result<RunDiff> diff = diff_runs(at("cut"), at("whole"));
  ASSERT_TRUE(diff.ok()) << diff.status().message();
  EXPECT_FALSE(diff.value().parting.has_value());
  EXPECT_EQ(diff.value().compared, config.num_iterations());
  const auto result = [&](const std::string& run) {
    return nlohmann::json::parse(text(run + "/ledger_line.json"))["result"];
  };
  EXPECT_EQ(result("cut"), result("whole"));
}

TEST_F(ShapeScheduleFolder, ItsShapeStandsInMetricsContractAndLedger) {
  const Config config = scheduled_config("6x16 @ 0, 12x4/20 @ 0.5");
  std::string contract;
  RunHooks hooks;
  hooks.on_contract = [&](const RolloutContract& c) { contract = contract_text(c); };
  ASSERT_TRUE(start_run(config, at("run"), 1, hooks).ok());
  EXPECT_NE(contract.find("From step 0: 16 updates with T = 16, N = 6, and 3 minibatches of up to "
                          "32 samples\n"
                          "From step 1,536: 30 updates with T = 4, N = 12, and 3 minibatches of up "
                          "to 16 samples\n"),
            std::string::npos)
      << contract;
  const std::vector<nlohmann::json> lines = metrics("run");
  ASSERT_EQ(lines.size(), 46u);
  EXPECT_EQ(lines[15]["num_envs"], 6);
  EXPECT_EQ(lines[15]["num_steps"], 16);
  EXPECT_EQ(lines[16]["num_envs"], 12);
  EXPECT_EQ(lines[16]["num_steps"], 4);
  const auto line = nlohmann::json::parse(text("run/ledger_line.json"));
  EXPECT_EQ(line["config"]["shape_schedule"], "6x16 @ 0, 12x4/20 @ 0.5");
  EXPECT_EQ(line["contract"]["shapes"].size(), 2u);
  EXPECT_EQ(line["contract"]["shapes"][1]["first_step"], 1536);
  EXPECT_EQ(line["contract"]["iterations"], 46);
  EXPECT_EQ(line["contract"]["gradient_steps"], 46 * 3 * 2);
  EXPECT_EQ(line["result"]["gradient_steps"], 46 * 3 * 2);
  EXPECT_EQ(line["seeds"]["training"]["lanes"], 12);
}

TEST_F(ShapeScheduleFolder, ItsRecordIsRunAgain) {
  const Config config = scheduled_config(kChanging, watched());
  ASSERT_TRUE(start_run(config, at("run"), 2, {}).ok());
  const std::string line = read_ledger_line(at("run") + "/ledger_line.json", 1).take();
  const Result<RerunPlan> plan = plan_rerun(line);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Result<RerunReport> report = rerun(line, plan.value(), at("again"), 1, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().agrees());
}

TEST_F(ShapeScheduleFolder, ItsPolicyIsLoadedAndItsRunAudited) {
  const Config config = scheduled_config(kChanging, watched());
  ASSERT_TRUE(start_run(config, at("run"), 2, {}).ok());
  const Result<FoundCheckpoint> found = find_policy(at("run"));
  ASSERT_TRUE(found.ok());
  const Result<std::unique_ptr<LoadedPolicy>> policy = LoadedPolicy::load(found.value());
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  EXPECT_EQ(policy.value()->view().origin.global_step, config.trained_steps());
  const Result<AuditReport> report = audit_run(at("run"), {.iterations = 3, .threads = 2});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().iterations, 3);
  EXPECT_EQ(report.value().num_envs, 20);
  EXPECT_EQ(report.value().logged, config.num_iterations());
  bool looked = false;
  for (const AuditFinding& finding : report.value().findings) {
    if (std::string(finding.check) != "learning_rate") continue;
    looked = true;
    EXPECT_TRUE(finding.measured);
    EXPECT_EQ(finding.value, 0.0);
  }
  EXPECT_TRUE(looked);
}

TEST_F(ShapeScheduleFolder, CannotBeMadeLonger) {
  const Config config = scheduled_config("6x16 @ 0, 12x4 @ 0.5", {{"lr_schedule", "constant"}});
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  const Result<RunSummary> longer = resume_run(at("run"), 1, {}, 9000);
  EXPECT_EQ(longer.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(longer.status().message().find("(shape_schedule)"), std::string::npos);
}

// Hashes of a run with a schedule have another file version and are compared record by record.
TEST_F(ShapeScheduleFolder, DiffComparesRecordsOfOneShape) {
  const Overrides hashed{{"hashes", "true"}};
  Overrides plain = hashed;
  plain.insert(plain.end(), {{"num_envs", "6"}, {"num_steps", "16"}});
  ASSERT_TRUE(start_run(scheduled_config("", plain), at("plain"), 1, {}).ok());
  ASSERT_TRUE(start_run(scheduled_config("6x16 @ 0, 6x16 @ 0.5", hashed), at("same"), 1, {}).ok());
  ASSERT_TRUE(start_run(scheduled_config("6x16 @ 0, 12x8 @ 0.5", hashed), at("other"), 1, {}).ok());
  const Result<RunDiff> same = diff_runs(at("plain"), at("same"));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_FALSE(same.value().parting.has_value());
  EXPECT_EQ(same.value().compared, 31);
  const Result<RunDiff> other = diff_runs(at("plain"), at("other"));
  EXPECT_EQ(other.status().kind(), ErrorKind::kMismatch);
  EXPECT_NE(other.status().message().find("different shapes from iteration 17 on, 6 environments x "
                                          "16 steps and 12 x 8"),
            std::string::npos)
      << other.status().message();
}

TEST_F(ShapeScheduleFolder, DamagedHashesAreSaidToBe) {
  const Config config = scheduled_config("6x16 @ 0, 12x4 @ 0.5", {{"hashes", "true"}});
  ASSERT_TRUE(start_run(config, at("run"), 1, {}).ok());
  const std::string path = at("run") + "/hashes.bin", good = text("run/hashes.bin");
  const auto read_all = [&](std::string bytes) -> Status {
    EXPECT_TRUE(write_file_atomically(path, bytes).ok());
    Result<HashReader> reader = HashReader::open(path);
    if (!reader.ok()) return reader.status();
    while (true) {
      const Result<bool> more = reader.value().next();
      if (!more.ok()) return more.status();
      if (!more.value()) return {};
    }
  };
  EXPECT_TRUE(read_all(good).ok());
  EXPECT_TRUE(read_all(good.substr(0, good.size() - 5)).ok());   // cut short: ends before
  for (const std::size_t place : {64 + 8, 64 + 16, 64 + 100}) {  // N, T and a hash
    for (const char flip : {char(1), char(0x80)}) {
      std::string bytes = good;
      bytes[place] = static_cast<char>(bytes[place] ^ flip);
      EXPECT_EQ(read_all(bytes).kind(), ErrorKind::kCorrupt) << place;
    }
  }
  EXPECT_FALSE(HashLog::open(path, {12, 16, 4, 1, true}, 1000).ok());
}

}  // namespace
}  // namespace broadloom
