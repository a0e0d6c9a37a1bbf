// Random valid configurations, drawn over the table of keys, and whether each has the same bits
// however it is run: with one thread; with several, all instruments and more evaluations; killed in
// a random block and resumed. Compared are the hashes of all blocks, parameters and state, and what
// the logs say.
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/record/json.h"
#include "broadloom/setup/memory_plan.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/run.h"
#include "broadloom/train/trainer.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace broadloom;
using fuzz::Dice;

constexpr std::size_t kMostMemory = 64 << 20;

std::string number(std::size_t low, std::size_t high, Dice& dice) {
  return std::to_string(low + dice.below(high - low + 1));
}

std::string sizes(Dice& dice) {
  std::string text = number(1, 20, dice);
  for (std::size_t i = dice.below(3); i > 0; --i) text += "," + number(1, 20, dice);
  return text;
}

// How large the run is: small, and of shapes that divide nothing evenly.
Overrides shape(Dice& dice) {
  const std::size_t n = 1 + dice.below(dice.once_in(6) ? 40 : 9), t = 1 + dice.below(24);
  const std::size_t blocks = 3 + dice.below(5);
  Overrides keys = {{"total_timesteps", std::to_string(n * t * blocks + dice.below(n * t))},
                    {"update_epochs", number(1, 3, dice)},
                    {"hidden_sizes", sizes(dice)},
                    {"max_episode_steps", dice.once_in(2) ? number(1, 30, dice) : "0"}};
  if (dice.once_in(8)) {
    keys.emplace_back("shape_schedule",
                      fmt::format("{}x{} @ 0, {}x{} @ 0.{}", n, t, 1 + dice.below(9),
                                  1 + dice.below(24), 1 + dice.below(9)));
  } else {
    keys.emplace_back("num_envs", std::to_string(n));
    keys.emplace_back("num_steps", std::to_string(t));
  }
  if (dice.once_in(2)) {
    keys.emplace_back("num_minibatches", number(1, std::min<std::size_t>(5, n * t), dice));
  } else {
    keys.emplace_back("minibatch_size", number(1, n * t, dice));
  }
  return keys;
}

// The task: environment, strata, disturbances.
Overrides task(Dice& dice) {
  static const std::vector<std::string> kIds = [] {
    std::vector<std::string> ids;
    for (const EnvSpec& spec : list_envs()) {
      if (is_built_in(spec.id)) ids.push_back(spec.id);
    }
    return ids;
  }();
  Overrides keys = {{"env_id", dice.once_in(4) ? "CartPole-v1" : dice.pick(kIds)}};
  if (keys.front().second == "CartPole-v1" && dice.once_in(2)) {
    keys.emplace_back("strata.a.half_length", "0.4..0.6");
    keys.emplace_back("strata.b.half_length", "0.2..0.9");
    if (dice.once_in(2)) keys.emplace_back("strata_sampling", "stratified");
    if (dice.once_in(2)) {
      keys.emplace_back("curriculum", "a,b");
      keys.emplace_back("curriculum_episodes", number(1, 3, dice));
    }
  }
  if (dice.once_in(5)) keys.emplace_back("disturb.action_delay", number(1, 3, dice));
  if (dice.once_in(5)) keys.emplace_back("disturb.obs_noise", "0.1");
  if (dice.once_in(5)) keys.emplace_back("disturb.push_interval", number(1, 9, dice));
  if (keys.front().second.starts_with("MinAtar") && dice.once_in(3)) {
    keys.emplace_back("env.frame_stack", "2");
  }
  return keys;
}

