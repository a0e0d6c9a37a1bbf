#include "bridges/mujoco/render/renderer.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "bridges/mujoco/render/stage.h"

namespace broadloom::mujoco {
namespace {

constexpr float kQuality = 60.0f;  // of WebP: a picture has 4 to 9 KB

constexpr double kAspect = 1.0 * Renderer::kWidth / Renderer::kHeight;

// A model's own settings are for other windows.
void set_buffer_size(mjModel& model) {
  model.vis.global.offwidth = Renderer::kWidth;
  model.vis.global.offheight = Renderer::kHeight;
  model.vis.quality.offsamples = 4;
}

}  // namespace

Result<std::unique_ptr<Renderer>> Renderer::make(const Model& model, const View& view) {
  const Result<const WebpEncoder*> encoder = WebpEncoder::find();
  if (!encoder.ok()) return encoder.status();
  Result<std::unique_ptr<GlContext>> gl = GlContext::make();
  if (!gl.ok()) return gl.status();
  std::unique_ptr<Renderer> renderer(
      new Renderer(model.library(), view, gl.take(), *encoder.value()));
  BROADLOOM_TRY(renderer->open(model.get()));
  return renderer;
}

Renderer::Renderer(const Library& library, const View& view, std::unique_ptr<GlContext> gl,
                   const WebpEncoder& encoder)
    : library_(library), view_(view), gl_(std::move(gl)), encoder_(encoder) {
  library_.default_option(&option_);
  library_.default_scene(&stage_);
  library_.default_context(&context_);
}

Status Renderer::open(const mjModel& model) {
  const GlContext::Current current(*gl_);
  struct Call {
    Renderer& self;
    const mjModel& model;
    mjModel* copy = nullptr;
  } argument{*this, model};
  const auto call = [](void* pointer) {
    Call& c = *static_cast<Call*>(pointer);
    const Library& library = c.self.library_;
    c.copy = library.copy_model(nullptr, &c.model);
    if (c.copy == nullptr) return;
    set_buffer_size(*c.copy);
    prepare_stage(c.self.view_, kAspect, *c.copy);
    library.make_scene(c.copy, &c.self.stage_,
                       static_cast<int>(c.model.ngeom + c.model.nsite) + kStageGeoms);
    library.make_context(c.copy, &c.self.context_, mjFONTSCALE_100);
    library.set_buffer(mjFB_OFFSCREEN, &c.self.context_);
  };
  std::string error;
  const bool returned = guarded(library_, call, &argument, error);
  if (argument.copy != nullptr) library_.delete_model(argument.copy);
  if (returned && argument.copy == nullptr) error = "no memory";
  if (returned && error.empty() && context_.currentBuffer != mjFB_OFFSCREEN)
    error = "it has no off-screen buffer";
  if (error.empty()) return {};
  return {ErrorKind::kNotFound,
          "MuJoCo's renderer cannot be used with the OpenGL of this machine: " + error};
}

Renderer::~Renderer() {
  const GlContext::Current current(*gl_);
  const auto call = [](void* pointer) {
    Renderer& self = *static_cast<Renderer*>(pointer);
    self.library_.free_context(&self.context_);
    self.library_.free_scene(&self.stage_);
  };
  std::string error;  // of which nobody would make use
  guarded(library_, call, this, error);
}

Result<Picture> Renderer::picture(Scene scene) {
  const std::lock_guard lock(mutex_);
  const GlContext::Current current(*gl_);
  if (!current.ok()) return Status(ErrorKind::kIo, "OpenGL's context is lost");
  struct Call {
    Renderer& self;
    Scene scene;
    unsigned char* pixels;
  };
  const auto place = [](void* pointer) {
    Call& c = *static_cast<Call*>(pointer);
    const Library& library = c.self.library_;
    const mjModel* model = &c.scene.model;
    mjData* data = &c.scene.data;
    for (const auto work_out :
         {library.kinematics, library.com_pos, library.camlight, library.flex, library.tendon})
      work_out(model, data);
    mjvCamera camera{};  // set_stage() has one of its own
    camera.type = mjCAMERA_FREE;
    camera.distance = 1.0;
    library.update_scene(model, data, &c.self.option_, nullptr, &camera, mjCAT_ALL, &c.self.stage_);
  };
  const auto render = [](void* pointer) {
    Call& c = *static_cast<Call*>(pointer);
    const mjrRect all{0, 0, kWidth, kHeight};
    c.self.library_.render(all, &c.self.stage_, &c.self.context_);
    c.self.library_.read_pixels(c.pixels, nullptr, all, &c.self.context_);
  };
  std::vector<std::uint8_t> rows(std::size_t{3} * kWidth * kHeight);  // the lowest one first
  Call argument{*this, scene, rows.data()};
  std::string error;
  if (!guarded(library_, place, &argument, error)) return Status(ErrorKind::kIo, error);
  set_stage(scene, view_, kAspect, stage_);
  if (!guarded(library_, render, &argument, error)) return Status(ErrorKind::kIo, error);
  Picture out{kWidth, kHeight, {}};
  out.rgb.reserve(rows.size());
  const std::ptrdiff_t row = std::ptrdiff_t{3} * kWidth;
  for (auto end = rows.end(); end != rows.begin(); end -= row)
    out.rgb.insert(out.rgb.end(), end - row, end);
  return out;
}

void Renderer::draw(Scene scene, Drawing& out) {
  out.view(0.0, 0.0, kWidth, kHeight);
  const Result<Picture> made = picture(scene);
  const std::string file = made.ok() ? encoder_.encode(made.value(), kQuality) : std::string();
  if (!file.empty()) return out.image({0.0, 0.0}, kWidth, kHeight, webp_uri(file));
  out.text(
      Ink::kBad, {0.5 * kWidth, 0.5 * kHeight}, 0.04 * kHeight,
      "This state could not be rendered: " + (made.ok() ? "no memory" : made.status().message()));
}

}  // namespace broadloom::mujoco
