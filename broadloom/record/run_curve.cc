#include "broadloom/record/run_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

#include "broadloom/config/keys.h"
#include "broadloom/core/number_text.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/record/manifest.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/record/run_folder.h"

namespace broadloom {
namespace {

struct RecordedSettings {
  // Every setting, the source of environments that are not of the library, the initial policy if it
  // came from another run, and the teacher with its hash: one path may have had another policy
  // before, as one id other environments.
  Overrides config;
  bool is_rerun = false;
};

Result<RecordedSettings> read_record(const std::string& run_dir) {
  const Result<RunFolder> folder = RunFolder::open(run_dir);
  if (!folder.ok()) return folder.status();
  Result<Manifest> manifest = read_manifest(folder.value().manifest_path());
  if (!manifest.ok()) return manifest.status();
  Overrides config = std::move(manifest.value().config);
  if (std::string source = source_words(manifest.value().upstream); !source.empty()) {
    config.emplace_back("upstream", std::move(source));
  }
  if (manifest.value().init) config.emplace_back("init", manifest.value().init->parameters_hash);
  for (auto& [key, text] : config) {
    if (key != "teacher" || !manifest.value().teacher) continue;
    text += fmt::format(" ({})", manifest.value().teacher->parameters_hash.substr(0, 8));
  }
  return RecordedSettings{std::move(config), !manifest.value().rerun_of.empty()};
}

Result<Overrides> read_settings(const std::string& run_dir) {
  Result<RecordedSettings> record = read_record(run_dir);
  if (!record.ok()) return record.status();
  return std::move(record.value().config);
}

std::string text_in(const Overrides& config, const std::string& key) {
  const auto found = std::find_if(config.begin(), config.end(),
                                  [&](const auto& setting) { return setting.first == key; });
  return found == config.end() ? "" : found->second;
}

// Differences that can change what is learnt, and the seed. Runs with other instruments, logs or
// checkpoints have the same bits.
std::vector<TextDifference> learning_differences(const Overrides& first, const Overrides& second) {
  std::vector<TextDifference> all = setting_differences(first, second);
  const bool one_source = same_source(text_in(first, "upstream"), text_in(second, "upstream"));
  std::erase_if(all, [&](const TextDifference& d) {
    return role_of(d.name) == Role::kMeasure || role_of(d.name) == Role::kRecord ||
           (d.name == "upstream" && one_source);
  });
  return all;
}

// Two records of the same run would give a confidence interval of width 0.
Status check_different_runs(const std::vector<std::string>& run_dirs,
                            const std::vector<Overrides>& configs) {
  for (std::size_t b = 1; b < configs.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!learning_differences(configs[a], configs[b]).empty()) continue;
      return invalid(fmt::format(
          "'{}' and '{}' are the same run, with equal settings and seed, and would count twice; "
          "leave one out, or train with another --seed",
          run_dirs[a], run_dirs[b]));
    }
  }
  return {};
}

// 0 means the environment's own limit, which may equal the other number.
bool is_other_task(const TextDifference& d) {
  const bool may_be_equal = d.name == "max_episode_steps" && (d.first == "0" || d.second == "0");
  return role_of(d.name) == Role::kTask && !may_be_equal;
}

// Names of the settings besides the seed in which runs differ.
Result<std::vector<std::string>> differing_settings(const std::vector<std::string>& run_dirs,
                                                    const std::vector<Overrides>& configs) {
  BROADLOOM_TRY(check_different_runs(run_dirs, configs));
  std::vector<std::string> names;
  const auto add = [&](const TextDifference& d) {
    const bool is_new = std::find(names.begin(), names.end(), d.name) == names.end();
    if (is_new && d.name != "seed") names.push_back(d.name);
  };
  for (std::size_t i = 1; i < configs.size(); ++i) {
    for (const TextDifference& d : learning_differences(configs.front(), configs[i])) {
      if (is_other_task(d)) {
        return invalid(fmt::format(
            "'{}' and '{}' have different tasks ({} {} and {}), so they cannot share an axis; draw "
            "each with its own --out FILE.svg",
            run_dirs.front(), run_dirs[i], d.name, d.first, d.second));
      }
      add(d);
    }
    // The first run may be without a source, which contradicts none of the others.
    for (std::size_t a = 1; a < i; ++a) {
      for (const TextDifference& d : learning_differences(configs[a], configs[i])) add(d);
    }
  }
  return names;
}

std::string value_in(const Overrides& config, const std::string& key) {
  const std::string text = text_in(config, key);
  return text.empty() ? "none" : text;
}

