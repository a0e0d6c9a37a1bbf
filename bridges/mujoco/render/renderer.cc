#include "bridges/mujoco/render/renderer.h"

#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bridges/mujoco/render/stage.h"

namespace broadloom::mujoco {
namespace {

constexpr float kQuality = 60.0f;  // of WebP; pictures take 4 to 9 KB

constexpr double kAspect = 1.0 * Renderer::kWidth / Renderer::kHeight;

// The model's own settings are for other windows.
void set_buffer_size(mjModel& model) {
  model.vis.global.offwidth = Renderer::kWidth;
  model.vis.global.offheight = Renderer::kHeight;
  model.vis.quality.offsamples = 4;
}

}  // namespace

Result<std::unique_ptr<Renderer>> Renderer::make(const Model& model, const View& view) {
  Result<std::unique_ptr<GlContext>> gl = GlContext::make();
  if (!gl.ok()) return gl.status();
  const Result<const WebpEncoder*> encoder = WebpEncoder::find();
  if (!encoder.ok()) return encoder.status();
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
  model_ = library_.copy_model(nullptr, &model);
  if (model_ == nullptr)
    return {ErrorKind::kIo, "there is no memory for a copy of the model to render"};
  set_buffer_size(*model_);
  prepare_stage(view_, kAspect, *model_);
  windows_ = ReliefWindows(model, seen_side(view_, kAspect), *model_);
  const GlContext::Current current(*gl_);
  if (!current.ok())
    return {ErrorKind::kNotFound, "the OpenGL of this machine cannot be used from this thread"};
  const auto call = [](void* pointer) {
    Renderer& self = *static_cast<Renderer*>(pointer);
    const Library& library = self.library_;
    const int geoms = static_cast<int>(self.model_->ngeom + self.model_->nsite);
    library.make_scene(self.model_, &self.stage_, geoms + kStageGeoms);
    library.make_context(self.model_, &self.context_, mjFONTSCALE_100);
    library.set_buffer(mjFB_OFFSCREEN, &self.context_);
  };
  std::string error;
  if (guarded(library_, call, this, error) && context_.currentBuffer != mjFB_OFFSCREEN)
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
  std::string error;  // ignored in a destructor
  if (current.ok()) guarded(library_, call, this, error);
  if (model_ != nullptr) library_.delete_model(model_);
}

// Moves the windows of height fields, after the stage was set.
Status Renderer::cut_reliefs(Scene scene) {
  const std::array<double, 3> middle = seen_middle(scene, view_, kAspect);
  for (int i = 0; i < stage_.ngeom; ++i) {
    mjvGeom& geom = stage_.geoms[i];
    if (geom.type != mjGEOM_HFIELD || geom.objtype != mjOBJ_GEOM) continue;
    struct Call {
      Renderer& self;
      int field;
    } argument{*this, scene.model.geom_dataid[geom.objid]};
    const auto upload = [](void* pointer) {
      const Call& c = *static_cast<const Call*>(pointer);
      c.self.library_.upload_height_field(c.self.model_, &c.self.context_, c.field);
    };
    const mjtNum* turn = scene.data.geom_xmat + 9 * geom.objid;
    const mjtNum* position = scene.data.geom_xpos + 3 * geom.objid;
    double own[2] = {0.0, 0.0};
    for (int axis = 0; axis < 2; ++axis) {
      for (int k = 0; k < 3; ++k) own[axis] += turn[3 * k + axis] * (middle[k] - position[k]);
    }
    std::string error;
    if (windows_.follow(scene.model, argument.field, own, *model_) &&
        !guarded(library_, upload, &argument, error))
      return {ErrorKind::kIo, error};
    const std::array<double, 2> moved = windows_.middle(argument.field);
    for (int k = 0; k < 3; ++k) {
      geom.pos[k] =
          static_cast<float>(position[k] + turn[3 * k] * moved[0] + turn[3 * k + 1] * moved[1]);
    }
  }
  return {};
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
    mjvCamera camera{};  // set_stage() sets the camera
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
  std::vector<std::uint8_t> rows(std::size_t{3} * kWidth * kHeight);  // bottom row first
  Call argument{*this, scene, rows.data()};
  std::string error;
  if (!guarded(library_, place, &argument, error)) return Status(ErrorKind::kIo, error);
  set_stage(scene, view_, kAspect, stage_);
  BROADLOOM_TRY(cut_reliefs(scene));
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
