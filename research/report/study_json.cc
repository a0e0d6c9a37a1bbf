#include "research/report/study_json.h"

#include "broadloom/record/json.h"
#include "research/report/json_numbers.h"
#include "research/report/report_answer.h"
#include "research/report/report_scores.h"

namespace broadloom {
namespace {

// The value's JSON, or null.
template <class Value, class F>
Json optional_json(const std::optional<Value>& value, F&& to_json) {
  return value ? to_json(*value) : Json(nullptr);
}

template <class Value, class F>
Json list_json(const std::vector<Value>& values, F&& to_json) {
  Json json = Json::array();
  for (const Value& value : values) json.push_back(to_json(value));
  return json;
}

Json numbers(const std::vector<double>& values) { return list_json(values, six_digits); }

Json estimates(const std::vector<Estimate>& values) { return list_json(values, estimate_json); }

Json counts_json(const RunCounts& counts) {
  return {{"all", counts.all},
          {"finished", counts.finished},
          {"failed", counts.failed},
          {"pending", counts.pending}};
}

Json study_json(const ReportStudy& s) {
  return {{"name", s.name},
          {"store", s.store},
          {"hash", s.hash},
          {"match", s.match},
          {"adjust", s.adjust},
          {"points", s.points},
          {"evaluations", s.evaluations},
          {"eval_episodes", s.eval_episodes},
          {"eval_actions", std::vector<std::string>(s.eval_actions.begin(), s.eval_actions.end())},
          {"shard", s.part},
          {"shards", s.parts},
          {"seeds", s.seeds},
          {"created", s.created},
          {"version", s.version},
          {"revision", s.revision},
          {"run_revisions", s.run_revisions},
          {"hardware", s.hardware},
          {"isa", s.isa},
          {"runs", counts_json(s.runs)},
          {"sampler", s.sampler.empty() ? Json() : Json(s.sampler)},
          {"definition", s.definition}};
}

Json task_json(const ReportTask& t) {
  return {{"name", t.name},
          {"env_id", t.env_id},
          {"random_score", six_digits(t.random_score)},
          {"reference_score", six_digits(t.reference_score)},
          {"why_not", t.why_not},
          {"max_episode_steps", t.max_episode_steps}};
}

Json statistics_json(const RunStatistics& s) {
  return {{"iqm", estimate_json(s.iqm)},
          {"mean", estimate_json(s.mean)},
          {"median", estimate_json(s.median)}};
}

Json run_json(const ReportRun& run) {
  return {{"seed", run.seed},
          {"training", six_digits(run.training)},
          {"evaluation", six_digits(run.evaluation)},
          {"area", six_digits(run.area)},
          {"seconds", six_digits(run.seconds)}};
}

Json curve_json(const ReportCurve& curve) {
  return {{"key", curve.key}, {"steps", numbers(curve.positions)}, {"iqm", estimates(curve.iqm)}};
}

Json profile_json(const PerformanceProfile& profile) {
  return {{"thresholds", numbers(profile.thresholds)}, {"shares", estimates(profile.shares)}};
}

Json texts_json(const Overrides& texts) {
  Json json = Json::object();
  for (const auto& [key, text] : texts) json[key] = text;
  return json;
}

Json tuned_json(const TunedChoice& choice) {
  const auto value = [&](int candidate) {
    return choice.values[static_cast<std::size_t>(candidate)];
  };
  Json like = Json::array(), chosen = Json::array(), scores = Json::array();
  for (int c = 0; c < choice.candidates.count; ++c) {
    if (choice.like_best[static_cast<std::size_t>(c)]) like.push_back(value(c));
    Json of_candidate = Json::array();
    for (int s = 0; s < choice.candidates.seeds; ++s) {
      of_candidate.push_back(six_digits(choice.candidates.score(c, s)));
    }
    scores.push_back(std::move(of_candidate));
  }
  for (const int candidate : choice.chosen) chosen.push_back(value(candidate));
  return {
      {"keys", choice.keys},          {"values", choice.values},
      {"left_out", choice.left_out},  {"score", choice.by_evaluation ? "evaluation" : "training"},
      {"seeds", choice.seeds},        {"scores", std::move(scores)},
      {"chosen", std::move(chosen)},  {"best", value(choice.best)},
      {"like_best", std::move(like)}, {"at_edge", choice.at_edge}};
}

Json cell_json(const ReportCell& c) {
  Json json{{"name", c.name},
            {"study", c.study},
            {"task", c.task},
            {"arm", c.arm},
            {"num_envs", c.num_envs},
            {"num_steps", c.num_steps},
            {"batch_size", c.batch_size},
            {"minibatch_count", c.minibatch_count},
            {"minibatch_size", c.minibatch_size},
            {"update_epochs", c.update_epochs},
            {"iterations", c.iterations},
            {"environment_steps", c.environment_steps},
            {"gradient_steps", c.gradient_steps},
            {"counted", c.counted},
            {"samples_per_gradient", six_digits(c.samples_per_gradient)},
            {"note", c.note},
            {"changes", texts_json(c.changes)},
            {"finished", c.counts.finished},
            {"failed", c.counts.failed},
            {"pending", c.counts.pending},
            {"seconds", estimate_json(c.seconds)}};
  json["scores"] = {{"training", optional_json(c.training, statistics_json)},
                    {"evaluation", optional_json(c.evaluation, statistics_json)},
                    {"area", optional_json(c.area, statistics_json)}};
  json["runs"] = list_json(c.runs, run_json);
  json["curves"] = list_json(c.curves, curve_json);
  json["time_curve"] = {{"key", c.time_curve.key},
                        {"seconds", numbers(c.time_curve.positions)},
                        {"iqm", estimates(c.time_curve.iqm)}};
  json["profile"] = profile_json(c.profile);
  json["tuned"] = optional_json(c.tuned, tuned_json);
  return json;
}

Json aggregates_json(const Aggregates& a) {
  return {{"iqm", estimate_json(a.iqm)},
          {"mean", estimate_json(a.mean)},
          {"median", estimate_json(a.median)},
          {"optimality_gap", estimate_json(a.optimality_gap)}};
}

Json normalised_json(const NormalisedScores& scores) {
  return {{"training", optional_json(scores.training, aggregates_json)},
          {"evaluation", optional_json(scores.evaluation, aggregates_json)},
          {"profile", profile_json(scores.profile)}};
}

Json arm_json(const ReportArm& a) {
  return {{"name", a.name},
          {"study", a.study},
          {"num_envs", a.num_envs},
          {"num_steps", a.num_steps},
          {"other", a.other},
          {"settings", texts_json(a.settings)},
          {"cells", a.cells},
          {"gradient_steps", a.gradient_steps},
          {"batch_size", a.batch_size},
          {"minibatch_size", a.minibatch_size},
          {"samples_per_gradient", six_digits(a.samples_per_gradient)},
          {"same_runs", a.same_runs >= 0 ? Json(a.same_runs) : Json(nullptr)},
          {"normalised", optional_json(a.normalised, normalised_json)}};
}

Json equality_json(const Equality& e) {
  return {{"environment_steps", e.environment_steps},
          {"gradient_steps", e.gradient_steps},
          {"minibatch_size", e.minibatch_size},
          {"batch_size", e.batch_size},
          {"shape", e.shape}};
}

const char* result_json(int result) { return result > 0 ? "a" : result < 0 ? "b" : "none"; }

Json task_comparison_json(const TaskComparison& t) {
  return {{"task", t.task},
          {"probability", estimate_json(t.probability)},
          {"result", result_json(t.result)}};
}

Json comparison_json(const ReportComparison& c) {
  return {{"a", c.a},
          {"b", c.b},
          {"score", score_name(c.score)},
          {"enough_runs", c.enough_runs},
          {"probability", estimate_json(c.probability)},
          {"difference", optional_json(c.difference, estimate_json)},
          {"equal", equality_json(c.equal)},
          {"result", result_json(c.result)},
          {"by_task", list_json(c.by_task, task_comparison_json)},
          {"confounds", c.confounds},
          {"hangs_on_choice", c.hangs_on_choice}};
}

const char* standing_json(Standing standing) {
  switch (standing) {
    case Standing::kLeads:
      return "leads";
    case Standing::kAlike:
      return "alike";
    case Standing::kLower:
      return "lower";
    case Standing::kUnknown:
      return "unknown";
  }
  return "";
}

const char* kind_json(LineKind kind) {
  switch (kind) {
    case LineKind::kWidthOfBatch:
      return "num_envs_of_batch";
    case LineKind::kWidth:
      return "num_envs";
    case LineKind::kLength:
      return "num_steps";
    case LineKind::kSetting:
      return "setting";
    case LineKind::kSettings:
      return "settings";
  }
  return "";
}

Json line_json(const ReportLine& l) {
  return {{"kind", kind_json(l.kind)},
          {"key", l.key},
          {"ordered", l.ordered},
          {"fixed", l.fixed},
          {"arms", l.arms},
          {"values", l.values},
          {"score", score_name(l.score)},
          {"task", l.task},
          {"leader", l.leader},
          {"standings", list_json(l.standings, standing_json)},
          {"ahead", list_json(l.ahead,
                              [](const std::optional<Estimate>& ahead) {
                                return optional_json(ahead, estimate_json);
                              })},
          {"chance", six_digits(l.chance)},
          {"differ", l.differ},
          {"effect", six_digits(l.effect)},
          {"room", six_digits(l.room)},
          {"equal", equality_json(l.equal)},
          {"confounds", l.confounds}};
}

Json calls_json(const LineCalls& c) {
  const auto [later, earlier] = sides_of(c);
  return {{"kind", kind_json(c.kind)},
          {"key", c.key},
          {"lines", c.lines},
          {"pairs", c.pairs},
          {"later", later},
          {"later_better", c.later_better},
          {"earlier", earlier},
          {"earlier_better", c.earlier_better},
          {"chance", six_digits(c.chance)}};
}

Json two_way_json(const ReportTwoWay& t) {
  return {{"task", t.task},
          {"kind", kind_json(t.kind)},
          {"key", t.key},
          {"other", t.other},
          {"values", t.values},
          {"levels", t.levels},
          {"arms", t.arms},
          {"held", t.held},
          {"score", score_name(t.score)},
          {"effects", estimates(t.effects)},
          {"difference", estimate_json(t.difference)},
          {"depends", t.depends},
          {"words", t.words}};
}

Json ranking_json(const ReportRanking& r) {
  return {{"task", r.task >= 0 ? Json(r.task) : Json(nullptr)},
          {"arms", r.arms},
          {"leader", r.leader},
          {"best", r.best},
          {"without", r.unscored}};
}

const char* trouble_kind(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kFailed:
      return "failed";
    case TroubleKind::kAtRandom:
      return "at_random";
    case TroubleKind::kCollapsed:
      return "collapsed";
    case TroubleKind::kStill:
      return "still";
  }
  return "";
}

Json trouble_json(const ReportTrouble& t) {
  Json json{{"kind", trouble_kind(t.kind)}, {"cell", t.cell}};
  if (t.kind == TroubleKind::kCollapsed || t.kind == TroubleKind::kStill) {
    json["at"] = six_digits(t.step);
  }
  if (t.kind == TroubleKind::kCollapsed) json["before"] = estimate_json(t.before);
  if (t.kind != TroubleKind::kFailed) json["after"] = estimate_json(t.after);
  return json;
}

Json instrument_json(const ReportInstrument& i) {
  return {{"key", i.key},
          {"title", i.title},
          {"unit", i.unit},
          {"constant", optional_json(i.constant, six_digits)}};
}

}  // namespace

