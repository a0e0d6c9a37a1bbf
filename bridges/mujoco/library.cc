#include "bridges/mujoco/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include "bridges/mujoco/look_up.h"

namespace broadloom::mujoco {
namespace {

constexpr char kAssets[] = "gymnasium/envs/mujoco/assets";
constexpr char kHowToGet[] =
    "`tools/setup.sh --mujoco` installs it; or name the folder that has the packages `mujoco` and "
    "`gymnasium`, as `pip install --target FOLDER mujoco-core==4.0.0 gymnasium==1.4.0` makes it, "
    "in the "
    "environment variable BROADLOOM_MUJOCO";

std::vector<std::string>& added_folders() {
  static std::vector<std::string> folders;
  return folders;
}

std::vector<std::string> package_folders() {
  if (const char* named = std::getenv("BROADLOOM_MUJOCO"); named != nullptr && *named != '\0') {
    return {named};  // only this folder: the user's choice is final
  }
  std::vector<std::string> folders(added_folders().rbegin(), added_folders().rend());
  constexpr std::string_view kOfTheBuild = BROADLOOM_MUJOCO_PACKAGES;
  if (!kOfTheBuild.empty()) folders.emplace_back(kOfTheBuild);  // empty in a wheel
  return folders;
}

std::string library_name() { return fmt::format("libmujoco.so.{}", BROADLOOM_MUJOCO_VERSION); }

Result<std::string> find_file(const std::string& below, const std::string& what) {
  std::error_code error;
  const std::vector<std::string> folders = package_folders();
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder) / below;
    if (std::filesystem::is_regular_file(path, error)) return path.string();
  }
  return Status(ErrorKind::kNotFound, fmt::format("{} was not found: looked for {} in {}; {}", what,
                                                  below, fmt::join(folders, ", "), kHowToGet));
}

bool look_up_pictures(void* handle, Library& out) {
  return look_up(handle, "mj_comPos", out.com_pos) &&
         look_up(handle, "mj_camlight", out.camlight) && look_up(handle, "mj_flex", out.flex) &&
         look_up(handle, "mj_tendon", out.tendon) &&
         look_up(handle, "mjv_defaultOption", out.default_option) &&
         look_up(handle, "mjv_defaultScene", out.default_scene) &&
         look_up(handle, "mjv_makeScene", out.make_scene) &&
         look_up(handle, "mjv_freeScene", out.free_scene) &&
         look_up(handle, "mjv_updateScene", out.update_scene) &&
         look_up(handle, "mjr_defaultContext", out.default_context) &&
         look_up(handle, "mjr_makeContext", out.make_context) &&
         look_up(handle, "mjr_freeContext", out.free_context) &&
         look_up(handle, "mjr_uploadHField", out.upload_height_field) &&
         look_up(handle, "mjr_setBuffer", out.set_buffer) &&
         look_up(handle, "mjr_render", out.render) &&
         look_up(handle, "mjr_readPixels", out.read_pixels);
}

bool look_up_all(void* handle, Library& out) {
  return look_up(handle, "mj_version", out.version) &&
         look_up(handle, "mj_versionString", out.version_string) &&
         look_up(handle, "mj_loadXML", out.load_xml) &&
         look_up(handle, "mj_parseXMLString", out.parse_xml_string) &&
         look_up(handle, "mj_compile", out.compile) &&
         look_up(handle, "mj_deleteSpec", out.delete_spec) &&
         look_up(handle, "mjs_getError", out.spec_error) &&
         look_up(handle, "mj_copyModel", out.copy_model) &&
         look_up(handle, "mj_sizeModel", out.size_model) &&
         look_up(handle, "mj_deleteModel", out.delete_model) &&
         look_up(handle, "mj_makeData", out.make_data) &&
         look_up(handle, "mj_deleteData", out.delete_data) &&
         look_up(handle, "mj_resetData", out.reset_data) && look_up(handle, "mj_step", out.step) &&
         look_up(handle, "mj_forward", out.forward) &&
         look_up(handle, "mj_kinematics", out.kinematics) &&
         look_up(handle, "mj_rnePostConstraint", out.rne_post_constraint) &&
         look_up(handle, "mj_stateSize", out.state_size) &&
         look_up(handle, "mj_getState", out.get_state) &&
         look_up(handle, "mj_setState", out.set_state) &&
         look_up(handle, "mj_name2id", out.name2id) && look_up(handle, "mj_id2name", out.id2name) &&
         look_up(handle, "mju_error", out.error) &&
         look_up(handle, "mjCOLLISIONFUNC", out.collisions) &&
         look_up(handle, "_mjPRIVATE_setTlsLogHandler", out.set_thread_log_handler) &&
         look_up_pictures(handle, out);
}

Status check_version(const Library& found, const std::string& path) {
  if (found.version() == mjVERSION_HEADER) return {};
  return {ErrorKind::kMismatch,
          fmt::format("{} is MuJoCo {}, but this program was built for {}. Other versions have "
                      "different results and structures; {}",
                      path, found.version_string(), BROADLOOM_MUJOCO_VERSION, kHowToGet)};
}

// Never closed, since models may outlive the code that loaded it.
Result<const Library*> load() {
  const Result<std::string> path = find_file("mujoco/" + library_name(), "MuJoCo's library");
  if (!path.ok()) return path.status();
  void* handle = dlopen(path.value().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status(ErrorKind::kNotFound, fmt::format("MuJoCo's library could not be loaded: {}; {}",
                                                    dlerror(), kHowToGet));
  }
  static Library loaded;
  if (!look_up(handle, "mj_version", loaded.version) ||
      !look_up(handle, "mj_versionString", loaded.version_string)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} is not MuJoCo's library: it has no mj_version; {}", path.value(),
                              kHowToGet));
  }
  BROADLOOM_TRY(check_version(loaded, path.value()));
  if (!look_up_all(handle, loaded)) {
    return Status(ErrorKind::kMismatch,
                  fmt::format("{} lacks functions of MuJoCo {}; {}", path.value(),
                              BROADLOOM_MUJOCO_VERSION, kHowToGet));
  }
  return &loaded;
}

}  // namespace

void add_package_folder(const std::string& folder) { added_folders().push_back(folder); }

// Failures are not cached: the user may install the library in the meantime.
Result<const Library*> library() {
  static std::mutex mutex;
  static const Library* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded != nullptr) return loaded;
  Result<const Library*> result = load();
  if (result.ok()) loaded = result.value();
  return result;
}

Result<std::string> find_asset(const std::string& name) {
  return find_file(std::string(kAssets) + "/" + name, "the model " + name);
}

Result<std::string> find_model_file(const std::string& file) {
  if (file.starts_with('/') || file.starts_with('.')) return file;
  if (!file.starts_with('~')) return find_asset(file);
  const char* home = std::getenv("HOME");
  return (home == nullptr ? "" : home) + file.substr(1);
}

}  // namespace broadloom::mujoco
