// `broadloom env list|show|check|bench`: lists, describes, checks and times environments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broadloom/config/keys.h"
#include "broadloom/config/needs.h"
#include "broadloom/core/escape.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/json.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/env_bench.h"
#include "cli/env_check.h"
#include "cli/progress.h"

namespace broadloom::cli {
namespace {

struct EnvCommand {
  std::string source;  // an id or a config
  BenchOptions bench;
  bool json = false;
};

// "4 x [-1, 1] [0, 5]": equal neighbours once, with their count.
std::string bounds_text(const Space& space) {
  std::string out;
  for (std::size_t i = 0, next = 0; i < space.low.size(); i = next) {
    while (next < space.low.size() && space.low[next] == space.low[i] &&
           space.high[next] == space.high[i]) {
      ++next;
    }
    const std::string count = next - i > 1 ? fmt::format("{} x ", next - i) : "";
    out += fmt::format("{}{}[{:g}, {:g}]", i > 0 ? " " : "", count, space.low[i], space.high[i]);
  }
  return out;
}

Json space_json(const Space& space) {
  if (space.kind == SpaceKind::kDiscrete) return {{"kind", "discrete"}, {"n", space.size}};
  if (space.kind == SpaceKind::kHybrid) {
    const auto first = space.leading_choices;
    return {{"kind", "hybrid"},
            {"choices", space.choices()},
            {"low", std::vector<float>(space.low.begin() + first, space.low.end())},
            {"high", std::vector<float>(space.high.begin() + first, space.high.end())}};
  }
  if (space.kind == SpaceKind::kMultiDiscrete) {
    return {{"kind", "multi_discrete"}, {"choices", space.choices()}};
  }
  return {{"kind", "box"},
          {"size", space.size},
          {"dtype", space.dtype == Dtype::kU8 ? "uint8" : "float32"},
          {"shape", space.extents()},
          {"low", space.low},
          {"high", space.high}};
}

Json spec_json(const EnvSpec& spec) {
  Json out = {{"id", spec.id},
              {"summary", spec.summary},
              {"observation", space_json(spec.observation)},
              {"critic_observation", nullptr},
              {"action", space_json(spec.action)},
              {"max_episode_steps", spec.max_episode_steps},
              {"reward_threshold", nullptr},
              {"random_score", nullptr},
              {"reference_score", nullptr},
              {"end_reasons", spec.end_reasons},
              {"names_success", spec.names_success},
              {"upstream", spec.upstream},
              {"engine", spec.engine},
              {"built_in", is_built_in(spec.id)}};
  if (spec.has_critic_observation()) {
    out["critic_observation"] = space_json(spec.critic_observation);
  }
  for (const RewardTerm& term : spec.reward_terms) out["reward_terms"][term.name] = term.weight;
  for (const Measure& measure : spec.measures) out["measures"][measure.name] = measure.unit;
  for (const CommandRange& command : spec.commands) {
    out["commands"][command.name] = std::vector<double>{command.low, command.high};
  }
  if (!spec.terrain.empty()) out["terrain"] = spec.terrain;
  if (spec.has_reward_threshold) out["reward_threshold"] = spec.reward_threshold;
  if (spec.has_score_range) {
    out["random_score"] = spec.random_score;
    out["reference_score"] = spec.reference_score;
  }
  return out;
}

std::string threshold_text(const EnvSpec& spec) {
  return spec.has_reward_threshold ? fmt::format("{:g}", spec.reward_threshold) : "-";
}

std::string score_range_text(const EnvSpec& spec) {
  if (!spec.has_score_range) return "-";
  return fmt::format("{:g} for a random policy, {:g} for the reference policy", spec.random_score,
                     spec.reference_score);
}

std::string limit_text(const EnvSpec& spec) {
  return spec.max_episode_steps > 0 ? with_commas(spec.max_episode_steps) : "-";
}

std::string origin_text(const EnvSpec& spec) {
  if (!spec.plugin.name.empty()) return " (from a plug-in)";
  return is_built_in(spec.id) ? "" : " (registered by this program)";
}

int list(const EnvCommand& command) {
  const std::vector<EnvSpec> specs = list_envs();
  if (command.json) {
    Json all = Json::array();
    for (const EnvSpec& spec : specs) all.push_back(spec_json(spec));
    print_json({{"environments", all}});
    return 0;
  }
  const std::string seen = "OBSERVATION", done = "ACTION";
  std::size_t seen_width = seen.size(), done_width = done.size();
  for (const EnvSpec& spec : specs) {
    seen_width = std::max(seen_width, shape_text(spec.observation).size());
    done_width = std::max(done_width, shape_text(spec.action).size());
  }
  constexpr const char* kRow = "{:<26} {:<{}} {:<{}} {:>6} {:>10}  {}\n";
  tell(kRow, "ID", seen, seen_width, done, done_width, "LIMIT", "THRESHOLD", "DESCRIPTION");
  for (const EnvSpec& spec : specs) {
    tell(kRow, spec.id, shape_text(spec.observation), seen_width, shape_text(spec.action),
         done_width, limit_text(spec), threshold_text(spec), spec.summary + origin_text(spec));
  }
  for (const AbsentEnvironments& absent : list_absent()) {
    tell("Not in this program, since it was built without {}: {}. To add them, {}.\n",
         absent.simulator, fmt::join(absent.ids, ", "), absent.how_to_get);
  }
  return 0;
}

constexpr const char* kSourceHelp = "Environment, such as CartPole-v1, or a config in TOML";

struct NamedEnv {
  std::string id;
  Overrides options;
  int max_episode_steps = 0;  // of the config; 0: the environment's own
};

// The environment of an id or a config, with the options of config and flags. Refuses what `train`
// refuses. The options are without those that training adds by itself.
Result<NamedEnv> named_env(const std::string& source, const Context& context) {
  const bool is_file = source.ends_with(".toml");
  const Overrides id = {{"env_id", source}};
  const Result<Settings> settings =
      read_settings(is_file ? source : "", is_file ? Overrides() : id, context.env_options);
  if (!settings.ok()) return settings.status();
  const Result<Config> config = config_of(settings.value());
  if (!config.ok()) return config.status();
  Config own;
  for (const auto& [key, text] : settings.value().all) {
    if (is_env_option(key)) BROADLOOM_TRY(set_config(own, key, text));
  }
  return NamedEnv{config.value().env_id, own.env_options, config.value().max_episode_steps};
}

void print_options(const std::vector<FieldInfo>& options) {
  if (options.empty()) return;
  tell("\nOptions (as flags: --env.<option> VALUE)\n");
  std::size_t widest = 20;
  for (const FieldInfo& field : options) widest = std::max(widest, field.name.size());
  for (const FieldInfo& field : options) {
    const std::string range = field.range_text.empty() ? "" : " [" + field.range_text + "]";
    tell("  {:<{}} {:<8} {}{} (default {})\n", field.name, widest, field.type, help_of(field),
         range, field.default_text.empty() ? "none" : field.default_text);
  }
}

// "-1 angle_squared - 0.1 speed_squared".
std::string reward_text(const EnvSpec& spec) {
  std::string out;
  for (const RewardTerm& term : spec.reward_terms) {
    const double size = term.weight < 0.0 ? -term.weight : term.weight;
    const char* sign = term.weight < 0.0 ? "-" : "+";
    out += out.empty() ? fmt::format("{:g} {}", term.weight, term.name)
                       : fmt::format(" {} {:g} {}", sign, size, term.name);
  }
  return out;
}

void print_spec(const EnvSpec& spec) {
  tell("{}\n{}{}\n\n", spec.id, spec.summary, origin_text(spec));
  tell("  observation   {} {}\n", shape_text(spec.observation), bounds_text(spec.observation));
  if (spec.has_critic_observation()) {
    tell("  critic reads  {} {}\n", shape_text(spec.critic_observation),
         bounds_text(spec.critic_observation));
  }
  tell("  action        {} {}\n", shape_text(spec.action), bounds_text(spec.action));
  tell("  time limit    {} steps\n", limit_text(spec));
  tell("  threshold     {}\n", threshold_text(spec));
  tell("  scores        {}\n", score_range_text(spec));
  if (!spec.reward_terms.empty()) tell("  reward        {}\n", reward_text(spec));
  for (const Measure& measure : spec.measures) {
    tell("  measures      {}, {}\n", measure.name, measure.unit);
  }
  for (const CommandRange& command : spec.commands) {
    tell("  command       {}: {:g} to {:g}\n", command.name, command.low, command.high);
  }
  if (!spec.terrain.empty()) tell("  terrain       {}\n", spec.terrain);
  tell("  ends by       {}\n", fmt::join(spec.end_reasons, ", "));
  tell("  upstream      {}\n", one_line(spec.upstream));
  if (!spec.engine.empty()) tell("  stepped by    {}\n", spec.engine);
}

int show(const EnvCommand& command, const Context& context) {
  const Result<NamedEnv> env = named_env(command.source, context);
  if (!env.ok()) return report_error(env.status(), command.json);
  Result<EnvSpec> spec = env_spec(env.value().id, env.value().options);
  if (!spec.ok()) return report_error(spec.status(), command.json);
  const int limit = env.value().max_episode_steps;
  if (limit > 0) spec.value().max_episode_steps = limit;
  const Result<std::vector<FieldInfo>> options =
      list_env_options(env.value().id, env.value().options);
  if (!options.ok()) return report_error(options.status(), command.json);
  if (!command.json) {
    print_spec(spec.value());
    print_options(options.value());
    return 0;
  }
  Json out = spec_json(spec.value());
  out["options"] = Json::array();
  for (const FieldInfo& field : options.value()) {
    out["options"].push_back({{"name", field.name},
                              {"type", field.type},
                              {"default", field.default_text},
                              {"values", field.range_text},
                              {"doc", help_of(field)}});
  }
  print_json(out);
  return 0;
}

int bench(const EnvCommand& command, const Context& context) {
  const Result<NamedEnv> env = named_env(command.source, context);
  if (!env.ok()) return report_error(env.status(), command.json);
  const std::string& id = env.value().id;
  BenchOptions options = command.bench;
  options.threads = std::min(resolve_threads(options.threads), options.num_envs);
  options.max_episode_steps = env.value().max_episode_steps;
  ShareLine line(false);
  options.on_share = [&](double share) { line.show_rest(fmt::format("{} stepped", id), share); };
  const Result<BenchResult> result = bench_env(id, env.value().options, options);
  line.clear();
  if (!result.ok()) return report_error(result.status(), command.json);
  if (command.json) {
    print_json({{"env_id", id},
                {"num_envs", options.num_envs},
                {"num_steps", options.num_steps},
                {"threads", result.value().threads},
                {"isa", active_isa()},
                {"seconds", result.value().seconds},
                {"steps_per_second", result.value().steps_per_second},
                {"episodes", result.value().episodes},
                {"mean_return", result.value().mean_return}});
    return 0;
  }
  tell("{}: {} environments, {} steps each, {} thread{}, {}: {} steps/s\n", id,
       with_commas(options.num_envs), with_commas(options.num_steps), result.value().threads,
       result.value().threads == 1 ? "" : "s", active_isa(),
       with_commas(static_cast<std::int64_t>(result.value().steps_per_second)));
  tell("Random policy: {} episodes, mean return {}\n", with_commas(result.value().episodes),
       fixed_text(result.value().mean_return, 2));
  return 0;
}

void add_list(Command env, Context& context, const std::shared_ptr<EnvCommand>& command) {
  const Command app = env.add_subcommand("list", "Name every environment");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] { context.action = [command] { return list(*command); }; });
}