// A value of the field's type, mostly within its range: what is not is refused, and drawn anew.
std::string value_of(const FieldInfo& field, Dice& dice) {
  if (field.type == "bool") return dice.once_in(2) ? "true" : "false";
  if (field.type == "choice") {
    std::vector<std::string> words;
    std::string rest = field.range_text;
    for (std::size_t place; (place = rest.find(" | ")) != std::string::npos;
         rest = rest.substr(place + 3)) {
      words.push_back(rest.substr(0, place));
    }
    words.push_back(rest);
    return dice.pick(words);
  }
  if (field.type == "list") return sizes(dice);
  if (field.type == "int") return number(0, 6, dice);
  static const std::vector<std::string> kEnds = {"0", "1", "1e-3", "0.5", "0.99", "10"};
  if (dice.once_in(3)) return dice.pick(kEnds);
  double own = 1.0;
  if (!parse_text(field.value_text, own).ok() || own == 0.0) own = 0.1;
  return to_text(own * dice.uniform(0.1, 2.0));
}

bool is_drawn(const FieldInfo& field) {
  switch (field.facts.role) {
    case Role::kLearning:
    case Role::kNetwork:
    case Role::kMeasure:
      return field.type != "names" && field.type != "text" && field.name != "precision";
    default:
      return false;
  }
}

void set(Overrides& keys, const std::string& key, const std::string& value) {
  std::erase_if(keys, [&](const auto& one) { return one.first == key; });
  keys.emplace_back(key, value);
}

// The key that a refusal is about, which is left out then: the first that it names.
void drop_named(Overrides& keys, const std::string& message, Dice& dice) {
  std::size_t first = std::string::npos, place = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const std::size_t found = message.find(keys[i].first);
    if (found < first) {
      first = found;
      place = i;
    }
  }
  if (place == 0) place = 1 + dice.below(keys.size() - 1);
  keys.erase(keys.begin() + static_cast<long>(place));
}

// Nothing where no valid one came of it.
std::optional<Config> random_config(Dice& dice, Overrides& keys) {
  keys = task(dice);
  for (const auto& [key, value] : shape(dice)) keys.emplace_back(key, value);
  set(keys, "seed", number(0, 1000, dice));
  set(keys, "checkpoint_interval", number(1, 4, dice));
  if (dice.once_in(3)) set(keys, "algorithm", dice.once_in(2) ? "pqn" : "ppo_rnd");
  for (const FieldInfo& field : list_fields(Config{})) {
    if (is_drawn(field) && dice.once_in(4)) set(keys, field.name, value_of(field, dice));
  }
  set(keys, "num_iterations_obs_norm_init", "1");
  set(keys, "hashes", "true");
  while (keys.size() > 1) {
    const Result<Config> config = resolve_config(keys);
    if (config.ok()) {
      // A size that was left out has the default, of runs that take minutes.
      const bool has_blocks =
          config.value().num_iterations() >= 2 && config.value().total_timesteps <= 20000;
      const Result<MemoryPlan> memory = plan_memory(config.value(), 1);
      if (!has_blocks || !memory.ok() || memory.value().total() > kMostMemory) return std::nullopt;
      return config.value();
    }
    drop_named(keys, config.status().message(), dice);
  }
  return std::nullopt;
}

// The same run with all that may be measured of it.
Config measured(Config config, Dice& dice) {
  for (const std::string& name : instrument_names()) {
    Config measuring = config;
    measuring.instruments.push_back(name);
    measuring.instrument_every = 1 + static_cast<int>(dice.below(3));
    if (Trainer::create(measuring, 1).ok())
      config = measuring;  // some cannot measure some algorithms
  }
  if (config.eval_interval == 0 && dice.once_in(2)) {
    config.eval_interval = 2;
    config.eval_episodes = 2;
    if (dice.once_in(2)) config.eval_actions = "sampled";
  }
  return config;
}

// All that two runs must have in common: hashes of blocks and of the end, and metrics but time.
struct Trace {
  Status status;
  std::string hashes;
  Json result;
  std::vector<Json> metrics;
};

