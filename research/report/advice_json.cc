#include "research/report/advice_json.h"

#include <fmt/core.h>

#include "broadloom/record/files.h"
#include "broadloom/record/manifest.h"
#include "report_assets.h"
#include "research/advise/advice_texts.h"
#include "research/advise/ranking.h"
#include "research/advise/reprobe.h"
#include "research/report/data_page.h"
#include "research/report/json_numbers.h"

namespace broadloom {
namespace {

void add_keys(const Candidate& candidate, Json& json) {
  json["num_envs"] = candidate.num_envs;
  json["num_steps"] = candidate.num_steps;
  json["minibatch_size"] = candidate.minibatch_size;
  json["update_epochs"] = candidate.update_epochs;
  json["learning_rate"] = candidate.learning_rate;
}

Json config_json(const Overrides& config) {
  Json json = Json::object();
  for (const auto& [key, text] : config) json[key] = text;
  return json;
}

Json trial_json(const TrialCurve& trial) {
  Json steps = Json::array(), returns = Json::array(), unfinished = Json::array();
  for (const TrialPoint& point : trial.points) {
    steps.push_back(point.global_step);
    returns.push_back(six_digits(point.mean_return));
    unfinished.push_back(point.unfinished);
  }
  return {{"seed", trial.seed},
          {"error", trial.error},
          {"steps", steps},
          {"returns", returns},
          {"unfinished", unfinished}};
}

// The curves, and their summary at the horizon of this candidate's own runs.
Json candidate_json(const AdviceEvidence& evidence, const Advice& advice, std::size_t index) {
  const CandidateEvidence& candidate = evidence.candidates[index];
  Json json{{"name", candidate_text(candidate.candidate)}};
  add_keys(candidate.candidate, json);
  const ShapeChange& then = candidate.candidate.then;
  if (candidate.candidate.changes()) {
    json["then"] = {{"num_envs", then.num_envs},
                    {"num_steps", then.num_steps},
                    {"minibatch_size", then.minibatch_size},
                    {"after", then.after},
                    {"steps_per_second", six_digits(candidate.then_steps_per_second)}};
  }
  json["default"] = candidate.is_default;
  json["why"] = candidate.why;
  json["steps_per_second"] = six_digits(candidate.steps_per_second);
  json["rungs"] = candidate.rungs;
  const double horizon = common_horizon(evidence, {index}, advice.threshold);
  const CandidateScore score = score_of(evidence, index, advice.threshold, horizon);
  json["horizon"] = six_digits(horizon);
  json["reached"] = score.reached;
  json["failed"] = score.failed;
  json["mean_cost"] = six_digits(score.mean_cost);
  json["mean_area"] = six_digits(score.mean_area);
  json["mean_last"] = six_digits(score.mean_last);
  json["trials"] = Json::array();
  for (const TrialCurve& trial : candidate.trials) json["trials"].push_back(trial_json(trial));
  return json;
}

Json rival_json(const AdviceEvidence& evidence, const RunnerUp& rival) {
  return {{"candidate", rival.candidate},
          {"text", runner_up_text(evidence, rival)},
          {"advised_is_better", estimate_json(rival.advised_is_better)}};
}

Json words_json(const AdviceEvidence& evidence, const Advice& advice) {
  Json json{{"verdict", verdict_name(advice.verdict)},
            {"candidate",
             advice.verdict == AdviceVerdict::kNothing ? Json() : Json(advice.order.front())},
            {"order", advice.order},
            {"threshold", six_digits(advice.threshold)},
            {"cost", estimate_json(advice.cost)},
            {"steps", estimate_json(advice.steps)},
            {"reached", advice.reached},
            {"trials", advice.trials},
            {"horizon", six_digits(advice.horizon)},
            {"last_return", six_digits(advice.last_return)},
            {"answer", advice.answer},
            {"expected", advice.expected},
            {"because", advice.because},
            {"tried", advice.tried},
            {"changes_mind", advice.changes_mind},
            {"not_known", advice.not_known}};
  json["runners_up"] = Json::array();
  for (const RunnerUp& rival : advice.runners_up)
    json["runners_up"].push_back(rival_json(evidence, rival));
  json["change"] = !advice.change ? Json()
                                  : Json{{"change", advice.change->change},
                                         {"is_better", estimate_json(advice.change->is_better)},
                                         {"is_taken", advice.change->is_taken}};
  json["against_default"] =
      advice.against_default ? rival_json(evidence, *advice.against_default) : Json();
  return json;
}

Json gradient_json(const GradientEvidence& gradient) {
  Json json{{"why_not", gradient.why_not}, {"global_step", gradient.global_step}};
  add_keys(gradient.policy, json["policy"]);
  json["rows"] = Json::array();
  for (const GradientEvidence::Row& row : gradient.rows) {
    json["rows"].push_back({{"num_envs", row.num_envs},
                            {"num_steps", row.num_steps},
                            {"cosine", estimate_json(row.cosine)},
                            {"agreement", estimate_json(row.agreement)},
                            {"agreement_refitted", estimate_json(row.refitted)},
                            {"noise_scale", estimate_json(row.noise_scale)},
                            {"critical_batch", estimate_json(row.critical_batch)}});
  }
  return json;
}

// Results depend on the clock and machine only here and in the candidates' speeds.
Json machine_json(const AdviceEvidence& evidence, const Manifest& program) {
  return {{"cpu", program.cpu},
          {"cores", program.cores},
          {"threads", evidence.threads},
          {"spent_seconds", six_digits(evidence.spent_seconds)}};
}

// Null if costs are environment steps.
Json speeds_from_json(const AdviceEvidence& evidence, const Manifest& program) {
  if (!evidence.counts_seconds) return {};
  const SpeedSource& source = evidence.speeds_from;
  return {{"cpu", source.cpu.empty() ? program.cpu : source.cpu}, {"threads", source.threads}};
}

Status not_an_advice(const std::string& path) {
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is not an advice.json with config, speeds_from and the candidates' "
                      "steps_per_second; give one that this version of `broadloom advise` wrote "
                      "with a budget of seconds",
                      path)};
}

}  // namespace