void add_show(Command env, Context& context, const std::shared_ptr<EnvCommand>& command) {
  const Command app =
      env.add_subcommand("show", "Describe one: spaces, limit, threshold, options, upstream");
  app.add_option("ID", command->source, kSourceHelp).required();
  add_env_option_flag(app);
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] {
    context.action = [&context, command] { return show(*command, context); };
  });
}

void add_check(Command env, Context& context) {
  const auto check = std::make_shared<EnvCheck>();
  const auto source = std::make_shared<std::string>();
  const Command app = env.add_subcommand(
      "check", "Check that one behaves as training needs it (exit code 6: it does not)");
  app.add_option("ID", *source, kSourceHelp).required();
  app.add_option("--time_limit", check->options.time_limit,
                 "Time limit set for the check (default 20; below the environment's own)")
      .range(2, 1 << 20)
      .type_name("INT");
  app.add_option("--num_steps", check->options.num_steps,
                 "Steps of each check, at least two time limits (default 150)")
      .range(1, 1 << 20)
      .type_name("INT");
  app.add_flag("--no_chance", check->no_chance,
               "The environment has no randomness: other seeds may give the same");
  add_env_option_flag(app);
  app.add_flag("--json", check->json, "Standard output is one JSON object");
  app.callback([&context, check, source] {
    context.action = [&context, check, source] {
      Result<NamedEnv> named = named_env(*source, context);
      if (!named.ok()) return report_error(named.status(), check->json);
      check->id = named.value().id;
      return check_env(*check, named.value().options);
    };
  });
}