Trace trace_of(const std::string& dir, Status status) {
  Trace trace;
  trace.status = std::move(status);
  trace.hashes = fuzz::get_file(dir + "/hashes.bin");
  trace.result = Json::parse(fuzz::get_file(dir + "/ledger_line.json"))["result"];
  const std::string text = fuzz::get_file(dir + "/metrics.jsonl");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    Json line = Json::parse(std::string_view(text).substr(begin, end - begin));
    for (const char* key : {"wall_time", "steps_per_second"}) line.erase(key);
    trace.metrics.push_back(std::move(line));
    begin = end + 1;
  }
  return trace;
}

// "": none. Numbers that only the second measured do not count.
std::string difference(const Trace& a, const Trace& b) {
  if (a.status.kind() != b.status.kind()) {
    return fmt::format("ends otherwise: '{}' and '{}'", a.status.message(), b.status.message());
  }
  if (a.hashes != b.hashes) return "other hashes of blocks or parameters";
  if (!(a.result == b.result)) {
    return fmt::format("another end: {} and {}", a.result.dump(), b.result.dump());
  }
  if (a.metrics.size() != b.metrics.size()) return "another number of lines in metrics.jsonl";
  for (std::size_t i = 0; i < a.metrics.size(); ++i) {
    for (const auto& [key, value] : a.metrics[i].members()) {
      if (std::as_const(b.metrics[i])[key] == value) continue;
      return fmt::format("line {} of metrics.jsonl: {} is {} and {}", i + 1, key, value.dump(),
                         std::as_const(b.metrics[i])[key].dump());
    }
  }
  return "";
}

Trace run(const Config& config, const std::string& dir, int threads) {
  std::filesystem::remove_all(dir);
  return trace_of(dir, start_run(config, dir, threads, {}).status());
}

// As SIGKILL leaves it after that block.
void run_until_killed(const Config& config, const std::string& dir, int threads,
                      std::int64_t block) {
  std::filesystem::remove_all(dir);
  const pid_t process = ::fork();
  if (process < 0) std::abort();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // or it writes on into the next case's folder
    RunHooks hooks;
    hooks.on_iteration = [&](const Progress& progress) {
      if (progress.iteration == block) ::kill(::getpid(), SIGKILL);
    };
    (void)start_run(config, dir, threads, hooks).ok();
    ::_exit(0);
  }
  ::waitpid(process, nullptr, 0);
}

class BitsFuzzer final : public fuzz::Fuzzer {
 public:
  const char* name() const override { return "bits"; }
  double most_seconds() const override { return 60.0; }
  std::size_t most_bytes() const override { return std::size_t{2} << 30; }  // of whole runs
  Status prepare(const std::string&) override { return {}; }

  Status play(Dice& dice, const std::string& folder, std::string& what,
              std::string& wrong) override {
    Overrides keys;
    const std::optional<Config> config = random_config(dice, keys);
    for (const auto& [key, value] : keys) what += fmt::format("--{} {} ", key, value);
    if (!config) return invalid("no valid configuration came of it");
    const Trace one = run(*config, folder + "/one", 1);
    const int threads = 2 + static_cast<int>(dice.below(4));
    const Trace many = run(measured(*config, dice), folder + "/many", threads);
    const std::string by_threads = difference(one, many);
    if (!by_threads.empty()) {
      wrong = fmt::format("{} threads and all instruments: {}", threads, by_threads);
      return {};
    }
    const std::int64_t block =
        1 +
        static_cast<std::int64_t>(dice.below(static_cast<std::size_t>(config->num_iterations())));
    const std::string killed = folder + "/killed";
    run_until_killed(*config, killed, 1 + static_cast<int>(dice.below(3)), block);
    Trace resumed =
        trace_of(killed, resume_run(killed, 1 + static_cast<int>(dice.below(3)), {}).status());
    const std::string by_kill = difference(one, resumed);
    if (!by_kill.empty()) wrong = fmt::format("killed after block {}: {}", block, by_kill);
    return {};
  }
};

}  // namespace

int main(int argc, char** argv) {
  BitsFuzzer fuzzer;
  return fuzz::run_fuzzer(fuzzer, argc, argv);
}
