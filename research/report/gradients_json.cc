#include "research/report/gradients_json.h"

#include <cmath>

#include "broadloom/record/json.h"
#include "research/lab/summary.h"
#include "research/report/json_numbers.h"

namespace broadloom {
namespace {

Json number(double x) { return six_digits(x); }

void add_shape(const BlockShape& shape, Json& json) {
  json["num_envs"] = shape.num_envs;
  json["num_steps"] = shape.num_steps;
}

void add_cosines(const CosineSummary& cosine, const char* count, Json& json) {
  json[count] = cosine.pairs;
  json["mean"] = estimate_json(cosine.mean);
  json["mean_abs"] = estimate_json(cosine.mean_abs);
  json["mean_square"] = estimate_json(cosine.mean_square);
  json["histogram"] = {{"low", -1.0}, {"high", 1.0}, {"counts", cosine.histogram}};
}

Json pairs(const PairCorrelation& p) {
  Json json;
  if (p.lag > 0) json["lag"] = p.lag;
  add_cosines(p.cosine, "pairs", json);
  json["uncentred_mean"] = estimate_json(p.uncentred);
  json["autocovariance"] = estimate_json(p.autocovariance);
  return json;
}

Json matrix(const std::vector<std::vector<float>>& rows) {
  Json json = Json::array();
  for (const std::vector<float>& row : rows) {
    Json line = Json::array();
    for (const float x : row) line.push_back(std::round(static_cast<double>(x) * 1e3) / 1e3);
    json.push_back(line);
  }
  return json;
}

Json correlation_json(const CorrelationResult& r, double gamma) {
  Json json;
  add_shape(r.shape, json);
  json["lambda"] = r.lambda;
  json["gamma"] = gamma;
  json["blocks"] = r.blocks;
  json["within"] = Json::array();
  for (const PairCorrelation& p : r.within) json["within"].push_back(pairs(p));
  json["across"] = pairs(r.across);
  add_cosines(r.with_mean, "samples", json["with_mean"]);
  add_cosines(r.batch_means, "pairs", json["batch_means"]);
  json["batch_means"]["matrix"] = matrix(r.batch_mean_matrix);
  return json;
}

Json variance_json(const VarianceResult& r, double gamma) {
  Json json;
  add_shape(r.shape, json);
  json["lambda"] = r.lambda;
  json["gamma"] = gamma;
  json["blocks"] = r.blocks;
  json["total"] = estimate_json(r.total);
  json["individual"] = estimate_json(r.individual);
  json["within"] = estimate_json(r.within);
  json["across"] = estimate_json(r.across);
  json["within_by_lag"] = Json::array();
  for (std::size_t k = 0; k < r.bins.size(); ++k) {
    json["within_by_lag"].push_back({{"low_lag", r.bins[k].low},
                                     {"high_lag", r.bins[k].high},
                                     {"value", estimate_json(r.within_by_lag[k])}});
  }
  json["parts_sum"] = estimate_json(r.parts_sum);
  json["parts_agree"] = r.parts_agree;
  json["sample_variance"] = estimate_json(r.sample_variance);
  json["squared_norm"] = estimate_json(r.squared_norm);
  json["variance_inflation"] = estimate_json(r.variance_inflation);
  json["effective_sample_size"] = estimate_json(r.effective_sample_size);
  json["signal_to_noise"] = estimate_json(r.signal_to_noise);
  json["noise_scale"] = estimate_json(r.noise_scale);
  json["critical_batch"] = estimate_json(r.critical_batch);
  return json;
}

Json agreement_json(const AgreementResult& r, double gamma) {
  Json json;
  add_shape(r.shape, json);
  json["lambda"] = r.lambda;
  json["gamma"] = gamma;
  json["blocks"] = r.blocks;
  json["critic"] = r.critic;
  json["norm_adv"] = r.norm_adv;
  json["agreement"] = estimate_json(r.agreement);
  json["away"] = estimate_json(r.away);
  return json;
}

Json bias_json(const BiasResult& r) {
  return {{"num_steps", r.num_steps},
          {"lambda", r.lambda},
          {"gamma", r.gamma},
          {"samples", r.samples},
          {"groups", r.groups},
          {"bias_norm", estimate_json(r.bias_norm)},
          {"bias_squared", estimate_json(r.bias_squared)},
          {"relative_bias", estimate_json(r.relative_bias)},
          {"expected_norm", estimate_json(r.expected_norm)},
          {"reference_norm", estimate_json(r.reference_norm)},
          {"cosine", estimate_json(r.cosine)},
          {"stopped", r.precise ? "precision" : "budget"}};
}

Json exact_case_json(const ExactResult& r) {
  Json json{{"num_steps", r.num_steps},
            {"num_envs", r.num_envs},
            {"lambda", r.lambda},
            {"gamma", r.gamma}};
  for (const ExactQuantity& q : r.quantities) {
    Json& entry = json[q.name];
    entry["exact"] = number(q.exact);
    entry["sampled"] = q.sampled ? estimate_json(*q.sampled) : Json(nullptr);
    entry["agrees"] = q.sampled ? Json(q.sampled->holds(q.exact)) : Json(nullptr);
  }
  return json;
}

Json exact_json(const ExactReport& r) {
  Json json{{"states", r.states},
            {"actions", r.actions},
            {"max_episode_steps", r.max_episode_steps},
            {"mean_episode_length", number(r.mean_episode_length)},
            {"mean_return", number(r.mean_return)}};
  json["cases"] = Json::array();
  for (const ExactResult& c : r.cases) json["cases"].push_back(exact_case_json(c));
  return json;
}

Json settings_json(const GradientStudyReport& r) {
  return {{"batch", r.batch},
          {"blocks", r.blocks},
          {"groups", r.groups},
          {"confidence", kConfidence},
          {"starts", r.starts},
          {"start_envs", r.start_envs},
          {"burn_in", r.burn_in},
          {"loss", r.loss},
          {"norm_adv", r.norm_adv},
          {"value_term", r.value_term},
          {"entropy_term", r.entropy_term},
          {"truncation_mode", r.truncation_mode},
          {"max_episode_steps", r.max_episode_steps},
          {"beyond_limit", r.beyond_limit},
          {"gamma", r.gamma},
          {"gae_lambda", r.gae_lambda},
          {"lambdas", r.lambdas},
          {"seed", r.seed},
          {"threads", r.threads}};
}

Json list_json(const std::string& text) {
  std::vector<int> numbers;
  static_cast<void>(parse_text(text, numbers));  // made from a list
  return numbers;
}

Json value_json(const FieldInfo& field) {
  if (field.type == "list") return list_json(field.value_text);
  if (field.type == "bool") return field.value_text == "true";
  const bool is_number = field.type == "int" || field.type == "float";
  return is_number ? Json::parse(field.value_text) : Json(field.value_text);
}

template <class Results, class F>
void add_list(const std::optional<Results>& results, const char* key, F&& to_json, Json& json) {
  if (!results) return;
  json[key] = Json::array();
  for (const auto& result : *results) json[key].push_back(to_json(result));
}

}  // namespace

Json network_json(const Config& config) {
  Json json;
  for (const FieldInfo& field : list_fields(config)) {
    if (field.facts.role == Role::kNetwork) json[field.name] = value_json(field);
  }
  return json;
}

std::string gradients_json(const GradientStudyReport& r, const std::string& created,
                           const std::string& version, const std::string& revision) {
  Json json;
  json["format"] = 1;
  json["created"] = created;
  json["version"] = version;
  json["revision"] = revision;
  json["command"] = r.command;
  json["checkpoint"] = {{"file", r.checkpoint},
                        {"env_id", r.env_id},
                        {"iteration", r.iteration},
                        {"global_step", r.global_step}};
  json["policy"] = network_json(r.config);
  json["policy"]["parameters"] = r.policy_parameters;
  json["settings"] = settings_json(r);
  json["notes"] = r.notes;
  if (r.stopped) json["stopped"] = true;
  json["summary"] = summary_of(r);
  json["seconds"] = Json::object();
  for (const auto& [name, seconds] : r.seconds) json["seconds"][name] = number(seconds);
  const double gamma = r.gamma;
  add_list(
      r.agreement, "agreement",
      [gamma](const AgreementResult& a) { return agreement_json(a, gamma); }, json);
  if (r.critics) {
    json["critics"] = {{"own", number(r.critics->own)},
                       {"refitted", number(r.critics->refitted)},
                       {"exact", number(r.critics->exact)},
                       {"samples", r.critics->samples}};
  }
  add_list(
      r.correlation, "correlation",
      [gamma](const CorrelationResult& c) { return correlation_json(c, gamma); }, json);
  add_list(
      r.variance, "variance", [gamma](const VarianceResult& v) { return variance_json(v, gamma); },
      json);
  add_list(r.bias, "bias", bias_json, json);
  if (r.exact) json["exact"] = exact_json(*r.exact);
  return json.dump() + "\n";
}

}  // namespace broadloom
