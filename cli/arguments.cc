#include "cli/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "broadloom/config/config.h"
#include "cli/foreign_flags.h"

namespace broadloom::cli {
namespace {

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// Booleans of parse_text(), except "1" and "0": these may be plain words of the command.
bool is_truth(const std::string& text) {
  return text == "true" || text == "false" || text == "True" || text == "False";
}

// "--key=value", split at the equals sign.
struct Flag {
  std::string name;  // without dashes
  std::string value;
  bool has_value = false;
};

Flag split_flag(const std::string& token) {
  const std::size_t equals = token.find('=');
  if (equals == std::string::npos) return {token.substr(2), "", false};
  return {token.substr(2, equals - 2), token.substr(equals + 1), true};
}

std::string join_flag(const Flag& flag) {
  return "--" + flag.name + (flag.has_value ? "=" + flag.value : "");
}

class Preparer {
 public:
  Preparer(Command root, const std::vector<std::string>& given) : command_(root), given_(given) {}

  Result<Arguments> run() {
    while (next_ < given_.size()) {
      const std::string& token = given_[next_++];
      if (token == "--") break;
      if (starts_with(token, "--")) {
        BROADLOOM_TRY(take_flag(split_flag(token)));
      } else {
        BROADLOOM_TRY(take_word(token));
      }
    }
    // After "--", everything is a plain word.
    if (!command_.takes_words() && next_ < given_.size()) arguments_.tokens.emplace_back("--");
    while (next_ < given_.size()) arguments_.tokens.push_back(plain_word(given_[next_++]));
    return std::move(arguments_);
  }

 private:
  // Protects a plain word that begins with a dash: CLI11 would read it as a flag.
  std::string plain_word(const std::string& word) const {
    const bool has_dash = word.size() > 1 && word.front() == '-' && command_.takes_words();
    return has_dash ? "./" + word : word;
  }

  // Descends into a sub-command, and refuses any other word where one must come. The only one-dash
  // flags are -h and -v.
  Status take_word(const std::string& token) {
    if (token == "-h" || token == "-v") {
      arguments_.tokens.push_back(token);
      return {};
    }
    if (starts_with(token, "-") && command_.has_option(token.substr(1))) {
      return unknown_flag(token, token.substr(1));
    }
    arguments_.tokens.push_back(plain_word(token));
    if (const std::optional<Command> named = command_.subcommand(token)) {
      command_ = *named;
      return {};
    }
    const std::vector<std::string> names = command_.subcommand_names();
    if (names.empty() || command_.takes_words() || starts_with(token, "-")) return {};
    static constexpr Alias kAliases[] = {{"evaluate", "eval"}, {"enjoy", "watch"},
                                         {"play", "watch"},    {"plot", "curve"},
                                         {"tune", "study"},    {"sweep", "study"}};
    return unknown_key_error("command", token, names, kAliases);
  }

  Status take_flag(Flag flag) {
    const std::string given = flag.name;
    if (starts_with(flag.name, "env.") || starts_with(flag.name, "strata.") ||
        starts_with(flag.name, "disturb.")) {
      return take_env_option(flag);
    }
    if (!command_.has_option(flag.name)) std::replace(flag.name.begin(), flag.name.end(), '-', '_');
    if (!command_.has_option(flag.name) && starts_with(flag.name, "no_") &&
        command_.is_switch(flag.name.substr(3))) {
      if (flag.has_value) {
        return {ErrorKind::kInvalidConfig,
                fmt::format("--{0} takes no value, got '{1}'; write --{0} alone", flag.name,
                            flag.value)};
      }
      flag = {flag.name.substr(3), "false", true};
    }
    if (!command_.has_option(flag.name)) return unknown(given);
    return command_.is_switch(flag.name) ? take_truth(flag) : take_value(flag);
  }

  // A switch takes true or false, after "=" or as the next word. CLI11 would take other values,
  // too.
  Status take_truth(Flag flag) {
    const bool has_next = next_ < given_.size() && is_meant_for_switch(given_[next_]);
    if (!flag.has_value && has_next) flag = {flag.name, given_[next_++], true};
    if (flag.has_value) {
      bool truth = false;
      const Status read = parse_text(flag.value, truth);
      if (!read.ok()) return {read.kind(), "--" + flag.name + ": " + read.message()};
      flag.value = to_text(truth);
    }
    arguments_.tokens.push_back(join_flag(flag));
    return {};
  }

  // The only plain word of a command with config flags is a config file. A word after a switch that
  // neither exists nor ends in .toml must be the value of the switch.
  bool is_meant_for_switch(const std::string& word) const {
    if (is_truth(word)) return true;
    if (!command_.has_option("env_id") || word.find(".toml") != std::string::npos) return false;
    if (starts_with(word, "-")) return word.size() > 1 && word[1] >= '0' && word[1] <= '9';
    std::error_code error;
    return !std::filesystem::exists(word, error) && !command_.subcommand(word);
  }

  // The value goes into the same token, so that "-1" or "--" after a flag is never misread.
  Status take_value(Flag flag) {
    if (!flag.has_value) {
      if (next_ == given_.size() || starts_with(given_[next_], "--")) {
        return {ErrorKind::kInvalidConfig, "--" + flag.name + " needs a value, as in --" +
                                               flag.name + " VALUE; `" + command_.path() +
                                               " --help` describes it"};
      }
      flag = {flag.name, given_[next_++], true};
    }
    // CLI11 2.1 drops the value of "--key=" and would take the next word in its place.
    if (flag.value.empty()) {
      arguments_.tokens.push_back("--" + flag.name);
      arguments_.tokens.emplace_back("");
      return {};
    }
    arguments_.tokens.push_back(join_flag(flag));
    return {};
  }

  Status take_env_option(const Flag& flag) {
    if (!command_.has_option("env.")) return unknown(flag.name);
    std::string key = flag.name;
    std::replace(key.begin(), key.end(), '-', '_');
    std::string value = flag.value;
    if (!flag.has_value) {
      if (next_ == given_.size() || starts_with(given_[next_], "--")) {
        return {ErrorKind::kInvalidConfig,
                "--" + key + " needs a value, as in --" + key + " VALUE"};
      }
      value = given_[next_++];
    }
    arguments_.env_options.emplace_back(key, value);
    return {};
  }

  Status unknown_flag(const std::string& given, const std::string& nearest) const {
    return invalid(fmt::format("unknown flag '{}'; did you mean '--{}'? `{} --help` lists them",
                               given, nearest, command_.path()));
  }

  Status unknown(const std::string& name) const {
    std::vector<std::string> names = command_.option_names();
    for (const std::string& known : command_.option_names()) {
      if (command_.is_switch(known)) names.push_back("no_" + known);
    }
    std::string message = "unknown flag '--" + name + "'";
    // Only commands with config flags give the hint: elsewhere the flag is a typing error.
    const std::string hint = command_.has_option("env_id") ? foreign_flag_hint(name) : "";
    if (!hint.empty()) {
      return {ErrorKind::kInvalidConfig, message + ": " + hint};
    }
    const std::string nearest = nearest_key(name, names, Config::aliases());
    if (!nearest.empty()) return unknown_flag("--" + name, nearest);
    return invalid(message + "; `" + command_.path() + " --help` lists them");
  }

  Command command_;
  const std::vector<std::string>& given_;
  std::size_t next_ = 0;
  Arguments arguments_;
};

}  // namespace

Result<Arguments> prepare_arguments(Command root, const std::vector<std::string>& given) {
  return Preparer(root, given).run();
}

}  // namespace broadloom::cli
