#include "cli/config_file.h"

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

}  // namespace

Status explain_file(const Status& status, const std::string& file) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(file, error);
  if (status.ok() || is_file || file.find(".toml") != std::string::npos) return status;
  return {status.kind(), status.message() + "; " + what_was_meant(file)};
}

Result<Config> read_config(const std::string& file, const Overrides& flags,
                           const Overrides& env_options) {
  Overrides overrides;
  if (!file.empty()) {
    Result<Overrides> from_file = read_toml_overrides(file);
    if (!from_file.ok()) return explain_file(from_file.status(), file);
    overrides = from_file.take();
  }
  overrides.insert(overrides.end(), flags.begin(), flags.end());
  overrides.insert(overrides.end(), env_options.begin(), env_options.end());
  return resolve_config(overrides);
}

}  // namespace broadloom::cli
