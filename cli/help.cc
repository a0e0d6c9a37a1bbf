#include "cli/help.h"

#include <sstream>

namespace broadloom::cli {
namespace {

constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kPageWidth = 100;

// `name` in the left column, `text` wrapped in the right one.
std::string two_columns(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  std::size_t column = out.size();
  if (column + 2 > kNameWidth) {
    out += "\n";
    column = 0;
  }
  out += std::string(kNameWidth - column, ' ');
  column = kNameWidth;
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    if (column > kNameWidth && column + 1 + word.size() > kPageWidth) {
      out += "\n" + std::string(kNameWidth, ' ');
      column = kNameWidth;
    }
    if (column > kNameWidth) {
      out += " ";
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

}  // namespace

// One empty line between groups, where the base class leaves two.
std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string page = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = page.find("\n\n\n"); at != std::string::npos; at = page.find("\n\n\n")) {
    page.erase(at, 1);
  }
  while (page.size() > 1 && page.substr(page.size() - 2) == "\n\n") page.pop_back();
  return page;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string separator = option->get_type_size() == 0 ? "" : " ";
  std::string name = make_option_name(option, is_positional);
  if (!is_positional) name += separator + make_option_opts(option);
  return two_columns(name, make_option_desc(option));
}

// Only the kind of value, without the validator's words that CLI11 puts after a colon.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  const std::string type = option->get_type_name();
  return type.substr(0, type.find(':'));
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description());
}

}  // namespace broadloom::cli
