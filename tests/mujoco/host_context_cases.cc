// A program that uses OpenGL itself and lets Broadloom render in between. Afterwards its own
// context is current again. Skipped with a message if OpenGL without a display is not available.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridges/mujoco/look_up.h"
#include "bridges/mujoco/render/gl_context.h"
#include "bridges/mujoco/render/renderer.h"

namespace broadloom::mujoco {
namespace {

// Constants of Khronos' registry.
constexpr unsigned kOpenGl = 0x30A2, kOpenGlEs = 0x30A0, kDevices = 0x313F, kNoSurface = 0x31DD;
constexpr int kNone = 0x3038, kSurfaces = 0x3033, kPbuffer = 1, kRenderable = 0x3040,
              kOpenGlBit = 8, kOpenGlEs2Bit = 4, kWidth = 0x3057, kHeight = 0x3056,
              kVersion = 0x3098, kDraw = 0x3059, kRead = 0x305A;

// The host program's own EGL functions.
struct HostEgl {
  void* (*get_proc_address)(const char*) = nullptr;
  void* (*get_display)(void*) = nullptr;
  unsigned (*initialize)(void*, int*, int*) = nullptr;
  unsigned (*bind_api)(unsigned) = nullptr;
  unsigned (*query_api)() = nullptr;
  unsigned (*choose_config)(void*, const int*, void**, int, int*) = nullptr;
  void* (*create_context)(void*, void*, void*, const int*) = nullptr;
  unsigned (*destroy_context)(void*, void*) = nullptr;
  void* (*create_surface)(void*, void*, const int*) = nullptr;
  unsigned (*destroy_surface)(void*, void*) = nullptr;
  unsigned (*make_current)(void*, void*, void*, void*) = nullptr;
  void* (*current_display)() = nullptr;
  void* (*current_context)() = nullptr;
  void* (*current_surface)(int) = nullptr;

  bool load() {
    void* handle =
        dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed, since it has threads
    return handle != nullptr && look_up(handle, "eglGetProcAddress", get_proc_address) &&
           look_up(handle, "eglGetDisplay", get_display) &&
           look_up(handle, "eglInitialize", initialize) &&
           look_up(handle, "eglBindAPI", bind_api) && look_up(handle, "eglQueryAPI", query_api) &&
           look_up(handle, "eglChooseConfig", choose_config) &&
           look_up(handle, "eglCreateContext", create_context) &&
           look_up(handle, "eglDestroyContext", destroy_context) &&
           look_up(handle, "eglCreatePbufferSurface", create_surface) &&
           look_up(handle, "eglDestroySurface", destroy_surface) &&
           look_up(handle, "eglMakeCurrent", make_current) &&
           look_up(handle, "eglGetCurrentDisplay", current_display) &&
           look_up(handle, "eglGetCurrentContext", current_context) &&
           look_up(handle, "eglGetCurrentSurface", current_surface);
  }

