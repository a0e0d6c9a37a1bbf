#include "cli/console.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <sstream>
#include <utility>

#include "broadloom/core/available_cores.h"
#include "broadloom/core/escape.h"
#include "broadloom/record/json.h"

namespace broadloom::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

std::string& name_of_program() {
  static std::string name = "broadloom";
  return name;
}

extern "C" void note_interrupt(int) { interrupted = 1; }

// Signals that may come more than once for one reason. A closing terminal sends SIGHUP twice, from
// the shell and the system; a CPU time limit sends SIGXCPU each second. Schedulers send SIGUSR1
// before a job's time ends. Skips signals that are ignored (nohup) or have a handler (Python).
void handle_repeated(struct sigaction action) {
  action.sa_flags = static_cast<int>(SA_RESTART);
  for (const int number : {SIGHUP, SIGUSR1, SIGXCPU}) {
    struct sigaction now = {};
    if (sigaction(number, nullptr, &now) != 0) continue;
    if (now.sa_handler != SIG_DFL && now.sa_handler != note_interrupt) continue;
    sigaction(number, &action, nullptr);
  }
}

std::string* data_text = nullptr;  // null: standard output

std::string& last_error() {
  static std::string message;
  return message;
}

bool& tells_errors() {
  static bool tells = true;
  return tells;
}

}  // namespace

void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // open() gives the lowest free descriptor, which is fd.
    if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd) return;
  }
}

void survive_file_size_limit() {
  struct sigaction now = {};
  if (sigaction(SIGXFSZ, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
  now.sa_handler = [](int) {};
  now.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &now, nullptr);
}

void set_program_name(const std::string& name) {
  if (!name.empty()) name_of_program() = name;
}
const std::string& program_name() { return name_of_program(); }

void tell_errors(bool on_standard_error) { tells_errors() = on_standard_error; }

std::string take_error() { return std::exchange(last_error(), {}); }

void print_data(std::string_view text) {
  if (data_text != nullptr) {
    data_text->append(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

std::string* print_data_into(std::string* text) { return std::exchange(data_text, text); }

void tell_text(std::FILE* stream, std::string_view text) {
  const std::string plain = terminal_text(text);
  std::fwrite(plain.data(), 1, plain.size(), stream);
}

int report_error(const Status& status, bool json) {
  const int code = static_cast<int>(status.kind());
  last_error() = status.message();
  if (tells_errors()) tell(stderr, "{}: {}\n", program_name(), status.message());
  if (json) print_json({{"error", status.message()}, {"exit_code", code}});
  return code;
}

void print_json(const Json& object) {
  // A path may hold bytes that are not UTF-8. The answer must not become an exception.
  print_data(object.dump() + "\n");
}

void clear_lines(std::FILE* stream, std::size_t lines) {
  if (lines > 0) fmt::print(stream, "\x1b[{}A\r\x1b[J", lines);
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

ScreenSize screen_size(std::FILE* stream) {
  winsize size = {};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent) {
  std::istringstream words(text);
  std::string out, line, word;
  while (words >> word) {
    const bool fits = line.size() + 1 + word.size() <= columns;
    if (!line.empty() && !fits) {
      out += line + "\n";
      line = indent;
      line += word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return out + line;
}

std::string fixed_text(double value, int decimals) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, decimals);
}

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0.0 || seconds > 1e9) return "-";
  const auto whole = static_cast<std::int64_t>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string padded(const std::string& text, int width) {
  return width < 0 ? fmt::format("{:>{}}", text, -width) : fmt::format("{:<{}}", text, width);
}

int resolve_threads(int threads) { return threads > 0 ? threads : available_cores(); }

void catch_interrupts() {
  interrupted = 0;  // an earlier command of this process may have set it
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  handle_repeated(action);
}

void release_interrupts() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  handle_repeated(action);
}

bool was_interrupted() { return interrupted != 0; }

}  // namespace broadloom::cli
