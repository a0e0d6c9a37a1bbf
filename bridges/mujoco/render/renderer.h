// Pictures of scenes by MuJoCo's own renderer, without a display.
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

  // Of simulations of this model. kNotFound where there is no OpenGL without a
  // display, or nothing that compresses pictures: with what was tried and what to do.
  static Result<std::unique_ptr<Renderer>> make(const Model& model, const View& view);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // The picture of its state, in a simulation of the model, whatever fields of that were changed;
  // where MuJoCo cannot make it, its words instead. What follows from positions is worked out anew.
  // From any thread.
  void draw(Scene scene, Drawing& out);
  // Its pixels. kIo with MuJoCo's words.
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
  std::mutex mutex_;          // the context is one thread's at a time
  mjModel* model_ = nullptr;  // that the context is made of: a copy, whose height fields are cut
  ReliefWindows windows_;
  mjvOption option_{};
  mjvScene stage_{};
  mjrContext context_{};
};

}  // namespace broadloom::mujoco
