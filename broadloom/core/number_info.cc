#include "broadloom/core/number_info.h"

#include <cstddef>
#include <optional>

namespace broadloom {
namespace {

// The text around a form's brackets: one more piece than there are brackets.
std::vector<std::string_view> pieces_of(std::string_view form) {
  std::vector<std::string_view> pieces;
  std::size_t open = 0;
  while ((open = form.find('<')) != std::string_view::npos) {
    pieces.push_back(form.substr(0, open));
    form.remove_prefix(form.find('>', open) + 1);
  }
  pieces.push_back(form);
  return pieces;
}

std::string filled(std::string_view form, const std::vector<std::string>& values) {
  const std::vector<std::string_view> pieces = pieces_of(form);
  std::string text(pieces.front());
  for (std::size_t i = 1; i < pieces.size(); ++i) text.append(values.at(i - 1)).append(pieces[i]);
  return text;
}

// The values of a form's brackets in a name, none of them empty; nothing if the form cannot make
// the name.
std::optional<std::vector<std::string>> values_in(std::string_view form, std::string_view name) {
  const std::vector<std::string_view> pieces = pieces_of(form);
  std::vector<std::string> values;
  if (pieces.size() == 1) return name == form ? std::optional(values) : std::nullopt;
  if (!name.starts_with(pieces.front())) return std::nullopt;
  name.remove_prefix(pieces.front().size());
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const std::size_t end = name.find(pieces[i], 1);
    if (end == std::string_view::npos) return std::nullopt;
    values.emplace_back(name.substr(0, end));
    name.remove_prefix(end + pieces[i].size());
  }
  const std::string_view last = pieces.back();
  if (name.size() <= last.size() || !name.ends_with(last)) return std::nullopt;
  values.emplace_back(name.substr(0, name.size() - last.size()));
  return values;
}

std::size_t length_of(const std::vector<std::string>& values) {
  std::size_t length = 0;
  for (const std::string& value : values) length += value.size();
  return length;
}

}  // namespace

NamedNumber::NamedNumber(const NumberInfo& form, const std::vector<std::string>& values)
    : name(filled(form.name, values)), title(filled(form.title, values)), unit(form.unit) {}

const NumberInfo* find_number(std::span<const NumberInfo> declared, std::string_view name) {
  const NumberInfo* found = nullptr;
  std::size_t least = 0;
  for (const NumberInfo& info : declared) {
    const auto values = values_in(info.name, name);
    if (!values || (found != nullptr && length_of(*values) >= least)) continue;
    found = &info;
    least = length_of(*values);
  }
  return found;
}

std::string title_of(const NumberInfo& info, std::string_view name) {
  return filled(info.title, values_in(info.name, name).value_or(std::vector<std::string>()));
}

}  // namespace broadloom
