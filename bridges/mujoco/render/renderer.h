// Renders scenes with MuJoCo's renderer, without a display.
#pragma once

#include <memory>
#include <mutex>

#include "bridges/mujoco/model.h"
#include "bridges/mujoco/render/gl_context.h"
#include "bridges/mujoco/render/relief_windows.h"
#include "bridges/mujoco/render/webp.h"
#include "bridges/mujoco/task.h"
#include "broadloom/env/drawing.h"

namespace broadloom::mujoco {

class Renderer {
 public:
  static constexpr int kWidth = 560, kHeight = 350;

  // Makes a renderer for simulations of this model. kNotFound if OpenGL without a display or the
  // WebP library is missing.
  static Result<std::unique_ptr<Renderer>> make(const Model& model, const View& view);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // Draws the scene, whose model may have changed fields. If MuJoCo fails, draws its message
  // instead. Recomputes values derived from positions. Thread-safe.
  void draw(Scene scene, Drawing& out);
  // Renders the scene to pixels. kIo with MuJoCo's message.
  Result<Picture> picture(Scene scene);

 private:
  Renderer(const Library& library, const View& view, std::unique_ptr<GlContext> gl,
           const WebpEncoder& encoder);
  Status open(const mjModel& model);
  Status cut_reliefs(Scene scene);

  const Library& library_;
  View view_;
  std::unique_ptr<GlContext> gl_;
  const WebpEncoder& encoder_;
  std::mutex mutex_;          // one thread at a time may use the context
  mjModel* model_ = nullptr;  // the context's copy, with cut height fields
  ReliefWindows windows_;
  mjvOption option_{};
  mjvScene stage_{};
  mjrContext context_{};
};

}  // namespace broadloom::mujoco
