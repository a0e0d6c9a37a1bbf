#include "broadloom/train/rerun.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "broadloom/config/keys.h"
#include "broadloom/core/hash.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/teacher_policy.h"

namespace broadloom {
namespace {

struct Part {
  const char* name;
  FieldRule rule;
};

// Parts of a line that are compared key by key. Without folder and times, which differ between
// runs, and the checkpoint's hash, because a checkpoint holds lengths of logs with times.
constexpr Part kParts[] = {
    {"result", FieldRule::kExact},   {"evaluation", FieldRule::kExact},
    {"contract", FieldRule::kExact}, {"seeds", FieldRule::kExact},
    {"config", FieldRule::kExact},   {"init", FieldRule::kExact},
    {"teacher", FieldRule::kExact},  {"program", FieldRule::kNoted},
    {"machine", FieldRule::kNoted},
};
struct RatioPlace {
  const char* part;
  const char* key;
};
constexpr RatioPlace kRatios[] = {
    {"speed", "steps_per_second"}, {"memory", "peak_bytes"}, {"memory", "planned_bytes"}};

FieldComparison compare(const std::string& name, FieldRule rule, const Json& a, const Json& b) {
  FieldComparison field{name,     rule,   a.dump(),
                        b.dump(), a == b, std::numeric_limits<double>::quiet_NaN()};
  if (a.is_number() && b.is_number() && a.real() > 0.0) {
    field.ratio = b.real() / a.real();
  }
  return field;
}

// Confidence intervals are computed from compared numbers, and versions computed them differently
// (docs/adr/0012), so a different interval is not a different result.
bool is_interval_of_mean(std::string_view name) {
  return name.ends_with(".ci_low") || name.ends_with(".ci_high");
}

// Leaves out machine keys (instruction set, memory), because machine.isa and machine.bits record
// what was used, and the path of an initial policy, which its hash identifies. Measures are
// compared one by one.
bool is_compared(std::string_view name) {
  constexpr std::string_view kConfigPart = "config.";
  if (name.starts_with(kConfigPart)) {
    return role_of(name.substr(kConfigPart.size())) != Role::kMachine;
  }
  return name != "init.file" && name != "teacher.file" && name != "evaluation.measures" &&
         !is_interval_of_mean(name);
}

// The engine that steps environments may cause other results, as the program may.
bool is_engine(const Part& part, const std::string& key) {
  return std::string_view(part.name) == "contract" && (key == "engine" || key == "engine_changes");
}

// Records gained the task's description later, and environments may have gained it after the run. A
// side without it does not contradict the other. A source of another version is the same source.
FieldRule rule_of(const Part& part, const std::string& key, const Json& a, const Json& b) {
  constexpr std::array<std::string_view, 3> kTaskKeys = {"reward_terms", "commands", "terrain"};
  if (key == "upstream" && same_source(a[key].text(), b[key].text())) {
    return FieldRule::kNoted;
  }
  const bool is_task_key = std::string_view(part.name) == "contract" &&
                           std::find(kTaskKeys.begin(), kTaskKeys.end(), key) != kTaskKeys.end();
  if (is_engine(part, key)) return FieldRule::kNoted;
  return is_task_key && !(a.contains(key) && b.contains(key)) ? FieldRule::kNoted : part.rule;
}

std::set<std::string> keys_of(const Json& a, const Json& b) {
  std::set<std::string> keys;
  for (const Json* json : {&a, &b}) {
    for (const auto& [key, value] : json->members()) keys.insert(key);
  }
  return keys;
}

// Adds every number of a panel's rows under its full name.
void add_leaves(const std::string& name, const Json& json, std::map<std::string, Json>& out) {
  if (!json.is_object()) {
    out[name] = json;
    return;
  }
  for (const auto& [key, value] : json.members()) add_leaves(name + "." + key, value, out);
}

// Environments may gain measures, so a measure on one side only is left out.
void compare_leaves(const std::string& part, const Json& a, const Json& b,
                    std::vector<FieldComparison>& out) {
  std::map<std::string, Json> first, second;
  if (a.is_object()) add_leaves(part, a, first);
  if (b.is_object()) add_leaves(part, b, second);
  std::map<std::string, Json> names = first;
  names.insert(second.begin(), second.end());
  for (const auto& [name, unused] : names) {
    if (!is_compared(name)) continue;
    const auto x = first.find(name), y = second.find(name);
    const bool in_both = x != first.end() && y != second.end();
    if (!in_both && name.find(".measures.") != std::string::npos) continue;
    out.push_back(compare(name, FieldRule::kExact, x == first.end() ? Json() : x->second,
                          y == second.end() ? Json() : y->second));
  }
}

Overrides recorded_overrides(const Json& config) {
  Overrides overrides;
  for (const auto& [key, text] : config.members()) overrides.emplace_back(key, text.text());
  return overrides;
}

// Adds the defaults of keys that did not exist when the record was written.
Json completed(const Json& config, const Json& other) {
  Json out = config;
  const Result<Config> resolved = resolve_record(recorded_overrides(config));
  if (!resolved.ok()) return out;
  for (const auto& [key, text] : to_overrides(resolved.value())) {
    const bool only_there = !config.contains(key) && other.contains(key);
    if (only_there && facts_of(key).since == Since::kLater) out[key] = text;
  }
  return out;
}

// Leaves out streams that only one side names: records gained an algorithm's own streams later. A
// difference in draws shows in the results.
Json with_streams_of(const Json& seeds, const Json& other) {
  Json out = seeds;
  for (const auto& [family, entry] : seeds.members()) {
    Json streams = Json::object();
    for (const auto& [name, purpose] : entry["streams"].members()) {
      if (other[family]["streams"].contains(name)) streams[name] = purpose;
    }
    out[family]["streams"] = streams;
  }
  return out;
}

Json comparable(const Part& part, const Json& one, const Json& other) {
  const std::string_view name = part.name;
  if (name == "config") return completed(one[name], other[name]);
  if (name == "seeds") return with_streams_of(one[name], other[name]);
  return one[name];
}

void compare_part(const Part& part, const Json& a, const Json& b,
                  std::vector<FieldComparison>& out) {
  const Json first = comparable(part, a, b);
  const Json second = comparable(part, b, a);
  const std::set<std::string> keys = keys_of(first, second);
  for (const std::string& key : keys) {
    const std::string name = fmt::format("{}.{}", part.name, key);
    if (!is_compared(name)) continue;
    const FieldRule rule = rule_of(part, key, first, second);
    out.push_back(compare(name, rule, first[key], second[key]));
    if (key == "engine" && same_engine(first[key].text(), second[key].text()))
      out.back().agrees = true;
  }
}

Result<Panel> panel_of(const Json& recorded) {
  Overrides definition;
  for (const auto& [key, text] : recorded["definition"].members()) {
    definition.emplace_back(key, text.text());
  }
  Result<Panel> panel = resolve_panel(definition);
  if (!panel.ok()) return panel.status();
  const std::string hash = panel_hash(panel.value());
  if (hash == recorded["hash"].text()) return panel;
  return Status(ErrorKind::kMismatch,
                fmt::format("the record's panel has the hash {}, but its definition has {}; it is "
                            "not the panel of the run's scores",
                            recorded["hash"].text(), hash));
}

// The policy that the recorded run began with.
Result<InitialPolicy> initial_policy(const Json& recorded, const std::string& path) {
  const PolicySource wanted = policy_source_of(recorded);
  const std::string& place = path.empty() ? wanted.file : path;
  const std::string policy_text = fmt::format(
      "the run began with another run's policy: parameters with the hash {}, from '{}' at step {}",
      wanted.parameters_hash, wanted.file, wanted.global_step);
  const bool takes_optimizer = !wanted.optimizer_hash.empty();
  Result<InitialPolicy> policy = read_initial_policy(place, takes_optimizer);
  if (!policy.ok()) {
    return Status(policy.status().kind(),
                  fmt::format("{}; name its run or checkpoint with --init ({})", policy_text,
                              policy.status().message()));
  }
  const PolicySource& found = policy.value().source;
  if (found.parameters_hash == wanted.parameters_hash &&
      (wanted.obs_normalizer_hash.empty() ||
       found.obs_normalizer_hash == wanted.obs_normalizer_hash) &&
      (!takes_optimizer || found.optimizer_hash == wanted.optimizer_hash)) {
    return policy;
  }
  return Status(ErrorKind::kMismatch,
                fmt::format("{}; got parameters with the hash {} in '{}', or another observation "
                            "normaliser or optimiser: name the right run or checkpoint with --init",
                            policy_text, found.parameters_hash, found.file));
}

// The policy that the recorded run learnt from. folder: of that run.
Result<TeacherFile> recorded_teacher(const Json& recorded, const std::string& place,
                                     const std::string& folder) {
  const PolicySource wanted = policy_source_of(recorded);
  std::vector<std::string> places{folder + "/" + RunFolder::kTeacher, wanted.file};
  if (!place.empty()) places = {place};
  const std::string step =
      fmt::format("its checkpoint of step {}, if the run trained on since", wanted.global_step);
  return find_teacher(wanted, places,
                      place.empty() ? "Name its run with --teacher, or " + step
                                    : "Name the place of that run, or " + step);
}

Status not_recorded(const char* flag, const std::string& got, const char* words) {
  return invalid(
      fmt::format("{}: got '{}', but the recorded run {}; leave it out", flag, got, words));
}

// Whether the same settings, seed and program may give another run.
bool varies(const Json& recorded) {
  const Json& simulator = recorded["contract"]["simulator"];
  return (simulator.is_object() && !simulator["deterministic"].boolean()) ||
         recorded["run"].contains("new_episodes_at");
}

// Fields that do not depend on the simulator's variation.
bool is_settled(std::string_view name) {
  constexpr std::string_view kSettled[] = {"result.iterations", "result.global_step",
                                           "result.parameters", "evaluation.global_step",
                                           "evaluation.seed",   "evaluation.episodes"};
  return std::find(std::begin(kSettled), std::end(kSettled), name) != std::end(kSettled) ||
         name.starts_with("panel.hash") || name.starts_with("panel.definition.") ||
         name.ends_with(".stratum") || name.ends_with(".perturbation") ||
         (name.starts_with("panel.rows.") && name.ends_with(".episodes"));
}

bool is_outcome(std::string_view name) {
  return name.starts_with("result.") || name.starts_with("evaluation.") ||
         name.starts_with("panel.");
}

// Whether the intervals of a mean overlap, for each mean with an interval on both sides.
using Overlaps = std::map<std::string, bool>;

void add_overlap(const std::string& name, const Json& a, const Json& b, const char* low,
                 const char* high, Overlaps& out) {
  for (const Json* side : {&a, &b}) {
    if (!(*side)[low].is_number() || !(*side)[high].is_number()) return;
  }
  out[name] = a[low].real() <= b[high].real() && b[low].real() <= a[high].real();
}

void add_overlaps(const std::string& name, const Json& a, const Json& b, Overlaps& out) {
  if (!a.is_object() || !b.is_object()) return;
  add_overlap(name + ".mean_return", a, b, "ci_low", "ci_high", out);
  add_overlap(name + ".success_rate", a, b, "success_low", "success_high", out);
  add_overlap(name + ".failure_rate", a, b, "failure_low", "failure_high", out);
  for (const auto& [measure, mean] : a["measures"].members()) {
    add_overlap(name + ".measures." + measure + ".value", mean, b["measures"][measure], "low",
                "high", out);
  }
}

// Compares means of evaluations by their intervals and reports ratios of other numbers. Leaves out
// hashes and counts, whose differences mean nothing.
void hold_by_statistics(const Json& a, const Json& b, std::vector<FieldComparison>& fields) {
  Overlaps overlaps;
  add_overlaps("evaluation", a["evaluation"], b["evaluation"], overlaps);
  for (const auto& [row, score] : a["panel"]["rows"].members()) {
    add_overlaps("panel.rows." + row, score, b["panel"]["rows"][row], overlaps);
  }
  std::vector<FieldComparison> kept;
  for (FieldComparison& field : fields) {
    const auto overlap = overlaps.find(field.name);
    if (overlap != overlaps.end()) {
      field.rule = FieldRule::kStatistic;
      field.agrees = overlap->second;
    } else if (is_outcome(field.name) && !is_settled(field.name)) {
      field.rule = FieldRule::kRatio;
      if (!Json::parse(field.recorded).is_number()) continue;
    }
    kept.push_back(std::move(field));
  }
  fields = std::move(kept);
}

}  // namespace

bool RerunReport::agrees() const {
  return !fields.empty() && std::all_of(fields.begin(), fields.end(), [](const auto& field) {
    const bool must = field.rule == FieldRule::kExact || field.rule == FieldRule::kStatistic;
    return field.agrees || !must;
  });
}

std::vector<std::string> RerunReport::possible_reasons() const {
  const bool common_bits = std::any_of(fields.begin(), fields.end(), [](const auto& field) {
    return field.name == "machine.bits" && field.agrees && field.recorded == "\"common\"";
  });
  std::vector<std::string> names;
  for (const FieldComparison& field : fields) {
    if (field.rule != FieldRule::kNoted || field.agrees) continue;
    if (!common_bits || !field.name.starts_with("machine.")) names.push_back(field.name);
  }
  return names;
}

std::vector<FieldComparison> compare_ledger_lines(std::string_view recorded,
                                                  std::string_view rerun) {
  const Json a = Json::parse(recorded), b = Json::parse(rerun);
  std::vector<FieldComparison> out;
  if (!a.is_object() || !b.is_object()) return out;
  for (const Part& part : kParts) compare_part(part, a, b, out);
  compare_leaves("evaluation.measures", a["evaluation"]["measures"], b["evaluation"]["measures"],
                 out);
  compare_leaves("panel", a["panel"], b["panel"], out);
  if (varies(a)) hold_by_statistics(a, b, out);
  for (const RatioPlace& place : kRatios) {
    out.push_back(compare(fmt::format("{}.{}", place.part, place.key), FieldRule::kRatio,
                          a[place.part][place.key], b[place.part][place.key]));
  }
  // A line without ranks is of one process.
  if (a["speed"].contains("ranks") || b["speed"].contains("ranks")) {
    const auto ranks = [](const Json& line) {
      return line["speed"].contains("ranks") ? line["speed"]["ranks"] : Json(1);
    };
    out.push_back(compare("speed.ranks", FieldRule::kRatio, ranks(a), ranks(b)));
  }
  return out;
}

Result<RerunPlan> plan_rerun(std::string_view line, const std::string& init,
                             const std::string& teacher, const std::string& run_dir) {
  BROADLOOM_TRY(check_ledger_line(line));
  const Json json = Json::parse(line);
  const Result<Config> config = resolve_record(recorded_overrides(json["config"]));
  if (!config.ok()) {
    return Status(config.status().kind(),
                  fmt::format("the record, written by version {} ({}), cannot be run here: {}",
                              json["program"]["version"].text(), json["program"]["revision"].text(),
                              config.status().message()));
  }
  RerunPlan plan;
  plan.config = config.value();
  plan.config.isa = isa_to_go_on(plan.config.isa, json["machine"]["isa"].text());
  // A record may have any number; the result does not depend on it.
  constexpr int kMostThreads = 1024;
  plan.threads = std::clamp(json["speed"]["threads"].integer<int>(), 1, kMostThreads);
  if (json.contains("panel")) {
    Result<Panel> panel = panel_of(json["panel"]);
    if (!panel.ok()) return panel.status();
    plan.panel = panel.take();
  }
  if (json.contains("teacher")) {
    const std::string folder = run_dir.empty() ? json["run"]["folder"].text() : run_dir;
    Result<TeacherFile> file = recorded_teacher(json["teacher"], teacher, folder);
    if (!file.ok()) return file.status();
    plan.teacher = file.take();
  } else if (!teacher.empty()) {
    return not_recorded("--teacher", teacher, "had no teacher");
  }
  if (json.contains("init")) {
    Result<InitialPolicy> policy = initial_policy(json["init"], init);
    if (!policy.ok()) return policy.status();
    plan.init = policy.take();
  } else if (!init.empty()) {
    return not_recorded("--init", init, "began with a new policy");
  }
  return plan;
}

Result<RerunReport> rerun(std::string_view line, const RerunPlan& plan, const std::string& run_dir,
                          int threads, const RunHooks& hooks) {
  const Result<RunSummary> summary =
      start_run(plan.config, run_dir, threads, hooks, plan.panel, plan.init, Ranks::alone(),
                hash_text(line), plan.teacher);
  if (!summary.ok()) return summary.status();
  RerunReport report;
  report.run = summary.value();
  if (!report.run.finished) return report;
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  const Result<std::string> own = read_ledger_line(folder.value().ledger_line_path(), 1);
  if (!own.ok()) return own.status();
  report.fields = compare_ledger_lines(line, own.value());
  report.by_statistics = varies(Json::parse(line));
  return report;
}

}  // namespace broadloom
