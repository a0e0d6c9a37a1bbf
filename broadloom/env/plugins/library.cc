#include "broadloom/env/plugins/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>

#include "broadloom/core/config_table.h"
#include "broadloom/core/hash.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/plugins/plugin_call.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> places_of(const std::string& file) {
  std::vector<std::string> places{file};
  if (fs::path(file).is_absolute()) return places;
  for (const std::string& folder : plugin_folders()) {
    places.push_back((fs::path(folder) / file).string());
  }
  return places;
}

// The first place that exists and is allowed, as an absolute path. For a name without '/', dlopen()
// would search the system's folders.
Result<std::string> find_file(const std::string& file) {
  if (file.empty()) {
    return invalid(
        "the id names no library; expected plugin:<file>:<task>, such as "
        "plugin:./libmine.so:Task-v0");
  }
  const std::vector<std::string> places = places_of(file);
  std::error_code error;
  Status refused;
  for (const std::string& place : places) {
    if (!fs::is_regular_file(place, error)) continue;
    const Status status = check_library_allowed(place, file);
    if (status.ok()) return fs::absolute(place, error).string();
    if (refused.ok()) refused = status;
  }
  if (!refused.ok()) return refused;
  const char* hint = places.size() == 1
                         ? "; to search folders, list them in {}, with ':' between them"
                         : "; the folders after the first come from {}";
  return Status(ErrorKind::kNotFound,
                fmt::format("no plug-in '{}': looked for {}", file, fmt::join(places, ", ")) +
                    fmt::format(fmt::runtime(hint), kPluginPathVariable));
}

std::string hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return hash_text(bytes);
}

std::string last_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "the loader gave no reason" : text;
}

bool is_missing(const char* text) { return text == nullptr || *text == '\0'; }

// Tables, records and terminals show these texts.
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Ids are in paths, tables and commands.
bool is_task_id(std::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

// The first fault of a table with the right ABI; empty: none.
std::string find_fault(const broadloom_plugin& plugin) {
  if (is_missing(plugin.name) || is_missing(plugin.version)) return "it has no name or no version";
  if (!is_printable(plugin.name) || !is_printable(plugin.version)) {
    return "its name and version are not printable ASCII";
  }
  if (plugin.num_tasks < 1 || plugin.tasks == nullptr) return "it lists no tasks";
  const std::pair<const char*, bool> functions[] = {
      {"describe", plugin.describe != nullptr}, {"make", plugin.make != nullptr},
      {"close", plugin.close != nullptr},       {"reset", plugin.reset != nullptr},
      {"step", plugin.step != nullptr},         {"observe", plugin.observe != nullptr}};
  for (const auto& [name, is_there] : functions) {
    if (!is_there) return fmt::format("its function {}() is NULL", name);
  }
  for (int t = 0; t < plugin.num_tasks; ++t) {
    const broadloom_task& task = plugin.tasks[t];
    if (is_missing(task.id)) return fmt::format("its task {} has no id", t);
    if (!is_task_id(task.id)) {
      return fmt::format("its task {} has the id '{}', expected letters, digits, '-', '_' and '.'",
                         t, task.id);
    }
    const auto same = [&](const broadloom_task& other) {
      return std::string_view(other.id) == task.id;
    };
    if (std::any_of(plugin.tasks, plugin.tasks + t, same)) {
      return fmt::format("it has two tasks with the id {}", task.id);
    }
    if (task.num_options < 0 || (task.num_options > 0 && task.options == nullptr)) {
      return fmt::format("its task {} has {} options and no table of them", task.id,
                         task.num_options);
    }
  }
  return "";
}

Result<const broadloom_plugin*> table_of(void* handle, const std::string& path) {
  const auto get =
      reinterpret_cast<decltype(&broadloom_get_plugin)>(::dlsym(handle, "broadloom_get_plugin"));
  if (get == nullptr) {
    return invalid(
        fmt::format("'{}' is not a Broadloom plug-in: it exports no function "
                    "broadloom_get_plugin(); declare it as "
                    "broadloom_plugin.h does (extern \"C\" in C++)",
                    path));
  }
  const broadloom_plugin* plugin = nullptr;
  BROADLOOM_TRY(call_plugin(path, "broadloom_get_plugin", 0, 0, [&] { plugin = get(); }));
  if (plugin == nullptr) {
    return invalid(
        fmt::format("'{}': broadloom_get_plugin() returned NULL; expected its table", path));
  }
  if (plugin->abi != BROADLOOM_PLUGIN_ABI) {
    return invalid(
        fmt::format("'{}' was compiled for plug-in interface {}, but this program has {}; compile "
                    "it with this program's broadloom_plugin.h",
                    path, plugin->abi, BROADLOOM_PLUGIN_ABI));
  }
  std::string wrong;
  {
    // A count above an array's length reads beyond it.
    const PluginCall reading(path.c_str(), "broadloom_get_plugin");
    wrong = find_fault(*plugin);
  }
  if (wrong.empty()) return plugin;
  return invalid(fmt::format("'{}' is not a complete plug-in: {}", path, wrong));
}

// Loaded libraries. A deque, so that their addresses stay valid.
struct Loaded {
  std::mutex mutex;
  std::deque<PluginLibrary> libraries;
};

Loaded& loaded() {
  static auto* const all = new Loaded;  // outlives every environment
  return *all;
}

}  // namespace

PluginId split_plugin_id(const std::string& id) {
  std::string rest = id;
  if (rest.starts_with(kPluginPrefix)) rest.erase(0, kPluginPrefix.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos) return {rest, ""};
  return {rest.substr(0, colon), rest.substr(colon + 1)};
}

Result<const broadloom_task*> PluginLibrary::task(const std::string& id) const {
  std::vector<std::string> ids;
  for (int t = 0; t < plugin->num_tasks; ++t) {
    if (id == plugin->tasks[t].id) return &plugin->tasks[t];
    ids.emplace_back(plugin->tasks[t].id);
  }
  const std::string near = nearest_key(id, ids);
  const std::string guess =
      near.empty() ? "" : fmt::format("; did you mean plugin:{}:{}?", file, near);
  const std::string what = id.empty() ? fmt::format("'{}{}' names no task", kPluginPrefix, file)
                                      : fmt::format("the plug-in '{}' has no task '{}'", file, id);
  return Status(
      ErrorKind::kNotFound,
      fmt::format("{}{} It has {}", what, guess.empty() ? "." : guess, fmt::join(ids, ", ")));
}

Result<const PluginLibrary*> open_plugin_library(const std::string& file) {
  Result<std::string> path = find_file(file);
  if (!path.ok()) return path.status();
  Loaded& all = loaded();
  const std::lock_guard lock(all.mutex);
  for (const PluginLibrary& library : all.libraries) {
    if (library.path == path.value() && library.file == file) return &library;
  }
  const CrashWatch watch;
  void* handle = nullptr;
  {
    const PluginCall call(file.c_str(), "dlopen");
    handle = ::dlopen(path.value().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    return invalid(fmt::format("the plug-in '{}' cannot be loaded: {}", file, last_error()));
  }
  const Result<const broadloom_plugin*> table = table_of(handle, path.value());
  if (!table.ok()) {
    ::dlclose(handle);
    return table.status();
  }
  PluginLibrary& library = all.libraries.emplace_back();
  library.file = file;
  library.path = path.value();
  library.hash = hash_of_file(path.value());
  library.plugin = table.value();
  return &library;
}

}  // namespace broadloom
