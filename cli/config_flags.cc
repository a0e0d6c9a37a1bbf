#include "cli/config_flags.h"

#include <algorithm>
#include <string_view>

#include "broadloom/config/config.h"
#include "broadloom/config/needs.h"
#include "broadloom/setup/machine.h"
#include "cli/commands.h"

namespace broadloom::cli {
namespace {

std::string type_word(const FieldInfo& info) {
  if (info.type == "int") return "INT";
  if (info.type == "float" || info.type == OptionalNumber::kTypeName) return "NUMBER";
  if (info.type == "list") return "N,N,...";
  if (info.type == "names") return "NAME,...";
  return info.type == "choice" ? "WORD" : "TEXT";
}

std::string describe(const ConfigField& field) {
  const FieldInfo& info = field.info;
  std::string out = help_of(info);
  if (!info.range_text.empty()) out += " [" + info.range_text + "]";
  out += " (default " + (info.default_text.empty() ? "none" : info.default_text);
  if (field.box_default != info.default_text) out += "; Box actions " + field.box_default;
  return out + ")";
}

void add_flag(Command app, const ConfigGroup& group, const ConfigField& field, Overrides& out) {
  const std::string key = field.info.name;
  const std::string flag = "--" + key;
  if (field.info.type == "bool") {
    const auto keep_truth = [&out, key](bool truth) {
      out.emplace_back(key, truth ? "true" : "false");
    };
    app.add_flag_function(flag, keep_truth, describe(field) + " Off: --no-" + key)
        .group(group.title);
    return;
  }
  const auto keep = [&out, key](const std::string& text) { out.emplace_back(key, text); };
  app.add_option_function(flag, keep, describe(field))
      .type_name(type_word(field.info))
      .group(group.title);
}

bool has_key(const ConfigGroup& group, std::string_view key) {
  return std::any_of(group.fields.begin(), group.fields.end(),
                     [&](const ConfigField& field) { return field.info.name == key; });
}

}  // namespace

std::vector<ConfigGroup> config_groups() {
  EnvSpec box;
  box.action = Space::box({-1.0F}, {1.0F});
  Config box_config = default_config(box);
  box_config.env_id = Config{}.env_id;
  const std::vector<FieldInfo> box_fields = list_fields(box_config);
  std::vector<ConfigGroup> groups;
  std::size_t i = 0;
  for (FieldInfo& info : list_fields(Config{})) {
    const std::string title = info.facts.group;
    if (groups.empty() || groups.back().title != title) groups.push_back({title, {}});
    groups.back().fields.push_back({std::move(info), box_fields[i++].value_text});
  }
  return groups;
}

void add_config_flags(Command app, const Context& context, Overrides& out) {
  const std::vector<std::string>& words = context.arguments;
  if (std::find(words.begin(), words.end(), app.name()) == words.end()) return;
  for (const ConfigGroup& group : config_groups()) {
    for (const ConfigField& field : group.fields) add_flag(app, group, field, out);
    if (has_key(group, "env_id")) add_env_option_flag(app).group(group.title);
    if (!has_key(group, "lr_schedule")) continue;
    const auto keep = [&out](bool truth) {
      out.emplace_back("anneal_lr", truth ? "true" : "false");
    };
    app.add_flag_function("--anneal_lr", keep,
                          "CleanRL's name for lr_schedule linear; --no-anneal_lr: constant")
        .group(group.title);
  }
}

void add_machine_flags(Command app, Overrides& out) {
  for (const FieldInfo& info : list_fields(Config{})) {
    const std::string key = info.name;
    if (!is_machine_key(key)) continue;
    const auto keep = [&out, key](const std::string& text) { out.emplace_back(key, text); };
    app.add_option_function("--" + key, keep,
                            info.doc + " [" + info.range_text + "] (default: the run's)")
        .type_name(type_word(info));
  }
}

Option add_allow_flag(Command app, Context& context) {
  return app
      .add_option("--allow_plugin", context.allowed,
                  "Code that the run or file may load: a plug-in's library, a folder of libraries, "
                  "or a Python package; may be given again")
      .repeats()
      .type_name("PATH");
}

Option add_env_option_flag(Command app) {
  // CLI11 never parses these flags: prepare_arguments() takes them out. This is their help.
  return app
      .add_help_line(
          "--env.",
          "An option of the environment, as in --env.is_slippery false; "
          "`broadloom env show ID` lists them. --strata.<name>.<option> LOW..HIGH draws a value "
          "for every episode; --disturb.obs_noise, action_delay, obs_delay, push_interval, "
          "push_steps disturb any environment")
      .type_name("OPTION VALUE");
}

}  // namespace broadloom::cli