Json advice_json(const AdviceResult& result, const std::vector<std::string>& command) {
  const AdviceEvidence& e = result.evidence;
  const Manifest program = make_manifest({}, 0, e.threads, "");
  Json json{{"format", 1},
            {"kind", "advice"},
            {"created", program.created},
            {"version", program.version},
            {"revision", program.revision},
            {"command", command},
            {"env_id", e.env_id},
            {"config", config_json(e.config)},
            {"goal", goal_name(e.goal)},
            {"rule", rule_name(e.rule)},
            {"candidates_for", kind_name(e.kind)},
            {"unit", e.counts_seconds ? "seconds" : "environment steps"},
            {"speeds_from", speeds_from_json(e, program)},
            {"budget_seconds", e.budget_seconds},
            {"budget_steps", e.budget_steps},
            {"spent_steps", e.spent_steps},
            {"seed", e.seed},
            {"seeds", e.seeds},
            {"eval_episodes", e.eval_episodes},
            {"interrupted", e.interrupted},
            {"threshold", six_digits(e.threshold)},
            {"threshold_source", e.threshold_source},
            {"untrained", estimate_json(e.untrained)},
            {"held", e.held},
            {"left_out", e.left_out},
            {"notes", e.notes}};
  json["machine"] = machine_json(e, program);
  json["advice"] = words_json(e, result.advice);
  json["candidates"] = Json::array();
  for (std::size_t c = 0; c < e.candidates.size(); ++c) {
    json["candidates"].push_back(candidate_json(e, result.advice, c));
  }
  json["rungs"] = Json::array();
  for (const Rung& rung : e.rungs) {
    json["rungs"].push_back({{"cost", six_digits(rung.cost)}, {"candidates", rung.candidates}});
  }
  json["changes"] = Json::array();
  const AdviceEvidence changes = with_changes(e);
  for (std::size_t c = 0; c < e.changes.size(); ++c) {
    json["changes"].push_back(candidate_json(changes, result.advice, c));
  }
  json["no_changes"] = e.no_changes;
  json["gradient"] = gradient_json(e.gradient);
  return json;
}

Result<KnownSpeeds> read_speeds(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return text.status();
  const Json json = Json::parse(text.value());
  if (json["kind"] != "advice" || json["format"] != 1) return not_an_advice(path);
  KnownSpeeds known{path, {}, {json["speeds_from"]["cpu"].text(), 0}, {}};
  if (known.source.cpu.empty()) known.source.cpu = "an unnamed processor";
  known.source.threads = json["speeds_from"]["threads"].integer<int>();
  for (const auto& [key, value] : json["config"].members()) {
    known.config.emplace_back(key, value.text());
  }
  for (const Json& candidate : json["candidates"].elements()) {
    KnownSpeeds::Speed speed;
    speed.candidate = {candidate["num_envs"].integer<int>(), candidate["num_steps"].integer<int>(),
                       candidate["minibatch_size"].integer<int>(),
                       candidate["update_epochs"].integer<int>(),
                       candidate["learning_rate"].real()};
    speed.steps_per_second = candidate["steps_per_second"].real();
    if (speed.steps_per_second > 0.0) known.speeds.push_back(speed);
  }
  const bool has_source = !known.config.empty() && known.source.threads > 0;
  if (known.speeds.empty() || !has_source) return not_an_advice(path);
  return known;
}

Result<std::string> advice_page(const std::string& json) {
  return make_data_page({.file = "advice.json",
                         .command = "broadloom advise",
                         .kind = "advice",
                         .title = "Advice",
                         .scripts = {assets::kAdviceJs}},
                        json);
}

}  // namespace broadloom
