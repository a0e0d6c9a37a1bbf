#include "broadloom/env/tasks/unknown_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "broadloom/core/config_table.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/plugins/library.h"

namespace broadloom {
namespace {

bool is_one_of(const std::vector<std::string>& ids, std::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// A hint for ids of the Python package, which opens them itself.
std::string python_hint(const std::string& id, const std::vector<std::string>& known) {
  const std::size_t slash = id.find('/');
  if (slash == std::string::npos) return "";
  const std::string_view library = std::string_view(id).substr(0, slash);
  if (library == "python") {
    return "a Python program registers it; call broadloom.register(name, function) there first";
  }
  if (!is_opened_by_python(library)) return "";
  const std::string own = id.substr(slash + 1);
  const std::string built_in =
      is_one_of(known, own) ? fmt::format("; Broadloom's own is --env_id {}", own) : "";
  return fmt::format(
      "environments of {} need the Python package: install it with `pip install .`, and call "
      "`python -m broadloom` (docs/python.md){}",
      library, built_in);
}

// A hint for the path of a library and a task, without the word that begins ids of plug-ins.
std::string plugin_hint(const std::string& id) {
  const auto [file, task] = split_plugin_id(id);
  if (task.empty() || file.find(".so") == std::string::npos) return "";
  return fmt::format("did you mean '{}{}'? Ids of plug-ins begin with {}", kPluginPrefix, id,
                     kPluginPrefix);
}

}  // namespace

Status unknown_environment(const std::string& id, const std::vector<std::string>& known) {
  const std::string unknown = fmt::format("unknown environment '{}'; ", id);
  const std::string plugin = plugin_hint(id);
  if (!plugin.empty()) return {ErrorKind::kNotFound, unknown + plugin};
  const std::string python = python_hint(id, known);
  if (!python.empty()) return {ErrorKind::kNotFound, unknown + python};
  constexpr std::string_view kInGymnasium = "broadloom/";  // where Python registers these
  const std::string own = id.starts_with(kInGymnasium) ? id.substr(kInGymnasium.size()) : id;
  const std::string near = nearest_key(own, known);
  const std::string guess = near.empty() ? "" : fmt::format("did you mean '{}'? ", near);
  const std::string gymnasium =
      near.empty()
          ? fmt::format(
                "; Gymnasium's come with the Python package, as gymnasium/{} (docs/python.md)", own)
          : "";
  return {ErrorKind::kNotFound,
          unknown + guess +
              "`broadloom env list` lists all of them. For an environment that your own program "
              "registers, use that program's commands" +
              gymnasium};
}

Status not_registered(const std::string& id) {
  if (is_opened_by_python(id.substr(0, id.find('/')))) {
    return {ErrorKind::kNotFound,
            fmt::format("this program knows only the spaces of '{}', so it cannot step it; call "
                        "`python -m broadloom` with{} instead (docs/python.md)",
                        id, allow_flag(id))};
  }
  return {ErrorKind::kNotFound,
          fmt::format("this process knows only the spaces of '{0}', so it cannot step it; register "
                      "it first, in Python by broadloom.register(\"{0}\", MyEnv), in C++ by "
                      "register_environment(), or use the program that registers it",
                      id)};
}

}  // namespace broadloom
