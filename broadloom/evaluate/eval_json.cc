#include "broadloom/evaluate/eval_json.h"

#include "broadloom/record/json_line.h"

namespace broadloom {
namespace {

// The fields that the lines of both files share.
JsonLine eval_fields(const EvalResult& result, std::uint64_t seed) {
  JsonLine reasons, measures;
  for (const EvalResult::Reason& reason : result.reasons) reasons.add(reason.name, reason.count);
  for (const auto& [measure, mean] : result.measures) {
    measures.add_raw(measure.name, JsonLine()
                                       .add("unit", measure.unit)
                                       .add("value", mean.value)
                                       .add("low", mean.low)
                                       .add("high", mean.high)
                                       .str());
  }
  JsonLine line;
  line.add("global_step", result.global_step)
      .add("mean_return", result.mean_return)
      .add("ci_low", result.ci_low)
      .add("ci_high", result.ci_high)
      .add("std_return", result.std_return)
      .add("mean_length", result.mean_length)
      .add("success_rate", result.success_rate.value)
      .add("success_low", result.success_rate.low)
      .add("success_high", result.success_rate.high)
      .add("failure_rate", result.failure_rate.value)
      .add("failure_low", result.failure_rate.low)
      .add("failure_high", result.failure_rate.high)
      .add_raw("reasons", reasons.str())
      .add("episodes", result.episodes)
      .add("seed", seed);
  if (result.asked > result.episodes) line.add("asked", result.asked);
  if (!result.measures.empty()) line.add_raw("measures", measures.str());
  return line;
}

}  // namespace

std::string eval_json_line(const EvalResult& result, std::uint64_t seed) {
  JsonLine line = eval_fields(result, seed).add("source", "train");
  // Lines from before the key `eval_actions` have none either, and are compared with these.
  if (result.actions != EvalActions::kMostLikely) line.add("actions", actions_name(result.actions));
  return line.line();
}

std::string command_eval_json_line(const EvalResult& result, const EvalOptions& options) {
  JsonLine line = eval_fields(result, options.seed);
  line.add("source", "command")
      .add("actions", actions_name(result.actions))
      .add("max_steps", options.longest_episode);
  if (!result.engine.empty()) line.add("engine", result.engine);
  return line.line();
}

}  // namespace broadloom
