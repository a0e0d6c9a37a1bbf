#include "cli/help.h"

#include <sstream>

namespace broadloom::cli {
namespace {

constexpr std::size_t kNameWidth = 30;
constexpr std::size_t kPageWidth = 100;

}  // namespace

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

}  // namespace broadloom::cli
