#include "broadloom/plugins/plugin_call.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

namespace broadloom {
namespace {

struct Watched {
  int signal;
  const char* name;
};
constexpr Watched kWatched[] = {{SIGSEGV, "SIGSEGV, a bad address"},
                                {SIGBUS, "SIGBUS, a bad address"},
                                {SIGFPE, "SIGFPE, arithmetic"},
                                {SIGILL, "SIGILL, a bad instruction"},
                                {SIGABRT, "SIGABRT, an abort"}};
constexpr std::size_t kCount = std::size(kWatched);

// Reached from a signal handler: the model that allocates nothing when it is first touched.
[[gnu::tls_model("initial-exec")]] thread_local PluginCall::Where innermost;

struct Handlers {
  std::mutex mutex;
  int users = 0;
  std::array<struct sigaction, kCount> before{};
};
Handlers handlers;

// Only what may be called in a signal handler, from here on: no locks, no memory, no streams.
void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void say(int number) {
  char digits[12];
  char* place = digits + sizeof(digits) - 1;
  *place = '\0';
  do {
    *--place = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  say(place);
}

void say_where(const PluginCall::Where& where) {
  say(where.who);
  say(", in ");
  say(where.function);
  if (where.end > 0) {
    say(where.end - where.begin > 1 ? " of environments " : " of environment ");
    say(where.begin);
    if (where.end - where.begin > 1) {
      say(" to ");
      say(where.end - 1);
    }
  }
}

void tell(int signal, siginfo_t* info, void*) {
  std::size_t which = 0;
  while (which + 1 < kCount && kWatched[which].signal != signal) ++which;
  const PluginCall::Where where = innermost;
  innermost = {};  // once
  if (where.who != nullptr) {
    say("\nA plug-in crashed the program (");
    say(kWatched[which].name);
    say("): ");
    say_where(where);
    say(
        ". It is a fault of the plug-in. What was saved stays saved, and a resume goes on from "
        "there.\n");
  }
  ::sigaction(signal, &handlers.before[which], nullptr);
  // A faulty instruction comes again on return, and abort() raises again itself; what was sent by
  // kill() would be lost.
  if (info->si_code <= 0 && signal != SIGABRT) ::raise(signal);
}

void tell_of_exit() {
  const PluginCall::Where where = innermost;
  innermost = {};
  if (where.who == nullptr) return;
  say("\nA plug-in ended the program with exit(): ");
  say_where(where);
  say(". What was saved stays saved, and a resume goes on from there.\n");
}

void watch() {
  static const int registered = std::atexit(tell_of_exit);
  (void)registered;
  const std::lock_guard lock(handlers.mutex);
  if (handlers.users++ > 0) return;
  struct sigaction action {};
  action.sa_sigaction = tell;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kCount; ++i) {
    ::sigaction(kWatched[i].signal, &action, &handlers.before[i]);
  }
}

void unwatch() {
  const std::lock_guard lock(handlers.mutex);
  if (--handlers.users > 0) return;
  for (std::size_t i = 0; i < kCount; ++i) {
    struct sigaction now {};
    ::sigaction(kWatched[i].signal, nullptr, &now);
    // Whoever set another one meanwhile keeps it.
    if (now.sa_sigaction == tell) {
      ::sigaction(kWatched[i].signal, &handlers.before[i], nullptr);
    }
  }
}

}  // namespace

PluginCall::PluginCall(const char* who, const char* function, int begin, int end)
    : before_(innermost) {
  innermost = {who, function, begin, end};
}
PluginCall::~PluginCall() { innermost = before_; }

CrashWatch::CrashWatch() { watch(); }
CrashWatch::~CrashWatch() { unwatch(); }

}  // namespace broadloom
