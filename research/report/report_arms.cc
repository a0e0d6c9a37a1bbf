#include "research/report/report_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "broadloom/config/keys.h"
#include "research/report/report_bases.h"
#include "research/report/report_tasks.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostBases = 2;  // keys of bases that names of arms have room for

void add_new(const std::string& text, std::vector<std::string>& list) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) {
    list.push_back(text);
  }
}

void count_run(const ResultRun& run, RunCounts& counts) {
  ++counts.all;
  ++(run.finished() ? counts.finished : run.failed() ? counts.failed : counts.pending);
}

// The store does not say which of the two a match of gradient steps chose; its cells show it.
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
  std::set<std::int64_t> episodes;
  for (const ResultCell& cell : results.cells) episodes.insert(cell.eval_episodes);
  study.eval_episodes.assign(episodes.begin(), episodes.end());
  std::set<std::uint64_t> seeds;
  for (const ResultRun& run : results.runs) {
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

// Where shapes change, of those that are stepped in the widest blocks alone.
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

// What the cell has of every key, whether an axis sets it here or not.
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

// What a cell's N and T tell. A schedule they do not: it is a setting like any other.
bool is_shape_key(std::string_view key) {
  return role_of(key) == Role::kShape && key != "shape_schedule";
}

// As of shape_schedule in the cells without one; names would then end in "=".
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

// Keys that belong to the task: all cells of one task have the same text, as where a variant sets
// env_id and the budget that goes with it.
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

// A text for each study that no other one has.
std::vector<std::string> study_labels(const std::vector<ReportStudy>& studies) {
  const auto tell_apart = [&](auto&& text_of) {
    std::vector<std::string> texts;
    texts.reserve(studies.size());
    for (const ReportStudy& study : studies) texts.push_back(text_of(study));
    const bool distinct = std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
    return distinct ? texts : std::vector<std::string>();
  };
  std::vector<std::string> labels = tell_apart([](const ReportStudy& s) { return s.name; });
  if (labels.empty()) {
    labels = tell_apart(
        [](const ReportStudy& s) { return std::filesystem::path(s.store).stem().string(); });
  }
  return labels.empty() ? tell_apart([](const ReportStudy& s) { return s.store; }) : labels;
}

// Which cells are one arm, and how arms are told apart in words.
class ArmNames {
 public:
  // bases: keys in which studies differ, to be told as settings. apart: whether they are to be told
  // by their names in any case.
  ArmNames(const StudyReport& report, std::set<std::string> bases, bool apart)
      : report_(report), bases_(std::move(bases)), collide_(apart) {
    std::set<std::string> matches;
    for (std::size_t s = 0; s < report.studies.size(); ++s) {
      matches.insert(report.studies[s].match);
      of_tasks_.push_back(settings_of_tasks(report, static_cast<int>(s)));
    }
    several_matches_ = matches.size() > 1;
    std::set<std::pair<std::string, int>> seen;
    for (const ReportCell& cell : report.cells) {
      if (!seen.emplace(key(cell), cell.task).second) collide_ = true;
    }
    if (collide_) labels_ = study_labels(report.studies);
  }

  std::string key(const ReportCell& cell) const {
    Overrides rest = other_changes(cell);
    std::sort(rest.begin(), rest.end());
    std::string text = shape_of(cell) + "\n";
    if (several_matches_) text += study(cell).match + "\n";
    if (collide_) text += to_text(cell.study) + "\n";
    for (const auto& [name, value] : rest) text += name + "=" + value + "\n";
    for (const auto& [name, value] : of_base(cell)) text += name + "=" + value + "\n";
    return text;
  }

  // Besides shape and task, with what only the studies tell apart.
  Overrides settings(const ReportCell& cell) const {
    Overrides all;
    if (several_matches_) all.emplace_back("match", study(cell).match);
    if (collide_) all.emplace_back("study", labels_[static_cast<std::size_t>(cell.study)]);
    for (const auto& [key, text] : cell.settings) {
      if (!is_shape_key(key) && !is_of_task(cell, key)) all.emplace_back(key, text);
    }
    return all;
  }

  std::string other(const ReportCell& cell) const {
    std::string text;
    const auto add = [&](const std::string& words) {
      if (!words.empty()) text += (text.empty() ? "" : " ") + words;
    };
    if (several_matches_) add("match=" + study(cell).match);
    add(words_of(cell));
    for (const auto& [key, value] : of_base(cell)) add(key_words(key, value));
    if (collide_) add("(" + labels_[static_cast<std::size_t>(cell.study)] + ")");
    return text;
  }

  std::string name(const ReportCell& cell) const {
    const bool own_name = report_.studies.size() == 1 && report_.tasks.size() == 1;
    if (own_name && !has_empty_text(cell.changes)) return cell.name;
    const std::string rest = other(cell);
    return shape_of(cell) + (rest.empty() ? "" : " " + rest);
  }

 private:
  const ReportStudy& study(const ReportCell& cell) const {
    return report_.studies[static_cast<std::size_t>(cell.study)];
  }

  bool is_of_task(const ReportCell& cell, const std::string& key) const {
    return role_of(key) == Role::kTask ||
           of_tasks_[static_cast<std::size_t>(cell.study)].count(key) > 0;
  }

  // What its base alone sets, where bases differ.
  Overrides of_base(const ReportCell& cell) const {
    Overrides own;
    for (const auto& setting : cell.settings) {
      if (bases_.count(setting.first) > 0) own.push_back(setting);
    }
    return own;
  }

  // What the axes set besides task and shape.
  Overrides other_changes(const ReportCell& cell) const {
    Overrides rest;
    for (const auto& change : cell.changes) {
      if (!is_of_task(cell, change.first) && !is_shape_key(change.first)) rest.push_back(change);
    }
    return rest;
  }

  // In the words of the cell's name, where those are of nothing else; else keys and texts.
  std::string words_of(const ReportCell& cell) const {
    const Overrides rest = other_changes(cell);
    if (rest.empty()) return "";
    bool has_task = false, has_shape = false;
    for (const auto& [key, text] : cell.changes) {
      has_task = has_task || is_of_task(cell, key);
      has_shape = has_shape || is_shape_key(key);
    }
    const std::string prefix = shape_of(cell) + " ";
    const bool bare = has_empty_text(rest);
    if (!has_task && !has_shape && !bare) return cell.name;
    if (!has_task && !bare && cell.name.rfind(prefix, 0) == 0) {
      return cell.name.substr(prefix.size());
    }
    std::string words;
    for (const auto& [key, text] : rest) {
      words += (words.empty() ? "" : " ") + key_words(key, text);
    }
    return words;
  }

  const StudyReport& report_;
  std::set<std::string> bases_;
  std::vector<std::set<std::string>> of_tasks_;  // by study
  bool several_matches_ = false;
  bool collide_ = false;  // two cells of one task that only their studies tell apart, or bases do
  std::vector<std::string> labels_;
};

ReportArm arm_of(const ReportCell& cell, const ArmNames& names) {
  ReportArm arm;
  arm.name = names.name(cell);
  arm.other = names.other(cell);
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
  std::map<std::string, std::size_t> at;
  for (std::size_t c = 0; c < report.cells.size(); ++c) {
    ReportCell& cell = report.cells[c];
    const auto [found, is_new] = at.emplace(names.key(cell), report.arms.size());
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

// Leaves of every arm's settings the keys that differ between arms.
void keep_what_varies(std::vector<ReportArm>& arms) {
  std::map<std::string, std::set<std::string>> texts;
  for (const ReportArm& arm : arms) {
    for (const auto& [key, text] : arm.settings) texts[key].insert(text);
  }
  for (ReportArm& arm : arms) {
    std::erase_if(arm.settings,
                  [&](const auto& setting) { return texts[setting.first].size() < 2; });
  }
}

// What tells one set of runs from another: task, seeds and final parameters of the finished ones.
std::string runs_key(const StudyReport& report, const ReportArm& arm) {
  std::string key;
  for (const int c : arm.cells) {
    const ReportCell& cell = report.cells[static_cast<std::size_t>(c)];
    if (cell.counts.finished == 0) return "";
    key += to_text(cell.task) + ":" + cell.runs_hash + "\n";
  }
  return key;
}

// Under several matches the reference is the same run each time, and so may be other cells.
void find_same_runs(StudyReport& report) {
  std::map<std::string, int> first;
  for (std::size_t a = 0; a < report.arms.size(); ++a) {
    const std::string key = runs_key(report, report.arms[a]);
    if (key.empty()) continue;
    const auto [found, is_new] = first.emplace(key, static_cast<int>(a));
    if (!is_new) report.arms[a].same_runs = found->second;
  }
}

// Of every cell. Bases that differ in many keys are told by their studies' names instead.
UntoldKeys take_settings(const std::vector<StudyResults>& results, StudyReport& report) {
  std::set<std::string> keys = changed_keys(results);
  UntoldKeys untold = untold_keys(results, report, keys);
  if (untold.of_bases.size() <= kMostBases) {
    keys.insert(untold.of_bases.begin(), untold.of_bases.end());
  }
  std::size_t c = 0;
  for (const StudyResults& study : results) {
    for (const ResultCell& cell : study.cells) {
      report.cells[c].settings = settings_of(cell, keys);
      report.cells[c++].brought = settings_of(cell, untold.of_defaults);
    }
  }
  return untold;
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
    for (const ResultRun& run : results[s].runs) {
      ReportCell& cell = report.cells[first + static_cast<std::size_t>(run.cell)];
      count_run(run, cell.counts);
      if (run.finished()) cell.runs_hash += to_text(run.seed) + " " + run.parameters_hash + "\n";
    }
  }
  report.title = fmt::format("{}", fmt::join(names, " + "));
  const UntoldKeys untold = take_settings(results, report);
  const bool apart = untold.of_bases.size() > kMostBases;
  gather_arms({report, apart ? std::set<std::string>() : untold.of_bases, apart}, report);
  keep_what_varies(report.arms);
  find_same_runs(report);
}

}  // namespace broadloom
