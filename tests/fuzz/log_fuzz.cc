// Files of a run beside its checkpoints, and launch.json: metrics, evaluations, manifest, ledger
// line, hashes and panels, value by value with their checksums made right, line by line, and as
// bytes. Then the commands' way: drawn, compared, rerun, resumed,
// audited.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/hash.h"
#include "broadloom/evaluate/panel_compare.h"
#include "broadloom/evaluate/panel_result.h"
#include "broadloom/record/json.h"
#include "broadloom/record/ledger.h"
#include "broadloom/record/run_curve.h"
#include "broadloom/record/run_diff.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/rerun.h"
#include "broadloom/train/run.h"
#include "research/audit/run_audit.h"
#include "research/report/learning_curve.h"
#include "research/study/launch_record.h"
#include "tests/fuzz/fuzzer.h"

namespace {

using namespace broadloom;
using fuzz::Dice;

constexpr char kPanel[] = R"(
env_id = "CartPole-v1"
episodes = 2
max_episode_steps = 10
[strata.short]
half_length = [0.2, 0.4]
[perturbations.noisy]
obs_noise = 0.05
)";

// Values of a tree, by how they are reached.
void list_places(Json& json, std::vector<Json*>& places) {
  places.push_back(&json);
  if (json.is_object()) {
    for (std::size_t i = 0; i < json.size(); ++i) list_places(json.member_at(i), places);
  } else if (json.is_array()) {
    // Json has no way to change an element, and this one is not const.
    for (const Json& element : std::as_const(json).elements()) {
      list_places(const_cast<Json&>(element), places);
    }
  }
}

Json odd_json(Dice& dice) {
  switch (dice.below(8)) {
    case 0:
    case 1:
      return Json::parse(fuzz::odd_number(dice));
    case 2:
      return dice.once_in(2) ? Json(nullptr) : Json(dice.once_in(2));
    case 3: {
      Json list = Json::array();
      for (std::size_t i = dice.below(4); i > 0; --i) list.push_back(fuzz::odd_text(dice));
      return list;
    }
    case 4:
      return {{"a", 1}, {fuzz::odd_text(dice), fuzz::odd_text(dice)}};
    default:
      return fuzz::odd_text(dice);
  }
}

// A document with some values changed, or its text: numbers that no tree holds, depth, keys twice.
std::string changed_json(const std::string& text, Dice& dice, std::string& what, int indent) {
  Json json = Json::parse(text);
  for (std::size_t i = 1 + dice.below(2); i > 0; --i) {
    std::vector<Json*> places;
    list_places(json, places);
    Json& place = *places[dice.below(places.size())];
    const std::size_t kind = dice.below(6);
    what += fmt::format("change {} of {:.60}; ", kind, place.dump());
    if (place.is_object() && place.size() > 0 && kind < 4) {
      const std::string key = place.members()[dice.below(place.size())].first;
      if (kind == 0) place.erase(key);
      if (kind == 1) place.append(key, odd_json(dice));
      if (kind == 2) place[fuzz::odd_text(dice)] = odd_json(dice);
      if (kind == 3) place[key] = odd_json(dice);
    } else {
      place = odd_json(dice);
    }
  }
  std::string out = json.dump(indent);
  if (dice.once_in(8)) {
    const std::size_t place = out.find_first_of("0123456789", dice.below(out.size()));
    if (place != std::string::npos) out.replace(place, 1, fuzz::odd_number(dice));
  }
  if (dice.once_in(40)) out.insert(dice.below(out.size()), std::string(20000, '['));
  return out;
}

