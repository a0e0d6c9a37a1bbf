// TOML that people write: configs, studies and panels, line by line with keys and values changed,
// and as bytes. A text that is taken must come out the same when it is written and read again.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/config/config.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/contract.h"
#include "research/study/plan.h"
#include "research/study/study_spec.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace broadloom;
using fuzz::Dice;

using Lines = std::vector<std::string>;

const std::vector<Lines> kConfigs = {
    {"env_id = \"CartPole-v1\"", "num_envs = 8", "num_steps = 32", "total_timesteps = 1_000_000"},
    {"env_id = 'Pendulum-v1'", "learning_rate = 2.5e-4", "hidden_sizes = [64, 64]",
     "norm_obs = true", "clip_obs = 5"},
    {"env_id = \"FrozenLake-v1\"", "[env]", "is_slippery = false"},
    {"algorithm = \"pqn\"", "env_id = \"CartPole-v1\"", "eps_decay = 0.5", "layer_norm = \"all\""},
    {"algorithm = \"ppo_rnd\"", "env_id = \"MountainCar-v0\"", "rnd_hidden_sizes = [8]"},
    {"env_id = \"CartPole-v1\"", "shape_schedule = \"2x8 @ 0, 4x8 @ 0.5\"",
     "instruments = [\"audit\", \"coverage\"]", "instrument_every = 3"},
    {"env_id = \"CartPole-v1\"", "curriculum = [\"a\", \"b\"]", "curriculum_episodes = 3",
     "[strata.a]", "half_length = [0.4, 0.6]", "[strata.b]", "half_length = [0.2, 0.9]"},
    {"env_id = \"Pendulum-v1\"", "[disturb]", "obs_noise = 0.1", "action_delay = 2"}};

const std::vector<Lines> kStudies = {
    {"seeds = 3", "match = \"gradient_steps\"", "adjust = \"epochs\"", "points = 5",
     "evaluations = 1", "[base]", "env_id = \"CartPole-v1\"", "total_timesteps = 20_000",
     "[shapes]", "doubled = \"8x16\"", "doublings = 1", "[grid]", "learning_rate = [2.5e-4, 1e-3]"},
    {"seeds = [1, 5]", "[base]", "env_id = \"CartPole-v1\"", "total_timesteps = 20_000", "[shapes]",
     "batch = 64", "ladder = true", "reference = \"8x8\""},
    {"seeds = \"1-3,9\"", "name = \"a\"", "[base]", "total_timesteps = 10_000", "[grid]",
     "env_id = [\"CartPole-v1\", \"Acrobot-v1\"]", "hidden_sizes = [[8], [16, 16]]", "[[variants]]",
     "name = \"shared\"", "shared_encoder = true", "[[variants]]", "shared_encoder = false"},
    {"seeds = 2", "[base]", "env_id = \"Pendulum-v1\"", "[shapes]", "list = [\"2x64\", \"8x16\"]",
     "max_envs = 4", "num_steps = 32"}};

const std::vector<Lines> kPanels = {
    {"env_id = \"CartPole-v1\"", "episodes = 10", "seeds = [1, 2]", "[strata.short]",
     "half_length = [0.2, 0.4]", "[perturbations.noisy]", "obs_noise = 0.05"},
    {"env_id = \"FrozenLake-v1\"", "seed = 3", "max_episode_steps = 20", "[env]",
     "is_slippery = false", "[perturbations.dry]", "env.success_rate = 0.5"},
    {"env_id = \"Pendulum-v1\"", "strata_sampling = \"stratified\"", "[strata.a]",
     "gravity = \"8..12\""}};

