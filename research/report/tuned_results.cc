#include "research/report/tuned_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "broadloom/core/config_table.h"
#include "research/study/study_spec.h"

namespace broadloom {
namespace {

using Keys = std::vector<std::string>;

bool is_tuned(const Keys& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool scores_are_evaluations(const std::vector<StudyResults>& studies) {
  ScoreKinds kinds;
  for (const StudyResults& study : studies) {
    std::vector<bool> finished(study.cells.size()), trained(finished), evaluated(finished);
    for (const ResultRun& run : study.runs) {
      if (!run.finished()) continue;
      const auto cell = static_cast<std::size_t>(run.cell);
      finished[cell] = true;
      if (std::isfinite(run.training_return)) trained[cell] = true;
      if (std::isfinite(run.evaluation_return)) evaluated[cell] = true;
    }
    for (std::size_t c = 0; c < finished.size(); ++c) {
      if (finished[c]) kinds.add(trained[c], evaluated[c]);
    }
  }
  return kinds.by_evaluation();
}

// The cells that become one, and the study's runs of each by seed.
struct TunedGroup {
  std::vector<int> cells;  // indices, in the order of the study
  std::vector<std::uint64_t> seeds;
  std::map<std::pair<std::uint64_t, int>, const ResultRun*> runs;  // by seed and cell
};

class Tuner {
 public:
  Tuner(const Keys& keys, bool evaluations, const StudyResults& study)
      : keys_(keys), evaluations_(evaluations), study_(study) {}

  Result<StudyResults> tuned() {
    BROADLOOM_TRY(gather());
    StudyResults out = study_;
    out.cells.clear();
    out.runs.clear();
    for (RunEntry& run : out.stored) {
      run.cell = static_cast<int>(group_of_[static_cast<std::size_t>(run.cell)]);
    }
    for (const TunedGroup& group : groups_) {
      if (group.cells.size() == 1) {
        keep(group, out);
      } else {
        merge(group, out);
      }
    }
    return out;
  }

 private:
  Status gather() {
    std::map<std::map<std::string, std::string>, std::size_t> places;
    for (std::size_t c = 0; c < study_.cells.size(); ++c) {
      std::map<std::string, std::string> rest = study_.cells[c].settings;
      for (const std::string& key : keys_) rest.erase(key);
      const auto [place, is_new] = places.emplace(std::move(rest), groups_.size());
      if (is_new) groups_.emplace_back();
      TunedGroup& group = groups_[place->second];
      if (!is_new) BROADLOOM_TRY(check_same_steps(group.cells.front(), static_cast<int>(c)));
      group.cells.push_back(static_cast<int>(c));
      group_of_.push_back(place->second);
    }
    for (const ResultRun& run : study_.runs) {
      TunedGroup& group = groups_[group_of_[static_cast<std::size_t>(run.cell)]];
      if (std::find(group.seeds.begin(), group.seeds.end(), run.seed) == group.seeds.end()) {
        group.seeds.push_back(run.seed);
      }
      group.runs[{run.seed, run.cell}] = &run;
    }
    return {};
  }

  Status check_same_steps(int one, int other) const {
    const ResultCell& a = cell(one);
    const ResultCell& b = cell(other);
    if (a.environment_steps == b.environment_steps && a.gradient_steps == b.gradient_steps) {
      return {};
    }
    return {ErrorKind::kInvalidConfig,
            fmt::format("tuned: cells {} and {} differ in environment or gradient steps, so that "
                        "the choice would compare budgets; tune keys that leave both alone",
                        a.name, b.name)};
  }

  const ResultCell& cell(int index) const { return study_.cells[static_cast<std::size_t>(index)]; }

  static const ResultRun* run_of(const TunedGroup& group, std::uint64_t seed, int cell) {
    const auto found = group.runs.find({seed, cell});
    return found == group.runs.end() ? nullptr : found->second;
  }

  double score_of(const ResultRun& run) const {
    return evaluations_ ? run.evaluation_return : run.training_return;
  }
  double other_score_of(const ResultRun& run) const {
    return evaluations_ ? run.training_return : run.evaluation_return;
  }
  bool has_score(const ResultRun& run) const {
    return run.finished() && std::isfinite(score_of(run));
  }
  static bool is_pending(const ResultRun* run) {
    return run == nullptr || (!run->finished() && !run->failed());
  }

  void add_run(const ResultRun& run, StudyResults& out) const {
    out.runs.push_back(run);
    out.runs.back().cell = static_cast<int>(out.cells.size()) - 1;
  }

  void keep(const TunedGroup& group, StudyResults& out) const {
    out.cells.push_back(cell(group.cells.front()));
    for (const std::uint64_t seed : group.seeds) {
      add_run(*run_of(group, seed, group.cells.front()), out);
    }
  }

  // Seeds of which every cell's run has come to an end.
  std::vector<std::uint64_t> ended_seeds(const TunedGroup& group) const {
    std::vector<std::uint64_t> seeds;
    for (const std::uint64_t seed : group.seeds) {
      const bool open = std::any_of(group.cells.begin(), group.cells.end(),
                                    [&](int c) { return is_pending(run_of(group, seed, c)); });
      if (!open) seeds.push_back(seed);
    }
    return seeds;
  }

  // The cells with the fewest runs without a score.
  std::vector<int> eligible(const TunedGroup& group,
                            const std::vector<std::uint64_t>& seeds) const {
    std::vector<int> cells;
    std::int64_t fewest = 0;
    for (const int c : group.cells) {
      const std::int64_t without =
          std::count_if(seeds.begin(), seeds.end(),
                        [&](std::uint64_t seed) { return !has_score(*run_of(group, seed, c)); });
      if (!cells.empty() && without > fewest) continue;
      if (cells.empty() || without < fewest) cells.clear();
      fewest = without;
      cells.push_back(c);
    }
    return cells;
  }

  // The first such run of a seed. The choice needs a score of each value, so the seed counts as
  // failed although other values may have scores.
  const ResultRun& run_without_score(const TunedGroup& group, std::uint64_t seed,
                                     const std::vector<int>& cells) const {
    const auto found = std::find_if(cells.begin(), cells.end(),
                                    [&](int c) { return !has_score(*run_of(group, seed, c)); });
    return *run_of(group, seed, found == cells.end() ? cells.front() : *found);
  }

  void merge(const TunedGroup& group, StudyResults& out) const {
    out.cells.push_back(merged_cell(group));
    const std::vector<std::uint64_t> ended = ended_seeds(group);
    const std::vector<int> cells = eligible(group, ended);
    TunedChoice choice;
    choice.keys = keys_of(group);
    choice.by_evaluation = evaluations_;
    for (const std::uint64_t seed : ended) {
      const bool scored = std::all_of(cells.begin(), cells.end(),
                                      [&](int c) { return has_score(*run_of(group, seed, c)); });
      if (scored) choice.seeds.push_back(seed);
    }
    std::sort(choice.seeds.begin(), choice.seeds.end());  // as arm_scores() has them
    const bool enough = choice.seeds.size() >= 2;
    if (enough) choose(group, cells, choice);
    for (const std::uint64_t seed : group.seeds) {
      const auto place = std::find(choice.seeds.begin(), choice.seeds.end(), seed);
      const bool is_open = !enough || std::find(ended.begin(), ended.end(), seed) == ended.end();
      if (is_open) {
        add_run(pending(*first_run(group, seed)), out);
      } else if (place == choice.seeds.end()) {
        add_run(run_without_score(group, seed, cells), out);
      } else {
        const auto s = static_cast<std::size_t>(place - choice.seeds.begin());
        add_run(*run_of(group, seed, cells[static_cast<std::size_t>(choice.chosen[s])]), out);
      }
    }
    if (enough) out.cells.back().tuned = std::move(choice);
  }

  void choose(const TunedGroup& group, const std::vector<int>& cells, TunedChoice& choice) const {
    Candidates& all = choice.candidates;
    all.count = static_cast<int>(cells.size());
    all.seeds = static_cast<int>(choice.seeds.size());
    for (const int c : cells) {
      choice.values.push_back(value_text(cell(c), choice.keys));
      for (const std::uint64_t seed : choice.seeds) {
        const ResultRun& run = *run_of(group, seed, c);
        all.scores.push_back(score_of(run));
        choice.others.push_back(other_score_of(run));
      }
    }
    for (const int c : group.cells) {
      if (std::find(cells.begin(), cells.end(), c) == cells.end()) {
        choice.left_out.push_back(value_text(cell(c), choice.keys));
      }
    }
    choice.chosen = cross_fitted(all);
    choice.best = best_candidate(all);
    choice.like_best = like_the_best(all);
    choice.at_edge =
        is_at_edge(group, cell(cells[static_cast<std::size_t>(choice.best)]), choice.keys);
  }

  // Keys of which the group's cells have several values.
  Keys keys_of(const TunedGroup& group) const {
    Keys varied;
    for (const std::string& key : keys_) {
      std::set<std::string> texts;
      for (const int c : group.cells) texts.insert(cell(c).setting(key));
      if (texts.size() > 1) varied.push_back(key);
    }
    return varied;
  }

  static std::string value_text(const ResultCell& cell, const Keys& keys) {
    if (keys.size() == 1) return cell.setting(keys.front());
    std::string text;
    for (const std::string& key : keys) {
      text += (text.empty() ? "" : " ") + key + "=" + cell.setting(key);
    }
    return text;
  }

  // Whether the best value is the least or the largest number of its key.
  bool is_at_edge(const TunedGroup& group, const ResultCell& best, const Keys& keys) const {
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      double low = HUGE_VAL, high = -HUGE_VAL, own = 0.0;
      if (!parse_text(best.setting(key), own).ok()) return false;
      for (const int c : group.cells) {
        double value = 0.0;
        if (!parse_text(cell(c).setting(key), value).ok()) return false;
        low = std::min(low, value);
        high = std::max(high, value);
      }
      return own == low || own == high;
    });
  }

