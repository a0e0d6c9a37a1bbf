#include "broadloom/train/rerun.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {
namespace {

using Json = nlohmann::json;

struct Part {
  const char* name;
  FieldRule rule;
};

// Parts of a line that are compared key by key. Left out are those that another run cannot share:
// folder and times, and the checkpoint's hash, since a checkpoint holds the lengths of logs that
// tell the time.
constexpr Part kParts[] = {
    {"result", FieldRule::kExact},   {"evaluation", FieldRule::kExact},
    {"contract", FieldRule::kExact}, {"seeds", FieldRule::kExact},
    {"config", FieldRule::kExact},   {"program", FieldRule::kNoted},
    {"machine", FieldRule::kNoted},
};
constexpr const char* kRatios[] = {"/speed/steps_per_second", "/memory/peak_bytes",
                                   "/memory/planned_bytes"};

Json at(const Json& line, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return line.contains(place) ? line[place] : Json();
}

std::string dotted(const std::string& pointer) {
  std::string name = pointer.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

FieldComparison compare(const std::string& name, FieldRule rule, const Json& a, const Json& b) {
  FieldComparison field{name,       rule,   text_of(a),
                        text_of(b), a == b, std::numeric_limits<double>::quiet_NaN()};
  if (a.is_number() && b.is_number() && a.get<double>() > 0.0) {
    field.ratio = b.get<double>() / a.get<double>();
  }
  return field;
}

// Which instruction set a run asked for is no part of what it is; machine.isa and machine.bits tell
// what was used.
bool is_compared(const std::string& name) { return name != "config.isa"; }

std::set<std::string> keys_of(const Json& a, const Json& b) {
  std::set<std::string> keys;
  for (const Json* json : {&a, &b}) {
    if (!json->is_object()) continue;
    for (const auto& [key, value] : json->items()) keys.insert(key);
  }
  return keys;
}

// Every number of the rows of a panel under a name of its own.
void add_leaves(const std::string& name, const Json& json, std::map<std::string, Json>& out) {
  if (!json.is_object()) {
    out[name] = json;
    return;
  }
  for (const auto& [key, value] : json.items()) add_leaves(name + "." + key, value, out);
}

void compare_panels(const Json& a, const Json& b, std::vector<FieldComparison>& out) {
  std::map<std::string, Json> first, second;
  if (a.is_object()) add_leaves("panel", a, first);
  if (b.is_object()) add_leaves("panel", b, second);
  std::map<std::string, Json> names = first;
  names.insert(second.begin(), second.end());
  for (const auto& [name, unused] : names) {
    const auto x = first.find(name), y = second.find(name);
    out.push_back(compare(name, FieldRule::kExact, x == first.end() ? Json() : x->second,
                          y == second.end() ? Json() : y->second));
  }
}

void compare_part(const Part& part, const Json& a, const Json& b,
                  std::vector<FieldComparison>& out) {
  const Json first = a.value(part.name, Json()), second = b.value(part.name, Json());
  const std::set<std::string> keys = keys_of(first, second);
  for (const std::string& key : keys) {
    const std::string name = fmt::format("{}.{}", part.name, key);
    const Json x = first.is_object() ? first.value(key, Json()) : Json();
    const Json y = second.is_object() ? second.value(key, Json()) : Json();
    if (is_compared(name)) out.push_back(compare(name, part.rule, x, y));
  }
}

Result<Panel> panel_of(const nlohmann::ordered_json& recorded) {
  Overrides definition;
  for (const auto& [key, text] : recorded["definition"].items()) {
    definition.emplace_back(key, text.get<std::string>());
  }
  Result<Panel> panel = resolve_panel(definition);
  if (!panel.ok()) return panel.status();
  const std::string hash = panel_hash(panel.value());
  if (hash == recorded["hash"].get<std::string>()) return panel;
  return Status(ErrorKind::kMismatch,
                fmt::format("the record's panel has the hash {}, but its definition has {}; it is "
                            "not the panel that the run was scored on",
                            recorded["hash"].get<std::string>(), hash));
}

}  // namespace

bool RerunReport::agrees() const {
  return !fields.empty() && std::all_of(fields.begin(), fields.end(), [](const auto& field) {
    return field.agrees || field.rule != FieldRule::kExact;
  });
}

std::vector<FieldComparison> compare_ledger_lines(std::string_view recorded,
                                                  std::string_view rerun) {
  const Json a = Json::parse(recorded, nullptr, false), b = Json::parse(rerun, nullptr, false);
  std::vector<FieldComparison> out;
  if (!a.is_object() || !b.is_object()) return out;
  for (const Part& part : kParts) compare_part(part, a, b, out);
  compare_panels(a.value("panel", Json()), b.value("panel", Json()), out);
  for (const std::string pointer : kRatios) {
    out.push_back(compare(dotted(pointer), FieldRule::kRatio, at(a, pointer), at(b, pointer)));
  }
  return out;
}

Result<RerunPlan> plan_rerun(std::string_view line) {
  BROADLOOM_TRY(check_ledger_line(line));
  const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
  Overrides overrides;
  for (const auto& [key, text] : json["config"].items()) {
    overrides.emplace_back(key, text.get<std::string>());
  }
  const Result<Config> config = resolve_config(overrides);
  if (!config.ok()) {
    return Status(
        config.status().kind(),
        fmt::format("the record's config is not one of this program: {}; it was written "
                    "by version {} ({})",
                    config.status().message(), json["program"]["version"].get<std::string>(),
                    json["program"]["revision"].get<std::string>()));
  }
  RerunPlan plan;
  plan.config = config.value();
  plan.config.isa = isa_to_go_on(plan.config.isa, json["machine"]["isa"].get<std::string>());
  plan.threads = json["speed"]["threads"].get<int>();
  if (json.contains("panel")) {
    Result<Panel> panel = panel_of(json["panel"]);
    if (!panel.ok()) return panel.status();
    plan.panel = panel.take();
  }
  return plan;
}

Result<RerunReport> rerun(std::string_view line, const RerunPlan& plan, const std::string& run_dir,
                          int threads, const RunHooks& hooks) {
  const Result<RunSummary> summary = start_run(plan.config, run_dir, threads, hooks, plan.panel);
  if (!summary.ok()) return summary.status();
  RerunReport report;
  report.run = summary.value();
  if (!report.run.finished) return report;
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  const Result<std::string> own = read_ledger_line(folder.value().ledger_line_path(), 1);
  if (!own.ok()) return own.status();
  report.fields = compare_ledger_lines(line, own.value());
  return report;
}

}  // namespace broadloom
