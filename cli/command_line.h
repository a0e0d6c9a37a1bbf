// Registers commands and their options; CLI11 parses them. Only command_line.cc includes CLI11,
// because its header takes seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
class Option;
}  // namespace CLI

namespace broadloom::cli {

// One option of a command; a handle, passed by value.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option at_least(int values) const;  // takes this many words or more
  Option repeats() const;             // a list; each use of the flag adds one word
  Option range(int low, int high) const;
  Option range(std::int64_t low, std::int64_t high) const;
  Option range(double low, double high) const;
  Option delimiter(char between_values) const;
  Option type_name(const std::string& word) const;  // in --help
  Option group(const std::string& title) const;     // in --help
  Option excludes(Option other) const;
  Option needs(Option other) const;

 private:
  CLI::Option* option_;
};

// One command; a handle, passed by value. Variables that options fill must outlive the command
// line.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_subcommand(const std::string& name, const std::string& help) const;
  // name: "--flag", or "WORD" for a word without a flag. Value: std::string, int, std::int64_t,
  // std::uint64_t, double, or std::vector of std::string, int or double. Refuses an empty text.
  template <class Value>
  Option add_option(const std::string& name, Value& value, const std::string& help) const;
  Option add_flag(const std::string& name, bool& value, const std::string& help) const;
  // Calls `take` once, with the last value given.
  Option add_option_function(const std::string& name, std::function<void(const std::string&)> take,
                             const std::string& help) const;
  Option add_flag_function(const std::string& name, std::function<void(bool)> take,
                           const std::string& help) const;
  // Adds a line to --help for flags that CLI11 never parses.
  Option add_help_line(const std::string& name, const std::string& help) const;
  void require_subcommand() const;
  void footer(const std::string& text) const;
  void hide() const;  // from --help
  void callback(std::function<void()> after_parsing) const;

  const std::string& name() const;
  std::string path() const;  // "broadloom env bench"
  bool is_root() const;
  std::optional<Command> named_subcommand() const;  // the one on the parsed command line
  std::optional<Command> subcommand(const std::string& name) const;
  std::vector<std::string> subcommand_names() const;  // without hidden ones
  bool has_option(const std::string& name) const;     // name: without dashes
  bool is_switch(const std::string& name) const;      // an option without a value
  bool takes_words() const;
  std::vector<std::string> option_names() const;

 private:
  CLI::App* app_;
};

// The program's command line.
class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& help, const std::string& version);
  ~CommandLine();

  Command root() const;
  // Parses, then runs the callback of the named command. Returns an exit code if --help or
  // --version answered the call; kInvalidConfig for a wrong call.
  Result<std::optional<int>> parse(std::vector<std::string> tokens);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace broadloom::cli
