// `broadloom first-step`: hidden; `bench` starts it to time a process from its start.
#include "cli/first_step.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "broadloom/core/peak_memory.h"
#include "broadloom/math/isa.h"
#include "broadloom/train/trainer.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/config_flags.h"
#include "cli/console.h"

extern char** environ;  // NOLINT: POSIX's own name

namespace broadloom::cli {
namespace {

struct FirstStepCommand {
  std::string file;
  int threads = 0;
  Overrides flags;
};

Status make_first_step(const FirstStepCommand& command, const Context& context) {
  const Result<Config> config = read_config(command.file, command.flags, context.env_options);
  if (!config.ok()) return config.status();
  BROADLOOM_TRY(set_isa(config.value().isa));
  Result<std::unique_ptr<Trainer>> trainer =
      Trainer::create(config.value(), resolve_threads(command.threads));
  if (!trainer.ok()) return trainer.status();
  return trainer.value()->iterate();
}

int first_step(const FirstStepCommand& command, const Context& context) {
  const Status status = make_first_step(command, context);
  if (!status.ok()) return report_error(status, false);
  tell("{}\n", peak_memory());
  return 0;
}

Status start_error(const std::string& program, const std::string& why) {
  return {ErrorKind::kIo, fmt::format("cannot time the first step of '{}': {}", program, why)};
}

// Reads until the process closes its output.
std::string read_all(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

// Starts a process that writes its standard output to the pipe. Returns an errno value, or 0.
int spawn_into(const int* pipe_ends, const std::string& program, char* const* words, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
  const int error = posix_spawnp(&pid, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<FirstStep> run_first_step(const std::string& program,
                                 const std::vector<std::string>& arguments) {
  std::vector<std::string> texts = {program, "first-step"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  words.reserve(texts.size() + 1);
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return start_error(program, std::strerror(errno));
  const auto begin = std::chrono::steady_clock::now();
  pid_t pid = 0;
  const int error = spawn_into(pipe_ends, program, words.data(), pid);
  close(pipe_ends[1]);
  const std::string output = error == 0 ? read_all(pipe_ends[0]) : "";
  close(pipe_ends[0]);
  if (error != 0) return start_error(program, std::strerror(error));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return start_error(program, "it failed; its own error is printed above");
  }
  return FirstStep{elapsed.count(), std::strtoll(output.c_str(), nullptr, 10)};
}

void add_first_step_command(Command root, Context& context) {
  const Command app =
      root.add_subcommand("first-step", "Train one iteration and write peak memory");
  app.hide();  // hidden: `bench` calls it
  const auto command = std::make_shared<FirstStepCommand>();
  app.add_option("FILE", command->file, "Config in TOML").required();
  app.add_option("--threads", command->threads, "Worker threads").range(0, 1024).type_name("INT");
  add_config_flags(app, context, command->flags);
  app.callback([&context, command] {
    context.action = [&context, command] { return first_step(*command, context); };
  });
}

}  // namespace broadloom::cli