  ResultCell merged_cell(const TunedGroup& group) const {
    ResultCell merged = cell(group.cells.front());
    merged.name = name_without_keys(merged);
    std::erase_if(merged.changes,
                  [&](const auto& change) { return is_tuned(keys_, change.first); });
    for (const std::string& key : keys_of(group)) merged.settings[key] = "tuned";
    return merged;
  }

  // Names list what the axes set, parted by blanks.
  std::string name_without_keys(const ResultCell& cell) const {
    std::istringstream words(cell.name);
    std::string name, word;
    while (words >> word) {
      if (is_tuned(keys_, word.substr(0, word.find('=')))) continue;
      name += (name.empty() ? "" : " ") + word;
    }
    return name.empty() ? "base" : name;
  }

  static const ResultRun* first_run(const TunedGroup& group, std::uint64_t seed) {
    for (const int c : group.cells) {
      if (const ResultRun* run = run_of(group, seed, c)) return run;
    }
    return nullptr;
  }

  static ResultRun pending(const ResultRun& run) {
    ResultRun open;
    open.seed = run.seed;
    open.status = "pending";
    return open;
  }

  const Keys& keys_;
  bool evaluations_;
  const StudyResults& study_;
  std::vector<TunedGroup> groups_;
  std::vector<std::size_t> group_of_;  // of each cell
};

bool varies(const StudyResults& study, const std::string& key) {
  std::set<std::string> texts;
  for (const ResultCell& cell : study.cells) texts.insert(cell.setting(key));
  return texts.size() > 1;
}

// The keys in which cells of any study differ, and which a report may tune.
Keys varying_keys(const std::vector<StudyResults>& studies) {
  std::set<std::string> keys;
  for (const StudyResults& study : studies) {
    for (const ResultCell& cell : study.cells) {
      for (const auto& [key, value] : cell.settings) {
        if (keys.count(key) == 0 && check_tuned_key(key).ok() && varies(study, key)) {
          keys.insert(key);
        }
      }
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace

std::vector<std::string> tuned_keys(const StudyResults& study) {
  constexpr std::string_view kLine = "tuned ";
  std::istringstream lines(study.definition);
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line) && !line.starts_with("cell ");) {
    if (line.starts_with(kLine)) (void)parse_text(line.substr(kLine.size()), keys).ok();
  }
  return keys;
}

Status tune_results(const std::vector<std::string>& keys, std::vector<StudyResults>& studies) {
  for (const std::string& key : keys) {
    BROADLOOM_TRY(check_tuned_key(key));
    const bool any = std::any_of(studies.begin(), studies.end(),
                                 [&](const StudyResults& study) { return varies(study, key); });
    if (!any) return unknown_key_error("tuned key", key, varying_keys(studies));
  }
  const bool evaluations = scores_are_evaluations(studies);
  for (StudyResults& study : studies) {
    Result<StudyResults> tuned = Tuner(keys, evaluations, study).tuned();
    if (!tuned.ok()) return tuned.status();
    study = tuned.take();
  }
  return {};
}

}  // namespace broadloom
