#include "broadloom/env/plugins/plugin_call.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
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

// Read in a signal handler. This TLS model allocates nothing on first use.
[[gnu::tls_model("initial-exec")]] thread_local PluginCall::Where innermost;

struct Handlers {
  std::mutex mutex;
  int users = 0;
  std::array<struct sigaction, kCount> before{};
};
Handlers handlers;

std::atomic<bool> reported{false};

// From here to report_crash(), code must be safe in a signal handler: no locks, no allocation, no
// streams. A single write() keeps the message in one piece.
class Message {
 public:
  void add(const char* text) {
    while (*text != '\0' && size_ < sizeof(text_)) text_[size_++] = *text++;
  }
  void add(int number) {
    char digits[12];
    char* place = digits + sizeof(digits) - 1;
    *place = '\0';
    do {
      *--place = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    add(place);
  }
  void write() const {
    if (::write(STDERR_FILENO, text_, size_) < 0) return;
  }

 private:
  char text_[1024];
  std::size_t size_ = 0;
};

void add_where(const PluginCall::Where& where, Message& message) {
  message.add(where.name);
  message.add(", in ");
  message.add(where.function);
  message.add("()");
  if (where.end <= 0) return;
  const bool several = where.end - where.begin > 1;
  message.add(several ? " of environments " : " of environment ");
  message.add(where.begin);
  if (!several) return;
  message.add(" to ");
  message.add(where.end - 1);
}

void write_report(const PluginCall::Where& where, const char* what, const char* how) {
  Message message;
  message.add("\nA plug-in ");
  message.add(what);
  message.add(how);
  message.add(": ");
  add_where(where, message);
  message.add(
      ". This is a fault of the plug-in. A run's saved state is kept; resume it from there.\n");
  message.write();
}

void report_crash(int signal, siginfo_t* info, void*) {
  std::size_t index = 0;
  while (index + 1 < kCount && kWatched[index].signal != signal) ++index;
  const PluginCall::Where where = innermost;
  innermost = {};
  if (where.name != nullptr) {
    // If several threads crash, the first one ends the process.
    while (reported.exchange(true)) ::pause();
    write_report(where, "crashed the program by ", kWatched[index].name);
  }
  ::sigaction(signal, &handlers.before[index], nullptr);
  // A faulty instruction repeats on return, and abort() raises again itself. A signal from kill()
  // would be lost, so raise it again.
  if (info->si_code <= 0 && signal != SIGABRT) ::raise(signal);
}

// Exits with 1, whatever exit code the plug-in wanted, since the run is not complete.
void report_exit() {
  const PluginCall::Where where = innermost;
  innermost = {};
  if (where.name == nullptr) return;
  write_report(where, "ended the program by ", "exit()");
  std::fflush(nullptr);
  ::_exit(1);
}

void watch() {
  static const int registered = std::atexit(report_exit);
  (void)registered;
  const std::lock_guard lock(handlers.mutex);
  if (handlers.users++ > 0) return;
  struct sigaction action {};
  action.sa_sigaction = report_crash;
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
    // Keep a handler that other code has set in the meantime.
    if (now.sa_sigaction == report_crash) {
      ::sigaction(kWatched[i].signal, &handlers.before[i], nullptr);
    }
  }
}

// The stack of the signal handler, so that stack overflows are reported, too. Keeps an alternate
// stack that a thread already has (Python's faulthandler, a sanitizer).
class AlternateStack {
 public:
  AlternateStack() {
    stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(kSize);
    stack_t mine{};
    mine.ss_sp = memory_.get();
    mine.ss_size = kSize;
    if (::sigaltstack(&mine, nullptr) != 0) memory_.reset();
  }
  ~AlternateStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr std::size_t kSize = 64 * 1024;
  std::unique_ptr<std::byte[]> memory_;
};

void ensure_alternate_stack() {
  thread_local AlternateStack stack;
  (void)stack;
}

}  // namespace

PluginCall::PluginCall(const char* name, const char* function, int begin, int end)
    : before_(innermost) {
  ensure_alternate_stack();
  innermost = {name, function, begin, end};
}
PluginCall::~PluginCall() { innermost = before_; }

Status exception_status(const std::string& name, const char* function, const char* text) {
  return {ErrorKind::kIo, fmt::format("{}() of {} threw an exception, which plug-ins must not{}{}",
                                      function, name, *text == '\0' ? "" : ": ", text)};
}

CrashWatch::CrashWatch() { watch(); }
CrashWatch::~CrashWatch() { unwatch(); }

}  // namespace broadloom
