#include "research/study/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

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

std::string counted(std::int64_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}
std::string minutes_text(int minutes) {
  return minutes < 0 ? "any time" : counted(minutes, "minute");
}
std::string memory_text(std::int64_t bytes) { return fmt::format("{} MB", bytes / kMiB); }

// A resource: the job's need, a partition's limit, and advice.
struct Resource {
  std::string needed;
  std::string (*allowed)(const SlurmPartition&);
  bool (*suffices)(const SlurmPartition&, const JobLimits&);
  const char* advice;
};

std::vector<Resource> resources_of(const JobLimits& limits) {
  using Partition = SlurmPartition;
  return {
      {minutes_text(limits.minutes), [](const Partition& p) { return minutes_text(p.minutes); },
       [](const Partition& p, const JobLimits& job) {
         return p.minutes < 0 || p.minutes >= job.minutes;
       },
       "more --parts, a smaller --time_limit"},
      {counted(limits.threads, "processor"),
       [](const Partition& p) { return counted(p.cpus, "processor"); },
       [](const Partition& p, const JobLimits& job) { return p.cpus >= job.threads; },
       "fewer --threads"},
      {memory_text(limits.memory_bytes),
       [](const Partition& p) { return memory_text(p.memory_bytes); },
       [](const Partition& p, const JobLimits& job) { return p.memory_bytes >= job.memory_bytes; },
       "smaller shapes"}};
}

bool takes(const SlurmPartition& partition, const JobLimits& limits) {
  const std::vector<Resource> all = resources_of(limits);
  return partition.is_up && std::all_of(all.begin(), all.end(), [&](const Resource& resource) {
           return resource.suffices(partition, limits);
         });
}

// No partition of these takes the job. Names the resources of which none has enough; if there is no
// such resource, those of which one has too little.
Status nowhere_to_run(const std::vector<SlurmPartition>& partitions, const JobLimits& limits) {
  if (partitions.empty()) return invalid("Slurm has no partition");
  std::vector<SlurmPartition> up = partitions;
  std::erase_if(up, [](const SlurmPartition& p) { return !p.is_up; });
  std::vector<Resource> none_has, one_lacks;
  for (const Resource& resource : resources_of(limits)) {
    const auto count = std::count_if(up.begin(), up.end(), [&](const SlurmPartition& p) {
      return resource.suffices(p, limits);
    });
    if (count == 0) none_has.push_back(resource);
    if (count < std::ssize(up)) one_lacks.push_back(resource);
  }
  const std::vector<Resource>& missing = none_has.empty() ? one_lacks : none_has;
  std::vector<std::string> needed, advice, allowed;
  for (const Resource& resource : missing) {
    needed.push_back(resource.needed);
    advice.emplace_back(resource.advice);
  }
  for (const SlurmPartition& p : partitions) {
    std::vector<std::string> texts;
    texts.reserve(missing.size());
    for (const Resource& resource : missing) texts.push_back(resource.allowed(p));
    allowed.push_back(fmt::format("{}: {}", p.name,
                                  p.is_up ? fmt::format("{}", fmt::join(texts, ", ")) : "not up"));
  }
  if (up.empty()) return invalid(fmt::format("no partition is up ({})", fmt::join(allowed, "; ")));
  return invalid(fmt::format("a job needs {}, and no partition allows that ({}); give {}",
                             fmt::join(needed, ", "), fmt::join(allowed, "; "),
                             fmt::join(advice, ", or ")));
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
  std::vector<SlurmPartition> asked = partitions;
  if (!partition.empty()) std::erase_if(asked, [&](const auto& p) { return p.name != partition; });
  if (!partition.empty() && asked.empty()) {
    std::vector<std::string> known;
    known.reserve(partitions.size());
    for (const SlurmPartition& p : partitions) known.push_back(p.name);
    return invalid(fmt::format("partition: got '{}', which Slurm does not have; it has {}",
                               partition,
                               known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  return nowhere_to_run(asked, limits);
}

}  // namespace broadloom
