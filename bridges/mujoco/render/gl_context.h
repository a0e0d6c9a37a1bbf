// OpenGL without a display or window, by EGL. It is loaded at run time; the build needs neither its
// headers nor its library.
#pragma once

#include <memory>

#include "broadloom/core/status.h"

namespace broadloom::mujoco {

struct Egl;
class HostContext;

class GlContext {
 public:
  // Makes a context on a GPU, or on the CPU with Mesa's software renderer. kNotFound lists what was
  // tried.
  static Result<std::unique_ptr<GlContext>> make();
  ~GlContext();
  GlContext(const GlContext&) = delete;
  GlContext& operator=(const GlContext&) = delete;

  // Makes the context current on this thread during this object's lifetime. No other thread may use
  // it then. The destructor restores the previous context.
  class Current {
   public:
    explicit Current(const GlContext& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    bool ok() const { return ok_; }

   private:
    std::unique_ptr<HostContext> host_;  // restored after this context was released
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