// "num_envs=8 gamma=0.9"
std::string line_name(const Overrides& config, const std::vector<std::string>& keys) {
  std::vector<std::string> parts;
  for (const std::string& key : keys) {
    const std::string value = value_in(config, key);
    parts.push_back(key + "=" + (key == "init" ? value.substr(0, 8) : value));  // a hash
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string differing_lengths(const SeedCurves& line) {
  const auto [shortest, longest] = std::minmax_element(
      line.curves.begin(), line.curves.end(),
      [](const Curve& a, const Curve& b) { return a.steps.back() < b.steps.back(); });
  if (shortest->steps.back() == longest->steps.back()) return "";
  return fmt::format("{}runs end at {} to {} steps: the line ends with the shortest run",
                     line.name.empty() ? "" : line.name + ": ",
                     with_commas(static_cast<std::int64_t>(shortest->steps.back())),
                     with_commas(static_cast<std::int64_t>(longest->steps.back())));
}

}  // namespace

Result<Curve> read_curve(const std::string& run_dir) {
  const std::string path = run_dir + "/" + RunFolder::kMetrics;
  Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  Curve curve;
  std::istringstream lines(bytes.value());
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (!json.is_object() || !json.contains("global_step") || !json.contains("episodic_return")) {
      return Status(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: '{}' is not a metrics line",
                                                     path, line.substr(0, 60)));
    }
    if (!json["episodic_return"].is_number() || !json["global_step"].is_number()) continue;
    curve.steps.push_back(json["global_step"].real());
    curve.returns.push_back(json["episodic_return"].real());
  }
  if (curve.steps.empty()) {
    return Status(
        ErrorKind::kNotFound,
        fmt::format("'{}' has no return yet: no episode has ended; train for longer", path));
  }
  return curve;
}

Result<std::vector<std::vector<std::string>>> runs_by_task(
    const std::vector<std::string>& run_dirs) {
  std::vector<std::vector<std::string>> out;
  std::vector<Overrides> tasks;
  for (const std::string& run_dir : run_dirs) {
    Result<Overrides> config = read_settings(run_dir);
    if (!config.ok()) return config.status();
    std::size_t task = 0;
    const auto differs = [&](const Overrides& other) {
      const std::vector<TextDifference> all = setting_differences(other, config.value());
      return std::any_of(all.begin(), all.end(), is_other_task);
    };
    while (task < tasks.size() && differs(tasks[task])) ++task;
    if (task == tasks.size()) {
      tasks.push_back(config.take());
      out.emplace_back();
    }
    out[task].push_back(run_dir);
  }
  return out;
}

Result<DistinctRuns> distinct_runs(const std::vector<std::string>& run_dirs) {
  std::vector<RecordedSettings> records;
  for (const std::string& run_dir : run_dirs) {
    Result<RecordedSettings> record = read_record(run_dir);
    if (!record.ok()) return record.status();
    records.push_back(record.take());
  }
  // The earliest equal run, but a rerun only if none is an original.
  const auto original_of = [&](std::size_t run) {
    std::size_t original = run;
    for (std::size_t i = run_dirs.size(); i-- > 0;) {
      if (!learning_differences(records[i].config, records[run].config).empty()) continue;
      if (records[original].is_rerun || !records[i].is_rerun) original = i;
    }
    return original;
  };
  DistinctRuns out;
  for (std::size_t run = 0; run < run_dirs.size(); ++run) {
    const std::size_t original = original_of(run);
    if (original == run) {
      out.run_dirs.push_back(run_dirs[run]);
    } else {
      out.notes.push_back(
          fmt::format("left out '{}', which is the same run as '{}', with equal settings and seed",
                      run_dirs[run], run_dirs[original]));
    }
  }
  return out;
}

Result<Curves> read_curves(const std::vector<std::string>& run_dirs) {
  Curves out;
  std::vector<Overrides> configs;
  std::vector<Curve> curves;
  for (const std::string& run_dir : run_dirs) {
    Result<Curve> curve = read_curve(run_dir);
    if (!curve.ok()) return curve.status();
    curves.push_back(curve.take());
    Result<Overrides> config = read_settings(run_dir);
    if (!config.ok()) return config.status();
    configs.push_back(config.take());
  }
  if (configs.empty()) return out;
  out.task = value_in(configs.front(), "env_id");
  const Result<std::vector<std::string>> keys = differing_settings(run_dirs, configs);
  if (!keys.ok()) return keys.status();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const std::string name = line_name(configs[i], keys.value());
    auto line = std::find_if(out.lines.begin(), out.lines.end(),
                             [&](const SeedCurves& other) { return other.name == name; });
    if (line == out.lines.end()) {
      line = out.lines.insert(line, SeedCurves{name, {}, {}, configs[i]});
    }
    line->curves.push_back(std::move(curves[i]));
    line->run_dirs.push_back(run_dirs[i]);
  }
  for (const SeedCurves& line : out.lines) {
    const std::string note = differing_lengths(line);
    if (!note.empty()) out.notes.push_back(note);
  }
  return out;
}

}  // namespace broadloom
