#include "bridges/mujoco/render/gl_context.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <string>
#include <vector>

#include "bridges/mujoco/look_up.h"

namespace broadloom::mujoco {

// The functions used of EGL 1.4 and its device extensions. Displays, configurations and contexts
// are pointers. Null means no surface or context.
struct Egl {
  void* (*get_proc_address)(const char* name);
  int (*get_error)();
  void* (*get_display)(void* native);
  unsigned (*initialize)(void* display, int* major, int* minor);
  unsigned (*bind_api)(unsigned api);
  unsigned (*choose_config)(void* display, const int* wanted, void** configs, int room, int* count);
  void* (*create_context)(void* display, void* config, void* shared, const int* attributes);
  unsigned (*destroy_context)(void* display, void* context);
  unsigned (*make_current)(void* display, void* draw, void* read, void* context);
  void* (*get_current_display)();
  void* (*get_current_context)();
  void* (*get_current_surface)(int draw_or_read);
  unsigned (*query_api)();
  // Null if the library lacks the extension.
  unsigned (*query_devices)(int room, void** devices, int* count);
  void* (*get_platform_display)(unsigned platform, void* native, const int* attributes);
};

namespace {

// Constants of Khronos' registry.
constexpr unsigned kPlatformDevice = 0x313F, kPlatformSurfaceless = 0x31DD, kOpenGl = 0x30A2;
constexpr int kRed = 0x3024, kGreen = 0x3023, kBlue = 0x3022, kDepth = 0x3025, kSurfaces = 0x3033,
              kPbuffer = 1, kRenderable = 0x3040, kOpenGlBit = 8, kNone = 0x3038, kDraw = 0x3059,
              kRead = 0x305A;

constexpr char kLibrary[] = "libEGL.so.1";
constexpr char kHowToGet[] =
    "install EGL with a driver, on Debian `apt-get install libegl1 libgl1-mesa-dri`, which needs "
    "neither a GPU nor a display";

// Never closed, since its drivers have threads.
Result<const Egl*> load() {
  void* handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Status(
        ErrorKind::kNotFound,
        fmt::format("OpenGL without a display is not available: {}; {}", dlerror(), kHowToGet));
  }
  static Egl loaded;
  const bool complete = look_up(handle, "eglGetProcAddress", loaded.get_proc_address) &&
                        look_up(handle, "eglGetError", loaded.get_error) &&
                        look_up(handle, "eglGetDisplay", loaded.get_display) &&
                        look_up(handle, "eglInitialize", loaded.initialize) &&
                        look_up(handle, "eglBindAPI", loaded.bind_api) &&
                        look_up(handle, "eglChooseConfig", loaded.choose_config) &&
                        look_up(handle, "eglCreateContext", loaded.create_context) &&
                        look_up(handle, "eglDestroyContext", loaded.destroy_context) &&
                        look_up(handle, "eglMakeCurrent", loaded.make_current) &&
                        look_up(handle, "eglGetCurrentDisplay", loaded.get_current_display) &&
                        look_up(handle, "eglGetCurrentContext", loaded.get_current_context) &&
                        look_up(handle, "eglGetCurrentSurface", loaded.get_current_surface) &&
                        look_up(handle, "eglQueryAPI", loaded.query_api);
  if (!complete) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("{} lacks functions of EGL 1.4; {}", kLibrary, kHowToGet));
  }
  const auto extension = [](const char* name, auto& out) {
    out = reinterpret_cast<std::decay_t<decltype(out)>>(loaded.get_proc_address(name));
  };
  extension("eglQueryDevicesEXT", loaded.query_devices);
  extension("eglGetPlatformDisplayEXT", loaded.get_platform_display);
  return &loaded;
}

Result<const Egl*> egl() {
  static std::mutex mutex;
  static const Egl* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded != nullptr) return loaded;
  Result<const Egl*> result = load();
  if (result.ok()) loaded = result.value();
  return result;
}

struct Candidate {
  std::string name;
  void* display;
};

