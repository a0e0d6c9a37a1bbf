#include "cli/study_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "broadloom/record/files.h"

namespace broadloom::cli {
namespace {

// Flags of the call that are not those of a part.
constexpr const char* kNotOfAPart[] = {
    "launcher", "parts",  "partition", "time_limit", "jobs", "threads", "retry_failed",
    "plan",     "report", "quiet",     "json",       "out",  "runs"};

bool is_of_a_part(const std::string& token) {
  if (token.rfind("--", 0) != 0) return true;
  const std::string name = token.substr(2, token.find('=') - 2);
  return std::none_of(std::begin(kNotOfAPart), std::end(kNotOfAPart),
                      [&](const char* other) { return name == other; });
}

// How this process was called before its arguments: a file, or "python -m broadloom" and a script
// of one's own. A plain program is named by its very file, wherever PATH would find another one
// later; an interpreter as it was typed, by which it knows its packages.
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
  words.pop_back();  // behind the last end
  const auto& given = context.arguments;
  const auto behind = static_cast<std::ptrdiff_t>(given.size());
  if (words.size() <= given.size() ||
      !std::equal(given.begin(), given.end(), words.end() - behind)) {
    return invalid(
        "a job of a cluster starts this program anew, and this call is made inside another one, "
        "which a job cannot make; call it from a shell: `broadloom study ...`, or `python -m "
        "broadloom study ...`");
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
               is_of_a_part);
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
                 "Who trains: local (default), this machine; slurm, an array of its jobs")
      .type_name("WORD")
      .group(kGroup);
  app.add_option("--parts", flags.parts, "Jobs of the array (default: of some ten minutes each)")
      .range(1, 100000)
      .type_name("INT")
      .group(kGroup);
  app.add_option("--partition", flags.partition,
                 "Partition of the cluster (default: its own, or the first that takes the jobs)")
      .type_name("NAME")
      .group(kGroup);
  app.add_option("--time_limit", flags.time_limit,
                 "Minutes that a job may take (default: by what its runs are predicted to take)")
      .range(1, 1000000)
      .type_name("INT")
      .group(kGroup);
}

Status check_launch_flags(const LaunchFlags& flags, const Launcher& launcher,
                          const StudyPart& part) {
  if (launcher.is_remote()) {
    if (part.is_whole()) return {};
    return invalid(
        fmt::format("--launcher {} cuts the study into parts itself; leave --part and --runs out",
                    flags.launcher));
  }
  const char* given = flags.parts > 0            ? "parts"
                      : flags.time_limit > 0     ? "time_limit"
                      : !flags.partition.empty() ? "partition"
                                                 : nullptr;
  if (given == nullptr) return {};
  return invalid(
      fmt::format("--{} is for jobs of a cluster; give --launcher slurm, or leave it out", given));
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