// One line of several, changed, cut, twice, or gone.
std::string changed_lines(const std::string& text, Dice& dice, std::string& what) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (std::size_t i = 1 + dice.below(2); i > 0 && !lines.empty(); --i) {
    const std::size_t place = dice.below(lines.size());
    switch (dice.below(8)) {
      case 0:
        lines.erase(lines.begin() + static_cast<long>(place));
        break;
      case 1:
        lines.push_back(lines[place]);
        break;
      case 2:
        fuzz::change_bytes(lines[place], dice);
        break;
      case 3:
        lines[place].resize(dice.below(lines[place].size() + 1));
        break;
      default:
        lines[place] = changed_json(lines[place], dice, what, -1);
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  if (dice.once_in(8) && !out.empty()) out.pop_back();
  return out;
}

// With the checksum of what it holds.
std::string sealed(std::string line) {
  const std::string mark = ",\"checksum\":\"";
  const std::size_t place = line.rfind(mark);
  if (place != std::string::npos) line.resize(place);
  return line + mark + hash_text(line) + "\"}\n";
}

using Files = std::map<std::string, std::string>;

Files files_of(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[std::filesystem::relative(entry.path(), folder).string()] =
        fuzz::get_file(entry.path().string());
  }
  return files;
}

class LogFuzzer final : public fuzz::Fuzzer {
 public:
  const char* name() const override { return "log"; }

  Status prepare(const std::string& folder) override {
    const Result<Panel> panel = parse_panel(kPanel, "panel.toml");
    if (!panel.ok()) return panel.status();
    for (const auto& [name, stop] : {std::pair("whole", 100), {"half", 3}, {"other", 100}}) {
      Overrides keys = {
          {"env_id", "CartPole-v1"},   {"num_envs", "2"},      {"num_steps", "16"},
          {"minibatch_size", "16"},    {"update_epochs", "1"}, {"hidden_sizes", "4"},
          {"total_timesteps", "192"},  {"eval_interval", "2"}, {"eval_episodes", "2"},
          {"max_episode_steps", "12"}, {"hashes", "true"},     {"instruments", "audit"},
          {"instrument_every", "2"}};
      if (name == std::string("other")) keys.emplace_back("seed", "2");
      const Result<Config> config = resolve_config(keys);
      if (!config.ok()) return config.status();
      int iterations = 0;
      RunHooks hooks;
      hooks.on_iteration = [&iterations](const Progress&) { ++iterations; };
      hooks.should_stop = [&iterations, most = stop] { return iterations >= most; };
      const std::string dir = fmt::format("{}/{}", folder, name);
      BROADLOOM_TRY(start_run(config.value(), dir, 1, hooks, panel.value()).status());
    }
    other_ = folder + "/other";
    for (const char* name : {"whole", "half"}) {
      Begin begin{name, files_of(fmt::format("{}/{}", folder, name)), {}};
      for (const auto& [file, bytes] : begin.files) {
        if (file.find("tfevents") == std::string::npos && file != "lock" && !bytes.empty() &&
            file.find("checkpoints") == std::string::npos) {
          begin.names.push_back(file);
        }
      }
      begins_.push_back(std::move(begin));
    }
    return {};
  }

