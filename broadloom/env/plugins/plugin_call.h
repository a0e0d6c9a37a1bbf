// Tracks calls into plug-ins, so that messages can name a plug-in that crashes or exits.
#pragma once

#include <exception>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// Marks the current thread as inside a plug-in call during this object's lifetime. May be nested.
// The texts must outlive it. Costs two copies of 24 bytes; a thread's first one allocates.
class PluginCall {
 public:
  // name: of the environment or library. begin, end: its environments; end 0: none.
  PluginCall(const char* name, const char* function, int begin = 0, int end = 0);
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  // The thread's innermost call, for the signal handler.
  struct Where {
    const char* name = nullptr;
    const char* function = nullptr;
    int begin = 0, end = 0;
  };

 private:
  Where before_;
};

// kIo: a plug-in's function threw an exception. text: the exception's message, may be empty.
Status exception_status(const std::string& name, const char* function, const char* text);

// Runs `run`, which calls a plug-in's function, and turns exceptions into errors. name, begin, end:
// as in PluginCall.
template <class Run>
Status call_plugin(const std::string& name, const char* function, int begin, int end,
                   const Run& run) {
  try {
    const PluginCall call(name.c_str(), function, begin, end);
    run();
  } catch (const std::exception& thrown) {
    return exception_status(name, function, thrown.what());
  } catch (...) {
    return exception_status(name, function, "");
  }
  return {};
}

// During this object's lifetime, a signal such as SIGSEGV in a PluginCall prints the plug-in,
// function and environments to standard error. Then the previous handler runs, which usually ends
// the process and dumps core. A call of exit() in a plug-in prints this, too.
class CrashWatch {
 public:
  CrashWatch();
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;
};

}  // namespace broadloom
