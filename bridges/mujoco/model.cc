#include "bridges/mujoco/model.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "broadloom/core/available_cores.h"
#include "broadloom/core/hash.h"

namespace broadloom::mujoco {
namespace {

// Compiling a model uses global state.
std::mutex& compile_mutex() {
  static std::mutex mutex;
  return mutex;
}

constexpr int kErrorSize = 1000;

struct Compilation {
  const Library& library;
  const char* path;  // null: compile `text`
  const char* text;
  mjModel* model = nullptr;
  char error[kErrorSize] = "";
};

void compile_text(Compilation& c) {
  mjSpec* spec = c.library.parse_xml_string(c.text, nullptr, c.error, kErrorSize);
  if (spec == nullptr) return;
  c.model = c.library.compile(spec, nullptr);
  if (c.model == nullptr) std::snprintf(c.error, kErrorSize, "%s", c.library.spec_error(spec));
  c.library.delete_spec(spec);
}

// kInvalidConfig with MuJoCo's message, which names the element and its line.
Result<mjModel*> compile(Compilation& c, const std::string& name) {
  const std::lock_guard lock(compile_mutex());
  const auto call = [](void* pointer) {
    Compilation& compilation = *static_cast<Compilation*>(pointer);
    if (compilation.path == nullptr) return compile_text(compilation);
    compilation.model =
        compilation.library.load_xml(compilation.path, nullptr, compilation.error, kErrorSize);
  };
  std::string error;
  if (!guarded(c.library, call, &c, error)) return invalid(name + ": " + error);
  if (c.model != nullptr) return c.model;
  std::string message = c.error;
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return invalid(fmt::format("{}: MuJoCo cannot read the model: {}", name, message));
}

Status check_playable(const mjModel& model, const std::string& name) {
  if (model.nv == 0) {
    return invalid(name + ": the model has no joints, so nothing moves; give a body a <joint>");
  }
  if (model.nu > 0) return {};
  return invalid(name +
                 ": the model has no actuators for a policy to control; add them under <actuator>");
}

}  // namespace

Result<std::string> model_text(const std::string& path) {
  std::error_code error;
  const bool regular =
      std::filesystem::is_regular_file(path, error);  // checked first, since opening a pipe blocks
  if (!regular && std::filesystem::exists(path, error)) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("the model '{}' cannot be opened: it is not a regular file", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const bool is_relative = std::filesystem::path(path).is_relative();
    const std::string advice =
        is_relative ? fmt::format(
                          ": '{}' is looked up from the current folder, {}. Run the command in the "
                          "folder from which the path leads to the file, as training did, or put "
                          "the file there",
                          path, std::filesystem::current_path(error).string())
                    : "";
    return Status(ErrorKind::kNotFound,
                  fmt::format("the model '{}' cannot be opened{}", path, advice));
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Result<std::shared_ptr<Model>> Model::load(const std::string& path) {
  const Result<const Library*> found = mujoco::library();
  if (!found.ok()) return found.status();
  const Result<std::string> text = model_text(path);
  if (!text.ok()) return text.status();
  Compilation compilation{*found.value(), path.c_str(), nullptr};
  const Result<mjModel*> model = compile(compilation, path);
  if (!model.ok()) return model.status();
  return checked(*found.value(), model.value(), std::filesystem::path(path).filename().string(),
                 text.value());
}

Result<std::shared_ptr<Model>> Model::parse(const std::string& xml, const std::string& name,
                                            const std::function<void(mjModel&)>& finish) {
  const Result<const Library*> found = mujoco::library();
  if (!found.ok()) return found.status();
  Compilation compilation{*found.value(), nullptr, xml.c_str()};
  const Result<mjModel*> model = compile(compilation, name);
  if (!model.ok()) return model.status();
  if (finish) finish(*model.value());
  return checked(*found.value(), model.value(), name, xml);
}

Result<std::shared_ptr<Model>> Model::checked(const Library& library, mjModel* made,
                                              std::string name, const std::string& text) {
  std::shared_ptr<Model> model(new Model(library, made, std::move(name), text));
  BROADLOOM_TRY(check_playable(*made, model->name()));
  std::vector<std::unique_ptr<Simulation>> simulations;
  for (int i = 0; i < available_cores(); ++i) {
    std::unique_ptr<Simulation> simulation = Simulation::make(library, *made);
    if (simulation == nullptr) {
      return Status(ErrorKind::kIo,
                    fmt::format("no memory for {} simulations of {}", i + 1, model->name()));
    }
    simulations.push_back(std::move(simulation));
  }
  model->pool_ = std::make_unique<SimulationPool>(std::move(simulations));
  return model;
}

Model::Model(const Library& library, mjModel* model, std::string name, const std::string& text)
    : library_(library),
      model_(model),
      name_(std::move(name)),
      text_hash_(fmt::format("{:016x}", hash64(text))),
      state_size_(library.state_size(model, mjSTATE_INTEGRATION)) {}

Model::~Model() {
  pool_.reset();  // mjData before its mjModel
  library_.delete_model(model_);
}

std::size_t Model::bytes() const {
  return static_cast<std::size_t>(library_.size_model(model_)) + pool_->bytes();
}

Lease Model::lease() const { return Lease(*pool_); }

std::string Model::name_of(mjtObj type, int id) const {
  const char* name = library_.id2name(model_, type, id);
  return name == nullptr ? "" : name;
}

int Model::find(mjtObj type, const std::string& name) const {
  return library_.name2id(model_, type, name.c_str());
}

}  // namespace broadloom::mujoco
