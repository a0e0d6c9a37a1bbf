#include "research/report/report_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "broadloom/config/keys.h"
#include "research/report/report_bases.h"
#include "research/report/report_tasks.h"
#include "research/report/report_words.h"
#include "research/study/study_definition.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostBases = 2;  // most keys of bases in an arm's name

void add_new(const std::string& text, std::vector<std::string>& list) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(text);
  }
}

void count_run(const RunEntry& run, RunCounts& counts) {
  ++counts.all;
  ++(run.finished() ? counts.finished : run.failed() ? counts.failed : counts.pending);
}

// The store does not say whether matching changed epochs or minibatches; its cells show it.
std::string adjusted(const StudyResults& results) {
  if (results.matched != "gradient_steps") return "";
  std::set<std::int64_t> epochs, minibatches;
  for (const ResultCell& cell : results.cells) {
    epochs.insert(cell.update_epochs);
    minibatches.insert(cell.minibatch_count);
  }
  if (epochs.size() > 1) return minibatches.size() > 1 ? "both" : "epochs";
  return minibatches.size() > 1 ? "minibatches" : "";
}

ReportStudy study_of(const StudyResults& results) {
  ReportStudy study;
  study.name = results.name;
  study.store = results.store;
  study.hash = results.hash;
  study.match = results.matched;
  study.adjust = adjusted(results);
  study.points = results.points;
  study.evaluations = results.evaluations;
  study.part = results.part;
  study.parts = results.parts;
  study.created = results.created;
  study.version = results.version;
  study.revision = results.revision;
  study.definition = results.definition;
  study.sampler = sampler_of(results.definition);
  std::set<std::int64_t> episodes;
  for (const ResultCell& cell : results.cells) {
    episodes.insert(cell.eval_episodes);
    study.eval_actions.insert(cell.setting("eval_actions"));
  }
  study.eval_episodes.assign(episodes.begin(), episodes.end());
  std::set<std::uint64_t> seeds;
  for (const RunEntry& run : results.stored) {
    seeds.insert(run.seed);
    count_run(run, study.runs);
    add_new(run.revision, study.run_revisions);
    add_new(run.hardware, study.hardware);
    add_new(run.isa, study.isa);
  }
  study.seeds.assign(seeds.begin(), seeds.end());
  return study;
}

int task_index(const ResultCell& cell, std::vector<ReportTask>& tasks) {
  ReportTask task = task_of(cell);
  const auto same = std::find_if(tasks.begin(), tasks.end(),
                                 [&](const ReportTask& other) { return other.name == task.name; });
  const auto index = static_cast<int>(same - tasks.begin());
  if (same == tasks.end()) tasks.push_back(std::move(task));
  return index;
}

// With a schedule of shapes: steps of environments that only the widest blocks have.
std::int64_t least_life(const ResultCell& stored) {
  const ShapeSchedule& schedule = stored.shape_schedule;
  if (schedule.empty()) return stored.environment_steps / stored.num_envs;
  std::int64_t life = 0;
  int widest = 0;
  for (const ShapePhase& phase : schedule.phases) widest = std::max(widest, phase.shape.num_envs);
  for (const Stretch& stretch : stretches(schedule, stored.total_timesteps)) {
    const BlockShape& shape = schedule.phases[stretch.phase].shape;
    if (shape.num_envs == widest) life += stretch.blocks * shape.num_steps;
  }
  return life;
}

// The cell's values of these keys, whether or not an axis sets them.
Overrides settings_of(const ResultCell& stored, const std::set<std::string>& keys) {
  Overrides settings;
  for (const std::string& key : keys) settings.emplace_back(key, stored.setting(key));
  return settings;
}

std::set<std::string> changed_keys(const std::vector<StudyResults>& results) {
  std::set<std::string> keys;
  for (const StudyResults& study : results) {
    for (const ResultCell& cell : study.cells) {
      for (const auto& [key, text] : cell.changes) keys.insert(key);
    }
  }
  return keys;
}

ReportCell cell_of(const ResultCell& stored, int study, int task) {
  ReportCell cell;
  cell.name = stored.name;
  cell.study = study;
  cell.task = task;
  cell.num_envs = stored.num_envs;
  cell.num_steps = stored.num_steps;
  cell.batch_size = stored.batch_size;
  cell.shapes_change = !stored.shape_schedule.empty();
  cell.minibatch_count = stored.minibatch_count;
  cell.minibatch_size = stored.minibatch_size;
  cell.update_epochs = stored.update_epochs;
  cell.iterations = stored.iterations;
  cell.environment_steps = stored.environment_steps;
  cell.least_life = least_life(stored);
  cell.gradient_steps = stored.gradient_steps;
  cell.counted = stored.target_kl == 0.0;
  cell.samples_per_gradient = stored.samples_per_gradient;
  cell.note = stored.note;
  cell.changes = stored.changes;
  cell.tuned = stored.tuned;
  return cell;
}