  std::vector<void*> displays() const {
    const auto on_platform = reinterpret_cast<void* (*)(unsigned, void*, const int*)>(
        get_proc_address("eglGetPlatformDisplayEXT"));
    const auto list =
        reinterpret_cast<unsigned (*)(int, void**, int*)>(get_proc_address("eglQueryDevicesEXT"));
    std::vector<void*> all;
    void* devices[16];
    int count = 0;
    if (on_platform != nullptr && list != nullptr && list(16, devices, &count) == 0) count = 0;
    for (int i = 0; i < count; ++i) all.push_back(on_platform(kDevices, devices[i], nullptr));
    if (on_platform != nullptr) all.push_back(on_platform(kNoSurface, nullptr, nullptr));
    all.push_back(get_display(nullptr));
    return all;
  }
};

// The contexts and surfaces current on this thread.
struct Current {
  unsigned api;
  void *display, *context, *draw, *read;
  bool operator==(const Current&) const = default;
};

Current current_of(const HostEgl& egl) {
  return {egl.query_api(), egl.current_display(), egl.current_context(), egl.current_surface(kDraw),
          egl.current_surface(kRead)};
}

// A host's context of OpenGL or OpenGL ES, current during this object's lifetime. It draws on one
// surface and reads from another.
class Host {
 public:
  Host(const HostEgl& egl, unsigned api) : egl_(egl), api_(api) {
    for (void* display : egl.displays()) {
      if (display != nullptr && open(display)) return;
      close();
    }
  }
  ~Host() { close(); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool is_open() const { return is_open_; }
  Current current() const { return {api_, display_, context_, draw_, read_}; }

 private:
  bool open(void* display) {
    const bool es = api_ == kOpenGlEs;
    const int wanted[] = {kSurfaces, kPbuffer, kRenderable, es ? kOpenGlEs2Bit : kOpenGlBit, kNone};
    const int size[] = {kWidth, 8, kHeight, 8, kNone}, version[] = {kVersion, 2, kNone};
    void* config = nullptr;
    int count = 0;
    if (egl_.initialize(display, nullptr, nullptr) == 0 || egl_.bind_api(api_) == 0) return false;
    if (egl_.choose_config(display, wanted, &config, 1, &count) == 0 || count < 1) return false;
    display_ = display;
    context_ = egl_.create_context(display, config, nullptr, es ? version : nullptr);
    draw_ = egl_.create_surface(display, config, size);
    read_ = egl_.create_surface(display, config, size);
    if (context_ == nullptr || draw_ == nullptr || read_ == nullptr) return false;
    is_open_ = egl_.make_current(display, draw_, read_, context_) != 0;
    return is_open_;
  }

  void close() {
    if (display_ == nullptr) return;
    egl_.bind_api(api_);
    egl_.make_current(display_, nullptr, nullptr, nullptr);
    for (void* surface : {draw_, read_})
      if (surface != nullptr) egl_.destroy_surface(display_, surface);
    if (context_ != nullptr) egl_.destroy_context(display_, context_);
    display_ = context_ = draw_ = read_ = nullptr;
    is_open_ = false;
  }

  const HostEgl& egl_;
  unsigned api_;
  void *display_ = nullptr, *context_ = nullptr, *draw_ = nullptr, *read_ = nullptr;
  bool is_open_ = false;
};

class HostContexts : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    if (!egl_.load()) GTEST_SKIP() << "SKIPPED: there is no libEGL.so.1";
    const Result<std::unique_ptr<GlContext>> gl = GlContext::make();
    if (!gl.ok()) GTEST_SKIP() << "SKIPPED: " << gl.status().message();
    const Result<const WebpEncoder*> webp = WebpEncoder::find();
    if (!webp.ok()) GTEST_SKIP() << "SKIPPED: " << webp.status().message();
  }

  HostEgl egl_;
};

constexpr char kOneBall[] =
    "<mujoco><worldbody><body><joint name='x' type='slide'/><geom size='0.3'/></body></worldbody>"
    "<actuator><motor joint='x'/></actuator></mujoco>";

// Checks this after each of the three times that the renderer's own context is current.
TEST_P(HostContexts, AreCurrentAgainAfterRendering) {
  const Host host(egl_, GetParam());
  if (!host.is_open()) GTEST_SKIP() << "SKIPPED: EGL gives a host no such context here";
  const Current before = current_of(egl_);
  ASSERT_EQ(before, host.current()) << "or nothing would be tested";
  ASSERT_NE(before.draw, before.read);
  const std::shared_ptr<Model> model = Model::parse(kOneBall, "ball.xml").take();
  ASSERT_NE(model, nullptr);
  Result<std::unique_ptr<Renderer>> made = Renderer::make(*model, View{});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(current_of(egl_), before) << "after it was made";
  std::unique_ptr<Renderer> renderer = made.take();
  const Lease simulation = model->lease();
  simulation->reset();
  const Result<Picture> picture = renderer->picture(simulation->scene());
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_FALSE(picture.value().rgb.empty());
  EXPECT_EQ(current_of(egl_), before) << "after a picture";
  renderer.reset();
  EXPECT_EQ(current_of(egl_), before) << "after it is gone";
}

// A host without a current context has none afterwards, and keeps its bound API.
TEST_P(HostContexts, StayEmptyIfNoneWasCurrent) {
  ASSERT_NE(egl_.bind_api(GetParam()), 0U);
  const Current before = current_of(egl_);
  ASSERT_EQ(before.context, nullptr);
  const Result<std::unique_ptr<GlContext>> gl = GlContext::make();
  ASSERT_TRUE(gl.ok()) << gl.status().message();
  EXPECT_EQ(current_of(egl_), before);
  {
    const GlContext::Current ours(*gl.value());
    ASSERT_TRUE(ours.ok());
    EXPECT_NE(current_of(egl_).context, nullptr) << "or nothing would be tested";
  }
  EXPECT_EQ(current_of(egl_), before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostContexts, ::testing::Values(kOpenGl, kOpenGlEs),
                         [](const auto& info) {
                           return std::string(info.param == kOpenGl ? "OpenGl" : "OpenGlEs");
                         });

}  // namespace
}  // namespace broadloom::mujoco
