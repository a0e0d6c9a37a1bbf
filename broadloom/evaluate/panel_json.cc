// Reads and writes a panel's result as JSON.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <utility>

#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"

namespace broadloom {
namespace {

constexpr const char* kPanelFormat = "broadloom-panel-2";
constexpr const char* kPartialFormat = "broadloom-panel-partial-1";

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Json or_null(double value) { return std::isnan(value) ? Json() : Json(value); }

Json definition_of(const Panel& panel) {
  Json out = Json::object();
  for (const auto& [key, text] : to_overrides(panel)) out[key] = text;
  return out;
}

Json score_json(const PanelGroup& group, const EvalResult& score) {
  Json reasons = Json::object();
  for (const EvalResult::Reason& reason : score.reasons) reasons[reason.name] = reason.count;
  Json out = {{"stratum", group.stratum},
              {"perturbation", group.perturbation},
              {"episodes", score.episodes},
              {"success_rate", or_null(score.success_rate.value)},
              {"success_low", or_null(score.success_rate.low)},
              {"success_high", or_null(score.success_rate.high)},
              {"failure_rate", or_null(score.failure_rate.value)},
              {"failure_low", or_null(score.failure_rate.low)},
              {"failure_high", or_null(score.failure_rate.high)},
              {"mean_return", score.mean_return},
              {"ci_low", or_null(score.ci_low)},
              {"ci_high", or_null(score.ci_high)},
              {"std_return", score.std_return},
              {"mean_length", score.mean_length},
              {"reasons", reasons}};
  for (const auto& [measure, mean] : score.measures) {
    out["measures"][measure.name] = {{"unit", measure.unit},
                                     {"value", or_null(mean.value)},
                                     {"low", or_null(mean.low)},
                                     {"high", or_null(mean.high)}};
  }
  return out;
}

Json rows_json(const PanelResult& result) {
  Json out = Json::object();
  for (const PanelGroup& group : panel_groups(result.panel)) {
    if (episodes_of(result, group).empty()) continue;  // the play was stopped
    out[group.stratum + "/" + group.perturbation] = score_json(group, score_of(result, group));
  }
  return out;
}

Json run_json(const PanelResult& result) {
  return {{"folder", result.run_dir},
          {"checkpoint", result.checkpoint},
          {"checkpoint_hash", result.checkpoint_hash},
          {"global_step", result.global_step}};
}

Json program_json(const PanelResult& result) {
  return {{"version", result.version},
          {"revision", result.revision},
          {"binary_hash", result.binary_hash},
          {"isa", result.isa}};
}

// Adds measures as columns if the episodes have them.
void add_measures(const EnvSpec& spec, const std::vector<EvalEpisode>& episodes, Json& row) {
  for (std::size_t m = 0; m < spec.measures.size(); ++m) {
    Json column = Json::array();
    for (const EvalEpisode& episode : episodes) {
      if (episode.measures.size() != spec.measures.size()) return;
      column.push_back(or_null(episode.measures[m]));
    }
    row["measures"][spec.measures[m].name] = std::move(column);
  }
}

// Single episodes as columns, with the keys of their streams.
Json episodes_json(const PanelResult& result, bool measures) {
  Json out = Json::object();
  const std::vector<PanelRow> rows = panel_rows(result.panel);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Json row = {{"keys", rows[r].keys},
                {"returns", Json::array()},
                {"lengths", Json::array()},
                {"reasons", Json::array()},
                {"success", Json::array()}};
    for (const EvalEpisode& episode : result.episodes[r]) {
      row["returns"].push_back(episode.episode_return);
      row["lengths"].push_back(episode.length);
      row["reasons"].push_back(episode.end.reason);
      row["success"].push_back(episode.end.success);
    }
    if (measures) add_measures(result.spec, result.episodes[r], row);
    out[rows[r].stratum + "/" + rows[r].perturbation] = std::move(row);
  }
  return out;
}

// The hash covers only what all versions record, so older records without measures stay valid.
Json record_of(const PanelResult& result) {
  Json out = {{"hash", panel_hash(result.panel)}, {"definition", definition_of(result.panel)}};
  if (!result.engine.empty()) out["engine"] = result.engine;
  if (!result.failure.empty()) {
    out["failed"] = result.failure;
    return out;
  }
  out["episodes_hash"] = hash_text(episodes_json(result, false).dump());
  out["rows"] = rows_json(result);
  return out;
}

// Reads what panel_result_json wrote. Other input gives another result, which the caller notices.
Status read_episodes(const Json& json, PanelResult& out) {
  const std::vector<PanelRow> rows = panel_rows(out.panel);
  const std::size_t count = out.panel.seeds.size() * static_cast<std::size_t>(out.panel.episodes);
  const int reasons = static_cast<int>(out.spec.end_reasons.size());
  for (const PanelRow& row : rows) {
    const Json& columns = json[row.stratum + "/" + row.perturbation];
    // Checked before allocating as many episodes as the definition claims.
    for (const char* column : {"returns", "lengths", "reasons", "success"}) {
      if (columns[column].size() == count) continue;
      return {ErrorKind::kCorrupt, "a row does not have the panel's number of episodes"};
    }
    std::vector<EvalEpisode> episodes(count);
    for (std::size_t i = 0; i < count; ++i) {
      episodes[i].episode_return = columns["returns"].at(i).real();
      episodes[i].length = columns["lengths"].at(i).integer<int>();
      episodes[i].end.reason = columns["reasons"].at(i).integer<int>();
      episodes[i].end.success = columns["success"].at(i).integer<std::int8_t>();
      for (const Measure& measure : out.spec.measures) {
        const Json& value = columns["measures"][measure.name].at(i);
        episodes[i].measures.push_back(value.is_number() ? value.real() : kNotANumber);
      }
      if (episodes[i].end.reason < reasons) continue;
      return {ErrorKind::kCorrupt, "an episode has an unknown end reason"};
    }
    out.episodes.push_back(std::move(episodes));
  }
  return {};
}

// Keeps only the measures in the file; environments may measure more today.
void keep_measured(const Json& episodes, PanelResult& out) {
  const PanelRow first = panel_rows(out.panel).front();
  const Json& kept = episodes[first.stratum + "/" + first.perturbation]["measures"];
  std::erase_if(out.spec.measures,
                [&](const Measure& measure) { return !kept.contains(measure.name); });
}

Result<PanelResult> result_of(const Json& json) {
  Overrides definition;
  for (const auto& [key, text] : json["panel"]["definition"].members()) {
    definition.emplace_back(key, text.text());
  }
  Result<Panel> panel = resolve_panel(definition);
  if (!panel.ok()) return panel.status();
  PanelResult out;
  out.panel = panel.take();
  Result<EnvSpec> spec = env_spec(out.panel.env_id, out.panel.env);
  if (!spec.ok()) return spec.status();
  out.spec = spec.take();
  keep_measured(json["episodes"], out);
  const Json &run = json["run"], &program = json["program"];
  out.run_dir = run["folder"].text();
  out.checkpoint = run["checkpoint"].text();
  out.checkpoint_hash = run["checkpoint_hash"].text();
  out.global_step = run["global_step"].integer<std::int64_t>();
  out.version = program["version"].text();
  out.revision = program["revision"].text();
  out.binary_hash = program["binary_hash"].text();
  out.isa = program["isa"].text();
  out.engine = json["panel"]["engine"].text();
  BROADLOOM_TRY(read_episodes(json["episodes"], out));
  return out;
}

}  // namespace

