#include "broadloom/env/plugins/allowed_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>

#include "broadloom/core/escape.h"
#include "broadloom/env/plugins/library.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

struct Allowed {
  std::mutex mutex;
  std::set<std::string> paths;       // files and folders, as full_path() gives them
  std::set<std::string> values;      // of options, likewise
  std::set<std::string> namespaces;  // namespaces of ids
};

Allowed& allowed() {
  static auto* const all = new Allowed;  // outlives every thread that uses it
  return *all;
}

// The path without links and "..", so that each file has one name.
std::string full_path(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return path;
  const fs::path plain = fs::weakly_canonical(absolute, error);
  return error ? absolute.string() : plain.string();
}

std::string folder_of(const std::string& path) {
  std::error_code error;
  return full_path(fs::absolute(path, error).parent_path().string());
}

bool is_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
}

bool is_in_plugin_folder(const std::string& folder) {
  const std::vector<std::string> folders = plugin_folders();
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& one) { return full_path(one) == folder; });
}

bool is_library_allowed(const std::string& path) {
  const std::string file = full_path(path), folder = folder_of(path);
  if (is_in_plugin_folder(folder)) return true;
  Allowed& all = allowed();
  const std::lock_guard lock(all.mutex);
  return all.paths.contains(file) || all.paths.contains(folder);
}

Status refuse(const std::string& what, const char* kind, const char* verb, const std::string& flag,
              const char* besides) {
  return invalid(
      fmt::format("{} is {} named by a file, and files may not {} code. If you trust it, add "
                  "--allow_plugin {} (in Python, call broadloom.allow_plugin){}; see docs/trust.md",
                  what, kind, verb, shell_word(flag), besides));
}

}  // namespace

std::vector<std::string> plugin_folders() {
  std::vector<std::string> folders;
  const char* listed = std::getenv(kPluginPathVariable);
  std::string_view rest = listed == nullptr ? "" : listed;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (colon != 0) folders.emplace_back(rest.substr(0, colon));
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return folders;
}

Status allow_code(const std::string& what) {
  const bool is_id = what.starts_with(kPluginPrefix);
  const std::string path = is_id ? split_plugin_id(what).file : what;
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (!exists && !is_word(path)) {
    return {ErrorKind::kNotFound,
            fmt::format("--allow_plugin: got '{}', which does not exist; expected a library, a "
                        "folder of libraries, or the name of a Python package such as gymnasium",
                        path)};
  }
  Allowed& all = allowed();
  const std::string place = full_path(path);
  const std::lock_guard lock(all.mutex);
  if (exists) all.paths.insert(place);
  if (is_word(path)) all.namespaces.insert(path);
  return {};
}

void allow_settings(const Overrides& given) {
  Allowed& all = allowed();
  for (const auto& [key, text] : given) {
    if (text.empty()) continue;
    const bool is_id = key == "env_id", is_option = key.starts_with("env.");
    if (!is_id && !is_option) continue;
    const bool is_plugin = is_id && text.starts_with(kPluginPrefix);
    std::error_code error;
    if (is_plugin && !fs::is_regular_file(split_plugin_id(text).file, error)) continue;
    const std::string place = full_path(is_plugin ? split_plugin_id(text).file : text);
    const std::lock_guard lock(all.mutex);
    if (is_option) {
      all.values.insert(place);
    } else if (is_plugin) {
      all.paths.insert(place);
    } else {
      all.namespaces.insert(text.substr(0, text.find('/')));
    }
  }
}

Status check_library_allowed(const std::string& path, const std::string& named) {
  if (is_library_allowed(path)) return {};
  return refuse(fmt::format("'{}'", named), "a shared library", "load", named,
                fmt::format(", or name its folder in {}", kPluginPathVariable).c_str());
}

Status check_option_allowed(const std::string& option, const std::string& path) {
  if (is_library_allowed(path)) return {};
  Allowed& all = allowed();
  const std::string place = full_path(path);
  const std::lock_guard lock(all.mutex);
  if (all.values.contains(place)) return {};
  return refuse(fmt::format("env.{}: '{}'", option, path), "code", "load", path, "");
}

Status check_namespace_allowed(const std::string& name) {
  Allowed& all = allowed();
  const std::lock_guard lock(all.mutex);
  if (all.namespaces.contains(name)) return {};
  return refuse(fmt::format("'{}'", name), "a Python package", "import", name, "");
}

bool is_opened_by_python(std::string_view name) {
  constexpr std::string_view kNames[] = {"gymnasium", "envpool", "gymnax", "warp"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

std::string allow_flag(const std::string& env_id) {
  const std::string package = env_id.substr(0, env_id.find('/'));
  if (is_opened_by_python(package)) return " --allow_plugin " + package;
  if (!env_id.starts_with(kPluginPrefix)) return "";
  const std::string file = split_plugin_id(env_id).file;
  std::error_code error;
  if (!fs::exists(file, error) || is_in_plugin_folder(folder_of(file))) return "";
  return " --allow_plugin " + shell_word(file);
}

}  // namespace broadloom
