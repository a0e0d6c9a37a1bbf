#include "cli/study_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "broadloom/record/files.h"

namespace broadloom::cli {
namespace {

// Flags of the call that a part's own call does not get.
constexpr const char* kNotForParts[] = {
    "launcher", "parts",  "partition", "time_limit", "jobs", "threads", "retry_failed",
    "plan",     "report", "quiet",     "json",       "out",  "runs"};

bool is_for_parts(const std::string& token) {
  if (token.rfind("--", 0) != 0) return true;
  const std::string name = token.substr(2, token.find('=') - 2);
  return std::none_of(std::begin(kNotForParts), std::end(kNotForParts),
                      [&](const char* other) { return name == other; });
}

// The words of this process's call before its arguments: a program, or "python -m broadloom" or a
// script. A program is named by its file, since PATH may find another one later. An interpreter
// keeps its typed name, which decides where it finds its packages.
Result<std::vector<std::string>> program_words(const Context& context) {
  const Result<std::string> bytes = read_file("/proc/self/cmdline");
  if (!bytes.ok()) return bytes.status();
  std::vector<std::string> words(1);
  for (const char c : bytes.value()) {
    if (c == '\0') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  words.pop_back();  // empty: each word ends in a zero
  const auto& given = context.arguments;
  const auto behind = static_cast<std::ptrdiff_t>(given.size());
  if (words.size() <= given.size() ||
      !std::equal(given.begin(), given.end(), words.end() - behind)) {
    return invalid(
        "a cluster job must start this program anew, but this call was made inside another "
        "program; "
        "call it from a shell: `broadloom study ...`, or `python -m broadloom study ...`");
  }
  words.resize(words.size() - given.size());
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
  if (words.size() == 1 && !error) words[0] = file.string();
  return words;
}

Result<std::vector<std::string>> part_command(const StudyOptions& study, const Context& context) {
  Result<std::vector<std::string>> program = program_words(context);
  if (!program.ok()) return program.status();
  std::vector<std::string> words = program.take();
  std::copy_if(context.tokens.begin(), context.tokens.end(), std::back_inserter(words),
               is_for_parts);
  for (const auto& [key, value] : context.env_options) {
    words.push_back(fmt::format("--{}={}", key, value));
  }
  for (const std::string& word : {std::string("--launcher=local"), std::string("--jobs=1"),
                                  fmt::format("--threads={}", study.threads),
                                  std::string("--report=false"), std::string("--quiet")}) {
    words.push_back(word);
  }
  return words;
}

}  // namespace

void add_launch_flags(Command app, LaunchFlags& flags) {
  constexpr const char* kGroup = "Cluster";
  app.add_option("--launcher", flags.launcher,
                 "Where to train: local (default), on this machine; slurm, in a job array")
      .type_name("WORD")
      .group(kGroup);
  app.add_option("--parts", flags.parts, "Jobs in the array (default: for about ten minutes each)")
      .range(1, 100000)
      .type_name("INT")
      .group(kGroup);
  app.add_option("--partition", flags.partition,
                 "Partition (default: the cluster's, or the first that accepts the jobs)")
      .type_name("NAME")
      .group(kGroup);
  app.add_option("--time_limit", flags.time_limit,
                 "Time limit of a job in minutes (default: from the predicted time of its runs)")
      .range(1, 1000000)
      .type_name("INT")
      .group(kGroup);
}

Status check_launch_flags(const LaunchFlags& flags, const Launcher& launcher,
                          const StudyPart& part) {
  if (launcher.is_remote()) {
    if (part.is_whole()) return {};
    return invalid(
        fmt::format("--launcher {} itself splits the study into parts; leave out --part and --runs",
                    flags.launcher));
  }
  const char* given = flags.parts > 0            ? "parts"
                      : flags.time_limit > 0     ? "time_limit"
                      : !flags.partition.empty() ? "partition"
                                                 : nullptr;
  if (given == nullptr) return {};
  return invalid(
      fmt::format("--{} is for cluster jobs; add --launcher slurm, or leave it out", given));
}

Result<LaunchOptions> launch_options(const LaunchFlags& flags, const Launcher& launcher,
                                     const StudyOptions& study, const Context& context) {
  LaunchOptions options;
  options.study = study;
  options.parts = flags.parts;
  options.minutes = flags.time_limit;
  options.partition = flags.partition;
  if (!launcher.is_remote()) return options;
  Result<std::vector<std::string>> command = part_command(study, context);
  if (!command.ok()) return command.status();
  options.command = command.take();
  return options;
}

}  // namespace broadloom::cli