  Status play(Dice& dice, const std::string& folder, std::string& what,
              std::string& wrong) override {
    if (dice.once_in(12)) return launch(dice, folder, what);
    const Begin& begin = dice.pick(begins_);
    const std::string dir = folder + "/run", name = dice.pick(begin.names);
    what = fmt::format("{}, {}: ", begin.name, name);
    const std::string bytes = changed(name, begin.files.at(name), dice, what);
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir + "/checkpoints");
    for (const auto& [file, own] : begin.files) {
      fuzz::put_file(dir + "/" + file, file == name ? bytes : own);
    }
    return readers(dir, name, dice, wrong);
  }

 private:
  struct Begin {
    std::string name;
    Files files;
    std::vector<std::string> names;  // of those that are changed
  };

  static std::string changed(const std::string& name, std::string bytes, Dice& dice,
                             std::string& what) {
    if (dice.once_in(8) || name.ends_with(".bin") || name.ends_with(".toml")) {
      what += "bytes";
      fuzz::change_bytes(bytes, dice);
      return bytes;
    }
    if (name.ends_with(".jsonl")) return changed_lines(bytes, dice, what);
    const bool is_line = name == "ledger_line.json";
    std::string text = changed_json(bytes, dice, what, is_line ? -1 : 2);
    return is_line && !dice.once_in(12) ? sealed(text) : text;
  }

  // The readers of a run's folder. The first error.
  Status readers(const std::string& dir, const std::string& name, Dice& dice,
                 std::string& wrong) const {
    Status first;
    const auto note = [&](const Status& status) {
      if (first.ok()) first = status;
      if (wrong.empty()) wrong = fuzz::wrong_error(status);
    };
    const Result<Curves> curves = read_curves({dir, other_});
    if (curves.status().kind() != ErrorKind::kNotFound) note(curves.status());
    // A drawing resamples its band, which takes most of a case's time.
    if (curves.ok() && dice.once_in(8)) {
      const Status drawn = learning_curve_svg(name, curves.value().lines).status();
      if (wrong.empty()) wrong = fuzz::wrong_error(drawn);
    }
    note(diff_runs(dir, other_).status());
    note(audit_logs(dir).status());
    if (name.starts_with("panel-") || name.starts_with("panel_")) note(compare(dir, name));
    if (name == "ledger_line.json") note(rerun(dir));
    // The last, since it writes into the folder.
    const Result<RunSummary> resumed = resume_run(dir, 1, {}, dice.once_in(4) ? 256 : 0);
    if (resumed.status().kind() != ErrorKind::kInvalidConfig) note(resumed.status());
    if (resumed.ok() && !resumed.value().finished) wrong = "a resume that does not come to an end";
    return first;
  }

  Status compare(const std::string& dir, const std::string& name) const {
    const Result<PanelResult> result = read_panel_result(dir + "/" + name);
    if (!result.ok()) return result.status();
    const Result<PanelResult> other = read_panel_result(other_ + "/" + name);
    if (!other.ok()) return {};
    const Status compared = compare_panel_results({result.value(), other.value()}).status();
    return compared.kind() == ErrorKind::kMismatch ? Status() : compared;
  }

  Status rerun(const std::string& dir) const {
    const std::string path = dir + "/ledger_line.json";
    const Result<std::string> line = read_ledger_line(path, 1);
    if (!line.ok()) return line.status();
    const Status ledger = append_to_ledger(dir + "/ledger.jsonl", line.value()).status();
    const Result<RerunPlan> plan = plan_rerun(line.value());
    if (!plan.ok()) return plan.status();
    const Result<std::string> other = read_ledger_line(other_ + "/ledger_line.json", 1);
    if (other.ok()) {
      (void)compare_ledger_lines(line.value(), other.value());
      (void)compare_ledger_lines(other.value(), line.value());
    }
    return ledger;
  }

  static Status launch(Dice& dice, const std::string& folder, std::string& what) {
    const std::string store = folder + "/fuzz.sqlite", dir = launches_folder(store);
    what = "launch.json: ";
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir + "/launch-1");
    Launch launch;
    launch.folder = dir + "/launch-1";
    launch.launcher = "slurm";
    launch.name = "broadloom-fuzz";
    launch.array = "17";
    launch.parts = {{1, 2, 3}, {4, 6}};
    BROADLOOM_TRY(write_launch(launch));
    const std::string path = launch.folder + "/launch.json";
    std::string text = changed_json(fuzz::get_file(path), dice, what, 2);
    if (dice.once_in(6)) fuzz::change_bytes(text, dice);
    fuzz::put_file(path, text);
    return read_launches(store, 6).status();
  }

  std::vector<Begin> begins_;
  std::string other_;
};

}  // namespace

int main(int argc, char** argv) {
  LogFuzzer fuzzer;
  return fuzz::run_fuzzer(fuzzer, argc, argv);
}