std::string toml_text(Dice& dice) {
  std::string text = fuzz::odd_text(dice);
  if (dice.once_in(4)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20 && !dice.once_in(8)) {
      quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string value(Dice& dice) {
  switch (dice.below(8)) {
    case 0:
    case 1:
      return fuzz::odd_number(dice);
    case 2:
      return dice.once_in(2) ? "true" : "false";
    case 3: {
      std::string list = "[";
      for (std::size_t i = dice.below(4); i > 0; --i) list += fuzz::odd_number(dice) + ", ";
      return list + (dice.once_in(2) ? fuzz::odd_number(dice) : toml_text(dice)) + "]";
    }
    case 4:
      return "{ " + std::string(dice.once_in(2) ? "a" : "gravity") + " = " +
             fuzz::odd_number(dice) + " }";
    case 5:
      return dice.once_in(2) ? "1979-05-27" : "1979-05-27T07:32:00Z";
    case 6:
      return dice.once_in(20) ? std::string(dice.below(2000), '[') : "[[]]";
    default:
      return toml_text(dice);
  }
}

// One that the format knows, more often than not.
std::string key(Dice& dice) {
  static const std::vector<std::string> kKeys = [] {
    std::vector<std::string> keys = field_names<Config>();
    for (const std::string& name : field_names<Panel>()) keys.push_back(name);
    for (const char* name : {"seeds",
                             "match",
                             "adjust",
                             "points",
                             "evaluations",
                             "name",
                             "base",
                             "shapes",
                             "grid",
                             "variants",
                             "list",
                             "batch",
                             "ladder",
                             "doubled",
                             "doublings",
                             "max_envs",
                             "reference",
                             "env.gravity",
                             "strata.x.half_length",
                             "disturb.obs_noise",
                             "perturbations.x.obs_noise",
                             "anneal_lr",
                             "gravity",
                             "is_slippery",
                             "obs_noise",
                             "half_length",
                             "env.frame_stack"})
      keys.emplace_back(name);
    return keys;
  }();
  if (!dice.once_in(12)) return dice.pick(kKeys);
  if (!dice.once_in(8)) return toml_text(dice);
  std::string dotted = "a";
  for (std::size_t i = dice.below(400); i > 0; --i) dotted += ".a";
  return dotted;
}

std::string table(Dice& dice) {
  static const std::vector<std::string> kTables = {
      "[env]",      "[base]",     "[base.env]", "[shapes]",          "[grid]",     "[[variants]]",
      "[strata.a]", "[strata.b]", "[disturb]",  "[perturbations.a]", "[[strata]]", "[]",
      "[a.b.c]",    "[[a]]",      "[grid.env]", "[variants]"};
  return dice.pick(kTables);
}

std::string changed(Lines lines, Dice& dice, std::string& what) {
  const std::size_t edits = dice.below(4);
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t place = dice.below(lines.size());
    const std::size_t equals = lines.empty() ? std::string::npos : lines[place].find('=');
    switch (dice.below(7)) {
      case 0:
      case 1:
        if (equals != std::string::npos)
          lines[place] = lines[place].substr(0, equals + 2) + value(dice);
        break;
      case 2:
        if (equals != std::string::npos)
          lines[place] = key(dice) + " " + lines[place].substr(equals);
        break;
      case 3:
        lines.insert(lines.begin() + static_cast<long>(place), key(dice) + " = " + value(dice));
        break;
      case 4:
        lines.insert(lines.begin() + static_cast<long>(place), table(dice));
        break;
      case 5:
        if (!lines.empty()) lines.erase(lines.begin() + static_cast<long>(place));
        break;
      default:
        if (!lines.empty()) lines.push_back(lines[place]);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  if (edits == 0) fuzz::change_bytes(text, dice);
  what += text.size() < 2000 ? text : text.substr(0, 2000) + "...";
  return text;
}

class TomlFuzzer final : public fuzz::Fuzzer {
 public:
  const char* name() const override { return "toml"; }
  Status prepare(const std::string&) override { return {}; }

  Status play(Dice& dice, const std::string&, std::string& what, std::string& wrong) override {
    switch (dice.below(3)) {
      case 0:
        return config(changed(dice.pick(kConfigs), dice, what), wrong);
      case 1:
        return study(changed(dice.pick(kStudies), dice, what), wrong);
      default:
        return panel(changed(dice.pick(kPanels), dice, what), wrong);
    }
  }

 private:
  static Status config(const std::string& text, std::string& wrong) {
    const Result<Overrides> overrides = parse_toml_overrides(text, "fuzz.toml");
    if (!overrides.ok()) return overrides.status();
    const Result<Config> config = resolve_config(overrides.value());
    if (!config.ok()) return config.status();
    const Result<RolloutContract> contract = make_contract(config.value(), 1);
    if (contract.ok()) (void)contract_text(contract.value());
    const Overrides whole = to_overrides(config.value());
    const Result<Config> again = resolve_record(whole);
    if (!again.ok()) {
      wrong = "what was taken is refused when it is read again: " + again.status().message();
    } else if (to_overrides(again.value()) != whole) {
      wrong = "what was taken is another when it is read again";
    }
    return contract.status();
  }

  static Status study(const std::string& text, std::string& wrong) {
    const Result<StudySpec> spec = parse_study(text, "fuzz.toml");
    if (!spec.ok()) return spec.status();
    const Result<StudyPlan> plan = plan_study(spec.value());
    if (!plan.ok()) return plan.status();
    if (plan.value().runs.size() != plan.value().cells.size() * plan.value().seeds.size()) {
      wrong = "a plan whose runs are not its cells times its seeds";
    }
    return {};
  }

  static Status panel(const std::string& text, std::string& wrong) {
    const Result<Panel> panel = parse_panel(text, "fuzz.toml");
    if (!panel.ok()) return panel.status();
    (void)panel_rows(panel.value());
    const std::string written = panel_toml(panel.value());
    const Result<Panel> again = parse_panel(written, "again.toml");
    if (!again.ok()) {
      wrong = "what was taken is refused when it is read again: " + again.status().message();
    } else if (panel_toml(again.value()) != written) {
      wrong = "what was taken is another when it is read again";
    }
    return {};
  }
};

}  // namespace

int main(int argc, char** argv) {
  TomlFuzzer fuzzer;
  return fuzz::run_fuzzer(fuzzer, argc, argv);
}
