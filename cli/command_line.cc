#include "cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "broadloom/core/config_table.h"
#include "cli/help.h"

namespace broadloom::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  // Leaves one empty line between groups; the base class leaves two.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string page = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t gap = 0; (gap = page.find("\n\n\n")) != std::string::npos;) page.erase(gap, 1);
    while (page.size() > 1 && page.substr(page.size() - 2) == "\n\n") page.pop_back();
    return page;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string separator = option->get_type_size() == 0 ? "" : " ";
    std::string name = make_option_name(option, is_positional);
    if (!is_positional) name += separator + make_option_opts(option);
    return two_columns(name, make_option_desc(option));
  }

  // The type alone, without the validator's text that CLI11 adds after a colon.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string type = option->get_type_name();
    return type.substr(0, type.find(':'));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return two_columns(command->get_name(), command->get_description());
  }
};

// Usually a shell variable that is not set. CLI11 would treat the option as not given.
std::string refuse_empty(const std::string& text) {
  return text.empty() ? "got an empty value; give a value, or leave the flag out" : "";
}

std::string refuse_negative(const std::string& text) {
  return text.empty() || text.front() != '-'
             ? ""
             : "got '" + text + "', expected an integer, at least 0";
}

// Refuses what is no number from low to high, NaN included.
template <class Number>
std::function<std::string(const std::string&)> range_check(Number low, Number high) {
  return [low, high](const std::string& text) {
    Number number = 0;
    if (parse_text(text, number).ok() && number >= low && number <= high) return std::string();
    const char* const kind = std::is_integral_v<Number> ? "an integer" : "a number";
    return fmt::format("got '{}', expected {}, {} to {}", text, kind, low, high);
  };
}

// Takes "1e6" and "10_000", as config keys do. The parser refuses other text.
std::string plain_integer(const std::string& text) {
  std::int64_t number = 0;
  return parse_text(text, number).ok() ? to_text(number) : text;
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }
Option Option::at_least(int values) const { return Option(option_->expected(values, -1)); }
Option Option::repeats() const { return Option(option_->allow_extra_args(false)); }
Option Option::range(int low, int high) const {
  return range(std::int64_t{low}, std::int64_t{high});
}
Option Option::range(std::int64_t low, std::int64_t high) const {
  return Option(option_->check(range_check(low, high)));
}
Option Option::range(double low, double high) const {
  return Option(option_->check(range_check(low, high)));
}
Option Option::delimiter(char between_values) const {
  return Option(option_->delimiter(between_values));
}
Option Option::type_name(const std::string& word) const { return Option(option_->type_name(word)); }
Option Option::group(const std::string& title) const { return Option(option_->group(title)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }

Command Command::add_subcommand(const std::string& name, const std::string& help) const {
  return Command(app_->add_subcommand(name, help));
}

template <class Value>
Option Command::add_option(const std::string& name, Value& value, const std::string& help) const {
  CLI::Option* option = app_->add_option(name, value, help);
  if constexpr (std::is_same_v<Value, std::string>) option->check(refuse_empty);
  if constexpr (std::is_unsigned_v<Value>) option->check(refuse_negative);
  if constexpr (std::is_integral_v<Value>) option->transform(plain_integer);
  return Option(option);
}
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, int&, const std::string&) const;
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<int>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<double>&,
                                    const std::string&) const;

Option Command::add_flag(const std::string& name, bool& value, const std::string& help) const {
  return Option(app_->add_flag(name, value, help));
}

Option Command::add_option_function(const std::string& name,
                                    std::function<void(const std::string&)> take,
                                    const std::string& help) const {
  return Option(app_->add_option_function<std::string>(name, take, help)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

Option Command::add_flag_function(const std::string& name, std::function<void(bool)> take,
                                  const std::string& help) const {
  return Option(app_->add_flag_function(
      name, [take = std::move(take)](std::int64_t count) { take(count > 0); }, help));
}

Option Command::add_help_line(const std::string& name, const std::string& help) const {
  return Option(app_->add_option(name, help));
}

void Command::require_subcommand() const { app_->require_subcommand(1); }
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::hide() const { app_->group(""); }
void Command::callback(std::function<void()> after_parsing) const {
  app_->callback(std::move(after_parsing));
}

const std::string& Command::name() const { return app_->get_name(); }
std::string Command::path() const {
  return is_root() ? name() : Command(app_->get_parent()).path() + " " + name();
}
bool Command::is_root() const { return app_->get_parent() == nullptr; }
std::optional<Command> Command::named_subcommand() const {
  const std::vector<CLI::App*> named = app_->get_subcommands();
  return named.empty() ? std::nullopt : std::optional<Command>(Command(named.front()));
}

std::optional<Command> Command::subcommand(const std::string& name) const {
  for (CLI::App* command : app_->get_subcommands({})) {
    if (command->get_name() == name) return Command(command);
  }
  return std::nullopt;
}

std::vector<std::string> Command::subcommand_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

bool Command::has_option(const std::string& name) const {
  return app_->get_option_no_throw("--" + name) != nullptr;
}

bool Command::is_switch(const std::string& name) const {
  const CLI::Option* found = app_->get_option_no_throw("--" + name);
  return found != nullptr && found->get_expected_max() == 0;
}

bool Command::takes_words() const {
  const std::vector<CLI::Option*> options = app_->get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<std::string> Command::option_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

CommandLine::CommandLine(const std::string& program, const std::string& help,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(help, program)) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_version_flag("-v,--version", version, "Print the version and exit");
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const { return Command(app_.get()); }

Result<std::optional<int>> CommandLine::parse(std::vector<std::string> tokens) {
  std::reverse(tokens.begin(), tokens.end());  // CLI11 takes them from the back
  try {
    app_->parse(std::move(tokens));
  } catch (const CLI::Success& request) {  // --help and --version
    return std::optional<int>(app_->exit(request));
  } catch (const CLI::ParseError& error) {
    Command called = root();
    while (const std::optional<Command> next = called.named_subcommand()) called = *next;
    return Status(ErrorKind::kInvalidConfig,
                  fmt::format("{}; see `{} --help`", error.what(), called.path()));
  }
  return std::optional<int>();
}

}  // namespace broadloom::cli