// Keys that N and T of a cell describe. A schedule is not one: it is a setting like any other.
bool is_shape_key(std::string_view key) {
  return role_of(key) == Role::kShape && key != "shape_schedule";
}

// A key may have an empty text, such as shape_schedule in cells without one; names would end in
// "=".
bool has_empty_text(const Overrides& changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [](const auto& change) { return change.second.empty(); });
}

std::string key_words(const std::string& key, const std::string& text) {
  return text.empty() ? "no " + key : key + "=" + text;
}

std::string shape_of(const ReportCell& cell) {
  return fmt::format("{}x{}", cell.num_envs, cell.num_steps);
}

std::string change_of(const ReportCell& cell, const std::string& key) {
  for (const auto& [name, text] : cell.changes) {
    if (name == key) return text;
  }
  return "";
}

// The variant of a cell that has a name, with its keys; else empty. Names of cells are the values
// of the axes, parted by blanks: a shape, key=text, or a variant's name in place of its keys.
ArmPart named_variant(const ReportCell& cell) {
  std::string_view name = cell.name;
  std::size_t first = 0, last = cell.changes.size();
  const auto token = [&](std::size_t i) {
    return cell.changes[i].first + "=" + cell.changes[i].second;
  };
  const auto cut_first = [&](const std::string& text) {
    const bool is_there =
        name.starts_with(text) && (name.size() == text.size() || name[text.size()] == ' ');
    if (is_there) name.remove_prefix(std::min(name.size(), text.size() + 1));
    return is_there;
  };
  const auto cut_last = [&](const std::string& text) {
    const bool is_there = name == text || name.ends_with(" " + text);
    if (is_there) name.remove_suffix(std::min(name.size(), text.size() + 1));
    return is_there;
  };
  if (last > 1 && cut_first(cell.changes[0].second + "x" + cell.changes[1].second)) first = 2;
  while (first < last && cut_first(token(first))) ++first;
  while (first < last && cut_last(token(last - 1))) --last;
  ArmPart variant{std::string(name), {}, true};
  for (; first < last; ++first) variant.keys.insert(cell.changes[first].first);
  return variant;
}

// Keys that belong to the task: all cells of a task have the same text, as when a variant sets
// env_id and its budget.
std::set<std::string> settings_of_tasks(const StudyReport& report, int study) {
  std::set<std::string> keys;
  for (const ReportCell& cell : report.cells) {
    if (cell.study != study) continue;
    for (const auto& [key, text] : cell.changes) {
      if (!is_shape_key(key)) keys.insert(key);
    }
  }
  std::erase_if(keys, [&](const std::string& key) {
    std::map<int, std::string> texts;
    return std::any_of(report.cells.begin(), report.cells.end(), [&](const ReportCell& cell) {
      if (cell.study != study) return false;
      const std::string text = change_of(cell, key);
      return texts.emplace(cell.task, text).first->second != text;
    });
  });
  return keys;
}

// A distinct text for each study.
std::vector<std::string> study_labels(const std::vector<ReportStudy>& studies) {
  const auto distinct_texts = [&](auto&& text_of) {
    std::vector<std::string> texts;
    texts.reserve(studies.size());
    for (const ReportStudy& study : studies) texts.push_back(text_of(study));
    const bool distinct = std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
    return distinct ? texts : std::vector<std::string>();
  };
  std::vector<std::string> labels = distinct_texts([](const ReportStudy& s) { return s.name; });
  if (labels.empty()) {
    labels = distinct_texts(
        [](const ReportStudy& s) { return std::filesystem::path(s.store).stem().string(); });
  }
  return labels.empty() ? distinct_texts([](const ReportStudy& s) { return s.store; }) : labels;
}

// Decides which cells form one arm, and names the arms.
class ArmNames {
 public:
  // bases: keys in which studies differ, shown as settings. apart: whether to name the studies in
  // any case.
  ArmNames(const StudyReport& report, std::set<std::string> bases, bool apart)
      : report_(report), bases_(std::move(bases)), needs_labels_(apart) {
    std::set<std::string> matches;
    for (std::size_t s = 0; s < report.studies.size(); ++s) {
      matches.insert(report.studies[s].match);
      task_keys_.push_back(settings_of_tasks(report, static_cast<int>(s)));
    }
    several_matches_ = matches.size() > 1;
    std::set<std::pair<std::string, int>> seen;
    for (const ReportCell& cell : report.cells) {
      if (!seen.emplace(key(cell), cell.task).second) needs_labels_ = true;
    }
    if (needs_labels_) labels_ = study_labels(report.studies);
  }