void add_bench(Command env, Context& context, const std::shared_ptr<EnvCommand>& command) {
  const Command app =
      env.add_subcommand("bench", "Measure the steps per second of one, under random actions");
  BenchOptions& bench_options = command->bench;
  app.add_option("ID", command->source, kSourceHelp).required();
  app.add_option("--num_envs", bench_options.num_envs, "Environments side by side (default 64)")
      .range(1, 1 << 20)
      .type_name("INT");
  app.add_option("--num_steps", bench_options.num_steps, "Steps of each (default 10000)")
      .range(1, 1 << 30)
      .type_name("INT");
  app.add_option("--seed", bench_options.seed, "Seed of resets, steps and actions (default 1)")
      .type_name("INT");
  app.add_option("--threads", bench_options.threads, "Worker threads (default: all)")
      .range(0, 1024)
      .type_name("INT");
  app.add_option("--isa", bench_options.isa,
                 "Instruction set, as in `broadloom train` (default auto)")
      .type_name("NAME");
  add_env_option_flag(app);
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] {
    context.action = [&context, command] { return bench(*command, context); };
  });
}

}  // namespace

void add_env_command(Command root, Context& context) {
  const Command env = root.add_subcommand("env", "List, show, check and time the environments");
  env.require_subcommand();
  const auto command = std::make_shared<EnvCommand>();
  add_list(env, context, command);
  add_show(env, context, command);
  add_check(env, context);
  add_bench(env, context, command);
}

}  // namespace broadloom::cli