// EGL's devices, GPUs before Mesa's software renderer, then platforms that need no device.
std::vector<Candidate> displays(const Egl& egl) {
  std::vector<Candidate> all;
  if (egl.get_platform_display != nullptr) {
    void* devices[16];
    int count = 0;
    if (egl.query_devices != nullptr && egl.query_devices(16, devices, &count) == 0) count = 0;
    for (int i = 0; i < count; ++i) {
      all.push_back({fmt::format("device {}", i),
                     egl.get_platform_display(kPlatformDevice, devices[i], nullptr)});
    }
    all.push_back({"no surface", egl.get_platform_display(kPlatformSurfaceless, nullptr, nullptr)});
  }
  all.push_back({"the display of the session", egl.get_display(nullptr)});
  return all;
}

// Makes a context. On failure returns null and names the failed step in `failed`. Displays stay
// initialised, since the whole process shares them.
void* context_on(const Egl& egl, void* display, std::string& failed) {
  const int wanted[] = {kRed, 8,         kGreen,   8,           kBlue,      8,    kDepth,
                        24,   kSurfaces, kPbuffer, kRenderable, kOpenGlBit, kNone};
  void* config = nullptr;
  int configs = 0;
  const auto fail = [&](const char* what) -> void* {
    failed = fmt::format("{} (0x{:x})", what, egl.get_error());
    return nullptr;
  };
  if (display == nullptr) {
    failed = "no display";
    return nullptr;
  }
  if (egl.initialize(display, nullptr, nullptr) == 0) return fail("cannot be initialised");
  if (egl.choose_config(display, wanted, &config, 1, &configs) == 0 || configs < 1)
    return fail("has no OpenGL");
  if (egl.bind_api(kOpenGl) == 0) return fail("does not support OpenGL");
  void* const context = egl.create_context(display, config, nullptr, nullptr);
  if (context == nullptr) return fail("cannot make a context");
  if (egl.make_current(display, nullptr, nullptr, context) == 0) {
    fail("requires a surface");
    egl.destroy_context(display, context);
    return nullptr;
  }
  egl.make_current(display, nullptr, nullptr, nullptr);
  return context;
}

}  // namespace

// The context that the caller had on this thread, restored at the end.
class HostContext {
 public:
  explicit HostContext(const Egl& egl)
      : egl_(egl),
        api_(egl.query_api()),
        display_(egl.get_current_display()),
        draw_(egl.get_current_surface(kDraw)),
        read_(egl.get_current_surface(kRead)),
        context_(egl.get_current_context()) {}
  ~HostContext() {
    egl_.bind_api(api_);
    if (context_ != nullptr) egl_.make_current(display_, draw_, read_, context_);
  }
  HostContext(const HostContext&) = delete;
  HostContext& operator=(const HostContext&) = delete;

 private:
  const Egl& egl_;
  unsigned api_;
  void *display_, *draw_, *read_, *context_;
};

Result<std::unique_ptr<GlContext>> GlContext::make() {
  const Result<const Egl*> found = egl();
  if (!found.ok()) return found.status();
  const HostContext host(*found.value());
  std::vector<std::string> tried;
  for (const Candidate& candidate : displays(*found.value())) {
    std::string failed;
    void* context = context_on(*found.value(), candidate.display, failed);
    if (context != nullptr)
      return std::unique_ptr<GlContext>(new GlContext(*found.value(), candidate.display, context));
    tried.push_back(candidate.name + ": " + failed);
  }
  return Status(ErrorKind::kNotFound,
                fmt::format("OpenGL without a display is not available: tried {} ({}); {}",
                            kLibrary, fmt::join(tried, "; "), kHowToGet));
}

GlContext::~GlContext() { egl_.destroy_context(display_, context_); }

GlContext::Current::Current(const GlContext& context)
    : host_(std::make_unique<HostContext>(context.egl_)),
      context_(context),
      ok_(context.egl_.bind_api(kOpenGl) != 0 &&
          context.egl_.make_current(context.display_, nullptr, nullptr, context.context_) != 0) {}

GlContext::Current::~Current() {
  context_.egl_.make_current(context_.display_, nullptr, nullptr, nullptr);
}

}  // namespace broadloom::mujoco
