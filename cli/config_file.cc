#include "cli/config_file.h"

#include "broadloom/config/keys.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/setup/resolve_config.h"

#include <filesystem>

namespace broadloom::cli {
namespace {

std::string suggestion_for(const std::string& word) {
  std::error_code error;
  if (std::filesystem::is_directory(word, error)) {
    return "to continue a run in that folder, use `broadloom train --resume " + word + "`";
  }
  double number = 0.0;
  if (parse_text(word, number).ok()) {
    return "if " + word + " belongs to a list, write commas, as in --hidden_sizes 256," + word;
  }
  return "to name an environment, use --env_id " + word;
}

std::string message_of(const std::string& env_id, const Overrides& extra) {
  Overrides overrides = {{"env_id", env_id}};
  overrides.insert(overrides.end(), extra.begin(), extra.end());
  return resolve_config(overrides).status().message();
}

// An environment checks its options after file and flags are merged. To name the line at fault,
// resolves each line of the file alone on that environment, and takes the one with the same error.
Status with_line(const Status& status, const std::string& file, const TomlOverrides& from_file,
                 const Overrides& overrides) {
  std::string env_id = Config{}.env_id;
  for (const auto& [key, text] : overrides) {
    if (key == "env_id") env_id = text;
  }
  Overrides options;  // an environment may refuse every line without its options
  for (const auto& entry : overrides) {
    if (is_env_option(entry.first)) options.push_back(entry);
  }
  if (message_of(env_id, options) == status.message())
    options.clear();  // the error is in an option
  const bool is_id_error = message_of(env_id, options) == status.message();
  for (std::size_t i = 0; i < from_file.lines.size(); ++i) {
    if (is_id_error && from_file.overrides[i].first != "env_id") continue;
    Overrides alone = options;
    alone.push_back(from_file.overrides[i]);
    if (message_of(env_id, alone) != status.message()) continue;
    const Status located = toml_error(file, from_file.lines[i], status.message());
    return {status.kind(), located.message()};
  }
  return status;
}

}  // namespace

Status explain_file(const Status& status, const std::string& file, FileKind wanted) {
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return explain_kind(status, file, wanted);
  if (status.ok() || file.find(".toml") != std::string::npos) return status;
  return {status.kind(), status.message() + "; " + suggestion_for(file)};
}

Result<Config> make_config(const Overrides& lower, const Overrides& flags,
                           const Overrides& env_options) {
  Overrides overrides = lower;
  overrides.insert(overrides.end(), flags.begin(), flags.end());
  overrides.insert(overrides.end(), env_options.begin(), env_options.end());
  allow_settings(overrides);
  return resolve_config(overrides);
}

Result<Settings> read_settings(const std::string& file, const Overrides& flags,
                               const Overrides& env_options) {
  Settings settings;
  settings.file = file;
  if (!file.empty()) {
    Result<TomlOverrides> read = read_toml_lines(file);
    if (!read.ok()) return explain_file(read.status(), file);
    settings.from_file = read.take();
  }
  Overrides& all = settings.all;
  all = settings.from_file.overrides;
  all.insert(all.end(), flags.begin(), flags.end());
  all.insert(all.end(), env_options.begin(), env_options.end());
  allow_settings(all);  // also of the file: the caller names it to use its environment
  return settings;
}

Result<Config> config_of(const Settings& settings) {
  Result<Config> config = resolve_config(settings.all);
  if (config.ok()) return config;
  return with_line(config.status(), settings.file, settings.from_file, settings.all);
}

Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options) {
  const Result<Settings> settings = read_settings(file, flags, env_options);
  return settings.ok() ? config_of(settings.value()) : settings.status();
}

}  // namespace broadloom::cli
