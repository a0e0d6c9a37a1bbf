#include "research/study/launch_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

extern char** environ;  // NOLINT: POSIX's own name

namespace broadloom {
namespace {

constexpr std::size_t kLongestLine = 300;

// The two ends of a pipe, closed by the destructor.
class Pipe {
 public:
  Pipe() { is_open_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return is_open_; }
  int end(std::size_t side) const { return ends_[side]; }
  void close_end(std::size_t side) {
    if (ends_[side] >= 0) ::close(ends_[side]);
    ends_[side] = -1;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  bool is_open_ = false;
};

// Reads both at once, since the program would block on a full pipe that nobody reads.
void read_both(Pipe& out, Pipe& err, CommandOutput& output) {
  std::array<Pipe*, 2> pipes = {&out, &err};
  std::array<std::string*, 2> texts = {&output.out, &output.err};
  while (out.end(0) >= 0 || err.end(0) >= 0) {
    std::array<pollfd, 2> waiting = {pollfd{out.end(0), POLLIN, 0}, pollfd{err.end(0), POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t n = ::read(pipes[i]->end(0), buffer.data(), buffer.size());
      if (n > 0) texts[i]->append(buffer.data(), static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) pipes[i]->close_end(0);
    }
  }
}

// The environment without removed variables, null-terminated.
std::vector<char*> environment(const std::vector<std::string>& removed) {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool is_left_out = std::any_of(removed.begin(), removed.end(), [&](const auto& start) {
      return text.substr(0, start.size()) == start;
    });
    if (!is_left_out) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

int spawn(const Pipe& out, const Pipe& err, char* const* words, char* const* variables,
          pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.end(1), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.end(1), STDERR_FILENO);
  // In its own process group, so that Ctrl-C does not interrupt it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawnp(&pid, words[0], &actions, &attributes, words, variables);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Status cannot_start(const std::string& program, int error) {
  return {error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
          fmt::format("cannot start '{}': {}", program, std::strerror(error))};
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& words,
                                  const std::vector<std::string>& removed_variables) {
  std::vector<std::string> texts = words;
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  Pipe out, err;
  if (!out.is_open() || !err.is_open()) return cannot_start(words.front(), errno);
  pid_t pid = 0;
  const int error = spawn(out, err, pointers.data(), environment(removed_variables).data(), pid);
  if (error != 0) return cannot_start(words.front(), error);
  out.close_end(1);
  err.close_end(1);
  CommandOutput output;
  read_both(out, err, output);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const std::size_t begin = text.find_last_of('\n', end);
  std::string line = text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
  if (begin == std::string::npos) line = text.substr(0, end + 1);
  if (line.size() > kLongestLine) line = line.substr(0, kLongestLine) + "...";
  return line;
}

}  // namespace broadloom
