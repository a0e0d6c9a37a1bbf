#include "research/study/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "broadloom/core/escape.h"
#include "research/study/launch_command.h"

namespace broadloom {
namespace {

// A person's settings for their own calls would hide jobs here, or place jobs and logs elsewhere.
const std::vector<std::string> kPersonalVariables = {
    "SQUEUE_", "SINFO_", "SBATCH_CLUSTERS=", "SBATCH_WAIT=", "SBATCH_ERROR="};
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The leading digits; "8000+" in sinfo's output means at least 8000.
std::int64_t leading_number(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Runs the command and returns its standard output; kIo with its error message if it fails.
Result<std::string> ask(const std::vector<std::string>& words) {
  const Result<CommandOutput> output = run_command(words, kPersonalVariables);
  if (output.status().kind() == ErrorKind::kNotFound) {
    return Status(
        ErrorKind::kNotFound,
        fmt::format("there is no command '{}' here; run this where Slurm's commands are (a login "
                    "node), or use --launcher local",
                    words.front()));
  }
  if (!output.ok()) return output.status();
  if (output.value().exit_code == 0) return output.value().out;
  std::string errors = output.value().err;
  while (!errors.empty() && errors.back() == '\n') errors.pop_back();
  std::replace(errors.begin(), errors.end(), '\n', ' ');
  return Status(ErrorKind::kIo, fmt::format("{} refused: '{}'", words.front(), errors));
}

// A value of a script's #SBATCH line; paths are in double quotes. A line break cannot be escaped:
// the rest would become a command of the script.
Result<std::string> directive_value(const std::string& name, const std::string& value,
                                    bool is_path) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control)) {
    return invalid(fmt::format(
        "{}: got '{}', but a line of Slurm's script cannot hold a line break or another control "
        "character; use a store (--out) and a working folder whose names have none",
        name, value));
  }
  if (!is_path) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// % begins a pattern in names of log files.
std::string log_pattern(const std::string& log) {
  const std::size_t position = log.rfind("{}");
  std::string pattern;
  for (const char c : log.substr(0, position))
    pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern + "%a" + log.substr(position + 2);
}

struct Directive {
  std::string name, value;
  bool is_path = false;
};

// The options of sbatch for an array.
std::vector<Directive> directives(const JobArray& array) {
  const std::string at_once = array.at_once > 0 ? fmt::format("%{}", array.at_once) : "";
  std::vector<Directive> all = {
      {"job-name", array.name},
      {"array", fmt::format("1-{}{}", array.parts, at_once)},
      {"ntasks", "1"},
      {"cpus-per-task", fmt::format("{}", array.limits.threads)},
      {"mem", fmt::format("{}M", array.limits.memory_bytes / kMiB)},
      {"time", fmt::format("{}", array.limits.minutes)},
      {"chdir", array.folder, true},
      {"output", log_pattern(array.log), true},
      // A job that was preempted or lost its node is queued again and continues in its store.
      {"requeue", ""},
      {"open-mode", "append"}};
  if (!array.limits.partition.empty()) all.push_back({"partition", array.limits.partition});
  return all;
}

bool takes(const SlurmPartition& partition, const JobLimits& limits) {
  return partition.is_up && partition.cpus >= limits.threads &&
         partition.memory_bytes >= limits.memory_bytes &&
         (partition.minutes < 0 || partition.minutes >= limits.minutes);
}

std::string limits_text(int minutes, int cpus, std::int64_t memory_bytes) {
  return fmt::format("{}, {} {}, {} MB",
                     minutes < 0 ? "any time" : fmt::format("{} minutes", minutes), cpus,
                     cpus == 1 ? "processor" : "processors", memory_bytes / kMiB);
}

std::string partition_text(const SlurmPartition& partition) {
  return fmt::format("{}: {}{}", partition.name,
                     limits_text(partition.minutes, partition.cpus, partition.memory_bytes),
                     partition.is_up ? "" : ", not up");
}

class SlurmQueue : public JobQueue {
 public:
  const char* title() const override { return "Slurm"; }

  Status check() const override {
    BROADLOOM_TRY(ask({"sbatch", "--version"}).status());
    return partitions().status();
  }

  Result<JobLimits> place(const JobLimits& limits, const std::string& partition) const override {
    const Result<std::vector<SlurmPartition>> known = partitions();
    if (!known.ok()) return known.status();
    return place_among(known.value(), limits, partition);
  }

  Result<std::string> script(const JobArray& array) const override {
    std::string text = "#!/bin/bash\n";
    for (const Directive& line : directives(array)) {
      const Result<std::string> value = directive_value(line.name, line.value, line.is_path);
      if (!value.ok()) return value.status();
      text += fmt::format("#SBATCH --{}{}{}\n", line.name, line.value.empty() ? "" : "=",
                          value.value());
    }
    text +=
        "# Runs one part of a study in a job array. By hand, or with another queue: bash FILE N.\n";
    text += "part=${1:-$SLURM_ARRAY_TASK_ID}\nruns=(\n";
    for (std::size_t i = 0; i < array.runs.size(); ++i) {
      text += fmt::format("  [{}]={}\n", i + 1, array.runs[i]);
    }
    text += fmt::format(")\ncd {} || exit\n", shell_word(array.folder));
    text += "exec";
    for (const std::string& word : array.command) text += " " + shell_word(word);
    const std::size_t position = array.store.rfind("{}");
    text +=
        fmt::format(" \\\n  --runs=\"${{runs[$part]}}\" --out={}\"$part\"{}\n",
                    shell_word(array.store.substr(0, position)), array.store.substr(position + 2));
    return text;
  }

