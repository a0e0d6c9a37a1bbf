// `broadloom advise`: finds a block shape, minibatch and learning rate for a task.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/number_text.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/files.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "cli/run_dir.h"
#include "research/advise/advice_config.h"
#include "research/advise/advice_texts.h"
#include "research/advise/advise.h"
#include "research/report/advice_json.h"

namespace broadloom::cli {
namespace {

// Not an error code: the race ran, but nothing learned.
constexpr int kNoAdviceExit = 22;
constexpr const char* kAdviceGroup = "Command";

struct AdviseCommand {
  std::string file, out, time = "60s", purpose = "speed", rule = "race", threshold, speeds;
  std::int64_t steps = 0;
  int seeds = 3, threads = 0;
  bool reprobe = false, quiet = false, json = false;
  Overrides flags;
};

// "60s", "5m", "0.5h"; a number alone is seconds.
Result<double> seconds_of(const std::string& text) {
  const Status wrong =
      invalid(fmt::format("--time: got '{}', expected a time, as in 60s, 5m or 1h", text));
  if (text.empty()) return wrong;
  const std::string units = "smh";
  const std::size_t unit = units.find(text.back());
  const std::string number = unit == std::string::npos ? text : text.substr(0, text.size() - 1);
  double value = 0.0;
  if (!parse_text(number, value).ok() || value < 1.0 / 3600.0 || value > 1e6) return wrong;
  const double factors[] = {1.0, 60.0, 3600.0};
  return value * (unit == std::string::npos ? 1.0 : factors[unit]);
}

// Words of --for: a goal, a kind of task, or both.
Status read_purpose(const std::string& text, AdviceOptions& options) {
  std::vector<std::string> words;
  if (text.empty() || !parse_text(text, words).ok()) words = {text};
  int goals = 0, kinds = 0;
  for (const std::string& word : words) {
    bool is_known = false;
    for (const AdviceGoal goal : {AdviceGoal::kSpeed, AdviceGoal::kReturn}) {
      if (word != goal_name(goal)) continue;
      options.goal = goal;
      goals += 1;
      is_known = true;
    }
    for (const TaskKind kind :
         {TaskKind::kSmall, TaskKind::kRobots, TaskKind::kGames, TaskKind::kGpu}) {
      if (word != kind_name(kind)) continue;
      options.kind = kind;
      kinds += 1;
      is_known = true;
    }
    if (is_known && goals < 2 && kinds < 2) continue;
    return invalid(
        fmt::format("--for: got '{}', expected speed or return, a kind of task (small, robots, "
                    "games or gpu), or one of each, as in return,robots",
                    text));
  }
  return {};
}

Result<AdviceOptions> advice_options(const AdviseCommand& command) {
  AdviceOptions options;
  const Result<double> seconds = seconds_of(command.time);
  if (!seconds.ok()) return seconds.status();
  options.seconds = seconds.value();
  options.steps = command.steps;
  options.seeds = command.seeds;
  options.reprobe = command.reprobe;
  options.threads = resolve_threads(command.threads);
  BROADLOOM_TRY(read_purpose(command.purpose, options));
  if (command.rule != "race" && command.rule != "gradient") {
    return invalid(fmt::format("--rule: got '{}', expected race or gradient", command.rule));
  }
  options.rule = command.rule == "race" ? AdviceRule::kRace : AdviceRule::kGradient;
  if (options.kind && options.rule == AdviceRule::kGradient) {
    return invalid(fmt::format(
        "--for: got {}, but --rule gradient tries no candidates; leave {} out, or use --rule race",
        command.purpose, kind_name(*options.kind)));
  }
  if (!command.threshold.empty()) {
    double threshold = 0.0;
    if (!parse_text(command.threshold, threshold).ok()) {
      return invalid(fmt::format("--threshold: got '{}', expected a mean return, as in 475",
                                 command.threshold));
    }
    options.threshold = threshold;
  }
  if (!command.speeds.empty()) {
    Result<KnownSpeeds> known = read_speeds(command.speeds);
    if (!known.ok()) return known.status();
    options.known = known.take();
  }
  return options;
}

// Without advice, removes the advice.toml of an earlier call: it would be mistaken for a new one.
Result<std::vector<std::string>> write_advice(const AdviceResult& result, const Json& json,
                                              const std::string& folder) {
  const std::string text = json.dump(1) + "\n";
  std::vector<std::string> written{folder + "/advice.json", folder + "/advice.html"};
  BROADLOOM_TRY(write_file_atomically(written[0], text));
  const Result<std::string> page = advice_page(text);
  if (!page.ok()) return page.status();
  BROADLOOM_TRY(write_file_atomically(written[1], page.value()));
  const std::string toml = folder + "/advice.toml";
  if (result.advice.verdict == AdviceVerdict::kNothing) {
    std::error_code error;
    std::filesystem::remove(toml, error);
    return written;
  }
  BROADLOOM_TRY(write_file_atomically(toml, advice_toml(result.advised, result.advice)));
  written.insert(written.begin(), toml);
  return written;
}

void print_list(const std::string& title, const std::vector<std::string>& lines,
                std::size_t columns) {
  if (lines.empty()) return;
  tell("\n{}\n", title);
  for (const std::string& line : lines) tell("{}\n", wrapped("- " + line, columns, "  "));
}

std::vector<std::string> runner_up_lines(const AdviceResult& result) {
  std::vector<std::string> lines;
  for (const RunnerUp& rival : result.advice.runners_up) {
    lines.push_back(runner_up_text(result.evidence, rival));
  }
  return lines;
}

void print_advice(const AdviceResult& result) {
  const std::size_t columns = std::clamp<std::size_t>(screen_size(stdout).columns, 60, 100);
  tell("{}\n", wrapped(result.advice.answer, columns, ""));
  if (!result.advice.expected.empty()) {
    tell("{}\n", wrapped(result.advice.expected, columns, ""));
  }
  print_list("Why:", result.advice.because, columns);
  print_list("Runners-up:", runner_up_lines(result), columns);
  print_list(fmt::format("Tried, as by --for {}:", kind_name(result.evidence.kind)),
             result.advice.tried, columns);
  print_list("This would change the advice:", result.advice.changes_mind, columns);
  print_list("Not known:", result.advice.not_known, columns);
}

int exit_code_of(const AdviceResult& result) {
  if (result.evidence.interrupted) return kInterruptedExit;
  return result.advice.verdict == AdviceVerdict::kNothing ? kNoAdviceExit : 0;
}

// The advice of an earlier call in the folder, in words; "" for none.
std::string earlier_advice(const std::string& folder) {
  std::ifstream file(folder + "/advice.json");
  const Json json = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  const std::string created = json["created"].text();
  if (json["kind"].text() != "advice" || created.empty()) return "";
  const auto steps = json["budget_steps"].integer<std::int64_t>();
  return fmt::format("the advice of {} with a budget of {}", created,
                     steps > 0 ? with_commas(steps) + " environment steps"
                               : fmt::format("{:g} s", json["budget_seconds"].real()));
}

Result<int> report_advice(const AdviseCommand& command, const AdviceResult& result,
                          const std::string& folder, const std::vector<std::string>& arguments) {
  Json json = advice_json(result, arguments);
  // Prints before it writes: a full disk must not lose the advice.
  if (!command.json && !command.quiet) {
    print_advice(result);
    std::fflush(stdout);
  }
  const std::string replaced = earlier_advice(folder);
  const Result<std::vector<std::string>> written = write_advice(result, json, folder);
  if (written.ok() && !replaced.empty() && !command.quiet) {
    tell(stderr, "Note: {} has replaced {}; --out keeps both\n", folder, replaced);
  }
  if (command.json) {
    json["written"] = written.ok() ? written.value() : std::vector<std::string>{};
    print_json(json);
    if (!written.ok()) return report_error(written.status(), false);  // one object was printed
  }
  if (!written.ok()) return written.status();
  if (!command.json && !command.quiet) {
    tell("\nWritten: {}\n", fmt::join(written.value(), ", "));
    if (result.advice.verdict != AdviceVerdict::kNothing) {
      tell("Next: {} train {}/advice.toml\n", program_name(), folder);
    }
  }
  return exit_code_of(result);
}

Result<int> advise(const AdviseCommand& command, const Context& context) {
  const Result<AdviceOptions> options = advice_options(command);
  if (!options.ok()) return options.status();
  const Result<Settings> settings = read_settings(command.file, command.flags, context.env_options);
  if (!settings.ok()) return settings.status();
  const Result<Config> config = config_of(settings.value());
  if (!config.ok()) return config.status();
  const std::string folder =
      command.out.empty() ? "advice/" + file_name(config.value().env_id) : command.out;
  FoldersToFill folders;
  BROADLOOM_TRY(set_isa(config.value().isa));
  catch_interrupts();
  ShareLine line(command.quiet);
  AdviceHooks hooks;
  hooks.on_progress = [&](const std::string& what, double share) { line.show(what, share); };
  hooks.should_stop = was_interrupted;
  hooks.on_checked = [&]() -> Status {
    BROADLOOM_TRY(folders.make(folder));
    return check_room(folder + "/advice.html");  // before the budget is spent
  };
  const Result<AdviceResult> result =
      give_advice(config.value(), settings.value().all, options.value(), hooks);
  line.clear();
  if (!result.ok()) return result.status();
  return report_advice(command, result.value(), folder, context.arguments);
}

void add_advice_flags(Command app, AdviseCommand& command) {
  const auto text = [&](const char* flag, auto& out, const char* type, const char* help) {
    return app.add_option(flag, out, help).type_name(type).group(kAdviceGroup);
  };
  app.add_option("FILE", command.file, "Config in TOML; flags win over it").type_name("TOML");
  const Option time = text("--time", command.time, "TIME", "Budget: 60s (default), 5m, 1h");
  text("--steps", command.steps, "INT",
       "Budget in environment steps instead of time; the answer is the same on any machine")
      .range(std::int64_t{1}, std::int64_t{1} << 50)
      .excludes(time);
  text("--speeds", command.speeds, "FILE",
       "With --steps: an advice.json whose measured speeds convert steps to seconds");
  text("--for", command.purpose, "WORDS",
       "speed (default): reach the threshold soonest; return: highest return within the budget. "
       "And whose candidates to try: small, robots, games or gpu (default: by the task and the "
       "device), as in return,robots");
  text("--threshold", command.threshold, "NUMBER",
       "Mean evaluation return that is enough (default: the task's threshold, else 90 % of the way "
       "to the best return seen)");
  text("--rule", command.rule, "WORD",
       "race (default): compare short training runs; gradient: use gradient measurements alone");
  text("--seeds", command.seeds, "INT", "Training runs of each setting in the race (default 3)")
      .range(1, 10);
  app.add_flag("--reprobe", command.reprobe,
               "Also try the winner with other shapes in its second half (shape_schedule)")
      .group(kAdviceGroup);
  text("--out", command.out, "DIR",
       "Folder for advice.toml, .json, .html (default advice/<env_id>)");
  text("--threads", command.threads, "INT",
       "Worker threads; speeds are measured with them (default: all)")
      .range(0, 1024);
  app.add_flag("--quiet", command.quiet, "Print nothing but errors").group(kAdviceGroup);
  app.add_flag("--json", command.json, "Standard output is one JSON object").group(kAdviceGroup);
}

}  // namespace

void add_advise_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "advise", "Find the N x T, minibatch and learning rate that suit a task on this machine");
  const auto command = std::make_shared<AdviseCommand>();
  add_advice_flags(app, *command);
  add_config_flags(app, context, command->flags);
  app.footer(fmt::format(
      "If you set num_envs, num_steps, minibatches, update_epochs or learning_rate, the advice\n"
      "keeps your value.\n"
      "Exit code: {} if nothing learned, so there is no advice; {} if stopped, with an answer "
      "from\n"
      "the measurements so far.\n",
      kNoAdviceExit, kInterruptedExit));
  app.callback([&context, command] {
    context.action = [&context, command] {
      const Result<int> code = advise(*command, context);
      return code.ok() ? code.value() : report_error(code.status(), command->json);
    };
  });
}

}  // namespace broadloom::cli
