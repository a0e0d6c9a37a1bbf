// Records of runs: contents of a line, altered lines, and reruns from a line.
#include "broadloom/train/rerun.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/train/trainer.h"
#include "tests/support/release_only.h"
#include "tests/train/folder.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

class Ledger : public InFolder {
 protected:
  std::string trained(const Overrides& overrides = {}, const std::string& name = "run",
                      const std::optional<Panel>& panel = {}) {
    Overrides all{{"env_id", "CartPole-v1"},   {"num_envs", "8"},      {"num_steps", "16"},
                  {"total_timesteps", "2000"}, {"eval_interval", "4"}, {"seed", "5"},
                  {"hidden_sizes", "16,8"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const Result<Config> config = resolve_config(all);
    EXPECT_TRUE(config.ok()) << config.status().message();
    const Result<RunSummary> summary = start_run(config.value(), at(name), 2, {}, panel);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    const Result<std::string> line = read_ledger_line(at(name) + "/ledger_line.json", 1);
    EXPECT_TRUE(line.ok()) << line.status().message();
    return line.value();
  }

  RerunReport run_again(const std::string& line, const std::string& name, int threads = 1) {
    const Result<RerunPlan> plan = plan_rerun(line);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    Result<RerunReport> report = rerun(line, plan.value(), at(name), threads, {});
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.take();
  }
};

// The line with changed content and a correct checksum.
Result<std::string> sealed_anew(const std::string& line, void (*change)(OrderedJson&)) {
  OrderedJson json = OrderedJson::parse(line);
  json.erase("checksum");
  change(json);
  return seal_ledger_line(json.dump());
}

const FieldComparison& field(const RerunReport& report, const std::string& name) {
  for (const FieldComparison& f : report.fields) {
    if (f.name == name) return f;
  }
  static const FieldComparison none;
  ADD_FAILURE() << "no field " << name;
  return none;
}

TEST_F(Ledger, ALineSaysWhatTheRunWas) {
  const OrderedJson line = OrderedJson::parse(trained());
  EXPECT_EQ(line["contract"]["num_envs"], 8);
  EXPECT_EQ(line["contract"]["num_steps"], 16);
  EXPECT_EQ(line["contract"]["observation_size"], 4);
  EXPECT_EQ(line["contract"]["batch_size"], 128);
  EXPECT_EQ(line["contract"]["minibatch_size"], 32);
  EXPECT_EQ(line["contract"]["iterations"], 15);
  EXPECT_EQ(line["contract"]["gradient_steps"], 15 * 4 * 4);
  EXPECT_EQ(line["result"]["gradient_steps"], 15 * 4 * 4);
  EXPECT_EQ(line["result"]["global_step"], 15 * 128);
  EXPECT_GT(line["result"]["episodes"], 20);
  EXPECT_EQ(line["seeds"]["training"]["seed"], 5);
  EXPECT_EQ(line["seeds"]["training"]["lanes"], 8);
  EXPECT_EQ(line["seeds"]["evaluation"]["lanes"], 10);
  EXPECT_EQ(line["evaluation"]["global_step"], 15 * 128);
  EXPECT_EQ(line["machine"]["isa"], active_isa());
  EXPECT_EQ(line["speed"]["threads"], 2);
  EXPECT_EQ(line["speed"]["steps"], 15 * 128);
  EXPECT_GT(line["memory"]["peak_bytes"], line["memory"]["block_bytes"]);
  EXPECT_EQ(line["config"]["hidden_sizes"], "16,8");
  const std::string checkpoint = at("run") + "/" + line["checkpoint"]["file"].get<std::string>();
  EXPECT_EQ(line["checkpoint"]["hash"], hash_text(read_file(checkpoint).value()));
}

TEST_F(Ledger, TheMachineIsTheOneThatTheSpeedIsOf) {
  const Config config = resolve_config({{"env_id", "CartPole-v1"},
                                        {"num_envs", "8"},
                                        {"num_steps", "16"},
                                        {"total_timesteps", "512"}})
                            .take();
  RunHooks stopping;
  stopping.should_stop = [] { return true; };
  ASSERT_TRUE(start_run(config, at("run"), 1, stopping).ok());
  const std::string path = at("run") + "/manifest.json";
  const Manifest here = read_manifest(path).take();
  Manifest elsewhere = here;
  elsewhere.cpu = "another";
  elsewhere.cores = here.cores + 7;
  elsewhere.memory_bytes = 12345;
  ASSERT_TRUE(write_file_atomically(path, manifest_json(elsewhere)).ok());
  const auto line = [&] {
    const Result<RunSummary> run = resume_run(at("run"), 1, {});
    EXPECT_TRUE(run.ok() && run.value().finished) << run.status().message();
    return OrderedJson::parse(read_ledger_line(at("run") + "/ledger_line.json", 1).take());
  };
  const OrderedJson ended = line();
  EXPECT_GT(ended["speed"]["steps_per_second"], 0.0);
  EXPECT_EQ(ended["machine"]["cpu"], here.cpu);
  EXPECT_EQ(ended["machine"]["cores"], here.cores);
  EXPECT_EQ(ended["machine"]["memory_bytes"], here.memory_bytes);
  EXPECT_EQ(read_manifest(path).value().cpu, "another");  // where it began
  // A process that only writes the line has no measurements.
  fs::remove(at("run") + "/ledger_line.json");
  const OrderedJson written_later = line();
  EXPECT_TRUE(written_later["speed"]["steps_per_second"].is_null());
  EXPECT_EQ(written_later["machine"]["cpu"], "another");
}

TEST_F(Ledger, TheParametersHashIsThatOfTheTrainersParameters) {
  const OrderedJson line = OrderedJson::parse(trained());
  Overrides overrides;
  for (const auto& [key, text] : line["config"].items()) {
    overrides.emplace_back(key, text.get<std::string>());
  }
  const auto trainer = Trainer::create(resolve_config(overrides).value(), 1).take();
  while (!trainer->finished()) ASSERT_TRUE(trainer->iterate().ok());
  EXPECT_EQ(line["result"]["parameters_hash"],
            hash_text({reinterpret_cast<const char*>(trainer->params()),
                       trainer->network().parameter_count() * sizeof(float)}));
}

TEST_F(Ledger, ARunFromItsLineAloneAgrees) {
  RELEASE_ONLY("a whole run: its parts have tests of their own");
  for (const Overrides& overrides :
       {Overrides{}, Overrides{{"env_id", "FrozenLake-v1"}, {"env.is_slippery", "false"}},
        Overrides{{"env_id", "Pendulum-v1"}, {"num_minibatches", "2"}, {"eval_interval", "0"}}}) {
    const std::string name = "run" + std::to_string(overrides.size());
    const std::string line = trained(overrides, name);
    fs::remove_all(at(name));  // the record alone
    const RerunReport report = run_again(line, name + "_again");
    EXPECT_TRUE(report.agrees());
    EXPECT_TRUE(field(report, "result.parameters_hash").agrees);
    EXPECT_TRUE(field(report, "program.binary_hash").agrees);
    EXPECT_GT(field(report, "speed.steps_per_second").ratio, 0.0);
    EXPECT_EQ(field(report, "config.seed").recorded, "\"5\"");
  }
}

// A resume finishes it, and no ledger accepts it.
TEST_F(Ledger, ARerunSaysWhatItIsARerunOf) {
  const std::string line = trained();
  EXPECT_EQ(read_manifest(at("run") + "/manifest.json").value().rerun_of, "");
  run_again(line, "again");
  EXPECT_EQ(read_manifest(at("again") + "/manifest.json").value().rerun_of, hash_text(line));
}

TEST_F(Ledger, AChangedSettingOrProgramIsReported) {
  const std::string line = trained();
  const std::string other = sealed_anew(line, [](OrderedJson& json) {
                              json["config"]["ent_coef"] = "0.02";
                              json["program"]["revision"] = "another";
                              json["program"]["binary_hash"] = std::string(32, '0');
                            }).take();
  const RerunReport report = run_again(other, "again");
  EXPECT_FALSE(report.agrees());
  EXPECT_FALSE(field(report, "result.parameters_hash").agrees);
  EXPECT_TRUE(field(report, "result.global_step").agrees);
  EXPECT_TRUE(field(report, "config.ent_coef").agrees);  // it is what the record asks for
  EXPECT_FALSE(field(report, "program.revision").agrees);
  EXPECT_EQ(field(report, "program.revision").rule, FieldRule::kNoted);
  EXPECT_FALSE(field(report, "program.binary_hash").agrees);
  EXPECT_TRUE(field(report, "machine.isa").agrees);
}

TEST_F(Ledger, MachineKeysAreNoDifference) {
  const std::string line = trained();
  const auto agrees = [&](void (*change)(OrderedJson&)) {
    return RerunReport{{}, compare_ledger_lines(sealed_anew(line, change).take(), line)}.agrees();
  };
  EXPECT_TRUE(agrees([](OrderedJson& json) { json["config"]["isa"] = "exact"; }));
  EXPECT_TRUE(agrees([](OrderedJson& json) { json["config"]["memory_limit"] = "100000"; }));
  EXPECT_FALSE(agrees([](OrderedJson& json) { json["config"]["gamma"] = "0.5"; }));
  EXPECT_FALSE(agrees([](OrderedJson& json) { json["config"]["precision"] = "tf32"; }));
}

// A record of a version without the key.
TEST_F(Ledger, AKeyThatCameLaterHasItsDefaultInARecordWithoutIt) {
  const std::string line = trained();
  const auto agrees_without = [&](const char* key, const std::string& other) {
    OrderedJson json = OrderedJson::parse(line);
    json["config"].erase(key);
    const std::string without = json.dump();
    const std::vector<FieldComparison> one = compare_ledger_lines(without, other);
    EXPECT_EQ(RerunReport({{}, one}).agrees(),
              RerunReport({{}, compare_ledger_lines(other, without)}).agrees());
    return RerunReport{{}, one}.agrees();
  };
  EXPECT_TRUE(agrees_without("seed_families", line));
  EXPECT_FALSE(agrees_without("gamma", line));
  const std::string another =
      sealed_anew(line, [](OrderedJson& json) { json["config"]["seed_families"] = "4"; }).take();
  EXPECT_FALSE(agrees_without("seed_families", another));
}

// Another machine explains differences only if bits are its own.
TEST_F(Ledger, PossibleReasonsAreWhatBitsDependOn) {
  const std::string line = trained();
  const auto reasons = [&](void (*change)(OrderedJson&)) {
    return RerunReport{{}, compare_ledger_lines(sealed_anew(line, change).take(), line)}
        .possible_reasons();
  };
  EXPECT_EQ(reasons([](OrderedJson& json) {
              json["program"]["revision"] = "another";
              json["machine"]["isa"] = "neon";
              json["machine"]["cpu"] = "another";
            }),
            (std::vector<std::string>{"program.revision"}));
  EXPECT_EQ(reasons([](OrderedJson& json) {
              json["machine"]["bits"] = "own";
              json["machine"]["isa"] = "sse4";
            }),
            (std::vector<std::string>{"machine.bits", "machine.isa"}));
}

// Repeats the record of one machine on others.
TEST_F(Ledger, OtherInstructionSetsGiveTheSameRun) {
  ASSERT_TRUE(set_isa("exact").ok());
  const std::string line = trained({{"isa", "exact"}});
  ASSERT_EQ(OrderedJson::parse(line)["machine"]["isa"], "exact");
  EXPECT_EQ(OrderedJson::parse(line)["machine"]["bits"], "common");
  RerunPlan plan = plan_rerun(line).take();
  for (const std::string& isa : supported_isas()) {
    if (!has_common_bits(isa)) continue;
    plan.config.isa = isa;
    EXPECT_EQ(rerun(line, plan, at("not_" + isa), 1, {}).ok(), active_isa() == isa);
    ASSERT_TRUE(set_isa(isa).ok());
    const RerunReport report = rerun(line, plan, at(isa), 1, {}).take();
    EXPECT_TRUE(report.agrees()) << isa;
    EXPECT_EQ(field(report, "machine.isa").agrees, isa == "exact");
    EXPECT_TRUE(field(report, "machine.bits").agrees);
  }
  ASSERT_TRUE(set_isa("auto").ok());
}

TEST_F(Ledger, ASetWithBitsOfItsOwnIsUsedAgain) {
  EXPECT_EQ(isa_to_go_on("auto", "exact"), "auto");
  EXPECT_EQ(isa_to_go_on("exact", "avx2"), "exact");
  EXPECT_EQ(isa_to_go_on("another", "another"), "auto");
  const std::vector<std::string> isas = supported_isas();
  if (std::find(isas.begin(), isas.end(), "sse4") == isas.end()) {
    GTEST_SKIP() << "NOT TESTED: this processor has no set with bits of its own";
  }
  ASSERT_TRUE(set_isa("sse4").ok());
  const std::string line = trained({{"isa", "sse4"}});
  EXPECT_EQ(OrderedJson::parse(line)["machine"]["bits"], "own");
  const std::string as_auto =
      sealed_anew(line, [](OrderedJson& json) { json["config"]["isa"] = "auto"; }).take();
  EXPECT_EQ(plan_rerun(as_auto).value().config.isa, "sse4");
  EXPECT_TRUE(run_again(as_auto, "again").agrees());
  ASSERT_TRUE(set_isa("auto").ok());
}

TEST_F(Ledger, ALineWithAnyByteAlteredIsRefused) {
  const std::string line = trained();
  ASSERT_TRUE(check_ledger_line(line).ok());
  for (std::size_t i = 0; i < line.size(); i += 7) {
    std::string altered = line;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_EQ(check_ledger_line(altered).kind(), ErrorKind::kCorrupt) << "byte " << i;
    EXPECT_FALSE(plan_rerun(altered).ok());
  }
  EXPECT_FALSE(check_ledger_line("").ok());
  EXPECT_FALSE(check_ledger_line("{}").ok());
  EXPECT_FALSE(check_ledger_line(line.substr(0, line.size() / 2)).ok());
  EXPECT_FALSE(check_ledger_line(line + " ").ok());
}

TEST_F(Ledger, ARecordThatDoesNotFitTheSchemaIsNeverSealed) {
  const std::string line = trained();
  const auto expect_refused = [&](void (*change)(OrderedJson&), ErrorKind kind, const char* words) {
    const Result<std::string> sealed = sealed_anew(line, change);
    ASSERT_FALSE(sealed.ok()) << words;
    EXPECT_EQ(sealed.status().kind(), kind);
    EXPECT_NE(sealed.status().message().find(words), std::string::npos)
        << sealed.status().message();
  };
  const ErrorKind mismatch = ErrorKind::kMismatch;
  expect_refused([](OrderedJson& j) { j["result"].erase("episodes"); }, mismatch,
                 "'episodes' is missing");
  expect_refused([](OrderedJson& j) { j["contract"]["num_envs"] = 0; }, mismatch,
                 "contract.num_envs");
  expect_refused([](OrderedJson& j) { j["config"]["gamma"] = 0.9; }, mismatch, "config.gamma");
  expect_refused([](OrderedJson& j) { j["extra"] = 1; }, mismatch, "extra: is not a key");
  expect_refused([](OrderedJson& j) { j["format"] = 2; }, ErrorKind::kCorrupt, "format 2");
  expect_refused([](OrderedJson& j) { j["seeds"]["evaluation"]["streams"]["reset"] = 3; }, mismatch,
                 "'reset' and the training stream 'reset' are both 3");
}

TEST_F(Ledger, MoreThreadsThanThereCanBeAreRefusedNotCutShort) {
  const Status status = sealed_anew(trained(), [](OrderedJson& json) {
                          json["speed"]["threads"] = (std::int64_t{1} << 32) + 1;
                        }).status();
  EXPECT_EQ(status.kind(), ErrorKind::kMismatch);
  EXPECT_NE(status.message().find("speed.threads: got 4294967297, expected at most 65536"),
            std::string::npos)
      << status.message();
}

TEST_F(Ledger, ARecordWithSettingsOfAnotherVersionSaysWhose) {
  const std::string other = sealed_anew(trained(), [](OrderedJson& json) {
                              json["config"]["num_dreams"] = "4";
                              json["program"]["version"] = "9.9.9";
                            }).take();
  const Result<RerunPlan> plan = plan_rerun(other);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().kind(), ErrorKind::kInvalidConfig);
  EXPECT_NE(plan.status().message().find("num_dreams"), std::string::npos);
  EXPECT_NE(plan.status().message().find("version 9.9.9"), std::string::npos);
}

TEST_F(Ledger, ALineSaysWhatEpisodesDrewFromAndHowTheyEnded) {
  const std::string text = trained({{"seed_families", "4"},
                                    {"strata_sampling", "stratified"},
                                    {"strata.long.half_length", "1..2"},
                                    {"strata.long.weight", "3"},
                                    {"strata.short.half_length", "0.2..0.4"},
                                    {"disturb.action_delay", "1"},
                                    {"memory_limit", "500"}});
  const OrderedJson line = OrderedJson::parse(text);
  const OrderedJson& contract = line["contract"];
  EXPECT_EQ(contract["seed_families"], 4);
  EXPECT_EQ(contract["environments_per_family"], 2);
  EXPECT_EQ(contract["strata"].dump(),
            R"([{"name":"long","share":0.75,"ranges":{"half_length":"1..2"}},)"
            R"({"name":"short","share":0.25,"ranges":{"half_length":"0.2..0.4"}}])");
  EXPECT_EQ(contract["strata_sampling"], "stratified");
  EXPECT_EQ(contract["disturbances"].dump(), R"({"action_delay":"1"})");
  EXPECT_EQ(line["memory"]["allowed_bytes"], 500000000);
  EXPECT_EQ(line["seeds"]["training"]["families"], 4);
  EXPECT_EQ(line["seeds"]["evaluation"]["families"], 10);
  EXPECT_TRUE(line["evaluation"]["success_rate"].is_number());
  int ended = 0;
  for (const auto& [reason, count] : line["evaluation"]["reasons"].items())
    ended += count.get<int>();
  EXPECT_EQ(ended, 10);
  const RerunReport report = run_again(text, "again");
  EXPECT_TRUE(report.agrees());
}

TEST_F(Ledger, ALineSaysWhatTheEnvironmentSaysOfItsTask) {
  const std::string text = trained({{"env_id", "Pendulum-v1"}, {"num_minibatches", "2"}});
  const OrderedJson line = OrderedJson::parse(text);
  EXPECT_EQ(line["contract"]["reward_terms"].dump(),
            R"({"angle_squared":-1.0,"speed_squared":-0.1,"torque_squared":-0.001})");
  EXPECT_FALSE(line["contract"].contains("commands"));  // it has none
  EXPECT_EQ(line["machine"]["residency"].dump(),
            R"({"simulation":"host","rollout":"host","update":"host"})");
}

Panel small_panel() {
  const Result<Panel> panel = parse_panel(
      "env_id = \"CartPole-v1\"\nepisodes = 12\nseeds = [5, 6]\n"
      "[strata.a]\nforce = [5, 6]\n[strata.b]\nforce = [15, 16]\n"
      "[perturbations.late]\naction_delay = 1\n",
      "panel");
  EXPECT_TRUE(panel.ok()) << panel.status().message();
  return panel.value();
}

// A measure is compared only if both lines have it.
TEST_F(Ledger, MeasuresAreComparedWhereBothHaveThem) {
  const OrderedJson plain = OrderedJson::parse(trained({}, "run", small_panel()));
  const auto measuring = [&](double value) {
    OrderedJson line = plain;
    const OrderedJson mean = {{"unit", "m/s"}, {"value", value}, {"low", 0.5}, {"high", 2.5}};
    line["evaluation"]["measures"]["speed_error"] = mean;
    line["panel"]["rows"]["b/late"]["measures"]["speed_error"] = mean;
    return line;
  };
  const auto compared = [](const OrderedJson& a, const OrderedJson& b) {
    return RerunReport({{}, compare_ledger_lines(a.dump(), b.dump())});
  };
  for (const auto& [a, b] : {std::pair(plain, measuring(1.0)), {measuring(1.0), plain}}) {
    const RerunReport report = compared(a, b);
    EXPECT_TRUE(report.agrees());
    EXPECT_TRUE(report.possible_reasons().empty());
    for (const FieldComparison& field : report.fields)
      EXPECT_EQ(field.name.find("measures"), std::string::npos) << field.name;
  }
  const RerunReport same = compared(measuring(1.0), measuring(1.0));
  EXPECT_TRUE(same.agrees());
  EXPECT_TRUE(field(same, "evaluation.measures.speed_error.value").agrees);
  const RerunReport other = compared(measuring(1.0), measuring(2.0));
  EXPECT_FALSE(other.agrees());
  EXPECT_FALSE(field(other, "evaluation.measures.speed_error.value").agrees);
  EXPECT_FALSE(field(other, "panel.rows.b/late.measures.speed_error.value").agrees);
  OrderedJson varies = measuring(1.0);
  varies["run"]["new_episodes_at"] = {512};
  const RerunReport overlaps = compared(varies, measuring(2.0));
  EXPECT_TRUE(overlaps.agrees());
  EXPECT_EQ(field(overlaps, "evaluation.measures.speed_error.value").rule, FieldRule::kStatistic);
}

TEST_F(Ledger, ARecordFromBeforeTasksWereSaidAgrees) {
  const std::string line = trained();
  const auto change = [&](void (*how)(OrderedJson&), const std::string& name) {
    const Result<std::string> other = sealed_anew(line, how);
    EXPECT_TRUE(other.ok()) << other.status().message();
    return run_again(other.value(), name);
  };
  const RerunReport older = change(
      [](OrderedJson& json) {
        json["contract"].erase("reward_terms");
        json["machine"].erase("residency");
        json["seeds"]["training"]["streams"].erase("stagger");  // that came to be named later
      },
      "older");
  EXPECT_TRUE(older.agrees());
  EXPECT_FALSE(field(older, "contract.reward_terms").agrees);
  EXPECT_EQ(field(older, "contract.reward_terms").rule, FieldRule::kNoted);
  const RerunReport other =
      change([](OrderedJson& json) { json["contract"]["reward_terms"]["step"] = 2.0; }, "other");
  EXPECT_FALSE(other.agrees());
  const RerunReport drawn = change(
      [](OrderedJson& json) { json["seeds"]["training"]["streams"]["stagger"] = 99; }, "drawn");
  EXPECT_FALSE(field(drawn, "seeds.training").agrees);
}

// A plug-in's text holds its version, and older records have it.
TEST_F(Ledger, ARecordWithAPlugInsSourceAgrees) {
  const Result<std::string> line =
      sealed_anew(trained(), [](OrderedJson& json) { json["contract"]["upstream"] = "cart 1.0"; });
  ASSERT_TRUE(line.ok()) << line.status().message();
  const RerunReport report = run_again(line.value(), "again");
  EXPECT_TRUE(report.agrees());
  EXPECT_EQ(field(report, "contract.upstream").rule, FieldRule::kNoted);
}

TEST_F(Ledger, ACurriculumIsRecordedAndFollowedAgain) {
  const std::string text = trained({{"strata.a.half_length", "0.4..0.6"},
                                    {"strata.b.half_length", "0.1..0.2"},
                                    {"curriculum", "a,b"}});
  const OrderedJson line = OrderedJson::parse(text);
  EXPECT_EQ(line["contract"]["curriculum"].dump(),
            R"({"levels":["a","b"],"up":0.8,"down":0.4,"episodes":1})");
  EXPECT_TRUE(line["result"]["success_rate"].is_number());
  EXPECT_TRUE(run_again(text, "again").agrees());
}

TEST_F(Ledger, ALineHasThePanelsScores) {
  const OrderedJson line = OrderedJson::parse(trained({}, "run", small_panel()));
  const PanelResult kept =
      read_panel_result(panel_result_path(RunFolder::open(at("run")).value(), small_panel()))
          .take();
  EXPECT_EQ(line["panel"].dump(), panel_record_json(kept));
  EXPECT_EQ(line["panel"]["hash"], panel_hash(small_panel()));
  EXPECT_EQ(line["panel"]["rows"].size(), 7u);
  EXPECT_EQ(line["panel"]["rows"]["b/late"]["episodes"], 24);
  EXPECT_EQ(kept.checkpoint_hash, line["checkpoint"]["hash"]);
  EXPECT_EQ(line["seeds"]["panel"]["seeds"], OrderedJson({5, 6}));
  EXPECT_EQ(line["seeds"]["panel"]["keys"]["b/late"],
            OrderedJson(panel_rows(small_panel())[3].keys));
  EXPECT_EQ(read_panel(at("run") + "/panel.toml").value().seeds, small_panel().seeds);
  // The policy, played again, is the one that was recorded.
  EXPECT_EQ(panel_record_json(run_panel(at("run"), small_panel(), 1).value()),
            panel_record_json(kept));
  EXPECT_FALSE(OrderedJson::parse(trained({}, "without")).contains("panel"));
}

TEST_F(Ledger, ARunFromItsLineAloneAgreesOnThePanel) {
  RELEASE_ONLY("a whole run: its parts have tests of their own");
  const std::string line = trained({{"norm_obs", "true"}}, "run", small_panel());
  fs::remove_all(at("run"));  // the record alone
  const RerunReport report = run_again(line, "again");
  EXPECT_TRUE(report.agrees());
  EXPECT_TRUE(field(report, "panel.rows.b/late.success_rate").agrees);
  EXPECT_TRUE(field(report, "panel.episodes_hash").agrees);
  EXPECT_TRUE(field(report, "seeds.panel").agrees);
  EXPECT_TRUE(fs::exists(at("again") + "/panel.toml"));
}

TEST_F(Ledger, AlteredNumbersOfThePanelAreReported) {
  const std::string line = trained({}, "run", small_panel());
  const std::string other = sealed_anew(line, [](OrderedJson& json) {
                              json["panel"]["rows"]["a/nominal"]["success_rate"] = 0.99;
                            }).take();
  const RerunReport report = run_again(other, "again");
  EXPECT_FALSE(report.agrees());
  EXPECT_FALSE(field(report, "panel.rows.a/nominal.success_rate").agrees);
  EXPECT_TRUE(field(report, "panel.rows.a/nominal.mean_return").agrees);
  EXPECT_TRUE(field(report, "result.parameters_hash").agrees);
  // Another panel under the same hash.
  const std::string forged = sealed_anew(line, [](OrderedJson& json) {
                               json["panel"]["definition"]["episodes"] = "13";
                             }).take();
  EXPECT_EQ(plan_rerun(forged).status().kind(), ErrorKind::kMismatch);
  EXPECT_NE(plan_rerun(forged).status().message().find("not the panel"), std::string::npos);
}

TEST_F(Ledger, PanelsThatSawWhatTrainingSawAreRefused) {
  const std::string line = trained({}, "run", small_panel());
  const auto expect_refused = [&](void (*change)(OrderedJson&), const char* words) {
    const Result<std::string> sealed = sealed_anew(line, change);
    ASSERT_FALSE(sealed.ok()) << words;
    EXPECT_EQ(sealed.status().kind(), ErrorKind::kMismatch);
    EXPECT_NE(sealed.status().message().find(words), std::string::npos)
        << sealed.status().message();
  };
  expect_refused([](OrderedJson& j) { j["seeds"]["panel"]["streams"]["reset"] = 3; },
                 "the panel stream 'reset' and the training stream 'reset' are both 3");
  expect_refused([](OrderedJson& j) { j["seeds"]["panel"]["streams"]["step"] = 8; },
                 "the panel stream 'step' and the evaluation stream 'step' are both 8");
  expect_refused([](OrderedJson& j) { j["seeds"].erase("panel"); }, "panel but no seeds.panel");
  expect_refused([](OrderedJson& j) { j.erase("panel"); }, "seeds.panel but no panel");
  expect_refused([](OrderedJson& j) { j["panel"]["rows"]["a/late"].erase("failure_rate"); },
                 "'failure_rate' is missing");
  expect_refused([](OrderedJson& j) { j["panel"]["extra"] = 1; }, "panel.extra");
}

TEST_F(Ledger, APanelThatDoesNotFitIsRefusedBeforeTraining) {
  const Config config = resolve_config({{"env_id", "Acrobot-v1"}}).take();
  const Result<RunSummary> summary = start_run(config, at("run"), 1, {}, small_panel());
  EXPECT_EQ(summary.status().kind(), ErrorKind::kMismatch);
  EXPECT_FALSE(fs::exists(at("run")));
}

TEST_F(Ledger, TheResumeThatEndsARunPlaysItsPanel) {
  RELEASE_ONLY("a whole run: its parts have tests of their own");
  const OrderedJson whole = OrderedJson::parse(trained({}, "whole", small_panel()));
  const Config config = resolve_config({{"env_id", "CartPole-v1"},
                                        {"num_envs", "8"},
                                        {"num_steps", "16"},
                                        {"total_timesteps", "2000"},
                                        {"eval_interval", "4"},
                                        {"seed", "5"},
                                        {"hidden_sizes", "16,8"}})
                            .take();
  int iterations = 0;
  RunHooks hooks;
  hooks.should_stop = [&] { return ++iterations == 6; };
  ASSERT_TRUE(start_run(config, at("run"), 1, hooks, small_panel()).ok());
  EXPECT_FALSE(fs::exists(at("run") + "/ledger_line.json"));
  ASSERT_TRUE(resume_run(at("run"), 1, {}).ok());
  const auto recorded = [&] {
    return OrderedJson::parse(
        read_ledger_line(at("run") + "/ledger_line.json", 1).value())["panel"];
  };
  EXPECT_EQ(recorded(), whole["panel"]);
  fs::remove(at("run") + "/ledger_line.json");  // killed between the last checkpoint and the line
  ASSERT_TRUE(resume_run(at("run"), 1, {}).ok());
  EXPECT_EQ(recorded(), whole["panel"]);
  ASSERT_TRUE(write_file_atomically(at("run") + "/panel.toml", "episodes = 3\n").ok());
  const Status changed = resume_run(at("run"), 1, {}).status();
  EXPECT_EQ(changed.kind(), ErrorKind::kMismatch) << changed.message();
  EXPECT_NE(changed.message().find("not the panel that the run was started with"),
            std::string::npos);
}

TEST_F(Ledger, ManyWritersLeaveWholeLines) {
  const std::string line = trained();
  constexpr int kWriters = 8, kLines = 20;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kLines; ++i) {
        OrderedJson json = OrderedJson::parse(line);
        json.erase("checksum");
        json["run"]["folder"] = "run " + std::to_string(w) + " " + std::to_string(i);
        const Result<std::string> sealed = seal_ledger_line(json.dump());
        ASSERT_TRUE(sealed.ok());
        EXPECT_TRUE(append_to_ledger(at("all.jsonl"), sealed.value()).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (int i = 1; i <= kWriters * kLines; ++i) {
    EXPECT_TRUE(check_ledger_line(read_ledger_line(at("all.jsonl"), i).value()).ok()) << i;
  }
  EXPECT_FALSE(read_ledger_line(at("all.jsonl"), kWriters * kLines + 1).ok());
}

TEST_F(Ledger, ALineIsAppendedOnceAndAfterOneThatWasCutShort) {
  const std::string line = trained();
  EXPECT_EQ(append_to_ledger(at("sub/all.jsonl"), line).value(), 1);
  EXPECT_EQ(append_to_ledger(at("sub/all.jsonl"), line).value(), 1);
  ASSERT_TRUE(write_file_atomically(at("cut.jsonl"), line.substr(0, 100)).ok());
  EXPECT_EQ(append_to_ledger(at("cut.jsonl"), line).value(), 2);
  EXPECT_EQ(read_ledger_line(at("cut.jsonl"), 0).value(), line);
  EXPECT_FALSE(check_ledger_line(read_ledger_line(at("cut.jsonl"), 1).value()).ok());
}

TEST_F(Ledger, AFullDiskLeavesTheLedgerAsItWas) {
  const std::string line = trained();
  ASSERT_TRUE(append_to_ledger(at("all.jsonl"), line).ok());
  const std::string before = read_file(at("all.jsonl")).take();
  const std::string other = trained({{"seed", "6"}}, "other");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  rlimit full = unlimited;
  full.rlim_cur = before.size() + 100;
  ::setrlimit(RLIMIT_FSIZE, &full);
  const Result<std::int64_t> appended = append_to_ledger(at("all.jsonl"), other);
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.status().kind(), ErrorKind::kIo);
  EXPECT_EQ(read_file(at("all.jsonl")).value(), before);
  EXPECT_EQ(append_to_ledger(at("all.jsonl"), other).value(), 2);
}

}  // namespace
}  // namespace broadloom
