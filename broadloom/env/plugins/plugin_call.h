// Who is being called, so that a plug-in that crashes or ends the process is named.
#pragma once

#include <exception>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom {

// While one lives, the thread that made it is in a call of a plug-in; they may be nested. The texts
// must live as long. Costs two copies of 24 bytes; a thread's first one allocates.
class PluginCall {
 public:
  // begin, end: the environments; none where end is 0.
  PluginCall(const char* who, const char* function, int begin = 0, int end = 0);
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  // What a handler reads of the thread's innermost call.
  struct Where {
    const char* who = nullptr;
    const char* function = nullptr;
    int begin = 0, end = 0;
  };

 private:
  Where before_;
};

// kIo: that a function of a plug-in's let out an exception, with its words if it has any.
Status exception_status(const std::string& who, const char* function, const char* words);

// Runs what calls a function of a plug-in's, which may be in C++ and should have caught everything.
// begin, end: as in PluginCall.
template <class Run>
Status call_plugin(const std::string& who, const char* function, int begin, int end,
                   const Run& run) {
  try {
    const PluginCall call(who.c_str(), function, begin, end);
    run();
  } catch (const std::exception& thrown) {
    return exception_status(who, function, thrown.what());
  } catch (...) {
    return exception_status(who, function, "");
  }
  return {};
}

// While one lives, a signal such as SIGSEGV in a PluginCall says on standard error who was called,
// what for and for which environments, before it does what it did before: end the process, and
// leave a core where these are kept. A call of exit() says so, too.
class CrashWatch {
 public:
  CrashWatch();
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;
};

}  // namespace broadloom