  std::string key(const ReportCell& cell) const {
    Overrides rest = other_changes(cell);
    std::sort(rest.begin(), rest.end());
    std::string text = shape_of(cell) + "\n";
    if (several_matches_) text += study(cell).match + "\n";
    if (needs_labels_) text += to_text(cell.study) + "\n";
    for (const auto& [name, value] : rest) text += name + "=" + value + "\n";
    for (const auto& [name, value] : base_settings(cell)) text += name + "=" + value + "\n";
    return text;
  }

  // Settings besides shape and task, with the study's name if only that distinguishes cells.
  Overrides settings(const ReportCell& cell) const {
    Overrides all;
    if (several_matches_) all.emplace_back("match", study(cell).match);
    if (needs_labels_) all.emplace_back("study", labels_[static_cast<std::size_t>(cell.study)]);
    for (const auto& [key, text] : cell.settings) {
      if (!is_shape_key(key) && !belongs_to_task(cell, key)) all.emplace_back(key, text);
    }
    return all;
  }

  // The match, if there are several, and the settings besides shape and task.
  std::vector<ArmPart> parts(const ReportCell& cell) const {
    std::vector<ArmPart> parts;
    if (several_matches_) parts.push_back({"match=" + study(cell).match, {"match"}, false});
    for (ArmPart& part : changed_parts(cell)) parts.push_back(std::move(part));
    for (const auto& [key, value] : base_settings(cell)) {
      parts.push_back({key_words(key, value), {key}, false});
    }
    if (needs_labels_) {
      parts.push_back(
          {"(" + labels_[static_cast<std::size_t>(cell.study)] + ")", {"study"}, false});
    }
    return parts;
  }

  // other: its parts in words.
  std::string name(const ReportCell& cell, const std::string& other) const {
    const bool names_task =
        std::any_of(cell.changes.begin(), cell.changes.end(),
                    [](const auto& change) { return role_of(change.first) == Role::kTask; });
    const bool own_name = report_.studies.size() == 1 && report_.tasks.size() == 1 && !names_task;
    if (own_name && !has_empty_text(cell.changes)) return cell.name;
    return shape_of(cell) + (other.empty() ? "" : " " + other);
  }

 private:
  const ReportStudy& study(const ReportCell& cell) const {
    return report_.studies[static_cast<std::size_t>(cell.study)];
  }

  bool belongs_to_task(const ReportCell& cell, const std::string& key) const {
    return role_of(key) == Role::kTask ||
           task_keys_[static_cast<std::size_t>(cell.study)].count(key) > 0;
  }

  // Settings of its base in which bases differ.
  Overrides base_settings(const ReportCell& cell) const {
    Overrides own;
    for (const auto& setting : cell.settings) {
      if (bases_.count(setting.first) > 0) own.push_back(setting);
    }
    return own;
  }

  // Keys set by the axes besides task and shape.
  Overrides other_changes(const ReportCell& cell) const {
    Overrides rest;
    for (const auto& change : cell.changes) {
      if (!belongs_to_task(cell, change.first) && !is_shape_key(change.first))
        rest.push_back(change);
    }
    return rest;
  }

  // A named variant has its name, unless it also sets the task: then it has other names elsewhere.
  std::vector<ArmPart> changed_parts(const ReportCell& cell) const {
    std::vector<ArmPart> parts;
    ArmPart variant = named_variant(cell);
    const bool is_apart =
        std::none_of(variant.keys.begin(), variant.keys.end(),
                     [&](const std::string& key) { return belongs_to_task(cell, key); });
    for (const auto& [key, text] : other_changes(cell)) {
      if (!is_apart || variant.keys.count(key) == 0) {
        parts.push_back({key_words(key, text), {key}, false});
      } else if (!variant.words.empty()) {
        parts.push_back(variant);
        variant.words.clear();  // once
      }
    }
    return parts;
  }

  const StudyReport& report_;
  std::set<std::string> bases_;
  std::vector<std::set<std::string>> task_keys_;  // of each study
  bool several_matches_ = false;
  bool needs_labels_ =
      false;  // cells of one task differ only by study, or bases differ in many keys
  std::vector<std::string> labels_;
};