  // Repeats the script's options, because variables such as SBATCH_PARTITION overrule its lines.
  Result<std::string> submit(const JobArray& array, const std::string& script) const override {
    std::vector<std::string> words = {"sbatch", "--parsable"};
    for (const auto& [name, value, is_path] : directives(array)) {
      words.push_back(fmt::format("--{}{}{}", name, value.empty() ? "" : "=", value));
    }
    words.push_back(script);
    Result<std::string> answer = ask(words);
    if (!answer.ok()) return answer.status();
    const std::int64_t number = leading_number(last_line(answer.value()));  // or "12;cluster"
    return number > 0 ? fmt::format("{}", number) : std::string();
  }

  Result<std::vector<QueuedJob>> unfinished(const std::string& name) const override {
    const Result<std::string> answer =
        ask({"squeue", "--noheader", "--all", "--array", "--name=" + name, "--format=%F|%K|%T|%r"});
    if (!answer.ok()) return answer.status();
    std::vector<QueuedJob> jobs;
    for (const std::string& line : split(answer.value(), '\n')) {
      const std::vector<std::string> columns = split(line, '|');
      if (columns.size() < 4) continue;
      const bool runs = columns[2] == "RUNNING" || columns[2] == "COMPLETING";
      const bool has_reason = !runs && columns[3] != "None";
      jobs.push_back({columns[0], static_cast<int>(leading_number(columns[1])), runs,
                      has_reason ? columns[3] : ""});
    }
    return jobs;
  }

  std::string cancel_words(const std::string& array) const override { return "scancel " + array; }
  std::string job_name(const std::string& array, int part) const override {
    return fmt::format("{}_{}", array, part);
  }

 private:
  static Result<std::vector<SlurmPartition>> partitions() {
    const Result<std::string> answer =
        ask({"sinfo", "--exact", "--noheader", "--all", "--format=%P|%a|%l|%c|%m"});
    if (!answer.ok()) return answer.status();
    return parse_partitions(answer.value());
  }
};

}  // namespace

std::string with_number(const std::string& text, int number) {
  const std::size_t position = text.rfind("{}");
  return text.substr(0, position) + fmt::format("{}", number) + text.substr(position + 2);
}

std::unique_ptr<JobQueue> make_slurm_queue() { return std::make_unique<SlurmQueue>(); }

int parse_slurm_minutes(const std::string& text) {
  if (text == "infinite" || text == "UNLIMITED") return -1;
  const std::size_t dash = text.find('-');
  const std::int64_t days = dash == std::string::npos ? 0 : leading_number(text);
  const std::vector<std::string> fields =
      split(dash == std::string::npos ? text : text.substr(dash + 1), ':');
  std::int64_t seconds = 0;
  for (const std::string& field : fields) seconds = 60 * seconds + leading_number(field);
  // "1-12" is 1 day and 12 hours, "1-12:30" adds 30 minutes; "10:00" is 10 minutes.
  if (dash != std::string::npos) {
    for (std::size_t i = fields.size(); i < 3; ++i) seconds *= 60;
  } else if (fields.size() == 1) {
    seconds *= 60;
  }
  return static_cast<int>(days * 24 * 60 + seconds / 60);
}

std::vector<SlurmPartition> parse_partitions(const std::string& text) {
  std::vector<SlurmPartition> partitions;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> columns = split(line, '|');
    if (columns.size() < 5) continue;
    SlurmPartition partition;
    partition.name = columns[0];
    partition.is_default = !partition.name.empty() && partition.name.back() == '*';
    if (partition.is_default) partition.name.pop_back();
    partition.is_up = columns[1] == "up";
    partition.minutes = parse_slurm_minutes(columns[2]);
    partition.cpus = static_cast<int>(leading_number(columns[3]));
    partition.memory_bytes = leading_number(columns[4]) * kMiB;
    partitions.push_back(partition);
  }
  return partitions;
}

Result<JobLimits> place_among(const std::vector<SlurmPartition>& partitions,
                              const JobLimits& limits, const std::string& partition) {
  JobLimits placed = limits;
  const auto choose = [&](bool only_default) {
    for (const SlurmPartition& p : partitions) {
      if (!partition.empty() && p.name != partition) continue;
      if ((only_default && !p.is_default) || !takes(p, limits)) continue;
      placed.partition = p.name;
      return true;
    }
    return false;
  };
  if (choose(true) || choose(false)) return placed;
  std::vector<std::string> known;
  bool is_known = false;
  for (const SlurmPartition& p : partitions) {
    if (!partition.empty() && p.name != partition) continue;
    is_known = true;
    known.push_back(partition_text(p));
  }
  if (!partition.empty() && !is_known) {
    for (const SlurmPartition& p : partitions) known.push_back(p.name);
    return invalid(fmt::format("partition: got '{}', which Slurm does not have; it has {}",
                               partition,
                               known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  return invalid(
      fmt::format("a job needs {}, and no partition allows that ({}); give more --parts, a smaller "
                  "--time_limit, fewer --threads, or smaller shapes",
                  limits_text(limits.minutes, limits.threads, limits.memory_bytes),
                  known.empty() ? "Slurm has none" : fmt::format("{}", fmt::join(known, "; "))));
}

}  // namespace broadloom
