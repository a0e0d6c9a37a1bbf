#include "cli/config_file.h"

namespace broadloom::cli {
namespace {

// "broadloom train CartPole-v1" is a natural slip; the word is then no file.
Status explain_file(const Status& status, const std::string& file) {
  const bool is_slip =
      status.kind() == ErrorKind::kNotFound && file.find(".toml") == std::string::npos;
  if (!is_slip) return status;
  return {status.kind(), status.message() + "; to name an environment, use --env_id " + file};
}

}  // namespace

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
