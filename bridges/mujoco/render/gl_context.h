// OpenGL without a display or a window, by EGL, which is looked for when it is needed: the build
// needs neither its headers nor its library.
#pragma once

#include <memory>

#include "broadloom/core/status.h"

namespace broadloom::mujoco {

struct Egl;
class HostContext;

class GlContext {
 public:
  // On a GPU, or on the processor where EGL has Mesa's software renderer. kNotFound with what was
  // tried and what to do.
  static Result<std::unique_ptr<GlContext>> make();
  ~GlContext();
  GlContext(const GlContext&) = delete;
  GlContext& operator=(const GlContext&) = delete;

  // While it lives, calls of OpenGL on this thread go to the context; no other thread may have it.
  // Afterwards they go to the context of EGL's that they went to before.
  class Current {
   public:
    explicit Current(const GlContext& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    bool ok() const { return ok_; }

   private:
    std::unique_ptr<HostContext> host_;  // given back after this context has been let go
    const GlContext& context_;
    bool ok_;
  };

 private:
  GlContext(const Egl& egl, void* display, void* context)
      : egl_(egl), display_(display), context_(context) {}

  const Egl& egl_;
  void *display_, *context_;
};

}  // namespace broadloom::mujoco
