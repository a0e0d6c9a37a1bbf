#include "bridges/procgen/libenv.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "broadloom/env/plugins/broadloom_plugin.h"

namespace procgen {
namespace {

namespace fs = std::filesystem;
constexpr const char* kInPackage = "procgen/data/prebuilt/libenv.so";

std::string text_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void add_matches(const std::string& pattern, std::vector<std::string>& out) {
  glob_t matches{};
  if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    out.insert(out.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  ::globfree(&matches);
}

std::vector<std::string> candidates(const std::string& named) {
  std::vector<std::string> out;
  const std::string path = named.empty() ? text_of("PROCGEN_PATH") : named;
  if (!path.empty()) out = {path, path + "/" + kInPackage};
  if (!named.empty()) return out;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = text_of(variable);
    if (!prefix.empty()) {
      add_matches(prefix + "/lib/python3*/site-packages/" + kInPackage, out);
    }
  }
  return out;
}

template <class Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool bind_all(void* library, Libenv& out) {
  return bind(library, "libenv_version", out.version) && bind(library, "libenv_make", out.make) &&
         bind(library, "libenv_get_tensortypes", out.tensor_types) &&
         bind(library, "libenv_set_buffers", out.set_buffers) &&
         bind(library, "libenv_observe", out.observe) && bind(library, "libenv_act", out.act) &&
         bind(library, "libenv_close", out.close) && bind(library, "get_state", out.get_state) &&
         bind(library, "set_state", out.set_state);
}

struct Loaded {
  Found found;
  std::string assets;
};

// Loads the library. Null on failure, with the reason in `error`.
Loaded* open(const std::string& file, char* error) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE,
                  "Procgen's library cannot be loaded: %s (it needs libglib2.0-0)", ::dlerror());
    return nullptr;
  }
  auto* loaded = new Loaded;
  const bool whole = bind_all(library, loaded->found.functions);
  if (!whole || loaded->found.functions.version() != 1) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE,
                  "'%s' is not Procgen's libenv.so of version 0.10: %s", file.c_str(),
                  whole ? "its libenv has another version than 1" : "functions are missing");
    delete loaded;
    return nullptr;
  }
  const fs::path assets = fs::path(file).parent_path().parent_path() / "assets";
  std::error_code failed;
  if (!fs::is_directory(assets, failed)) {
    std::snprintf(error, BROADLOOM_ERROR_SIZE,
                  "no folder '%s': the package keeps Procgen's pictures beside its library",
                  assets.c_str());
    delete loaded;
    return nullptr;
  }
  loaded->assets = assets.string() + "/";
  loaded->found.assets = loaded->assets.c_str();
  return loaded;
}

}  // namespace

const Found* load(const char* path, char* error) {
  static std::mutex mutex;
  static auto* const all = new std::map<std::string, Loaded*>;
  const std::lock_guard lock(mutex);
  std::error_code failed;
  for (const std::string& candidate : candidates(path)) {
    if (!fs::is_regular_file(candidate, failed)) continue;
    const std::string file = fs::absolute(candidate, failed).string();
    Loaded*& loaded = (*all)[file];
    if (loaded == nullptr) loaded = open(file, error);
    return loaded == nullptr ? nullptr : &loaded->found;
  }
  std::snprintf(
      error, BROADLOOM_ERROR_SIZE,
      "Procgen is not found%s%s. Install its Python package (procgen 0.10.7) or unzip its "
      "wheel, and name libenv.so, or the folder with `procgen` in it, by PROCGEN_PATH or "
      "--env.library",
      *path == '\0' ? " in PROCGEN_PATH, VIRTUAL_ENV and CONDA_PREFIX" : " at ", path);
  return nullptr;
}

}  // namespace procgen
