#include "broadloom/env/plugins/plugin_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/plugins/plugin_call.h"

namespace broadloom {
namespace {

std::string_view view_or_empty(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::string> choices_of(const broadloom_option& option) {
  std::vector<std::string> out;
  for (std::string_view rest = view_or_empty(option.choices); !rest.empty();) {
    const std::size_t bar = rest.find('|');
    out.emplace_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? "" : rest.substr(bar + 1);
  }
  return out;
}

Range range_of(const broadloom_option& option) {
  return option.low == 0.0 && option.high == 0.0 ? Range{} : Range{option.low, option.high};
}

template <class Number>
Status read_number(const broadloom_option& option, std::string_view text, Number& out) {
  const Range range = range_of(option);
  const Status status = parse_text(text, out);
  if (!status.ok()) return config_table_detail::field_error(option.name, status, range);
  return config_table_detail::check_range(option.name, out, range);
}

Status read_value(const broadloom_option& option, const std::string& text, broadloom_value& out) {
  bool flag = false;
  switch (option.type) {
    case BROADLOOM_BOOL:
      if (const Status status = parse_text(text, flag); !status.ok()) {
        return config_table_detail::field_error(option.name, status);
      }
      out.integer = flag ? 1 : 0;
      return {};
    case BROADLOOM_INT:
      return read_number(option, text, out.integer);
    case BROADLOOM_FLOAT:
      return read_number(option, text, out.number);
    case BROADLOOM_LIBRARY:
      return {};
    default:
      if (choices_of(option).empty()) return {};
      return config_table_detail::check_choice(option.name, text, {choices_of(option)});
  }
}

const std::string* find(const Overrides& given, std::string_view name) {
  const auto found = std::find_if(given.rbegin(), given.rend(),
                                  [&](const auto& option) { return option.first == name; });
  return found == given.rend() ? nullptr : &found->second;
}

bool is_key(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

Status check_names(const broadloom_task& task, const Overrides& given) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(task.num_options));
  for (int o = 0; o < task.num_options; ++o) names.emplace_back(task.options[o].name);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return unknown_key_error(fmt::format("option of {}", task.id), name, names);
  }
  return {};
}

// Checks the plug-in's option table, since a default may not fit its type.
Status check_table(const broadloom_task& task) {
  for (int o = 0; o < task.num_options; ++o) {
    const broadloom_option& option = task.options[o];
    if (!is_key(view_or_empty(option.name)) || option.type < BROADLOOM_BOOL ||
        option.type > BROADLOOM_LIBRARY) {
      return invalid(
          fmt::format("option {} of the plug-in's task {} has an invalid name or type; expected a "
                      "name of letters, digits and '_' that starts with a letter, and a "
                      "broadloom_option_type. Correct the plug-in's table",
                      o, task.id));
    }
    const auto same = [&](const broadloom_option& other) {
      return view_or_empty(other.name) == view_or_empty(option.name);
    };
    if (std::any_of(task.options, task.options + o, same)) {
      return invalid(fmt::format(
          "the plug-in's task {} has two options named '{}', expected different names. Correct the "
          "plug-in's table",
          task.id, option.name));
    }
    if (!(option.low <= option.high)) {
      return invalid(fmt::format(
          "the plug-in's option '{}' has the range {} to {}, expected low <= high. Correct the "
          "plug-in's table",
          option.name, option.low, option.high));
    }
    broadloom_value value{};
    const Status status =
        read_value(option, std::string(view_or_empty(option.default_text)), value);
    if (status.ok()) continue;
    return invalid(fmt::format("the plug-in's table has a wrong default: {}", status.message()));
  }
  return {};
}

}  // namespace

Result<PluginValues> read_plugin_options(const broadloom_task& task, const Overrides& given) {
  {
    // A count above the table's length reads beyond it. The plug-in is to blame for that crash.
    const CrashWatch watch;
    const PluginCall reading(task.id, "broadloom_get_plugin");
    BROADLOOM_TRY(check_table(task));
  }
  BROADLOOM_TRY(check_names(task, given));
  PluginValues out;
  for (int o = 0; o < task.num_options; ++o) {
    const broadloom_option& option = task.options[o];
    const std::string* text = find(given, option.name);
    if (text != nullptr && !text->empty() && option.type == BROADLOOM_LIBRARY) {
      BROADLOOM_TRY(check_option_allowed(option.name, *text));
    }
    out.texts_.emplace_back(text == nullptr ? view_or_empty(option.default_text) : *text);
    BROADLOOM_TRY(read_value(option, out.texts_.back(), out.values_.emplace_back()));
  }
  out.link();
  return out;
}

std::vector<FieldInfo> list_plugin_options(const broadloom_task& task) {
  constexpr const char* kTypes[] = {"bool", "int", "float", "text", "library"};
  const CrashWatch watch;
  const PluginCall reading(task.id, "broadloom_get_plugin");
  std::vector<FieldInfo> out;
  for (int o = 0; o < task.num_options; ++o) {
    const broadloom_option& option = task.options[o];
    const std::vector<std::string> choices = choices_of(option);
    const bool is_number = option.type == BROADLOOM_INT || option.type == BROADLOOM_FLOAT;
    const std::size_t type = static_cast<std::size_t>(option.type);
    const std::string value(view_or_empty(option.default_text));
    out.push_back({std::string(view_or_empty(option.name)),
                   choices.empty() ? kTypes[std::min(type, std::size(kTypes) - 1)] : "choice",
                   value,
                   value,
                   is_number         ? config_table_detail::range_text(range_of(option))
                   : choices.empty() ? std::string()
                                     : config_table_detail::range_text(Choices{choices}),
                   std::string(view_or_empty(option.doc)),
                   {}});
  }
  return out;
}

}  // namespace broadloom
