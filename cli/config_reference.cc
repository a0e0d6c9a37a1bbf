// `broadloom config-reference`: prints docs/reference/config.md. A test keeps them equal.
#include <fmt/core.h>

#include "broadloom/config/needs.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

int print_reference() {
  tell(
      "# Config keys\n\n"
      "Every key is a line of a TOML file (`num_envs = 8`), a flag (`--num_envs 8` or\n"
      "`--num-envs 8`) and an entry of a run's `manifest.json`. Flags win over the file, the file\n"
      "over the defaults. A boolean flag is turned off by `--no-<key>`. Options of an environment\n"
      "are `--env.<option> VALUE`, or lines under `[env]` in the file; `broadloom env show ID`\n"
      "lists them. `env.frame_stack` shows the last few observations at once:\n"
      "[stacks of frames](../networks.md#stacks-of-frames). `[strata.<name>]` tables, and flags\n"
      "`--strata.<name>.<option> LOW..HIGH`, give ranges; every episode draws its values from "
      "them.\n"
      "A `[disturb]` table, and flags `--disturb.<name> VALUE`, add noise, delay and pushes:\n"
      "[episodes](../episodes.md).\n\n"
      "A text in a file that begins with `./` or `../` is a path. It means what lies there beside\n"
      "the file, or else in the current folder. This holds in configs, studies and panels, as in\n"
      "`xml_file = \"./robot.xml\"`. Records keep the path as the current folder finds it.\n\n"
      "The defaults are CleanRL's: those of `ppo` for Discrete actions and of\n"
      "`ppo_continuous_action` for Box actions. CleanRL's `anneal_lr = true` and `false` mean\n"
      "`lr_schedule = \"linear\"` and `\"constant\"`, and `norm_adv` takes `true` (minibatch) and\n"
      "`false` (off) as well.\n\n"
      "A key that *needs* another key at some value does nothing otherwise. Broadloom then "
      "refuses\n"
      "any value but the default. It does not check records of past runs. A study takes such a "
      "key\n"
      "if it has an effect in at least one cell.\n\n"
      "This page is the output of `broadloom config-reference`.\n");
  for (const ConfigGroup& group : config_groups()) {
    tell("\n## {}\n\n", group.title);
    tell("| key | type | values | Discrete | Box | what it is |\n|---|---|---|---|---|---|\n");
    for (const ConfigField& field : group.fields) {
      tell("| `{}` | {} | {} | {} | {} | {} |\n", field.info.name, field.info.type,
           cell(field.info.range_text), cell(field.info.default_text), cell(field.box_default),
           cell(help_of(field.info)));
    }
  }
  return 0;
}

}  // namespace

void add_config_reference_command(Command root, Context& context) {
  const Command command =
      root.add_subcommand("config-reference", "Write the reference page of the config keys");
  command.hide();  // it serves the documentation
  command.callback([&context] { context.action = print_reference; });
}

}  // namespace broadloom::cli