std::string study_report_json(const StudyReport& r, const ReportMaker& maker) {
  Json json;
  json["format"] = kStudyJsonFormat;
  json["kind"] = "study";
  json["title"] = r.title;
  json["heading"] = r.heading;
  json["answer"] = r.answer;
  json["created"] = maker.created;
  json["version"] = maker.version;
  json["revision"] = maker.revision;
  json["command"] = maker.command;
  json["bootstrap"] = {
      {"replicates", r.replicates}, {"band_replicates", r.band_replicates}, {"seed", r.seed}};
  json["main_score"] = score_name(main_score(r));
  json["training_leaves_out"] = leaves_out_episodes(r);
  json["tuned"] = r.tuned;
  json["studies"] = list_json(r.studies, study_json);
  json["tasks"] = list_json(r.tasks, task_json);
  json["cells"] = list_json(r.cells, cell_json);
  json["arms"] = list_json(r.arms, arm_json);
  json["comparisons"] = list_json(r.comparisons, comparison_json);
  json["lines"] = list_json(r.lines, line_json);
  json["calls"] = list_json(r.calls, calls_json);
  json["two_way"] = list_json(r.two_way, two_way_json);
  json["rankings"] = list_json(r.rankings, ranking_json);
  json["troubles"] = list_json(r.troubles, trouble_json);
  json["instruments"] = list_json(r.instruments, instrument_json);
  json["notes"] = r.notes;
  return json.dump() + "\n";
}

}  // namespace broadloom
