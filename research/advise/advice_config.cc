#include "research/advise/advice_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "broadloom/record/json.h"
#include "broadloom/setup/resolve_config.h"
#include "research/advise/portfolio.h"
#include "research/advise/ranking.h"

namespace broadloom {
namespace {

constexpr double kSlack = 2.0;  // times the slowest trial

std::int64_t steps_to_train(const Config& base, const AdviceEvidence& evidence,
                            const Advice& advice) {
  std::int64_t slowest = 0, made = 0;
  for (const TrialCurve& trial : evidence.candidates[advice.order.front()].trials) {
    if (trial.points.empty()) continue;
    made = std::max(made, trial.points.back().global_step);
    const auto reached_at = steps_to_threshold(trial, advice.threshold, made);
    slowest = std::max(slowest, reached_at.value_or(0));
  }
  if (evidence.goal == AdviceGoal::kReturn) return made;
  if (advice.verdict == AdviceVerdict::kReached) {
    return std::max(made, static_cast<std::int64_t>(kSlack * static_cast<double>(slowest)));
  }
  return std::max(made, base.total_timesteps);
}

// A key's text in TOML. Lists become arrays, ranges of strata pairs, and words are quoted.
std::string toml_of(const std::string& type, const std::string& text) {
  if (type == "int" || type == "float" || type == "bool") return text;
  if (type == "list") return "[" + text + "]";
  if (type == "names") {
    std::vector<std::string> names;
    if (!text.empty() && !parse_text(text, names).ok()) return Json(text).dump();
    return Json(names).dump();
  }
  return Json(text).dump();  // a JSON string is also a TOML string
}

// The same for options of environments and their strata; only the environment knows their types.
std::string toml_of_option(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    return "[" + text.substr(0, dots) + ", " + text.substr(dots + 2) + "]";
  }
  bool truth = false;
  double number = 0.0;
  const bool plain = parse_text(text, truth).ok() || parse_text(text, number).ok();
  return plain ? text : Json(text).dump();
}

// "env.is_slippery" for an option, but keys with a table's name stay.
std::string option_key(const std::string& key) {
  const bool has_table = key.rfind("strata.", 0) == 0 || key.rfind("disturb.", 0) == 0;
  return has_table ? key : "env." + key;
}

// A line break in a name would end the comment.
std::string comment(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::string out;
  std::size_t begin = 0;
  constexpr std::size_t kColumns = 98;
  while (begin < text.size()) {
    std::size_t end = std::min(text.size(), begin + kColumns);
    if (end < text.size()) {
      const std::size_t blank = text.rfind(' ', end);
      if (blank != std::string::npos && blank > begin) end = blank;
    }
    out += "# " + text.substr(begin, end - begin) + "\n";
    begin = end + (end < text.size() ? 1 : 0);
  }
  return out;
}

}  // namespace

Config advised_config(const Config& base, const Overrides& given, const AdviceEvidence& evidence,
                      const Advice& advice) {
  Config config = config_of(base, evidence.candidates[advice.order.front()].candidate);
  const bool is_set = std::any_of(given.begin(), given.end(),
                                  [](const auto& e) { return e.first == "total_timesteps"; });
  const std::int64_t B = config.batch_size();
  if (!is_set) {
    const std::int64_t steps = steps_to_train(base, evidence, advice);
    config.total_timesteps = (steps + B - 1) / B * B;
  }
  if (!advice.change || !advice.change->is_taken) return config;
  const Candidate& changed = evidence.changes[advice.change->change].candidate;
  // A shorter run that the caller asked for ends before its shape would change.
  if (changed.then.after >= config.total_timesteps) return config;
  return config_of(config, changed);
}

std::string advice_toml(const Config& config, const Advice& advice) {
  // Advised keys, and keys from which the usual values of all others follow.
  static const std::set<std::string> kAlways{
      "env_id",         "algorithm",     "encoder",       "num_envs",    "num_steps",
      "minibatch_size", "update_epochs", "learning_rate", "lr_schedule", "total_timesteps"};
  const std::vector<FieldInfo> usual = list_fields(usual_config(config));
  const std::set<std::string> idle = idle_keys(config);  // which would be refused
  std::string out = comment(advice.answer) + comment(advice.expected);
  if (advice.change && advice.change->is_taken && config.shape_schedule.empty()) {
    out +=
        comment("A run of total_timesteps ends before its shape would change: it stays as it is.");
  }
  std::size_t i = 0;
  for (const FieldInfo& field : list_fields(config)) {
    const bool differs = field.value_text != usual[i++].value_text ||
                         (field.name == "dialect" && config.dialect != Config{}.dialect);
    if (idle.count(field.name) > 0 || (!differs && kAlways.count(field.name) == 0)) continue;
    out += fmt::format("{} = {}\n", field.name, toml_of(field.type, field.value_text));
  }
  for (const auto& [key, text] : config.env_options) {
    out += fmt::format("{} = {}\n", option_key(key), toml_of_option(text));
  }
  return out;
}

}  // namespace broadloom
