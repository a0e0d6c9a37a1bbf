#include "cli/config_file.h"

#include "broadloom/setup/resolve_config.h"

#include <filesystem>

namespace broadloom::cli {
namespace {

std::string what_was_meant(const std::string& word) {
  std::error_code error;
  if (std::filesystem::is_directory(word, error)) {
    return "it is a folder; to go on with the run in it, use `broadloom train --resume " + word +
           "`";
  }
  double number = 0.0;
  if (parse_text(word, number).ok()) {
    return "a list is written with commas, as in --hidden_sizes 256," + word;
  }
  return "to name an environment, use --env_id " + word;
}

// What only an environment can judge is judged when all is known, flags too. A line of the file
// that alone, on that environment, meets with the same words is the one that is meant.
Status with_line(const Status& status, const std::string& file, const TomlOverrides& from_file,
                 const Overrides& overrides) {
  std::string env_id = Config{}.env_id;
  for (const auto& [key, text] : overrides) {
    if (key == "env_id") env_id = text;
  }
  for (std::size_t i = 0; i < from_file.lines.size(); ++i) {
    const Status alone = resolve_config({{"env_id", env_id}, from_file.overrides[i]}).status();
    const bool is_other_id =
        from_file.overrides[i].first != "env_id" && alone.kind() == ErrorKind::kNotFound;
    if (is_other_id || alone.message() != status.message()) continue;
    const Status located = toml_error(file, from_file.lines[i], status.message());
    return {status.kind(), located.message()};
  }
  return status;
}

}  // namespace

Status explain_file(const Status& status, const std::string& file) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(file, error);
  if (status.ok() || is_file || file.find(".toml") != std::string::npos) return status;
  return {status.kind(), status.message() + "; " + what_was_meant(file)};
}

Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options) {
  TomlOverrides from_file;
  if (!file.empty()) {
    Result<TomlOverrides> read = read_toml_lines(file);
    if (!read.ok()) return explain_file(read.status(), file);
    from_file = read.take();
  }
  Overrides overrides = from_file.overrides;
  overrides.insert(overrides.end(), flags.begin(), flags.end());
  overrides.insert(overrides.end(), env_options.begin(), env_options.end());
  Result<Config> config = resolve_config(overrides);
  if (!config.ok()) return with_line(config.status(), file, from_file, overrides);
  return config;
}

}  // namespace broadloom::cli
