#include "broadloom/record/run_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "broadloom/core/escape.h"
#include "broadloom/record/hash_log.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {
namespace {

constexpr const char* kNotThere = "(not there)";

std::string value_of(const Overrides& config, const std::string& key) {
  const auto found = std::find_if(config.begin(), config.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == config.end() ? kNotThere : found->second;
}

std::vector<TextDifference> origin_differences(const Manifest& first, const Manifest& second) {
  std::vector<TextDifference> out;
  const auto add = [&out](const char* name, const std::string& a, const std::string& b) {
    if (a != b) out.push_back({name, a, b});
  };
  add("version", first.version, second.version);
  add("revision", first.revision, second.revision);
  add("compiler", first.compiler, second.compiler);
  add("build_type", first.build_type, second.build_type);
  add("isa", first.isa, second.isa);
  add("cpu", first.cpu, second.cpu);
  add("device", first.device, second.device);
  return out;
}

struct HashedRun {
  Manifest manifest;
  HashReader hashes;
};

Result<HashedRun> open_run(const std::string& dir) {
  const Result<RunFolder> folder = RunFolder::open(dir);
  if (!folder.ok()) return folder.status();
  Result<Manifest> manifest = read_manifest(folder.value().manifest_path());
  if (!manifest.ok()) return manifest.status();
  Result<HashReader> hashes = HashReader::open(folder.value().hashes_path());
  if (hashes.status().kind() == ErrorKind::kNotFound) {
    return Status(ErrorKind::kNotFound,
                  fmt::format("the run '{}' has no hashes.bin; train it with --hashes, which does "
                              "not change its bits",
                              dir));
  }
  if (!hashes.ok()) return hashes.status();
  HashedRun run;
  run.manifest = manifest.take();
  run.hashes = hashes.take();
  return run;
}

// With a shape schedule, every record has its own N and T.
Status check_shapes(const HashShape& a, const HashShape& b) {
  const bool alike = a.observation_size == b.observation_size && a.action_size == b.action_size &&
                     a.has_critic == b.has_critic;
  const bool same = a.num_envs == b.num_envs && a.num_steps == b.num_steps;
  if (alike && (same || a.varies || b.varies)) return {};
  const auto words = [](const HashShape& s) {
    return fmt::format("{} environments x {} steps (D = {}, A = {}{})", s.num_envs, s.num_steps,
                       s.observation_size, s.action_size,
                       s.has_critic ? ", with critic observations" : "");
  };
  return {
      ErrorKind::kMismatch,
      fmt::format("the runs' blocks have different shapes, {} and {}, so their hashes cannot be "
                  "compared; compare runs with the same num_envs, num_steps and environment",
                  words(a), words(b))};
}

Status check_records(const BlockHashes& a, const BlockHashes& b, std::int64_t iteration) {
  if (a.N == b.N && a.T == b.T) return {};
  return {ErrorKind::kMismatch,
          fmt::format(
              "the runs' blocks have different shapes from iteration {} on, {} environments "
              "x {} steps and {} x {}, so their hashes cannot be compared; compare runs with the "
              "same shape_schedule",
              iteration, a.N, a.T, b.N, b.T)};
}

// The first difference in time, and in order of cause within a step.
std::optional<Parting> first_difference(const BlockHashes& a, const BlockHashes& b) {
  Parting parting;
  for (int t = 0; t < a.T; ++t) {
    for (std::size_t field = 0; field < a.fields.size(); ++field) {
      if (a.column(field, t) == b.column(field, t)) continue;
      parting.field = a.fields[field];
      parting.step = t;
      for (int n = 0; n < a.N; ++n) {
        if (a.row(field, n) != b.row(field, n)) parting.environments.push_back(n);
      }
      return parting;
    }
  }
  if (a.params == b.params) return std::nullopt;
  parting.field = "params";
  parting.step = a.T - 1;
  return parting;
}

// Leaves the readers at the first different iteration, or at the end of the shorter run.
Status compare(HashReader& first, HashReader& second, RunDiff& diff) {
  while (true) {
    const Result<bool> has_first = first.next();
    if (!has_first.ok()) return has_first.status();
    const Result<bool> has_second = second.next();
    if (!has_second.ok()) return has_second.status();
    if (!has_first.value() || !has_second.value()) return {};
    diff.compared = first.iteration();
    BROADLOOM_TRY(check_records(first.hashes(), second.hashes(), first.iteration()));
    diff.parting = first_difference(first.hashes(), second.hashes());
    if (!diff.parting) continue;
    Parting& parting = *diff.parting;
    parting.iteration = first.iteration();
    parting.global_step = first.first_step() + (std::int64_t{parting.step} + 1) * first.hashes().N;
    return {};
  }
}

Status read_to_the_end(HashReader& reader) {
  while (true) {
    const Result<bool> more = reader.next();
    if (!more.ok()) return more.status();
    if (!more.value()) return {};
  }
}

// Without a complete record, the runs must not count as equal.
Status check_compared(const RunDiff& diff, const std::string& first, const std::string& second) {
  if (diff.compared > 0) return {};
  return {ErrorKind::kNotFound,
          fmt::format("there is nothing to compare: hashes.bin of '{}' or of '{}' has no complete "
                      "iteration yet, or was cut short; resume the run, or train it again",
                      first, second)};
}

}  // namespace

std::vector<TextDifference> setting_differences(const Overrides& first, const Overrides& second) {
  std::vector<TextDifference> out;
  for (const auto& [key, text] : first) {
    const std::string other = value_of(second, key);
    if (other != text) out.push_back({key, text, other});
  }
  for (const auto& [key, text] : second) {
    if (value_of(first, key) == kNotThere) out.push_back({key, kNotThere, text});
  }
  return out;
}

Result<RunDiff> diff_runs(const std::string& first_dir, const std::string& second_dir) {
  Result<HashedRun> first = open_run(first_dir);
  if (!first.ok()) return first.status();
  Result<HashedRun> second = open_run(second_dir);
  if (!second.ok()) return second.status();
  HashReader& a = first.value().hashes;
  HashReader& b = second.value().hashes;
  BROADLOOM_TRY(check_shapes(a.shape(), b.shape()));
  RunDiff diff;
  diff.settings =
      setting_differences(first.value().manifest.config, second.value().manifest.config);
  const std::string &source = first.value().manifest.upstream,
                    &other = second.value().manifest.upstream;
  if (!same_source(source, other))
    diff.settings.push_back({"upstream", one_line(source), one_line(other)});
  diff.origins = origin_differences(first.value().manifest, second.value().manifest);
  BROADLOOM_TRY(compare(a, b, diff));
  BROADLOOM_TRY(read_to_the_end(a));
  BROADLOOM_TRY(read_to_the_end(b));
  diff.iterations_first = a.iteration();
  diff.iterations_second = b.iteration();
  BROADLOOM_TRY(check_compared(diff, first_dir, second_dir));
  return diff;
}

}  // namespace broadloom