ReportArm arm_of(const ReportCell& cell, const ArmNames& names) {
  ReportArm arm;
  arm.parts = names.parts(cell);
  arm.other = part_words(arm.parts);
  arm.name = names.name(cell, arm.other);
  arm.settings = names.settings(cell);
  arm.study = cell.study;
  arm.num_envs = cell.num_envs;
  arm.num_steps = cell.num_steps;
  arm.gradient_steps = cell.gradient_steps;
  arm.batch_size = cell.batch_size;
  arm.minibatch_size = cell.minibatch_size;
  arm.samples_per_gradient = cell.samples_per_gradient;
  return arm;
}

void gather_arms(const ArmNames& names, StudyReport& report) {
  std::map<std::string, std::size_t> index_of_key;
  for (std::size_t c = 0; c < report.cells.size(); ++c) {
    ReportCell& cell = report.cells[c];
    const auto [found, is_new] = index_of_key.emplace(names.key(cell), report.arms.size());
    if (is_new) report.arms.push_back(arm_of(cell, names));
    cell.arm = static_cast<int>(found->second);
    report.arms[found->second].cells.push_back(static_cast<int>(c));
  }
  for (ReportArm& arm : report.arms) {
    std::sort(arm.cells.begin(), arm.cells.end(), [&](int a, int b) {
      return report.cells[static_cast<std::size_t>(a)].task <
             report.cells[static_cast<std::size_t>(b)].task;
    });
  }
}

// Keeps only the settings that differ between arms.
void keep_varying_settings(std::vector<ReportArm>& arms) {
  std::map<std::string, std::set<std::string>> texts;
  for (const ReportArm& arm : arms) {
    for (const auto& [key, text] : arm.settings) texts[key].insert(text);
  }
  for (ReportArm& arm : arms) {
    std::erase_if(arm.settings,
                  [&](const auto& setting) { return texts[setting.first].size() < 2; });
  }
}

// Identifies a set of runs: task, seeds and final parameters of the finished ones.
std::string runs_key(const StudyReport& report, const ReportArm& arm) {
  std::string key;
  for (const int c : arm.cells) {
    const ReportCell& cell = report.cells[static_cast<std::size_t>(c)];
    if (cell.runs_hash.empty()) return "";
    key += to_text(cell.task) + ":" + cell.runs_hash + "\n";
  }
  return key;
}

// With several matches, the reference and sometimes other cells have the same runs each time.
void find_same_runs(StudyReport& report) {
  std::map<std::string, int> first;
  for (std::size_t a = 0; a < report.arms.size(); ++a) {
    const std::string key = runs_key(report, report.arms[a]);
    if (key.empty()) continue;
    const auto [found, is_new] = first.emplace(key, static_cast<int>(a));
    if (!is_new) report.arms[a].same_runs = found->second;
  }
}

// Takes every cell's settings. If bases differ in many keys, studies' names replace them.
UnvariedKeys take_settings(const std::vector<StudyResults>& results, StudyReport& report) {
  std::set<std::string> keys = changed_keys(results);
  UnvariedKeys unvaried = unvaried_keys(results, report, keys);
  if (unvaried.base_keys.size() <= kMostBases) {
    keys.insert(unvaried.base_keys.begin(), unvaried.base_keys.end());
  }
  std::size_t c = 0;
  for (const StudyResults& study : results) {
    for (const ResultCell& cell : study.cells) {
      report.cells[c].settings = settings_of(cell, keys);
      report.cells[c++].brought = settings_of(cell, unvaried.default_keys);
    }
  }
  return unvaried;
}

}  // namespace

void describe_studies(const std::vector<StudyResults>& results, StudyReport& report) {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < results.size(); ++s) {
    const std::size_t first = report.cells.size();
    report.studies.push_back(study_of(results[s]));
    add_new(results[s].name, names);
    for (const ResultCell& cell : results[s].cells) {
      report.cells.push_back(cell_of(cell, static_cast<int>(s), task_index(cell, report.tasks)));
    }
    const auto cell_with = [&](const RunEntry& run) -> ReportCell& {
      return report.cells[first + static_cast<std::size_t>(run.cell)];
    };
    for (const RunEntry& run : results[s].stored) count_run(run, cell_with(run).counts);
    for (const ResultRun& run : results[s].runs) {
      ReportCell& cell = cell_with(run);
      count_run(run, cell.samples);
      if (run.finished()) cell.runs_hash += to_text(run.seed) + " " + run.parameters_hash + "\n";
    }
  }
  report.title = fmt::format("{}", fmt::join(names, " + "));
  const UnvariedKeys unvaried = take_settings(results, report);
  const bool apart = unvaried.base_keys.size() > kMostBases;
  gather_arms({report, apart ? std::set<std::string>() : unvaried.base_keys, apart}, report);
  keep_varying_settings(report.arms);
  find_same_runs(report);
}

}  // namespace broadloom