std::string panel_record_json(const PanelResult& result) { return record_of(result).dump(); }

std::string panel_result_json(const PanelResult& result) {
  const Json json = {{"format", kPanelFormat},
                     {"run", run_json(result)},
                     {"program", program_json(result)},
                     {"panel", record_of(result)},
                     {"episodes", episodes_json(result, true)}};
  return json.dump() + "\n";
}

std::string partial_panel_json(const PanelResult& result) {
  const PanelCount count = count_episodes(result);
  Json episodes = Json::object();
  const std::vector<PanelRow> rows = panel_rows(result.panel);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Json row = {{"keys", rows[r].keys},     {"numbers", Json::array()}, {"returns", Json::array()},
                {"lengths", Json::array()}, {"reasons", Json::array()}, {"success", Json::array()}};
    for (std::size_t i = 0; i < result.episodes[r].size(); ++i) {
      const EvalEpisode& episode = result.episodes[r][i];
      if (episode.stopped) continue;
      row["numbers"].push_back(static_cast<std::int64_t>(i));
      row["returns"].push_back(episode.episode_return);
      row["lengths"].push_back(episode.length);
      row["reasons"].push_back(episode.end.reason);
      row["success"].push_back(episode.end.success);
    }
    episodes[rows[r].stratum + "/" + rows[r].perturbation] = std::move(row);
  }
  const Json json = {{"format", kPartialFormat},
                     {"run", run_json(result)},
                     {"program", program_json(result)},
                     {"panel",
                      {{"hash", panel_hash(result.panel)},
                       {"definition", definition_of(result.panel)},
                       {"asked", count.asked},
                       {"ended", count.ended},
                       {"rows", rows_json(result)}}},
                     {"episodes", episodes}};
  return json.dump() + "\n";
}

Result<PanelResult> read_panel_result(const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  const auto damaged = [&](const std::string& what) {
    return Status(ErrorKind::kCorrupt,
                  fmt::format("'{}' is not a panel's result, or was altered: {}; make it again "
                              "with `broadloom eval RUN --panel FILE`",
                              path, what));
  };
  const Json json = Json::parse(bytes.value());
  if (json.is_object() && json["format"] == kPartialFormat) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("'{}' has only the part of a panel that was played before a stop; "
                              "name its run instead, which is then played anew",
                              path));
  }
  if (!json.is_object() || json["format"] != kPanelFormat) {
    return damaged(fmt::format("it has no \"format\": \"{}\"", kPanelFormat));
  }
  Result<PanelResult> result = result_of(json);
  if (!result.ok()) return damaged(result.status().message());
  // Rows and hashes follow from panel and episodes, so any change is noticed.
  if (panel_result_json(result.value()) == bytes.value()) return result;
  return damaged("its rows or hashes do not match its panel and episodes");
}

}  // namespace broadloom
